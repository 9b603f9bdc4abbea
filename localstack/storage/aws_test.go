//go:build aws

package storage

import (
	"context"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"sealift/localstack/awstest"
)

func TestMain(m *testing.M) { os.Exit(awstest.Main(m)) }

// rulesOfTheEngine are none: the endpoint is judged by what AWS does.
func rulesOfTheEngine() map[string]func(*testing.T, live, string) { return nil }

func open(t *testing.T) live {
	t.Helper()
	cfg := awstest.Begin(t)
	c := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	return live{url: aws.ToString(cfg.BaseEndpoint), region: cfg.Region, Client: c, function: c}
}

// bucket makes a bucket for one rule and removes it with all that is in it.
func (st live) bucket(t *testing.T) string {
	t.Helper()
	name := awstest.Prefix(t) + "bucket"
	in := &s3.CreateBucketInput{Bucket: &name}
	if st.region != "us-east-1" { // which AWS wants to be left out
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(st.region)}
	}
	_, err := st.CreateBucket(t.Context(), in)
	ok(t, err)
	t.Cleanup(func() { st.empty(t, name) })
	return name
}

func (st live) empty(t *testing.T, bucket string) {
	ctx := context.WithoutCancel(t.Context())
	objects, err := st.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket})
	if err != nil {
		t.Log(err)
		return
	}
	for _, o := range objects.Contents {
		if _, err := st.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: o.Key}); err != nil {
			t.Log(err)
		}
	}
	uploads, err := st.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil {
		t.Log(err)
		return
	}
	for _, u := range uploads.Uploads {
		if _, err := st.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: u.Key, UploadId: u.UploadId}); err != nil {
			t.Log(err)
		}
	}
	if _, err := st.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket}); err != nil {
		t.Log(err)
	}
}
