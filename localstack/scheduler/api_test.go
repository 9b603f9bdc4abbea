package scheduler_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestScheduleReadsBackWhole(t *testing.T) {
	t.Parallel()
	b := start(t)
	begin, end := time.Now().Add(time.Hour).Truncate(time.Second), time.Now().Add(48*time.Hour).Truncate(time.Second)
	in := &awsscheduler.CreateScheduleInput{
		Name: aws.String("x"), ScheduleExpression: aws.String("cron(0 9 ? * MON-FRI *)"), ScheduleExpressionTimezone: aws.String("Asia/Shanghai"),
		Description: aws.String("mornings"), StartDate: &begin, EndDate: &end, State: types.ScheduleStateDisabled, ActionAfterCompletion: types.ActionAfterCompletionDelete,
		FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeFlexible, MaximumWindowInMinutes: aws.Int32(15)},
		Target: &types.Target{
			Arn: aws.String(queueARN), RoleArn: aws.String(roleARN), Input: aws.String("{}"), DeadLetterConfig: &types.DeadLetterConfig{Arn: aws.String(deadARN)},
			RetryPolicy: &types.RetryPolicy{MaximumEventAgeInSeconds: aws.Int32(60), MaximumRetryAttempts: aws.Int32(3)},
		},
	}
	b.create(in)
	got, err := b.GetSchedule(t.Context(), &awsscheduler.GetScheduleInput{Name: aws.String("x")})
	if err != nil {
		t.Fatal(err)
	}
	want := &awsscheduler.GetScheduleOutput{
		Arn: aws.String("arn:aws:scheduler:us-east-1:000000000000:schedule/default/x"), GroupName: aws.String("default"), Name: in.Name,
		ScheduleExpression: in.ScheduleExpression, ScheduleExpressionTimezone: in.ScheduleExpressionTimezone, Description: in.Description,
		StartDate: in.StartDate, EndDate: in.EndDate, State: in.State, ActionAfterCompletion: in.ActionAfterCompletion,
		FlexibleTimeWindow: in.FlexibleTimeWindow, Target: in.Target,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(awsscheduler.GetScheduleOutput{}, types.FlexibleTimeWindow{}, types.Target{}, types.DeadLetterConfig{}, types.RetryPolicy{}),
		cmpopts.IgnoreFields(awsscheduler.GetScheduleOutput{}, "CreationDate", "LastModificationDate", "ResultMetadata")); diff != "" {
		t.Error(diff)
	}
	if time.Since(*got.CreationDate).Abs() > time.Minute {
		t.Errorf("created %v", got.CreationDate)
	}
}

