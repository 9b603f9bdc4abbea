package events

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// Options is what an Engine takes from its surroundings. Deliver is required; a
// zero field gets the default named beside it.
type Options struct {
	service.Options
	// Deliver hands an event, as JSON, to the target with that ARN. A nil error
	// means the target has it for good. It may be called several times at once,
	// and again with the same event after an error.
	Deliver func(ctx context.Context, targetARN, event string) error
}

// Engine is the default event bus kept in one directory. It is safe for
// concurrent use. Events are delivered while Run runs.
type Engine struct {
	opt  Options
	db   *bolt.DB
	json *service.JSON
	done chan struct{}
	// wake makes Run look again: an event was accepted, or a delivery ended.
	wake chan struct{}

	mu      sync.Mutex
	closed  bool
	rules   map[string]*rule
	waiting deliveryHeap // not running, next to deliver first
	running int
}

// rule is one rule in memory.
type rule struct {
	record  ruleRecord
	pattern *pattern
}

// The file has one bucket for each kind of record.
const (
	bucketRule     = "rule"     // name → ruleRecord
	bucketDelivery = "delivery" // number → deliveryRecord
)

type ruleRecord struct {
	Name        string   `json:"name"`
	Pattern     string   `json:"pattern"`
	State       string   `json:"state"`
	Description string   `json:"description,omitempty"`
	RoleARN     string   `json:"role_arn,omitempty"`
	Targets     []target `json:"targets,omitempty"`
}

// Open reads the rules and undelivered events in dir, making the directory and
// the file when absent. It fails when another process has them open.
func Open(dir string, opt Options) (*Engine, error) {
	if opt.Deliver == nil {
		return nil, errors.New("events: open: Options.Deliver is missing; give the function that hands an event to a target")
	}
	opt.Options = opt.WithDefaults()
	e := &Engine{opt: opt, done: make(chan struct{}), wake: make(chan struct{}, 1), rules: map[string]*rule{}}
	e.json = e.protocol()
	db, err := service.Open(dir, "events", []string{bucketRule, bucketDelivery}, e.load)
	if err != nil {
		return nil, err
	}
	e.db = db
	return e, nil
}

// Close ends Run and closes the file. Repeating it does nothing. A delivery that
// is still running then is made again after the next start.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	close(e.done)
	if err := e.db.Close(); err != nil {
		return fmt.Errorf("events: close: %w", err)
	}
	return nil
}

func (e *Engine) load(tx *bolt.Tx) error {
	if err := service.Each(tx, bucketRule, func(_ []byte, record ruleRecord) error {
		p, err := parsePattern(record.Pattern)
		if err != nil {
			return fmt.Errorf("rule %s: %w", record.Name, err)
		}
		e.rules[record.Name] = &rule{record: record, pattern: p}
		return nil
	}); err != nil {
		return err
	}
	return service.Each(tx, bucketDelivery, func(_ []byte, record deliveryRecord) error {
		heap.Push(&e.waiting, record)
		return nil
	})
}

func (e *Engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
