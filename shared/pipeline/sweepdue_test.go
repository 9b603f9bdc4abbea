package pipeline_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/artifact"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/sim"
)

// crowded is a table with a job of another tenant whose planned shards are due before anything else.
func crowded(t *testing.T, shards int, options sim.Options) (w table, crowd job.Job) {
	t.Helper()
	w = claimedIn(t, options)
	crowd = w.another(8, "globex")
	var units []job.Unit
	for n := 1; n <= shards; n++ {
		units = append(units, job.Unit{Job: crowd.ID, ID: job.ShardID(n), Tenant: crowd.Tenant, Lane: crowd.Lane, State: job.UnitPending, PlanGeneration: 1})
	}
	for some := range slices.Chunk(units, limits.StagePerWrite) {
		w.apply(job.StageAll(some, w.Ledger.Now()))
	}
	plan, claim, err := w.of(crowd.ID, job.PlanID).Claim("planner", w.Ledger.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.apply(claim)
	change, err := crowd.Plan(plan, job.Planned{Shards: int64(shards)}, job.Act{Actor: job.System, Now: w.Ledger.Now()})
	if err != nil {
		t.Fatal(err)
	}
	w.apply(change)
	w.Clock.Advance(time.Second)
	return w, crowd
}

// another is one more job, just created, whose message is lost.
func (w table) another(n byte, tenant string) job.Job {
	w.t.Helper()
	j := job.Job{ID: job.NewID([16]byte{n}), Tenant: tenant, Applicant: "bea", Definition: "orders", DefinitionVersion: 1, Lane: job.Bulk}
	w.apply(job.Create(job.Intent{Job: j, KeyDigest: string(rune('a' + n)), KeyMemory: time.Hour, ActiveMax: 10}, w.Ledger.Now()))
	return w.read(j.ID)
}

func (w table) read(id string) job.Job {
	w.t.Helper()
	j, err := job.DecodeJob(w.Ledger.Peek(job.JobKey(id)))
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

func (w table) of(id, unit string) job.Unit {
	w.t.Helper()
	w.job.ID = id
	return w.unit(unit)
}

// woken counts the messages of each job.
func (w table) woken() map[string]int {
	found := map[string]int{}
	for _, message := range w.Queue.Messages() {
		found[message.Pointer.Job]++
	}
	return found
}

// newer makes rows those of a newer release and returns them as they stand.
func (w table) newer(keys ...job.RowKey) map[job.RowKey]job.Fields {
	w.t.Helper()
	rows := map[job.RowKey]job.Fields{}
	for _, key := range keys {
		w.Ledger.Rewrite(key, "schema", int64(job.Schema+1))
		rows[key] = maps.Clone(w.Ledger.Peek(key))
	}
	return rows
}

func shardsOf(j job.Job, shards int) (keys []job.RowKey) {
	for n := 1; n <= shards; n++ {
		keys = append(keys, job.UnitKey(j.ID, job.ShardID(n)))
	}
	return keys
}

// TestRowsOfANewerReleaseKeepNobodyWaiting has many due rows that this release can't read, as after a rollback. Another
// tenant's lost message is found by the next sweep; the sweep says how many there are and what to do, shortly, and leaves
// them as they are.
func TestRowsOfANewerReleaseKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	const shards, readable = 9 * limits.DuePage, 10
	for name, whole := range map[string]bool{"with the job's own row": true, "of a job that can be read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Of the same job there are some that could be read, behind the others.
			w, crowd := crowded(t, shards+readable, sim.Options{})
			keys := shardsOf(crowd, shards)
			if whole {
				keys = append(keys, job.JobKey(crowd.ID))
			}
			before := w.newer(keys...)
			lost := w.another(9, "acme")
			w.Clock.Advance(limits.WakeGrace + time.Second)
			report, err := w.sweeper.Sweep(t.Context())
			if w.woken()[lost.ID] == 0 {
				t.Errorf("the lost message was not found; the sweep reports %v", report.Due)
			}
			unread, woken := shards, readable
			if whole {
				unread, woken = shards+readable, 0
			}
			if got := w.woken()[crowd.ID]; got != woken {
				t.Errorf("%d shards of the job that has those rows were woken, want %d", got, woken)
			}
			if report.Due["unread"] != unread || err == nil || len(err.Error()) > 2_000 {
				t.Errorf("the sweep reports %v, %.3000v; want %d rows that it could not read, in few words", report.Due, err, unread)
			}
			for _, want := range []string{fmt.Sprintf("ledger_row_schema: %d times, at ", unread), "JOB#" + crowd.ID + " UNIT#s", "finish the deployment of the release that wrote it"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the sweep says %.3000v, want %q in it", err, want)
				}
			}
			for key, row := range before {
				if diff := cmp.Diff(row, w.Ledger.Peek(key)); diff != "" {
					t.Fatalf("row %v was changed (-before +after):\n%s", key, diff)
				}
			}
		})
	}
}

