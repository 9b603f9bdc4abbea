package sim

import (
	"strings"
	"testing"
	"time"

	"sealift/shared/job"
)

func testRow(more ...any) job.Fields {
	row := job.Fields{"schema": int64(job.Schema)}
	for i := 0; i < len(more); i += 2 {
		name, _ := more[i].(string)
		row[name] = more[i+1]
	}
	return row
}

func dueRow(key job.RowKey, more ...any) job.Fields {
	return testRow(append([]any{job.FieldDueAt, int64(1000), job.FieldDueBucket, job.DueBucket(key)}, more...)...)
}

// spell makes the write say what the rows differ in.
func (s *step) spell() {
	for name, value := range s.next {
		s.write.Set = append(s.write.Set, job.Field{Name: name, Value: value})
	}
	for name := range s.old {
		if _, kept := s.next[name]; !kept {
			s.write.Remove = append(s.write.Remove, name)
		}
	}
}

// TestThePoliceKnowsEveryRule breaks one rule at a time with writes that package job never builds.
func TestThePoliceKnowsEveryRule(t *testing.T) {
	t.Parallel()
	id := job.NewID([16]byte{1})
	jobKey, shardKey, cleanKey := job.JobKey(id), job.UnitKey(id, job.ShardID(1)), job.UnitKey(id, job.CleanID)
	event := step{write: job.Write{Key: job.EventKey(id, 3, ""), Insert: true}, next: testRow()}
	fence := []job.Guard{{Field: "generation", Test: job.IsEqual, Values: []job.Value{int64(1)}}}
	jobStep := func(old, next job.Fields) step { return step{write: job.Write{Key: jobKey}, old: old, next: next} }
	unitStep := func(old, next job.Fields) step {
		return step{write: job.Write{Key: shardKey, Guards: fence}, old: old, next: next}
	}
	running := dueRow(jobKey, "state", "running", "version", int64(2), "shards", int64(2))
	leased := dueRow(shardKey, "state", "leased", "generation", int64(1), "owner", "a", "lease_until_ms", int64(9), "rows", int64(5))
	for _, test := range []struct {
		name  string
		says  string
		steps []step
	}{
		{"a step back", "can't go from running to queued", []step{event,
			jobStep(running, dueRow(jobKey, "state", "queued", "version", int64(3), "shards", int64(2)))}},
		{"a transition without its event", "audit event",
			[]step{jobStep(running, testRow("state", "cancelled", "version", int64(3), "shards", int64(2)))}},
		{"a transition of the same version", "counts the version up",
			[]step{jobStep(running, testRow("state", "cancelled", "version", int64(2), "shards", int64(2)))}},
		{"a version that goes back", "version went backwards",
			[]step{jobStep(running, dueRow(jobKey, "state", "running", "version", int64(1), "shards", int64(2)))}},
		{"an unfinished job that is never due", "due some time",
			[]step{jobStep(running, testRow("state", "running", "version", int64(2), "shards", int64(2)))}},
		{"a due time in another bucket", "due some time", []step{jobStep(running,
			testRow("state", "running", "version", int64(2), "shards", int64(2), job.FieldDueAt, int64(1), job.FieldDueBucket, "due#99"))}},
		{"a finished job that is due", "never due", []step{event,
			jobStep(running, dueRow(jobKey, "state", "cancelled", "version", int64(3), "shards", int64(2)))}},
		{"another number of shards", "field shards is fixed",
			[]step{jobStep(running, dueRow(jobKey, "state", "running", "version", int64(2), "shards", int64(3)))}},
		{"publishing too early", "when all shards are done", []step{event,
			jobStep(running, dueRow(jobKey, "state", "publishing", "version", int64(3), "shards", int64(2)))}},
		{"a shard counted without being done", "counted in the change that ends them",
			[]step{jobStep(running, dueRow(jobKey, "state", "running", "version", int64(2), "shards", int64(2), "shards_done", int64(1)))}},
		{"more done than there are", "more shards are done", []step{jobStep(running,
			dueRow(jobKey, "state", "running", "version", int64(2), "shards", int64(2), "shards_done", int64(3)))}},
		{"an artifact of another key", "its publish record names", []step{event, jobStep(
			dueRow(jobKey, "state", "publishing", "version", int64(2), "publish_key", "a"),
			dueRow(jobKey, "state", "completed", "version", int64(3), "publish_key", "a", "artifact_key", "b"))}},
		{"a second artifact", "artifact_key is fixed", []step{jobStep(
			dueRow(jobKey, "state", "completed", "version", int64(2), "artifact_key", "a"),
			dueRow(jobKey, "state", "completed", "version", int64(2), "artifact_key", "b"))}},
		{"work on a job that has ended", "left alone", []step{jobStep(
			testRow("state", "failed", "version", int64(2)), testRow("state", "failed", "version", int64(2), "rows", int64(7)))}},
		{"a download too many", "more downloads", []step{jobStep(
			dueRow(jobKey, "state", "completed", "version", int64(2), "downloads_max", int64(1), "downloads", int64(1)),
			dueRow(jobKey, "state", "completed", "version", int64(2), "downloads_max", int64(1), "downloads", int64(2)))}},
		{"a link too many of many files", "more downloads", []step{jobStep(
			dueRow(jobKey, "state", "completed", "version", int64(2), "downloads_max", int64(1), "artifact_files", int64(2), "downloads", int64(3)),
			dueRow(jobKey, "state", "completed", "version", int64(2), "downloads_max", int64(1), "artifact_files", int64(2), "downloads", int64(4)))}},
		{"a job that begins in the middle", "begins queued", []step{event, jobStep(nil, dueRow(jobKey, "state", "running", "version", int64(3)))}},

		{"a generation that goes back", "generation grows by one",
			[]step{unitStep(leased, dueRow(shardKey, "state", "pending", "generation", int64(0), "rows", int64(5)))}},
		{"two holders of one generation", "two holders", []step{unitStep(leased,
			dueRow(shardKey, "state", "leased", "generation", int64(1), "owner", "b", "lease_until_ms", int64(9), "rows", int64(5)))}},
		{"a lease without an end", "an owner and an end", []step{unitStep(leased,
			dueRow(shardKey, "state", "leased", "generation", int64(1), "owner", "a", "rows", int64(5)))}},
		{"lost progress", "progress went backwards",
			[]step{unitStep(leased, dueRow(shardKey, "state", "pending", "generation", int64(1), "rows", int64(4)))}},
		{"a stale write", "without its generation", []step{{write: job.Write{Key: shardKey}, old: leased,
			next: dueRow(shardKey, "state", "pending", "generation", int64(1), "rows", int64(5))}}},
		{"work on a unit that is done", "can't go from done to pending", []step{unitStep(
			testRow("state", "done", "generation", int64(1)), dueRow(shardKey, "state", "pending", "generation", int64(1)))}},
		{"a waiting unit that nobody looks at", "due some time",
			[]step{unitStep(leased, testRow("state", "waiting", "generation", int64(1), "rows", int64(5)))}},
		{"a done unit that is due", "never due",
			[]step{unitStep(leased, dueRow(shardKey, "state", "retired", "generation", int64(2), "rows", int64(5)))}},
		{"a part that is not counted", "another length", []step{unitStep(leased, dueRow(shardKey, "state", "leased", "generation", int64(1),
			"owner", "a", "lease_until_ms", int64(9), "rows", int64(5), "part_count", int64(2), "parts", []string{"x"}))}},
		{"a plan over a claimed shard", "that was claimed", []step{{
			write: job.Write{Key: shardKey, Insert: true, Guards: fence}, old: leased,
			next: dueRow(shardKey, "state", "pending", "generation", int64(0), "plan_generation", int64(2))}}},
		{"a plan over a newer one", "older plan", []step{{
			write: job.Write{Key: shardKey, Insert: true, Guards: []job.Guard{{Field: "schema"}}},
			old:   dueRow(shardKey, "state", "pending", "plan_generation", int64(3)),
			next:  dueRow(shardKey, "state", "pending", "plan_generation", int64(2))}}},

		{"a counter below zero", "below zero", []step{{write: job.Write{Key: job.QuotaKey("a")}, next: testRow("active_jobs", int64(-1))}}},
		{"a row without a schema", "has a schema", []step{{write: job.Write{Key: cleanKey},
			next: job.Fields{"state": "pending", job.FieldDueAt: int64(1), job.FieldDueBucket: job.DueBucket(cleanKey)}}}},
		{"an insert over a row it did not look at", "did not look at", []step{{
			write: job.Write{Key: job.QuotaKey("a"), Insert: true, Guards: fence}, old: testRow("active_jobs", int64(1)), next: testRow()}}},
		{"an event that is written again", "append-only", []step{{
			write: job.Write{Key: job.EventKey(id, 1, ""), Insert: true, Guards: []job.Guard{{Field: "schema"}}}, old: testRow(), next: testRow()}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			world := New(Options{})
			for i := range test.steps {
				test.steps[i].spell()
			}
			police(world, "", "test", test.steps)
			violations := world.Violations()
			found := false
			for _, violation := range violations {
				found = found || strings.Contains(violation, test.says)
			}
			if !found {
				t.Errorf("violations are %q, want one that says %q", violations, test.says)
			}
		})
	}
}

func TestThePoliceForgetsNothingButIsBounded(t *testing.T) {
	t.Parallel()
	world := New(Options{Start: time.Unix(0, 0)})
	for range violationsMax + 7 {
		world.violate("broken")
	}
	texts := world.Violations()
	if len(texts) != violationsMax+1 || texts[violationsMax] != "7 further violations" {
		t.Errorf("%d violations are remembered, the last is %q", len(texts), texts[len(texts)-1])
	}
}
