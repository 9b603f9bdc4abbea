package mapping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sealift/localstack/lambda"
	"sealift/localstack/template"
)

const (
	concurrencyDefault = 100 // of a mapping without MaximumConcurrency; Lambda scales to 1,000 or more
	receiveMax         = 10  // messages that one ReceiveMessage returns
	pollSeconds        = 20
	payloadBytesMax    = 6 << 20
	retryPauseMin      = 100 * time.Millisecond
	retryPauseMax      = 5 * time.Second
	deleteTimeout      = 10 * time.Second
)

// Invoker runs a function; *lambda.Host is one.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) (lambda.Response, error)
}

// Options are what Pollers need; all are required.
type Options struct {
	Endpoint string
	Region   string
	Invoker  Invoker
	Logger   *slog.Logger
}

// Pollers serves the event source mappings of a stack.
type Pollers struct {
	list []*poller
}

// New returns the pollers of the enabled mappings. It starts nothing: Run does.
func New(mappings []template.Mapping, opt Options) (*Pollers, error) {
	if opt.Endpoint == "" || opt.Region == "" || opt.Invoker == nil || opt.Logger == nil {
		return nil, errors.New("event source mappings: Endpoint, Region, Invoker and Logger are required; set them in Options")
	}
	out := &Pollers{}
	for _, m := range mappings {
		if !m.Enabled {
			continue
		}
		p, err := newPoller(m, opt)
		if err != nil {
			return nil, err
		}
		out.list = append(out.list, p)
	}
	return out, nil
}

// Run polls until ctx ends and returns when no batch is in flight any more. Batches that are in flight at that time are abandoned: their messages come back.
func (p *Pollers) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, one := range p.list {
		all.Go(func() { one.run(ctx) })
	}
	all.Wait()
	return nil
}

// poller serves one mapping.
type poller struct {
	template.Mapping
	opt    Options
	client *sqs.Client
	url    string
	slots  chan struct{}
}

func newPoller(m template.Mapping, opt Options) (*poller, error) {
	parts := strings.Split(m.QueueARN, ":")
	if len(parts) != 6 || parts[2] != "sqs" || m.BatchSize < 1 {
		return nil, fmt.Errorf("event source mapping %s: %q with batches of %d is not a queue that can be polled; check Queue and BatchSize", m.LogicalID, m.QueueARN, m.BatchSize)
	}
	concurrency := m.MaximumConcurrency
	if concurrency == 0 {
		concurrency = concurrencyDefault
	}
	return &poller{
		Mapping: m,
		opt:     opt,
		client: sqs.New(sqs.Options{
			BaseEndpoint: aws.String(opt.Endpoint), Region: opt.Region, RetryMaxAttempts: 3,
			Credentials: credentials.NewStaticCredentialsProvider("test", "test", "function/"+m.Function),
			HTTPClient:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}},
		}),
		url:   opt.Endpoint + "/" + parts[4] + "/" + parts[5],
		slots: make(chan struct{}, concurrency),
	}, nil
}

// run receives batches and starts one invocation for each. It takes a slot before it takes messages, so that none is invisible without being worked on.
func (p *poller) run(ctx context.Context) {
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	pause := retryPauseMin
	for {
		select {
		case <-ctx.Done():
			return
		case p.slots <- struct{}{}:
		}
		messages, err := p.collect(ctx)
		if len(messages) == 0 {
			<-p.slots
		} else {
			inFlight.Go(func() {
				defer func() { <-p.slots }()
				p.handle(ctx, messages)
			})
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause = retryPauseMin
		default:
			p.opt.Logger.WarnContext(ctx, "queue not received from", "mapping", p.LogicalID, "queue", p.QueueARN, "function", p.Function, "error", err.Error())
			wait(ctx, pause)
			pause = min(2*pause, retryPauseMax)
		}
	}
}

// collect receives the messages of one batch: those of the first answer that has any, and, with a batching window, what comes until it ends.
func (p *poller) collect(ctx context.Context) ([]types.Message, error) {
	batch, err := p.receive(ctx, p.BatchSize, pollSeconds)
	if err != nil || len(batch) == 0 || p.BatchingWindow == 0 {
		return batch, err
	}
	size := bodyBytes(batch)
	for end := time.Now().Add(p.BatchingWindow); len(batch) < p.BatchSize && size < payloadBytesMax; {
		left := time.Until(end)
		if left <= 0 || ctx.Err() != nil {
			break
		}
		more, err := p.receive(ctx, p.BatchSize-len(batch), int32(min(left/time.Second, pollSeconds)))
		if err != nil {
			return batch, err
		}
		if len(more) == 0 && left < time.Second {
			wait(ctx, min(left, retryPauseMin))
		}
		batch = append(batch, more...)
		size += bodyBytes(more)
	}
	return batch, ctx.Err()
}

func (p *poller) receive(ctx context.Context, count int, waitSeconds int32) ([]types.Message, error) {
	out, err := p.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &p.url, MaxNumberOfMessages: int32(min(count, receiveMax)), WaitTimeSeconds: waitSeconds,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, fmt.Errorf("receive from %s: %w", p.url, err)
	}
	return out.Messages, nil
}

func bodyBytes(messages []types.Message) int {
	size := 0
	for _, m := range messages {
		size += len(aws.ToString(m.Body))
	}
	return size
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
