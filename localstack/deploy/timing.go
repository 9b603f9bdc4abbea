package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"

	"sealift/localstack/template"
)

// timing makes schedule groups, schedules and event rules.
func (d *Deployer) timing(ctx context.Context, stack *template.Stack) error {
	for _, group := range stack.ScheduleGroups {
		_, err := d.schedules.CreateScheduleGroup(ctx, &scheduler.CreateScheduleGroupInput{Name: &group})
		if conflict := (*types.ConflictException)(nil); err != nil && !errors.As(err, &conflict) {
			return fmt.Errorf("schedule group %s: %w", group, err)
		}
	}
	for _, s := range stack.Schedules {
		if err := d.schedule(ctx, stack, s); err != nil {
			return fmt.Errorf("schedule %s: %w", s.Name, err)
		}
	}
	for _, r := range stack.EventRules {
		if err := d.rule(ctx, stack, r); err != nil {
			return fmt.Errorf("event rule %s: %w", r.Name, err)
		}
	}
	return nil
}

func (d *Deployer) schedule(ctx context.Context, stack *template.Stack, s template.Schedule) error {
	target, err := functionARN(stack, s.Function)
	if err != nil {
		return err
	}
	state := types.ScheduleStateEnabled
	if !s.Enabled {
		state = types.ScheduleStateDisabled
	}
	in := &scheduler.CreateScheduleInput{
		Name: &s.Name, GroupName: optional(s.Group), ScheduleExpression: &s.Expression, ScheduleExpressionTimezone: optional(s.TimeZone), State: state,
		FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		Target:             &types.Target{Arn: &target, RoleArn: aws.String(cmp.Or(s.RoleARN, "arn:aws:iam::"+stack.AccountID+":role/"+s.Name)), Input: optional(s.Input)},
	}
	_, err = d.schedules.CreateSchedule(ctx, in)
	if conflict := (*types.ConflictException)(nil); !errors.As(err, &conflict) {
		return err
	}
	// A rate begins anew when it is updated, so that a schedule that is right is
	// left alone.
	found, err := d.schedules.GetSchedule(ctx, &scheduler.GetScheduleInput{Name: in.Name, GroupName: in.GroupName})
	if err != nil {
		return err
	}
	if found.Target != nil && aws.ToString(found.ScheduleExpression) == s.Expression && found.State == state &&
		cmp.Or(aws.ToString(found.ScheduleExpressionTimezone), "UTC") == cmp.Or(s.TimeZone, "UTC") &&
		aws.ToString(found.Target.Arn) == target && aws.ToString(found.Target.RoleArn) == *in.Target.RoleArn && aws.ToString(found.Target.Input) == s.Input {
		return nil
	}
	_, err = d.schedules.UpdateSchedule(ctx, &scheduler.UpdateScheduleInput{
		Name: in.Name, GroupName: in.GroupName, ScheduleExpression: in.ScheduleExpression, ScheduleExpressionTimezone: in.ScheduleExpressionTimezone,
		State: in.State, FlexibleTimeWindow: in.FlexibleTimeWindow, Target: in.Target,
	})
	return err
}

func (d *Deployer) rule(ctx context.Context, stack *template.Stack, r template.EventRule) error {
	target := r.QueueARN
	if r.Function != "" {
		var err error
		if target, err = functionARN(stack, r.Function); err != nil {
			return err
		}
	}
	if _, err := d.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: &r.Name, EventPattern: aws.String(string(r.Pattern))}); err != nil {
		return err
	}
	out, err := d.events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: &r.Name,
		Targets: []ebtypes.Target{{Id: aws.String("target"), Arn: &target, Input: optional(r.Input)}}})
	if err != nil {
		return fmt.Errorf("targets: %w", err)
	}
	for _, entry := range out.FailedEntries {
		return fmt.Errorf("target %s: %s %s", target, aws.ToString(entry.ErrorCode), aws.ToString(entry.ErrorMessage))
	}
	return nil
}
