package pipeline

import (
	"context"
	"time"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
)

// Canceller ends jobs that people no longer want.
type Canceller struct {
	Ledger Ledger
	// Jitter returns a random duration in [0, most), for full jitter between tries; without one there is no pause.
	Jitter func(most time.Duration) time.Duration
}

// Cancel ends a job that has not begun to publish. Repeating it gives the same answer. When another state has won, the
// error is Fenced with code job_state and the job returned says which.
func (c Canceller) Cancel(ctx context.Context, who policy.Principal, id, reason string) (job.Job, error) {
	return c.move(ctx, who, id, job.StateCancelled, func(j job.Job, act job.Act) (job.Change, error) {
		return j.Cancel(act)
	}, reason)
}

// Revoke ends the delivery of a completed job before its time: links stop first, deletion follows. Repeating it gives
// the same answer.
func (c Canceller) Revoke(ctx context.Context, who policy.Principal, id, reason string) (job.Job, error) {
	return c.move(ctx, who, id, job.StateExpired, func(j job.Job, act job.Act) (job.Change, error) {
		return j.Expire(audit.Revoked, act)
	}, reason)
}

// move tries as often as a link is tried: links that are asked for at once move the job too, and must not keep the end of
// its delivery from coming.
func (c Canceller) move(ctx context.Context, who policy.Principal, id string, to job.State, build func(job.Job, job.Act) (job.Change, error), reason string) (job.Job, error) {
	for try := range limits.LinkTries {
		if !pause(ctx, c.Jitter, try) {
			break
		}
		j, err := visibleJob(ctx, c.Ledger, who, id)
		if err != nil {
			return job.Job{}, err
		}
		if j.State == to {
			return j, nil
		}
		change, err := build(j, job.Act{Actor: who.Subject, Reason: reason, Now: c.Ledger.Now()})
		if err != nil {
			return j, err
		}
		switch err = c.Ledger.Apply(ctx, change); {
		case err == nil:
			return visibleJob(ctx, c.Ledger, who, id)
		case job.KindOf(err) != job.Fenced:
			return job.Job{}, err
		}
		// Something has moved the job in between: the next read tells what.
	}
	return job.Job{}, contended("the export", "it is as it was")
}
