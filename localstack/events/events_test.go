package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"sealift/localstack/events"
)

const (
	functionARN = "arn:aws:lambda:us-east-1:000000000000:function:create"
	deadARN     = "arn:aws:sqs:us-east-1:000000000000:dead"
)

// bench is one running engine behind a server, an SDK client of it, and what
// its targets got.
type bench struct {
	*eventbridge.Client
	t    *testing.T
	dir  string
	stop func()

	mu       sync.Mutex
	got      [][2]string    // target and event
	refusals map[string]int // by target, how many more to refuse; -1 is all
}

func start(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), refusals: map[string]int{}}
	b.begin(true)
	return b
}

// begin starts an engine on the bench's directory, delivering or not.
func (b *bench) begin(deliver bool) {
	b.t.Helper()
	engine, err := events.Open(b.dir, events.Options{Deliver: b.deliver})
	if err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	ended := make(chan error, 1)
	if deliver {
		go func() { ended <- engine.Run(context.Background()) }()
	} else {
		ended <- nil
	}
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
	b.Client = eventbridge.New(eventbridge.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func (b *bench) deliver(_ context.Context, target, event string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.refusals[target]; n != 0 {
		b.refusals[target] = n - 1
		return errors.New("target is away")
	}
	b.got = append(b.got, [2]string{target, event})
	return nil
}

// wait waits until n deliveries were made, then long enough to notice one too many.
func (b *bench) wait(n int) [][2]string {
	b.t.Helper()
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		b.mu.Lock()
		enough := len(b.got) >= n
		b.mu.Unlock()
		if enough {
			break
		}
	}
	time.Sleep(100 * time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.got) != n {
		b.t.Fatalf("%d deliveries, want %d: %v", len(b.got), n, b.got)
	}
	return slices.Clone(b.got)
}

func (b *bench) rule(name, pattern string, targets ...types.Target) {
	b.t.Helper()
	if _, err := b.PutRule(b.t.Context(), &eventbridge.PutRuleInput{Name: &name, EventPattern: &pattern}); err != nil {
		b.t.Fatalf("put rule %s: %v", name, err)
	}
	out, err := b.PutTargets(b.t.Context(), &eventbridge.PutTargetsInput{Rule: &name, Targets: targets})
	if err != nil || out.FailedEntryCount != 0 {
		b.t.Fatalf("put targets of %s: %v, %+v", name, err, out)
	}
}

func (b *bench) put(entries ...types.PutEventsRequestEntry) *eventbridge.PutEventsOutput {
	b.t.Helper()
	out, err := b.PutEvents(b.t.Context(), &eventbridge.PutEventsInput{Entries: entries})
	if err != nil {
		b.t.Fatalf("put events: %v", err)
	}
	return out
}

func to(id, arn string) types.Target { return types.Target{Id: &id, Arn: &arn} }

func entry(source, detail string) types.PutEventsRequestEntry {
	return types.PutEventsRequestEntry{Source: &source, DetailType: aws.String("sealift.export.requested"), Detail: &detail}
}

func TestMatchedEventReachesItsTargetsWhole(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.rule("intake", `{"detail-type": ["sealift.export.requested"], "source": [{"prefix": "shop."}]}`, to("create", functionARN))
	b.rule("other", `{"source": ["nobody"]}`, to("create", functionARN))
	at := time.Date(2026, 3, 1, 8, 30, 0, 0, time.UTC)
	e := entry("shop.orders", `{"rows": 9007199254740993}`)
	e.Time, e.Resources = &at, []string{"arn:x"}
	out := b.put(e, entry("elsewhere", `{}`))
	if out.FailedEntryCount != 0 || len(out.Entries) != 2 {
		t.Fatalf("%+v", out)
	}
	got := b.wait(1)[0]
	if got[0] != functionARN {
		t.Errorf("delivered to %s", got[0])
	}
	want := `{"version":"0","id":"` + *out.Entries[0].EventId + `","detail-type":"sealift.export.requested","source":"shop.orders","account":"000000000000",` +
		`"time":"2026-03-01T08:30:00Z","region":"us-east-1","resources":["arn:x"],"detail":{"rows":9007199254740993}}`
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Error(diff)
	}
}

