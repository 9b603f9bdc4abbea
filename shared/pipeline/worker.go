package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// Worker runs units: claim, work under the lease, and one of done, released, retried or failed. It is the same loop for
// every kind of unit; a new kind of work implements Work and nothing else.
type Worker struct {
	Ledger Ledger
	Queue  Queue
	// NewOwner names an attempt; it is unique per call.
	NewOwner func() string
	// Jitter returns a random duration in [0, most), for full jitter.
	Jitter func(most time.Duration) time.Duration
	Log    *slog.Logger
}

// Work does the work of one claimed unit and commits its own end. It returns nil when that commit happened, or why it
// did not. ctx ends when the lease can't be proven any longer, when the function's time is nearly over (then
// context.Cause is errHandOver) or when the process stops.
type Work func(ctx context.Context, j job.Job, held *Held) error

// UnitKind tells whether a unit is of the kind that a function works on. A message for another kind is misrouted or
// forged: it changes nothing and ends among the dead letters.
type UnitKind func(unitID string) bool

func isShard(unitID string) bool {
	_, ok := job.ShardNumber(unitID)
	return ok
}

func isUnit(id string) UnitKind { return func(unitID string) bool { return unitID == id } }

// errHandOver ends an attempt that ran out of the function's time, not of its luck.
var errHandOver = errors.New("the function's time is nearly over")

// errLeaseUnproven ends an attempt that can't prove that it holds its lease.
var errLeaseUnproven = errors.New("the lease can't be proven any longer")

// Run wakes one unit. A nil error means that the message may be acknowledged: the work is done, somebody else has it,
// or the next pointer is sent. Any other error means that the message must come again.
func (w Worker) Run(ctx context.Context, pointer job.Pointer, kind UnitKind, work Work) error {
	if !kind(pointer.Unit) {
		return job.Errorf(job.Permanent, "message_misrouted", "the message is for unit %s, which is not this function's work", pointer.Unit)
	}
	j, err := readJob(ctx, w.Ledger, pointer.Job)
	if err != nil {
		return err
	}
	unit, err := readUnit(ctx, w.Ledger, pointer.Job, pointer.Unit)
	if err != nil {
		return err
	}
	if stop, err := w.settled(ctx, j, unit); stop || err != nil {
		return err
	}
	// Before the time is read from which the lease counts: whatever holds this process up in between is the lease's.
	begun := monotonicNow()
	claimed, change, err := unit.Claim(w.NewOwner(), w.Ledger.Now())
	if err != nil {
		return nil //nolint:nilerr // settled has looked; a unit that became unclaimable in between is somebody's.
	}
	if err := w.Ledger.Apply(ctx, change); err != nil {
		return ignoreFenced(err)
	}
	held := &Held{ledger: w.Ledger, unit: claimed}
	if failure, hopeless := exhausted(j, claimed, w.Ledger.Now()); hopeless {
		return w.giveUp(ctx, held, failure, "")
	}
	return w.settle(ctx, held, claimed, w.hold(ctx, j, held, begun, work))
}

// settled reports whether there is nothing to claim: the message is a duplicate, late, early or forged.
func (w Worker) settled(ctx context.Context, j job.Job, unit job.Unit) (bool, error) {
	if unit.State.Over() {
		return true, w.passOn(ctx, j, unit)
	}
	if unit.ID != job.CleanID {
		if j.State.Terminal() {
			return true, nil
		}
		if _, shard := job.ShardNumber(unit.ID); shard && (j.State == job.StateQueued || unit.PlanGeneration != j.PlanGeneration) {
			// Staged by a plan that has not been committed, or never will be.
			return true, nil
		}
		if unit.ID == job.FinalizeID && j.State != job.StatePublishing && !j.AllShardsDone() {
			// Early or forged: the last shard will send another.
			return true, nil
		}
	}
	ok, at := unit.Claimable(w.Ledger.Now())
	if ok || unit.State != job.UnitWaiting {
		return !ok, nil
	}
	// Early: back to sleep until it is due.
	return true, w.wake(ctx, unit, at.Sub(w.Ledger.Now()))
}

