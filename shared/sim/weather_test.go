package sim_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"sealift/shared/job"
	"sealift/shared/sim"
)

// weather is what one random life has to endure. Each life has only some kinds of trouble, so that no kind hides behind
// another one.
type weather struct {
	deeds []deed
	// perMille is how likely a call is struck while budget lasts; each call struck costs one.
	perMille int
	budget   int
	// sweeps are how many extra sweeps there may be. Of a hundred turns so many are a lost message, a small step of time.
	sweeps     int
	lose, idle int
	// duplicates and forgeries of messages, cancels, signs and asks are how many of them may happen.
	duplicates, forgeries, cancels, signs, asks int
	// newer is how often a row is for some time one of a newer release, which this one must leave alone; older how often
	// the job's row becomes one of an older release, later how often it gets a field that this one doesn't know.
	newer, older, later int
	// lag is how far the index of due rows is behind.
	lag time.Duration
	// replace puts another table in the source's place.
	replace bool
	// refusals for good fail the job; vandals put a wrong object where the artifact belongs.
	forGood, vandal bool
	// slow workers take their time for each call, and some are ended early by their platform.
	slow int
	// delay is how long requests may be under way after their senders have given up.
	delay time.Duration
	// after is what happens to a completed job.
	after aftermath
	// skip are the ordinals of the troubles left out, for shortening a failing life.
	skip map[int]bool

	troubles int
	spoiled  bool
	vandals  int
}

// aftermath is what happens to a job once it is completed.
type aftermath int

const (
	nothing aftermath = iota
	revoked
	expired
)

const (
	// budgetSafe is up to how many struck calls no budget of a unit can be used up.
	budgetSafe = 5
	// budgetNewer is that of lives in which units fail because of rows that they can't read.
	budgetNewer = 2
	turnsRough  = 1500
)

func newWeather(random *rand.Rand) *weather {
	some := func(n int) int { return random.IntN(n) * random.IntN(2) }
	w := &weather{
		perMille: 5 + random.IntN(80), budget: random.IntN(budgetSafe + 1), sweeps: some(6), lose: some(8), idle: some(10),
		duplicates: some(8), forgeries: some(4),
		cancels: some(3), signs: some(3), asks: some(3), forGood: random.IntN(30) == 0, vandal: random.IntN(30) == 0,
		older: some(2), later: some(2), lag: time.Duration(some(4)) * time.Second, replace: random.IntN(20) == 0,
		slow: some(6), delay: time.Duration(some(120)) * time.Second, after: aftermath(some(3)),
	}
	if random.IntN(20) == 0 {
		w.budget = 6 + random.IntN(30)
	}
	if random.IntN(8) == 0 {
		w.newer, w.budget = 1, min(w.budget, budgetNewer)
	}
	for _, d := range faults() {
		if random.IntN(2) == 0 {
			w.deeds = append(w.deeds, d)
		}
	}
	return w
}

// trouble spends one of the budget and reports whether there is one to spend.
func (w *weather) trouble() bool {
	if w.budget == 0 {
		return false
	}
	w.budget--
	w.troubles++
	return !w.skip[w.troubles]
}

// disturb decides about one call.
func (w *weather) disturb(l *life) func(p *parked) deed {
	return func(p *parked) deed {
		if w.forGood && p.call.Port == sim.PortSource && l.random.IntN(20) == 0 {
			w.forGood, w.spoiled = false, true
			return refuseForGood
		}
		if w.replace && p.call.Port == sim.PortSource && l.state() == job.StateRunning && l.random.IntN(10) == 0 {
			w.replace, l.replaced = false, true
			l.tally.events[sourceReplaced]++
			l.note("source", "is replaced by another table")
		}
		likely := w.perMille
		if p.call.Subject == "renew" {
			likely *= 8 // there are few, and most harm is done around them
		}
		if len(w.deeds) == 0 || l.random.IntN(1000) >= likely {
			return letItBe
		}
		d := w.deeds[l.random.IntN(len(w.deeds))]
		if !w.trouble() {
			return letItBe
		}
		return d
	}
}

