package sim_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing/synctest"
	"time"

	"sealift/shared/artifact"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
	"sealift/shared/snapshot"
)

// actor is one process at work on one thing.
type actor struct {
	number int
	name   string
	ports  sim.Ports
	random *rand.Rand
	stop   context.CancelFunc
	// dead actors are answered nothing any more; slain ones died before they returned.
	dead, slain bool
	// until is when a frozen actor thaws, deadline when the platform ends it, pace how long each of its calls takes.
	until    time.Time
	deadline time.Time
	pace     time.Duration
	// blind counts its reads for a job that has ended.
	blind int
	// finished, with err, once it has returned.
	finished bool
	err      error
	doing    doing
}

// doing is what an actor is spawned for.
type doing struct {
	what string
	// on is the unit that is worked on; empty for other actors.
	on job.Pointer
	// limit is the function's time limit, 0 for none.
	limit time.Duration
	pace  time.Duration
	run   func(ctx context.Context, a *actor) error
	// done says what its end gives rise to, killed what its death does; both may be nil.
	done   func(err error)
	killed func()
}

const (
	orphanAge = 10 * time.Minute
	// visibility is when the message of a dead receiver comes again, again when that of a failed one does; receivesMax is
	// after how many deliveries it is a dead letter.
	visibility  = 90 * time.Minute
	again       = 30 * time.Second
	receivesMax = 5
)

func (l *life) spawn(d doing) *actor {
	l.born++
	a := &actor{
		number: l.born, name: d.what + "-" + strconv.Itoa(l.born), doing: d, pace: d.pace,
		random: rand.New(rand.NewPCG(l.random.Uint64(), uint64(l.born))),
	}
	a.ports = l.world.Caller(sim.Caller{
		Name: a.name, Lag: time.Duration(a.random.IntN(1000)) * time.Millisecond, Off: time.Duration(a.random.IntN(7200)-3600) * time.Second,
	})
	ctx, cancel := context.WithCancel(context.Background())
	if d.limit > 0 {
		a.deadline = l.now().Add(d.limit)
		ctx, cancel = context.WithTimeout(context.Background(), d.limit)
	}
	a.stop = cancel
	l.mu.Lock()
	l.actors[a.name] = a
	l.mu.Unlock()
	l.active = append(l.active, a)
	l.note(a.name, "begins")
	go func() {
		defer cancel()
		deepen()
		err := survive(func() error { return d.run(ctx, a) })
		l.mu.Lock()
		a.finished, a.err = true, err
		l.mu.Unlock()
		l.ring()
	}()
	return a
}

// deepen makes room on a new goroutine's stack at once; the runtime would double it several times and move everything.
//
//go:noinline
func deepen() byte {
	var room [24 << 10]byte
	return room[len(os.Args)]
}

// errPanicked is no error of the pipeline's.
type errPanicked struct{ text string }

// Error is the panic and where it came from.
func (e errPanicked) Error() string { return e.text }

func survive(run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errPanicked{fmt.Sprintf("%v\n%s", cause, debug.Stack())}
		}
	}()
	return run()
}

// reap takes note of everybody who has finished, and reports whether anybody has.
func (l *life) reap() bool {
	l.mu.Lock()
	finished := l.lists.finished[:0]
	l.active = slices.DeleteFunc(l.active, func(a *actor) bool {
		if a.finished {
			finished = append(finished, a)
		}
		return a.finished
	})
	l.lists.finished = finished
	if len(finished) == 0 {
		l.mu.Unlock()
		return false
	}
	for _, p := range l.parked {
		if slices.Contains(finished, p.actor) && !p.gone {
			l.breaks("%s has returned and something of it still calls %s", p.actor.name, p.call)
		}
	}
	for _, a := range finished {
		a.dead = true
	}
	l.mu.Unlock()
	for _, a := range finished {
		if crash, ok := a.err.(errPanicked); ok { //nolint:errorlint // made above, never wrapped
			l.breaks("%s panicked: %s", a.name, crash.text)
		}
		if a.slain {
			continue
		}
		l.note(a.name, "returns").err = a.err
		if a.doing.done != nil {
			a.doing.done(a.err)
		}
	}
	return true
}

