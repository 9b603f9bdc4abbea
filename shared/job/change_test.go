package job_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sealift/shared/job"
)

func TestGuardsHoldByTheirRule(t *testing.T) {
	t.Parallel()
	row := job.Fields{"text": "a", "number": int64(5), "flag": true, "empty": "", "list": []string{"a"}}
	guard := func(field string, test job.Test, values ...job.Value) job.Guard {
		return job.Guard{Field: field, Test: test, Values: values}
	}
	for _, test := range []struct {
		guard job.Guard
		want  bool
	}{
		{guard("none", job.IsAbsent), true},
		{guard("text", job.IsAbsent), false},
		{guard("empty", job.IsAbsent), false},
		{guard("text", job.IsEqual, "a"), true},
		{guard("text", job.IsEqual, "b"), false},
		{guard("none", job.IsEqual, "a"), false},
		{guard("none", job.IsEqual, ""), false},
		{guard("empty", job.IsEqual, ""), true},
		{guard("number", job.IsEqual, int64(5)), true},
		{guard("number", job.IsEqual, "5"), false},
		{guard("flag", job.IsEqual, true), true},
		{guard("flag", job.IsEqual, false), false},
		{guard("list", job.IsEqual, "a"), false},
		{guard("text", job.IsOneOf, "b", "a"), true},
		{guard("text", job.IsOneOf, "b", "c"), false},
		{guard("none", job.IsOneOf, "a"), false},
		{guard("none", job.IsAbsentOrLess, int64(0)), true},
		{guard("number", job.IsAbsentOrLess, int64(6)), true},
		{guard("number", job.IsAbsentOrLess, int64(5)), false},
		{guard("text", job.IsAbsentOrLess, int64(9)), false},
		{guard("none", job.IsAbsentOrIs, "x"), true},
		{guard("text", job.IsAbsentOrIs, "a"), true},
		{guard("text", job.IsAbsentOrIs, "b"), false},
		{guard("text", "like", "a"), false},
	} {
		if have := test.guard.Holds(row); have != test.want {
			t.Errorf("%s %s %v holds: %v", test.guard.Field, test.guard.Test, test.guard.Values, have)
		}
	}
}

func TestARefusalIsASuccessOnlyWhenEveryRefusedWriteHappenedBefore(t *testing.T) {
	t.Parallel()
	first := job.DefinitionRecord{Name: "orders", Version: 1, Digest: "d1", Applied: testTime()}
	change := job.ApplyDefinition(job.DefinitionRecord{}, first)
	mine, other := job.Fields{"version": int64(1), "digest": "d1"}, job.Fields{"version": int64(1), "digest": "d2"}
	for _, test := range []struct {
		name    string
		old     map[int]job.Fields
		refused bool
	}{
		{"both happened", map[int]job.Fields{0: mine, 1: mine}, false},
		{"the refused one happened", map[int]job.Fields{1: mine}, false},
		{"one did not", map[int]job.Fields{0: mine, 1: other}, true},
		{"a row is gone", map[int]job.Fields{0: {}}, true},
		{"nothing is known", nil, true},
		{"a write that the change does not have", map[int]job.Fields{7: mine}, true},
	} {
		err := change.Judge(test.old)
		var refused *job.Refused
		if errors.As(err, &refused) != test.refused {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.refused && (job.KindOf(err) != job.Fenced || refused.Change != change.Name()) {
			t.Errorf("%s: kind %s of change %q", test.name, job.KindOf(err), refused.Change)
		}
	}
	_, renew := testUnit(job.UnitLeased).Renew(testTime())
	if renew.Judge(map[int]job.Fields{0: {"generation": int64(4)}}) == nil {
		t.Error("a write that can't tell whether it happened is taken for one that did")
	}
}

func TestErrorsKeepKindCodeAndCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection reset")
	wrapped := job.Errorf(job.Transient, "source_unavailable", "read %s: %w", "orders", cause)
	refused := &job.Refused{Change: "claim"}
	for _, test := range []struct {
		name, text string
		err        error
		kind       job.Kind
		code       string
	}{
		{"nil", "", nil, "", "internal"},
		{"with a cause", "transient: source_unavailable: read orders: connection reset", wrapped, job.Transient, "source_unavailable"},
		{"without", "invalid: bad_filter: column 7", job.Errorf(job.Invalid, "bad_filter", "column %d", 7), job.Invalid, "bad_filter"},
		{"wrapped again", "plan: transient: source_unavailable: read orders: connection reset", fmt.Errorf("plan: %w", wrapped), job.Transient, "source_unavailable"},
		{"foreign", "connection reset", cause, job.Unknown, "internal"},
		{"refused", "fenced: change_refused: claim", refused, job.Fenced, "change_refused"},
		{"refused and wrapped", "x: fenced: change_refused: claim", fmt.Errorf("x: %w", refused), job.Fenced, "change_refused"},
	} {
		if job.KindOf(test.err) != test.kind || (test.err != nil && job.CodeOf(test.err) != test.code) {
			t.Errorf("%s: %s, %s", test.name, job.KindOf(test.err), job.CodeOf(test.err))
		}
		if test.err != nil && test.err.Error() != test.text {
			t.Errorf("%s reads %q, want %q", test.name, test.err.Error(), test.text)
		}
	}
	if !errors.Is(fmt.Errorf("x: %w", wrapped), cause) {
		t.Error("the cause is lost")
	}
}

func TestANudgeCountsOnceForEveryLook(t *testing.T) {
	t.Parallel()
	j := testJob(job.StateRunning)
	j.DueAt = testTime()
	next := testTime().Add(time.Minute)
	write := j.Nudge(next).Writes()[0]
	if !holds(write.Guards, job.Fields{"due_at_ms": j.DueAt.UnixMilli()}) {
		t.Error("a nudge is refused by the row it was made from")
	}
	moved := job.Fields{"due_at_ms": next.Add(time.Second).UnixMilli()}
	if holds(write.Guards, moved) || write.WasApplied(moved) {
		t.Error("a nudge moves a row that somebody else has looked at since")
	}
	if !write.WasApplied(job.Fields{"due_at_ms": next.UnixMilli()}) {
		t.Error("a repeated nudge does not know itself")
	}
}
