package sqs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// Options is what an Engine takes from its surroundings. A zero field gets the
// default named beside it.
type Options struct {
	service.Options
	// Caller names the sender of a request, the SenderId of its messages;
	// default is the account.
	Caller func(*http.Request) string
}

// Engine is the set of queues kept in one directory. It is safe for concurrent
// use. Close it once; its long polls end then.
type Engine struct {
	opt  Options
	db   *bolt.DB
	ops  map[string]operation
	done chan struct{}
	// busy wakes Run when a move task was started.
	busy chan struct{}

	mu      sync.Mutex
	closed  bool
	queues  map[string]*queue
	deleted map[string]time.Time
	tasks   []*moveTask
}

// Open reads the queues in dir, making the directory and the file when absent.
// It fails when another process has them open.
func Open(dir string, opt Options) (*Engine, error) {
	opt.Options = opt.WithDefaults()
	if opt.Caller == nil {
		opt.Caller = func(*http.Request) string { return opt.AccountID }
	}
	e := &Engine{
		opt: opt, done: make(chan struct{}), busy: make(chan struct{}, 1),
		queues: map[string]*queue{}, deleted: map[string]time.Time{},
	}
	e.ops = e.operations()
	db, err := service.Open(dir, "sqs", []string{bucketQueue, bucketState, bucketContent, bucketTask, bucketDeleted}, e.load)
	if err != nil {
		return nil, err
	}
	e.db = db
	return e, nil
}

// Close ends all long polls and closes the file. Repeating it does nothing.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	close(e.done)
	if err := e.db.Close(); err != nil {
		return fmt.Errorf("sqs: close: %w", err)
	}
	return nil
}

// Run removes messages past their retention and carries out move tasks until
// ctx ends or the engine closes. Everything else works without it.
func (e *Engine) Run(ctx context.Context) error {
	tick := time.NewTicker(runInterval)
	defer tick.Stop()
	for {
		more, err := e.runOnce()
		if err != nil {
			e.opt.Logger.ErrorContext(ctx, "sqs background work failed, trying again", "error", err)
			more = false
		}
		if more {
			select {
			case <-ctx.Done():
				return nil
			case <-e.done:
				return nil
			default:
				continue
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-e.done:
			return nil
		case <-e.busy:
		case <-tick.C:
		}
	}
}

// runOnce does one bounded step of background work and tells whether more is due.
func (e *Engine) runOnce() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false, nil
	}
	now := e.opt.Now()
	var faults []error
	more := false
	for _, q := range e.queues {
		n, err := e.expire(q, now)
		faults = append(faults, err)
		more = more || n == expireBatch
	}
	moved, err := e.stepMoveTasks(now)
	faults = append(faults, err)
	return more || moved, errors.Join(faults...)
}

// Send puts body as a message into the queue with the given ARN, on behalf of
// the account itself. It is how services inside the embedded cloud deliver; a
// nil error means the message will survive the process.
func (e *Engine) Send(_ context.Context, queueARN, body string) error {
	name, ours := strings.CutPrefix(queueARN, e.arn(""))
	if !ours {
		return fmt.Errorf("sqs: send to %s: not a queue of account %s in region %s; correct the target ARN", queueARN, e.opt.AccountID, e.opt.Region)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.find(name)
	if err != nil {
		return fmt.Errorf("sqs: send to %s: %w", queueARN, err)
	}
	m, err := q.draft(&sendEntry{MessageBody: &body}, e.opt.AccountID)
	if err != nil {
		return fmt.Errorf("sqs: send to %s: %w", queueARN, err)
	}
	if err := e.add(q, []*draft{m}); err != nil {
		return fmt.Errorf("sqs: send to %s: %w", queueARN, err)
	}
	return nil
}

// find returns the open queue of that name; e.mu must be held.
func (e *Engine) find(name string) (*queue, error) {
	if e.closed {
		return nil, closedError()
	}
	q := e.queues[name]
	if q == nil {
		return nil, e.noQueue(name)
	}
	return q, nil
}

// locate returns the queue that a queue URL names; e.mu must be held.
func (e *Engine) locate(queueURL string) (*queue, error) {
	if queueURL == "" {
		return nil, missingParameter("QueueUrl")
	}
	path := queueURL
	if _, after, found := strings.Cut(queueURL, "://"); found {
		_, path, _ = strings.Cut(after, "/")
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	name := parts[len(parts)-1]
	if len(parts) != 2 || parts[0] != e.opt.AccountID {
		if e.closed {
			return nil, closedError()
		}
		return nil, refuse("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue",
			"The specified queue does not exist: %q is not a queue URL of this endpoint. It has the form http://<endpoint>/%s/<queue name>; GetQueueUrl returns it.", queueURL, e.opt.AccountID)
	}
	return e.find(name)
}

func (e *Engine) arn(name string) string {
	return "arn:aws:sqs:" + e.opt.Region + ":" + e.opt.AccountID + ":" + name
}

func (e *Engine) url(c call, name string) string {
	return "http://" + c.host + "/" + e.opt.AccountID + "/" + name
}
