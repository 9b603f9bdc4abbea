package artifact

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"sealift/shared/answer"
	"sealift/shared/job"
)

// The codes of this package's errors.
const (
	codeObjectMissing      = "object_missing"
	codeObjectExists       = "object_exists"
	codeObjectChanged      = "object_changed"
	codeUploadMissing      = "upload_missing"
	codeChecksumMismatch   = "checksum_mismatch"
	codePartInvalid        = "part_invalid"
	codeRangeInvalid       = "range_invalid"
	codeDenied             = "store_denied"
	codeRefused            = "store_refused"
	codeOverloaded         = "store_overloaded"
	codeUnavailable        = "store_unavailable"
	codeTimeout            = "store_timeout"
	codeUnknown            = "store_unknown"
	codeCancelled          = "store_cancelled"
	codeCredentialsExpired = "credentials_expired"
)

// effect says what a call may leave behind when its answer is lost.
type effect int

const (
	reads   effect = iota // nothing
	repeats               // a change that the same call makes again
	creates               // a thing that the same call would find and take for somebody else's
)

// call is one call for its error: what, where, and what it may have done. Where is for logs only.
type call struct {
	operation string
	key       string
	effect    effect
}

// failed turns an error of the SDK into one of the pipeline's. A cancelled write may have happened as well; whoever
// cancels does not act on its result.
func (s *Store) failed(c call, err error) error {
	var known *job.Error
	if errors.As(err, &known) {
		return known
	}
	if a := answer.Of(err); a.Status != 0 {
		kind, name, hint := answered(c, a)
		return job.Errorf(kind, name, "%s: %s: %w", c.operation, hint, s.at(c.key, err))
	}
	lost, name := job.Transient, codeUnavailable
	switch {
	case errors.Is(err, context.Canceled):
		return job.Errorf(job.Cancelled, codeCancelled, "%s: stopped by the caller: %w", c.operation, s.at(c.key, err))
	case c.effect != reads && !c.neverSent(err):
		lost, name = job.Unknown, codeUnknown
	case errors.Is(err, context.DeadlineExceeded):
		name = codeTimeout
	}
	return job.Errorf(lost, name, "%s: no answer from the store; check its endpoint and the network: %w", c.operation, s.at(c.key, err))
}

// at says which object an error is about, and in which bucket. It is no part of a detail: a key has one that nobody may guess.
func (s *Store) at(key string, err error) error { return job.At(key+" in "+s.bucket, err) }

// at is the same for an error that has no other cause.
func at(key string) error { return job.At(key, nil) }

// answered classes what S3 said. Codes come first: some statuses carry several meanings.
func answered(c call, a answer.Answer) (kind job.Kind, name, hint string) {
	switch a.Code {
	case "NoSuchUpload":
		return job.Permanent, codeUploadMissing, "the multipart upload does not exist any more; look whether the object does"
	case "NoSuchBucket":
		return job.Permanent, codeRefused, "the bucket does not exist; create it or correct BUCKET_NAME"
	case "BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch":
		return job.Permanent, codeChecksumMismatch, "the bytes that arrived do not have the checksum given; make them again"
	case "InvalidPart", "InvalidPartOrder", "EntityTooSmall", "EntityTooLarge":
		return job.Permanent, codePartInvalid, "a listed part is absent, was replaced, or has a size that is not allowed; list the upload's parts"
	case "InvalidRange":
		return job.Permanent, codeRangeInvalid, "the object is shorter than recorded"
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestTimeTooSkewed":
		return job.Transient, codeCredentialsExpired, "the credentials have ended or the local clock is wrong; a new start gets fresh ones"
	case "RequestTimeout":
		return job.Transient, codeTimeout, "the bytes did not arrive in time"
	case "ConditionalRequestConflict":
		return job.Unknown, codeUnknown, "another write of this key is under way; look at the key before trying again"
	case "OperationAborted":
		return job.Transient, codeUnavailable, "another operation on the same resource is under way"
	}
	switch {
	case a.Throttled():
		return job.Overload, codeOverloaded, "the store asks to slow down"
	case a.Status == http.StatusNotFound:
		return job.Permanent, codeObjectMissing, "there is no such object"
	case a.Status == http.StatusPreconditionFailed && c.effect == creates:
		return job.Permanent, codeObjectExists, "an object has this key already; compare it with what was to be written"
	case a.Status == http.StatusPreconditionFailed:
		return job.Permanent, codeObjectChanged, "the object is not the version named"
	case a.Status == http.StatusRequestedRangeNotSatisfiable:
		return job.Permanent, codeRangeInvalid, "the object is shorter than recorded"
	case a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized:
		return job.Permanent, codeDenied, "not allowed; add the permission to the function's role in template.yaml"
	case a.Status >= http.StatusInternalServerError && c.effect == reads:
		return job.Transient, codeUnavailable, "the store failed"
	case a.Status >= http.StatusInternalServerError:
		return job.Unknown, codeUnknown, "the store failed and may have done it; look before trying again"
	}
	return job.Permanent, codeRefused, "the store refused the call as it stands"
}

// didNothing reports whether one failed attempt certainly left nothing behind.
func didNothing(err error) bool {
	if a := answer.Of(err); a.Status != 0 {
		return a.Throttled() || a.Code == "RequestTimeout" || a.Code == "RequestTimeTooSkewed"
	}
	return dialFailed(err) || answer.Refused(err)
}

// neverSent reports whether none of a call's attempts can have had an effect: the last one failed to connect, and it was
// the only one or was made only because the one before had none either.
func (c call) neverSent(err error) bool {
	var attempts *retry.MaxAttemptsError
	return dialFailed(err) && (c.effect == creates || !errors.As(err, &attempts) || attempts.Attempt <= 1)
}

func dialFailed(err error) bool {
	var operation *net.OpError
	var name *net.DNSError
	return errors.As(err, &operation) && operation.Op == "dial" || errors.As(err, &name)
}
