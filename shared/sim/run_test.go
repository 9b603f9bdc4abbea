package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"sealift/shared/artifact"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
	"sealift/shared/sim"
	"sealift/shared/snapshot"
)

// run is one simulated life of one job.
type run struct {
	t     *testing.T
	world *sim.World
	table table
	who   policy.Principal
	id    string

	// mu guards what follows; a worker's goroutines call at once.
	mu      sync.Mutex
	random  *rand.Rand
	budget  int
	stalls  int
	depth   int
	actors  int
	dead    map[string]bool
	stop    map[string]context.CancelFunc
	chaos   bool
	cancels int
	log     []string
}

func newRun(t *testing.T, seed uint64, wide bool) *run {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0x5ea11f7))
	r := &run{
		t: t, random: random, budget: random.IntN(7), stalls: random.IntN(9), dead: map[string]bool{}, stop: map[string]context.CancelFunc{},
		cancels: random.IntN(2),
		who:     policy.Principal{Tenant: "acme", Subject: "ana", Roles: []string{policy.RoleOperator}},
	}
	r.world = sim.New(sim.Options{Faults: r.fault})
	r.table = table{wide: wide, fault: r.sourceFault}
	return r
}

func (r *run) below(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(n)
}

// fault decides about one call. At most budget calls are disturbed, so that no unit uses up what it may fail.
func (r *run) fault(call sim.Call) sim.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead[call.Actor] {
		return sim.Refuse(job.Unknown)
	}
	if !r.chaos || call.Actor == "" {
		return sim.Fault{}
	}
	roll := r.random.IntN(1000)
	if roll >= 950 && r.stalls > 0 && r.depth < depthMax {
		r.stalls--
		r.depth++
		r.note("stalls", call)
		r.mu.Unlock()
		for range 1 + r.below(8) {
			r.event()
		}
		r.mu.Lock()
		r.depth--
		return sim.Fault{}
	}
	if r.budget == 0 || roll >= 150 {
		return sim.Fault{}
	}
	r.budget--
	switch {
	case roll < 25:
		r.note("dies before", call)
		r.dead[call.Actor] = true
		return sim.Refuse(job.Unknown)
	case roll < 50:
		r.note("dies after", call)
		r.dead[call.Actor] = true
		return sim.LoseAnswer()
	case roll < 100:
		r.note("loses the answer of", call)
		return sim.LoseAnswer()
	case roll < 115:
		r.note("loses", call)
		return sim.Refuse(job.Unknown)
	case roll < 125:
		r.note("is throttled in", call)
		return sim.Throttle()
	case roll < 135:
		if stop := r.stop[call.Actor]; stop != nil {
			r.note("is told to stop in", call)
			stop()
			return sim.Fault{}
		}
	}
	r.note("fails in", call)
	return sim.Refuse(job.Transient)
}

// sourceFault decides about one read of the source.
func (r *run) sourceFault() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.chaos || r.budget == 0 || r.random.IntN(100) >= 5 {
		return nil
	}
	r.budget--
	r.log = append(r.log, "the source fails")
	return job.Errorf(job.Transient, "source_unavailable", "the simulation fails a read")
}

// note remembers a disturbance; the run is locked.
func (r *run) note(what string, call sim.Call) {
	r.log = append(r.log, fmt.Sprintf("%s %s %s %s", r.world.Clock.Now().Format("15:04:05.000"), call.Actor, what, call))
}

// export asks for a job, disturbs its life and then lets it end in peace.
func (r *run) export() {
	r.t.Helper()
	ctx := context.Background()
	operator := pipeline.Operator{Ledger: r.world.Ledger}
	if _, err := operator.Apply(ctx, r.who, "orders", []byte(contract)); err != nil {
		r.t.Fatal(err)
	}
	r.chaos = true
	for try := 0; r.id == ""; try++ {
		r.create(ctx, try)
	}
	for range 40 + r.below(80) {
		r.event()
	}
	r.mu.Lock()
	r.chaos = false
	r.mu.Unlock()
	const rounds = 400
	for n := 0; !r.settled(); n++ {
		if n == rounds {
			r.t.Errorf("seed: the job is still %s after %d quiet rounds", r.job().State, rounds)
			return
		}
		r.round()
	}
	// What a late worker left is an orphan some time later.
	r.world.Clock.Advance(orphanAge + time.Minute)
	for range 3 {
		r.round()
	}
}

func (r *run) create(ctx context.Context, try int) {
	r.t.Helper()
	_, ports := r.actor()
	creator := pipeline.Creator{Ledger: ports.Ledger, Queue: ports.Queue, NewID: r.newID}
	answer, err := creator.Create(ctx, pipeline.Ask{Who: r.who, Key: "one", Request: snapshot.Request{
		Definition: "orders", Purpose: "audit", Span: snapshot.Span{From: "2026-01-01T00:00:00Z", To: "2026-02-01T00:00:00Z"},
		AsOf: "2026-02-01T00:00:00Z", Format: snapshot.FormatRequest{Type: "csv", Compression: "none"},
	}})
	if err == nil {
		r.id = answer.Job.ID
		return
	}
	switch job.KindOf(err) {
	case job.Unknown, job.Transient, job.Overload:
	default:
		r.t.Fatalf("create: %v", err)
	}
	if try > 50 {
		r.t.Fatalf("create never succeeds: %v", err)
	}
	r.world.Clock.Advance(time.Second)
}

