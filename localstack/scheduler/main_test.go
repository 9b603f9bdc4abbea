package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
)

const (
	queueARN = "arn:aws:sqs:us-east-1:000000000000:work"
	deadARN  = "arn:aws:sqs:us-east-1:000000000000:dead"
	roleARN  = "arn:aws:iam::000000000000:role/fire"
)

func input(name, expression string) *awsscheduler.CreateScheduleInput {
	return &awsscheduler.CreateScheduleInput{
		Name: &name, ScheduleExpression: &expression, FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		Target: &types.Target{Arn: aws.String(queueARN), RoleArn: aws.String(roleARN), Input: aws.String("for " + name)},
	}
}

func (b *bench) create(in *awsscheduler.CreateScheduleInput) {
	b.t.Helper()
	if _, err := b.CreateSchedule(b.t.Context(), in); err != nil {
		b.t.Fatalf("create %s: %v", *in.Name, err)
	}
}

func (b *bench) wantGone(name string) {
	b.t.Helper()
	_, err := b.GetSchedule(b.t.Context(), &awsscheduler.GetScheduleInput{Name: &name})
	wantError[*types.ResourceNotFoundException](b.t, err)
}

func at(when time.Time) string { return "at(" + when.UTC().Format("2006-01-02T15:04:05") + ")" }

func wantError[E error](t *testing.T, err error) {
	t.Helper()
	var want E
	if !errors.As(err, &want) {
		t.Errorf("got %v, want %T", err, want)
	}
}
