//go:build !aws

package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	region     = "eu-central-1"
	sessionKey = "ASIASEALIFTLOCAL0000"
	token      = "function/finalize"
)

// rulesOfTheEngine hold here and not on AWS, or need to know the engine's keys.
func rulesOfTheEngine() map[string]func(*testing.T, live, string) {
	return map[string]func(*testing.T, live, string){
		"a whole checksum that would go unchecked is refused":        completeUnchecked,
		"a whole copy shares the bytes of its source":                copiedByLink,
		"a copy onto itself keeps the kind of its checksum":          copiedOntoItself,
		"a key that would be another path is refused":                unholdableKeys,
		"unknown keys, wrong secrets and foreign tokens are refused": credentialsRefused,
	}
}

func open(t *testing.T) live {
	t.Helper()
	return start(t, t.TempDir())
}

// bucket makes a bucket for one rule.
func (st live) bucket(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(rand.Text())
	_, err := st.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}})
	ok(t, err)
	return name
}

func start(t *testing.T, dir string) live {
	t.Helper()
	st, stop := run(t, dir)
	t.Cleanup(stop)
	return st
}

// run serves a data folder until stop is called.
func run(t *testing.T, dir string) (st live, stop func()) {
	t.Helper()
	work, err := os.Getwd()
	ok(t, err)
	e, err := Open(dir, Options{
		Region: region, AccessKey: "test", SessionKey: sessionKey, SecretKey: "test",
		AcceptToken: func(s string) bool { return s == token },
		Now:         time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	ok(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	ok(t, e.Ready(t.Context()))
	srv := httptest.NewServer(e)
	stop = func() {
		srv.Close()
		cancel()
		ok(t, <-done)
		ok(t, e.Close())
		ok(t, os.Chdir(work))
	}
	return live{url: srv.URL, region: region, Client: client(srv.URL, "test", "test", ""), function: client(srv.URL, sessionKey, "test", token)}, stop
}

func credentialsRefused(t *testing.T, st live, bucket string) {
	for name, c := range map[string]struct {
		client *s3.Client
		code   string
	}{
		"unknown key":             {client(st.url, "nobody", "test", ""), "InvalidAccessKeyId"},
		"wrong secret":            {client(st.url, "test", "wrong", ""), "SignatureDoesNotMatch"},
		"foreign token":           {client(st.url, sessionKey, "test", "function/other"), "InvalidToken"},
		"session key, no token":   {client(st.url, sessionKey, "test", ""), "InvalidToken"},
		"root key of the gateway": {client(st.url, "sealift-gateway-root", "test", ""), "SignatureDoesNotMatch"},
	} {
		_, err := c.client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
		if got := codeOf(err); got != c.code {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
	status, _, _ := fetch(t, http.MethodGet, st.url+"/"+bucket+"?list-type=2")
	equal(t, "no signature", status, 403)
}

// An upload made without an algorithm cannot have its whole checksum checked.
func completeUnchecked(t *testing.T, st live, bucket string) {
	u := begin(t, st, bucket, "file", "")
	part := u.part(1, []byte("one"))
	part.ChecksumCRC64NVME = nil
	_, err := u.complete([]types.CompletedPart{part}, func(in *s3.CompleteMultipartUploadInput) {
		in.ChecksumCRC64NVME = aws.String(nvmeOf([]byte("one")))
	})
	refused(t, err, "InvalidRequest")
}

func client(url, key, secret, token string) *s3.Client {
	return s3.New(s3.Options{Region: region, BaseEndpoint: &url, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, token)})
}

// A whole copy shares the bytes of its source instead of having its own.
func copiedByLink(t *testing.T, st live, bucket string) {
	data := payload(6 * mib)
	put(t, st, bucket, "put", data, "")
	put(t, st, bucket, "crc32", data, types.ChecksumAlgorithmCrc32)
	parts := begin(t, st, bucket, "parts", types.ChecksumAlgorithmCrc64nvme)
	parts.finish(data, parts.part(1, data[:5*mib]), parts.part(2, data[5*mib:]))
	u := begin(t, st, bucket, "file", types.ChecksumAlgorithmCrc64nvme)
	folder := filepath.Join(bucket, uploadFolder(u.key), u.id)
	var copies []types.CompletedPart
	for i, c := range []struct {
		source, span string
		shared       bool
	}{
		{"put", "", true},
		{"put", "bytes=0-6291455", true},
		{"parts", "", true},
		{"crc32", "", false},
		{"put", "bytes=0-6291454", false},
		{"put", "bytes=1-6291455", false},
	} {
		number := int32(i + 1)
		for range 2 {
			_, err := u.copy(number, c.source, c.span)
			ok(t, err)
		}
		part, err := u.copy(number, c.source, c.span)
		ok(t, err)
		copies = append(copies, part)
		source, err := os.Stat(filepath.Join(bucket, c.source))
		ok(t, err)
		have, err := os.Stat(filepath.Join(folder, strconv.Itoa(int(number))))
		ok(t, err)
		equal(t, c.source+" "+c.span+" shares its bytes", os.SameFile(source, have), c.shared && hasAttributes(bucket))
	}
	files, err := os.ReadDir(folder)
	ok(t, err)
	equal(t, "files of the upload", len(files), len(copies))

	// What a kill leaves of a copy is no part and goes with the upload.
	ok(t, os.Link(filepath.Join(bucket, "put"), filepath.Join(folder, "3.killed"+linking)))
	listed, err := st.ListParts(t.Context(), &s3.ListPartsInput{Bucket: &bucket, Key: &u.key, UploadId: &u.id})
	ok(t, err)
	equal(t, "parts listed", len(listed.Parts), len(copies))

	ok(t, os.Rename(filepath.Join(folder, "2"), filepath.Join(folder, "away")))
	_, err = u.complete(copies, nil)
	refused(t, err, "InvalidPart")
	_, err = st.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &u.key})
	refused(t, err, "NotFound")
	ok(t, os.Rename(filepath.Join(folder, "away"), filepath.Join(folder, "2")))
	u.finish(slices.Concat(data, data, data, data, data[:6*mib-1], data[1:]), copies...)
	if _, err := os.Stat(filepath.Dir(folder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder of the completed upload: got %v, want that there is none", err)
	}
	for _, source := range []string{"put", "parts"} {
		check(t, st, bucket, source, data)
	}
}

func copiedOntoItself(t *testing.T, st live, bucket string) {
	data := payload(5 * mib)
	put(t, st, bucket, "file", data, types.ChecksumAlgorithmCrc64nvme)
	u := begin(t, st, bucket, "copy", types.ChecksumAlgorithmCrc64nvme)
	part := u.whole(1, "file")
	onto := func(algorithm types.ChecksumAlgorithm) error {
		_, err := st.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: &bucket, Key: aws.String("file"), CopySource: aws.String(bucket + "/file"),
			MetadataDirective: types.MetadataDirectiveReplace, ContentType: aws.String("text/csv"), ChecksumAlgorithm: algorithm})
		return err
	}
	refused(t, onto(types.ChecksumAlgorithmCrc32), "NotImplemented")
	check(t, st, bucket, "file", data)
	ok(t, onto(types.ChecksumAlgorithmCrc64nvme))
	check(t, st, bucket, "file", data)
	ok(t, onto(""))
	check(t, st, bucket, "file", data)
	u.finish(data, part)
}

// unholdableKeys are those that a path changes, and those of the folder in which the backend keeps uploads.
func unholdableKeys(t *testing.T, st live, bucket string) {
	ctx := t.Context()
	made, err := st.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: aws.String("out")})
	if err != nil {
		t.Fatal(err)
	}
	part := uploadFolder("out") + "/" + *made.UploadId + "/1"
	if _, err := st.UploadPart(ctx, &s3.UploadPartInput{Bucket: &bucket, Key: aws.String("out"), UploadId: made.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("part")}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{part, "x/../" + part, ".sgwtmp", "./f", "f/../f", "f//g", "/f", "..", "f/."} {
		if got, err := st.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key}); err == nil {
			t.Errorf("%s is read as an object of %d bytes", key, aws.ToInt64(got.ContentLength))
		}
		_, err := st.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("other")})
		refused(t, err, "NotImplemented")
		if _, err := st.CopyObject(ctx, &s3.CopyObjectInput{Bucket: &bucket, Key: aws.String("stolen"), CopySource: aws.String(bucket + "/" + key)}); err == nil {
			t.Errorf("%s is copied", key)
		}
		if _, err := st.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err == nil {
			t.Errorf("%s is deleted", key)
		}
		gone, err := st.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: &key}, {Key: aws.String("f")}}}})
		if err != nil || len(gone.Deleted) != 1 || len(gone.Errors) != 1 || aws.ToString(gone.Errors[0].Key) != key || aws.ToString(gone.Errors[0].Code) != "NotImplemented" {
			t.Errorf("%s among others is deleted with %+v (%v)", key, gone, err)
		}
	}
	listed, err := st.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String(".sgw")})
	if err != nil || len(listed.Contents)+len(listed.CommonPrefixes) != 0 {
		t.Errorf("the folder of uploads is listed: %+v (%v)", listed, err)
	}
	parts, err := st.ListParts(ctx, &s3.ListPartsInput{Bucket: &bucket, Key: aws.String("out"), UploadId: made.UploadId})
	if err != nil || len(parts.Parts) != 1 || aws.ToInt64(parts.Parts[0].Size) != 4 {
		t.Errorf("the part is now %+v (%v)", parts, err)
	}
}
