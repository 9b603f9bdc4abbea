// Package ledger owns the DynamoDB table that is the only authority on state, and is its only writer. It compiles a
// job.Change into one conditional write or one transaction, repeats what is safe to repeat, turns the service's answers
// into kinds of error, and reads the service's clock off every response. It implements pipeline.Ledger and imports job,
// limits, the pipeline's ports and its own SDK service. Start reading at Ledger.Apply, then compile.
package ledger

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// Ledger is the table. It is safe for concurrent use.
type Ledger struct {
	client   *dynamodb.Client
	table    string
	clock    *clock
	random   func() float64
	newToken func() string
}

var _ pipeline.Ledger = (*Ledger)(nil)

// Options are what a Ledger needs from outside besides the client. All are required.
type Options struct {
	// Now is the local clock. Only differences between its readings are used, so it must carry a monotonic reading,
	// as time.Now does.
	Now func() time.Time
	// Random is uniform over [0, 1), for the jitter between repetitions.
	Random func() float64
	// NewToken makes a unique text of at most 36 bytes. A transaction carries one, so that the service itself
	// recognises its repetition.
	NewToken func() string
}

// New makes a Ledger of a table. The client's own retries are switched off for every call, whatever its configuration,
// so that only one layer retries.
func New(client *dynamodb.Client, table string, opt Options) *Ledger {
	return &Ledger{
		client:   client,
		table:    table,
		clock:    &clock{local: opt.Now},
		random:   opt.Random,
		newToken: opt.NewToken,
	}
}

// Apply makes the change happen, wholly or not at all. It repeats the change when the service is busy or its answer was
// lost; repeating is safe because every write tells whether it has happened before.
func (l *Ledger) Apply(ctx context.Context, change job.Change) error {
	request, err := compile(l.table, change)
	if err != nil {
		return err
	}
	request.token = aws.String(l.newToken())
	return l.try(ctx, "apply "+change.Name(), true, func(ctx context.Context, perTry func(*dynamodb.Options)) error {
		return judge(change, request.send(ctx, l.client, perTry))
	})
}

// Now is the service's clock: the date of its responses, carried forward by the local monotonic clock. It never
// decreases and is at most about a second behind. Before the first response it is the local wall clock, so a caller
// reads a row before it judges time by it.
func (l *Ledger) Now() time.Time { return l.clock.now() }

// perTry are the client's options for one try. sent becomes true as soon as the request may reach the service.
func (l *Ledger) perTry(sent *bool) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(l.clock.step(sent), middleware.After)
		})
	}
}
