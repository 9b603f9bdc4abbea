package pipeline

import (
	"context"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
)

// Canceller ends jobs that people no longer want.
type Canceller struct {
	Ledger Ledger
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

func (c Canceller) move(ctx context.Context, who policy.Principal, id string, to job.State, build func(job.Job, job.Act) (job.Change, error), reason string) (job.Job, error) {
	for range limits.ConflictTries {
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
		err = c.Ledger.Apply(ctx, change)
		if err != nil && job.KindOf(err) != job.Fenced {
			return job.Job{}, err
		}
		// Applied, or something moved the job in between: the next read tells which.
	}
	return job.Job{}, job.Errorf(job.Transient, "ledger_contended", "the export is moving too fast; ask again")
}
