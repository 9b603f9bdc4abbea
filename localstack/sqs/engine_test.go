//go:build !aws

package sqs_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"sealift/localstack/service"
	"sealift/localstack/sqs"
)

// clock is the wall clock plus what a test adds to it.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// bench is one engine behind a server, and an SDK client of it.
type bench struct {
	*awssqs.Client
	t      *testing.T
	engine *sqs.Engine
	server *httptest.Server
	clock  *clock
	dir    string
}

func start(t *testing.T) *bench {
	t.Helper()
	return startIn(t, t.TempDir())
}

func startIn(t *testing.T, dir string) *bench {
	t.Helper()
	b := &bench{t: t, clock: &clock{}, dir: dir}
	engine, err := sqs.Open(dir, sqs.Options{Options: service.Options{Now: b.clock.now}})
	if err != nil {
		t.Fatal(err)
	}
	b.engine = engine
	b.server = httptest.NewServer(engine)
	b.Client = clientOf(b.server.URL)
	t.Cleanup(b.stop)
	return b
}

func (b *bench) stop() {
	b.t.Helper()
	if err := b.engine.Close(); err != nil {
		b.t.Error(err)
	}
	b.server.Close()
}

// runs runs the engine's background work until the test ends.
func (b *bench) runs() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.engine.Run(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Error(err)
		}
	})
}

func clientOf(url string) *awssqs.Client {
	return awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// made has nothing to do: queues go with their engine.
func (b *bench) made(string) {}

func TestHandleWhoseTimeoutIsOverStillDeletesButNoLongerHides(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	b.send(url, "x")
	m := b.one(url, 0)
	b.clock.advance(31 * time.Second)
	_, err := b.ChangeMessageVisibility(t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 60})
	wantError[*types.MessageNotInflight](t, err)
	b.discard(url, m.ReceiptHandle)
	b.none(url)
}

func TestVisibilityNeverExceedsTwelveHoursInAll(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	b.send(url, "x")
	m := b.one(url, 0)
	b.hide(url, m.ReceiptHandle, 3600)
	b.clock.advance(time.Minute)
	_, err := b.ChangeMessageVisibility(t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 43_200})
	wantCode(t, err, "InvalidParameterValue")
	b.hide(url, m.ReceiptHandle, 43_100)
}

func TestDelayHidesAMessage(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", map[string]string{"DelaySeconds": "60"})
	_, err := b.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("own"), DelaySeconds: 900})
	if err != nil {
		t.Fatal(err)
	}
	b.send(url, "queue's")
	if got := b.counts(url); got != [3]string{"0", "0", "2"} {
		t.Errorf("counts %v", got)
	}
	b.none(url)
	b.clock.advance(61 * time.Second)
	if m := b.one(url, 0); *m.Body != "queue's" {
		t.Errorf("received %q", *m.Body)
	}
	b.clock.advance(840 * time.Second)
	if got := b.receive(url, 10, 0); len(got) != 2 {
		t.Errorf("received %d, want the returned and the delayed message", len(got))
	}
}

func TestRetentionRemovesOldMessages(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", map[string]string{"MessageRetentionPeriod": "60"})
	b.send(url, "old")
	b.clock.advance(59 * time.Second)
	b.send(url, "young")
	if got := b.counts(url); got != [3]string{"2", "0", "0"} {
		t.Errorf("before: %v", got)
	}
	b.clock.advance(2 * time.Second)
	if m := b.one(url, 0); *m.Body != "young" {
		t.Errorf("received %q", *m.Body)
	}
	if got := b.counts(url); got != [3]string{"0", "1", "0"} {
		t.Errorf("after: %v", got)
	}
}

func TestLongPollEndsOnClose(t *testing.T) {
	t.Parallel()
	b := start(t)
	answers := poll(b, t.Context(), b.queue("q", nil))
	time.Sleep(100 * time.Millisecond)
	if err := b.engine.Close(); err != nil {
		t.Fatal(err)
	}
	if a := <-answers; a.err != nil || len(a.messages) != 0 || a.took > 2*time.Second {
		t.Errorf("%v, %d messages after %v", a.err, len(a.messages), a.took)
	}
	_, err := b.ListQueues(t.Context(), &awssqs.ListQueuesInput{})
	wantCode(t, err, "ServiceUnavailable")
}

