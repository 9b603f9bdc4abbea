package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

func TestAMessageForAnotherFunctionsUnitChangesNothing(t *testing.T) {
	t.Parallel()
	// None of them has a ledger: a misrouted message must be refused before anything is read or written.
	functions := map[string]struct {
		own string
		run func(job.Pointer) error
	}{
		"plan-shards":   {job.PlanID, func(p job.Pointer) error { return Planner{}.Plan(t.Context(), p) }},
		"process-shard": {job.ShardID(1), func(p job.Pointer) error { return Processor{}.Process(t.Context(), p) }},
		"finalize":      {job.FinalizeID, func(p job.Pointer) error { return Finalizer{}.Finalize(t.Context(), p) }},
		"sweep-orphans": {job.CleanID, func(p job.Pointer) error { return Cleaner{}.Clean(t.Context(), p) }},
	}
	units := []string{job.PlanID, job.ShardID(1), job.ShardID(99), job.FinalizeID, job.CleanID}
	for name, function := range functions {
		for _, unit := range units {
			if unit == function.own || (function.own == job.ShardID(1) && isShard(unit)) {
				continue
			}
			err := function.run(job.Pointer{Job: job.NewID([16]byte{1}), Unit: unit})
			if job.CodeOf(err) != "message_misrouted" || job.KindOf(err) != job.Permanent {
				t.Errorf("%s takes a message for %s: %v", name, unit, err)
			}
		}
	}
}

func TestAPlanWithKeysThatCanNotBeWrittenDownIsRefused(t *testing.T) {
	t.Parallel()
	good := row.Key{"2026-01-01T00:00:00Z", "名字"}
	for code, bad := range map[string]row.Key{
		"key_invalid_utf8": {"2026-01-01T00:00:00Z", "A\xe9001"},
		"key_too_long":     {"2026-01-01T00:00:00Z", strings.Repeat("a", 32<<10)},
	} {
		cases := map[string]source.Plan{
			"the ceiling": {Ceiling: bad, Shards: []source.Shard{{}}},
			"a border":    {Ceiling: good, Shards: []source.Shard{{Range: row.Range{To: bad}}, {Range: row.Range{From: bad}}}},
		}
		for name, plan := range cases {
			if err := checkKeys(plan); job.CodeOf(err) != code || job.KindOf(err) != job.Permanent || len(err.Error()) > 400 {
				t.Errorf("%s: %v, want %s in few words", name, err, code)
			}
		}
	}
	if err := checkKeys(source.Plan{Ceiling: good, Shards: []source.Shard{{Range: row.Range{To: good}}, {Range: row.Range{From: good}}}}); err != nil {
		t.Errorf("keys in UTF-8: %v", err)
	}
}

func TestAnAskerReadsOfTheExport(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	late, _ := exhausted(job.Job{CreatedAt: created}, job.Unit{ID: job.PlanID}, created.Add(limits.JobAgeMax+time.Second))
	if want := "the export did not finish within "; !strings.HasPrefix(late.Detail, want) {
		t.Errorf("too old a job is told as %q, want %q", late.Detail, want)
	}
	var e *job.Error
	if err := deliverable(job.Job{State: "later"}); !errors.As(err, &e) || e.Detail != "the export has a state that this release doesn't know" {
		t.Errorf("a state of a later release is told as %v", err)
	}
}

// renamed is a source that has one identity.
type renamed struct {
	source.Source

	identity string
}

func (r renamed) Identity(context.Context, row.Query) (string, error) { return r.identity, nil }

func TestASourceThatWasReplacedFailsTheJob(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, planned, found, code string }{
		{"the same table", "a", "a", ""},
		{"another table of that name", "a", "b", "source_replaced"},
		{"the same table, of which a new right shows more", "a", "a x=1", ""},
		{"a table of which a right shows that it is another", "a x=1", "a x=2", "source_replaced"},
		{"a job planned by a release that did not ask", "", "b", ""},
	}
	for _, c := range cases {
		err := sameSource(t.Context(), renamed{identity: c.found}, row.Query{}, c.planned)
		if (c.code == "") != (err == nil) || (err != nil && (job.CodeOf(err) != c.code || job.KindOf(err) != job.Permanent)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
