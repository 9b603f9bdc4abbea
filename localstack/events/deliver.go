package events

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// deliveryRecord is one event on its way to one target.
type deliveryRecord struct {
	Number     uint64 `json:"number"`
	Rule       string `json:"rule"`
	EventID    string `json:"event_id"`
	Target     target `json:"target"`
	Input      string `json:"input"`
	AcceptedMS int64  `json:"accepted_ms"`
	RetryMS    int64  `json:"retry_ms"`
	Attempts   int    `json:"attempts,omitempty"`
	Buried     bool   `json:"buried,omitempty"` // retries are used up: only the dead-letter queue is left
}

// Run delivers accepted events until ctx ends or the engine closes. It returns
// when its deliveries have ended.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var deliveries sync.WaitGroup
	defer deliveries.Wait()
	for {
		timer := time.NewTimer(e.step(ctx, &deliveries))
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

// step starts the deliveries that are due, oldest first, and tells how long no
// other will be.
func (e *Engine) step(ctx context.Context, deliveries *sync.WaitGroup) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	sleep := idleMax
	if e.closed {
		return sleep
	}
	now := e.opt.Now()
	for e.running < deliveriesMax && len(e.waiting) > 0 {
		if wait := time.UnixMilli(e.waiting[0].RetryMS).Sub(now); wait > 0 {
			return min(sleep, wait)
		}
		record := heap.Pop(&e.waiting).(deliveryRecord)
		e.running++
		deliveries.Go(func() { e.deliver(ctx, record) })
	}
	return sleep
}

// deliver makes one attempt and notes how it went.
func (e *Engine) deliver(ctx context.Context, record deliveryRecord) {
	arn := record.Target.Arn
	if record.Buried {
		arn = record.Target.DeadLetterConfig.Arn
	}
	err := e.opt.Deliver(ctx, arn, record.Input)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	if e.closed || err != nil && ctx.Err() != nil {
		// The attempt was cut off, not refused: it is made again, after the next start at the latest.
		heap.Push(&e.waiting, record)
		return
	}
	defer e.nudge()
	record.Attempts++
	if err == nil {
		e.settle(ctx, record)
		return
	}
	e.postpone(ctx, record, err)
}

// settle forgets a delivery that has ended.
func (e *Engine) settle(ctx context.Context, record deliveryRecord) {
	err := e.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketDelivery)).Delete(service.NumberKey(record.Number))
	})
	if err != nil {
		record.RetryMS = e.opt.Now().Add(retryPauseMin).UnixMilli()
		heap.Push(&e.waiting, record)
		e.opt.Logger.ErrorContext(ctx, "event bus cannot note a delivery and will repeat it", "rule", record.Rule, "event", record.EventID, "error", err)
	}
}

// postpone decides what happens after a failed attempt: another one later, the
// dead-letter queue, or the end.
func (e *Engine) postpone(ctx context.Context, record deliveryRecord, cause error) {
	now := e.opt.Now()
	retries, age := record.Target.maximum()
	usedUp := record.Attempts > retries || now.Sub(time.UnixMilli(record.AcceptedMS)) >= age
	attributes := []any{"rule", record.Rule, "event", record.EventID, "target", record.Target.Arn, "attempts", record.Attempts, "error", cause}
	switch {
	case usedUp && !record.Buried && record.Target.DeadLetterConfig == nil:
		e.opt.Logger.ErrorContext(ctx, "event bus gives up a delivery: its retry policy is used up and its target has no dead-letter queue", attributes...)
		e.settle(ctx, record)
		return
	case usedUp && !record.Buried:
		record.Buried, record.RetryMS = true, now.UnixMilli()
		e.opt.Logger.WarnContext(ctx, "event bus sends a delivery to its dead-letter queue", attributes...)
	default:
		pause := min(retryPauseMax, retryPauseMin<<min(record.Attempts-1, 10))
		record.RetryMS = now.Add(pause).UnixMilli()
		e.opt.Logger.WarnContext(ctx, "event bus will repeat a delivery", append(attributes, "pause", pause)...)
	}
	heap.Push(&e.waiting, record)
	err := e.db.Update(func(tx *bolt.Tx) error {
		return service.Put(tx, bucketDelivery, service.NumberKey(record.Number), record)
	})
	if err != nil {
		// Memory goes on with the new plan; after a restart the old one is repeated.
		e.opt.Logger.ErrorContext(ctx, "event bus cannot note a failed delivery", "rule", record.Rule, "error", fmt.Errorf("write delivery: %w", err))
	}
}

// deliveryHeap orders deliveries by the time of their next attempt, then by age.
type deliveryHeap []deliveryRecord

func (h deliveryHeap) Len() int { return len(h) }
func (h deliveryHeap) Less(i, j int) bool {
	if h[i].RetryMS != h[j].RetryMS {
		return h[i].RetryMS < h[j].RetryMS
	}
	return h[i].Number < h[j].Number
}
func (h deliveryHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *deliveryHeap) Push(x any)   { *h = append(*h, x.(deliveryRecord)) }
func (h *deliveryHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = deliveryRecord{}
	*h = old[:len(old)-1]
	return last
}
