package job_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/limits"
)

func testUnit(state job.UnitState) job.Unit {
	return job.Unit{
		Job: testID(), ID: job.ShardID(1), Tenant: "acme", Lane: job.Bulk, State: state, Generation: 4, Owner: "previous",
		LeaseUntil: testTime(), DueAt: testTime(), PlanGeneration: 1,
	}
}

func TestAUnitIsClaimableFromPendingDueWaitingAndDeadLeaseOnly(t *testing.T) {
	t.Parallel()
	now := testTime()
	for _, test := range []struct {
		name  string
		state job.UnitState
		until time.Time
		want  bool
		at    time.Time
	}{
		{"pending", job.UnitPending, now.Add(time.Hour), true, now},
		{"waiting, due a moment ago", job.UnitWaiting, now.Add(-1), true, now.Add(-1)},
		{"waiting, due now", job.UnitWaiting, now, true, now},
		{"waiting, due in a moment", job.UnitWaiting, now.Add(1), false, now.Add(1)},
		{"leased, the lease is over", job.UnitLeased, now.Add(-1), true, now.Add(-1)},
		{"leased, the lease ends now", job.UnitLeased, now, false, now},
		{"leased", job.UnitLeased, now.Add(time.Second), false, now.Add(time.Second)},
		{"done", job.UnitDone, now.Add(-time.Hour), false, time.Time{}},
		{"failed", job.UnitFailed, now.Add(-time.Hour), false, time.Time{}},
		{"retired", job.UnitRetired, now.Add(-time.Hour), false, time.Time{}},
		{"of a state that a later release knows", "dreaming", now.Add(-time.Hour), false, time.Time{}},
	} {
		unit := testUnit(test.state)
		unit.LeaseUntil, unit.DueAt = test.until, test.until
		ok, at := unit.Claimable(now)
		if ok != test.want || !at.Equal(test.at) {
			t.Errorf("%s: claimable %v at %s, want %v at %s", test.name, ok, at, test.want, test.at)
		}
		next, change, err := unit.Claim("next", now)
		if !test.want {
			if job.KindOf(err) != job.Fenced || len(change.Writes()) > 0 {
				t.Errorf("%s: a claim gives %v", test.name, err)
			}
			continue
		}
		if err != nil || next.Generation != 5 || next.Owner != "next" || next.State != job.UnitLeased || !next.LeaseUntil.Equal(now.Add(limits.Lease)) ||
			!next.DueAt.Equal(next.LeaseUntil) {
			t.Errorf("%s: the claim gives %+v, %v", test.name, next, err)
		}
	}
}

func TestOnlyADeadLeaseCostsACrash(t *testing.T) {
	t.Parallel()
	now := testTime()
	for state, want := range map[job.UnitState]int64{job.UnitPending: 2, job.UnitWaiting: 2, job.UnitLeased: 3} {
		unit := testUnit(state)
		unit.Crashes, unit.Faults, unit.LeaseUntil = 2, 1, now.Add(-1)
		next, _, err := unit.Claim("next", now)
		if err != nil || next.Crashes != want || next.Faults != 1 {
			t.Errorf("claimed from %s: %d crashes and %d faults, %v; want %d and 1", state, next.Crashes, next.Faults, err, want)
		}
		unit.Crashes = limits.CrashesMax
		if unit.CrashesExceeded() != (state == job.UnitLeased) {
			t.Errorf("%s after %d crashes: exceeded is %v", state, unit.Crashes, unit.CrashesExceeded())
		}
		unit.Crashes--
		if unit.CrashesExceeded() {
			t.Errorf("%s after %d crashes is exceeded already", state, unit.Crashes)
		}
	}
}

func TestFaultsAreCountedByRetryAlone(t *testing.T) {
	t.Parallel()
	unit := testUnit(job.UnitLeased)
	unit.Faults = 3
	failure := job.Failure{Kind: job.Transient, Code: "source_timeout"}
	now := testTime()
	for name, change := range map[string]job.Change{
		"retry": unit.Retry(failure, now, now.Add(time.Minute)), "release": unit.Release(now), "postpone": unit.Postpone(now, now.Add(time.Minute)),
	} {
		have := setField(change.Writes()[0], "faults")
		if name == "retry" && have != int64(4) || name != "retry" && have != nil {
			t.Errorf("%s sets faults to %v", name, have)
		}
		if crashes := setField(change.Writes()[0], "crashes"); crashes != nil {
			t.Errorf("%s sets crashes to %v", name, crashes)
		}
	}
}

