package mapping_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"sealift/localstack/lambda"
	"sealift/localstack/mapping"
	"sealift/localstack/sqs"
	"sealift/localstack/template"
)

const arnPrefix = "arn:aws:sqs:us-east-1:000000000000:"

// invokerFunc lets a test be the function.
type invokerFunc func(ctx context.Context, event events.SQSEvent) (string, error)

func (f invokerFunc) Invoke(ctx context.Context, function string, payload []byte) (lambda.Response, error) {
	if function != "stack-worker" {
		return lambda.Response{}, fmt.Errorf("%w: %s", lambda.ErrNotFound, function)
	}
	var event events.SQSEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return lambda.Response{}, err
	}
	answer, err := f(ctx, event)
	if errors.Is(err, errFunction) {
		return lambda.Response{FunctionError: "Unhandled", Payload: []byte(`{"errorMessage":"as asked"}`)}, nil
	}
	return lambda.Response{Payload: []byte(answer)}, err
}

var errFunction = errors.New("the function failed")

// bench is a real queue with a dead-letter queue, and a client of them.
type bench struct {
	*awssqs.Client
	t        *testing.T
	endpoint string
}

func newBench(t *testing.T, visibilitySeconds int) *bench {
	t.Helper()
	engine, err := sqs.Open(t.TempDir(), sqs.Options{Caller: func(r *http.Request) string {
		if token := r.Header.Get("X-Amz-Security-Token"); token != "" {
			return token
		}
		return "operator"
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	b := &bench{t: t, endpoint: server.URL, Client: awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})}
	b.create("dead", nil)
	b.create("work", map[string]string{
		"VisibilityTimeout": strconv.Itoa(visibilitySeconds),
		"RedrivePolicy":     `{"deadLetterTargetArn":"` + arnPrefix + `dead","maxReceiveCount":2}`,
	})
	return b
}

func (b *bench) create(name string, attributes map[string]string) {
	b.t.Helper()
	if _, err := b.CreateQueue(b.t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) url(name string) *string { return aws.String(b.endpoint + "/000000000000/" + name) }

func (b *bench) send(bodies ...string) {
	b.t.Helper()
	for _, body := range bodies {
		if _, err := b.SendMessage(b.t.Context(), &awssqs.SendMessageInput{QueueUrl: b.url("work"), MessageBody: &body}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// depth is the number of messages in a queue, visible and not.
func (b *bench) depth(name string) int {
	b.t.Helper()
	out, err := b.GetQueueAttributes(context.Background(), &awssqs.GetQueueAttributesInput{
		QueueUrl: b.url(name), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	sum := 0
	for _, attribute := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
		n, err := strconv.Atoi(out.Attributes[attribute])
		if err != nil {
			b.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// poll runs one mapping of the work queue until the test ends.
func (b *bench) poll(invoker mapping.Invoker, change ...func(*template.Mapping)) (stop func()) {
	b.t.Helper()
	m := template.Mapping{LogicalID: "WorkerWork", Function: "stack-worker", QueueARN: arnPrefix + "work", BatchSize: 10, ReportBatchItemFailures: true, Enabled: true}
	for _, c := range change {
		c(&m)
	}
	pollers, err := mapping.New([]template.Mapping{m}, mapping.Options{Endpoint: b.endpoint, Region: "us-east-1", Invoker: invoker, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- pollers.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				b.t.Errorf("Run: %v", err)
			}
		case <-time.After(15 * time.Second):
			b.t.Error("the pollers did not stop within 15 s")
		}
	})
	b.t.Cleanup(stop)
	return stop
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if check() {
			return
		}
	}
	t.Fatalf("after 20 s not yet: %s", what)
}

// seen collects what the function was given.
type seen struct {
	mu     sync.Mutex
	events []events.SQSEvent
}

func (s *seen) add(e events.SQSEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// bodies are all bodies given, in order, of all events.
func (s *seen) bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.events {
		for _, r := range e.Records {
			out = append(out, r.Body)
		}
	}
	return out
}

func TestHandledMessagesAreDeletedAndTheEventIsAsOnAWS(t *testing.T) {
	t.Parallel()
	b := newBench(t, 30)
	sent, err := b.SendMessage(t.Context(), &awssqs.SendMessageInput{
		QueueUrl: b.url("work"), MessageBody: aws.String(`{"job":"a<b>&c"}`),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"trace": {DataType: aws.String("String"), StringValue: aws.String("abc")},
			"bytes": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got seen
	b.poll(invokerFunc(func(_ context.Context, e events.SQSEvent) (string, error) { got.add(e); return `{}`, nil }))
	eventually(t, "the queue is empty", func() bool { return b.depth("work") == 0 })
	if len(got.events) != 1 || len(got.events[0].Records) != 1 {
		t.Fatalf("events %+v, want one with one record", got.events)
	}
	r := got.events[0].Records[0]
	for _, name := range []string{"SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
		if ms, err := strconv.ParseInt(r.Attributes[name], 10, 64); err != nil || time.Since(time.UnixMilli(ms)) > time.Minute {
			t.Errorf("%s = %q", name, r.Attributes[name])
		}
		delete(r.Attributes, name)
	}
	if r.ReceiptHandle == "" {
		t.Error("no receipt handle")
	}
	r.ReceiptHandle = ""
	want := events.SQSMessage{
		MessageId: *sent.MessageId, Body: `{"job":"a<b>&c"}`, Md5OfBody: *sent.MD5OfMessageBody, Md5OfMessageAttributes: *sent.MD5OfMessageAttributes,
		Attributes: map[string]string{"ApproximateReceiveCount": "1", "SenderId": "operator"},
		MessageAttributes: map[string]events.SQSMessageAttribute{
			"trace": {StringValue: aws.String("abc"), DataType: "String", StringListValues: []string{}, BinaryListValues: [][]byte{}},
			"bytes": {BinaryValue: []byte{0, 255}, DataType: "Binary", StringListValues: []string{}, BinaryListValues: [][]byte{}},
		},
		EventSourceARN: arnPrefix + "work", EventSource: "aws:sqs", AWSRegion: "us-east-1",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestOutcomesOfABatch(t *testing.T) {
	t.Parallel()
	// Every case sends good and bad. After the second receive of what was left, the queue sets it aside.
	for _, c := range []struct {
		name   string
		answer func(events.SQSEvent) (string, error)
		report bool
		dead   []string
	}{
		{"an empty list of failures is a success", func(events.SQSEvent) (string, error) { return `{"batchItemFailures":[]}`, nil }, true, nil},
		{"null is a success", func(events.SQSEvent) (string, error) { return `null`, nil }, true, nil},
		{"a named message is left, the others are deleted", func(e events.SQSEvent) (string, error) { return failing(e, "bad"), nil }, true, []string{"bad"}},
		{"a failure of the function leaves the batch", func(events.SQSEvent) (string, error) { return "", errFunction }, true, []string{"bad", "good"}},
		{"an invocation that is refused leaves the batch", func(events.SQSEvent) (string, error) { return "", lambda.ErrTooLarge }, true, []string{"bad", "good"}},
		{"an unknown identifier fails the batch", func(events.SQSEvent) (string, error) { return `{"batchItemFailures":[{"itemIdentifier":"x"}]}`, nil }, true, []string{"bad", "good"}},
		{"an empty identifier fails the batch", func(events.SQSEvent) (string, error) { return `{"batchItemFailures":[{"itemIdentifier":""}]}`, nil }, true, []string{"bad", "good"}},
		{"a misspelt key fails the batch", func(e events.SQSEvent) (string, error) {
			return `{"batchItemFailures":[{"id":"` + e.Records[0].MessageId + `"}]}`, nil
		}, true, []string{"bad", "good"}},
		{"an answer that is no object fails the batch", func(events.SQSEvent) (string, error) { return `"done"`, nil }, true, []string{"bad", "good"}},
		{"without the report an answer is not read", func(e events.SQSEvent) (string, error) { return failing(e, "bad"), nil }, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 1)
			b.send("good", "bad")
			b.poll(invokerFunc(func(_ context.Context, e events.SQSEvent) (string, error) { return c.answer(e) }),
				func(m *template.Mapping) { m.ReportBatchItemFailures = c.report })
			eventually(t, "the queue is empty", func() bool { return b.depth("work") == 0 })
			out, err := b.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: b.url("dead"), MaxNumberOfMessages: 10})
			if err != nil {
				t.Fatal(err)
			}
			var dead []string
			for _, m := range out.Messages {
				dead = append(dead, *m.Body)
			}
			slices.Sort(dead)
			if diff := cmp.Diff(c.dead, dead); diff != "" {
				t.Errorf("set aside (-want +got):\n%s", diff)
			}
		})
	}
}

// failing is the answer that names the messages with that body.
func failing(e events.SQSEvent, body string) string {
	var items []string
	for _, r := range e.Records {
		if r.Body == body {
			items = append(items, `{"itemIdentifier":"`+r.MessageId+`"}`)
		}
	}
	return `{"batchItemFailures":[` + strings.Join(items, ",") + `]}`
}

func TestConcurrencyIsUsedAndNeverExceeded(t *testing.T) {
	t.Parallel()
	b := newBench(t, 60)
	for i := range 30 {
		b.send(strconv.Itoa(i))
	}
	var now, peak atomic.Int64
	var got seen
	b.poll(invokerFunc(func(_ context.Context, e events.SQSEvent) (string, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
		time.Sleep(30 * time.Millisecond)
		got.add(e)
		return `{}`, nil
	}), func(m *template.Mapping) { m.BatchSize, m.MaximumConcurrency = 1, 3 })
	eventually(t, "the queue is empty", func() bool { return b.depth("work") == 0 })
	if peak.Load() != 3 {
		t.Errorf("%d invocations at one time, want 3", peak.Load())
	}
	if n := len(got.bodies()); n != 30 || len(got.events) != 30 {
		t.Errorf("%d messages in %d events, want 30 in 30", n, len(got.events))
	}
}

func TestNoMessageIsTakenWithoutRoomForIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, 60)
	release := make(chan struct{})
	b.poll(invokerFunc(func(context.Context, events.SQSEvent) (string, error) { <-release; return `{}`, nil }),
		func(m *template.Mapping) { m.BatchSize, m.MaximumConcurrency = 1, 2 })
	b.send("a", "b", "c", "d")
	visible := func() string {
		out, err := b.GetQueueAttributes(context.Background(), &awssqs.GetQueueAttributesInput{QueueUrl: b.url("work"), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
		if err != nil {
			t.Fatal(err)
		}
		return out.Attributes["ApproximateNumberOfMessages"] + " visible, " + out.Attributes["ApproximateNumberOfMessagesNotVisible"] + " in flight"
	}
	eventually(t, "two are in flight", func() bool { return visible() == "2 visible, 2 in flight" })
	time.Sleep(200 * time.Millisecond)
	if got := visible(); got != "2 visible, 2 in flight" {
		t.Errorf("later: %s", got)
	}
	close(release)
	eventually(t, "the queue is empty", func() bool { return b.depth("work") == 0 })
}

func TestABatchingWindowGathersMessages(t *testing.T) {
	t.Parallel()
	b := newBench(t, 60)
	var got seen
	b.poll(invokerFunc(func(_ context.Context, e events.SQSEvent) (string, error) { got.add(e); return `{}`, nil }),
		func(m *template.Mapping) { m.BatchSize, m.BatchingWindow = 15, 30*time.Second })
	for i := range 15 {
		b.send(strconv.Itoa(i))
	}
	eventually(t, "the queue is empty", func() bool { return b.depth("work") == 0 })
	if len(got.events) != 1 || len(got.events[0].Records) != 15 {
		t.Errorf("%d events, want one with 15 records", len(got.events))
	}
}

func TestThrottlingIsWaitedForWithoutUsingUpReceives(t *testing.T) {
	t.Parallel()
	b := newBench(t, 60)
	b.send("patient")
	var tries atomic.Int64
	var got seen
	b.poll(invokerFunc(func(_ context.Context, e events.SQSEvent) (string, error) {
		if tries.Add(1) <= 3 {
			return "", fmt.Errorf("%w: no room", lambda.ErrThrottled)
		}
		got.add(e)
		return `{}`, nil
	}))
	eventually(t, "the queue is empty", func() bool { return b.depth("work") == 0 })
	if count := got.events[0].Records[0].Attributes["ApproximateReceiveCount"]; count != "1" {
		t.Errorf("receive count %s, want 1", count)
	}
}

func TestThrottlingEndsWhileTheMessageIsStillInvisible(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	b.send("hopeless")
	b.poll(invokerFunc(func(context.Context, events.SQSEvent) (string, error) { return "", lambda.ErrThrottled }))
	eventually(t, "the message is set aside", func() bool { return b.depth("work") == 0 && b.depth("dead") == 1 })
}

func TestMessagesTooLargeForOneEventAreSplit(t *testing.T) {
	t.Parallel()
	b := newBench(t, 60)
	for range 8 {
		b.send(strings.Repeat(`"`, 500_000)) // twice as long in JSON
	}
	var got seen
	b.poll(invokerFunc(func(_ context.Context, e events.SQSEvent) (string, error) { got.add(e); return `{}`, nil }))
	eventually(t, "the queue is empty", func() bool { return b.depth("work") == 0 })
	if n := len(got.bodies()); n != 8 {
		t.Errorf("%d messages arrived, want 8", n)
	}
}

func TestStoppingLeavesMessagesInFlight(t *testing.T) {
	t.Parallel()
	b := newBench(t, 60)
	b.send("interrupted")
	entered := make(chan struct{})
	stop := b.poll(invokerFunc(func(ctx context.Context, _ events.SQSEvent) (string, error) {
		close(entered)
		<-ctx.Done()
		return "", ctx.Err()
	}))
	<-entered
	stop()
	if depth := b.depth("work"); depth != 1 {
		t.Errorf("depth %d, want the message still there", depth)
	}
}

func TestAQueueThatAppearsLaterIsPolled(t *testing.T) {
	t.Parallel()
	b := newBench(t, 60)
	var got seen
	b.poll(invokerFunc(func(_ context.Context, e events.SQSEvent) (string, error) { got.add(e); return `{}`, nil }),
		func(m *template.Mapping) { m.QueueARN = arnPrefix + "late" })
	time.Sleep(150 * time.Millisecond)
	b.create("late", nil)
	if _, err := b.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: b.url("late"), MessageBody: aws.String("x")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the message arrives", func() bool { return len(got.bodies()) == 1 })
}

func TestDisabledAndWrongMappings(t *testing.T) {
	t.Parallel()
	opt := mapping.Options{Endpoint: "http://127.0.0.1:1", Region: "us-east-1", Invoker: invokerFunc(nil), Logger: slog.New(slog.DiscardHandler)}
	if _, err := mapping.New([]template.Mapping{{Enabled: false}}, opt); err != nil {
		t.Errorf("a disabled mapping: %v", err)
	}
	if _, err := mapping.New([]template.Mapping{{LogicalID: "Wrong", QueueARN: "arn:aws:sns:us-east-1:0:topic", BatchSize: 1, Enabled: true}}, opt); err == nil {
		t.Error("a topic was accepted as a queue")
	}
	if _, err := mapping.New(nil, mapping.Options{}); err == nil {
		t.Error("empty options were accepted")
	}
}

func TestARealFunctionBehindARealQueue(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "worker"), "./testdata/function")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test function: %v\n%s", err, out)
	}
	var ids atomic.Int64
	host, err := lambda.New([]template.Function{{
		LogicalID: "Worker", Name: "stack-worker", CodeURI: "functions/worker", MemoryMiB: 128, Timeout: 10 * time.Second,
	}}, lambda.Options{
		BinDir: bin, Region: "us-east-1", AccountID: "000000000000", Endpoint: "http://127.0.0.1:1", Output: io.Discard,
		Logger: slog.New(slog.DiscardHandler), Now: time.Now, NewID: func() string { return fmt.Sprintf("id-%d", ids.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- host.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	b := newBench(t, 2)
	b.poll(host, func(m *template.Mapping) { m.BatchSize, m.MaximumConcurrency = 1, 2 })
	b.send("fine", "fail", "explode", "crash", "fine")
	eventually(t, "two are handled and three are set aside", func() bool { return b.depth("work") == 0 && b.depth("dead") == 3 })
	if stats := host.Stats()[0]; stats.Invocations != 8 || stats.Errors != 4 {
		t.Errorf("stats %+v, want 8 invocations (two good, three bad ones twice) and 4 errors", stats)
	}
}
