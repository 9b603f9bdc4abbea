package scheduler

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// Run fires what is due and delivers it until ctx ends or the engine closes.
// It returns when its deliveries have ended.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var deliveries sync.WaitGroup
	defer deliveries.Wait()
	for {
		sleep, err := e.step(ctx, &deliveries)
		if err != nil {
			e.opt.Logger.ErrorContext(ctx, "scheduler cannot note what it fires, trying again", "error", err)
			sleep = idleMax
		}
		timer := time.NewTimer(sleep)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-e.done:
			timer.Stop()
			cancel()
			return nil
		case <-e.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// step fires due schedules, starts due deliveries, and tells how long nothing
// else will be due.
func (e *Engine) step(ctx context.Context, deliveries *sync.WaitGroup) (time.Duration, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return idleMax, nil
	}
	now := e.opt.Now()
	if err := e.fire(now); err != nil {
		return 0, err
	}
	if err := e.dropTokens(now); err != nil {
		return 0, err
	}
	sleep := idleMax
	if len(e.due) > 0 {
		sleep = min(sleep, fromMS(e.due[0].record.NextMS).Sub(now))
	}
	for e.running < deliveriesMax && len(e.waiting) > 0 {
		if wait := fromMS(e.waiting[0].RetryMS).Sub(now); wait > 0 {
			sleep = min(sleep, wait)
			break
		}
		record := heap.Pop(&e.waiting).(invocationRecord)
		e.running++
		deliveries.Go(func() { e.deliver(ctx, record) })
	}
	return max(sleep, 0), nil
}

// fire turns up to fireBatch due schedules into invocations, in one transaction.
func (e *Engine) fire(now time.Time) error {
	var fired []*schedule
	var records []scheduleRecord
	var invocations []invocationRecord
	for len(e.due) > 0 && len(fired) < fireBatch && !fromMS(e.due[0].record.NextMS).After(now) {
		s := e.due[0]
		heap.Remove(&e.due, s.index)
		record := s.record
		scheduled := record.NextMS
		record.NextMS = toMS(s.expression.next(now, record.Definition.bounds(fromMS(record.ModifiedMS))))
		if s.expression.oneTime() {
			record.NextMS = 0
		}
		record.Complete = record.NextMS == 0
		fired, records = append(fired, s), append(records, record)
		invocations = append(invocations, invocationRecord{
			Group: record.Group, Name: record.Name, Version: record.Version, ExecutionID: e.opt.NewID(), Target: *record.Definition.Target,
			ScheduledMS: scheduled, FiredMS: toMS(now), Final: record.Complete,
		})
	}
	if len(fired) == 0 {
		return nil
	}
	err := e.db.Update(func(tx *bolt.Tx) error {
		for n := range invocations {
			number, err := tx.Bucket([]byte(bucketInvocation)).NextSequence()
			if err != nil {
				return fmt.Errorf("next invocation number: %w", err)
			}
			invocations[n].Number = number
			if err := service.Put(tx, bucketInvocation, service.NumberKey(number), invocations[n]); err != nil {
				return err
			}
			if err := service.Put(tx, bucketSchedule, []byte(records[n].key()), records[n]); err != nil {
				return err
			}
		}
		return nil
	})
	for n, s := range fired {
		if err == nil {
			s.record = records[n]
			heap.Push(&e.waiting, invocations[n])
		}
		e.place(s)
	}
	if err != nil {
		return fmt.Errorf("fire %d schedules: %w", len(fired), err)
	}
	return nil
}

// deliver makes one attempt at a delivery and notes how it went.
func (e *Engine) deliver(ctx context.Context, record invocationRecord) {
	arn := record.Target.Arn
	if record.Buried {
		arn = record.Target.DeadLetterConfig.Arn
	}
	record.Attempts++
	err := e.opt.Deliver(ctx, arn, e.input(record))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	if e.closed || err != nil && ctx.Err() != nil {
		// The attempt was cut off, not refused: it is made again, after the next start at the latest.
		record.Attempts--
		heap.Push(&e.waiting, record)
		return
	}
	defer e.nudge()
	if err == nil {
		e.settle(ctx, record)
		return
	}
	e.postpone(ctx, record, err)
}

// settle removes a delivered invocation, and its schedule when that was the
// last one and it wants to be deleted.
func (e *Engine) settle(ctx context.Context, record invocationRecord) {
	s := e.schedules[scheduleKey(record.Group, record.Name)]
	gone := record.Final && s != nil && s.record.Version == record.Version && s.record.Definition.ActionAfterCompletion == "DELETE"
	err := e.db.Update(func(tx *bolt.Tx) error {
		if gone {
			if err := service.Delete(tx, bucketSchedule, []byte(s.record.key())); err != nil {
				return err
			}
		}
		return service.Delete(tx, bucketInvocation, service.NumberKey(record.Number))
	})
	if err != nil {
		record.RetryMS = toMS(e.opt.Now().Add(retryPauseMin))
		heap.Push(&e.waiting, record)
		e.opt.Logger.ErrorContext(ctx, "scheduler cannot note a delivery and will repeat it", "schedule", record.Name, "group", record.Group, "error", err)
		return
	}
	if gone {
		e.forget(s)
	}
}

