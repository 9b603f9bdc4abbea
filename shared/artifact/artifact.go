// Package artifact owns the bytes: it is the object store of the pipeline on S3. Every write carries a CRC-64/NVME that S3
// checks, objects are created and never overwritten, and multipart uploads are completed with the whole list of their parts,
// the size and the checksum of the whole; Keys owns every path. It imports pipeline for the port, answer, job,
// checksum, limits and its SDK service; start reading at Store
// and Keys.
//
// # Retries
//
// This package is the one layer that retries a call to S3, three attempts at most, because a part is expensive to make again
// and S3 asks its callers to repeat what it answers with 500 or 503. Calls that create an object are repeated only after
// failures that certainly left nothing behind: otherwise a repetition would find its own object and report it as somebody
// else's.
//
// # Permissions
//
// Without s3:ListBucket on the bucket, free of conditions, S3 answers 403 instead of 404 for an object that doesn't exist, and
// Stat can't tell. Deleting a version needs s3:GetObject beside s3:DeleteObject.
package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"sealift/shared/answer"
	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/pipeline"
)

const (
	attemptsMax = 3
	backoffMax  = 5 * time.Second
	// controlTimeout bounds calls that move no data, dataTimeout those that do or that wait for S3 to assemble: all
	// their attempts together.
	controlTimeout = 30 * time.Second
	dataTimeout    = 5 * time.Minute
	// pageMax is the most that one listing call of S3 returns.
	pageMax = 1000
)

// Options are the choices of a Store; the zero value is right for production.
type Options struct {
	// Attempts is how often a call is tried at most; 0 means 3.
	Attempts int
}

// Store keeps objects in one bucket. It may be shared by goroutines and holds no data of its own: parts are sent from the
// caller's memory without a copy.
type Store struct {
	client  *s3.Client
	bucket  string
	careful aws.RetryerV2
	usual   aws.RetryerV2
}

var _ pipeline.Store = (*Store)(nil)

// New returns a store on the bucket. The retries and checksum settings of the client are not used; its credentials,
// region, endpoint and HTTP client are.
func New(client *s3.Client, bucket string, opt Options) *Store {
	if opt.Attempts <= 0 {
		opt.Attempts = attemptsMax
	}
	usual := retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = opt.Attempts
		o.MaxBackoff = backoffMax
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if answer.Refused(err) {
				return aws.TrueTernary
			}
			return aws.UnknownTernary
		}))
	})
	return &Store{client: client, bucket: bucket, usual: usual, careful: careful{usual}}
}

// careful retries only what certainly did nothing.
type careful struct{ *retry.Standard }

// IsErrorRetryable reports whether the standard rules retry the error and nothing can have happened.
func (c careful) IsErrorRetryable(err error) bool {
	return c.Standard.IsErrorRetryable(err) && didNothing(err)
}

// options sets what this package relies on, whatever the client's own settings are. Payloads are not hashed for the
// signature: the checksum in the signed headers protects them, and hashing would read each part once more.
func (s *Store) options(retryer aws.RetryerV2) func(*s3.Options) {
	return func(o *s3.Options) {
		o.Retryer = retryer
		o.RetryMaxAttempts = 0
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
}

func unsigned(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
}

// Put creates a small object in one call. It is object_exists when the key is taken, and Unknown when no answer came:
// Stat then tells.
func (s *Store) Put(ctx context.Context, object pipeline.NewObject, data []byte) (pipeline.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	sum := checksum.Sum64(data)
	out, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &object.Key, ContentType: text(object.ContentType),
		Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ChecksumCRC64NVME: aws.String(sum.Base64()), IfNoneMatch: aws.String("*"),
	}, s.options(s.careful), unsigned)
	if err != nil {
		return pipeline.Object{}, s.failed(call{"put", object.Key, creates}, err)
	}
	made := pipeline.Object{Key: object.Key, ETag: tag(out.ETag), Bytes: int64(len(data)), CRC64: uint64(sum)}
	if stored, err := parseSum(out.ChecksumCRC64NVME); err != nil || stored != 0 && stored != made.CRC64 {
		return made, mismatch("put", object.Key, made.CRC64, stored)
	}
	return made, nil
}

