// Package queue owns how functions are woken: it sends a pointer to the queue of its unit, at once, after a delay of the
// queue itself, or, beyond what a queue can delay, by a schedule that fires once and removes itself. It imports pipeline for
// the port, answer, job, limits and its SDK services; start reading at Queue.Send.
//
// This package is the one layer that retries a send, three attempts at most. A send whose answer was lost is an error of
// kind Transient and not Unknown: nobody can look into a queue, and sending again is always harmless, because a pointer
// carries identifiers only and a duplicate changes nothing.
package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	schedulertypes "github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

const (
	attemptsMax = 3
	backoffMax  = 2 * time.Second
	// sendTimeout bounds one send, all its attempts together.
	sendTimeout = 15 * time.Second
)

// Queue sends pointers. It may be shared by goroutines.
type Queue struct {
	sqs       *sqs.Client
	scheduler *scheduler.Client
	config    Config
	retryer   aws.RetryerV2
}

var _ pipeline.Queue = (*Queue)(nil)

// New returns a queue, or all faults of the configuration in one error. The retry settings of the clients are not used.
func New(queues *sqs.Client, schedules *scheduler.Client, config Config) (*Queue, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	return &Queue{sqs: queues, scheduler: schedules, config: config, retryer: retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attemptsMax
		o.MaxBackoff = backoffMax
	})}, nil
}

// Send wakes the function that works on the pointer's unit, not before the delay is over: the plan, finalize, and for a shard
// its lane. Clean-up has no queue: the sweep does it. A repeated send is a duplicate message or, beyond
// limits.MessageDelayMax, the same schedule.
func (q *Queue) Send(ctx context.Context, line job.Line, pointer job.Pointer, delay time.Duration) error {
	body := pointer.Encode()
	if _, err := job.DecodePointer(body); err != nil {
		return job.Errorf(job.Permanent, "queue_pointer_invalid", "send: every receiver would refuse the pointer: %w", err)
	}
	to, err := q.config.address(line.Lane, pointer.Unit)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if delay <= limits.MessageDelayMax {
		return q.send(ctx, to, line.Tenant, body, max(delay, 0))
	}
	return q.schedule(ctx, to, pointer, body, delay)
}

// send puts the tenant's messages into a group. A queue prefers the groups of which little is under way (Amazon SQS Developer
// Guide, "Amazon SQS fair queues"), so the thousands of one tenant keep none of another's waiting. A group's name is short and
// has not every character: it is a digest.
func (q *Queue) send(ctx context.Context, to Address, tenant string, body []byte, delay time.Duration) error {
	group := sha256.Sum256([]byte(tenant))
	_, err := q.sqs.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &to.URL, MessageBody: aws.String(string(body)), DelaySeconds: seconds(delay),
		MessageGroupId: aws.String(hex.EncodeToString(group[:])),
	}, func(o *sqs.Options) {
		o.Retryer = q.retryer
		o.RetryMaxAttempts = 0
	})
	if err != nil {
		return failed("send", to.URL, err)
	}
	return nil
}

// schedule makes a schedule that sends the message once. Schedules fire by the minute, so the time is rounded up to one, and
// the name says what is sent and when: a repetition within that minute finds the schedule there.
func (q *Queue) schedule(ctx context.Context, to Address, pointer job.Pointer, body []byte, delay time.Duration) error {
	if q.config.ScheduleGroup == "" {
		return job.Errorf(job.Permanent, "queue_delay_impossible",
			"send %s of %s in %s: a queue delays up to %s and this function has no schedules; give it SCHEDULE_GROUP, SCHEDULE_ROLE_ARN and the queues' ARNs",
			pointer.Unit, pointer.Job, delay, limits.MessageDelayMax)
	}
	at := ceiling(q.config.Now().UTC().Add(delay), time.Minute)
	name := fmt.Sprintf("%s-%s-%d", pointer.Job, pointer.Unit, at.Unix()/60)
	_, err := q.scheduler.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
		Name: &name, GroupName: &q.config.ScheduleGroup,
		ScheduleExpression:         aws.String("at(" + at.Format("2006-01-02T15:04:05") + ")"),
		ScheduleExpressionTimezone: aws.String("UTC"),
		FlexibleTimeWindow:         &schedulertypes.FlexibleTimeWindow{Mode: schedulertypes.FlexibleTimeWindowModeOff},
		ActionAfterCompletion:      schedulertypes.ActionAfterCompletionDelete,
		Target:                     &schedulertypes.Target{Arn: &to.ARN, RoleArn: &q.config.ScheduleRoleARN, Input: aws.String(string(body))},
	}, func(o *scheduler.Options) {
		o.Retryer = q.retryer
		o.RetryMaxAttempts = 0
	})
	var there *schedulertypes.ConflictException
	if err == nil || errors.As(err, &there) {
		return nil
	}
	return failed("schedule", name+" in group "+q.config.ScheduleGroup, err)
}

// seconds rounds up, so that a message is never early.
func seconds(delay time.Duration) int32 {
	return int32((delay + time.Second - 1) / time.Second)
}

// ceiling is the first whole unit at or after a time.
func ceiling(at time.Time, unit time.Duration) time.Time {
	floor := at.Truncate(unit)
	if floor.Equal(at) {
		return at
	}
	return floor.Add(unit)
}
