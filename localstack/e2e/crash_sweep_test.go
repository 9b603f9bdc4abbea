package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The troubles that give the sweeper work. Those of a day's age come later than the others, when the clock has been moved.
const (
	lost      = "lost"      // the message that wakes the planner never came
	dead      = "dead"      // a shard's worker died with its lease
	finished  = "finished"  // completed, staging is still there
	cancelled = "cancelled" // cancelled in the middle of an upload
	expired   = "expired"   // completed long ago
	aged      = "aged"      // never begun, for too long
	orphan    = "orphan"    // an object and an upload of no job
)

func troubles() []string { return []string{lost, dead, finished, cancelled, expired, aged, orphan} }

func late(trouble string) bool { return slices.Contains([]string{expired, aged, orphan}, trouble) }

// dayMS is more than the longest age that a trouble has to reach, in milliseconds.
const dayMS = 49 * 3_600_000

// TestCrashMatrixOfSweeper strikes the sweeper while it has work of every kind, at every call that it makes about each, and
// at those that it makes about none. In the end everything is recovered, cleaned and removed.
func TestCrashMatrixOfSweeper(t *testing.T) {
	t.Parallel()
	w := calmly(t)
	m := sweeping{matrix: matrix{world: w, plan: planned(t), outcomes: outcomes{}, ana: w.user(t, tenant, "ana")}, made: map[string]int{}}
	m.tables(t)
	// Keys of others fill the first page of a listing, so that every sweep has to remember where it stopped.
	for n := range 201 {
		m.put(t, fmt.Sprintf("staging/0/others-%03d", n))
	}
	at := append(m.reference(t, false), m.reference(t, true)...)
	strikes := m.strikes(at)
	t.Logf("the sweeper makes %d calls about one trouble of each kind and about none; %d strikes, seed %d", len(at), len(strikes), m.seed)
	m.roundAll(t, strikes)
	m.roundAll(t, m.missing(strikes, at))
	m.print(t)
	linearizable(t, w.balance(t, tenant))
}

// roundAll plays strikes, those of late troubles last.
func (m *sweeping) roundAll(t *testing.T, strikes []strike) {
	t.Helper()
	for _, later := range []bool{false, true} {
		var some []strike
		for _, s := range strikes {
			if late(strings.Fields(s.about)[0]) == later {
				some = append(some, s)
			}
		}
		for part := range slices.Chunk(some, 150) {
			m.round(t, later, part)
			t.Logf("%d strikes at the sweeper are over", len(part))
		}
	}
}

// sweeping is the sweeper's matrix.
type sweeping struct {
	matrix

	made map[string]int // how many troubles of a kind there were
}

func (m *sweeping) tables(t *testing.T) {
	t.Helper()
	plain := "plain"
	list := orders(31, 1_500, func(int) *string { return &plain })
	m.connect(t, "small", sqlite(t, list))
	m.connect(t, "wide", sqlite(t, wide()))
	limits := map[string]any{"shard_rows": 1_000, "active_jobs_max": 1000, "retention_days": 1}
	m.define(t, definition("small", "small", limits))
	m.define(t, definition("wide", "wide", map[string]any{"shard_rows": wideShardRows, "active_jobs_max": 1000}))
	id := m.ana.create(t, whole("small", "csv", "none"), "undisturbed")
	m.ana.completed(t, id)
	m.want = truthOf(t, list, m.ana.download(t, id))
	m.over(t, []string{id})
}

// reference plays one trouble of each kind undisturbed and returns the calls that the sweeper makes: those about each, and
// once those about none.
func (m *sweeping) reference(t *testing.T, later bool) []point {
	t.Helper()
	var some []strike
	for _, trouble := range troubles() {
		if late(trouble) == later {
			some = append(some, strike{point: point{about: trouble}})
		}
	}
	ids, calls := m.round(t, later, some)
	var list []point
	for i, s := range some {
		list = append(list, about(calls, ids[i], s.about)...)
	}
	if later {
		return list
	}
	seen := map[point]bool{}
	for _, c := range calls {
		at := point{function: "sweep-orphans", service: c.Service, operation: c.Operation, nth: 1, about: "none " + c.Subject}
		if c.Function == stack+"-sweep-orphans" && !strings.Contains(c.Subject, "exp_") && !seen[at] {
			seen[at] = true
			list = append(list, at)
		}
	}
	return list
}

