// Package sim owns in-memory fakes of the pipeline's ports for tests: a ledger, a store, a queue and a seal that share one
// virtual clock, inject faults on either side of every call, and police what the pipeline does with them. A fake passes
// the same conformance suite as its adapter, and then refuses to overlook: an illegal transition, a stale write that
// lands, a second artifact, a counter below zero are recorded as violations. Everything is deterministic.
//
// Its own tests play whole exports in virtual time (life_test.go), one decision at a time: every single fault of an
// undisturbed life (single_test.go), and random ones by the thousand (weather_test.go, search_test.go). Start reading at
// World for the fakes, at life for the tests; the rules are in police.go and bytes.go. It imports job, limits, checksum
// and the pipeline's ports, and only tests import it.
package sim

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sealift/shared/job"
)

// World is one simulated cloud. It is safe for concurrent use; every call is atomic.
type World struct {
	Clock  *Clock
	Ledger *Ledger
	Store  *Store
	Queue  *Queue
	Seal   *Seal

	faults func(Call) Fault
	gate   Gate
	whole  bool

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
	// Gate, when there is one, is asked instead of Faults.
	Gate Gate
	// Now is the world's time; nil is a Clock that starts at Start and moves only when it is told to.
	Now func() time.Time
	// Whole says that the ledger and the store are of one system, so that what the ledger says of bytes is checked
	// against them.
	Whole bool
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
	w := &World{Clock: &Clock{now: opt.Start.UTC(), live: opt.Now}, faults: opt.Faults, gate: opt.Gate, whole: opt.Whole}
	w.Ledger = newLedger(w)
	w.Store = newStore(w, opt)
	w.Queue = &Queue{world: w, mail: &mail{}}
	w.Seal = newSeal(w)
	return w
}

// Ports are one caller's view of a world.
type Ports struct {
	Ledger *Ledger
	Store  *Store
	Queue  *Queue
	Seal   *Seal
}

// Caller is one process that calls the world.
type Caller struct {
	// Name is what its calls carry, so that a hook can stop it for good.
	Name string
	// Lag is how far its estimate of the ledger's time is behind, once the ledger has answered it.
	Lag time.Duration
	// Off is how wrong its own clock is, which is all that it has before the first answer.
	Off time.Duration
}

// Actor is the same world for one caller with good clocks.
func (w *World) Actor(name string) Ports { return w.Caller(Caller{Name: name}) }

// Caller is the same world for one caller.
func (w *World) Caller(c Caller) Ports {
	ledger, store, queue, seal := *w.Ledger, *w.Store, *w.Queue, *w.Seal
	ledger.actor, store.actor, queue.actor, seal.actor = c.Name, c.Name, c.Name, c.Name
	ledger.lag, ledger.off, ledger.answered, ledger.halt = c.Lag, c.Off, new(atomic.Bool), new(atomic.Pointer[halt])
	return Ports{Ledger: &ledger, Store: &store, Queue: &queue, Seal: &seal}
}

// Touch is a call of the source by a caller. The source itself is the test's; only its faults are the world's.
func (w *World) Touch(ctx context.Context, actor, method, subject string) error {
	return w.read(ctx, Call{Port: PortSource, Method: method, Actor: actor, Subject: subject}, func() error { return nil })
}

// Port says which port a call went to.
type Port string

// The ports.
const (
	PortLedger Port = "ledger"
	PortStore  Port = "store"
	PortQueue  Port = "queue"
	PortSource Port = "source"
	PortSeal   Port = "seal"
)

// Call is one call of a port, as a fault hook sees it.
type Call struct {
	Port   Port
	Method string
	// Actor is who calls: the name given to World.Actor, or nobody.
	Actor string
	// Subject is what the call is about: the change's name, the row's sort key, the object's key, the message's unit. Of
	// is what that is part of, if anything: the row's partition, the message's job.
	Subject string
	Of      string
	// Part is the number of an object's part, 0 for other calls.
	Part int64
	// Number counts the world's calls from 1.
	Number int

	writes bool
}

// Writes reports whether the call has an effect.
func (c Call) Writes() bool { return c.writes }

// String renders the call for the log of a failing seed.
func (c Call) String() string {
	return fmt.Sprintf("%d %s.%s(%s)", c.Number, c.Port, c.Method, c.About())
}

// About is what the call is about, whole.
func (c Call) About() string {
	about := c.Subject
	if c.Of != "" {
		about = c.Of + "|" + about
	}
	if c.Part > 0 {
		about += "#" + strconv.FormatInt(c.Part, 10)
	}
	return about
}

// Fault is what happens to a call; the zero value is nothing.
type Fault struct {
	refuse  job.Kind
	lose    bool
	abandon bool
	seen    *error
}

// Gate holds a caller back until its call may be answered, and decides how. late is what the call does to the world, nil
// for a read: a gate whose caller has given up, or is dead, may let it happen afterwards, as a request that is on its way
// does. late must run at most once and only when the call is not let through.
type Gate func(ctx context.Context, call Call, late func()) Fault

// Abandon is the fault of a caller that gave up waiting: its context has ended.
func Abandon() Fault { return Fault{abandon: true} }

// Seen is the same fault, and writes down what the caller was answered.
func (f Fault) Seen(into *error) Fault {
	f.seen = into
	return f
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

// write makes a call that has an effect. Effects run while the world is locked.
func (w *World) write(ctx context.Context, call Call, effect func() error) error {
	call.writes = true
	locked := func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		return effect()
	}
	fault, err := w.enter(ctx, call, func() { _ = locked() })
	if err == nil {
		err = locked()
	}
	if fault.lose {
		err = job.Errorf(job.Unknown, codeOf(call.Port, job.Unknown), "the simulation loses the answer of %s.%s", call.Port, call.Method)
	}
	if fault.seen != nil {
		*fault.seen = err
	}
	return err
}

// read makes a call without effect.
func (w *World) read(ctx context.Context, call Call, effect func() error) error {
	fault, err := w.enter(ctx, call, nil)
	if err == nil {
		w.mu.Lock()
		err = effect()
		w.mu.Unlock()
	}
	if fault.lose {
		err = job.Errorf(job.Transient, codeOf(call.Port, job.Transient), "the simulation loses the answer of %s.%s", call.Port, call.Method)
	}
	if fault.seen != nil {
		*fault.seen = err
	}
	return err
}

// enter begins a call: it asks the hook and returns the error of a call that never reaches its port.
func (w *World) enter(ctx context.Context, call Call, late func()) (Fault, error) {
	if ctx.Err() != nil {
		return Fault{}, cancelled(call.Port, call.Method, ctx.Err())
	}
	w.mu.Lock()
	w.calls++
	call.Number = w.calls
	w.mu.Unlock()
	var fault Fault
	switch {
	case w.gate != nil:
		fault = w.gate(ctx, call, late)
	case w.faults != nil:
		fault = w.faults(call)
		fault.abandon = ctx.Err() != nil
	default:
		return Fault{}, nil
	}
	if fault.abandon {
		return Fault{seen: fault.seen}, cancelled(call.Port, call.Method, ctx.Err())
	}
	if fault.refuse != "" {
		return fault, job.Errorf(fault.refuse, codeOf(call.Port, fault.refuse), "the simulation refuses %s", call)
	}
	return fault, nil
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

// Clock is the world's time, which moves only when it is told to, unless Options name another one.
type Clock struct {
	live func() time.Time

	mu  sync.Mutex
	now time.Time
}

// Now is the current time.
func (c *Clock) Now() time.Time {
	if c.live != nil {
		return c.live()
	}
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