func TestAnswersCarryDateAndRequestIDAndTheOlderErrorCode(t *testing.T) {
	t.Parallel()
	b := start(t)
	cases := []struct {
		name, target, body   string
		status               int
		wantQuery, wantInDoc string
	}{
		{"success", "AmazonSQS.ListQueues", "{}", 200, "", "{}"},
		{"missing queue", "AmazonSQS.GetQueueUrl", `{"QueueName":"x"}`, 400, "AWS.SimpleQueueService.NonExistentQueue;Sender", `"__type":"com.amazonaws.sqs#QueueDoesNotExist"`},
		{"not JSON", "AmazonSQS.ListQueues", "{", 400, "SerializationException;Sender", "SerializationException"},
		{"unknown target", "AmazonSQS.Nonsense", "{}", 400, "InvalidAction;Sender", "not provided"},
		{"query protocol", "", "Action=ListQueues", 400, "InvalidAction;Sender", "JSON protocol"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Amz-Target", c.target)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			date, err := http.ParseTime(answer.Header.Get("Date"))
			if err != nil || time.Since(date).Abs() > 10*time.Second {
				t.Errorf("Date %q", answer.Header.Get("Date"))
			}
			if answer.Header.Get("x-amzn-RequestId") == "" || answer.StatusCode != c.status || answer.Header.Get("x-amzn-query-error") != c.wantQuery || !strings.Contains(string(body), c.wantInDoc) {
				t.Errorf("%d %v %s", answer.StatusCode, answer.Header, body)
			}
		})
	}
}

func TestCreateIsIdempotentForEqualAttributes(t *testing.T) {
	t.Parallel()
	b := start(t)
	attributes := map[string]string{"VisibilityTimeout": "60", "DelaySeconds": "5"}
	first := b.queue("q", attributes)
	if again := b.queue("q", attributes); again != first || !strings.HasSuffix(first, "/000000000000/q") || !strings.HasPrefix(first, b.server.URL) {
		t.Errorf("%s, then %s", first, again)
	}
	b.queue("q", nil)
}

func TestDeletedNameIsFreeAfterAMinute(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	b.send(url, "x")
	if _, err := b.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	_, err := b.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")})
	wantError[*types.QueueDeletedRecently](t, err)
	b.clock.advance(61 * time.Second)
	b.none(b.queue("q", nil))
}

func TestWhatIsNotProvidedIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	_, err := b.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("x"), Attributes: map[string]string{"FifoQueue": "true"}})
	wantCode(t, err, "InvalidAttributeName")
	_, err = b.AddPermission(t.Context(), &awssqs.AddPermissionInput{QueueUrl: &url, Label: aws.String("x"), Actions: []string{"*"}, AWSAccountIds: []string{"1"}})
	wantCode(t, err, "InvalidAction")
}

// AWS is fair too, but only from 30 messages in flight on, which no test should depend on.
func TestGroupsOnAStandardQueueAreServedFairly(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	send := func(group, body string) {
		if _, err := b.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, MessageGroupId: &group}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		send("loud", "loud-"+strconv.Itoa(i))
	}
	send("quiet", "quiet-0")
	send("calm", "calm-0")
	var groups []string
	for range 3 {
		groups = append(groups, b.one(url, 0).Attributes["MessageGroupId"])
	}
	if diff := cmp.Diff([]string{"loud", "quiet", "calm"}, groups); diff != "" {
		t.Errorf("a tenant with 50 messages delays the others' first one:\n%s", diff)
	}
	if m := b.one(url, 0); *m.Body != "loud-1" {
		t.Errorf("within a group got %s, want the oldest", *m.Body)
	}
	send("quiet", "quiet-1")
	if m := b.one(url, 0); *m.Body != "quiet-1" {
		t.Errorf("got %s: the group with fewest in flight must come first", *m.Body)
	}
}

// A message without a group is its sender's own: it neither waits for the others of its kind nor holds up a group.
func TestAMessageWithoutAGroupIsATenantOfItsOwn(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	for i := range 6 {
		b.send(url, "alone-"+strconv.Itoa(i))
	}
	loud := func(body string) {
		if _, err := b.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, MessageGroupId: aws.String("loud")}); err != nil {
			t.Fatal(err)
		}
	}
	loud("loud-0")
	loud("loud-1")
	var bodies []string
	for range 7 {
		bodies = append(bodies, *b.one(url, 0).Body)
	}
	if diff := cmp.Diff([]string{"alone-0", "alone-1", "alone-2", "alone-3", "alone-4", "alone-5", "loud-0"}, bodies); diff != "" {
		t.Errorf("messages in flight without a group delay others without one:\n%s", diff)
	}
	b.send(url, "alone-6")
	if m := b.one(url, 0); *m.Body != "alone-6" {
		t.Errorf("got %s: a tenant with nothing in flight must come before one with a message in flight", *m.Body)
	}
	if m := b.one(url, 0); *m.Body != "loud-1" {
		t.Errorf("got %s, want loud-1", *m.Body)
	}
}
