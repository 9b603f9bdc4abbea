package sim_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	// seedsVariable asks for more random lives than the normal ones, or with first-last for exactly those seeds.
	seedsVariable = "SEALIFT_SEEDS"
	// skipVariable leaves out troubles of a life, as the shortening of a failing one has found that they don't matter.
	skipVariable = "SEALIFT_SKIP"

	seedsNormal = 2000
	searchers   = 4
)

// TestEveryDisturbedLifeEndsWell plays whole exports in random weather. Every life must end with the bytes of an
// undisturbed one, or as somebody wished, with nothing left over, without breaking a rule on the way.
func TestEveryDisturbedLifeEndsWell(t *testing.T) {
	t.Parallel()
	refs := references(t)
	first, last := seeds(t)
	skip := skipped(t)
	var lives atomic.Uint64
	var sum struct {
		sync.Mutex
		tally
	}
	var next atomic.Uint64
	next.Store(first)
	var failed atomic.Bool
	t.Run("search", func(t *testing.T) {
		for n := range searchers {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				for seed := next.Add(1) - 1; seed <= last && !failed.Load(); seed = next.Add(1) - 1 {
					l := live(t, refs, seed, skip)
					lives.Add(1)
					sum.Lock()
					sum.add(l.tally)
					sum.Unlock()
					if first == last && len(l.broken) == 0 {
						t.Logf("seed %d:\n%s", seed, l.story())
					}
					if len(l.broken) > 0 && failed.CompareAndSwap(false, true) {
						report(t, refs, seed, l, skip)
					}
				}
			})
		}
	})
	t.Logf("%d lives; %s", lives.Load(), sum.tally.String())
}

// report shortens a failing life and prints how to see it again.
func report(t *testing.T, refs []reference, seed uint64, l *life, skip map[int]bool) {
	t.Helper()
	for trouble := l.troubles; trouble >= 1; trouble-- {
		if skip[trouble] {
			continue
		}
		shorter := maps.Clone(skip)
		shorter[trouble] = true
		if again := live(t, refs, seed, shorter); len(again.broken) > 0 {
			skip, l = shorter, again
		}
	}
	var without []string
	for _, trouble := range slices.Sorted(maps.Keys(skip)) {
		without = append(without, strconv.Itoa(trouble))
	}
	t.Errorf("%s\n\n%s\nseed %d fails; again, alone and shortened: %s=%d-%d %s=%s go test ./shared/sim -run DisturbedLife",
		l.story(), strings.Join(l.broken, "\n"), seed, seedsVariable, seed, seed, skipVariable, strings.Join(without, ","))
}

// TestASeedAlwaysGivesTheSameLife plays lives again and compares their traces.
func TestASeedAlwaysGivesTheSameLife(t *testing.T) {
	t.Parallel()
	refs := references(t)
	seeds := uint64(40)
	if os.Getenv(effortVariable) == effortLong {
		seeds = 1000
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		want := live(t, refs, seed, nil).story()
		for range 4 {
			if have := live(t, refs, seed, nil).story(); have != want {
				t.Fatalf("seed %d gives another life\n%s", seed, firstDifference(want, have))
			}
		}
	}
	t.Logf("%d seeds, 5 times each", seeds)
}

func firstDifference(a, b string) string {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(linesA), len(linesB)) {
		if linesA[i] != linesB[i] {
			from := max(0, i-10)
			return strings.Join(linesA[from:i], "\n") + fmt.Sprintf("\n- %s\n+ %s", linesA[i], linesB[i])
		}
	}
	return fmt.Sprintf("one has %d lines, the other %d", len(linesA), len(linesB))
}

func seeds(t *testing.T) (first, last uint64) {
	t.Helper()
	text := os.Getenv(seedsVariable)
	if text == "" {
		return 1, seedsNormal
	}
	from, to, span := strings.Cut(text, "-")
	if !span {
		from, to = "1", text
	}
	first, errFirst := strconv.ParseUint(from, 10, 64)
	last, errLast := strconv.ParseUint(to, 10, 64)
	if errFirst != nil || errLast != nil {
		t.Fatalf("%s is %q, want a number of seeds or first-last", seedsVariable, text)
	}
	return first, last
}

func skipped(t *testing.T) map[int]bool {
	t.Helper()
	skip := map[int]bool{}
	for _, text := range strings.FieldsFunc(os.Getenv(skipVariable), func(r rune) bool { return r == ',' }) {
		number, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s has %q, want numbers with commas between", skipVariable, text)
		}
		skip[number] = true
	}
	return skip
}
