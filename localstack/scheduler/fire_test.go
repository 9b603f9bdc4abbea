//go:build !aws

package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOneTimeScheduleFiresWithinASecondAndDeletesItself(t *testing.T) {
	t.Parallel()
	b := start(t)
	due := time.Now().Truncate(time.Second).Add(2 * time.Second)
	in := input("later", at(due))
	in.ActionAfterCompletion = types.ActionAfterCompletionDelete
	b.create(in)
	got := b.sink.wait(t, 1)
	if diff := cmp.Diff([]delivery{{Target: queueARN, Input: "for later"}}, got, cmpopts.IgnoreUnexported(delivery{})); diff != "" {
		t.Error(diff)
	}
	if late := got[0].at.Sub(due); late < 0 || late > time.Second {
		t.Errorf("fired %v after its time", late)
	}
	b.wantGone("later")
}

func TestOneTimeScheduleStaysWhenNotToldToDelete(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create(input("once", at(time.Now())))
	b.sink.wait(t, 1)
	got, err := b.GetSchedule(t.Context(), &awsscheduler.GetScheduleInput{Name: aws.String("once")})
	if err != nil || got.State != types.ScheduleStateEnabled {
		t.Fatalf("%v, %+v", err, got)
	}
	// Changing something else must not fire it again.
	_, err = b.UpdateSchedule(t.Context(), &awsscheduler.UpdateScheduleInput{
		Name: got.Name, ScheduleExpression: got.ScheduleExpression, FlexibleTimeWindow: got.FlexibleTimeWindow, Target: got.Target, Description: aws.String("done"),
	})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	b.sink.wait(t, 1)
}

func TestTimeThatIsOverFiresAtOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create(input("past", at(time.Now().Add(-time.Hour))))
	b.sink.wait(t, 1)
}

func TestRecurringScheduleFiresEachTime(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.clock.settle()
	b.create(input("minutely", "cron(* * * * ? *)"))
	b.create(input("rated", "rate(1 minute)"))
	b.sink.wait(t, 1) // A rate without a start fires at once.
	for round := 1; round <= 3; round++ {
		b.clock.advance(time.Minute)
		b.sink.wait(t, 1+2*round)
	}
}

func TestScheduleDueWhileDownFiresOnceAfterTheRestart(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.clock.settle()
	b.create(input("once", at(b.clock.now().Add(10*time.Minute))))
	b.create(input("hourly", "cron(0 * * * ? *)"))
	b.create(input("tomorrow", at(b.clock.now().Add(24*time.Hour))))
	b.stop()
	b.clock.advance(5 * time.Hour)
	b.begin()
	var inputs []string
	for _, d := range b.sink.wait(t, 2) {
		inputs = append(inputs, d.Input)
	}
	slices.Sort(inputs)
	if diff := cmp.Diff([]string{"for hourly", "for once"}, inputs); diff != "" {
		t.Error(diff)
	}
	b.stop()
	b.begin()
	b.sink.wait(t, 2)
}

func TestDeliveryThatWasCutOffIsMadeAfterTheRestart(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.sink.hold = make(chan struct{})
	in := input("slow", at(time.Now()))
	in.ActionAfterCompletion = types.ActionAfterCompletionDelete
	b.create(in)
	time.Sleep(200 * time.Millisecond)
	if _, err := b.GetSchedule(t.Context(), &awsscheduler.GetScheduleInput{Name: aws.String("slow")}); err != nil {
		t.Errorf("the schedule is gone before its delivery: %v", err)
	}
	b.stop()
	b.sink.mu.Lock()
	b.sink.hold = nil
	b.sink.mu.Unlock()
	b.begin()
	b.sink.wait(t, 1)
	b.wantGone("slow")
}

func TestFailedDeliveryIsRepeated(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.sink.refusals[queueARN] = 2
	b.create(input("stubborn", at(time.Now())))
	b.sink.wait(t, 1)
}

