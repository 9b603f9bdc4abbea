package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
	"sealift/shared/sim"
)

// life is one simulated life of one job. It is played inside a bubble of virtual time: every call that an actor makes
// waits in a gate, and this one goroutine decides which of them is answered next, how, and when time passes. Between two
// decisions only what the last one woke runs, so that a seed always gives the same life.
type life struct {
	world  *sim.World
	shape  shape
	who    policy.Principal
	random *rand.Rand
	// chooses says that messages, calls and what is sent late are taken in random order and not in the first one.
	chooses bool
	// disturb decides what happens to one call; it is asked once, when the call is chosen.
	disturb func(p *parked) deed
	// delay is how long what was sent by somebody who waits no longer is under way; nil is no time.
	delay func() time.Duration
	// pace is how long each call of a worker takes.
	pace time.Duration
	// sweeps says that the sweeper's timer runs.
	sweeps bool
	// open says that no call waits: somebody is alone and undisturbed.
	open atomic.Bool

	// mu guards what the actors' goroutines change.
	mu     sync.Mutex
	parked []*parked
	actors map[string]*actor
	bell   chan struct{}
	// spare and grants are memory for calls to come.
	spare  []parked
	grants []chan sim.Fault

	// at is the time, which stands still between two decisions.
	at     time.Time
	late   []*parked
	active []*actor
	born   int
	// lists hold what may happen next, to be used again.
	lists struct {
		able, arrived []*parked
		ready         []sim.Message
		finished      []*actor
	}
	// id is the job, once a client has been told.
	id      string
	began   time.Time
	answers int
	swept   time.Time
	trace   trace
	broken  []string
	tally   tally
	said    said
	// rewritten are the rows that this release can't read, until when.
	rewritten map[job.RowKey]time.Time
	// cancels counts the cancels that were asked for, ended says that the delivery was made to end, troubles counts
	// those of the weather.
	cancels  int
	ended    bool
	troubles int
	// replaced says that the source is another one now, annotated that the job's row has a field of a later release.
	replaced, annotated bool
}

// said is what people were told.
type said struct {
	cancelled, tooLate bool
	links              int
}

// simStart is when every life begins.
func simStart() time.Time { return time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC) }

// newLife begins a life; it must be called inside a bubble.
func newLife(s shape, seed uint64) *life {
	l := &life{
		shape: s, random: rand.New(rand.NewPCG(seed, 0x5ea11f7)), actors: map[string]*actor{}, rewritten: map[job.RowKey]time.Time{}, bell: make(chan struct{}, 1),
		who:     policy.Principal{Tenant: "acme", Subject: "ana", Roles: []string{policy.RoleOperator}},
		disturb: func(*parked) deed { return letItBe }, sweeps: true,
	}
	zero := time.Now()
	l.began = zero
	start := simStart()
	l.at = start
	l.world = sim.New(sim.Options{
		Start: start, Gate: l.gate, Whole: true, PartBytesMin: simPartBytesMin,
		Now: func() time.Time { return start.Add(time.Since(zero)) },
	})
	l.world.Ledger.Adopt(s.applied)
	return l
}

// applied is a ledger in which the definition is applied, as every life finds it.
func applied() *sim.Ledger {
	world := sim.New(sim.Options{Start: simStart()})
	who := policy.Principal{Tenant: "acme", Subject: "ana", Roles: []string{policy.RoleOperator}}
	if _, err := (pipeline.Operator{Ledger: world.Ledger}).Apply(context.Background(), who, "orders", []byte(contract)); err != nil {
		panic(err) // the definition is a constant
	}
	return world.Ledger
}

func (l *life) now() time.Time { return l.at }

func (l *life) breaks(format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf(format, args...))
}

// parked is a call that waits in the gate.
type parked struct {
	actor *actor
	call  sim.Call
	// late makes the call happen after all; nil for a read.
	late  func()
	grant chan sim.Fault
	// until is the earliest time of an answer.
	until time.Time
	// gone says that its caller has stopped waiting.
	gone bool
	// asked says that its disturbance has been chosen.
	asked bool
}

// gate is where every call waits.
func (l *life) gate(ctx context.Context, call sim.Call, late func()) sim.Fault {
	if l.open.Load() {
		return sim.Fault{}
	}
	l.mu.Lock()
	a := l.actors[call.Actor]
	if a == nil || a.dead {
		l.mu.Unlock()
		if a == nil {
			return sim.Fault{} // the test itself looks at the world
		}
		return sim.Refuse(job.Unknown)
	}
	p := l.park(a, call, late)
	l.watch(a, &p.call)
	l.mu.Unlock()
	l.ring()
	select {
	case fault := <-p.grant:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.grants = append(l.grants, p.grant)
		return fault
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		p.gone = true
		return sim.Abandon()
	}
}

// park puts a call where it waits. The life is locked.
func (l *life) park(a *actor, call sim.Call, late func()) *parked {
	const block = 64
	if len(l.spare) == 0 {
		l.spare = make([]parked, block)
	}
	p := &l.spare[0]
	l.spare = l.spare[1:]
	p.actor, p.call, p.late = a, call, late
	if last := len(l.grants) - 1; last >= 0 {
		p.grant, l.grants = l.grants[last], l.grants[:last]
	} else {
		p.grant = make(chan sim.Fault, 1)
	}
	if a.pace > 0 {
		p.until = l.world.Clock.Now().Add(a.pace)
	}
	l.parked = append(l.parked, p)
	return p
}

