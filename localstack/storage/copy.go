package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// copyRangeSourceMin is the size that a source must exceed before a range of it
// may be copied, as S3 demands.
const copyRangeSourceMin = 5 << 20

// checksumsAttribute is the attribute of an object, a part or an upload that holds
// its checksums.
const checksumsAttribute = "checksums"

// store is the file backend with multipart uploads done as S3 does them. On its
// own the backend hands a copied part the checksum of the whole source, even when
// only a range was copied or when that checksum is a checksum of checksums, so
// that the upload can never be completed.
type store struct {
	*posix.Posix
	keeper meta.MetadataStorer
	now    func() time.Time

	mu    sync.Mutex
	turns map[string]*turnstile
}

// turnstile lets one completion of a key through at a time.
type turnstile struct {
	mu      sync.Mutex
	waiting int
}

var _ backend.Backend = (*store)(nil)

// UploadPartCopy copies a source or a range of it into a part. The checksum of
// the part is that of the bytes copied.
func (s *store) UploadPartCopy(ctx context.Context, in *s3.UploadPartCopyInput) (s3response.CopyPartResult, error) {
	if err := checkID(in.UploadId); err != nil {
		return s3response.CopyPartResult{}, err
	}
	if err := s.checkRange(ctx, in); err != nil {
		return s3response.CopyPartResult{}, err
	}
	algorithm, err := s.algorithm(aws.ToString(in.Bucket), aws.ToString(in.Key), aws.ToString(in.UploadId))
	if err != nil {
		return s3response.CopyPartResult{}, err
	}
	if algorithm == "" {
		return s.Posix.UploadPartCopy(ctx, in)
	}
	if algorithm == types.ChecksumAlgorithmCrc64nvme {
		if part, ok := s.linkSource(in); ok {
			return part, nil
		}
	}
	return s.copyBytes(ctx, in, algorithm)
}

// algorithm is the checksum algorithm that an upload was created with, empty when
// it was created without one.
func (s *store) algorithm(bucket, key, id string) (types.ChecksumAlgorithm, error) {
	sums, err := s.checksums(bucket, filepath.Join(uploadFolder(key), id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", s3err.GetNoSuchUploadErr(id)
	case err != nil && !errors.Is(err, meta.ErrNoSuchKey):
		return "", fmt.Errorf("read the checksum algorithm of upload %s of %s/%s: %w", id, bucket, key, err)
	}
	return sums.Algorithm, nil
}

// checksums are those that the backend stored for an object, a part or an upload.
func (s *store) checksums(bucket, object string) (sums s3response.Checksum, err error) {
	data, err := s.keeper.RetrieveAttribute(nil, bucket, object, checksumsAttribute)
	if err != nil {
		return sums, err
	}
	err = json.Unmarshal(data, &sums)
	return sums, err
}

// checkRange refuses what S3 refuses: a range that is no range of the source or
// has no end, and a range of a source so small that it could be copied whole.
func (s *store) checkRange(ctx context.Context, in *s3.UploadPartCopyInput) error {
	asked := aws.ToString(in.CopySourceRange)
	if asked == "" {
		return nil
	}
	if strings.HasSuffix(asked, "-") {
		return s3err.GetInvalidArgumentErr(s3err.InvalidArgCopySourceRange, asked)
	}
	bucket, key, version, err := backend.ParseCopySource(aws.ToString(in.CopySource))
	if err != nil {
		return err
	}
	head, err := s.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key, VersionId: versionOf(version)})
	if err != nil {
		return err
	}
	if aws.ToInt64(head.ContentLength) <= copyRangeSourceMin {
		return s3err.APIError{
			Code:           "InvalidRequest",
			Description:    "The specified copy source is not supported as a byte-range copy source",
			HTTPStatusCode: http.StatusBadRequest,
		}
	}
	_, _, err = backend.ParseCopySourceRange(aws.ToInt64(head.ContentLength), asked)
	return err
}

// copyBytes reads the source and writes it as a part.
func (s *store) copyBytes(ctx context.Context, in *s3.UploadPartCopyInput, algorithm types.ChecksumAlgorithm) (s3response.CopyPartResult, error) {
	none := s3response.CopyPartResult{}
	bucket, key, version, err := backend.ParseCopySource(aws.ToString(in.CopySource))
	if err != nil {
		return none, err
	}
	source, err := s.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &bucket, Key: &key, VersionId: versionOf(version), Range: aws.String(aws.ToString(in.CopySourceRange)),
		IfMatch: in.CopySourceIfMatch, IfNoneMatch: in.CopySourceIfNoneMatch,
		IfModifiedSince: in.CopySourceIfModifiedSince, IfUnmodifiedSince: in.CopySourceIfUnmodifiedSince,
	})
	if err != nil {
		return none, err
	}
	defer func() { _ = source.Body.Close() }()
	if aws.ToInt64(source.ContentLength) > copyBytesMax {
		return none, s3err.GetCopySourceObjectTooLargeErr(copyBytesMax)
	}
	sum, err := utils.NewHashReader(source.Body, "", utils.HashType(strings.ToLower(string(algorithm))))
	if err != nil {
		return none, fmt.Errorf("copy part: checksum %s: %w", algorithm, err)
	}
	part, err := s.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: in.Bucket, Key: in.Key, UploadId: in.UploadId, PartNumber: in.PartNumber,
		ContentLength: source.ContentLength, Body: summed{sum},
	})
	if err != nil {
		return none, err
	}
	return s3response.CopyPartResult{
		ETag: part.ETag, LastModified: s.now().UTC(), CopySourceVersionId: version,
		ChecksumCRC32: part.ChecksumCRC32, ChecksumCRC32C: part.ChecksumCRC32C, ChecksumSHA1: part.ChecksumSHA1,
		ChecksumSHA256: part.ChecksumSHA256, ChecksumCRC64NVME: part.ChecksumCRC64NVME,
	}, nil
}

// CopyObject copies an object. Onto itself it changes what is said of the object
// and neither bytes nor checksum, which parts may share; the backend alone stores
// the checksum of no bytes when it is asked for one of another kind.
func (s *store) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	bucket, key, _, err := backend.ParseCopySource(aws.ToString(in.CopySource))
	if err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	if in.ChecksumAlgorithm == "" || filepath.Join(bucket, key) != filepath.Join(aws.ToString(in.Bucket), aws.ToString(in.Key)) {
		return s.Posix.CopyObject(ctx, in)
	}
	if sums, err := s.checksums(bucket, key); err == nil && sums.Algorithm != in.ChecksumAlgorithm {
		return s3response.CopyObjectOutput{}, s3err.APIError{
			Code:           "NotImplemented",
			Description:    "Copying an object onto itself to get a checksum of another algorithm is not supported here; put the object again.",
			HTTPStatusCode: http.StatusNotImplemented,
		}
	}
	in.ChecksumAlgorithm = ""
	return s.Posix.CopyObject(ctx, in)
}

// summed hands a part's checksum over with its bytes.
type summed struct{ *utils.HashReader }

var _ middlewares.ChecksumReader = summed{}

// Algorithm names the checksum in the backend's spelling.
func (s summed) Algorithm() string { return string(s.Type()) }

// Checksum is the base64 checksum of the bytes read so far.
func (s summed) Checksum() string { return s.Sum() }

func versionOf(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}
