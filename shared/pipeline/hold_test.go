package pipeline_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// heldUp is a ledger whose reader is held up once, right after it has been told the time.
type heldUp struct {
	pipeline.Ledger

	by time.Duration
}

func (h *heldUp) Now() time.Time {
	now := h.Ledger.Now()
	time.Sleep(h.by)
	h.by = 0
	return now
}

// TestALeaseIsProvenNoLongerThanItLasts has a worker be held up between the reading of the time from which its lease counts
// and the claim.
func TestALeaseIsProvenNoLongerThanItLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := claimed(t)
		w.Clock.Advance(limits.Lease + limits.ClockGrain)
		ledger := &heldUp{Ledger: w.Ledger}
		worker := w.sweeper.Worker
		worker.Ledger = ledger
		var began time.Time
		worker.NewOwner = func() string {
			began, ledger.by = time.Now(), limits.Lease-limits.LeaseMargin
			return "held up"
		}
		work := func(ctx context.Context, _ job.Job, _ *pipeline.Held) error {
			select {
			case <-ctx.Done():
			case <-time.After(limits.LeaseMargin):
			}
			if late := time.Since(began); late >= limits.Lease {
				t.Errorf("the worker is at work %s after the time from which its lease of %s counts", late, limits.Lease)
			}
			return context.Cause(ctx)
		}
		plan := func(unit string) bool { return unit == job.PlanID }
		if err := worker.Run(t.Context(), job.Pointer{Job: w.job.ID, Unit: job.PlanID}, plan, work); err != nil {
			t.Error(err)
		}
	})
}