// kill ends an actor in the middle of whatever it does. What it had on its way may still arrive.
func (l *life) kill(a *actor) {
	l.mu.Lock()
	if a.dead {
		l.mu.Unlock()
		return
	}
	a.dead, a.slain = true, true
	var waiting []*parked
	l.parked = slices.DeleteFunc(l.parked, func(p *parked) bool {
		if p.actor == a {
			waiting = append(waiting, p)
		}
		return p.actor == a
	})
	l.mu.Unlock()
	inOrder(waiting)
	for _, p := range waiting {
		if p.late != nil {
			l.send(p)
		}
		p.grant <- sim.Refuse(job.Unknown)
	}
	a.stop()
	if a.doing.killed != nil {
		a.doing.killed()
	}
}

// close ends everybody, so that nothing is left of a life that broke.
func (l *life) close() {
	for len(l.active) > 0 {
		for _, a := range l.active {
			a.doing.done, a.doing.killed = nil, nil
			l.kill(a)
		}
		synctest.Wait()
		l.reap()
	}
}

func inOrder(calls []*parked) {
	if len(calls) < 2 {
		return
	}
	slices.SortStableFunc(calls, func(p, q *parked) int {
		switch a, b := &p.call, &q.call; {
		case p.actor != q.actor:
			return cmp.Compare(p.actor.number, q.actor.number)
		case a.Port != b.Port:
			return cmp.Compare(a.Port, b.Port)
		case a.Method != b.Method:
			return cmp.Compare(a.Method, b.Method)
		case a.Subject != b.Subject:
			return cmp.Compare(a.Subject, b.Subject)
		case a.Of != b.Of:
			return cmp.Compare(a.Of, b.Of)
		default:
			return cmp.Compare(a.Part, b.Part)
		}
	})
}

// ask makes a client ask for the export, until it is told that there is one.
func (l *life) ask() {
	failed := func() {
		if l.id == "" {
			l.ask()
		}
	}
	var id string
	l.spawn(doing{
		what: "create", limit: 10 * time.Second,
		run: func(ctx context.Context, a *actor) error {
			creator := pipeline.Creator{Ledger: a.ports.Ledger, Queue: a.ports.Queue, NewID: a.newID}
			answer, err := creator.Create(ctx, pipeline.Ask{Who: l.who, Key: "one", Request: snapshot.Request{
				Definition: "orders", Purpose: "audit", Span: snapshot.Span{From: "2026-01-01T00:00:00Z", To: "2026-02-01T00:00:00Z"},
				AsOf: "2026-02-01T00:00:00Z", Format: l.shape.format, Layout: l.shape.layout,
			}})
			id = answer.Job.ID
			return err
		},
		killed: failed,
		done: func(err error) {
			switch {
			case err == nil && l.id != "" && l.id != id:
				l.breaks("one key made two jobs: %s and %s", l.id, id)
			case err == nil:
				l.id = id
			case !passing(err):
				l.breaks("create: %v", err)
			default:
				failed()
			}
		},
	})
}

// passing reports whether an error is one that the same call may not meet later.
func passing(err error) bool {
	switch job.KindOf(err) {
	case job.Unknown, job.Transient, job.Overload, job.Cancelled:
		return true
	default:
		return false
	}
}

// deliver hands a message to a worker.
func (l *life) deliver(message sim.Message, limit, pace time.Duration) {
	message, ok := l.world.Queue.Take(message.Number)
	if !ok {
		return
	}
	l.tally.events[delivered]++
	comeAgain := func(after time.Duration) {
		if message.Receives++; message.Receives >= receivesMax {
			l.tally.buried++
			return
		}
		l.tally.again++
		l.world.Queue.Return(message, after)
	}
	l.spawn(doing{
		what: message.Pointer.Unit, on: message.Pointer, limit: limit, pace: pace,
		run:    func(ctx context.Context, a *actor) error { return l.work(ctx, a, message.Pointer) },
		killed: func() { comeAgain(visibility) },
		done: func(err error) {
			if err != nil {
				comeAgain(again)
				return
			}
			l.tally.acked++
		},
	})
}

