package scheduler

import (
	"container/heap"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
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

func (e *Engine) load(tx *bolt.Tx) error {
	if tx.Bucket([]byte(bucketGroup)).Get([]byte(defaultGroup)) == nil {
		now := e.opt.Now().UnixMilli()
		if err := service.Put(tx, bucketGroup, []byte(defaultGroup), groupRecord{Name: defaultGroup, CreatedMS: now, ModifiedMS: now}); err != nil {
			return err
		}
	}
	if err := service.Each(tx, bucketGroup, func(key []byte, record groupRecord) error {
		e.groups[string(key)] = record
		return nil
	}); err != nil {
		return err
	}
	if err := service.Each(tx, bucketSchedule, func(key []byte, record scheduleRecord) error {
		x, err := parseExpression(record.Definition.ScheduleExpression, record.Definition.ScheduleExpressionTimezone)
		if err != nil {
			return fmt.Errorf("schedule %s: %w", key, err)
		}
		s := &schedule{record: record, expression: x, index: -1}
		e.schedules[string(key)] = s
		e.place(s)
		return nil
	}); err != nil {
		return err
	}
	if err := service.Each(tx, bucketInvocation, func(_ []byte, record invocationRecord) error {
		heap.Push(&e.waiting, record)
		return nil
	}); err != nil {
		return err
	}
	return service.Each(tx, bucketToken, func(key []byte, record tokenRecord) error {
		e.tokens[string(key)] = record
		return nil
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