// event is one thing that happens.
func (r *run) event() {
	ctx := context.Background()
	ready := r.world.Queue.Ready()
	switch roll := r.below(100); {
	case roll < 55 && len(ready) > 0:
		r.deliver(ctx, ready[r.below(len(ready))])
	case roll < 60 && len(ready) > 0:
		r.world.Queue.Duplicate(ready[r.below(len(ready))].Number)
	case roll < 64 && len(ready) > 0:
		r.world.Queue.Take(ready[r.below(len(ready))].Number)
	case roll < 74:
		r.sweep(ctx)
	case roll < 79 && r.mayCancel():
		_, ports := r.actor()
		canceller := pipeline.Canceller{Ledger: ports.Ledger}
		_, _ = canceller.Cancel(ctx, r.who, r.id, "changed my mind") // Losing the race is fine; the end tells who won.
	case roll < 81:
		r.world.Clock.Advance(2 * time.Minute)
	default:
		r.world.Clock.Advance(time.Duration(r.below(15_000)) * time.Millisecond)
	}
}

func (r *run) mayCancel() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Rather while somebody is held up, which is when it matters.
	if r.cancels == 0 || r.depth == 0 && r.random.IntN(4) > 0 {
		return false
	}
	r.cancels--
	return true
}

// round lets everything happen that is due, in peace.
func (r *run) round() {
	ctx := context.Background()
	for _, message := range r.world.Queue.Ready() {
		r.deliver(ctx, message)
	}
	r.sweep(ctx)
	r.world.Clock.Advance(61 * time.Second)
}

func (r *run) deliver(ctx context.Context, message sim.Message) {
	message, ok := r.world.Queue.Take(message.Number)
	if !ok {
		return
	}
	name, ports := r.actor()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.stoppable(name, cancel)
	defer r.stoppable(name, nil)
	worker := r.worker(ports)
	var err error
	switch message.Pointer.Unit {
	case job.PlanID:
		err = pipeline.Planner{Worker: worker, Sources: r.table}.Plan(ctx, message.Pointer)
	case job.FinalizeID:
		err = pipeline.Finalizer{Worker: worker, Store: ports.Store, Keys: artifact.Keys{}, NewRandom: r.text}.Finalize(ctx, message.Pointer)
	default:
		err = pipeline.Processor{Worker: worker, Sources: r.table, Store: ports.Store, Keys: artifact.Keys{}}.Process(ctx, message.Pointer)
	}
	if err != nil {
		r.world.Queue.Return(message, time.Minute)
	}
}

func (r *run) sweep(ctx context.Context) {
	_, ports := r.actor()
	sweeper := pipeline.Sweeper{
		Cleaner: pipeline.Cleaner{Worker: r.worker(ports), Store: ports.Store, Keys: artifact.Keys{}}, OrphanAge: orphanAge,
	}
	_, err := sweeper.Sweep(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.chaos {
		r.t.Errorf("a quiet sweep: %v", err)
	}
}

func (r *run) worker(ports sim.Ports) pipeline.Worker {
	return pipeline.Worker{
		Ledger: ports.Ledger, Queue: ports.Queue, NewOwner: r.text, Log: slog.New(slog.DiscardHandler),
		Jitter: func(most time.Duration) time.Duration { return most / 2 },
	}
}

// actor is a new caller.
func (r *run) actor() (name string, ports sim.Ports) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actors++
	name = fmt.Sprintf("actor-%d", r.actors)
	return name, r.world.Actor(name)
}

// stoppable makes an actor one that can be told to stop, as a process is before it is ended.
func (r *run) stoppable(name string, cancel context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel == nil {
		delete(r.stop, name)
		return
	}
	r.stop[name] = cancel
}

func (r *run) text() string { return fmt.Sprintf("%016x%016x", r.word(), r.word()) }

func (r *run) newID() string {
	var random [16]byte
	for i := range random {
		random[i] = byte(r.word())
	}
	return job.NewID(random)
}

func (r *run) word() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Uint64()
}

func (r *run) job() job.Job {
	r.t.Helper()
	fields, err := r.world.Ledger.Row(context.Background(), job.JobKey(r.id))
	if err != nil {
		r.t.Fatal(err)
	}
	j, err := job.DecodeJob(fields)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// settled reports whether the job has ended and nobody has anything left to do.
func (r *run) settled() bool {
	if !r.job().State.Terminal() {
		return false
	}
	settled := true
	r.world.Ledger.Each(func(key job.RowKey, row job.Fields) {
		state, _ := row["state"].(string)
		if _, unit, ok := job.ParseRowKey(key); ok && unit != "" && !job.UnitState(state).Over() {
			settled = false
		}
	})
	return settled
}
