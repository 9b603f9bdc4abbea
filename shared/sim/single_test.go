package sim_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"sealift/shared/job"
)

// The variable of effort asks for more than a normal run of the tests: whole plays every test for every shape, long also
// every pair of faults of the smallest job.
const (
	effortVariable = "SEALIFT_SIM"
	effortWhole    = "whole"
	effortLong     = "long"
)

// thorough are the references that are played through fault by fault: all of them, or in a normal run those that have
// every kind of shard, and none.
func thorough(t *testing.T) []reference {
	t.Helper()
	all := references(t)
	if effort := os.Getenv(effortVariable); effort == effortWhole || effort == effortLong {
		return all
	}
	return []reference{all[0], smallest(all)}
}

// smallest is the reference of the job with the fewest calls.
func smallest(refs []reference) reference {
	return slices.MinFunc(refs, func(a, b reference) int { return a.answers - b.answers })
}

// faults are the deeds that one call may suffer without the job failing.
func faults() []deed {
	return []deed{refuse, throttle, loseCall, loseAnswer, comeLate, repeat, dieBefore, dieAfter, stall, freeze, suspend, tellToStop}
}

// blow is what is done to the nth call of a life.
type blow struct {
	number int
	deed   deed
}

func (l *life) strikes(blows ...blow) func(*parked) deed {
	return func(*parked) deed {
		for _, blow := range blows {
			if blow.number == l.answers {
				return blow.deed
			}
		}
		return letItBe
	}
}

// struck plays one life with blows and gives its broken rules.
func struck(t *testing.T, ref reference, blows ...blow) (l *life) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		l = newLife(ref.shape, 0)
		defer l.close()
		l.disturb = l.strikes(blows...)
		l.ask()
		l.play(nil)
		if len(l.broken) == 0 {
			l.tidy()
			l.check(ref, job.StateCompleted)
			l.checkActions(ref)
		}
	})
	return l
}

// checkActions holds that the audit has exactly what an undisturbed life's has.
func (l *life) checkActions(ref reference) {
	if have := l.actions(); !slices.Equal(have, ref.actions) {
		l.breaks("the audit is %q, want %q", have, ref.actions)
	}
}

// TestEverySingleFaultIsSurvived counts the calls of an undisturbed life and then plays one life for each of them and
// each fault. Every one must end with the same bytes, the same audit and nothing left over.
func TestEverySingleFaultIsSurvived(t *testing.T) {
	t.Parallel()
	for _, ref := range thorough(t) {
		t.Run(ref.shape.name, func(t *testing.T) {
			t.Parallel()
			for _, deed := range faults() {
				for number := 1; number <= ref.answers; number++ {
					if l := struck(t, ref, blow{number, deed}); len(l.broken) > 0 {
						t.Fatalf("call %d %s:\n%s\n\n%s", number, deed, strings.Join(l.broken, "\n"), l.story())
					}
				}
			}
			t.Logf("%d calls, %d faults each", ref.answers, len(faults()))
		})
	}
}

// TestEveryAnsweredFaultNeedsNoSweeper tries the faults after which somebody is still there to go on, without a sweeper
// until the job has ended: no work may wait for a lease to run out, or for a timer, when its holder could say so.
func TestEveryAnsweredFaultNeedsNoSweeper(t *testing.T) {
	t.Parallel()
	for _, ref := range thorough(t) {
		for _, kind := range []deed{letItBe, refuse, throttle, repeat, tellToStop} {
			// The message of create itself is the one that only the sweeper makes up for.
			for number := 5; number <= ref.answers; number++ {
				var l *life
				synctest.Test(t, func(*testing.T) {
					l = newLife(ref.shape, 0)
					defer l.close()
					l.sweeps = false
					strikes := l.strikes(blow{number, kind})
					l.disturb = func(p *parked) deed {
						if d := strikes(p); d != tellToStop || p.call.Subject != "claim" {
							return d
						}
						return letItBe // a claim that arrives after its caller left has nobody to speak for it
					}
					l.ask()
					l.play(func() { l.sweeps = l.id != "" && l.state().Terminal() })
					l.checkState(job.StateCompleted)
				})
				if len(l.broken) > 0 {
					t.Fatalf("%s: call %d %s:\n%s\n\n%s", ref.shape.name, number, kind, strings.Join(l.broken, "\n"), l.story())
				}
			}
		}
	}
}

// TestEveryPairOfFaultsIsSurvived does the same with every two faults, on the smallest job.
func TestEveryPairOfFaultsIsSurvived(t *testing.T) {
	t.Parallel()
	ref := smallest(references(t))
	every := 997
	if os.Getenv(effortVariable) == effortLong {
		every = 1
	}
	lives, n := 0, 0
	for first := 1; first <= ref.answers; first++ {
		if every == 1 && first%10 == 1 && first > 1 {
			t.Logf("%d lives, with every first blow up to call %d of %d", lives, first-1, ref.answers)
		}
		for second := first + 1; second <= ref.answers+10; second++ {
			for _, one := range faults() {
				for _, other := range faults() {
					if n++; n%every != 0 {
						continue
					}
					lives++
					if l := struck(t, ref, blow{first, one}, blow{second, other}); len(l.broken) > 0 {
						t.Fatalf("call %d %s and call %d %s:\n%s\n\n%s", first, one, second, other, strings.Join(l.broken, "\n"), l.story())
					}
				}
			}
		}
	}
	t.Logf("%d lives of %d pairs", lives, n)
}

// TestACancelAtAnyPointHasOneWinner cancels before each call of a life, alone and while the caller is frozen past its
// lease or dead.
func TestACancelAtAnyPointHasOneWinner(t *testing.T) {
	t.Parallel()
	for _, ref := range thorough(t) {
		t.Run(ref.shape.name, func(t *testing.T) {
			t.Parallel()
			ends := map[job.State]int{}
			for _, deed := range []deed{letItBe, freeze, stall, dieBefore, dieAfter, loseAnswer, comeLate} {
				for number := 1; number <= ref.answers; number++ {
					l := cancelled(t, ref, blow{number, deed})
					if len(l.broken) > 0 {
						t.Fatalf("cancelled at call %d %s:\n%s\n\n%s", number, deed, strings.Join(l.broken, "\n"), l.story())
					}
					ends[l.state()]++
				}
			}
			t.Logf("ends: %s", fmt.Sprint(ends))
			if ends[job.StateCompleted] == 0 || ends[job.StateCancelled] == 0 {
				t.Errorf("only one side ever wins: %v", ends)
			}
		})
	}
}

// cancelled plays one life in which the cancel begins when the call of the blow is reached.
func cancelled(t *testing.T, ref reference, blow blow) (l *life) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		l = newLife(ref.shape, 0)
		defer l.close()
		asked := false
		l.disturb = l.strikes(blow)
		l.ask()
		l.play(func() {
			if !asked && l.id != "" && l.answers >= blow.number {
				asked = true
				l.cancel()
			}
		})
		if len(l.broken) == 0 {
			l.tidy()
			l.check(ref, job.StateCompleted, job.StateCancelled)
		}
	})
	return l
}
