package sqs

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// taskStatus is where a move task stands.
type taskStatus string

const (
	taskRunning   taskStatus = "RUNNING"
	taskCompleted taskStatus = "COMPLETED"
	taskFailed    taskStatus = "FAILED"
)

type taskRecord struct {
	Number      uint64     `json:"number"`
	ID          string     `json:"id"`
	Source      string     `json:"source"`
	Destination string     `json:"destination,omitempty"`
	RatePerS    int        `json:"rate_per_s,omitempty"`
	Status      taskStatus `json:"status"`
	Failure     string     `json:"failure,omitempty"`
	StartedMS   int64      `json:"started_ms"`
	ToMove      int        `json:"to_move"`
	Moved       int        `json:"moved"`
	// LastSeq is the newest message at the start; what arrives later is not moved.
	LastSeq uint64 `json:"last_seq"`
}

type moveTask struct{ record taskRecord }

type startMoveTaskInput struct {
	SourceArn                    string //nolint:revive // The protocol's own spelling.
	DestinationArn               string //nolint:revive // The protocol's own spelling.
	MaxNumberOfMessagesPerSecond *int
}

type startMoveTaskOutput struct {
	TaskHandle string
}

func (e *Engine) startMessageMoveTask(_ context.Context, _ call, in *startMoveTaskInput) (*startMoveTaskOutput, error) {
	rate := 0
	if in.MaxNumberOfMessagesPerSecond != nil {
		if rate = *in.MaxNumberOfMessagesPerSecond; rate < 1 || rate > moveRateMax {
			return nil, invalidValue("MaxNumberOfMessagesPerSecond", rate, "Must be between 1 and %d.", moveRateMax)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	source, err := e.moveSource(in.SourceArn)
	if err != nil {
		return nil, err
	}
	if in.DestinationArn != "" {
		switch e.byARN(in.DestinationArn) {
		case nil:
			return nil, e.noTaskQueue(in.DestinationArn)
		case source:
			return nil, invalidValue("DestinationArn", in.DestinationArn, "Source and destination queue are the same.")
		}
	}
	for _, t := range e.tasks {
		if t.record.Source == in.SourceArn && t.record.Status == taskRunning {
			return nil, refuse("UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation",
				"There is already a task running on %s. Only one active task is allowed for a source queue; wait until ListMessageMoveTasks shows it completed.", in.SourceArn)
		}
	}
	now := e.opt.Now()
	source.promote(now)
	t := &moveTask{record: taskRecord{
		ID: e.opt.NewID(), Source: in.SourceArn, Destination: in.DestinationArn, RatePerS: rate, Status: taskRunning, StartedMS: toMS(now),
		ToMove: len(source.messages) - source.delayed - source.inFlight,
	}}
	dropped := e.finishedTasks(in.SourceArn, moveTasksKept-1)
	err = e.db.Update(func(tx *bolt.Tx) error {
		t.record.LastSeq = tx.Bucket([]byte(bucketState)).Sequence()
		if t.record.Number, err = tx.Bucket([]byte(bucketTask)).NextSequence(); err != nil {
			return fmt.Errorf("next task number: %w", err)
		}
		for _, old := range dropped {
			if err := tx.Bucket([]byte(bucketTask)).Delete(taskKey(old.record.Number)); err != nil {
				return fmt.Errorf("delete task record: %w", err)
			}
		}
		return service.Put(tx, bucketTask, taskKey(t.record.Number), t.record)
	})
	if err != nil {
		return nil, fmt.Errorf("start move task on %s: %w", in.SourceArn, err)
	}
	e.tasks = append(slices.DeleteFunc(e.tasks, func(old *moveTask) bool { return slices.Contains(dropped, old) }), t)
	select {
	case e.busy <- struct{}{}:
	default:
	}
	return &startMoveTaskOutput{TaskHandle: t.handle()}, nil
}

// moveSource is the queue with that ARN, if it is a dead-letter queue.
func (e *Engine) moveSource(arn string) (*queue, error) {
	if e.closed {
		return nil, closedError()
	}
	if arn == "" {
		return nil, missingParameter("SourceArn")
	}
	source := e.byARN(arn)
	if source == nil {
		return nil, e.noTaskQueue(arn)
	}
	if len(e.sourcesOf(source)) == 0 {
		return nil, invalidValue("SourceArn", arn, "Source queue must be configured as a Dead Letter Queue: no queue's RedrivePolicy names it.")
	}
	return source, nil
}

func (e *Engine) noTaskQueue(arn string) error {
	answer := refuse("ResourceNotFoundException", "ResourceNotFoundException",
		"The resource that you specified doesn't exist: no queue has the ARN %q in account %s, region %s. Correct it.", arn, e.opt.AccountID, e.opt.Region)
	answer.status = 404
	return answer
}

// finishedTasks are the finished tasks of a source beyond the newest keep.
func (e *Engine) finishedTasks(source string, keep int) []*moveTask {
	var finished []*moveTask
	for _, t := range e.tasks {
		if t.record.Source == source && t.record.Status != taskRunning {
			finished = append(finished, t)
		}
	}
	return finished[:max(0, len(finished)-keep)]
}

func taskKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func (t *moveTask) handle() string {
	// Marshalling two strings never fails.
	text, _ := json.Marshal(map[string]string{"taskId": t.record.ID, "sourceArn": t.record.Source})
	return base64.StdEncoding.EncodeToString(text)
}

type listMoveTasksInput struct {
	SourceArn  string //nolint:revive // The protocol's own spelling.
	MaxResults *int
}

type listMoveTasksOutput struct {
	Results []moveTaskEntry
}

type moveTaskEntry struct {
	TaskHandle                        string `json:",omitempty"`
	Status                            taskStatus
	SourceArn                         string //nolint:revive // The protocol's own spelling.
	DestinationArn                    string `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	MaxNumberOfMessagesPerSecond      int    `json:",omitempty"`
	ApproximateNumberOfMessagesMoved  int
	ApproximateNumberOfMessagesToMove int
	FailureReason                     string `json:",omitempty"`
	StartedTimestamp                  int64
}

func (e *Engine) listMessageMoveTasks(_ context.Context, _ call, in *listMoveTasksInput) (*listMoveTasksOutput, error) {
	limit := 1
	if in.MaxResults != nil {
		if limit = *in.MaxResults; limit < 1 || limit > moveTasksListedMax {
			return nil, invalidValue("MaxResults", limit, "Must be between 1 and %d.", moveTasksListedMax)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, closedError()
	}
	if e.byARN(in.SourceArn) == nil {
		return nil, e.noTaskQueue(in.SourceArn)
	}
	out := &listMoveTasksOutput{Results: []moveTaskEntry{}}
	for i := len(e.tasks) - 1; i >= 0 && len(out.Results) < limit; i-- {
		r := e.tasks[i].record
		if r.Source != in.SourceArn {
			continue
		}
		entry := moveTaskEntry{
			Status: r.Status, SourceArn: r.Source, DestinationArn: r.Destination, MaxNumberOfMessagesPerSecond: r.RatePerS,
			ApproximateNumberOfMessagesMoved: r.Moved, ApproximateNumberOfMessagesToMove: r.ToMove, FailureReason: r.Failure, StartedTimestamp: r.StartedMS,
		}
		if r.Status == taskRunning {
			entry.TaskHandle = e.tasks[i].handle()
		}
		out.Results = append(out.Results, entry)
	}
	return out, nil
}

// stepMoveTasks moves one batch of every running task and tells whether any
// could go on at once.
func (e *Engine) stepMoveTasks(now time.Time) (bool, error) {
	more := false
	var faults []error
	for _, t := range e.tasks {
		if t.record.Status != taskRunning {
			continue
		}
		again, err := e.stepMoveTask(t, now)
		faults = append(faults, err)
		more = more || again
	}
	return more, errors.Join(faults...)
}

func (e *Engine) stepMoveTask(t *moveTask, now time.Time) (bool, error) {
	budget := moveBatch
	if t.record.RatePerS > 0 {
		allowed := int(now.Sub(fromMS(t.record.StartedMS)).Seconds()*float64(t.record.RatePerS)) + 1
		if budget = min(budget, allowed-t.record.Moved); budget <= 0 {
			return false, nil
		}
	}
	record := t.record
	type moved struct {
		old, renewed *message
		to           *queue
	}
	var batch []moved
	source := e.byARN(record.Source)
	if source == nil {
		record.Status, record.Failure = taskFailed, "AWS.SimpleQueueService.NonExistentQueue"
		return false, e.saveTask(t, record, nil)
	}
	source.promote(now)
	for _, m := range source.oldestVisible(budget, record.LastSeq) {
		to, failure := e.moveTarget(record, m)
		if to == nil {
			record.Status, record.Failure = taskFailed, failure
			break
		}
		sent := now.Truncate(time.Millisecond)
		batch = append(batch, moved{old: m, to: to, renewed: &message{id: e.opt.NewID(), sender: m.sender, sent: sent, visibleAt: sent}})
	}
	record.Moved += len(batch)
	if record.Status == taskRunning && len(batch) < budget {
		record.Status = taskCompleted
	}
	err := e.saveTask(t, record, func(tx *bolt.Tx) error {
		for _, b := range batch {
			if err := transfer(tx, source, b.to, b.old, b.renewed); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, b := range batch {
		name := b.old.group.name
		source.remove(b.old)
		b.to.insert(b.renewed, name)
	}
	return record.Status == taskRunning && record.RatePerS == 0, nil
}

func (e *Engine) saveTask(t *moveTask, record taskRecord, also func(*bolt.Tx) error) error {
	err := e.db.Update(func(tx *bolt.Tx) error {
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		return service.Put(tx, bucketTask, taskKey(record.Number), record)
	})
	if err != nil {
		return fmt.Errorf("move task on %s: %w", record.Source, err)
	}
	t.record = record
	return nil
}

// moveTarget is the queue a message goes to, or why there is none.
func (e *Engine) moveTarget(r taskRecord, m *message) (*queue, string) {
	arn := r.Destination
	if arn == "" {
		arn = m.source
	}
	if arn == "" {
		return nil, "CouldNotDetermineMessageSource"
	}
	to := e.byARN(arn)
	if to == nil {
		return nil, "AWS.SimpleQueueService.NonExistentQueue"
	}
	return to, ""
}

// oldestVisible is up to n visible messages that were there at lastSeq, the group
// first whose oldest has been visible longest.
func (q *queue) oldestVisible(n int, lastSeq uint64) []*message {
	var found []*message
	for _, g := range slices.SortedFunc(slices.Values(q.ready), func(a, b *group) int { return cmp.Compare(a.turn(), b.turn()) }) {
		for at := g.visible.Front(); at != nil && len(found) < n; at = at.Next() {
			if m := at.Value.(*message); m.seq <= lastSeq {
				found = append(found, m)
			}
		}
	}
	return found
}