// rough plays the part of a life that has the weather: anything may happen at any moment.
func (l *life) rough(w *weather) {
	l.disturb, l.chooses = w.disturb(l), true
	l.delay = func() time.Duration { return time.Duration(l.random.Int64N(int64(w.delay) + 1)) }
	for range turnsRough {
		l.rest()
		if len(l.broken) > 0 || l.quiet() {
			break
		}
		l.turn(w)
	}
	l.disturb = func(*parked) deed { return letItBe }
	l.play(nil)
}

// turn is one thing that happens.
func (l *life) turn(w *weather) {
	roll := l.random.IntN(100)
	able, ready, late := l.able(), l.ready(), l.arrived()
	due, sweeps := l.sweepDue()
	below := 0
	happens := func(percent int) bool {
		below += percent
		return roll < below && roll >= below-percent
	}
	switch {
	case w.sweeps > 0 && happens(4) && len(l.active) < 5:
		w.sweeps--
		l.sweep()
	case happens(w.lose) && len(ready) > 0 && w.trouble():
		l.world.Queue.Take(ready[l.pick(len(ready))].Number)
		l.tally.lost++
		l.note("queue", "loses a message")
	case w.duplicates > 0 && happens(5) && len(ready) > 0:
		w.duplicates--
		l.tally.events[doubled]++
		l.world.Queue.Duplicate(ready[l.pick(len(ready))].Number)
		l.note("queue", "doubles a message")
	case w.forgeries > 0 && happens(3) && l.id != "":
		w.forgeries--
		l.forge()
	case happens(w.idle):
		l.pass(time.Duration(l.random.IntN(1500)) * time.Millisecond)
	case happens(2):
		l.people(w)
	case len(late) > 0 && roll%3 == 0:
		l.arrive(late[l.pick(len(late))])
	case len(ready) > 0 && len(l.active) < 4 && (len(able) == 0 || roll%4 == 0):
		limit, pace := functionTime, time.Duration(0)
		if w.slow > 0 {
			w.slow--
			pace = time.Duration(l.random.IntN(12_000)) * time.Millisecond
			if l.random.IntN(2) == 0 && w.trouble() {
				limit = time.Duration(20+l.random.IntN(100)) * time.Second
			}
		}
		l.deliver(ready[l.pick(len(ready))], limit, pace)
	case len(able) > 0:
		l.answer(able[l.pick(len(able))])
	case sweeps && !due.After(l.now()):
		l.sweep()
	case len(late) > 0:
		l.arrive(late[l.pick(len(late))])
	default:
		l.sleep()
	}
}

// forge puts a message under way that nobody sent.
func (l *life) forge() {
	units := []string{job.PlanID, job.FinalizeID, job.ShardID(1), job.ShardID(len(l.shape.shards)), job.ShardID(len(l.shape.shards) + 1)}
	pointer := job.Pointer{Job: l.id, Unit: units[l.random.IntN(len(units))]}
	l.tally.events[forged]++
	l.note("stranger", "sends a message for "+pointer.Unit)
	if err := l.world.Queue.Send(context.Background(), job.Line{Lane: job.Bulk}, pointer, 0); err != nil {
		l.breaks("forge a message: %v", err)
	}
}

// upgrade makes a row one of a newer release for some time.
func (l *life) upgrade() {
	var keys []job.RowKey
	l.world.Ledger.Each(func(key job.RowKey, row job.Fields) {
		// Nobody but its holder rewrites a unit under a lease.
		if _, _, ok := job.ParseRowKey(key); ok && row["state"] != string(job.UnitLeased) {
			keys = append(keys, key)
		}
	})
	key := keys[l.random.IntN(len(keys))]
	l.tally.events[newerRow]++
	l.note("release", "rewrites "+key.SK)
	l.world.Ledger.Rewrite(key, "schema", int64(job.Schema+1))
	l.rewritten[key] = l.now().Add(time.Duration(l.random.IntN(30)) * time.Second)
}

// downgrade makes rows readable again whose time has come.
func (l *life) downgrade() {
	for key, until := range l.rewritten {
		if !until.After(l.now()) {
			l.world.Ledger.Rewrite(key, "schema", int64(job.Schema))
			delete(l.rewritten, key)
		}
	}
}

