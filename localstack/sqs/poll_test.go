package sqs_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// poll starts a receive of 20 s and returns where its answer arrives.
func poll(b *bench, ctx context.Context, url string) <-chan pollAnswer {
	answers := make(chan pollAnswer, 1)
	go func() {
		began := time.Now()
		out, err := b.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20})
		answer := pollAnswer{err: err, took: time.Since(began)}
		if err == nil {
			answer.messages = out.Messages
		}
		answers <- answer
	}()
	return answers
}

type pollAnswer struct {
	messages []types.Message
	took     time.Duration
	err      error
}

func TestLongPollWakes(t *testing.T) {
	t.Parallel()
	const idle = 150 * time.Millisecond
	cases := []struct {
		name    string
		before  func(*bench, string)
		during  func(*bench, string)
		between [2]time.Duration
	}{
		{
			name:    "when a message is sent",
			during:  func(b *bench, url string) { b.send(url, "x") },
			between: [2]time.Duration{idle, time.Second},
		},
		{
			name: "when a delay ends",
			before: func(b *bench, url string) {
				_, err := b.SendMessage(b.t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), DelaySeconds: 1})
				if err != nil {
					b.t.Fatal(err)
				}
			},
			between: [2]time.Duration{900 * time.Millisecond, 1500 * time.Millisecond},
		},
		{
			name: "when a delay ends that began while it waited",
			during: func(b *bench, url string) {
				_, err := b.SendMessage(b.t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), DelaySeconds: 1})
				if err != nil {
					b.t.Fatal(err)
				}
			},
			between: [2]time.Duration{time.Second, 1800 * time.Millisecond},
		},
		{
			name: "when a visibility timeout ends",
			before: func(b *bench, url string) {
				b.send(url, "x")
				b.hide(url, b.one(url, 0).ReceiptHandle, 1)
			},
			between: [2]time.Duration{900 * time.Millisecond, 1500 * time.Millisecond},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			url := b.queue("q", nil)
			if c.before != nil {
				c.before(b, url)
			}
			answers := poll(b, t.Context(), url)
			time.Sleep(idle)
			if c.during != nil {
				c.during(b, url)
			}
			a := <-answers
			if a.err != nil || len(a.messages) != 1 {
				t.Fatalf("%v, %d messages", a.err, len(a.messages))
			}
			if a.took < c.between[0] || a.took > c.between[1] {
				t.Errorf("took %v, want %v to %v", a.took, c.between[0], c.between[1])
			}
		})
	}
}

func TestLongPollWakesWhenVisibilityIsSetToZero(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	b.send(url, "x")
	m := b.one(url, 0)
	answers := poll(b, t.Context(), url)
	time.Sleep(100 * time.Millisecond)
	b.hide(url, m.ReceiptHandle, 0)
	if a := <-answers; a.err != nil || len(a.messages) != 1 || a.took > time.Second {
		t.Errorf("%v, %d messages after %v", a.err, len(a.messages), a.took)
	}
}

func TestLongPollEndsEmptyWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", map[string]string{"ReceiveMessageWaitTimeSeconds": "1"})
	began := time.Now()
	out, err := b.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url})
	if took := time.Since(began); err != nil || len(out.Messages) != 0 || took < time.Second || took > 2*time.Second {
		t.Errorf("%v, %+v after %v", err, out, took)
	}
}

func TestLongPollEndsWithAnErrorWhenTheQueueIsDeleted(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	answers := poll(b, t.Context(), url)
	time.Sleep(100 * time.Millisecond)
	if _, err := b.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	a := <-answers
	wantError[*types.QueueDoesNotExist](t, a.err)
}

func TestClientThatWentAwayTakesNoMessage(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	ctx, leave := context.WithCancel(t.Context())
	answers := poll(b, ctx, url)
	time.Sleep(100 * time.Millisecond)
	leave()
	if a := <-answers; a.err == nil {
		t.Error("the abandoned poll reported no error to its client")
	}
	time.Sleep(100 * time.Millisecond)
	b.send(url, "x")
	if m := b.one(url, 0); m.Attributes["ApproximateReceiveCount"] != "1" {
		t.Errorf("the message was received %s times", m.Attributes["ApproximateReceiveCount"])
	}
}

func TestOneMessageWakesOneOfManyPolls(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	var polls []<-chan pollAnswer
	for range 16 {
		polls = append(polls, poll(b, t.Context(), url))
	}
	time.Sleep(100 * time.Millisecond)
	for i := range 16 {
		b.send(url, string(rune('a'+i)))
	}
	seen := map[string]bool{}
	for _, answers := range polls {
		a := <-answers
		if a.err != nil || len(a.messages) != 1 {
			t.Fatalf("%v, %d messages", a.err, len(a.messages))
		}
		seen[*a.messages[0].Body] = true
	}
	if len(seen) != 16 {
		t.Errorf("16 polls received %d different messages", len(seen))
	}
}
