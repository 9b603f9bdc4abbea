//go:build !aws

package storage

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// TestRestart runs before TestStore, which is parallel: one store fits in a process.
func TestRestart(t *testing.T) {
	for name, sideCar := range map[string]bool{"attributes in files": false, "attributes beside files": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if sideCar {
				ok(t, os.Mkdir(filepath.Join(dir, "attributes"), 0o700))
			}
			st, stop := run(t, dir)
			bucket := "restart-bucket"
			_, err := st.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket,
				CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}})
			ok(t, err)
			begun := begin(t, st, bucket, "a/begun", types.ChecksumAlgorithmCrc64nvme)
			put(t, st, bucket, "a/source", payload(6*mib), "")
			parts := []types.CompletedPart{begun.part(1, payload(5*mib)), begun.whole(2, "a/source"), begun.part(3, []byte("end"))}
			_, err = st.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("a/source")})
			ok(t, err)
			placed := begin(t, st, bucket, "a/placed", types.ChecksumAlgorithmCrc64nvme)
			placedParts := []types.CompletedPart{placed.part(1, []byte("placed"))}
			stop()

			interrupt(t, dir, bucket, begun, sideCar)
			st, stop = run(t, dir)
			defer stop()
			begun.st, placed.st = st, st
			uploads, err := st.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
			ok(t, err)
			equal(t, "uploads after restart", len(uploads.Uploads), 2)
			begun.finish(slices.Concat(payload(5*mib), payload(6*mib), []byte("end")), parts...)
			_, err = placed.complete(placedParts, func(in *s3.CompleteMultipartUploadInput) { in.IfNoneMatch = aws.String("*") })
			ok(t, err)
			again, err := placed.complete(placedParts, func(in *s3.CompleteMultipartUploadInput) { in.IfNoneMatch = aws.String("*") })
			ok(t, err)
			if again.ETag == nil {
				t.Error("repeated completion without etag")
			}
		})
	}
}

// interrupt leaves an upload as a process does that is killed while completing
// it: the backend moves an upload aside before it puts the parts together.
func interrupt(t *testing.T, dir, bucket string, u upload, sideCar bool) {
	t.Helper()
	roots := []string{filepath.Join(dir, "objects", bucket)}
	if sideCar {
		roots = append(roots, filepath.Join(dir, "attributes", bucket))
	}
	for _, root := range roots {
		folder := filepath.Join(root, uploadFolder(u.key))
		ok(t, os.Rename(filepath.Join(folder, u.id), filepath.Join(folder, u.id+".0123-3"+inProgress)))
	}
}
