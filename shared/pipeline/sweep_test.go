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

// TestADeadLeaseIsWokenForOnlyWhenEveryWorkerFindsItDead has a worker die and a sweep right after the end of its lease: a
// worker whose clock is behind by the ledger's grain would let the message go.
func TestADeadLeaseIsWokenForOnlyWhenEveryWorkerFindsItDead(t *testing.T) {
	t.Parallel()
	world := sim.New(sim.Options{})
	ledger := world.Ledger
	j := job.Job{ID: job.NewID([16]byte{7}), Tenant: "acme", Applicant: "ana", Definition: "orders", DefinitionVersion: 1, Lane: job.Bulk}
	apply := func(change job.Change, err error) {
		t.Helper()
		if err == nil {
			err = ledger.Apply(t.Context(), change)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func() job.Unit {
		t.Helper()
		unit, err := job.DecodeUnit(ledger.Peek(job.UnitKey(j.ID, job.PlanID)))
		if err != nil {
			t.Fatal(err)
		}
		return unit
	}
	apply(job.Create(job.Intent{Job: j, KeyDigest: "k", KeyMemory: time.Hour, ActiveMax: 1}, ledger.Now()), nil)
	_, claim, err := read().Claim("the one that dies", ledger.Now())
	apply(claim, err)

	worker := pipeline.Worker{Ledger: ledger, Queue: world.Queue, Log: slog.New(slog.DiscardHandler),
		NewOwner: func() string { return "sweeper" }, Jitter: func(time.Duration) time.Duration { return 0 }}
	sweeper := pipeline.Sweeper{Cleaner: pipeline.Cleaner{Worker: worker, Store: world.Store, Keys: artifact.Keys{}}, OrphanAge: time.Hour}
	wakes := func() (plans int) {
		t.Helper()
		if _, err := sweeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		return world.Queue.Sent()
	}
	world.Clock.Advance(limits.Lease + limits.ClockGrain/2)
	before := wakes()
	world.Clock.Advance(limits.ClockGrain)
	if after := wakes(); after != before+1 {
		t.Fatalf("the unit was woken %d times a grain after its lease, %d times before, want once after", after-before, before)
	}
	if ok, until := read().Claimable(ledger.Lagging(limits.ClockGrain - time.Millisecond).Now()); !ok {
		t.Errorf("a worker whose clock is behind finds the unit leased until %s", until)
	}
}
