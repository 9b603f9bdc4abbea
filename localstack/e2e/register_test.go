package e2e

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rowsMax bounds an export's rows that are modelled, and the writes of one of its moves.
const rowsMax = 16

// rowsOfOne are one export's rows: the job's first, then its units'.
type rowsOfOne [rowsMax]register

// register is what a row says about who may move it. A job's is its state and version and what it has counted, a unit's its
// lease.
type register struct {
	there                                  bool
	state, version, shards, done, publish  string
	generation, lease, plan, parts, upload string
	process                                string // who holds the lease
}

// field is where a guard or a write of the ledger's finds its value; nil for what is not modelled.
func (r *register) field(name string) *string {
	switch name {
	case "state":
		return &r.state
	case "version":
		return &r.version
	case "shards":
		return &r.shards
	case "shards_done":
		return &r.done
	case "publish_key":
		return &r.publish
	case "generation":
		return &r.generation
	case "lease_until_ms":
		return &r.lease
	case "plan_generation":
		return &r.plan
	case "part_count":
		return &r.parts
	case "upload_id":
		return &r.upload
	default:
		return nil
	}
}

// write is one row's share of a move.
type write struct {
	pk, sk string
	insert bool
	guards []guard
	set    [][2]string
	add    [][2]string
	remove []string
}

// guard is one condition: the field is absent, or is one of the values, or less than the number.
type guard struct {
	field        string
	absent, less bool
	values       []string
}

// row is the index of a write's row among an export's; -1 for rows that are not modelled.
func (w write) row() int {
	if !strings.HasPrefix(w.pk, "JOB#") {
		return -1
	}
	unit, isUnit := strings.CutPrefix(w.sk, "UNIT#")
	known := []string{"plan", "finalize", "clean"}
	switch {
	case w.sk == "JOB":
		return 0
	case !isUnit:
		return -1
	case slices.Contains(known, unit):
		return 1 + slices.Index(known, unit)
	}
	n, err := strconv.Atoi(strings.TrimLeft(unit, "s0"))
	if err != nil || 3+n >= rowsMax {
		return -1
	}
	return 3 + n
}

// step is the export as it must behave when one move happens at a time: an accepted one was allowed, and of a refused one
// exactly the rows that are named stood in its way. One of unknown outcome happens if it can; that it never did is the same
// as that it happened after everything else.
func (rows rowsOfOne) step(m move, v verdict) (bool, any) {
	next, can := rows, true
	for i, w := range m.writes {
		at := w.row()
		if at < 0 {
			continue
		}
		holds, known := w.holds(rows[at])
		if !v.accepted && !v.unknown && known && holds == v.refused[i] {
			return false, rows
		}
		can = can && holds && w.allowed(rows[at], m)
		next[at] = w.applied(rows[at], m)
	}
	switch {
	case v.accepted:
		return can, next
	case v.unknown && can:
		return true, next
	}
	return true, rows
}

// holds reports whether a write's own guards hold on a row; known is false when one of them is about what is not modelled.
func (w write) holds(r register) (holds, known bool) {
	holds, known = true, true
	for _, g := range w.guards {
		have, there := "", r.there
		if g.field != "pk" {
			at := r.field(g.field)
			if at == nil {
				known = false
				continue
			}
			have, there = *at, *at != ""
		}
		fits := g.absent && !there || there && slices.Contains(g.values, have)
		if g.less && there && whole64(have) < whole64(g.values[0]) {
			fits = true
		}
		holds = holds && fits
	}
	return holds, known
}

