package pipeline

import (
	"context"
	"errors"
	"time"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/limits"
)

// Sweeper makes up for whatever was lost: it looks at every row that is due and wakes, expires, retires or cleans it,
// with the same changes and guards as everybody else, and it removes stored things that belong to nothing.
type Sweeper struct {
	Cleaner

	// OrphanAge is how old a stored thing must be before it may be called an orphan.
	OrphanAge time.Duration
}

// Report says what a sweep saw and did, by class; Unreached names what it did not get to, which the next one does.
type Report struct {
	Due       map[string]int `json:"due"`
	Stored    map[string]int `json:"stored"`
	Unreached []string       `json:"unreached,omitempty"`
}

// Sweep does one round. Rows that fail don't keep it from the others; their errors come joined, and the rows stay due.
func (s Sweeper) Sweep(ctx context.Context) (Report, error) {
	report := Report{Due: map[string]int{}, Stored: map[string]int{}}
	// The ledger's clock is known after the first response.
	if _, err := s.Ledger.Row(ctx, job.SweepKey("clock")); err != nil {
		return report, err
	}
	var failures []error
	for n := range limits.DueBuckets {
		bucket := job.DueBucketName(n)
		if ctx.Err() != nil || nearlyOver(ctx) {
			report.Unreached = append(report.Unreached, bucket)
			continue
		}
		keys, err := s.Ledger.Due(ctx, bucket, s.Ledger.Now(), limits.DuePage)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if len(keys) == limits.DuePage {
			report.Unreached = append(report.Unreached, bucket+" after the first page")
		}
		for _, key := range keys {
			class, err := s.visit(ctx, key)
			if err != nil {
				class = "failed"
				failures = append(failures, err)
			}
			report.Due[class]++
		}
	}
	if err := s.orphans(ctx, &report); err != nil {
		failures = append(failures, err)
	}
	return report, errors.Join(failures...)
}

func nearlyOver(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < limits.SettleTime
}

// visit does what one due row needs and says which class it fell into.
func (s Sweeper) visit(ctx context.Context, key job.RowKey) (class string, err error) {
	jobID, unitID, ok := job.ParseRowKey(key)
	if !ok {
		return "foreign", nil
	}
	j, err := readJob(ctx, s.Ledger, jobID)
	if err != nil {
		return "", err
	}
	if unitID == "" {
		class, err = s.visitJob(ctx, j)
	} else {
		class, err = s.visitUnit(ctx, j, unitID)
	}
	if job.KindOf(err) == job.Fenced {
		return "moved", nil // somebody was faster, which is as good
	}
	return class, err
}

func (s Sweeper) visitJob(ctx context.Context, j job.Job) (string, error) {
	now := s.Ledger.Now()
	if j.DueAt.IsZero() || j.DueAt.After(now) {
		return "moved", nil
	}
	act := job.Act{Actor: job.System, Now: now}
	switch j.State {
	case job.StateCompleted:
		if now.Before(j.ExpiresAt) {
			return "early", s.Ledger.Apply(ctx, j.Nudge(j.ExpiresAt))
		}
		act.Reason = "retention"
		change, err := j.Expire(audit.Expired, act)
		if err != nil {
			return "", err
		}
		return "expired", s.Ledger.Apply(ctx, change)
	case job.StateQueued, job.StateRunning, job.StatePublishing:
	case job.StateFailed, job.StateCancelled, job.StateExpired:
		return "moved", nil
	}
	if now.Sub(j.CreatedAt) > limits.JobAgeMax && j.State != job.StatePublishing {
		failure, _ := exhausted(j, job.Unit{}, now)
		act.Reason = failure.Code
		change, err := j.Fail(failure, act)
		if err != nil {
			return "", err
		}
		return "too_old", s.Ledger.Apply(ctx, change)
	}
	if err := s.Ledger.Apply(ctx, j.Nudge(nextLook(now, j.Nudges))); err != nil {
		return "", err
	}
	switch {
	case j.State == job.StateQueued:
		return "woken", s.Queue.Send(ctx, j.Lane, job.Pointer{Job: j.ID, Unit: job.PlanID}, 0)
	case j.AllShardsDone():
		return "woken", s.Queue.Send(ctx, j.Lane, job.Pointer{Job: j.ID, Unit: job.FinalizeID}, 0)
	}
	return "waiting", nil
}

func (s Sweeper) visitUnit(ctx context.Context, j job.Job, unitID string) (string, error) {
	unit, err := readUnit(ctx, s.Ledger, j.ID, unitID)
	if err != nil {
		return "", err
	}
	now := s.Ledger.Now()
	if unit.State.Over() || unit.DueAt.IsZero() || unit.DueAt.After(now) {
		return "moved", nil
	}
	if unitID == job.CleanID {
		return "cleaned", s.Clean(ctx, job.Pointer{Job: j.ID, Unit: job.CleanID})
	}
	_, shard := job.ShardNumber(unitID)
	stale := shard && j.State != job.StateQueued && unit.PlanGeneration != j.PlanGeneration
	if j.State.Terminal() || stale {
		return "retired", s.Ledger.Apply(ctx, unit.Retire())
	}
	if unit.State == job.UnitLeased && now.Before(unit.LeaseUntil.Add(limits.ClockGrain)) {
		// Whoever is woken may know the ledger's time a grain less exactly than the sweeper does, would find the lease
		// alive and go; and the nudge would be spent.
		return "early", nil
	}
	if err := s.Ledger.Apply(ctx, unit.Nudge(nextLook(now, unit.Nudges))); err != nil {
		return "", err
	}
	if (shard && j.State == job.StateQueued) || (unitID == job.FinalizeID && !j.AllShardsDone()) {
		return "waiting", nil
	}
	return "woken", s.wake(ctx, unit, 0)
}

// nextLook is when a row that was looked at is due again: later each time, so that a backlog does not multiply messages.
func nextLook(now time.Time, nudges int64) time.Time {
	grace := limits.WakeGrace
	for range nudges {
		grace = min(2*grace, limits.WakeGraceMax)
	}
	return now.Add(grace)
}
