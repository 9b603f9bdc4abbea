package job_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"sealift/shared/audit"
	"sealift/shared/job"
)

func TestLegalIsExactlyTheStateMachine(t *testing.T) {
	t.Parallel()
	legal := map[job.State][]job.State{
		job.StateQueued:     {job.StateRunning, job.StateFailed, job.StateCancelled},
		job.StateRunning:    {job.StatePublishing, job.StateFailed, job.StateCancelled},
		job.StatePublishing: {job.StateCompleted, job.StateFailed},
		job.StateCompleted:  {job.StateExpired},
		job.StateFailed:     nil,
		job.StateCancelled:  nil,
		job.StateExpired:    nil,
	}
	if len(legal) != len(job.States()) {
		t.Fatalf("the table has %d states, the package %d", len(legal), len(job.States()))
	}
	for _, from := range job.States() {
		for _, to := range append(job.States(), "", "paused") {
			if want := slices.Contains(legal[from], to); job.Legal(from, to) != want {
				t.Errorf("Legal(%s, %s) = %v, want %v", from, to, !want, want)
			}
		}
		if from.Terminal() != (len(legal[from]) == 0 || from == job.StateCompleted) {
			t.Errorf("%s is terminal: %v", from, from.Terminal())
		}
	}
}

// move is a move of a job, the states that allow it and the state that it leads to.
type move struct {
	name    string
	make    func(j job.Job) (job.Change, error)
	allowed []job.State
	to      job.State
	action  audit.Action
}

func moves() []move {
	act := job.Act{Actor: job.System, Now: testTime()}
	unit := job.Unit{Job: testID(), ID: job.FinalizeID, State: job.UnitLeased, Generation: 3, Owner: "o"}
	failure := job.Failure{Kind: job.Permanent, Code: "source_denied", Detail: "grant select"}
	open := []job.State{job.StateQueued, job.StateRunning, job.StatePublishing}
	return []move{
		{"plan", func(j job.Job) (job.Change, error) { return j.Plan(unit, job.Planned{Shards: 2}, act) },
			[]job.State{job.StateQueued}, job.StateRunning, audit.Planned},
		{"begin publish", func(j job.Job) (job.Change, error) {
			return j.BeginPublish(unit, job.Publication{ArtifactKey: "a", ReceiptKey: "r"}, act)
		}, []job.State{job.StateRunning}, job.StatePublishing, audit.Publishing},
		{"complete", func(j job.Job) (job.Change, error) { return j.Complete(unit, job.Artifact{Key: "a"}, act) },
			[]job.State{job.StatePublishing}, job.StateCompleted, audit.Completed},
		{"cancel", func(j job.Job) (job.Change, error) { return j.Cancel(act) },
			[]job.State{job.StateQueued, job.StateRunning}, job.StateCancelled, audit.Cancelled},
		{"fail", func(j job.Job) (job.Change, error) { return j.Fail(failure, act) }, open, job.StateFailed, audit.Failed},
		{"fail unit", func(j job.Job) (job.Change, error) { return j.FailUnit(unit, failure, act) }, open, job.StateFailed, audit.Failed},
		{"expire", func(j job.Job) (job.Change, error) { return j.Expire(audit.Expired, act) },
			[]job.State{job.StateCompleted}, job.StateExpired, audit.Expired},
		{"revoke", func(j job.Job) (job.Change, error) { return j.Expire(audit.Revoked, act) },
			[]job.State{job.StateCompleted}, job.StateExpired, audit.Revoked},
		{"sign", func(j job.Job) (job.Change, error) { return j.Sign(act, 0) },
			[]job.State{job.StateCompleted}, job.StateCompleted, audit.Signed},
	}
}