func TestATakeoverSkipsThePartNumbersThatMayBeInFlight(t *testing.T) {
	t.Parallel()
	unit := testUnit(job.UnitPending)
	next, change, err := unit.Claim("a", testTime())
	if err != nil || next.Upload.PartNumber != 0 || setField(change.Writes()[0], "part_number") != int64(0) {
		t.Errorf("without an upload the claim gives part number %d, %v", next.Upload.PartNumber, err)
	}
	opened, change := next.OpenUpload("k", "u")
	if opened.Upload.PartNumber != 1 || setField(change.Writes()[0], "part_number") != int64(1) {
		t.Errorf("a new upload begins at part %d", opened.Upload.PartNumber)
	}
	wrote, _ := opened.Checkpoint(job.Part{Number: 1}, job.Progress{})
	if wrote.Upload.PartNumber != 2 {
		t.Errorf("after part 1 the next is %d", wrote.Upload.PartNumber)
	}
	wrote.State = job.UnitPending
	taken, change, err := wrote.Claim("b", testTime())
	want := int64(2 + limits.PartsInFlight)
	if err != nil || taken.Upload.PartNumber != want || setField(change.Writes()[0], "part_number") != want {
		t.Errorf("the takeover begins at part %d, %v; want %d", taken.Upload.PartNumber, err, want)
	}
	again, _ := taken.Checkpoint(job.Part{Number: want}, wrote.Progress)
	if again.Upload.PartNumber != want+1 || again.Progress.PartCount != 2 {
		t.Errorf("after part %d the next is %d of %d parts", want, again.Upload.PartNumber, again.Progress.PartCount)
	}
}

func TestACheckpointIsRefusedUnlessTheListIsAsLongAsBelieved(t *testing.T) {
	t.Parallel()
	unit := testUnit(job.UnitLeased)
	unit.Progress.PartCount, unit.Progress.Parts = 1, []job.Part{{Number: 1}}
	_, change := unit.Checkpoint(job.Part{Number: 2}, unit.Progress)
	write := change.Writes()[0]
	row := func(count, generation int64, next int64) job.Fields {
		return job.Fields{"state": string(job.UnitLeased), "generation": generation, "part_count": count, "part_number": next}
	}
	for _, test := range []struct {
		name           string
		row            job.Fields
		holds, applied bool
	}{
		{"as read", row(1, 4, 2), true, false},
		{"done before", row(2, 4, 3), false, true},
		{"another part of the same attempt", row(2, 4, 4), false, false},
		{"one part ahead", row(3, 4, 4), false, false},
		{"one part behind", row(0, 4, 1), false, false},
		{"another generation", row(1, 5, 2), false, false},
		{"done before, then taken over", row(2, 5, 3), false, false},
	} {
		if have := holds(write.Guards, test.row); have != test.holds {
			t.Errorf("%s: the guards hold: %v", test.name, have)
		}
		if have := write.WasApplied(test.row); have != test.applied {
			t.Errorf("%s: it has happened: %v", test.name, have)
		}
	}
}

func TestACheckpointLeavesThePartsOfItsUnitAlone(t *testing.T) {
	t.Parallel()
	unit := testUnit(job.UnitLeased)
	unit.Progress.Parts = make([]job.Part, 1, 8)
	first, _ := unit.Checkpoint(job.Part{Number: 2, ETag: "a"}, unit.Progress)
	second, _ := unit.Checkpoint(job.Part{Number: 2, ETag: "b"}, unit.Progress)
	if first.Progress.Parts[1].ETag != "a" || second.Progress.Parts[1].ETag != "b" || len(unit.Progress.Parts) != 1 {
		t.Errorf("two checkpoints of one unit share their list: %v, %v", first.Progress.Parts, second.Progress.Parts)
	}
}

