package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// Held is a unit under this attempt's lease, as this attempt last wrote it. Work updates it after each commit, so that
// the attempt's last word starts from what is there. It is safe for the renewer and the work at once.
type Held struct {
	ledger Ledger

	mu       sync.Mutex
	unit     job.Unit
	advanced bool
}

// Advance notes that this attempt has done a step that the next one need not repeat, beside the parts that its unit
// commits. An attempt that has is no fault when the function's time ends it.
func (h *Held) Advance() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advanced = true
}

// progressed tells whether this attempt has brought its unit on since it was claimed.
func (h *Held) progressed(claimed job.Unit) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.advanced || h.unit.Progress.PartCount > claimed.Progress.PartCount
}

// Unit is the unit as last committed.
func (h *Held) Unit() job.Unit {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unit
}

// Commit applies a change of the unit and takes over what it made of it.
func (h *Held) Commit(ctx context.Context, next job.Unit, change job.Change) error {
	if err := h.ledger.Apply(ctx, change); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unit = next
	return nil
}

// hold runs work while the lease can be proven. The lease's end is the ledger's time; what is measured here is only how
// long ago the last successful claim or renewal was *begun*, on the monotonic clock: before the time was read from which
// the lease counts. A renewal whose answer is lost counts as not renewed.
func (w Worker) hold(ctx context.Context, j job.Job, held *Held, begun time.Time, work Work) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lease := limits.Lease - limits.LeaseMargin
	proof := time.AfterFunc(lease-monotonicNow().Sub(begun), func() { cancel(errLeaseUnproven) })
	defer proof.Stop()
	if deadline, ok := ctx.Deadline(); ok {
		handOver := time.AfterFunc(time.Until(deadline)-handOverTime(deadline), func() { cancel(errHandOver) })
		defer handOver.Stop()
	}
	var renewer sync.WaitGroup
	stop := make(chan struct{})
	renewer.Go(func() { w.renew(ctx, held, stop, proof, cancel) })
	err := work(ctx, j, held)
	close(stop)
	renewer.Wait()
	if cause := context.Cause(ctx); err != nil && cause != nil && !fencedOrPermanent(err) {
		if errors.Is(cause, errLeaseUnproven) || errors.Is(cause, errHandOver) || job.KindOf(cause) == job.Fenced {
			return cause
		}
		return job.Errorf(job.Cancelled, "stopped", "the process is stopping: %w", cause)
	}
	return err
}

// handOverTime is how much of the function's time is kept for handing over: less when there is little to begin with.
func handOverTime(deadline time.Time) time.Duration {
	return min(limits.HandOver, time.Until(deadline)/4)
}

func fencedOrPermanent(err error) bool {
	kind := job.KindOf(err)
	return kind == job.Fenced || kind == job.Permanent || kind == job.Invalid
}

func (w Worker) renew(ctx context.Context, held *Held, stop <-chan struct{}, proof *time.Timer, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(limits.RenewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		select {
		case <-stop:
			return // the work ended in the same moment; a renewal would only hold its end up
		case <-ctx.Done():
			return
		default:
		}
		sent := monotonicNow()
		_, change := held.Unit().Renew(w.Ledger.Now())
		err := w.Ledger.Apply(ctx, change)
		switch {
		case err == nil:
			proof.Reset(limits.Lease - limits.LeaseMargin - monotonicNow().Sub(sent))
		case job.KindOf(err) == job.Fenced:
			cancel(err)
			return
		}
	}
}

// monotonicNow reads the process's monotonic clock, for measuring how long something took. What time it is comes from
// the ledger only.
func monotonicNow() time.Time { return time.Now() }