func TestEveryMoveIsAllowedFromItsStatesOnly(t *testing.T) {
	t.Parallel()
	for _, move := range moves() {
		for _, state := range job.States() {
			change, err := move.make(testJob(state))
			if !slices.Contains(move.allowed, state) {
				if job.KindOf(err) != job.Fenced || len(change.Writes()) > 0 {
					t.Errorf("%s from %s: got %d writes and %v, want it refused as fenced", move.name, state, len(change.Writes()), err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s from %s: %v", move.name, state, err)
				continue
			}
			checkMove(t, move, state, change)
		}
	}
}

// checkMove holds what every transition must carry: the guard on state and version as read, the next version, the
// event of exactly that version, and the quota and clean unit of an end.
func checkMove(t *testing.T, move move, from job.State, change job.Change) {
	t.Helper()
	j := testJob(from)
	var row, event, clean, quota *job.Write
	for _, write := range change.Writes() {
		switch write.Key {
		case job.JobKey(j.ID):
			row = &write
		case job.EventKey(j.ID, j.Version+1, ""):
			event = &write
		case job.UnitKey(j.ID, job.CleanID):
			clean = &write
		case job.QuotaKey(j.Tenant):
			quota = &write
		}
	}
	if row == nil || event == nil {
		t.Fatalf("%s from %s does not write the job and its event", move.name, from)
	}
	before := job.Fields{"state": string(from), "version": j.Version, "shards_done": j.Shards, "publish_key": "a"}
	if !holds(row.Guards, before) {
		t.Errorf("%s from %s is refused by the very row it was made from", move.name, from)
	}
	for field, other := range map[string]job.Value{"version": j.Version + 1, "state": "other"} {
		changed := job.Fields{"state": string(from), "version": j.Version, "shards_done": j.Shards, "publish_key": "a"}
		changed[field] = other
		if holds(row.Guards, changed) {
			t.Errorf("%s from %s is not guarded by %s", move.name, from, field)
		}
	}
	if have := setField(*row, "version"); have != j.Version+1 {
		t.Errorf("%s from %s sets version %v, want %d", move.name, from, have, j.Version+1)
	}
	if have := setField(*event, "action"); have != string(move.action) {
		t.Errorf("%s from %s is recorded as %v", move.name, from, have)
	}
	ends := move.to.Terminal() && from != move.to
	if ends != (clean != nil) {
		t.Errorf("%s from %s: a clean unit is staged: %v", move.name, from, clean != nil)
	}
	if (ends && move.to != job.StateExpired) != (quota != nil) {
		t.Errorf("%s from %s: the quota is given back: %v", move.name, from, quota != nil)
	}
}

func TestAMoveThatPeopleAskForIsRefusedInTheirWords(t *testing.T) {
	t.Parallel()
	act := job.Act{Now: testTime()}
	cancel := func(j job.Job) (job.Change, error) { return j.Cancel(act) }
	expire := func(j job.Job) (job.Change, error) { return j.Expire(audit.Revoked, act) }
	sign := func(j job.Job) (job.Change, error) { return j.Sign(act, 0) }
	cases := []struct {
		from job.State
		move func(job.Job) (job.Change, error)
		want string
	}{
		{job.StatePublishing, cancel, "the export is publishing and can't be cancelled any more"},
		{job.StateCompleted, cancel, "the export is completed and can't be cancelled any more"},
		{job.StateFailed, cancel, "the export is failed and can't be cancelled any more"},
		{job.StateExpired, cancel, "the export is expired and can't be cancelled any more"},
		{job.StateQueued, expire, "the export is queued; only a completed export can be revoked"},
		{job.StateCancelled, expire, "the export is cancelled; only a completed export can be revoked"},
		{job.StateExpired, sign, "the export is expired; only a completed export has a file"},
	}
	for _, c := range cases {
		_, err := c.move(testJob(c.from))
		var refused *job.Error
		if !errors.As(err, &refused) || refused.Kind != job.Fenced || refused.Code != "job_state" || refused.Detail != c.want {
			t.Errorf("from %s:\ngot  %v\nwant %s", c.from, err, c.want)
		}
	}
}

func TestAMoveOfAnotherPublicationIsRefused(t *testing.T) {
	t.Parallel()
	j := testJob(job.StatePublishing)
	unit := job.Unit{Job: j.ID, ID: job.FinalizeID, State: job.UnitLeased, Generation: 3}
	change, err := j.Complete(unit, job.Artifact{Key: "artifacts/other"}, job.Act{Now: testTime()})
	if err != nil {
		t.Fatal(err)
	}
	row := job.Fields{"state": string(job.StatePublishing), "version": j.Version, "publish_key": "artifacts/mine"}
	if holds(change.Writes()[1].Guards, row) {
		t.Error("an artifact that the publish record does not name can be bound")
	}
}

func TestPublishingWaitsForEveryShard(t *testing.T) {
	t.Parallel()
	j := testJob(job.StateRunning)
	unit := job.Unit{Job: j.ID, ID: job.FinalizeID, State: job.UnitLeased, Generation: 3}
	change, err := j.BeginPublish(unit, job.Publication{ArtifactKey: "a"}, job.Act{Now: testTime()})
	if err != nil {
		t.Fatal(err)
	}
	row := job.Fields{"state": string(job.StateRunning), "version": j.Version, "shards_done": j.Shards - 1}
	if holds(change.Writes()[1].Guards, row) {
		t.Error("a job can publish before its last shard is done")
	}
	row["shards_done"] = j.Shards
	if !holds(change.Writes()[1].Guards, row) {
		t.Error("a job can't publish although all shards are done")
	}
	for _, test := range []struct {
		shards, done int64
		want         bool
	}{{0, 0, false}, {2, 1, false}, {2, 2, true}} {
		if have := (job.Job{Shards: test.shards, ShardsDone: test.done}).AllShardsDone(); have != test.want {
			t.Errorf("%d of %d shards: all done is %v", test.done, test.shards, have)
		}
	}
}

func testTime() time.Time { return time.Date(2026, 3, 29, 1, 2, 3, 0, time.UTC) }

func testID() string { return job.NewID([16]byte{7}) }

func testJob(state job.State) job.Job {
	return job.Job{
		ID: testID(), Tenant: "acme", Applicant: "ana", Lane: job.Bulk, State: state, Version: 5, Shards: 2, ShardsDone: 2,
		PlanGeneration: 1, Retention: time.Hour,
	}
}

func holds(guards []job.Guard, row job.Fields) bool {
	for _, guard := range guards {
		if !guard.Holds(row) {
			return false
		}
	}
	return true
}

func setField(write job.Write, name string) job.Value {
	for _, field := range write.Set {
		if field.Name == name {
			return field.Value
		}
	}
	return nil
}