func TestConstantInputReplacesTheEvent(t *testing.T) {
	t.Parallel()
	b := start(t)
	target := to("x", functionARN)
	target.Input = aws.String(`{"fixed":true}`)
	b.rule("r", `{"source": ["a"]}`, target)
	b.put(entry("a", `{}`))
	if got := b.wait(1)[0][1]; got != `{"fixed":true}` {
		t.Errorf("got %s", got)
	}
}

func TestDisabledRuleDeliversNothing(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.rule("r", `{"source": ["a"]}`, to("x", functionARN))
	if _, err := b.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: aws.String("r"), EventPattern: aws.String(`{"source": ["a"]}`), State: types.RuleStateDisabled}); err != nil {
		t.Fatal(err)
	}
	b.put(entry("a", `{}`))
	b.wait(0)
	targets, err := b.ListTargetsByRule(t.Context(), &eventbridge.ListTargetsByRuleInput{Rule: aws.String("r")})
	if err != nil || len(targets.Targets) != 1 {
		t.Errorf("the changed rule lost its targets: %v, %+v", err, targets)
	}
}

func TestAcceptedEventIsDeliveredAfterARestart(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, dir: t.TempDir(), refusals: map[string]int{}}
	b.begin(false)
	b.rule("r", `{"source": ["a"]}`, to("x", functionARN), to("y", deadARN))
	b.put(entry("a", `{"n":1}`), entry("a", `{"n":2}`))
	b.wait(0)
	b.stop()
	b.begin(true)
	b.wait(4)
	b.stop()
	b.begin(true)
	b.wait(4)
}

func TestFailedDeliveryIsRepeatedThenBuried(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.refusals[functionARN] = 1
	b.rule("r", `{"source": ["a"]}`, to("x", functionARN))
	b.put(entry("a", `{}`))
	b.wait(1)

	b.mu.Lock()
	b.refusals[functionARN] = -1
	b.mu.Unlock()
	target := to("x", functionARN)
	target.RetryPolicy = &types.RetryPolicy{MaximumRetryAttempts: aws.Int32(0), MaximumEventAgeInSeconds: aws.Int32(60)}
	target.DeadLetterConfig = &types.DeadLetterConfig{Arn: aws.String(deadARN)}
	b.rule("r", `{"source": ["a"]}`, target)
	b.put(entry("a", `{"bury":"me"}`))
	if got := b.wait(2)[1]; got[0] != deadARN || !strings.Contains(got[1], "bury") {
		t.Errorf("got %v", got)
	}
	target.DeadLetterConfig = nil
	b.rule("r", `{"source": ["a"]}`, target)
	b.put(entry("a", `{}`))
	b.wait(2)
}

func TestEntriesFailOneByOne(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.rule("r", `{"source": [{"exists": true}]}`, to("x", functionARN))
	elsewhere := entry("a", `{}`)
	elsewhere.EventBusName = aws.String("other")
	out := b.put(entry("", `{}`), entry("a", `{`), entry("a", `[]`), entry("aws.s3", `{}`), elsewhere, entry("a", `{}`))
	var codes []string
	for _, r := range out.Entries {
		codes = append(codes, aws.ToString(r.ErrorCode))
		if (r.EventId == nil) == (r.ErrorCode == nil) {
			t.Errorf("a result must be an id or an error: %+v", r)
		}
	}
	want := []string{"InvalidArgument", "MalformedDetail", "MalformedDetail", "NotAuthorizedForSourceException", "ResourceNotFoundException", ""}
	if diff := cmp.Diff(want, codes); diff != "" || out.FailedEntryCount != 5 {
		t.Error(out.FailedEntryCount, diff)
	}
	var event struct{ Detail, Resources json.RawMessage }
	if err := json.Unmarshal([]byte(b.wait(1)[0][1]), &event); err != nil || string(event.Resources) != "[]" {
		t.Errorf("%v, %s", err, event.Resources)
	}
}

