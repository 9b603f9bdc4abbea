package sim_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sealift/shared/job"
)

// TestWhatTheSearchHasFound plays again, call by call, what random lives have found, so that it stays found whatever
// becomes of the weather, and what they meet too rarely.
func TestWhatTheSearchHasFound(t *testing.T) {
	t.Parallel()
	refs := references(t)
	for _, test := range []struct {
		name string
		// pace is how long each call of a worker takes, delay how long what is sent late is under way.
		pace, delay time.Duration
		// deeds are done to a unit's first, second, … call about something; a cancel follows those named in cancel.
		deeds  map[string][]deed
		cancel string
		ends   job.State
	}{
		{
			name: "a renewal that was reported lost and came late cut a lease short", pace: 9 * time.Second, delay: 45 * time.Second,
			deeds: map[string][]deed{"s00001/renew": {letItBe, comeLate, letItBe, letItBe}}, ends: job.StateCompleted,
		},
		{
			name: "a decision to publish that came late is not that of the unit's next holder", pace: 5 * time.Second, delay: 21 * time.Second,
			deeds: map[string][]deed{"finalize/begin_publish": {comeLate, letItBe}}, ends: job.StateCompleted,
		},
		{
			name: "renewals that are lost are none", pace: 5 * time.Second,
			deeds: map[string][]deed{"s00001/renew": {loseCall, loseCall, loseCall, loseCall, loseCall, loseCall, loseCall, loseCall}},
			ends:  job.StateCompleted,
		},
		{
			name: "a renewal counts from when it was sent, not from its answer", pace: 7 * time.Second,
			deeds: map[string][]deed{"s00001/renew": {answerLate, loseCall, loseCall, loseCall, loseCall}},
			ends:  job.StateCompleted,
		},
		{
			name: "a plan that was staged late brought the retired shards of a cancelled job back to life", delay: 5 * time.Minute,
			deeds:  map[string][]deed{"plan/plan": {refuse}, "plan/stage": {letItBe, comeLate}},
			cancel: "plan/stage", ends: job.StateCancelled,
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
					about := p.actor.doing.on.Unit + "/" + p.call.Subject
					n := seen[about]
					seen[about]++
					if deeds := test.deeds[about]; n < len(deeds) {
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

// TestATakeoverSeesALateRenewal lets a lease run out while a renewal is still under way. Who has read the row in between
// must not take the lease that the renewal has made valid again.
func TestATakeoverSeesALateRenewal(t *testing.T) {
	t.Parallel()
	ref := references(t)[0]
	synctest.Test(t, func(t *testing.T) {
		const pace = 5 * time.Second
		l := newLife(ref.shape, 0)
		defer l.close()
		l.pace = pace
		end := func() time.Time {
			until, _ := l.world.Ledger.Peek(job.UnitKey(l.id, job.ShardID(1)))["lease_until_ms"].(int64)
			return time.UnixMilli(until)
		}
		// The renewal arrives after the second worker has read the row and before it claims.
		l.delay = func() time.Duration { return end().Add(pace + pace/2).Sub(l.now()) }
		renewals, taken := 0, false
		l.disturb = func(p *parked) deed {
			if p.actor.doing.on.Unit != job.ShardID(1) || p.call.Subject != "renew" || taken {
				return letItBe
			}
			renewals++
			if renewals == 1 {
				return comeLate
			}
			return loseCall
		}
		l.ask()
		l.play(func() {
			if renewals > 0 && !taken && !l.now().Before(end().Add(-pace)) {
				taken = true
				if err := l.world.Queue.Send(t.Context(), job.Line{Lane: job.Bulk}, job.Pointer{Job: l.id, Unit: job.ShardID(1)}, 0); err != nil {
					l.breaks("send a second message: %v", err)
				}
			}
		})
		if len(l.broken) == 0 {
			l.tidy()
			l.check(ref, job.StateCompleted)
		}
		if len(l.broken) > 0 || !taken {
			t.Fatalf("%s\n\n%s", strings.Join(l.broken, "\n"), l.story())
		}
	})
}
