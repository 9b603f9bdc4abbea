package scheduler_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sealift/localstack/scheduler"
)

const (
	queueARN = "arn:aws:sqs:us-east-1:000000000000:work"
	deadARN  = "arn:aws:sqs:us-east-1:000000000000:dead"
	roleARN  = "arn:aws:iam::000000000000:role/fire"
)

// sink is a target that remembers what it got and refuses while told to.
type sink struct {
	mu       sync.Mutex
	got      []delivery
	refusals map[string]int // by target, how many more to refuse; -1 is all
	hold     chan struct{}  // when not nil, deliveries wait until it is closed
	arrived  chan struct{}
}

type delivery struct {
	Target, Input string
	at            time.Time
}

func newSink() *sink { return &sink{refusals: map[string]int{}, arrived: make(chan struct{}, 1000)} }

func (s *sink) deliver(ctx context.Context, target, input string) error {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.arrived <- struct{}{} }()
	if n := s.refusals[target]; n != 0 {
		s.refusals[target] = n - 1
		return errors.New("target is away")
	}
	s.got = append(s.got, delivery{Target: target, Input: input, at: time.Now()})
	return nil
}

func (s *sink) deliveries() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// wait waits until n deliveries were made, then long enough to notice one too many.
func (s *sink) wait(t *testing.T, n int) []delivery {
	t.Helper()
	end := time.After(8 * time.Second)
	for len(s.deliveries()) < n {
		select {
		case <-s.arrived:
		case <-end:
			t.Fatalf("%d deliveries, want %d", len(s.deliveries()), n)
		}
	}
	time.Sleep(150 * time.Millisecond)
	got := s.deliveries()
	if len(got) != n {
		t.Fatalf("%d deliveries, want %d: %v", len(got), n, got)
	}
	return got
}

type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// settle moves the clock to the fifth second of an hour, so that no minute ends by itself during a test.
func (c *clock) settle() {
	now := c.now()
	c.advance(now.Truncate(time.Hour).Add(time.Hour + 5*time.Second).Sub(now))
}

// bench is one running engine behind a server, and an SDK client of it.
type bench struct {
	*awsscheduler.Client
	t     *testing.T
	sink  *sink
	clock *clock
	dir   string
	stop  func()
}

func start(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, sink: newSink(), clock: &clock{}, dir: t.TempDir()}
	b.begin()
	return b
}

// begin starts an engine on the bench's directory, again after a stop.
func (b *bench) begin() {
	b.t.Helper()
	engine, err := scheduler.Open(b.dir, scheduler.Options{Deliver: b.sink.deliver, Now: b.clock.now})
	if err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(context.Background()) }()
	b.stop = sync.OnceFunc(func() {
		server.Close()
		if err := engine.Close(); err != nil {
			b.t.Error(err)
		}
		if err := <-ended; err != nil {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(b.stop)
	b.Client = awsscheduler.New(awsscheduler.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

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
	left, err := b.ListSchedules(t.Context(), &awsscheduler.ListSchedulesInput{})
	if err != nil || len(left.Schedules) != 1 || *left.Schedules[0].GroupName != "default" {
		t.Errorf("%v, %+v", err, left)
	}
	groups, err := b.ListScheduleGroups(t.Context(), &awsscheduler.ListScheduleGroupsInput{})
	if err != nil || len(groups.ScheduleGroups) != 1 || groups.ScheduleGroups[0].State != types.ScheduleGroupStateActive {
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
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := input("x", at(time.Now().Add(time.Hour)))
			c.edit(in)
			_, err := b.CreateSchedule(t.Context(), in)
			var answer smithy.APIError
			if !errors.As(err, &answer) || answer.ErrorCode() != c.code || !strings.Contains(answer.ErrorMessage(), c.about) {
				t.Errorf("got %v, want %s about %q", err, c.code, c.about)
			}
		})
	}
	_, err := b.DeleteScheduleGroup(t.Context(), &awsscheduler.DeleteScheduleGroupInput{Name: aws.String("default")})
	wantError[*types.ValidationException](t, err)
	_, err = b.ListTagsForResource(t.Context(), &awsscheduler.ListTagsForResourceInput{ResourceArn: aws.String("x")})
	var answer smithy.APIError
	if !errors.As(err, &answer) || answer.ErrorCode() != "UnknownOperationException" {
		t.Errorf("got %v, want UnknownOperationException", err)
	}
}
