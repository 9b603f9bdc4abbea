package artifact

import (
	"bytes"
	"context"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// CreateUpload begins a multipart upload whose checksum is the CRC-64/NVME of the whole object. When its answer is lost an
// upload without an owner may remain; the sweep removes it.
func (s *Store) CreateUpload(ctx context.Context, object pipeline.NewObject) (uploadID string, err error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	out, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &s.bucket, Key: &object.Key, ContentType: text(object.ContentType),
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme, ChecksumType: types.ChecksumTypeFullObject,
	}, s.options(s.usual))
	if err != nil {
		return "", s.failed(call{"create upload", object.Key, repeats}, err)
	}
	return aws.ToString(out.UploadId), nil
}

// PutPart writes one part from the caller's memory; the same number may be written again until the upload is completed.
// crc64 is the caller's own sum of what it meant to send, so that a buffer that was spoilt since is refused.
func (s *Store) PutPart(ctx context.Context, upload job.Upload, number int64, data []byte, crc64 uint64) (etag string, err error) {
	if err := checkNumber("put part", upload.Key, number); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	out, err := s.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &s.bucket, Key: &upload.Key, UploadId: &upload.ID, PartNumber: aws.Int32(int32(number)),
		Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ChecksumCRC64NVME: aws.String(checksum.CRC64(crc64).Base64()),
	}, s.options(s.usual), unsigned)
	if err != nil {
		return "", s.failed(call{"put part", upload.Key, repeats}, err)
	}
	if stored, err := parseSum(out.ChecksumCRC64NVME); err != nil || stored != 0 && stored != crc64 {
		return "", mismatch("put part", upload.Key, crc64, stored)
	}
	return tag(out.ETag), nil
}

// CopyPart writes one part from bytes of another object, inside the store. S3 copies no range of an object of 5 MiB or less,
// so bytes that end there pass through memory. CRC64 is what the store says the copied bytes have, 0 when it does not say;
// an empty ETag copies any version.
func (s *Store) CopyPart(ctx context.Context, upload job.Upload, number int64, from pipeline.Slice) (job.Part, error) {
	if err := checkNumber("copy part", upload.Key, number); err != nil {
		return job.Part{}, err
	}
	if err := checkSlice("copy part", from); err != nil {
		return job.Part{}, err
	}
	length := from.To - from.From
	if length > limits.StoreCopyBytesMax {
		return job.Part{}, job.Errorf(job.Permanent, codeRangeInvalid,
			"copy part: a part copy takes 1 to %d bytes and was asked for %d; split it: %w", int64(limits.StoreCopyBytesMax), length, at(from.Key))
	}
	if from.To <= limits.StorePartBytesMin {
		return s.carryPart(ctx, upload, number, from)
	}
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	out, err := s.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
		Bucket: &s.bucket, Key: &upload.Key, UploadId: &upload.ID, PartNumber: aws.Int32(int32(number)),
		CopySource: aws.String(s.source(from.Key)), CopySourceIfMatch: quoted(from.ETag), CopySourceRange: aws.String(byteRange(from)),
	}, s.options(s.usual))
	what := call{"copy part", from.Key + " to " + upload.Key, repeats}
	if err != nil {
		return job.Part{}, s.failed(what, err)
	}
	if out.CopyPartResult == nil {
		return job.Part{}, job.Errorf(job.Unknown, codeUnknown, "%s: the answer names no part; look at the parts of the upload: %w", what.operation, at(what.key))
	}
	sum, err := parseSum(out.CopyPartResult.ChecksumCRC64NVME)
	if err != nil {
		return job.Part{}, s.failed(what, err)
	}
	return job.Part{Number: number, ETag: tag(out.CopyPartResult.ETag), Bytes: length, CRC64: sum}, nil
}

// carryPart copies a few bytes by reading and writing them.
func (s *Store) carryPart(ctx context.Context, upload job.Upload, number int64, from pipeline.Slice) (job.Part, error) {
	data, err := s.Read(ctx, from)
	if err != nil {
		return job.Part{}, err
	}
	sum := uint64(checksum.Sum64(data))
	etag, err := s.PutPart(ctx, upload, number, data, sum)
	if err != nil {
		return job.Part{}, err
	}
	return job.Part{Number: number, ETag: etag, Bytes: int64(len(data)), CRC64: sum}, nil
}