// allowed is what must be true of a row before a move whatever the move's own guards say: this is the lease and the state
// machine, not the ledger's conditions.
func (w write) allowed(r register, m move) bool {
	set := map[string]string{}
	for _, s := range w.set {
		set[s[0]] = s[1]
	}
	if w.sk == "JOB" {
		return w.legal(r, set)
	}
	_, owner := set["owner"]
	switch {
	case owner: // a claim
		free := r.state == "pending" || r.state == "waiting" || r.state == "leased" && whole64(r.lease) < m.heldMS
		return free && whole64(set["generation"]) == whole64(r.generation)+1
	case w.byHolder():
		return r.state == "leased" && r.process == m.process && (set["lease_until_ms"] == "" || whole64(set["lease_until_ms"]) > whole64(r.lease))
	case set["state"] == "retired":
		return r.state != "done" && r.state != "failed" && whole64(set["generation"]) == whole64(r.generation)+1
	case w.insert:
		return whole64(r.generation) == 0
	default: // a nudge, or the clean unit that is put to work
		return set["state"] == "" || r.state == "waiting" || w.sk == "UNIT#clean"
	}
}

// byHolder reports whether a unit's write is one that only the holder of its lease makes.
func (w write) byHolder() bool {
	leased := slices.ContainsFunc(w.guards, func(g guard) bool { return g.field == "state" && slices.Contains(g.values, "leased") })
	return leased && w.value("owner") == "" && w.value("state") != "retired"
}

// legal is the state machine of a job.
func (w write) legal(r register, set map[string]string) bool {
	if w.insert {
		return !r.there && set["state"] == "queued"
	}
	for _, a := range w.add {
		if a[0] == "shards_done" && (r.state != "running" || whole64(r.done) >= whole64(r.shards)) {
			return false
		}
	}
	if version, moved := set["version"]; moved && whole64(version) != whole64(r.version)+1 {
		return false
	}
	to, moved := set["state"]
	from := map[string][]string{
		"running": {"queued"}, "publishing": {"running"}, "completed": {"publishing"}, "cancelled": {"queued", "running"},
		"failed": {"queued", "running", "publishing"}, "expired": {"completed"},
	}[to]
	return !moved || slices.Contains(from, r.state)
}

// applied is the row after the write.
func (w write) applied(r register, m move) register {
	if w.insert {
		r = register{}
	}
	if len(w.set)+len(w.add)+len(w.remove) > 0 {
		r.there = true
	}
	for _, s := range w.set {
		if s[0] == "owner" {
			r.process = m.process
		}
		if at := r.field(s[0]); at != nil {
			*at = s[1]
		}
	}
	for _, a := range w.add {
		if at := r.field(a[0]); at != nil {
			*at = strconv.FormatInt(whole64(*at)+whole64(a[1]), 10)
		}
	}
	for _, name := range w.remove {
		if at := r.field(name); at != nil {
			*at = ""
		}
	}
	return r
}

func whole64(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// read takes a write of the wire apart. Its expressions have the few forms that the ledger's adapter writes.
func (a action) read() write {
	w := write{insert: a.Item != nil}
	key := a.Key
	if w.insert {
		key = a.Item
		for name, v := range a.Item {
			w.set = append(w.set, [2]string{name, string(v)})
		}
	}
	w.pk, w.sk = string(key["pk"]), string(key["sk"])
	names := regexp.MustCompile(`#\d+`)
	values := regexp.MustCompile(`:\d+`)
	for _, term := range strings.Split(a.ConditionExpression, " AND ") {
		g := guard{field: a.ExpressionAttributeNames[names.FindString(term)], absent: strings.Contains(term, "attribute_not_exists"), less: strings.Contains(term, "<")}
		for _, placeholder := range values.FindAllString(term, -1) {
			g.values = append(g.values, string(a.ExpressionAttributeValues[placeholder]))
		}
		w.guards = append(w.guards, g)
	}
	for _, clause := range regexp.MustCompile(`(SET|ADD|REMOVE) ([^A-Z]*)`).FindAllStringSubmatch(a.UpdateExpression, -1) {
		for _, term := range strings.Split(clause[2], ", ") {
			name := a.ExpressionAttributeNames[names.FindString(term)]
			pair := [2]string{name, string(a.ExpressionAttributeValues[values.FindString(term)])}
			switch {
			case strings.Contains(term, "list_append") || !strings.Contains(term, "#"):
			case clause[1] == "SET":
				w.set = append(w.set, pair)
			case clause[1] == "ADD":
				w.add = append(w.add, pair)
			default:
				w.remove = append(w.remove, name)
			}
		}
	}
	return w
}
