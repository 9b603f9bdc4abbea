package sqs

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// receipt names one receive of one message. Only the latest receive's receipt
// has any effect.
type receipt struct {
	queue, seq uint64
	receive    int
}

const receiptMark = "sqs1"

func (r receipt) String() string {
	b := []byte(receiptMark)
	b = binary.BigEndian.AppendUint64(b, r.queue)
	b = binary.BigEndian.AppendUint64(b, r.seq)
	b = binary.BigEndian.AppendUint32(b, uint32(r.receive))
	return base64.StdEncoding.EncodeToString(b)
}

func parseReceipt(handle string, q *queue) (receipt, error) {
	if handle == "" {
		return receipt{}, missingParameter("ReceiptHandle")
	}
	b, err := base64.StdEncoding.DecodeString(handle)
	if err != nil || len(b) != len(receiptMark)+20 || string(b[:len(receiptMark)]) != receiptMark {
		return receipt{}, invalidReceipt("it was not made by this endpoint")
	}
	b = b[len(receiptMark):]
	r := receipt{queue: binary.BigEndian.Uint64(b), seq: binary.BigEndian.Uint64(b[8:]), receive: int(binary.BigEndian.Uint32(b[16:]))}
	if r.queue != q.record.Number {
		return receipt{}, invalidReceipt("it belongs to another queue")
	}
	return r, nil
}

type deleteEntry struct {
	Id            string //nolint:revive // The protocol's own spelling.
	ReceiptHandle string
}

type deleteMessageInput struct {
	deleteEntry
	QueueUrl string //nolint:revive // The protocol's own spelling.
}

// deleteMessage also succeeds, and does nothing, for a message that is gone and
// for the receipt of an earlier receive: that is what SQS promises.
func (e *Engine) deleteMessage(_ context.Context, _ call, in *deleteMessageInput) (*empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	r, err := parseReceipt(in.ReceiptHandle, q)
	if err != nil {
		return nil, err
	}
	return &empty{}, e.erase(q, []receipt{r})
}

type deleteMessageBatchInput struct {
	QueueUrl string //nolint:revive // The protocol's own spelling.
	Entries  []deleteEntry
}

type batchSuccess struct {
	Id string //nolint:revive // The protocol's own spelling.
}

type batchFailure struct {
	Id          string //nolint:revive // The protocol's own spelling.
	SenderFault bool
	Code        string
	Message     string
}

type batchOutput struct {
	Successful []batchSuccess
	Failed     []batchFailure
}

func (e *Engine) deleteMessageBatch(_ context.Context, _ call, in *deleteMessageBatchInput) (*batchOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if err := checkBatch(in.Entries, func(entry *deleteEntry) string { return entry.Id }); err != nil {
		return nil, err
	}
	out := &batchOutput{Successful: []batchSuccess{}, Failed: []batchFailure{}}
	var receipts []receipt
	for _, entry := range in.Entries {
		r, err := parseReceipt(entry.ReceiptHandle, q)
		if err != nil {
			out.Failed = append(out.Failed, failedEntry(entry.Id, err))
			continue
		}
		receipts = append(receipts, r)
		out.Successful = append(out.Successful, batchSuccess{Id: entry.Id})
	}
	if err := e.erase(q, receipts); err != nil {
		return nil, err
	}
	return out, nil
}

