package events

import (
	"container/heap"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Options is what an Engine takes from its surroundings. Deliver is required; a
// zero field gets the default named beside it.
type Options struct {
	// Deliver hands an event, as JSON, to the target with that ARN. A nil error
	// means the target has it for good. It may be called several times at once,
	// and again with the same event after an error.
	Deliver func(ctx context.Context, targetARN, event string) error
	// Region is part of ARNs and events; default us-east-1.
	Region string
	// AccountID is part of ARNs and events; default 000000000000.
	AccountID string
	// Now is the clock; default time.Now.
	Now func() time.Time
	// NewID makes request and event ids; default random UUIDs.
	NewID func() string
	// Logger gets what no caller is told; default discards.
	Logger *slog.Logger
}

// Engine is the default event bus kept in one directory. It is safe for
// concurrent use. Events are delivered while Run runs.
type Engine struct {
	opt  Options
	db   *bolt.DB
	ops  map[string]operation
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
	e := &Engine{
		opt: withDefaults(opt), done: make(chan struct{}), wake: make(chan struct{}, 1),
		rules: map[string]*rule{},
	}
	e.ops = e.operations()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("events: make directory %s: %w", dir, err)
	}
	path := filepath.Join(dir, "events.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout: 2 * time.Second, NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
	})
	if err != nil {
		return nil, fmt.Errorf("events: open %s: %w (is another process using this data directory? stop it, or choose another directory)", path, err)
	}
	e.db = db
	if err := e.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("events: read %s: %w", path, err), db.Close())
	}
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

func (e *Engine) load() error {
	return e.db.Update(func(tx *bolt.Tx) error {
		for _, bucket := range []string{bucketRule, bucketDelivery} {
			if _, err := tx.CreateBucketIfNotExists([]byte(bucket)); err != nil {
				return fmt.Errorf("make bucket %s: %w", bucket, err)
			}
		}
		if err := each(tx, bucketRule, func(record ruleRecord) error {
			p, err := parsePattern(record.Pattern)
			if err != nil {
				return fmt.Errorf("rule %s: %w", record.Name, err)
			}
			e.rules[record.Name] = &rule{record: record, pattern: p}
			return nil
		}); err != nil {
			return err
		}
		return each(tx, bucketDelivery, func(record deliveryRecord) error {
			heap.Push(&e.waiting, record)
			return nil
		})
	})
}

func each[T any](tx *bolt.Tx, bucket string, visit func(value T) error) error {
	return tx.Bucket([]byte(bucket)).ForEach(func(key, text []byte) error {
		var value T
		if err := json.Unmarshal(text, &value); err != nil {
			return fmt.Errorf("decode %s record %q: %w", bucket, key, err)
		}
		return visit(value)
	})
}

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

func numberKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func (e *Engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func withDefaults(opt Options) Options {
	if opt.Region == "" {
		opt.Region = "us-east-1"
	}
	if opt.AccountID == "" {
		opt.AccountID = "000000000000"
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.NewID == nil {
		opt.NewID = newUUID
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	return opt
}

// newUUID is a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	// crypto/rand.Read never returns an error.
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