func (l *life) work(ctx context.Context, a *actor, pointer job.Pointer) error {
	table := table{shape: l.shape, replaced: &l.replaced, short: a.random.IntN, touch: func(ctx context.Context, method, subject string) error {
		return l.world.Touch(ctx, a.name, method, subject)
	}}
	worker := a.worker()
	switch pointer.Unit {
	case job.PlanID:
		return pipeline.Planner{Worker: worker, Sources: table}.Plan(ctx, pointer)
	case job.FinalizeID:
		return pipeline.Finalizer{
			Worker: worker, Store: a.ports.Store, Keys: artifact.Keys{}, Seal: a.ports.Seal, NewRandom: a.text, Bounds: simBounds(),
		}.Finalize(ctx, pointer)
	}
	return pipeline.Processor{Worker: worker, Sources: table, Store: a.ports.Store, Keys: artifact.Keys{}, Cut: simCut()}.Process(ctx, pointer)
}

// sweep starts a sweeper.
func (l *life) sweep() {
	l.swept = l.now()
	l.tally.events[swept]++
	l.spawn(doing{
		what: "sweep", limit: 2 * time.Minute,
		run: func(ctx context.Context, a *actor) error {
			_, err := pipeline.Sweeper{
				Cleaner: pipeline.Cleaner{Worker: a.worker(), Store: a.ports.Store, Keys: artifact.Keys{}}, OrphanAge: orphanAge,
			}.Sweep(ctx)
			return err
		},
	})
}

// cancel makes a person cancel the job.
func (l *life) cancel() {
	l.cancels++
	l.tally.events[cancelAsked]++
	l.spawn(doing{
		what: "cancel", limit: 10 * time.Second,
		run: func(ctx context.Context, a *actor) error {
			_, err := pipeline.Canceller{Ledger: a.ports.Ledger}.Cancel(ctx, l.who, l.id, "changed my mind")
			return err
		},
		done: func(err error) {
			l.said.cancelled = l.said.cancelled || err == nil
			l.said.tooLate = l.said.tooLate || job.CodeOf(err) == "job_state"
		},
	})
}

// revoke makes a person end the delivery.
func (l *life) revoke() {
	l.tally.events[revokeAsked]++
	l.spawn(doing{
		what: "revoke", limit: 10 * time.Second,
		run: func(ctx context.Context, a *actor) error {
			_, err := pipeline.Canceller{Ledger: a.ports.Ledger}.Revoke(ctx, l.who, l.id, "wrong file")
			return err
		},
	})
}

// sign makes a person ask for a link, and follow it at once.
func (l *life) sign() {
	l.tally.events[linkAsked]++
	l.spawn(doing{
		what: "sign", limit: 10 * time.Second,
		run: func(ctx context.Context, a *actor) error {
			signer := pipeline.Signer{Ledger: a.ports.Ledger, Store: a.ports.Store, Keys: artifact.Keys{}, NewID: a.newID}
			download, err := signer.Sign(ctx, l.who, l.id, a.random.Int64N(int64(l.shape.objects())))
			if err != nil {
				return err
			}
			if !download.Expires.After(a.ports.Ledger.Now()) {
				return errPanicked{"a link was given out that has ended"}
			}
			// What is deleted after a link was given out is gone for its holder too.
			if _, err := l.world.Store.Fetch(download.URL); err != nil && job.CodeOf(err) != "object_missing" {
				return errPanicked{"a link leads nowhere: " + err.Error()}
			}
			return nil
		},
		done: func(err error) {
			if err == nil {
				l.said.links++
			}
		},
	})
}

func (a *actor) worker() pipeline.Worker {
	return pipeline.Worker{
		Ledger: a.ports.Ledger, Queue: a.ports.Queue, NewOwner: func() string { return a.name + "." + a.text() },
		Log: slog.New(slog.DiscardHandler), Jitter: func(most time.Duration) time.Duration { return time.Duration(a.random.Int64N(int64(most))) },
	}
}

func (a *actor) text() string { return fmt.Sprintf("%016x", a.random.Uint64()) }

func (a *actor) newID() string {
	var random [16]byte
	for i := range random {
		random[i] = byte(a.random.Uint64())
	}
	return job.NewID(random)
}