func TestGroupsHoldSchedulesAndTakeThemAlong(t *testing.T) {
	t.Parallel()
	b := start(t)
	created, err := b.CreateScheduleGroup(t.Context(), &awsscheduler.CreateScheduleGroupInput{Name: aws.String("delays")})
	if err != nil || *created.ScheduleGroupArn != "arn:aws:scheduler:us-east-1:000000000000:schedule-group/delays" {
		t.Fatalf("%v, %+v", err, created)
	}
	_, err = b.CreateScheduleGroup(t.Context(), &awsscheduler.CreateScheduleGroupInput{Name: aws.String("delays")})
	wantError[*types.ConflictException](t, err)
	for _, name := range []string{"b", "a", "c"} {
		in := input(name, at(time.Now().Add(time.Hour)))
		in.GroupName = aws.String("delays")
		b.create(in)
	}
	b.create(input("a", at(time.Now().Add(time.Hour)))) // The same name in another group is another schedule.
	var names []string
	pages := awsscheduler.NewListSchedulesPaginator(b.Client, &awsscheduler.ListSchedulesInput{GroupName: aws.String("delays"), MaxResults: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Schedules {
			names = append(names, *s.Name)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Error(diff)
	}
	if _, err := b.DeleteScheduleGroup(t.Context(), &awsscheduler.DeleteScheduleGroupInput{Name: aws.String("delays")}); err != nil {
		t.Fatal(err)
	}
	left, err := b.ListSchedules(t.Context(), &awsscheduler.ListSchedulesInput{NamePrefix: aws.String("a")})
	if err != nil || len(left.Schedules) != 1 || *left.Schedules[0].GroupName != "default" {
		t.Errorf("%v, %+v", err, left)
	}
	groups, err := b.ListScheduleGroups(t.Context(), &awsscheduler.ListScheduleGroupsInput{NamePrefix: aws.String("d")})
	if err != nil || len(groups.ScheduleGroups) > 1 {
		t.Errorf("%v, %+v", err, groups)
	}
}

func TestRefusalsAreTypedErrors(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create(input("taken", at(time.Now().Add(time.Hour))))
	cases := []struct {
		name, code, about string
		edit              func(*awsscheduler.CreateScheduleInput)
	}{
		{"bad expression", "ValidationException", "6 fields", func(in *awsscheduler.CreateScheduleInput) { in.ScheduleExpression = aws.String("cron(0 9 * * ?)") }},
		{"bad zone", "ValidationException", "IANA", func(in *awsscheduler.CreateScheduleInput) { in.ScheduleExpressionTimezone = aws.String("Nowhere") }},
		{"bad name", "ValidationException", "letters", func(in *awsscheduler.CreateScheduleInput) { in.Name = aws.String("a b") }},
		{"long name", "ValidationException", "64", func(in *awsscheduler.CreateScheduleInput) { in.Name = aws.String(strings.Repeat("x", 65)) }},
		{"target that is no ARN", "ValidationException", "Target.Arn", func(in *awsscheduler.CreateScheduleInput) { in.Target.Arn = aws.String("queue") }},
		{"role that is no role", "ValidationException", "RoleArn", func(in *awsscheduler.CreateScheduleInput) { in.Target.RoleArn = aws.String(queueARN) }},
		{"window without its length", "ValidationException", "MaximumWindowInMinutes", func(in *awsscheduler.CreateScheduleInput) {
			in.FlexibleTimeWindow = &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeFlexible}
		}},
		{"end before start", "ValidationException", "EndDate", func(in *awsscheduler.CreateScheduleInput) {
			in.StartDate, in.EndDate = aws.Time(time.Now().Add(time.Hour)), aws.Time(time.Now())
		}},
		{"start long ago", "ValidationException", "StartDate", func(in *awsscheduler.CreateScheduleInput) { in.StartDate = aws.Time(time.Now().Add(-time.Hour)) }},
		{"too many retries", "ValidationException", "185", func(in *awsscheduler.CreateScheduleInput) {
			in.Target.RetryPolicy = &types.RetryPolicy{MaximumRetryAttempts: aws.Int32(186)}
		}},
		{"parameters of another target", "ValidationException", "SqsParameters", func(in *awsscheduler.CreateScheduleInput) {
			in.Target.SqsParameters = &types.SqsParameters{MessageGroupId: aws.String("g")}
		}},
		{"input too large", "ValidationException", "262144", func(in *awsscheduler.CreateScheduleInput) {
			in.Target.Input = aws.String(strings.Repeat("x", 256<<10+1))
		}},
		{"group that is not there", "ResourceNotFoundException", "group", func(in *awsscheduler.CreateScheduleInput) { in.GroupName = aws.String("none") }},
		{"name that is taken", "ConflictException", "taken", func(in *awsscheduler.CreateScheduleInput) { in.Name = aws.String("taken") }},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := input("x"+strconv.Itoa(i), at(time.Now().Add(time.Hour))) // a name of its own, so that one case accepted does not change the others
			c.edit(in)
			_, err := b.CreateSchedule(t.Context(), in)
			var answer smithy.APIError
			if !errors.As(err, &answer) || answer.ErrorCode() != c.code || !strings.Contains(answer.ErrorMessage(), c.about) {
				t.Errorf("got %v, want %s about %q", err, c.code, c.about)
			}
		})
	}
}

func TestExpressionsAreAcceptedOrRefusedWhenTheScheduleIsMade(t *testing.T) {
	t.Parallel()
	for expression, accepted := range map[string]bool{
		"rate(5 minutes)": true, "cron(0/5 * * * ? *)": true, "cron(15 10 ? * MON-FRI *)": true, "cron(0 0 L * ? *)": true, "cron(0 0 ? * TUE#3 *)": true,
		"at(2099-06-01T12:00:00)": true,
		"every day":               false, "rate(0 minutes)": false, "rate(5 seconds)": false, "at(2026-06-01 12:00:00)": false, "at(2026-02-30T12:00:00)": false,
		"cron(0 9 * * ?)": false, "cron(0 9 * * * *)": false, "cron(60 9 * * ? *)": false, "cron(0 9 ? * 0 *)": false, "cron(0 9 ? * 2#6 *)": false,
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			_, err := b.CreateSchedule(t.Context(), input("x", expression))
			if accepted && err != nil {
				t.Error(err)
			}
			if !accepted {
				wantError[*types.ValidationException](t, err)
			}
		})
	}
}