// about are the sweeper's calls about one trouble. Every sweep reads the rows of whatever is stored once more, so reads are
// counted by their row, and few of each.
func about(calls []call, id, kind string) (list []point) {
	const readsMost = 3
	var others []call
	reads := map[string]int{}
	for _, c := range calls {
		if c.Function != stack+"-sweep-orphans" || !strings.Contains(c.Subject, id) {
			continue
		}
		if c.Operation != "GetItem" {
			others = append(others, c)
			continue
		}
		subject := strings.ReplaceAll(c.Subject, id, placeholder)
		if reads[subject]++; reads[subject] <= readsMost {
			list = append(list, point{function: "sweep-orphans", service: c.Service, operation: c.Operation, nth: reads[subject], about: kind + " " + subject})
		}
	}
	for _, at := range points(others, id, "sweep-orphans") {
		at.about = kind
		list = append(list, at)
	}
	return list
}

// placeholder stands for an export's id in what a call is about.
const placeholder = "EXPORT"

// round makes a trouble for each strike, sets the strikes and sweeps until all is well again.
func (m *sweeping) round(t *testing.T, later bool, some []strike) (ids []string, calls []call) {
	t.Helper()
	m.faults(t, http.MethodPut, standstill())
	ids = make([]string, len(some))
	// Those that need sweeps to come to be go first: the others must not be swept before they are struck.
	for _, first := range []bool{true, false} {
		var begun []int
		for i, s := range some {
			if kind := strings.Fields(s.about)[0]; (kind == expired) == first {
				ids[i] = m.trouble(t, kind)
				begun = append(begun, i)
			}
		}
		m.brew(t, some, ids, begun)
	}
	if later {
		m.forward(t, "dynamodb", dayMS)
	} else {
		m.forward(t, "dynamodb", leaseMS)
	}
	made := m.world.made(t)
	m.faults(t, http.MethodDelete, nil)
	for i, s := range some {
		if s.way == "" {
			continue
		}
		match := rule{"function": stack + "-" + s.function, "service": s.service, "operation": s.operation, "nth": s.nth}
		if _, subject, whole := strings.Cut(s.about, " "); whole {
			match["subject"] = strings.ReplaceAll(subject, placeholder, ids[i])
		} else {
			match["key"] = ids[i]
		}
		m.faults(t, http.MethodPost, rule{"id": itoa(i), "match": match, "action": s.way})
	}
	m.calm(t, "not every trouble is over", m.well(t, some, ids))
	struck := map[any]bool{}
	for _, r := range m.faults(t, http.MethodGet, nil) {
		struck[r["id"]] = r["struck"] != 0.0
	}
	m.faults(t, http.MethodDelete, nil)
	stored := m.stored(t)
	for i, s := range some {
		broken := m.ending(t, s, ids[i], stored)
		if s.way != "" {
			m.saw(t, s, struck[itoa(i)], broken)
		} else if len(broken) > 0 {
			t.Fatalf("%s without a strike: %s", s.about, strings.Join(broken, "; "))
		}
	}
	return ids, m.callsSince(t, made)
}