// passOn sends the pointer that a unit's end gives rise to, for the message that comes again because its sender died
// between the commit and the next pointer.
func (w Worker) passOn(ctx context.Context, j job.Job, unit job.Unit) error {
	if _, shard := job.ShardNumber(unit.ID); shard && unit.State == job.UnitDone && j.State == job.StateRunning && j.AllShardsDone() {
		return w.Queue.Send(ctx, j.Line(), job.Pointer{Job: j.ID, Unit: job.FinalizeID}, 0)
	}
	if unit.ID == job.PlanID && unit.State == job.UnitDone && j.State == job.StateRunning {
		return wakeShards(ctx, w.Ledger, w.Queue, j)
	}
	return nil
}

// wakeShards sends a pointer for every shard that nobody has begun. One that can't be read keeps no other asleep, and is the
// error.
func wakeShards(ctx context.Context, ledger Ledger, queue Queue, j job.Job) error {
	from, to := job.ShardSpan()
	unread, err := eachReadable(ctx, ledger, j.ID, from, to, func(unit job.Unit) error {
		if unit.State != job.UnitPending || unit.PlanGeneration != j.PlanGeneration {
			return nil
		}
		return queue.Send(ctx, j.Line(), job.Pointer{Job: j.ID, Unit: unit.ID}, 0)
	})
	if err == nil && len(unread) > 0 {
		err = unread[0].Err
	}
	return err
}

// exhausted reports whether a unit has used up a budget, and how that reads.
func exhausted(j job.Job, unit job.Unit, now time.Time) (job.Failure, bool) {
	if unit.Crashes > limits.CrashesMax {
		return job.Failure{Kind: job.Resource, Code: "unit_crashed", Detail: "the worker of unit " + unit.ID +
			" ended without a word too often; look at its function's log for memory or time limits, then ask for the export again"}, true
	}
	if now.Sub(j.CreatedAt) > limits.JobAgeMax && unit.ID != job.CleanID {
		return job.Failure{Kind: job.Resource, Code: "job_too_old", Detail: "the export did not finish within " +
			limits.JobAgeMax.String() + "; look at the lane's backlog, then ask for the export again or for a shorter span"}, true
	}
	return job.Failure{}, false
}

// settle turns the end of an attempt into the unit's next state.
func (w Worker) settle(ctx context.Context, held *Held, claimed job.Unit, err error) error {
	w.Log.InfoContext(ctx, "attempt ended", "job", claimed.Job, "unit", claimed.ID, "generation", claimed.Generation,
		"tenant", claimed.Tenant, "kind", string(job.KindOf(err)), "rows", held.Unit().Progress.Rows-claimed.Progress.Rows,
		"parts", held.Unit().Progress.PartCount-claimed.Progress.PartCount)
	if err == nil {
		return nil
	}
	// The attempt's own context may be over; what is left to say is short.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.SettleTime)
	defer cancel()
	unit := held.Unit()
	progressed := held.progressed(claimed)
	now := w.Ledger.Now()
	switch kind := job.KindOf(err); {
	case errors.Is(err, errLeaseUnproven) || kind == job.Fenced:
		// Somebody else has it or will find it; every further word of this attempt would be refused.
		return nil
	case errors.Is(err, errHandOver) && progressed, kind == job.Cancelled && !errors.Is(err, errHandOver):
		if refused := w.Ledger.Apply(ctx, unit.Release(now)); refused != nil {
			return unlessFenced(refused, err)
		}
		return w.wake(ctx, unit, 0)
	case kind == job.Permanent || kind == job.Invalid || kind == job.NotFound:
		return w.giveUp(ctx, held, failureOf(err), job.PlaceOf(err))
	default:
		return w.retry(ctx, held, err)
	}
}

