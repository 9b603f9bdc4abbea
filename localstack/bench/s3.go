package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	partBytes = 8 * mib
	growthMax = 64 * mib
)

// upload sends one object in parts and tells how much larger the cloud's process got on the way than it was after a first small object.
func (p *measured) upload(ctx context.Context, size int64) ([]figure, error) {
	files := p.files()
	if _, err := send(ctx, files, "small", 2*partBytes); err != nil {
		return nil, err
	}
	before, err := p.memory()
	if err != nil {
		return nil, err
	}
	if err := p.forget(); err != nil {
		return nil, err
	}
	took, err := send(ctx, files, "large", size)
	if err != nil {
		return nil, err
	}
	after, err := p.memory()
	if err != nil {
		return nil, err
	}
	growth := after.peak - before.resident
	return []figure{
		{what: fmt.Sprintf("S3: process growth while %d MiB are uploaded in parts", size/mib), got: fmt.Sprintf("%d MiB", growth/mib), want: "< 64 MiB", met: growth < growthMax},
		{what: "S3: that upload", got: fmt.Sprintf("%.0f MiB/s", float64(size)/mib/took.Seconds())},
	}, nil
}

func send(ctx context.Context, files *s3.Client, key string, size int64) (time.Duration, error) {
	begun := time.Now()
	made, err := files.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		return 0, fmt.Errorf("begin the upload of %s: %w", key, err)
	}
	part := bytes.Repeat([]byte("0123456789abcdef"), partBytes/16)
	var parts []types.CompletedPart
	for sent := int64(0); sent < size; sent += partBytes {
		number := aws.Int32(int32(len(parts) + 1))
		out, err := files.UploadPart(ctx, &s3.UploadPartInput{Bucket: aws.String(bucket), Key: &key, UploadId: made.UploadId, PartNumber: number,
			Body: bytes.NewReader(part[:min(partBytes, size-sent)])})
		if err != nil {
			return 0, fmt.Errorf("upload part %d of %s: %w", *number, key, err)
		}
		parts = append(parts, types.CompletedPart{PartNumber: number, ETag: out.ETag})
	}
	_, err = files.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: aws.String(bucket), Key: &key, UploadId: made.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}})
	if err != nil {
		return 0, fmt.Errorf("complete the upload of %s: %w", key, err)
	}
	return time.Since(begun), nil
}
