package sim_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sealift/shared/job"
)

// TestWhatTheSearchHasFound plays again, call by call, what random lives have found, so that it stays found whatever
// becomes of the weather.
func TestWhatTheSearchHasFound(t *testing.T) {
	t.Parallel()
	refs := references(t)
	for _, test := range []struct {
		name string
		// pace is how long each call of a worker takes, delay how long what is sent late is under way.
		pace, delay time.Duration
		// deeds are done to the first, second, … call of a subject; a cancel follows the call named in cancel.
		deeds  map[string][]deed
		cancel string
		ends   job.State
	}{
		{
			name: "a renewal that was reported lost and came late cut a lease short", pace: 9 * time.Second, delay: 45 * time.Second,
			deeds: map[string][]deed{"renew": {letItBe, letItBe, comeLate, letItBe, letItBe, comeLate, comeLate}}, ends: job.StateCompleted,
		},
		{
			name: "a plan that was staged late brought the retired shards of a cancelled job back to life", delay: 5 * time.Minute,
			deeds:  map[string][]deed{"plan": {refuse}, "stage": {letItBe, comeLate}},
			cancel: "stage", ends: job.StateCancelled,
		},
		{
			name:  "a shard whose job could not be read after its end woke nobody",
			deeds: map[string][]deed{"finish_shard": {loseAnswer, loseAnswer}}, ends: job.StateCompleted,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ref := refs[0]
			synctest.Test(t, func(t *testing.T) {
				l := newLife(ref.shape, 0)
				defer l.close()
				l.pace, l.delay = test.pace, func() time.Duration { return test.delay }
				seen := map[string]int{}
				l.disturb = func(p *parked) deed {
					n := seen[p.call.Subject]
					seen[p.call.Subject]++
					if deeds := test.deeds[p.call.Subject]; n < len(deeds) && deeds[n] != letItBe {
						return deeds[n]
					}
					return letItBe
				}
				l.ask()
				l.play(func() {
					if test.cancel != "" && seen[test.cancel] == len(test.deeds[test.cancel]) && l.cancels == 0 {
						l.cancel()
					}
				})
				if len(l.broken) == 0 {
					l.tidy()
					l.check(ref, test.ends)
				}
				for subject, deeds := range test.deeds {
					if seen[subject] < len(deeds) {
						l.breaks("only %d calls were about %s, want %d", seen[subject], subject, len(deeds))
					}
				}
				if len(l.broken) > 0 {
					t.Fatalf("%s\n\n%s", strings.Join(l.broken, "\n"), l.story())
				}
			})
		})
	}
}
