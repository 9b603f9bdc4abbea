package pipeline_test

import (
	"log/slog"
	"testing"
	"time"

	"sealift/shared/artifact"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// table is a world with one job whose plan a worker has claimed.
type table struct {
	*sim.World

	t       *testing.T
	job     job.Job
	sweeper pipeline.Sweeper
}

func claimed(t *testing.T) table {
	t.Helper()
	return claimedIn(t, sim.Options{})
}

func claimedIn(t *testing.T, options sim.Options) table {
	t.Helper()
	world := sim.New(options)
	worker := pipeline.Worker{Ledger: world.Ledger, Queue: world.Queue, Log: slog.New(slog.DiscardHandler),
		NewOwner: func() string { return "sweeper" }, Jitter: func(time.Duration) time.Duration { return 0 }}
	w := table{World: world, t: t, sweeper: pipeline.Sweeper{
		Cleaner: pipeline.Cleaner{Worker: worker, Store: world.Store, Keys: artifact.Keys{}}, OrphanAge: time.Hour,
	}}
	w.job = job.Job{ID: job.NewID([16]byte{7}), Tenant: "acme", Applicant: "ana", Definition: "orders", DefinitionVersion: 1, Lane: job.Bulk}
	w.apply(job.Create(job.Intent{Job: w.job, KeyDigest: "k", KeyMemory: time.Hour, ActiveMax: 1}, world.Ledger.Now()))
	_, claim, err := w.plan().Claim("attempt", world.Ledger.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.apply(claim)
	return w
}

func (w table) apply(change job.Change) {
	w.t.Helper()
	if err := w.Ledger.Apply(w.t.Context(), change); err != nil {
		w.t.Fatal(err)
	}
}

func (w table) plan() job.Unit {
	w.t.Helper()
	return w.unit(job.PlanID)
}

func (w table) unit(id string) job.Unit {
	w.t.Helper()
	unit, err := job.DecodeUnit(w.Ledger.Peek(job.UnitKey(w.job.ID, id)))
	if err != nil {
		w.t.Fatal(err)
	}
	return unit
}

// sweep does one round and returns how many messages have ever been sent.
func (w table) sweep() int {
	w.t.Helper()
	if _, err := w.sweeper.Sweep(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return w.Queue.Sent()
}

// TestADeadLeaseIsWokenForOnlyWhenEveryWorkerFindsItDead has a worker die and a sweep right after the end of its lease: a
// worker whose clock is behind by the ledger's grain would let the message go.
func TestADeadLeaseIsWokenForOnlyWhenEveryWorkerFindsItDead(t *testing.T) {
	t.Parallel()
	w := claimed(t)
	w.Clock.Advance(limits.Lease + limits.ClockGrain/2)
	before := w.sweep()
	w.Clock.Advance(limits.ClockGrain)
	if after := w.sweep(); after != before+1 {
		t.Fatalf("the unit was woken %d times a grain after its lease, want once", after-before)
	}
	if ok, until := w.plan().Claimable(w.Ledger.Lagging(limits.ClockGrain - time.Millisecond).Now()); !ok {
		t.Errorf("a worker whose clock is behind finds the unit leased until %s", until)
	}
}

// TestWhoIsWokenByTheSweepForARetryMayClaim has a unit fail and the message of its retry be lost: a wait that is over
// must not begin anew because somebody looked.
func TestWhoIsWokenByTheSweepForARetryMayClaim(t *testing.T) {
	t.Parallel()
	w := claimed(t)
	now := w.Ledger.Now()
	w.apply(w.plan().Retry(job.Failure{Kind: job.Transient, Code: "source_unavailable"}, now, now.Add(3*time.Second)))
	if ok, _ := w.plan().Claimable(w.Ledger.Now()); ok {
		t.Fatal("a unit that waits can be claimed")
	}
	w.Clock.Advance(4 * time.Second)
	if sent := w.sweep(); sent != 1 {
		t.Fatalf("%d messages for a retry that is due, want 1", sent)
	}
	if ok, at := w.plan().Claimable(w.Ledger.Now()); !ok {
		t.Errorf("whoever is woken has to wait again, until %s", at)
	}
}