// retry gives the unit back with a delay, or gives up when it has failed often enough.
func (w Worker) retry(ctx context.Context, held *Held, err error) error {
	unit, failure := held.Unit(), failureOf(err)
	if errors.Is(err, errHandOver) {
		failure = noProgress(unit)
	}
	if unit.Faults+1 >= limits.FaultsMax {
		return w.giveUp(ctx, held, failure, job.PlaceOf(err))
	}
	delay := w.backoff(unit.Faults)
	now := w.Ledger.Now()
	w.Log.WarnContext(ctx, "unit will be retried", "job", unit.Job, "unit", unit.ID, "generation", unit.Generation,
		"kind", string(failure.Kind), "code", failure.Code, "faults", unit.Faults+1, "delay_ms", delay.Milliseconds(), "error", err.Error())
	if refused := w.Ledger.Apply(ctx, unit.Retry(failure, now, now.Add(delay))); refused != nil {
		return unlessFenced(refused, err)
	}
	return w.wake(ctx, unit, delay)
}

// backoff is exponential with full jitter and a cap (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture
// Blog, 2015), at least a second so that the queue's delay can hold it.
func (w Worker) backoff(faults int64) time.Duration {
	most := limits.BackoffBase
	for range faults {
		most = min(2*most, limits.BackoffMax)
	}
	return time.Second + w.Jitter(most)
}

// giveUp ends the unit and with it the job; a clean unit has no job left to end and waits for a person. The log also says
// where, when that is known: the failure is what an asker may read.
func (w Worker) giveUp(ctx context.Context, held *Held, failure job.Failure, where string) error {
	unit := held.Unit()
	now := w.Ledger.Now()
	w.Log.ErrorContext(ctx, "unit failed", "job", unit.Job, "unit", unit.ID, "generation", unit.Generation,
		"kind", string(failure.Kind), "code", failure.Code, "where", where)
	if unit.ID == job.CleanID {
		return ignoreFenced(w.Ledger.Apply(ctx, unit.GiveUp(failure, now)))
	}
	for range limits.ConflictTries {
		j, err := readJob(ctx, w.Ledger, unit.Job)
		if err != nil {
			return err
		}
		change, err := j.FailUnit(unit, failure, job.Act{Actor: job.System, Reason: failure.Code, Now: now})
		if err != nil {
			return ignoreFenced(err)
		}
		err = w.Ledger.Apply(ctx, change)
		if err == nil || job.KindOf(err) != job.Fenced {
			return err
		}
		// The job's version moved, or the unit is no longer ours: the next read tells.
		fresh, err := readUnit(ctx, w.Ledger, unit.Job, unit.ID)
		if err != nil {
			return err
		}
		if fresh.Generation != unit.Generation || fresh.State != job.UnitLeased {
			return nil
		}
	}
	return job.Errorf(job.Transient, "ledger_contended", "job %s moves too fast to be failed; the message comes again", unit.Job)
}

// wake sends the unit's own pointer after a delay. A clean unit has no queue: the due index is its alarm clock.
func (w Worker) wake(ctx context.Context, unit job.Unit, delay time.Duration) error {
	if unit.ID == job.CleanID {
		return nil
	}
	return w.Queue.Send(ctx, unit.Line(), job.Pointer{Job: unit.Job, Unit: unit.ID}, max(delay, 0))
}

// failureOf is what is kept of an error, for askers and operators: its detail and none of its causes.
func failureOf(err error) job.Failure {
	failure := job.Failure{Kind: job.KindOf(err), Code: job.CodeOf(err)}
	var e *job.Error
	if errors.As(err, &e) {
		failure.Detail = e.Detail
	}
	return failure
}

// noProgress is the fault of an attempt that used up its function's time for nothing.
func noProgress(unit job.Unit) job.Failure {
	failure := job.Failure{Kind: job.Resource, Code: "no_progress",
		Detail: "an attempt used up its function's time without finishing one step; the store is too slow, or the function's time too short"}
	if isShard(unit.ID) {
		failure.Detail = "an attempt used up its function's time without finishing one part; the source is too slow for this definition's batches"
	}
	return failure
}

// unlessFenced is the error of an attempt that can't give its unit back. Refused means that the unit is somebody else's,
// or that this very attempt has ended it and failed to send the next pointer: the message has to come again, so that
// whoever takes it sees which.
func unlessFenced(refused, cause error) error {
	if job.KindOf(refused) == job.Fenced {
		return cause
	}
	return refused
}

func ignoreFenced(err error) error {
	if job.KindOf(err) == job.Fenced {
		return nil
	}
	return err
}
