package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/artifact"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// deletion is the store's call that removes an object.
const deletion = "Delete"

// stray is the id of a job that never was.
func stray(n byte) string { return job.NewID([16]byte{0: 99, 15: n}) }

// orphaned is a world whose first orphan is in trouble as long as trouble says so, and that has others of every kind.
func orphaned(t *testing.T, trouble func(sim.Call) sim.Fault) (w table, heal func()) {
	t.Helper()
	var over atomic.Bool
	over.Store(true)
	w = claimedIn(t, sim.Options{Faults: func(call sim.Call) sim.Fault {
		if over.Load() {
			return sim.Fault{}
		}
		return trouble(call)
	}})
	keys := artifact.Keys{}
	for n := byte(1); n <= 3; n++ {
		w.put(keys.Staging("acme", stray(n), job.ShardID(1), 1), []byte("x"))
		if _, err := w.Store.CreateUpload(t.Context(), pipeline.NewObject{Key: keys.Staging("acme", stray(n), job.ShardID(2), 1)}); err != nil {
			t.Fatal(err)
		}
	}
	w.put(keys.Artifact("globex", stray(4), 1, "0123456789abcdef0123456789abcdef", "a.csv"), []byte("x"))
	w.put(keys.Receipt("globex", stray(4), 1, "0123456789abcdef0123456789abcdef"), []byte("x"))
	w.Clock.Advance(2 * w.sweeper.OrphanAge)
	over.Store(false)
	return w, func() { over.Store(true) }
}

// stored lists what is in the store by root and kind.
func (w table) stored() map[string]int {
	w.t.Helper()
	objects, err := w.Store.Objects(w.t.Context(), "", "", 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	uploads, err := w.Store.Uploads(w.t.Context(), "", pipeline.StoredUpload{}, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	found := map[string]int{}
	for _, object := range objects {
		root, _, _ := strings.Cut(object.Key, "/")
		found[root]++
	}
	for _, upload := range uploads {
		root, _, _ := strings.Cut(upload.Key, "/")
		found["upload of "+root]++
	}
	return found
}

// TestOneOrphanInTroubleKeepsNoOther has one call about the first orphan fail, on either side. All others are removed in
// the same sweep, the sweep says which failed and why, and the first that meets no trouble removes it.
func TestOneOrphanInTroubleKeepsNoOther(t *testing.T) {
	t.Parallel()
	first := artifact.Keys{}.Staging("acme", stray(1), job.ShardID(1), 1)
	firstUpload := artifact.Keys{}.Staging("acme", stray(1), job.ShardID(2), 1)
	about := func(method, subject string, fault sim.Fault) func(sim.Call) sim.Fault {
		return func(call sim.Call) sim.Fault {
			if call.Method == method && (call.Subject == subject || call.Of == subject) {
				return fault
			}
			return sim.Fault{}
		}
	}
	row := job.JobKey(stray(1)).PK
	cases := []struct {
		name    string
		trouble func(sim.Call) sim.Fault
		// says is what the sweep says of it, left what is there after it.
		says []string
		left map[string]int
	}{
		{"its deletion is refused", about("Delete", first, sim.Refuse(job.Permanent)), []string{"store_refused: once, at " + first + ":"}, map[string]int{"staging": 1}},
		{"its deletion is throttled", about("Delete", first, sim.Throttle()), []string{"store_busy: once, at " + first + ":"}, map[string]int{"staging": 1}},
		{"its deletion gets lost", about("Delete", first, sim.Refuse(job.Unknown)), []string{"store_unknown: once, at " + first + ":"}, map[string]int{"staging": 1}},
		{"its deletion happens, its answer is lost", about("Delete", first, sim.LoseAnswer()), []string{"store_unknown: once, at " + first + ":"}, map[string]int{}},
		{"its upload's end is refused", about("AbortUpload", firstUpload, sim.Refuse(job.Permanent)), []string{"store_refused: once, at " + firstUpload + ":"}, map[string]int{"upload of staging": 1}},
		{"its upload's end happens, its answer is lost", about("AbortUpload", firstUpload, sim.LoseAnswer()), []string{"store_unknown: once, at " + firstUpload + ":"}, map[string]int{}},
		{"its job can't be read", about("Row", row, sim.Refuse(job.Transient)), []string{"ledger_unavailable: 2 times, at " + first + ", " + firstUpload + ":"}, map[string]int{"staging": 1, "upload of staging": 1}},
		{"its root can't be listed", about("Objects", "staging/", sim.Refuse(job.Permanent)), []string{"store_refused: once, at objects:staging/:"}, map[string]int{"staging": 3}},
		{"the position of its scan can't be read", about("Row", "objects:staging/", sim.Refuse(job.Transient)), []string{"ledger_unavailable: once, at objects:staging/:"}, map[string]int{"staging": 3}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, heal := orphaned(t, c.trouble)
			report, err := w.sweeper.Sweep(t.Context())
			for _, want := range c.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the sweep says %v, want %q in it", err, want)
				}
			}
			heal()
			if diff := cmp.Diff(c.left, w.stored()); diff != "" {
				t.Errorf("after the sweep there is (-want +got):\n%s\nit reports %v", diff, report.Stored)
			}
			w.sweep()
			if left := w.stored(); len(left) > 0 {
				t.Errorf("after a sweep without trouble there still is %v", left)
			}
		})
	}
}

