package storage

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// live is the running store under test; there can be one per process.
type live struct {
	url, region string
	*s3.Client
	function *s3.Client
}

// TestStore runs every rule against one store, each rule in a bucket of its own.
func TestStore(t *testing.T) {
	t.Parallel()
	st := open(t)
	rules := map[string]func(*testing.T, live, string){
		"an object is read back whole, by range and by head":              objects,
		"a put that must not overwrite does not":                          putIfAbsent,
		"a wrong digest is refused":                                       badDigest,
		"a key may hold any character":                                    keysOfAllKinds,
		"parts uploaded make one object with its whole checksum":          multipart,
		"copied parts make one object with its whole checksum":            copied,
		"a copied range is refused where S3 refuses it":                   copyRefused,
		"completing needs current parts of sufficient size":               completeRefused,
		"completing never overwrites when told not to":                    completeIfAbsent,
		"completing checks the stated size and checksum":                  completeChecks,
		"completing again after success answers the same":                 completeAgain,
		"completing an upload that is gone fails beside another's object": completeForeign,
		"an aborted upload is gone":                                       abort,
		"parts are listed in pages":                                       listParts,
		"uploads are listed in pages and by prefix":                       listUploads,
		"objects are listed in pages and by prefix":                       listObjects,
		"deleting is repeatable":                                          deleting,
		"a signed link reads one object under the name it was made for":   presigned,
		"an upload refused early still says why":                          refusedEarly,
		"an id that is a path names no upload":                            foreignIDs,
	}
	maps.Copy(rules, rulesOfTheEngine())
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t, st, st.bucket(t))
		})
	}
}

func objects(t *testing.T, st live, bucket string) {
	body := bytes.Repeat([]byte("0123456789"), 1000)
	put, err := st.function.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("a/b.csv"),
		Body: bytes.NewReader(body), ContentType: aws.String("text/csv"), Metadata: map[string]string{"job": "j1"}})
	ok(t, err)
	got, err := st.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("a/b.csv")})
	ok(t, err)
	equal(t, "body", string(read(t, got.Body)), string(body))
	part, err := st.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("a/b.csv"), Range: aws.String("bytes=9995-")})
	ok(t, err)
	equal(t, "range", string(read(t, part.Body)), "56789")
	equal(t, "content range", aws.ToString(part.ContentRange), "bytes 9995-9999/10000")
	_, err = st.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("a/b.csv"), Range: aws.String("bytes=10000-")})
	refused(t, err, "InvalidRange")
	head, err := st.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: aws.String("a/b.csv"), ChecksumMode: types.ChecksumModeEnabled})
	ok(t, err)
	equal(t, "size", aws.ToInt64(head.ContentLength), int64(10000))
	equal(t, "type", aws.ToString(head.ContentType), "text/csv")
	equal(t, "metadata", head.Metadata["job"], "j1")
	equal(t, "etag", aws.ToString(head.ETag), aws.ToString(put.ETag))
	equal(t, "checksum", aws.ToString(head.ChecksumCRC64NVME), aws.ToString(put.ChecksumCRC64NVME))
	_, err = st.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: aws.String("missing")})
	var missing *types.NotFound
	if !errors.As(err, &missing) {
		t.Errorf("head of a missing object: got %v, want NotFound", err)
	}
	_, err = st.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("missing")})
	refused(t, err, "NoSuchKey")
}

func putIfAbsent(t *testing.T, st live, bucket string) {
	put := func(body string) error {
		_, err := st.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("once"),
			Body: strings.NewReader(body), IfNoneMatch: aws.String("*")})
		return err
	}
	ok(t, put("first"))
	refused(t, put("second"), "PreconditionFailed")
	got, err := st.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("once")})
	ok(t, err)
	equal(t, "body", string(read(t, got.Body)), "first")
}

func badDigest(t *testing.T, st live, bucket string) {
	_, err := st.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("k"),
		Body: strings.NewReader("hello"), ChecksumCRC64NVME: aws.String("AAAAAAAAAAA=")})
	refused(t, err, "BadDigest")

	u := begin(t, st, bucket, "parts", types.ChecksumAlgorithmCrc64nvme)
	put := func(text, sum string) (*s3.UploadPartOutput, error) {
		return st.function.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: &bucket, Key: &u.key, UploadId: &u.id, PartNumber: aws.Int32(1),
			Body: strings.NewReader(text), ChecksumCRC64NVME: aws.String(sum)})
	}
	kept, err := put("hello", nvmeOf([]byte("hello")))
	ok(t, err)
	equal(t, "checksum of the part", aws.ToString(kept.ChecksumCRC64NVME), nvmeOf([]byte("hello")))
	_, err = put("jello", nvmeOf([]byte("hello")))
	refused(t, err, "BadDigest")
	// The part is still the one that was right.
	u.finish([]byte("hello"), types.CompletedPart{PartNumber: aws.Int32(1), ETag: kept.ETag, ChecksumCRC64NVME: kept.ChecksumCRC64NVME})
	_, err = st.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: aws.String("k")})
	refused(t, err, "NotFound")
}

