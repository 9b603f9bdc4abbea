package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// point is one call of a function on its way with one export: the nth of its kind.
type point struct {
	function, service, operation string
	nth                          int
	// about is what the call's subject holds besides or instead of the export's id.
	about string
}

// strike is one misbehaviour at one point.
type strike struct {
	point

	way string
}

func (s strike) String() string {
	return strings.TrimSpace(s.way + " at " + s.function + "'s " + s.operation + " " + itoa(s.nth) + " " + s.about)
}

// The ways in which a call goes wrong.
const (
	killBefore  = "kill_before"
	killAfter   = "kill_after"
	dropAnswer  = "drop_answer"
	dropRequest = "drop_request"
	throttle    = "throttle"
)

// ways are those of the crash matrix: the caller dies before or after the call, or never hears that it took effect; the
// call never arrives, or is refused because there are too many.
func ways() []string { return []string{killBefore, killAfter, dropAnswer, dropRequest, throttle} }

// plan says how much of the matrix is played.
type plan struct {
	all  bool
	most int
	seed uint64
}

// planned reads SEALIFT_CRASH: nothing for the least, which strikes every function's every operation in every way that
// kills or leaves in doubt once, and every service in the others;
// "all" for every call; a number for as many of them, drawn with SEALIFT_SEED.
func planned(t *testing.T) plan {
	t.Helper()
	p := plan{seed: 1}
	switch text := os.Getenv("SEALIFT_CRASH"); text {
	case "":
	case "all":
		p.all = true
	default:
		p.most = number(t, text)
	}
	if text := os.Getenv("SEALIFT_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		ok(t, err)
		p.seed = seed
	}
	return p
}

// strikes are the matrix of points and ways, as far as the plan goes, in a random order.
func (p plan) strikes(points []point) []strike {
	var list []strike
	for _, at := range points {
		for _, way := range ways() {
			list = append(list, strike{at, way})
		}
	}
	if p.all {
		return list
	}
	random := rand.New(rand.NewPCG(p.seed, 3))
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var first, rest []strike
	seen := map[cell]bool{}
	for _, s := range list {
		c := s.cell()
		if s.way == dropRequest || s.way == throttle {
			c.operation = s.service // these cost a repetition and nothing else, whatever the call
		}
		if seen[c] {
			rest = append(rest, s)
		} else {
			seen[c] = true
			first = append(first, s)
		}
	}
	if p.most == 0 {
		return first
	}
	list = append(first, rest...)
	return list[:min(p.most, len(list))]
}

// own is what a call is about that does not name its export: the definition or its connection, or the key that signs.
const own = "definition"

// keys is the service of the key that signs receipts.
const keys = "kms"

// points are the calls that functions have made on their way with one export, each with its number among its kind. Without
// an export all their calls are.
func points(calls []call, id string, functions ...string) []point {
	var list []point
	seen := map[point]int{}
	for _, c := range calls {
		function := strings.TrimPrefix(c.Function, stack+"-")
		if !slices.Contains(functions, function) {
			continue
		}
		at := point{function: function, service: c.Service, operation: c.Operation}
		if !strings.Contains(c.Subject, id) {
			at.about = own
		}
		seen[at]++
		at.nth = seen[at]
		list = append(list, at)
	}
	return list
}

// cell is a field of the table of outcomes.
type cell struct{ function, operation, way string }

func (s strike) cell() cell { return cell{s.function, s.operation, s.way} }

// outcomes is the table that a matrix ends with.
type outcomes map[cell]*outcome

type outcome struct{ strikes, struck, converged int }

// saw notes how a strike has ended. One that never struck is told and counted as such.
func (o outcomes) saw(t *testing.T, s strike, struck bool, broken []string) {
	t.Helper()
	if o[s.cell()] == nil {
		o[s.cell()] = &outcome{}
	}
	field := o[s.cell()]
	field.strikes++
	if struck {
		field.struck++
	} else {
		t.Logf("never struck: %s", s)
	}
	if len(broken) == 0 {
		field.converged++
		return
	}
	t.Errorf("%s: %s", s, strings.Join(broken, "; "))
}

// missing are strikes for each field of the table that has none yet that struck: at the first call of its kind about each
// thing that such calls were about. How many calls there are, and about what, can depend on who comes first.
func (o outcomes) missing(strikes []strike, points []point) (list []strike) {
	seen := map[strike]bool{}
	for _, s := range strikes {
		if o[s.cell()].struck > 0 {
			continue
		}
		for _, at := range points {
			again := strike{at, s.way}
			again.nth = 1
			if again.cell() == s.cell() && !seen[again] {
				seen[again] = true
				list = append(list, again)
			}
		}
	}
	return list
}

// print shows the table. A field in which nothing struck is an error: that part of the matrix was not played.
func (o outcomes) print(t *testing.T) {
	t.Helper()
	var text strings.Builder
	total := outcome{}
	_, _ = fmt.Fprintf(&text, "\n%-14s %-26s %-13s %8s %8s %10s\n", "function", "operation", "way", "strikes", "struck", "converged")
	for _, c := range slices.SortedFunc(maps.Keys(o), func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.function, b.function), cmp.Compare(a.operation, b.operation), cmp.Compare(a.way, b.way))
	}) {
		field := o[c]
		_, _ = fmt.Fprintf(&text, "%-14s %-26s %-13s %8d %8d %10d\n", c.function, c.operation, c.way, field.strikes, field.struck, field.converged)
		total.strikes, total.struck, total.converged = total.strikes+field.strikes, total.struck+field.struck, total.converged+field.converged
		if field.struck == 0 {
			t.Errorf("no %s at %s's %s ever struck", c.way, c.function, c.operation)
		}
	}
	_, _ = fmt.Fprintf(&text, "%-55s %8d %8d %10d, %d never struck", "all", total.strikes, total.struck, total.converged, total.strikes-total.struck)
	t.Log(text.String())
}
