package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"sealift/shared/job"
)

// TestALifeHasTheSameBytesForAnyNumberOfWorkers plays exports with 1, 2 and 8 workers at once, whose calls come in any
// order, and compares their files byte for byte with that of a life in which one thing happens after the other.
func TestALifeHasTheSameBytesForAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	const seeds = 20
	for _, ref := range references(t) {
		for _, workers := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%s, %d", ref.shape.name, workers), func(t *testing.T) {
				t.Parallel()
				most := 0
				for seed := range uint64(seeds) {
					synctest.Test(t, func(t *testing.T) {
						l := newLife(ref.shape, seed)
						defer l.close()
						l.ask()
						l.disturb = func(*parked) deed {
							most = max(most, l.working())
							return letItBe
						}
						l.crowd(workers)
						if len(l.broken) == 0 {
							l.tidy()
							l.check(ref, job.StateCompleted)
							l.checkActions(ref)
						}
						if len(l.broken) > 0 {
							t.Fatalf("seed %d:\n%s\n\n%s", seed, strings.Join(l.broken, "\n"), l.story())
						}
					})
				}
				if want := min(workers, len(ref.shape.shards)); most < want || most > workers {
					t.Errorf("at most %d workers were at it at once, want %d, or up to %d", most, want, workers)
				}
			})
		}
	}
}