func TestRulesAreListedAndRemoved(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, name := range []string{"a-2", "b", "a-1", "a-3"} {
		b.rule(name, `{"source": ["a"]}`, to("x", functionARN), to("y", deadARN))
	}
	var names []string
	in := &eventbridge.ListRulesInput{NamePrefix: aws.String("a-"), Limit: aws.Int32(2)}
	for {
		page, err := b.ListRules(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Rules {
			names = append(names, *r.Name)
		}
		if in.NextToken = page.NextToken; in.NextToken == nil {
			break
		}
	}
	if diff := cmp.Diff([]string{"a-1", "a-2", "a-3"}, names); diff != "" {
		t.Error(diff)
	}
	_, err := b.DeleteRule(t.Context(), &eventbridge.DeleteRuleInput{Name: aws.String("b")})
	wantCode(t, err, "ValidationException", "has targets")
	if _, err := b.RemoveTargets(t.Context(), &eventbridge.RemoveTargetsInput{Rule: aws.String("b"), Ids: []string{"x", "y"}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := b.DeleteRule(t.Context(), &eventbridge.DeleteRuleInput{Name: aws.String("b")}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.DescribeRule(t.Context(), &eventbridge.DescribeRuleInput{Name: aws.String("b")})
	var missing *types.ResourceNotFoundException
	if !errors.As(err, &missing) {
		t.Errorf("got %v, want ResourceNotFoundException", err)
	}
	got, err := b.DescribeRule(t.Context(), &eventbridge.DescribeRuleInput{Name: aws.String("a-1")})
	if err != nil || *got.Arn != "arn:aws:events:us-east-1:000000000000:rule/a-1" || *got.EventPattern != `{"source": ["a"]}` || got.State != types.RuleStateEnabled {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestRefusalsAreTypedErrors(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.rule("r", `{"source": ["a"]}`, to("x", functionARN))
	rule := func(in eventbridge.PutRuleInput) error {
		if in.Name == nil {
			in.Name = aws.String("x")
		}
		_, err := b.PutRule(t.Context(), &in)
		return err
	}
	targets := func(name string, list ...types.Target) error {
		_, err := b.PutTargets(t.Context(), &eventbridge.PutTargetsInput{Rule: &name, Targets: list})
		return err
	}
	transformed := to("x", functionARN)
	transformed.InputPath = aws.String("$.detail")
	put := func(entries ...types.PutEventsRequestEntry) error {
		_, err := b.PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: entries})
		return err
	}
	pattern := aws.String(`{"source": ["a"]}`)
	cases := []struct {
		name, code, about string
		err               error
	}{
		{"matcher that is not provided", "InvalidEventPatternException", "wildcard", rule(eventbridge.PutRuleInput{EventPattern: aws.String(`{"source": [{"wildcard": "a*"}]}`)})},
		{"pattern that is not JSON", "InvalidEventPatternException", "JSON", rule(eventbridge.PutRuleInput{EventPattern: aws.String(`{`)})},
		{"rule with a schedule", "ValidationException", "Scheduler", rule(eventbridge.PutRuleInput{ScheduleExpression: aws.String("rate(1 minute)")})},
		{"rule without a pattern", "ValidationException", "EventPattern", rule(eventbridge.PutRuleInput{})},
		{"bad rule name", "ValidationException", "letters", rule(eventbridge.PutRuleInput{Name: aws.String("a b"), EventPattern: pattern})},
		{"other bus", "ResourceNotFoundException", "default", rule(eventbridge.PutRuleInput{EventPattern: pattern, EventBusName: aws.String("other")})},
		{"target of a missing rule", "ResourceNotFoundException", "PutRule", targets("missing", to("x", functionARN))},
		{"target that is no ARN", "ValidationException", "Arn", targets("r", to("x", "function"))},
		{"target with an input path", "ValidationException", "InputPath", targets("r", transformed)},
		{"six targets", "LimitExceededException", "5", targets("r", to("1", deadARN), to("2", deadARN), to("3", deadARN), to("4", deadARN), to("5", deadARN))},
		{"eleven entries", "ValidationException", "10", put(make([]types.PutEventsRequestEntry, 11)...)},
		{"entries too large", "ValidationException", "size", put(entry("a", `{"x":"`+strings.Repeat("x", 256<<10)+`"}`))},
	}
	for _, c := range cases {
		wantCode(t, c.err, c.code, c.about)
	}
	_, err := b.CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: aws.String("x")})
	wantCode(t, err, "UnknownOperationException", "CreateEventBus")
}

func wantCode(t *testing.T, err error, code, about string) {
	t.Helper()
	var answer smithy.APIError
	if !errors.As(err, &answer) || answer.ErrorCode() != code || !strings.Contains(answer.ErrorMessage(), about) {
		t.Errorf("got %v, want %s about %q", err, code, about)
	}
}
