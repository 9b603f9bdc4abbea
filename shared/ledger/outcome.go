package ledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// The codes of this package's errors, one for each thing a reader may have to do.
const (
	codeBusy        = "ledger_busy"
	codeUnavailable = "ledger_unavailable"
	codeUnknown     = "ledger_unknown"
	codeDenied      = "ledger_denied"
	codeMissing     = "ledger_missing"
	codeInvalid     = "ledger_invalid"
	codeCancelled   = "ledger_cancelled"
)

// call makes one request with the options of this try.
type call func(context.Context, func(*dynamodb.Options)) error

// try makes a call up to limits.LedgerTries times, each within limits.LedgerTryTime, with full jitter in between. writes
// says that an answer that never came leaves the outcome open; such a call ends as Unknown unless a later try settles it.
func (l *Ledger) try(ctx context.Context, operation string, writes bool, call call) error {
	open := false
	for n := 1; ; n++ {
		err := l.once(ctx, call)
		if err == nil {
			return nil
		}
		kind := job.KindOf(err)
		open = open || writes && kind == job.Unknown
		switch {
		case ctx.Err() != nil:
			return cancelled(operation, writes, err)
		case kind == job.Fenced:
			return err
		case kind != job.Permanent && n < limits.LedgerTries:
			if !l.pause(ctx, n) {
				return cancelled(operation, open, ctx.Err())
			}
			continue
		case open:
			return job.Errorf(job.Unknown, codeUnknown,
				"the ledger was asked %d times and an answer was lost; read the row back before acting: %w", n, during(operation, err))
		case kind == job.Unknown:
			return job.Errorf(job.Transient, codeUnavailable, "the ledger gave no answer after %d tries; try later: %w", n, during(operation, err))
		}
		return told(operation, err)
	}
}

// told is a classed error as it leaves this package: its own detail, and the operation as a cause.
func told(operation string, err error) error {
	told := &job.Error{Kind: job.KindOf(err), Code: job.CodeOf(err), Err: during(operation, err)}
	if known := new(job.Error); errors.As(err, &known) {
		told.Detail, told.Err = known.Detail, during(operation, known.Err)
	}
	return told
}

// during says which operation an error is about. It is no part of a detail: what the ledger's rows are called is of no use to
// whoever reads one.
func during(operation string, err error) error { return job.At(operation, err) }

func (l *Ledger) once(ctx context.Context, call call) error {
	ctx, cancel := context.WithTimeout(ctx, limits.LedgerTryTime)
	defer cancel()
	sent := false
	err := call(ctx, l.perTry(&sent))
	return classify(err, sent)
}

// pause waits before the next try and reports whether there is to be one.
func (l *Ledger) pause(ctx context.Context, tries int) bool {
	most := min(limits.LedgerBackoffBase<<(tries-1), limits.LedgerBackoffMax)
	timer := time.NewTimer(time.Duration(l.random() * float64(most)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func cancelled(operation string, open bool, cause error) error {
	detail := "nothing was written"
	if open {
		detail = "whether it was written is not known; read the row back before acting"
	}
	return &job.Error{
		Kind: job.Cancelled, Code: codeCancelled, Detail: "the call of the ledger was stopped by its caller: " + detail, Err: during(operation, cause),
	}
}

// judge settles a refusal by what it shows of the rows; other errors pass through.
func judge(change job.Change, err error) error {
	var alone *types.ConditionalCheckFailedException
	if errors.As(err, &alone) {
		return change.Judge(map[int]job.Fields{0: decodeFields(alone.Item)})
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		if err != nil && job.CodeOf(classify(err, true)) == codeInvalid {
			return refusedWrite(change, heaviest(change), err)
		}
		return err
	}
	old := map[int]job.Fields{}
	var other error
	for index, reason := range cancelled.CancellationReasons {
		switch code := deref(reason.Code); code {
		case "None", "":
		case "ConditionalCheckFailed":
			old[index] = decodeFields(reason.Item)
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			if other == nil {
				other = job.Errorf(job.Overload, codeBusy, "write %d of the transaction met %s", index, code)
			}
		default:
			other = refusedWrite(change, index, fmt.Errorf("write %d of the transaction met %s: %s", index, code, deref(reason.Message)))
		}
	}
	if len(old) == 0 && other == nil {
		return job.Errorf(job.Unknown, codeUnknown, "the transaction was cancelled without a reason: %w", errors.New(deref(cancelled.Message)))
	}
	if len(old) > 0 {
		// A refusal outweighs what the other writes met. A repetition is only believed when nothing else was met.
		if refused := change.Judge(old); refused != nil || other == nil {
			return refused
		}
	}
	return other
}

// classify turns an error of the SDK into a *job.Error. Unknown means that the request may have been received.
func classify(err error, sent bool) error {
	var known *job.Error
	var refused *job.Refused
	if err == nil || errors.As(err, &known) || errors.As(err, &refused) {
		return err
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		return classifyAnswer(api, err)
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return job.Errorf(job.Transient, codeUnavailable, "the ledger's endpoint can't be reached; check the network and AWS_ENDPOINT_URL: %w", err)
	}
	if sent {
		return job.Errorf(job.Unknown, codeUnknown, "the ledger's answer was lost: %w", err)
	}
	return job.Errorf(job.Transient, codeUnavailable, "the request to the ledger could not be sent; check the credentials and the region: %w", err)
}

func classifyAnswer(api smithy.APIError, err error) error {
	switch api.ErrorCode() {
	case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "Throttling",
		"TransactionConflictException", "TransactionInProgressException", "LimitExceededException":
		return job.Errorf(job.Overload, codeBusy, "the ledger asks to slow down: %w", err)
	case "AccessDeniedException":
		return job.Errorf(job.Permanent, codeDenied, "this function's role lacks a permission on the table or index; add it in template.yaml: %w", err)
	case "ResourceNotFoundException":
		return job.Errorf(job.Permanent, codeMissing, "the table or index does not exist; deploy template.yaml or mend TABLE_NAME: %w", err)
	case "ExpiredTokenException", "RequestExpired":
		return job.Errorf(job.Transient, codeUnavailable, "the credentials have ended; they are renewed before the next try: %w", err)
	}
	var response *smithyhttp.ResponseError
	if api.ErrorFault() == smithy.FaultServer || errors.As(err, &response) && response.HTTPStatusCode() >= 500 {
		return job.Errorf(job.Unknown, codeUnknown, "the ledger failed while it answered: %w", err)
	}
	return job.Errorf(job.Permanent, codeInvalid, "the ledger refuses the request as it stands: %s: %w", remedy, err)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
