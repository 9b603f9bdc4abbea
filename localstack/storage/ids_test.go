package storage

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// foreignIDs names uploads that there are none of by ids that are paths: the backend makes paths of ids.
func foreignIDs(t *testing.T, st live, bucket string) {
	ctx := t.Context()
	other := st.bucket(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(bucket, key string) {
		t.Helper()
		if _, err := st.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("kept"), Metadata: map[string]string{"of": "mine"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range []string{bucket, other} {
		put(b, "f/x")
		put(b, "1")
	}
	made, err := st.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: aws.String("out")})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{
		".", "..", "../../..", "../../../f", "../../../../" + other, strings.Repeat("../", 30) + strings.TrimPrefix(outside, "/"), *made.UploadId + "/.", "/",
		*made.UploadId + "/..", "../" + filepath.Base(uploadFolder("out")) + "/" + *made.UploadId, strings.ToUpper(*made.UploadId), *made.UploadId + ".x.inprogress",
	} {
		on := func(err error) {
			t.Helper()
			t.Log(id)
			refused(t, err, "NoSuchUpload")
		}
		key, number := aws.String("out"), aws.Int32(1)
		_, err := st.UploadPart(ctx, &s3.UploadPartInput{Bucket: &bucket, Key: key, UploadId: &id, PartNumber: number, Body: bytes.NewReader([]byte("lost"))})
		on(err)
		_, err = st.UploadPartCopy(ctx, &s3.UploadPartCopyInput{Bucket: &bucket, Key: key, UploadId: &id, PartNumber: number, CopySource: aws.String(bucket + "/f/x")})
		on(err)
		_, err = st.ListParts(ctx, &s3.ListPartsInput{Bucket: &bucket, Key: key, UploadId: &id})
		on(err)
		_, err = st.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &bucket, Key: key, UploadId: &id, MultipartUpload: &types.CompletedMultipartUpload{
			Parts: []types.CompletedPart{{PartNumber: number, ETag: aws.String(`"d41d8cd98f00b204e9800998ecf8427e"`)}},
		}})
		on(err)
		_, err = st.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: key, UploadId: &id})
		on(err)
	}
	for _, b := range []string{bucket, other} {
		for _, key := range []string{"f/x", "1"} {
			head, err := st.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b, Key: &key})
			if err != nil || aws.ToInt64(head.ContentLength) != 4 || head.Metadata["of"] != "mine" {
				t.Errorf("%s of bucket %s is now %+v (%v)", key, b, head, err)
			}
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	if _, err := st.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: aws.String("out"), UploadId: made.UploadId}); err != nil {
		t.Errorf("the upload itself: %v", err)
	}
}

// hiddenKeys are those of the folder in which the backend keeps uploads.
func hiddenKeys(t *testing.T, st live, bucket string) {
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