func (e *Engine) erase(q *queue, receipts []receipt) error {
	var found []*message
	for _, r := range receipts {
		if m := q.messages[r.seq]; m != nil && m.receives == r.receive && !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil
	}
	err := e.db.Update(func(tx *bolt.Tx) error {
		for _, m := range found {
			if err := deleteMessage(tx, q, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete from queue %s: %w", q.record.Name, err)
	}
	for _, m := range found {
		q.remove(m)
	}
	return nil
}

type visibilityEntry struct {
	Id                string //nolint:revive // The protocol's own spelling.
	ReceiptHandle     string
	VisibilityTimeout *int
}

type changeVisibilityInput struct {
	visibilityEntry
	QueueUrl string //nolint:revive // The protocol's own spelling.
}

func (e *Engine) changeMessageVisibility(_ context.Context, _ call, in *changeVisibilityInput) (*empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return &empty{}, e.setVisibility(q, in.visibilityEntry)
}

type changeVisibilityBatchInput struct {
	QueueUrl string //nolint:revive // The protocol's own spelling.
	Entries  []visibilityEntry
}

func (e *Engine) changeMessageVisibilityBatch(_ context.Context, _ call, in *changeVisibilityBatchInput) (*batchOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if err := checkBatch(in.Entries, func(entry *visibilityEntry) string { return entry.Id }); err != nil {
		return nil, err
	}
	out := &batchOutput{Successful: []batchSuccess{}, Failed: []batchFailure{}}
	for _, entry := range in.Entries {
		if err := e.setVisibility(q, entry); err != nil {
			out.Failed = append(out.Failed, failedEntry(entry.Id, err))
			continue
		}
		out.Successful = append(out.Successful, batchSuccess{Id: entry.Id})
	}
	return out, nil
}

// setVisibility restarts the visibility timeout of an in-flight message.
func (e *Engine) setVisibility(q *queue, entry visibilityEntry) error {
	r, err := parseReceipt(entry.ReceiptHandle, q)
	if err != nil {
		return err
	}
	if entry.VisibilityTimeout == nil {
		return missingParameter("VisibilityTimeout")
	}
	seconds := *entry.VisibilityTimeout
	if seconds < 0 || seconds > int(visibilityMax/time.Second) {
		return invalidValue("VisibilityTimeout", seconds, "Must be between 0 and %d.", int(visibilityMax/time.Second))
	}
	now := e.opt.Now().Truncate(time.Millisecond)
	q.promote(now)
	m := q.messages[r.seq]
	if m == nil || m.receives != r.receive {
		return invalidValue("ReceiptHandle", entry.ReceiptHandle, "Message does not exist or is not available for visibility timeout change: it was deleted, or received again since.")
	}
	if m.state != stateInFlight {
		return refuse("MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight",
			"The message referred to isn't in flight: its visibility timeout is over. Receive it again.")
	}
	until := now.Add(time.Duration(seconds) * time.Second)
	if until.Sub(m.receivedAt) > visibilityMax {
		return invalidValue("VisibilityTimeout", seconds, "Total VisibilityTimeout for the message is beyond the limit [%d seconds].", int(visibilityMax/time.Second))
	}
	changed := *m
	changed.visibleAt = until
	err = e.db.Update(func(tx *bolt.Tx) error { return putState(tx, q, &changed, m.group.name) })
	if err != nil {
		return fmt.Errorf("change visibility in queue %s: %w", q.record.Name, err)
	}
	to := stateInFlight
	if seconds == 0 {
		to = stateVisible
	}
	q.move(m, to, until)
	return nil
}

func checkBatch[T any](entries []T, id func(*T) string) error {
	if len(entries) == 0 {
		return refuse("EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", "There should be at least one entry in the request.")
	}
	if len(entries) > batchEntriesMax {
		return refuse("TooManyEntriesInBatchRequest", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are %d. You have sent %d.", batchEntriesMax, len(entries))
	}
	seen := map[string]bool{}
	for i := range entries {
		name := id(&entries[i])
		if name == "" || len(name) > batchIDCharsMax || strings.ContainsFunc(name, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
		}) {
			return refuse("InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId",
				"A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most %d letters long. Got %q.", batchIDCharsMax, name)
		}
		if seen[name] {
			return refuse("BatchEntryIdsNotDistinct", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id %s repeated. Give every entry its own id.", name)
		}
		seen[name] = true
	}
	return nil
}

func failedEntry(id string, err error) batchFailure {
	answer, _ := asAPIError(err)
	var caller *apiError
	return batchFailure{Id: id, SenderFault: errors.As(err, &caller), Code: answer.query, Message: answer.text}
}
