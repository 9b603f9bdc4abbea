package sqs

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// The file has one bucket for each kind of record. Messages have two records
// under the same key (queue number, sequence number): the state is rewritten at
// every receive, the content never. Queue numbers are not reused, so that a
// receipt handle of a deleted queue never fits its successor.
const (
	bucketQueue   = "queue"   // queue name → queueRecord
	bucketState   = "state"   // message key → stateRecord
	bucketContent = "content" // message key → contentRecord
	bucketTask    = "task"    // task number → taskRecord
	bucketDeleted = "deleted" // queue name → deletion time, Unix ms
)

type queueRecord struct {
	Number     uint64            `json:"number"`
	Name       string            `json:"name"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	CreatedMS  int64             `json:"created_ms"`
	ModifiedMS int64             `json:"modified_ms"`
	PurgedMS   int64             `json:"purged_ms,omitempty"`
}

type stateRecord struct {
	ID              string `json:"id"`
	Group           string `json:"group,omitempty"`
	Sender          string `json:"sender,omitempty"`
	Source          string `json:"source,omitempty"`
	SentMS          int64  `json:"sent_ms"`
	VisibleMS       int64  `json:"visible_ms"`
	Receives        int    `json:"receives,omitempty"`
	ReceivesBefore  int    `json:"receives_before,omitempty"`
	FirstReceivedMS int64  `json:"first_received_ms,omitempty"`
	ReceivedMS      int64  `json:"received_ms,omitempty"`
}

type contentRecord struct {
	Body       string                      `json:"body"`
	Attributes map[string]messageAttribute `json:"attributes,omitempty"`
	Trace      string                      `json:"trace,omitempty"`
}

func messageKey(queueNumber, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, 16), queueNumber), seq)
}

func putState(tx *bolt.Tx, q *queue, m *message, groupName string) error {
	return service.Put(tx, bucketState, messageKey(q.record.Number, m.seq), stateRecord{
		ID: m.id, Group: groupName, Sender: m.sender, Source: m.source, SentMS: toMS(m.sent), VisibleMS: toMS(m.visibleAt),
		Receives: m.receives, ReceivesBefore: m.receivesBefore, FirstReceivedMS: toMS(m.firstReceived), ReceivedMS: toMS(m.receivedAt),
	})
}

func getContent(tx *bolt.Tx, q *queue, m *message) (contentRecord, error) {
	var content contentRecord
	text := tx.Bucket([]byte(bucketContent)).Get(messageKey(q.record.Number, m.seq))
	if text == nil {
		return content, fmt.Errorf("message %s of queue %s has no content record: the file sqs.db is damaged; remove the data directory to start afresh", m.id, q.record.Name)
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return content, fmt.Errorf("decode content of message %s of queue %s: %w", m.id, q.record.Name, err)
	}
	return content, nil
}

func deleteMessage(tx *bolt.Tx, q *queue, m *message) error {
	key := messageKey(q.record.Number, m.seq)
	for _, bucket := range []string{bucketState, bucketContent} {
		if err := tx.Bucket([]byte(bucket)).Delete(key); err != nil {
			return fmt.Errorf("delete %s record: %w", bucket, err)
		}
	}
	return nil
}

// transfer writes renewed, with the content of old, as a new message of another queue, with a
// new sequence number, and deletes old from the queue it was in.
func transfer(tx *bolt.Tx, from, to *queue, old, renewed *message) error {
	content, err := getContent(tx, from, old)
	if err != nil {
		return err
	}
	if err := deleteMessage(tx, from, old); err != nil {
		return err
	}
	return putMessage(tx, to, renewed, old.group.name, content)
}

// putMessage writes a new message and gives it its sequence number.
func putMessage(tx *bolt.Tx, q *queue, m *message, groupName string, content contentRecord) error {
	seq, err := tx.Bucket([]byte(bucketState)).NextSequence()
	if err != nil {
		return fmt.Errorf("next sequence number: %w", err)
	}
	m.seq = seq
	if err := service.Put(tx, bucketContent, messageKey(q.record.Number, seq), content); err != nil {
		return err
	}
	return putState(tx, q, m, groupName)
}

func deleteAllMessages(tx *bolt.Tx, queueNumber uint64) error {
	for _, bucket := range []string{bucketState, bucketContent} {
		cursor := tx.Bucket([]byte(bucket)).Cursor()
		prefix := binary.BigEndian.AppendUint64(nil, queueNumber)
		for key, _ := cursor.Seek(prefix); len(key) >= len(prefix) && string(key[:len(prefix)]) == string(prefix); key, _ = cursor.Seek(prefix) {
			if err := cursor.Delete(); err != nil {
				return fmt.Errorf("delete %s records: %w", bucket, err)
			}
		}
	}
	return nil
}

// load reads everything but contents into memory.
func (e *Engine) load(tx *bolt.Tx) error {
	now := e.opt.Now()
	byNumber := map[uint64]*queue{}
	if err := service.Each(tx, bucketQueue, func(_ []byte, record queueRecord) error {
		s, err := parseSettings(record.Attributes)
		if err != nil {
			return fmt.Errorf("queue %s: %w", record.Name, err)
		}
		q := newQueue(record, s)
		e.queues[record.Name], byNumber[record.Number] = q, q
		return nil
	}); err != nil {
		return err
	}
	if err := service.Each(tx, bucketState, func(key []byte, record stateRecord) error {
		q := byNumber[binary.BigEndian.Uint64(key)]
		if q == nil {
			return fmt.Errorf("message %s belongs to no queue", record.ID)
		}
		q.insert(record.message(binary.BigEndian.Uint64(key[8:]), now), record.Group)
		return nil
	}); err != nil {
		return err
	}
	if err := service.Each(tx, bucketDeleted, func(key []byte, ms int64) error {
		e.deleted[string(key)] = fromMS(ms)
		return nil
	}); err != nil {
		return err
	}
	return service.Each(tx, bucketTask, func(_ []byte, record taskRecord) error {
		e.tasks = append(e.tasks, &moveTask{record: record})
		return nil
	})
}

// reload brings the memory of one queue back to what the file says, after a
// write that failed half way.
func (e *Engine) reload(q *queue) error {
	now := e.opt.Now()
	q.clear()
	return e.db.View(func(tx *bolt.Tx) error {
		prefix := binary.BigEndian.AppendUint64(nil, q.record.Number)
		cursor := tx.Bucket([]byte(bucketState)).Cursor()
		for key, text := cursor.Seek(prefix); len(key) == 16 && string(key[:8]) == string(prefix); key, text = cursor.Next() {
			var record stateRecord
			if err := json.Unmarshal(text, &record); err != nil {
				return fmt.Errorf("decode state record: %w", err)
			}
			q.insert(record.message(binary.BigEndian.Uint64(key[8:]), now), record.Group)
		}
		return nil
	})
}

func (r stateRecord) message(seq uint64, now time.Time) *message {
	m := &message{
		seq: seq, id: r.ID, sender: r.Sender, source: r.Source, sent: fromMS(r.SentMS), visibleAt: fromMS(r.VisibleMS),
		receives: r.Receives, receivesBefore: r.ReceivesBefore, firstReceived: fromMS(r.FirstReceivedMS), receivedAt: fromMS(r.ReceivedMS),
	}
	switch {
	case !m.visibleAt.After(now):
		m.state = stateVisible
	case r.Receives > r.ReceivesBefore:
		m.state = stateInFlight
	default:
		m.state = stateDelayed
	}
	return m
}

// Times are stored and told in milliseconds; the zero time is 0.
func toMS(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMS(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