func TestTheHistoryNamesEveryAttemptAndIsBounded(t *testing.T) {
	t.Parallel()
	unit := testUnit(job.UnitPending)
	unit.Generation = 0
	now := testTime()
	for n := range int64(limits.HistoryMax + 5) {
		next, _, err := unit.Claim("a", now)
		if err != nil {
			t.Fatal(err)
		}
		if last := next.History[len(next.History)-1]; last.Generation != n+1 || last.ToMillis != 0 || last.FromMillis != now.UnixMilli() {
			t.Fatalf("claim %d is remembered as %+v", n+1, last)
		}
		unit = next
		now = now.Add(limits.Lease + time.Second)
	}
	if len(unit.History) != limits.HistoryMax {
		t.Errorf("the history has %d attempts, want %d", len(unit.History), limits.HistoryMax)
	}
	crashed := unit.History[len(unit.History)-2]
	if crashed.Ended != job.AttemptCrashed || crashed.ToMillis == 0 {
		t.Errorf("a dead lease is remembered as %+v", crashed)
	}
	before := append([]job.Attempt(nil), unit.History...)
	unit.Retry(job.Failure{Kind: job.Transient, Code: "c"}, now, now)
	if diff := cmp.Diff(before, unit.History); diff != "" {
		t.Errorf("a move changed the unit it was made from:\n%s", diff)
	}
}

func TestARenewalNeverMovesALeaseBack(t *testing.T) {
	t.Parallel()
	unit := testUnit(job.UnitLeased)
	until, change := unit.Renew(testTime())
	write := change.Writes()[0]
	for _, test := range []struct {
		name           string
		ends           time.Time
		holds, applied bool
	}{
		{"an earlier end", until.Add(-time.Millisecond), true, false},
		{"its own, sent again", until, false, true},
		{"a later end, when it was under way for long", until.Add(time.Millisecond), false, false},
	} {
		row := job.Fields{"state": string(job.UnitLeased), "generation": unit.Generation, "lease_until_ms": test.ends.UnixMilli()}
		if have := holds(write.Guards, row); have != test.holds {
			t.Errorf("%s: the guards hold: %v", test.name, have)
		}
		if have := write.WasApplied(row); have != test.applied {
			t.Errorf("%s: it has happened: %v", test.name, have)
		}
	}
}

func TestAShardIsStagedOverAnOlderPlanOnly(t *testing.T) {
	t.Parallel()
	unit := testUnit(job.UnitPending)
	unit.PlanGeneration = 3
	write := job.Stage(unit, testTime())
	for _, test := range []struct {
		name           string
		row            job.Fields
		holds, applied bool
	}{
		{"absent", job.Fields{}, true, false},
		{"an older plan's", job.Fields{"plan_generation": int64(2)}, true, false},
		{"its own", job.Fields{"plan_generation": int64(3)}, false, true},
		{"a newer plan's", job.Fields{"plan_generation": int64(4)}, false, false},
		{"an older plan's, never claimed", job.Fields{"plan_generation": int64(2), "generation": int64(0)}, true, false},
		{"an older plan's, retired since", job.Fields{"plan_generation": int64(2), "generation": int64(1)}, false, false},
	} {
		if have := holds(write.Guards, test.row); have != test.holds {
			t.Errorf("%s: the guards hold: %v", test.name, have)
		}
		if have := write.WasApplied(test.row); have != test.applied {
			t.Errorf("%s: it has happened: %v", test.name, have)
		}
	}
}

func TestWorkStatesAreOverOrNot(t *testing.T) {
	t.Parallel()
	over := map[job.UnitState]bool{
		job.UnitPending: false, job.UnitLeased: false, job.UnitWaiting: false, job.UnitDone: true, job.UnitFailed: true, job.UnitRetired: true,
	}
	if len(over) != len(job.UnitStates()) {
		t.Fatalf("the table has %d states, the package %d", len(over), len(job.UnitStates()))
	}
	for _, state := range job.UnitStates() {
		if state.Over() != over[state] {
			t.Errorf("%s is over: %v", state, state.Over())
		}
	}
}
