package queue_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sealift/shared/job"
	"sealift/shared/pipeline/cloudtest"
	"sealift/shared/queue"
)

// made is a queue on the embedded cloud that no function polls.
func made(t *testing.T, client *sqs.Client, name string) queue.Address {
	t.Helper()
	created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: created.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	return queue.Address{URL: *created.QueueUrl, ARN: attributes.Attributes["QueueArn"]}
}

// received is the pointer of the next message; ok is false when none came in time.
func received(t *testing.T, client *sqs.Client, from queue.Address, wait int32) (pointer job.Pointer, ok bool) {
	t.Helper()
	out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &from.URL, WaitTimeSeconds: wait, VisibilityTimeout: 60})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Messages) == 0 {
		return job.Pointer{}, false
	}
	pointer, err = job.DecodePointer([]byte(*out.Messages[0].Body))
	if err != nil {
		t.Fatal(err)
	}
	return pointer, true
}

func TestPointersArriveOnTheEmbeddedCloud(t *testing.T) {
	t.Parallel()
	cloud := cloudtest.Start(t)
	queues, schedules := sqs.NewFromConfig(cloud.Config), scheduler.NewFromConfig(cloud.Config)
	const group = "queue-test"
	if _, err := schedules.CreateScheduleGroup(t.Context(), &scheduler.CreateScheduleGroupInput{Name: aws.String(group)}); err != nil {
		t.Fatal(err)
	}
	config := queue.Config{
		Plan: made(t, queues, "test-plan"), Finalize: made(t, queues, "test-finalize"),
		Lanes: map[job.Lane]queue.Address{
			job.Bulk: made(t, queues, "test-bulk"), job.Realtime: made(t, queues, "test-realtime"),
		},
		ScheduleGroup: group, ScheduleRoleARN: "arn:aws:iam::000000000000:role/test-delays", Now: time.Now,
	}
	q, err := queue.New(queues, schedules, config)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		lane job.Lane
		unit string
		from queue.Address
	}{
		"a plan":           {job.Bulk, job.PlanID, config.Plan},
		"a realtime shard": {job.Realtime, "s00003", config.Lanes[job.Realtime]},
		"a finalize":       {job.Bulk, job.FinalizeID, config.Finalize},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := q.Send(t.Context(), job.Line{Lane: c.lane}, job.Pointer{Job: jobID, Unit: c.unit}, 0); err != nil {
				t.Fatal(err)
			}
			pointer, ok := received(t, queues, c.from, 5)
			if want := (job.Pointer{Schema: job.Schema, Job: jobID, Unit: c.unit}); !ok || pointer != want {
				t.Errorf("received %+v, %v, want %+v", pointer, ok, want)
			}
		})
	}
	t.Run("the mass of one tenant lets another's pass", func(t *testing.T) {
		t.Parallel()
		fair(t, queues, schedules, config)
	})
	t.Run("a delayed shard is not early", func(t *testing.T) {
		t.Parallel()
		sent := time.Now()
		if err := q.Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: jobID, Unit: "s00001"}, 1500*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if _, ok := received(t, queues, config.Lanes[job.Bulk], 10); !ok || time.Since(sent) < 1500*time.Millisecond {
			t.Errorf("received %v after %s", ok, time.Since(sent))
		}
	})
	t.Run("a long delay is one schedule however often it is asked for", func(t *testing.T) {
		t.Parallel()
		longDelay(t, queues, schedules, config)
	})
	t.Run("a queue or group that does not exist is named", func(t *testing.T) {
		t.Parallel()
		missing(t, queues, schedules, config)
	})
}

// fair has the jobs of one tenant wait before another's only one, and takes messages while none of them is done.
func fair(t *testing.T, queues *sqs.Client, schedules *scheduler.Client, config queue.Config) {
	lane := made(t, queues, "test-crowded")
	config.Lanes = map[job.Lane]queue.Address{job.Bulk: lane, job.Realtime: lane}
	q, err := queue.New(queues, schedules, config)
	if err != nil {
		t.Fatal(err)
	}
	small := job.Pointer{Schema: job.Schema, Job: job.NewID([16]byte{9}), Unit: job.ShardID(1)}
	for number := range 20 {
		if err := q.Send(t.Context(), job.Line{Lane: job.Bulk, Tenant: "loud"}, job.Pointer{Job: job.NewID([16]byte{8, byte(number)}), Unit: job.ShardID(1)}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Send(t.Context(), job.Line{Lane: job.Bulk, Tenant: "quiet"}, small, 0); err != nil {
		t.Fatal(err)
	}
	first, _ := received(t, queues, lane, 5)
	second, _ := received(t, queues, lane, 5)
	if first != small && second != small {
		t.Errorf("the first two are %+v and %+v, want %+v to be one of them", first, second, small)
	}
}

func longDelay(t *testing.T, queues *sqs.Client, schedules *scheduler.Client, config queue.Config) {
	// The clock stands still, so that the repetition falls into the same minute.
	now := time.Now()
	config.Now = func() time.Time { return now }
	q, err := queue.New(queues, schedules, config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := q.Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: jobID, Unit: "s00009"}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	out, err := schedules.ListSchedules(t.Context(), &scheduler.ListSchedulesInput{GroupName: &config.ScheduleGroup})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Schedules) != 1 || aws.ToString(out.Schedules[0].Target.Arn) != config.Lanes[job.Bulk].ARN {
		t.Errorf("%d schedules: %+v", len(out.Schedules), out.Schedules)
	}
}

func missing(t *testing.T, queues *sqs.Client, schedules *scheduler.Client, config queue.Config) {
	config.Plan.URL += "-gone"
	config.ScheduleGroup = "gone"
	q, err := queue.New(queues, schedules, config)
	if err != nil {
		t.Fatal(err)
	}
	for _, delay := range []time.Duration{0, time.Hour} {
		err := q.Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: jobID, Unit: job.PlanID}, delay)
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "queue_missing" {
			t.Errorf("after %s: got %v", delay, err)
		}
	}
}