func TestUsedUpRetriesEndInTheDeadLetterQueue(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.sink.refusals[queueARN] = -1
	b.sink.refusals[deadARN] = 1
	in := input("hopeless", at(time.Now()))
	in.ActionAfterCompletion = types.ActionAfterCompletionDelete
	in.Target.RetryPolicy = &types.RetryPolicy{MaximumRetryAttempts: aws.Int32(1)}
	in.Target.DeadLetterConfig = &types.DeadLetterConfig{Arn: aws.String(deadARN)}
	b.create(in)
	got := b.sink.wait(t, 1)
	if got[0].Target != deadARN || got[0].Input != "for hopeless" {
		t.Errorf("got %+v", got[0])
	}
	if left := b.sink.refusals[queueARN]; left != -3 {
		t.Errorf("%d attempts, want 1 and 1 retry", -1-left)
	}
	b.wantGone("hopeless")
}

func TestUsedUpRetriesWithoutDeadLetterQueueEnd(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.sink.refusals[queueARN] = -1
	in := input("hopeless", at(time.Now()))
	in.ActionAfterCompletion = types.ActionAfterCompletionDelete
	in.Target.RetryPolicy = &types.RetryPolicy{MaximumRetryAttempts: aws.Int32(0)}
	b.create(in)
	<-b.sink.arrived
	time.Sleep(100 * time.Millisecond)
	b.wantGone("hopeless")
	b.sink.wait(t, 0)
}

func TestInputCarriesContextAttributesOrTheServicesOwnNotice(t *testing.T) {
	t.Parallel()
	b := start(t)
	due := time.Now().Truncate(time.Second)
	own := input("own", at(due))
	own.Target.Input = aws.String(`{"at":"<aws.scheduler.scheduled-time>","arn":"<aws.scheduler.schedule-arn>","try":<aws.scheduler.attempt-number>}`)
	b.create(own)
	want := `{"at":"` + due.UTC().Format(time.RFC3339) + `","arn":"arn:aws:scheduler:us-east-1:000000000000:schedule/default/own","try":1}`
	if got := b.sink.wait(t, 1)[0].Input; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	none := input("none", at(due))
	none.Target.Input = nil
	b.create(none)
	if got := b.sink.wait(t, 2)[1].Input; !strings.Contains(got, `"detail-type":"Scheduled Event","source":"aws.scheduler"`) {
		t.Errorf("got %s", got)
	}
}

func TestClientTokenMakesCreationHappenOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	in := input("once", at(time.Now()))
	in.ActionAfterCompletion = types.ActionAfterCompletionDelete
	in.ClientToken = aws.String("token-1")
	b.create(in)
	b.sink.wait(t, 1)
	b.wantGone("once")
	b.create(in)
	b.stop()
	b.begin()
	b.create(in)
	b.sink.wait(t, 1)
	b.wantGone("once")

	in.Description = aws.String("another")
	_, err := b.CreateSchedule(t.Context(), in)
	wantError[*types.ConflictException](t, err)
	in.ClientToken = aws.String("token-2")
	b.create(in)
	b.sink.wait(t, 2)
}

func TestUpdateMovesDisablesAndEnables(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create(input("x", at(time.Now().Add(time.Hour))))
	update := func(expression string, state types.ScheduleState) {
		in := input("x", expression)
		_, err := b.UpdateSchedule(t.Context(), &awsscheduler.UpdateScheduleInput{
			Name: in.Name, ScheduleExpression: in.ScheduleExpression, FlexibleTimeWindow: in.FlexibleTimeWindow, Target: in.Target, State: state,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	update(at(time.Now()), types.ScheduleStateDisabled)
	time.Sleep(300 * time.Millisecond)
	b.sink.wait(t, 0)
	update(at(time.Now()), types.ScheduleStateEnabled)
	b.sink.wait(t, 1)
	update(at(time.Now().Add(time.Second)), types.ScheduleStateEnabled)
	b.sink.wait(t, 2)
}

func TestDeletedScheduleDoesNotFire(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create(input("x", at(time.Now().Add(time.Hour))))
	in := &awsscheduler.DeleteScheduleInput{Name: aws.String("x"), ClientToken: aws.String("t")}
	for range 2 { // With one token the repetition is the same request.
		if _, err := b.DeleteSchedule(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.DeleteSchedule(t.Context(), &awsscheduler.DeleteScheduleInput{Name: aws.String("x")})
	wantError[*types.ResourceNotFoundException](t, err)
	b.clock.advance(2 * time.Hour)
	time.Sleep(600 * time.Millisecond)
	b.sink.wait(t, 0)
}
