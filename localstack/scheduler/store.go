package scheduler

import (
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The file has one bucket for each kind of record.
const (
	bucketGroup      = "group"      // name → groupRecord
	bucketSchedule   = "schedule"   // group/name → scheduleRecord
	bucketInvocation = "invocation" // number → invocationRecord
	bucketToken      = "token"      // operation and client token → tokenRecord
)

type groupRecord struct {
	Name       string            `json:"name"`
	Tags       map[string]string `json:"tags,omitempty"`
	CreatedMS  int64             `json:"created_ms"`
	ModifiedMS int64             `json:"modified_ms"`
}

type scheduleRecord struct {
	Group      string     `json:"group"`
	Name       string     `json:"name"`
	Version    string     `json:"version"` // new at every creation and update
	Definition definition `json:"definition"`
	CreatedMS  int64      `json:"created_ms"`
	ModifiedMS int64      `json:"modified_ms"`
	NextMS     int64      `json:"next_ms,omitempty"` // 0 when disabled or complete
	Complete   bool       `json:"complete,omitempty"`
}

func (r *scheduleRecord) key() string { return scheduleKey(r.Group, r.Name) }

func scheduleKey(group, name string) string { return group + "/" + name }

// invocationRecord is one firing that has not been delivered.
type invocationRecord struct {
	Number      uint64 `json:"number"`
	Group       string `json:"group"`
	Name        string `json:"name"`
	Version     string `json:"version"`
	ExecutionID string `json:"execution_id"`
	Target      target `json:"target"`
	ScheduledMS int64  `json:"scheduled_ms"`
	FiredMS     int64  `json:"fired_ms"`
	RetryMS     int64  `json:"retry_ms"`
	Attempts    int    `json:"attempts,omitempty"`
	Buried      bool   `json:"buried,omitempty"` // retries are used up: only the dead-letter queue is left
	Final       bool   `json:"final,omitempty"`  // the schedule's last firing
}

type tokenRecord struct {
	Digest string `json:"digest"`
	AtMS   int64  `json:"at_ms"`
}

func numberKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func putJSON(tx *bolt.Tx, bucket string, key []byte, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s record: %w", bucket, err)
	}
	if err := tx.Bucket([]byte(bucket)).Put(key, text); err != nil {
		return fmt.Errorf("write %s record: %w", bucket, err)
	}
	return nil
}

func deleteKey(tx *bolt.Tx, bucket string, key []byte) error {
	if err := tx.Bucket([]byte(bucket)).Delete(key); err != nil {
		return fmt.Errorf("delete %s record: %w", bucket, err)
	}
	return nil
}

func each[T any](tx *bolt.Tx, bucket string, visit func(key string, value T) error) error {
	return tx.Bucket([]byte(bucket)).ForEach(func(key, text []byte) error {
		var value T
		if err := json.Unmarshal(text, &value); err != nil {
			return fmt.Errorf("decode %s record %q: %w", bucket, key, err)
		}
		return visit(string(key), value)
	})
}

func (e *Engine) load() error {
	now := e.opt.Now().UnixMilli()
	return e.db.Update(func(tx *bolt.Tx) error {
		for _, bucket := range []string{bucketGroup, bucketSchedule, bucketInvocation, bucketToken} {
			if _, err := tx.CreateBucketIfNotExists([]byte(bucket)); err != nil {
				return fmt.Errorf("make bucket %s: %w", bucket, err)
			}
		}
		if tx.Bucket([]byte(bucketGroup)).Get([]byte(defaultGroup)) == nil {
			if err := putJSON(tx, bucketGroup, []byte(defaultGroup), groupRecord{Name: defaultGroup, CreatedMS: now, ModifiedMS: now}); err != nil {
				return err
			}
		}
		if err := each(tx, bucketGroup, func(key string, record groupRecord) error {
			e.groups[key] = record
			return nil
		}); err != nil {
			return err
		}
		if err := each(tx, bucketSchedule, func(key string, record scheduleRecord) error {
			x, err := parseExpression(record.Definition.ScheduleExpression, record.Definition.ScheduleExpressionTimezone)
			if err != nil {
				return fmt.Errorf("schedule %s: %w", key, err)
			}
			s := &schedule{record: record, expression: x, index: -1}
			e.schedules[key] = s
			e.place(s)
			return nil
		}); err != nil {
			return err
		}
		if err := each(tx, bucketInvocation, func(_ string, record invocationRecord) error {
			heap.Push(&e.waiting, record)
			return nil
		}); err != nil {
			return err
		}
		return each(tx, bucketToken, func(key string, record tokenRecord) error {
			e.tokens[key] = record
			return nil
		})
	})
}

// Times are stored in milliseconds and told in seconds; the zero time is 0.
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

func seconds(ms int64) float64 { return float64(ms) / 1000 }