// postpone decides what happens after a failed attempt: another one later, the
// dead-letter queue, or the end.
func (e *Engine) postpone(ctx context.Context, record invocationRecord, cause error) {
	now := e.opt.Now()
	policy := record.Target.RetryPolicy
	usedUp := record.Attempts > *policy.MaximumRetryAttempts ||
		now.Sub(fromMS(record.FiredMS)) >= time.Duration(*policy.MaximumEventAgeInSeconds)*time.Second
	attributes := []any{"schedule", record.Name, "group", record.Group, "target", record.Target.Arn, "attempts", record.Attempts, "error", cause}
	switch {
	case usedUp && !record.Buried && record.Target.DeadLetterConfig == nil:
		e.opt.Logger.ErrorContext(ctx, "scheduler gives up a delivery: its retry policy is used up and its target has no dead-letter queue", attributes...)
		e.settle(ctx, record)
		return
	case usedUp && !record.Buried:
		record.Buried, record.RetryMS = true, toMS(now)
		e.opt.Logger.WarnContext(ctx, "scheduler sends a delivery to its dead-letter queue", attributes...)
	default:
		pause := min(retryPauseMax, retryPauseMin<<min(record.Attempts-1, 10))
		record.RetryMS = toMS(now.Add(pause))
		e.opt.Logger.WarnContext(ctx, "scheduler will repeat a delivery", append(attributes, "pause", pause)...)
	}
	heap.Push(&e.waiting, record)
	err := e.db.Update(func(tx *bolt.Tx) error {
		return service.Put(tx, bucketInvocation, service.NumberKey(record.Number), record)
	})
	if err != nil {
		// Memory goes on with the new plan; after a restart the old one is repeated.
		e.opt.Logger.ErrorContext(ctx, "scheduler cannot note a failed delivery", "schedule", record.Name, "error", err)
	}
}

// input is what the target gets: the schedule's own input with the context
// attributes filled in, or the notification that the service makes up.
func (e *Engine) input(record invocationRecord) string {
	arn := e.scheduleARN(record.Group, record.Name)
	at := fromMS(record.ScheduledMS).UTC().Format(time.RFC3339)
	if record.Target.Input != nil {
		return strings.NewReplacer(
			"<aws.scheduler.schedule-arn>", arn, "<aws.scheduler.scheduled-time>", at, "<aws.scheduler.execution-id>", record.ExecutionID,
			"<aws.scheduler.attempt-number>", strconv.Itoa(max(record.Attempts, 1)),
		).Replace(*record.Target.Input)
	}
	// Marshalling strings never fails.
	text, _ := json.Marshal(struct {
		Version    string   `json:"version"`
		ID         string   `json:"id"`
		DetailType string   `json:"detail-type"`
		Source     string   `json:"source"`
		Account    string   `json:"account"`
		Time       string   `json:"time"`
		Region     string   `json:"region"`
		Resources  []string `json:"resources"`
		Detail     string   `json:"detail"`
	}{"0", record.ExecutionID, "Scheduled Event", "aws.scheduler", e.opt.AccountID, at, e.opt.Region, []string{arn}, "{}"})
	return string(text)
}

// dropTokens looks now and then for client tokens older than tokenMemory, and
// forgets a bounded number of them.
func (e *Engine) dropTokens(now time.Time) error {
	if now.Sub(e.swept) < sweepInterval {
		return nil
	}
	horizon := toMS(now.Add(-tokenMemory))
	var old []string
	for key, token := range e.tokens {
		if token.AtMS < horizon && len(old) < sweepBatch {
			old = append(old, key)
		}
	}
	if len(old) < sweepBatch {
		e.swept = now
	}
	if len(old) == 0 {
		return nil
	}
	err := e.db.Update(func(tx *bolt.Tx) error {
		var faults []error
		for _, key := range old {
			faults = append(faults, service.Delete(tx, bucketToken, []byte(key)))
		}
		return errors.Join(faults...)
	})
	if err != nil {
		return fmt.Errorf("forget client tokens: %w", err)
	}
	for _, key := range old {
		delete(e.tokens, key)
	}
	return nil
}

// invocationHeap orders firings by the time of their next attempt, then by age.
type invocationHeap []invocationRecord

func (h invocationHeap) Len() int { return len(h) }
func (h invocationHeap) Less(i, j int) bool {
	if h[i].RetryMS != h[j].RetryMS {
		return h[i].RetryMS < h[j].RetryMS
	}
	return h[i].Number < h[j].Number
}
func (h invocationHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *invocationHeap) Push(x any)   { *h = append(*h, x.(invocationRecord)) }
func (h *invocationHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = invocationRecord{}
	*h = old[:len(old)-1]
	return last
}
