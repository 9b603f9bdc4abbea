package pipeline

import (
	"context"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// pause waits before try number try of a move whose row others keep moving, counted from 0: before the first not at all, then
// for a random part of a time that doubles with each (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
// 2015). Without a jitter there is no pause. It reports whether the time that is left is enough for that try.
func pause(ctx context.Context, jitter func(most time.Duration) time.Duration, try int) bool {
	if try == 0 {
		return true
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-limits.LedgerTryTime))
		defer cancel()
	}
	var wait time.Duration
	if jitter != nil {
		wait = jitter(min(limits.LedgerBackoffBase<<(try-1), limits.LedgerBackoffMax))
	}
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// contended is the error of a move whose tries or time are used up because others were always a moment ahead.
func contended(what, kept string) error {
	return job.Errorf(job.Transient, "ledger_contended", "%s was changed by others at every try, so %s; ask again in a few seconds", what, kept)
}