// TestMoreUnreadableRowsThanASweepTakesKeepNobodyWaiting has more of them in one bucket than a sweep takes, before a row of
// the same bucket whose message is lost: the next sweep begins behind them, whatever happens to the word of where it was.
func TestMoreUnreadableRowsThanASweepTakesKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	const bucket, shards = "due#03", limits.DueRowsMax + 10
	all, crowd := crowded(t, shards, sim.Options{})
	keys := shardsOf(crowd, shards)
	all.newer(append(keys, job.JobKey(crowd.ID))...)
	lost := all.another(9, "acme")
	for _, key := range append(keys, job.UnitKey(lost.ID, job.PlanID), job.JobKey(lost.ID)) {
		all.Ledger.Rewrite(key, job.FieldDueBucket, bucket)
	}
	all.Clock.Advance(limits.WakeGrace + time.Second)
	for _, c := range []struct {
		name   string
		struck sim.Fault
		sweeps int
	}{
		{"undisturbed", sim.Fault{}, 2},
		{"the position is refused", sim.Throttle(), 3},
		{"the position's answer is lost", sim.LoseAnswer(), 2},
		{"the position gets lost on its way", sim.Refuse(job.Unknown), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			saved := 0
			w := all.again(t, sim.Options{Faults: func(call sim.Call) sim.Fault {
				if call.Method == "Apply" && call.Subject == "save_sweep" {
					if saved++; saved == 1 {
						return c.struck
					}
				}
				return sim.Fault{}
			}})
			for n := range c.sweeps {
				if n > 0 && w.woken()[lost.ID] > 0 {
					t.Fatalf("the lost message was found by sweep %d already; the test proves nothing", n)
				}
				report, err := w.sweeper.Sweep(t.Context())
				if err == nil || report.Due["unread"] == 0 {
					t.Errorf("sweep %d reports %v, %v", n+1, report.Due, err)
				}
				if n == c.sweeps-1 && !slices.Contains(report.Unreached, bucket+" before the row that it began behind") {
					t.Errorf("the last sweep says that it has not reached %q", report.Unreached)
				}
				if n == 0 && !slices.ContainsFunc(report.Unreached, func(text string) bool { return strings.HasPrefix(text, bucket+" after ") }) {
					t.Errorf("the first sweep says that it has not reached %q", report.Unreached)
				}
			}
			if w.woken()[lost.ID] == 0 {
				t.Errorf("the lost message was not found in %d sweeps", c.sweeps)
			}
			// The round begins anew: what becomes readable, as when the newer release is back, is woken.
			for _, key := range append(shardsOf(crowd, 10), job.JobKey(crowd.ID)) {
				w.Ledger.Rewrite(key, "schema", int64(job.Schema))
			}
			for range 2 {
				_, _ = w.sweeper.Sweep(t.Context())
			}
			if woken := w.woken()[crowd.ID]; woken != 10 {
				t.Errorf("%d of 10 shards that can be read again are woken after two sweeps", woken)
			}
		})
	}
}

// again is a world that begins with the same rows at the same time.
func (w table) again(t *testing.T, options sim.Options) table {
	t.Helper()
	options.Start = w.Clock.Now()
	world := sim.New(options)
	world.Ledger.Adopt(w.Ledger)
	w.t, w.World = t, world
	w.sweeper.Ledger, w.sweeper.Queue, w.sweeper.Store = w.Ledger, w.Queue, w.Store
	return w
}

// slow is a world in which every call takes its time.
func slow(by *time.Duration) sim.Options {
	return sim.Options{Faults: func(sim.Call) sim.Fault {
		time.Sleep(*by)
		return sim.Fault{}
	}}
}

// within is a sweep's time, as its function has it.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestAJobsMassDelaysNobody has so many shards of one job wait, and a ledger so slow, that a sweep can look at a few only.
// Another tenant's lost message is found by the first sweep all the same, and an orphan is removed.
func TestAJobsMassDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const shards = 1_000
		var by time.Duration
		w, crowd := crowded(t, shards, slow(&by))
		w.put(artifact.Keys{}.Staging("acme", stray(1), job.ShardID(1), 1), []byte("x"))
		w.Clock.Advance(2 * w.sweeper.OrphanAge)
		lost := w.another(9, "acme")
		w.Clock.Advance(limits.WakeGrace + time.Second)
		by = 400 * time.Millisecond
		report, err := w.sweeper.Sweep(within(t))
		by = 0
		woken := w.woken()
		if err != nil || woken[lost.ID] == 0 {
			t.Errorf("the lost message was not found: %v, %v; woken were %v", report.Due, err, woken)
		}
		if woken[crowd.ID] == 0 || woken[crowd.ID] > shards/2 {
			t.Errorf("%d shards of the crowd were woken, want some; the test proves nothing", woken[crowd.ID])
		}
		if !slices.ContainsFunc(report.Unreached, func(text string) bool { return strings.HasSuffix(text, "due rows of 1 job") }) {
			t.Errorf("the sweep says that it has not reached %q", report.Unreached)
		}
		if left := w.stored(); len(left) > 0 {
			t.Errorf("the orphan was not reached: %v; the sweep reports %v", left, report)
		}
	})
}