// Stat describes an object. CRC64 is 0 when S3 holds no CRC-64/NVME of the whole object, which is so for no object that
// this package made.
func (s *Store) Stat(ctx context.Context, key string) (object pipeline.Object, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &s.bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled,
	}, s.options(s.usual))
	if err != nil {
		err = s.failed(call{"stat", key, reads}, err)
		if job.CodeOf(err) == codeObjectMissing {
			return pipeline.Object{}, false, nil
		}
		return pipeline.Object{}, false, err
	}
	object = pipeline.Object{Key: key, ETag: tag(out.ETag), Bytes: aws.ToInt64(out.ContentLength)}
	if out.ChecksumType != types.ChecksumTypeComposite {
		if object.CRC64, err = parseSum(out.ChecksumCRC64NVME); err != nil {
			return pipeline.Object{}, false, s.failed(call{"stat", key, reads}, err)
		}
	}
	return object, true, nil
}

// Read reads bytes of an object into memory: exactly those asked for, or it fails. An empty ETag reads any version.
func (s *Store) Read(ctx context.Context, from pipeline.Slice) ([]byte, error) {
	if err := checkSlice("read", from); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	what := call{"read", from.Key, reads}
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &s.bucket, Key: &from.Key, IfMatch: quoted(from.ETag), Range: aws.String(byteRange(from)),
	}, s.options(s.usual))
	if err != nil {
		return nil, s.failed(what, err)
	}
	defer func() { _ = out.Body.Close() }()
	if length := aws.ToInt64(out.ContentLength); length != from.To-from.From {
		return nil, job.Errorf(job.Permanent, codeRangeInvalid,
			"read: asked for bytes %d to %d and got %d bytes; the object is shorter than recorded: %w", from.From, from.To, length, at(from.Key))
	}
	data := make([]byte, from.To-from.From)
	if _, err := io.ReadFull(out.Body, data); err != nil {
		return nil, s.failed(what, fmt.Errorf("the body ended early: %w", err))
	}
	return data, nil
}

// Delete removes an object; one that does not exist is a success. With an ETag, another version is object_changed and left
// alone: S3 compares it in the same step.
func (s *Store) Delete(ctx context.Context, key, etag string) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key, IfMatch: quoted(etag)}, s.options(s.usual))
	if err == nil {
		return nil
	}
	err = s.failed(call{"delete", key, repeats}, err)
	switch job.CodeOf(err) {
	case codeObjectMissing:
		return nil
	case codeObjectChanged:
		// A store may refuse the condition for an object that isn't there at all.
		if _, ok, failure := s.Stat(ctx, key); failure == nil && !ok {
			return nil
		}
	}
	return err
}

func checkSlice(operation string, from pipeline.Slice) error {
	if from.From < 0 || from.To <= from.From {
		return job.Errorf(job.Permanent, codeRangeInvalid,
			"%s: bytes %d to %d are no range; give 0 <= from < to: %w", operation, from.From, from.To, at(from.Key))
	}
	return nil
}

func byteRange(from pipeline.Slice) string {
	return "bytes=" + strconv.FormatInt(from.From, 10) + "-" + strconv.FormatInt(from.To-1, 10)
}

// tag is an ETag without its quotes, the way this package hands them out.
func tag(etag *string) string { return strings.Trim(aws.ToString(etag), `"`) }

// quoted is an ETag as HTTP writes it; none for none.
func quoted(etag string) *string {
	if etag == "" {
		return nil
	}
	return aws.String(`"` + strings.Trim(etag, `"`) + `"`)
}

func text(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}

// parseSum reads a checksum that S3 reports; an absent one is 0.
func parseSum(value *string) (uint64, error) {
	if aws.ToString(value) == "" {
		return 0, nil
	}
	sum, err := checksum.ParseCRC64(*value)
	if err != nil {
		return 0, errors.Join(errors.New("the store reports a checksum that is none"), err)
	}
	return uint64(sum), nil
}

func mismatch(operation, key string, want, got uint64) error {
	return job.Errorf(job.Permanent, codeChecksumMismatch, "%s: the store's CRC-64/NVME is %016x and %016x was expected; "+
		"the object is not used: look at it, then remove it or let the sweep do so: %w", operation, got, want, at(key))
}
