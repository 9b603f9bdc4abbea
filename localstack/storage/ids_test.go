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
