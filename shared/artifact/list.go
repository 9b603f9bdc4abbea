package artifact

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// Parts lists the parts an upload holds now, by number. CRC64 is 0 for a part whose checksum the store does not tell.
func (s *Store) Parts(ctx context.Context, upload job.Upload) ([]job.Part, error) {
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	what := call{"list parts", upload.Key, reads}
	var parts []job.Part
	var marker *string
	for len(parts) <= limits.StorePartsMax {
		out, err := s.client.ListParts(ctx, &s3.ListPartsInput{
			Bucket: &s.bucket, Key: &upload.Key, UploadId: &upload.ID, PartNumberMarker: marker, MaxParts: aws.Int32(pageMax),
		}, s.options(s.usual))
		if err != nil {
			return nil, s.failed(what, err)
		}
		for _, part := range out.Parts {
			sum, err := parseSum(part.ChecksumCRC64NVME)
			if err != nil {
				return nil, s.failed(what, err)
			}
			parts = append(parts, job.Part{
				Number: int64(aws.ToInt32(part.PartNumber)), ETag: tag(part.ETag), Bytes: aws.ToInt64(part.Size), CRC64: sum,
			})
		}
		if !aws.ToBool(out.IsTruncated) {
			return parts, nil
		}
		if len(out.Parts) == 0 || aws.ToString(out.NextPartNumberMarker) == aws.ToString(marker) {
			break
		}
		marker = out.NextPartNumberMarker
	}
	return nil, job.Errorf(job.Transient, codeUnavailable, "list parts: the listing does not end; the store answers wrongly: %w", at(upload.Key))
}

// Objects lists up to limit objects below prefix with keys after the given one, in order.
func (s *Store) Objects(ctx context.Context, prefix, after string, limit int) ([]pipeline.StoredObject, error) {
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	var objects []pipeline.StoredObject
	for len(objects) < limit {
		out, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
			Bucket: &s.bucket, Prefix: &prefix, StartAfter: text(after), MaxKeys: aws.Int32(int32(min(limit-len(objects), pageMax))),
		}, s.options(s.usual))
		if err != nil {
			return nil, s.failed(call{"list objects", prefix, reads}, err)
		}
		for _, object := range out.Contents {
			objects = append(objects, pipeline.StoredObject{
				Key: aws.ToString(object.Key), ETag: tag(object.ETag), Bytes: aws.ToInt64(object.Size), Modified: aws.ToTime(object.LastModified).UTC(),
			})
		}
		if !aws.ToBool(out.IsTruncated) || len(out.Contents) == 0 {
			break
		}
		after = objects[len(objects)-1].Key
	}
	return objects, nil
}

// Uploads lists up to limit unfinished multipart uploads below prefix after the given (key, id), in order.
func (s *Store) Uploads(ctx context.Context, prefix string, after pipeline.StoredUpload, limit int) ([]pipeline.StoredUpload, error) {
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	var uploads []pipeline.StoredUpload
	for len(uploads) < limit {
		in := &s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: &prefix, MaxUploads: aws.Int32(int32(min(limit-len(uploads), pageMax)))}
		if after.Key != "" {
			in.KeyMarker, in.UploadIdMarker = &after.Key, text(after.ID)
		}
		out, err := s.client.ListMultipartUploads(ctx, in, s.options(s.usual))
		if err != nil {
			return nil, s.failed(call{"list uploads", prefix, reads}, err)
		}
		for _, upload := range out.Uploads {
			uploads = append(uploads, pipeline.StoredUpload{
				Key: aws.ToString(upload.Key), ID: aws.ToString(upload.UploadId), Started: aws.ToTime(upload.Initiated).UTC(),
			})
		}
		if !aws.ToBool(out.IsTruncated) || len(out.Uploads) == 0 {
			break
		}
		after = uploads[len(uploads)-1]
	}
	return uploads, nil
}