// TestAScanGoesOnBehindAnOrphanInTrouble has more orphans than one page and the first be refused for good. The scan comes
// by the others all the same, also when the word of how far it has come is lost on either side, and then by the first again.
func TestAScanGoesOnBehindAnOrphanInTrouble(t *testing.T) {
	t.Parallel()
	const pages = 3
	for name, struck := range map[string]sim.Fault{
		"nothing else":                        {},
		"the position is refused":             sim.Throttle(),
		"the position's answer is lost":       sim.LoseAnswer(),
		"the position gets lost on its way":   sim.Refuse(job.Unknown),
		"the position is refused permanently": sim.Refuse(job.Permanent),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := artifact.Keys{}.Staging("acme", stray(1), job.ShardID(1), 1)
			tried, saved := 0, 0
			w, heal := orphaned(t, func(call sim.Call) sim.Fault {
				switch {
				case call.Method == deletion && call.Subject == first:
					tried++
					return sim.Refuse(job.Permanent)
				case call.Method == "Apply" && call.Subject == "save_sweep":
					if saved++; saved == 1 {
						return struck
					}
				}
				return sim.Fault{}
			})
			for n := range pages*limits.OrphanPage - 4 {
				w.put(artifact.Keys{}.Staging("acme", stray(2), job.ShardID(n+2), 1), []byte("x"))
			}
			w.Clock.Advance(2 * w.sweeper.OrphanAge)
			report, err := w.sweeper.Sweep(t.Context())
			if err == nil || report.Stored["object_failed"] != 1 || report.Stored["object_orphan"] != limits.OrphanPage+1 {
				t.Errorf("the first sweep reports %v, %v", report.Stored, err)
			}
			if !slices.ContainsFunc(report.Unreached, func(text string) bool { return strings.HasPrefix(text, "objects:staging/ after staging/acme/") }) {
				t.Errorf("the first sweep says that it has not reached %q", report.Unreached)
			}
			for range pages {
				_, _ = w.sweeper.Sweep(t.Context())
			}
			if diff := cmp.Diff(map[string]int{"staging": 1}, w.stored()); diff != "" || tried < 2 {
				t.Errorf("after a round there is (-want +got):\n%s\nand the first was tried %d times, want again", diff, tried)
			}
			heal()
			w.sweep()
			w.sweep()
			if left := w.stored(); len(left) > 0 {
				t.Errorf("without trouble there still is %v", left)
			}
		})
	}
}

// TestASweepInMuchTroubleSaysItShortly has everything be refused, or the store ask to slow down: the sweep tells how much it
// was in few words, and a store that is down is not called for every orphan.
func TestASweepInMuchTroubleSaysItShortly(t *testing.T) {
	t.Parallel()
	const orphans = 150
	for _, c := range []struct {
		kind  job.Kind
		calls int
		says  string
	}{
		{job.Permanent, orphans + 5, "store_refused: 158 times, at "},
		{job.Overload, limits.TroublesMax + 2, "store_busy: " + fmt.Sprint(limits.TroublesMax+5) + " times, at "},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			calls := 0
			w, heal := orphaned(t, func(call sim.Call) sim.Fault {
				if call.Method != deletion && call.Method != "AbortUpload" {
					return sim.Fault{}
				}
				if call.Method == deletion {
					calls++
				}
				return sim.Refuse(c.kind)
			})
			for n := range orphans {
				w.put(artifact.Keys{}.Staging("acme", stray(2), job.ShardID(n+2), 1), []byte("x"))
			}
			w.Clock.Advance(2 * w.sweeper.OrphanAge)
			_, err := w.sweeper.Sweep(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 2_000 {
				t.Errorf("the sweep says %.3000v, want %q in it and few words", err, c.says)
			}
			if calls != c.calls {
				t.Errorf("%d deletions were tried, want %d", calls, c.calls)
			}
			heal()
			for range orphans / limits.TroublesMax {
				w.Clock.Advance(time.Minute)
				w.sweep()
			}
			if left := w.stored(); len(left) > 0 {
				t.Errorf("without trouble there still is %v", left)
			}
		})
	}
}
