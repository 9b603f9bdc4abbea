package pipeline

import (
	"context"
	"strconv"
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

// Report says what a sweep saw and did, by class; Unreached names what it did not get to, which a later one does.
type Report struct {
	Due       map[string]int `json:"due"`
	Stored    map[string]int `json:"stored"`
	Unreached []string       `json:"unreached,omitempty"`
}

// round is a sweep under way.
type round struct {
	troubles

	report Report
}

func (r *round) unreached(what string) { r.report.Unreached = append(r.report.Unreached, what) }

// due notes what became of due rows of one job.
func (r *round) due(class string, key job.RowKey, err error, rows int) {
	r.report.Due[class] += rows
	r.met(key.PK+" "+key.SK, err, rows)
}

// unvisited notes the rows whose turn did not come.
func (r *round) unvisited(waiting []line) {
	if len(waiting) == 0 {
		return
	}
	rows, jobs := 0, "1 job"
	for _, l := range waiting {
		rows += len(l.keys)
	}
	if len(waiting) > 1 {
		jobs = strconv.Itoa(len(waiting)) + " jobs"
	}
	r.unreached(strconv.Itoa(rows) + " due rows of " + jobs)
}

// Sweep does one round: it wakes what is due, runs the clean-ups that are, and looks at some of what is stored, each
// within its share of the time. What fails keeps it from nothing else; it is told in the error, counted and with
// examples, and stays for the next round.
func (s Sweeper) Sweep(ctx context.Context) (Report, error) {
	round := &round{report: Report{Due: map[string]int{}, Stored: map[string]int{}}}
	read, until := share(ctx, limits.ReadPercent), share(ctx, limits.WakePercent)
	// The ledger's clock is known after this response.
	fields, err := s.Ledger.Row(ctx, job.SweepKey(scanDue))
	if err != nil {
		return round.report, err
	}
	was := job.SweepPosition(fields)
	rows, next := s.dueRows(ctx, was, read, round)
	if next != was {
		// Saved before any row is visited, so that one that ends the process is not the first to be met again.
		round.met("position of due rows", ignoreFenced(s.Ledger.Apply(ctx, job.SaveSweep(scanDue, was, next))), 1)
	}
	waiting, cleanUps := lines(rows)
	s.takeTurns(ctx, waiting, until, round)
	s.cleanUps(ctx, cleanUps, round)
	s.orphans(ctx, round)
	return round.report, round.err()
}

// share is when so much of what is left of the function's time, but for what it needs to end, is over; zero is never.
func share(ctx context.Context, percent int) time.Time {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	left := max(time.Until(deadline)-limits.SettleTime, 0)
	return time.Now().Add(left * time.Duration(percent) / 100)
}

// past reports whether a share of the function's time is over, or the function's time is.
func past(ctx context.Context, until time.Time) bool {
	return ctx.Err() != nil || (!until.IsZero() && !time.Now().Before(until))
}

// turnOf is how long the next of so many may take, 0 for as long as it likes; enough is false when there is no time left to
// get anywhere.
func turnOf(until time.Time, of int) (turn time.Duration, enough bool) {
	if until.IsZero() {
		return 0, true
	}
	left := time.Until(until)
	return min(left, max(left/time.Duration(of), limits.CleanTurn)), left >= limits.CleanTurn/2
}

// visit does what one due row needs and says which class it fell into.
func (s Sweeper) visit(ctx context.Context, j job.Job, unitID string) (class string, err error) {
	if unitID == "" {
		return s.visitJob(ctx, j)
	}
	return s.visitUnit(ctx, j, unitID)
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
		return classWoken, s.Queue.Send(ctx, j.Line(), job.Pointer{Job: j.ID, Unit: job.PlanID}, 0)
	case j.AllShardsDone():
		return classWoken, s.Queue.Send(ctx, j.Line(), job.Pointer{Job: j.ID, Unit: job.FinalizeID}, 0)
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
	return classWoken, s.wake(ctx, unit, 0)
}

// nextLook is when a row that was looked at is due again: later each time, so that a backlog does not multiply messages.
func nextLook(now time.Time, nudges int64) time.Time {
	grace := limits.WakeGrace
	for range nudges {
		grace = min(2*grace, limits.WakeGraceMax)
	}
	return now.Add(grace)
}