// CompleteUpload makes the object of exactly these parts, if no object has the key. The parts' sizes and checksums must add
// up to want, which the store checks again over what it holds. After Unknown, Stat tells whether the object is there.
func (s *Store) CompleteUpload(ctx context.Context, upload job.Upload, parts []job.Part, want pipeline.Object) (pipeline.Object, error) {
	if err := checkParts(upload.Key, parts, want); err != nil {
		return pipeline.Object{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	listed := make([]types.CompletedPart, len(parts))
	for i, part := range parts {
		listed[i] = types.CompletedPart{PartNumber: aws.Int32(int32(part.Number)), ETag: quoted(part.ETag)}
		if part.CRC64 != 0 {
			listed[i].ChecksumCRC64NVME = aws.String(checksum.CRC64(part.CRC64).Base64())
		}
	}
	out, err := s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &s.bucket, Key: &upload.Key, UploadId: &upload.ID,
		MultipartUpload:   &types.CompletedMultipartUpload{Parts: listed},
		ChecksumCRC64NVME: aws.String(checksum.CRC64(want.CRC64).Base64()),
		ChecksumType:      types.ChecksumTypeFullObject,
		MpuObjectSize:     &want.Bytes,
		IfNoneMatch:       aws.String("*"),
	}, s.options(s.careful))
	if err != nil {
		return pipeline.Object{}, s.failed(call{"complete upload", upload.Key, creates}, err)
	}
	made := pipeline.Object{Key: upload.Key, ETag: tag(out.ETag), Bytes: want.Bytes, CRC64: want.CRC64}
	stored, err := parseSum(out.ChecksumCRC64NVME)
	if err != nil {
		return pipeline.Object{}, s.failed(call{"complete upload", upload.Key, creates}, err)
	}
	if stored == 0 && want.CRC64 != 0 {
		return s.confirm(ctx, made)
	}
	if stored != want.CRC64 {
		return pipeline.Object{}, mismatch("complete upload", upload.Key, want.CRC64, stored)
	}
	return made, nil
}

// confirm looks at an object whose completion was answered without its checksum.
func (s *Store) confirm(ctx context.Context, made pipeline.Object) (pipeline.Object, error) {
	have, ok, err := s.Stat(ctx, made.Key)
	switch {
	case err != nil:
		return pipeline.Object{}, job.Errorf(job.Unknown, codeUnknown,
			"complete upload: answered without a checksum, and the object can't be looked at: %w", s.at(made.Key, err))
	case !ok:
		return pipeline.Object{}, job.Errorf(job.Unknown, codeUnknown,
			"complete upload: answered with success, and there is no object; look again before anything else: %w", at(made.Key))
	case have.Bytes != made.Bytes || have.CRC64 != made.CRC64:
		return pipeline.Object{}, mismatch("complete upload", made.Key, made.CRC64, have.CRC64)
	}
	return have, nil
}

// AbortUpload drops an upload and its parts; one that does not exist is a success. A part that is being written at this
// moment may survive on S3 until the upload is aborted again or the bucket's own rule ends it.
func (s *Store) AbortUpload(ctx context.Context, key, uploadID string) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: &uploadID}, s.options(s.usual))
	if err == nil {
		return nil
	}
	if err = s.failed(call{"abort upload", key, repeats}, err); job.CodeOf(err) == codeUploadMissing {
		return nil
	}
	return err
}

// source names an object in the way a copy wants it.
func (s *Store) source(key string) string {
	segments := strings.Split(key, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return s.bucket + "/" + strings.Join(segments, "/")
}

func checkNumber(operation, key string, number int64) error {
	if number < 1 || number > limits.StorePartsMax {
		return job.Errorf(job.Permanent, codePartInvalid,
			"%s: part number %d is outside 1 to %d; use larger parts: %w", operation, number, limits.StorePartsMax, at(key))
	}
	return nil
}

// checkParts finds before any call what the store would refuse less clearly after it.
func checkParts(key string, parts []job.Part, want pipeline.Object) error {
	if len(parts) == 0 {
		return job.Errorf(job.Permanent, codePartInvalid, "complete upload: no parts; put an empty object instead: %w", at(key))
	}
	var total int64
	var sum checksum.CRC64
	known, last := true, int64(0)
	for _, part := range parts {
		if err := checkNumber("complete upload", key, part.Number); err != nil {
			return err
		}
		if part.Number <= last || part.ETag == "" || part.Bytes < 0 {
			return job.Errorf(job.Permanent, codePartInvalid,
				"complete upload: part %d must have an ETag and a size and follow part %d: %w", part.Number, last, at(key))
		}
		last = part.Number
		total += part.Bytes
		// A part whose checksum is not known has 0; then only the store can tell the whole.
		known = known && (part.CRC64 != 0 || part.Bytes == 0)
		if known {
			sum = sum.Combine(checksum.CRC64(part.CRC64), part.Bytes)
		}
	}
	if total != want.Bytes {
		return job.Errorf(job.Permanent, codeChecksumMismatch,
			"complete upload: the parts have %d bytes and the whole should have %d; the list of parts is not that of the object: %w", total, want.Bytes, at(key))
	}
	if known && uint64(sum) != want.CRC64 {
		return mismatch("complete upload", key, want.CRC64, uint64(sum))
	}
	return nil
}
