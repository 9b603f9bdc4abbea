// Package sim owns in-memory fakes of the pipeline's ports for tests: a ledger, a store and a queue that share one
// virtual clock, inject faults on either side of every call, and police what the pipeline does with them. A fake passes
// the same conformance suite as its adapter, and then refuses to overlook: an illegal transition, a stale write that
// lands, a second artifact, a counter below zero are recorded as violations. Everything is deterministic. Start reading
// at World; the rules are in police.go. It imports job, limits, checksum and the pipeline's ports, and only tests
// import it.
package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sealift/shared/job"
)

// World is one simulated cloud. It is safe for concurrent use; every call is atomic.
type World struct {
	Clock  *Clock
	Ledger *Ledger
	Store  *Store
	Queue  *Queue

	faults func(Call) Fault

	// mu guards everything below and all state of the ledger, the store and the queue.
	mu         sync.Mutex
	calls      int
	violations []string
	dropped    int
}

// Options shape a World; the zero value is a faultless one that starts in 2026.
type Options struct {
	Start time.Time
	// Faults decides what happens to each call. It runs before the call and outside every lock, so a scheduler may
	// hold a caller back by blocking in it, advance the clock or make calls of its own.
	Faults func(Call) Fault
	// PartBytesMin is the least size of a part that isn't the last; 0 means the real store's.
	PartBytesMin int64
	// CredentialsEnd is when the credentials that sign links end; zero is never.
	CredentialsEnd time.Time
}

// New makes an empty world.
func New(opt Options) *World {
	if opt.Start.IsZero() {
		opt.Start = time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	}
	w := &World{Clock: &Clock{now: opt.Start.UTC()}, faults: opt.Faults}
	w.Ledger = newLedger(w)
	w.Store = newStore(w, opt)
	w.Queue = &Queue{world: w, mail: &mail{}}
	return w
}

// Ports are one caller's view of a world.
type Ports struct {
	Ledger *Ledger
	Store  *Store
	Queue  *Queue
}

// Actor is the same world for one caller whose calls carry its name, so that a fault hook can stop it for good.
func (w *World) Actor(name string) Ports {
	ledger, store, queue := *w.Ledger, *w.Store, *w.Queue
	ledger.actor, store.actor, queue.actor = name, name, name
	return Ports{Ledger: &ledger, Store: &store, Queue: &queue}
}

// Port says which port a call went to.
type Port string

// The ports.
const (
	PortLedger Port = "ledger"
	PortStore  Port = "store"
	PortQueue  Port = "queue"
)

// Call is one call of a port, as a fault hook sees it.
type Call struct {
	Port   Port
	Method string
	// Actor is who calls: the name given to World.Actor, or nobody.
	Actor string
	// Subject is what the call is about: the change's name, the row's key, the object's key, the message's pointer.
	Subject string
	// Number counts the world's calls from 1.
	Number int
}

// String renders the call for the log of a failing seed.
func (c Call) String() string {
	return fmt.Sprintf("%d %s.%s(%s)", c.Number, c.Port, c.Method, c.Subject)
}

// Fault is what happens to a call; the zero value is nothing.
type Fault struct {
	refuse job.Kind
	lose   bool
}

// Refuse makes a call fail with the kind; nothing happens. With Unknown it is a request that got lost on its way.
func Refuse(kind job.Kind) Fault { return Fault{refuse: kind} }

// Throttle makes a call fail with Overload; nothing happens.
func Throttle() Fault { return Fault{refuse: job.Overload} }

// LoseAnswer makes a write happen and its caller see Unknown. A read fails with Transient.
func LoseAnswer() Fault { return Fault{lose: true} }

// Violations are the rules that were broken so far, in order.
func (w *World) Violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := append([]string(nil), w.violations...)
	if w.dropped > 0 {
		texts = append(texts, fmt.Sprintf("%d further violations", w.dropped))
	}
	return texts
}

// Calls is how many calls were made so far.
func (w *World) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// violationsMax bounds what a broken run remembers.
const violationsMax = 100

// violate records a broken rule. The world is locked.
func (w *World) violate(format string, args ...any) {
	if len(w.violations) >= violationsMax {
		w.dropped++
		return
	}
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// enter begins a call: it asks the fault hook and returns the error of a call that never reaches its port.
func (w *World) enter(ctx context.Context, actor string, port Port, method, subject string) (Fault, error) {
	if ctx.Err() != nil {
		return Fault{}, cancelled(port, method, ctx.Err())
	}
	w.mu.Lock()
	w.calls++
	call := Call{Port: port, Method: method, Actor: actor, Subject: subject, Number: w.calls}
	w.mu.Unlock()
	if w.faults == nil {
		return Fault{}, nil
	}
	fault := w.faults(call)
	if ctx.Err() != nil {
		return Fault{}, cancelled(port, method, ctx.Err())
	}
	if fault.refuse != "" {
		return Fault{}, job.Errorf(fault.refuse, codeOf(port, fault.refuse), "the simulation refuses %s", call)
	}
	return fault, nil
}

// written ends a call that has had its effect, read one that has none.
func (f Fault) written(port Port, method string) error {
	if !f.lose {
		return nil
	}
	return job.Errorf(job.Unknown, codeOf(port, job.Unknown), "the simulation loses the answer of %s.%s", port, method)
}

func (f Fault) read(port Port, method string) error {
	if !f.lose {
		return nil
	}
	return job.Errorf(job.Transient, codeOf(port, job.Transient), "the simulation loses the answer of %s.%s", port, method)
}

func cancelled(port Port, method string, cause error) error {
	return job.Errorf(job.Cancelled, string(port)+"_cancelled", "%s.%s was stopped by its caller: %w", port, method, cause)
}

func codeOf(port Port, kind job.Kind) string {
	switch kind {
	case job.Overload:
		return string(port) + "_busy"
	case job.Unknown:
		return string(port) + "_unknown"
	case job.Transient:
		return string(port) + "_unavailable"
	case job.Permanent, job.Invalid, job.NotFound, job.Resource, job.Cancelled, job.Fenced, job.Limited:
		return string(port) + "_refused"
	}
	return string(port) + "_refused"
}

// Clock is the world's time, which moves only when it is told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the current time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the time forward; a negative step is none.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(by, 0))
}