// people do what they may do, and sometimes what they may not.
func (l *life) people(w *weather) {
	if l.id == "" {
		return
	}
	state := l.state()
	switch l.random.IntN(7) {
	case 4:
		if w.newer > 0 {
			w.newer--
			l.upgrade()
		}
	case 5:
		if w.older > 0 {
			w.older--
			l.tally.events[olderRow]++
			l.note("release", "is the job's, and older")
			l.world.Ledger.Strip(job.JobKey(l.id), "artifact_counters", "rows_max", "nudges")
			if !l.replaced { // who has not written the identity down can't see that it changes
				w.replace = false
				l.world.Ledger.Strip(job.JobKey(l.id), "source_identity")
			}
		}
	case 6:
		if w.later > 0 {
			w.later--
			l.annotated = true
			l.tally.events[laterField]++
			l.note("release", "adds a field to the job")
			l.world.Ledger.Rewrite(job.JobKey(l.id), laterFieldName, "kept")
		}
	case 0:
		if w.cancels > 0 {
			w.cancels--
			l.cancel()
		}
	case 1:
		if w.signs > 0 {
			w.signs--
			l.sign()
		}
	case 2:
		if w.asks > 0 {
			w.asks--
			l.tally.events[askedAgain]++
			l.ask()
		}
	case 3:
		if w.vandal && state == job.StatePublishing {
			w.vandal = false
			l.vandalise(w)
		}
	}
}

// vandalise puts a wrong object where the artifact belongs, unless it is there.
func (l *life) vandalise(w *weather) {
	key := l.job().Publish.ArtifactKey
	if _, there, _ := l.world.Store.Stat(context.Background(), key); there {
		return
	}
	l.note("vandal", "puts a wrong object at "+key)
	l.world.Store.Damage(key, []byte("not the file"))
	w.vandals++
	l.tally.events[vandalised]++
}

// laterFieldName is a field that this release doesn't know and must leave where it is.
const laterFieldName = "of_a_later_release"

// allowed are the states in which a life of this weather may end.
func (w *weather) allowed(l *life, calm bool) []job.State {
	states := []job.State{job.StateCompleted}
	if l.cancels > 0 {
		states = append(states, job.StateCancelled)
	}
	if w.spoiled || w.vandals > 0 || l.replaced || !calm {
		states = append(states, job.StateFailed)
	}
	return states
}

// live plays the life of one seed.
func live(t *testing.T, refs []reference, seed uint64, skip map[int]bool) (l *life) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		random := rand.New(rand.NewPCG(seed, 0x77ea))
		ref := refs[random.IntN(len(refs))]
		for ref.shape.rare > 0 && random.IntN(ref.shape.rare) > 0 {
			ref = refs[random.IntN(len(refs))]
		}
		w := newWeather(random)
		w.skip = skip
		safe := w.budget <= budgetSafe
		l = newLife(ref.shape, seed)
		defer l.close()
		l.world.Ledger.LagIndex(w.lag)
		l.ask()
		l.rough(w)
		if len(l.broken) > 0 {
			return
		}
		l.checkState(w.allowed(l, safe)...)
		if w.after != nothing && l.state() == job.StateCompleted {
			l.conserveFiles(ref)
			l.afterwards(w)
			l.checkGone()
		}
		l.tidy()
		l.check(ref, append(w.allowed(l, safe), job.StateExpired)...)
		l.troubles = w.troubles
	})
	return l
}

// afterwards ends the delivery of a completed job, by a person or by time, in weather of its own.
func (l *life) afterwards(w *weather) {
	w.budget, w.signs, w.cancels = l.random.IntN(4), 2, 1
	if w.after == expired {
		l.note("time", "is up for the file")
		l.tally.events[fileExpired]++
		l.pass(8 * 24 * time.Hour)
	} else {
		l.revoke()
	}
	l.ended = true
	l.rough(w)
	if state := l.state(); w.after == expired && state != job.StateExpired {
		l.breaks("the file's time is up and the job is %s", state)
	}
}