// TestRowsThatAreReadSlowlyAreVisited has an index so slow that a sweep can't read all that is due.
func TestRowsThatAreReadSlowlyAreVisited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var by time.Duration
		w, crowd := crowded(t, 1_000, sim.Options{Faults: func(call sim.Call) sim.Fault {
			if call.Method == "Due" {
				time.Sleep(by)
			}
			return sim.Fault{}
		}})
		w.Clock.Advance(limits.WakeGrace + time.Second)
		by = 10 * time.Second
		report, err := w.sweeper.Sweep(within(t))
		if err != nil || w.woken()[crowd.ID] == 0 {
			t.Errorf("nobody is woken: %+v, %v", report, err)
		}
		if len(report.Unreached) == 0 {
			t.Error("all was read; the test proves nothing")
		}
	})
}

// TestAJobIsSentNoMoreThanItsShareInOneSweep has more shards of one job wait than a sweep wakes of one: the next wakes the
// others.
func TestAJobIsSentNoMoreThanItsShareInOneSweep(t *testing.T) {
	t.Parallel()
	const more = 50
	w, crowd := crowded(t, limits.WakesMax+more, sim.Options{})
	lost := w.another(9, "acme")
	w.Clock.Advance(limits.WakeGrace + time.Second)
	report, err := w.sweeper.Sweep(t.Context())
	if woken := w.woken(); err != nil || woken[crowd.ID] != limits.WakesMax || woken[lost.ID] == 0 {
		t.Errorf("the first sweep wakes %v, %v; want %d of the crowd and the other job", woken, err, limits.WakesMax)
	}
	if diff := cmp.Diff([]string{fmt.Sprintf("%d due rows of 1 job", more)}, report.Unreached); diff != "" {
		t.Errorf("the first sweep says that it has not reached (-want +got):\n%s", diff)
	}
	before := w.woken()[crowd.ID]
	w.sweep()
	if got := w.woken()[crowd.ID] - before; got != more {
		t.Errorf("the next sweep wakes %d, want the other %d", got, more)
	}
}

// TestCleanUpsDelayNobody has many clean-ups of one tenant be due, each longer than its turn. Another tenant's lost message
// is found by the first sweep, its later clean-up is done, and an orphan is removed; the others go on, none at fault.
func TestCleanUpsDelayNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const crowd, objects = 14, 120
		var by time.Duration
		w := claimedIn(t, slow(&by))
		var ended []job.Job
		end := func(n byte, tenant string, objects int) job.Job {
			j := w.another(20+n, tenant)
			for number := range objects {
				w.put(artifact.Keys{}.Staging(j.Tenant, j.ID, job.ShardID(number+1), 1), []byte("x"))
			}
			change, err := j.Cancel(job.Act{Actor: "bea", Reason: "not wanted", Now: w.Ledger.Now()})
			if err != nil {
				t.Fatal(err)
			}
			w.apply(change)
			w.Clock.Advance(time.Second)
			return j
		}
		for n := range byte(crowd) {
			ended = append(ended, end(n, "globex", objects))
		}
		small := end(crowd, "acme", 1)
		orphan := artifact.Keys{}.Staging("acme", stray(1), job.ShardID(1), 1)
		w.put(orphan, []byte("x"))
		w.Clock.Advance(2 * w.sweeper.OrphanAge)
		lost := w.another(9, "acme")
		w.Clock.Advance(limits.WakeGrace + time.Second)
		by = 100 * time.Millisecond
		report, err := w.sweeper.Sweep(within(t))
		if err != nil || w.woken()[lost.ID] == 0 {
			t.Errorf("the lost message was not found: %v, %v", report.Due, err)
		}
		if state := w.of(small.ID, job.CleanID).State; state != job.UnitDone {
			t.Errorf("the other tenant's clean-up is %s; the sweep reports %v", state, report)
		}
		if _, there, _ := w.Store.Stat(t.Context(), orphan); there {
			t.Errorf("the orphan was not reached; the sweep reports %v", report)
		}
		if !slices.ContainsFunc(report.Unreached, func(text string) bool { return strings.HasSuffix(text, "clean-ups") }) {
			t.Errorf("the sweep says that it has not reached %q; the test proves nothing", report.Unreached)
		}
		for n := 0; slices.ContainsFunc(ended, func(j job.Job) bool { return w.of(j.ID, job.CleanID).State != job.UnitDone }); n++ {
			if n == 30 {
				t.Fatalf("the clean-ups are not done after %d sweeps", n)
			}
			w.Clock.Advance(time.Minute)
			_, _ = w.sweeper.Sweep(within(t))
		}
		by = 0
		for _, j := range ended {
			if unit := w.of(j.ID, job.CleanID); unit.Faults > 0 || unit.Crashes > 0 {
				t.Errorf("the clean-up of %s has %d faults and %d crashes: %v", j.ID, unit.Faults, unit.Crashes, unit.History)
			}
		}
	})
}
