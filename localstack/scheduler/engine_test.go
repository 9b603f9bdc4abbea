//go:build !aws

package scheduler_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/smithy-go"

	"sealift/localstack/scheduler"
	"sealift/localstack/service"
)

// sink is a target that remembers what it got and refuses while told to.
type sink struct {
	mu       sync.Mutex
	got      []delivery
	refusals map[string]int // by target, how many more to refuse; -1 is all
	hold     chan struct{}  // when not nil, deliveries wait until it is closed
	arrived  chan struct{}
}

type delivery struct {
	Target, Input string
	at            time.Time
}

func newSink() *sink { return &sink{refusals: map[string]int{}, arrived: make(chan struct{}, 1000)} }

func (s *sink) deliver(ctx context.Context, target, input string) error {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.arrived <- struct{}{} }()
	if n := s.refusals[target]; n != 0 {
		s.refusals[target] = n - 1
		return errors.New("target is away")
	}
	s.got = append(s.got, delivery{Target: target, Input: input, at: time.Now()})
	return nil
}

func (s *sink) deliveries() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// wait waits until n deliveries were made, then long enough to notice one too many.
func (s *sink) wait(t *testing.T, n int) []delivery {
	t.Helper()
	end := time.After(8 * time.Second)
	for len(s.deliveries()) < n {
		select {
		case <-s.arrived:
		case <-end:
			t.Fatalf("%d deliveries, want %d", len(s.deliveries()), n)
		}
	}
	time.Sleep(150 * time.Millisecond)
	got := s.deliveries()
	if len(got) != n {
		t.Fatalf("%d deliveries, want %d: %v", len(got), n, got)
	}
	return got
}

type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// settle moves the clock to the fifth second of an hour, so that no minute ends by itself during a test.
func (c *clock) settle() {
	now := c.now()
	c.advance(now.Truncate(time.Hour).Add(time.Hour + 5*time.Second).Sub(now))
}

// bench is one running engine behind a server, and an SDK client of it.
type bench struct {
	*awsscheduler.Client
	t     *testing.T
	sink  *sink
	clock *clock
	dir   string
	stop  func()
}

func start(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, sink: newSink(), clock: &clock{}, dir: t.TempDir()}
	b.begin()
	return b
}

// begin starts an engine on the bench's directory, again after a stop.
func (b *bench) begin() {
	b.t.Helper()
	engine, err := scheduler.Open(b.dir, scheduler.Options{Options: service.Options{Now: b.clock.now}, Deliver: b.sink.deliver})
	if err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(context.Background()) }()
	b.stop = sync.OnceFunc(func() {
		server.Close()
		if err := engine.Close(); err != nil {
			b.t.Error(err)
		}
		if err := <-ended; err != nil {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(b.stop)
	b.Client = awsscheduler.New(awsscheduler.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func TestAnOperationThatIsNotProvidedIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t)
	_, err := b.ListTagsForResource(t.Context(), &awsscheduler.ListTagsForResourceInput{ResourceArn: aws.String("x")})
	var answer smithy.APIError
	if !errors.As(err, &answer) || answer.ErrorCode() != "UnknownOperationException" {
		t.Errorf("got %v, want UnknownOperationException", err)
	}
}

// It is no rule for any endpoint: one that does not know it loses the group that all other tests use.
func TestTheDefaultGroupCannotBeDeleted(t *testing.T) {
	t.Parallel()
	b := start(t)
	_, err := b.DeleteScheduleGroup(t.Context(), &awsscheduler.DeleteScheduleGroupInput{Name: aws.String("default")})
	wantError[*types.ValidationException](t, err)
}