// trouble begins one.
func (m *sweeping) trouble(t *testing.T, kind string) string {
	t.Helper()
	m.made[kind]++
	number := m.made[kind]
	switch kind {
	case orphan:
		id := fmt.Sprintf("exp_%026d", number)
		m.put(t, "staging/"+tenant+"/"+id+"/s00001/0000000001")
		_, err := m.s3().CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &m.bucket, Key: aws.String("staging/" + tenant + "/" + id + "/s00002/0000000001")})
		ok(t, err)
		return id
	case cancelled:
		id := m.ana.create(t, whole("wide", "csv", "none"), fmt.Sprint(kind, number))
		m.faults(t, http.MethodPost, rule{"match": rule{"function": stack + "-process-shard", "operation": "UploadPart", "key": id, "nth": 1}, "action": killAfter})
		return id
	case dead:
		id := m.ana.create(t, whole("small", "csv", "none"), fmt.Sprint(kind, number))
		m.faults(t, http.MethodPost, rule{"match": rule{"function": stack + "-process-shard", "operation": "UpdateItem", "key": id, "nth": 1}, "action": killAfter})
		return id
	default:
		return m.ana.create(t, whole("small", "csv", "none"), fmt.Sprint(kind, number))
	}
}

// brew brings some of the troubles to where the sweeper finds them.
func (m *sweeping) brew(t *testing.T, some []strike, ids []string, begun []int) {
	t.Helper()
	var complete []string
	for _, i := range begun {
		kind := strings.Fields(some[i].about)[0]
		if slices.Contains([]string{dead, finished, cancelled, expired}, kind) {
			m.send(t, "plan", `{"schema": 1, "job": "`+ids[i]+`", "unit": "plan"}`)
		}
		if kind == expired {
			complete = append(complete, ids[i])
		}
	}
	m.rest(t)
	for _, i := range begun {
		if strings.Fields(some[i].about)[0] == cancelled {
			m.ana.do(t, http.MethodPost, "/v1/exports/"+ids[i]+"/cancel", nil).want(t, http.StatusOK)
		}
	}
	if len(complete) > 0 {
		m.over(t, complete)
	}
}

// ends are the states that a trouble's export ends in.
func ends(kind string) string {
	return map[string]string{cancelled: "cancelled", expired: "expired", aged: "failed"}[kind]
}

// well tells, each time it is asked, which troubles are not over yet; those that are over stay so.
func (m *sweeping) well(t *testing.T, some []strike, ids []string) func() (string, bool) {
	t.Helper()
	over := make([]bool, len(some))
	return func() (string, bool) {
		open := map[string]int{}
		var stored string
		for i, s := range some {
			kind := strings.Fields(s.about)[0]
			switch {
			case over[i]:
			case kind == orphan:
				if stored == "" {
					stored = strings.Join(m.stored(t), " ")
				}
				over[i] = !strings.Contains(stored, ids[i])
			default:
				end := ends(kind)
				if end == "" {
					end = "completed"
				}
				over[i] = m.item(t, "JOB#"+ids[i], "JOB")["state"] == end && m.item(t, "JOB#"+ids[i], "UNIT#clean")["state"] == "done"
			}
			if !over[i] {
				open[kind]++
			}
		}
		for _, r := range m.faults(t, http.MethodGet, nil) {
			if about, _ := r["match"].(map[string]any)["subject"].(string); about != "" && !strings.Contains(about, "exp_") && r["struck"] == 0.0 {
				open["call about none"]++
			}
		}
		return fmt.Sprint(slices.Sorted(maps.Keys(open)), open), len(open) == 0
	}
}

// ending says what is wrong with a trouble's end.
func (m *sweeping) ending(t *testing.T, s strike, id string, stored []string) []string {
	t.Helper()
	kind := strings.Fields(s.about)[0]
	if kind == orphan {
		if strings.Contains(strings.Join(stored, " "), id) {
			return []string{"the orphans are still there"}
		}
		return nil
	}
	all := m.rows(t, "JOB#"+id)
	broken := leavings(all, id, stored)
	if end := ends(kind); end != "" {
		if all["JOB"]["state"] != end || kind == aged && !strings.Contains(all["JOB"]["failure"], "job_too_old") {
			broken = append(broken, "the export is "+all["JOB"]["state"]+" "+all["JOB"]["failure"]+", want "+end)
		}
		return broken
	}
	return append(broken, m.conserved(t, id, m.want)...)
}

func (w *world) put(t *testing.T, key string) {
	t.Helper()
	_, err := w.s3().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &w.bucket, Key: &key, Body: strings.NewReader("x")})
	ok(t, err)
}