// watch holds what a caller must have made sure of before it calls: no worker writes to the store unless its lease can
// be proven, and none goes on reading for a job that has ended. The life is locked.
func (l *life) watch(a *actor, call *sim.Call) {
	if a.doing.on.Unit == "" || a.doing.on.Unit == job.PlanID {
		return
	}
	switch {
	case call.Port == sim.PortStore && call.Writes():
		row := l.world.Ledger.Peek(job.UnitKey(a.doing.on.Job, a.doing.on.Unit))
		owner, _ := row["owner"].(string)
		until, _ := row["lease_until_ms"].(int64)
		if !strings.HasPrefix(owner, a.name+".") || until <= l.world.Clock.Now().UnixMilli() {
			l.breaks("%s writes to the store and can't prove its lease: %s", a.name, call)
		}
		if state := l.world.Ledger.Peek(job.UnitKey(a.doing.on.Job, job.CleanID))["state"]; state == string(job.UnitDone) {
			l.breaks("%s writes to the store after the clean-up of its job: %s", a.name, call)
		}
	case call.Port == sim.PortSource && call.Method == "Read":
		state, _ := l.world.Ledger.Peek(job.JobKey(a.doing.on.Job))["state"].(string)
		if !job.State(state).Terminal() {
			return
		}
		if a.blind++; a.blind > 1 {
			l.breaks("%s reads on though the job is %s", a.name, state)
		}
	}
}

func (l *life) ring() {
	select {
	case l.bell <- struct{}{}:
	default:
	}
}

// rest waits until everybody waits, and takes note of who has finished or run out of time. Either may wake others.
func (l *life) rest() {
	for woken := true; woken; {
		synctest.Wait()
		l.at = l.world.Clock.Now()
		l.downgrade()
		woken = l.reap()
		for _, a := range l.active {
			if !a.dead && !a.deadline.IsZero() && !l.now().Before(a.deadline) {
				l.note(a.name, "is ended at its time limit")
				l.tally.events[timeLimit]++
				l.kill(a)
				woken = true
			}
		}
	}
	l.sort()
}

// sort brings the waiting calls into an order that does not depend on which goroutine was first, and sets aside those
// whose callers are gone.
func (l *life) sort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	inOrder(l.parked)
	kept := l.parked[:0]
	for _, p := range l.parked {
		switch {
		case !p.gone:
			kept = append(kept, p)
		case p.late != nil:
			l.send(p)
		}
	}
	clear(l.parked[len(kept):])
	l.parked = kept
}

// send makes a call one that is under way though nobody waits for it.
func (l *life) send(p *parked) {
	p.until = time.Time{}
	if l.delay != nil {
		p.until = l.now().Add(l.delay())
	}
	l.late = append(l.late, p)
}

// arrived are the calls under way that may happen now.
func (l *life) arrived() []*parked {
	arrived := l.lists.arrived[:0]
	for _, p := range l.late {
		if !p.until.After(l.at) {
			arrived = append(arrived, p)
		}
	}
	l.lists.arrived = arrived
	return arrived
}

// able are the calls that may be answered now.
func (l *life) able() []*parked {
	able := l.lists.able[:0]
	for _, p := range l.parked {
		if !p.until.After(l.at) && !p.actor.until.After(l.at) {
			able = append(able, p)
		}
	}
	l.lists.able = able
	return able
}

// ready are the messages that may be delivered now.
func (l *life) ready() []sim.Message {
	l.lists.ready = l.world.Queue.AppendReady(l.lists.ready[:0])
	return l.lists.ready
}

// sleep lets time pass until the next thing can happen, or until somebody calls.
func (l *life) sleep() {
	next, ok := l.next()
	if !ok {
		l.breaks("nothing can happen any more")
		return
	}
	l.pass(next.Sub(l.now()))
}

func (l *life) pass(by time.Duration) {
	select {
	case <-l.bell:
	default:
	}
	timer := time.NewTimer(max(by, 0))
	defer timer.Stop()
	select {
	case <-l.bell:
	case <-timer.C:
	}
	l.at = l.world.Clock.Now()
}

// next is when something can happen.
func (l *life) next() (at time.Time, ok bool) {
	sooner := func(other time.Time) {
		if !ok || other.Before(at) {
			at, ok = other, true
		}
	}
	if due, any := l.world.Queue.Next(); any {
		sooner(due)
	}
	for _, p := range l.late {
		sooner(p.until)
	}
	for _, until := range l.rewritten {
		sooner(until)
	}
	for _, p := range l.parked {
		if until := later(p.until, p.actor.until); !until.IsZero() {
			sooner(until)
		}
	}
	for _, a := range l.active {
		if !a.deadline.IsZero() {
			sooner(a.deadline)
		}
	}
	if due, any := l.sweepDue(); any {
		sooner(due)
	}
	return at, ok
}

// sweepDue is when the sweeper's timer next has something to do: the timer ticks every minute, and ticks without due
// rows are left out.
func (l *life) sweepDue() (time.Time, bool) {
	due, ok := l.world.Ledger.NextDue()
	if !ok || !l.sweeps {
		return time.Time{}, false
	}
	return later(due, l.swept.Add(time.Minute)), true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// quiet reports whether the job has ended and nobody has anything left to do.
func (l *life) quiet() bool {
	if l.id == "" || len(l.active) > 0 || len(l.late) > 0 || len(l.rewritten) > 0 || l.world.Queue.Len() > 0 {
		return false
	}
	due, some := l.world.Ledger.NextDue()
	quiet := l.state().Terminal() && !(some && !due.After(l.now()))
	l.world.Ledger.Each(func(key job.RowKey, row job.Fields) {
		state, _ := row["state"].(string)
		if _, unit, ok := job.ParseRowKey(key); ok && unit != "" && !job.UnitState(state).Over() {
			quiet = false
		}
	})
	return quiet
}

func (l *life) state() job.State {
	state, _ := l.world.Ledger.Peek(job.JobKey(l.id))["state"].(string)
	return job.State(state)
}