func keysOfAllKinds(t *testing.T, st live, bucket string) {
	for _, key := range []string{"plain", "with space", "plus+sign", "订单/导出.csv", "a%2Fb", "q?x=1&y", "percent%", "tilde~'()*!"} {
		_, err := st.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(key)})
		ok(t, err)
		got, err := st.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
		ok(t, err)
		equal(t, "body of "+key, string(read(t, got.Body)), key)
	}
}

func listObjects(t *testing.T, st live, bucket string) {
	for _, key := range []string{"a/1", "a/2", "a/3", "b/1", "c"} {
		_, err := st.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(key)})
		ok(t, err)
	}
	var got []string
	pages := 0
	pager := s3.NewListObjectsV2Paginator(st.Client, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("a/"), MaxKeys: aws.Int32(2)})
	for pager.HasMorePages() {
		page, err := pager.NextPage(t.Context())
		ok(t, err)
		pages++
		for _, o := range page.Contents {
			got = append(got, *o.Key)
		}
	}
	equal(t, "keys", strings.Join(got, " "), "a/1 a/2 a/3")
	equal(t, "pages", pages, 2)
	all, err := st.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket, Delimiter: aws.String("/")})
	ok(t, err)
	equal(t, "folders", len(all.CommonPrefixes), 2)
	equal(t, "files", len(all.Contents), 1)
	if _, err := st.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("no-such-bucket")}); err == nil {
		t.Error("listing a missing bucket succeeded")
	}
}

func deleting(t *testing.T, st live, bucket string) {
	key := aws.String("gone/soon")
	_, err := st.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: key, Body: strings.NewReader("x")})
	ok(t, err)
	for range 2 {
		_, err = st.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: key})
		ok(t, err)
	}
	out, err := st.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: &bucket,
		Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: key}, {Key: aws.String("never")}}}})
	ok(t, err)
	equal(t, "errors", len(out.Errors), 0)
}

func presigned(t *testing.T, st live, bucket string) {
	_, err := st.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("artifacts/订单 1.csv"), Body: strings.NewReader("id\n1\n")})
	ok(t, err)
	sign := func(c *s3.Client, life time.Duration) string {
		req, err := s3.NewPresignClient(c).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: aws.String("artifacts/订单 1.csv"),
			ResponseContentDisposition: aws.String(`attachment; filename="x.csv"; filename*=UTF-8''%E8%AE%A2%E5%8D%95.csv`),
			ResponseContentType:        aws.String("text/csv; charset=utf-8"), ResponseCacheControl: aws.String("no-store")},
			s3.WithPresignExpires(life))
		ok(t, err)
		return req.URL
	}
	for name, c := range map[string]*s3.Client{"operator": st.Client, "function": st.function} {
		link := sign(c, time.Minute)
		status, header, body := fetch(t, http.MethodGet, link)
		equal(t, name+" status", status, 200)
		equal(t, name+" body", body, "id\n1\n")
		equal(t, name+" name", header.Get("Content-Disposition"), `attachment; filename="x.csv"; filename*=UTF-8''%E8%AE%A2%E5%8D%95.csv`)
		equal(t, name+" type", header.Get("Content-Type"), "text/csv; charset=utf-8")
		for what, tampered := range map[string]string{
			"other key":  strings.Replace(link, "%201.csv", "%202.csv", 1),
			"other name": strings.Replace(link, "x.csv", "y.csv", 1),
			"longer":     strings.Replace(link, "X-Amz-Expires=60", "X-Amz-Expires=6000", 1),
		} {
			if tampered == link {
				t.Fatalf("%s: link unchanged: %s", what, link)
			}
			status, _, body := fetch(t, http.MethodGet, tampered)
			equal(t, name+" "+what+" status", status, 403)
			if !strings.Contains(body, "SignatureDoesNotMatch") {
				t.Errorf("%s %s: got %s, want SignatureDoesNotMatch", name, what, body)
			}
		}
		status, _, _ = fetch(t, http.MethodDelete, link)
		equal(t, name+" delete status", status, 403)
	}
	short := sign(st.function, time.Second)
	time.Sleep(2100 * time.Millisecond)
	status, _, body := fetch(t, http.MethodGet, short)
	equal(t, "expired status", status, 403)
	if !strings.Contains(body, "Request has expired") {
		t.Errorf("expired link: got %s", body)
	}
}

func refusedEarly(t *testing.T, st live, bucket string) {
	_, err := st.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: &bucket, Key: aws.String("k"), UploadId: aws.String("unknown"),
		PartNumber: aws.Int32(1), Body: bytes.NewReader(make([]byte, 12<<20))})
	refused(t, err, "NoSuchUpload")
}

func fetch(t *testing.T, method, link string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, link, http.NoBody)
	ok(t, err)
	res, err := http.DefaultClient.Do(req)
	ok(t, err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	ok(t, err)
	return res.StatusCode, res.Header, string(data)
}

func read(t *testing.T, body io.ReadCloser) []byte {
	t.Helper()
	data, err := io.ReadAll(body)
	ok(t, err)
	ok(t, body.Close())
	return data
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error, code string) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
