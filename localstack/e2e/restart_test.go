package e2e

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestKilledCloud ends the whole cloud with SIGKILL at moments of several exports and starts it again: they end by
// themselves, with the bytes of an undisturbed one. Messages that were in flight stay hidden for long, so it is the sweep
// that wakes their units when the leases of the dead have ended.
func TestKilledCloud(t *testing.T) {
	t.Parallel()
	const kills, seed = 4, 20260301
	w := start(t)
	w.connect(t, "wide", sqlite(t, wide()))
	w.define(t, definition("wide", "wide", map[string]any{"shard_rows": wideShardRows, "active_jobs_max": 100}))
	ana := w.user(t, tenant, "ana")
	asked := whole("wide", "csv", "none")
	want := ana.undisturbed(t, asked)
	random := rand.New(rand.NewPCG(seed, 2))
	var ids []string
	for kill := range kills {
		// Some exports begin before each kill, so that it strikes them at different stages, and those from before.
		for n := range 3 {
			ids = append(ids, ana.create(t, asked, "killed "+itoa(kill)+" "+itoa(n)))
			time.Sleep(time.Duration(random.IntN(250)) * time.Millisecond)
		}
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		open := 0
		for _, id := range ids {
			if !ana.show(t, id).over() {
				open++
			}
		}
		w.restart(t)
		t.Logf("kill %d with %d of %d exports unfinished", kill+1, open, len(ids))
	}
	await(t, slowWait, "not every export has ended", func() (string, bool) {
		w.sweep(t)
		open := ""
		time.Sleep(5 * pause)
		for _, id := range ids {
			if e := ana.show(t, id); !e.over() {
				open += w.story(t, id)
			}
		}
		return open, open == ""
	})
	for _, id := range ids {
		ana.same(t, id, want)
	}
	w.settle(t, ids)
}
