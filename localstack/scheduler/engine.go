package scheduler

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
	_ "time/tzdata" // Schedules name IANA zones; the machine may not have them.

	bolt "go.etcd.io/bbolt"

	"sealift/localstack/service"
)

// Options is what an Engine takes from its surroundings. Deliver is required; a
// zero field gets the default named beside it.
type Options struct {
	service.Options
	// Deliver hands input to the target with that ARN. A nil error means the
	// target has it for good. It may be called several times at once, and again
	// with the same input after an error.
	Deliver func(ctx context.Context, targetARN, input string) error
}

// Engine is the set of schedules kept in one directory. It is safe for
// concurrent use. Schedules fire while Run runs.
type Engine struct {
	opt  Options
	db   *bolt.DB
	mux  *http.ServeMux
	done chan struct{}
	// wake makes Run look again: something became due earlier, or a delivery ended.
	wake chan struct{}

	mu        sync.Mutex
	closed    bool
	groups    map[string]groupRecord
	schedules map[string]*schedule // by group/name
	due       dueHeap              // schedules that will fire
	waiting   invocationHeap       // firings not being delivered, next to deliver first
	running   int
	tokens    map[string]tokenRecord
	swept     time.Time // when old tokens were last looked for
}

// schedule is one schedule in memory.
type schedule struct {
	record     scheduleRecord
	expression *expression
	index      int // in Engine.due, or -1
}

// Open reads the schedules in dir, making the directory and the file when
// absent. It fails when another process has them open.
func Open(dir string, opt Options) (*Engine, error) {
	if opt.Deliver == nil {
		return nil, errors.New("scheduler: open: Options.Deliver is missing; give the function that hands an input to a target")
	}
	opt.Options = opt.WithDefaults()
	e := &Engine{
		opt: opt, done: make(chan struct{}), wake: make(chan struct{}, 1), groups: map[string]groupRecord{},
		schedules: map[string]*schedule{}, tokens: map[string]tokenRecord{},
	}
	e.mux = e.routes()
	db, err := service.Open(dir, "scheduler", []string{bucketGroup, bucketSchedule, bucketInvocation, bucketToken}, e.load)
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
		return fmt.Errorf("scheduler: close: %w", err)
	}
	return nil
}

func (e *Engine) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// place puts a schedule where its record says: into the heap of those to fire, or out of it.
func (e *Engine) place(s *schedule) {
	switch waits := s.record.NextMS != 0; {
	case waits && s.index >= 0:
		heap.Fix(&e.due, s.index)
	case waits:
		heap.Push(&e.due, s)
	case s.index >= 0:
		heap.Remove(&e.due, s.index)
	}
}

func (e *Engine) forget(s *schedule) {
	if s.index >= 0 {
		heap.Remove(&e.due, s.index)
	}
	delete(e.schedules, s.record.key())
}

// dueHeap orders schedules by the time they fire next.
type dueHeap []*schedule

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].record.NextMS < h[j].record.NextMS }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *dueHeap) Push(x any) {
	s := x.(*schedule)
	s.index = len(*h)
	*h = append(*h, s)
}
func (h *dueHeap) Pop() any {
	old := *h
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	s.index = -1
	return s
}
