package sqs_test

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sealift/localstack/sqs"
)

const arnPrefix = "arn:aws:sqs:us-east-1:000000000000:"

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
	engine, err := sqs.Open(dir, sqs.Options{Now: b.clock.now})
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

func (b *bench) queue(name string, attributes map[string]string) string {
	b.t.Helper()
	out, err := b.CreateQueue(b.t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		b.t.Fatalf("create queue %s: %v", name, err)
	}
	return *out.QueueUrl
}

func (b *bench) send(url, body string) string {
	b.t.Helper()
	out, err := b.SendMessage(b.t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
	if err != nil {
		b.t.Fatalf("send %q: %v", body, err)
	}
	return *out.MessageId
}

// receive takes up to n messages with all they carry, waiting up to wait seconds.
func (b *bench) receive(url string, n, wait int32) []types.Message {
	b.t.Helper()
	out, err := b.ReceiveMessage(b.t.Context(), &awssqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: n, WaitTimeSeconds: wait, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		b.t.Fatalf("receive: %v", err)
	}
	return out.Messages
}

// one takes exactly one message.
func (b *bench) one(url string, wait int32) types.Message {
	b.t.Helper()
	messages := b.receive(url, 1, wait)
	if len(messages) != 1 {
		b.t.Fatalf("received %d messages, want 1", len(messages))
	}
	return messages[0]
}

func (b *bench) none(url string) {
	b.t.Helper()
	if messages := b.receive(url, 10, 0); len(messages) != 0 {
		b.t.Fatalf("received %d messages, first %q, want none", len(messages), *messages[0].Body)
	}
}

func (b *bench) discard(url string, handle *string) {
	b.t.Helper()
	if _, err := b.DeleteMessage(b.t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: handle}); err != nil {
		b.t.Fatalf("delete: %v", err)
	}
}

func (b *bench) hide(url string, handle *string, seconds int32) {
	b.t.Helper()
	_, err := b.ChangeMessageVisibility(b.t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: handle, VisibilityTimeout: seconds})
	if err != nil {
		b.t.Fatalf("change visibility: %v", err)
	}
}

// counts is visible, in flight, delayed, as the queue's attributes say.
func (b *bench) counts(url string) [3]string {
	b.t.Helper()
	out, err := b.GetQueueAttributes(b.t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		b.t.Fatalf("get attributes: %v", err)
	}
	return [3]string{
		out.Attributes["ApproximateNumberOfMessages"], out.Attributes["ApproximateNumberOfMessagesNotVisible"], out.Attributes["ApproximateNumberOfMessagesDelayed"],
	}
}

func redriveTo(name, receives string) map[string]string {
	return map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arnPrefix + name + `","maxReceiveCount":` + receives + `}`}
}
