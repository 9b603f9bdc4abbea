//go:build aws

package scheduler_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"sealift/localstack/awstest"
)

func TestMain(m *testing.M) { os.Exit(awstest.Main(m)) }

// bench is the endpoint, seen by one test.
type bench struct {
	*awsscheduler.Client
	t      *testing.T
	queues *awssqs.Client
}

func start(t *testing.T) *bench {
	t.Helper()
	cfg := awstest.Begin(t)
	b := &bench{Client: awsscheduler.NewFromConfig(cfg), t: t, queues: awssqs.NewFromConfig(cfg)}
	t.Cleanup(b.clean)
	return b
}

// clean removes the schedules and the group that tests make, as far as they are there.
func (b *bench) clean() {
	ctx := context.WithoutCancel(b.t.Context())
	for _, name := range []string{"x", "a", "taken", "later", "once"} {
		_, _ = b.DeleteSchedule(ctx, &awsscheduler.DeleteScheduleInput{Name: &name}) // it may never have been made
	}
	_, _ = b.DeleteScheduleGroup(ctx, &awsscheduler.DeleteScheduleGroupInput{Name: aws.String("delays")})
}

// work makes the queue that schedules send to.
func (b *bench) work() (url string) {
	b.t.Helper()
	out, err := b.queues.CreateQueue(b.t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("work")})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if _, err := b.queues.DeleteQueue(context.WithoutCancel(b.t.Context()), &awssqs.DeleteQueueInput{QueueUrl: out.QueueUrl}); err != nil {
			b.t.Log(err)
		}
	})
	return *out.QueueUrl
}

// arrivals are the messages that come within a time.
func (b *bench) arrivals(url string, within time.Duration) (bodies []string, first time.Time) {
	b.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); {
		out, err := b.queues.ReceiveMessage(b.t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 1, MaxNumberOfMessages: 10})
		if err != nil {
			b.t.Fatal(err)
		}
		for _, m := range out.Messages {
			if first.IsZero() {
				first = time.Now()
			}
			bodies = append(bodies, *m.Body)
		}
	}
	return bodies, first
}

func TestOneTimeScheduleReachesItsQueueOnceAndDeletesItself(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.work()
	due := time.Now().Truncate(time.Second).Add(2 * time.Second)
	in := input("later", at(due))
	in.ActionAfterCompletion = types.ActionAfterCompletionDelete
	b.create(in)
	bodies, first := b.arrivals(url, 6*time.Second)
	if len(bodies) != 1 || bodies[0] != "for later" {
		t.Fatalf("received %q, want one message", bodies)
	}
	if late := first.Sub(due); late < 0 || late > time.Second {
		t.Errorf("arrived %v after its time", late)
	}
	b.wantGone("later")
}

func TestAChangedScheduleFiresAtItsNewTimeOnly(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.work()
	b.create(input("once", at(time.Now().Add(2*time.Second))))
	changed := input("once", at(time.Now().Add(time.Hour)))
	_, err := b.UpdateSchedule(t.Context(), &awsscheduler.UpdateScheduleInput{
		Name: changed.Name, ScheduleExpression: changed.ScheduleExpression, FlexibleTimeWindow: changed.FlexibleTimeWindow, Target: changed.Target,
	})
	if err != nil {
		t.Fatal(err)
	}
	if bodies, _ := b.arrivals(url, 4*time.Second); len(bodies) != 0 {
		t.Errorf("received %q at the time that was given up", bodies)
	}
}
