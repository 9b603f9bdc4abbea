package sim

import (
	"slices"
	"strings"

	"sealift/shared/job"
)

// The fields that the rules are about, as the ledger's rows spell them.
const (
	fieldState      = "state"
	fieldGeneration = "generation"
	fieldVersion    = "version"
)

// step is one write of a change that is about to happen.
type step struct {
	write     job.Write
	old, next job.Fields
}

// patrol checks one change.
type patrol struct {
	world  *World
	actor  string
	change string
	steps  []step
}

// police records every rule that the change breaks. The world is locked.
func police(w *World, actor, change string, steps []step) {
	p := patrol{world: w, actor: actor, change: change, steps: steps}
	for i := range steps {
		s := &steps[i]
		if s.write.Check {
			continue
		}
		p.row(s)
		if strings.HasPrefix(s.write.Key.SK, "EVENT#") {
			p.rule(s.old == nil && s.write.Insert, s, "the audit is append-only")
			continue
		}
		_, unit, ok := job.ParseRowKey(s.write.Key)
		switch {
		case ok && unit == "":
			p.job(s)
		case ok:
			p.unit(s, unit)
		}
	}
}

// rule records a violation unless it holds.
func (p patrol) rule(holds bool, s *step, rule string) {
	if !holds {
		p.world.violate("%s of %s|%s: %s", p.change, s.write.Key.PK, s.write.Key.SK, rule)
	}
}

// row holds the rules of every row.
func (p patrol) row(s *step) {
	schema := int64(job.Schema)
	if !s.write.Insert {
		schema = max(schema, number(s.old, "schema")) // what a newer release wrote stays its row
	}
	p.rule(text(s.next, fieldState) == "" || number(s.next, "schema") == schema, s, "a row has a schema")
	for field := range s.changed {
		if number(s.next, field) < 0 && field != "rows_estimated" {
			p.rule(false, s, "field "+field+" is below zero")
		}
	}
	if s.write.Insert && s.old != nil {
		p.rule(slices.ContainsFunc(s.write.Guards, func(guard job.Guard) bool {
			_, present := s.old[guard.Field]
			return present
		}), s, "an insert replaced a row that it did not look at")
	}
	for _, field := range []string{"plan_generation", "part_count", fieldVersion} {
		if !s.write.Insert && number(s.next, field) < number(s.old, field) {
			p.rule(false, s, "field "+field+" went backwards")
		}
	}
}

// job holds the rules of a job's row.
func (p patrol) job(s *step) {
	from, to := job.State(text(s.old, fieldState)), job.State(text(s.next, fieldState))
	grown := number(s.next, fieldVersion) - number(s.old, fieldVersion)
	switch {
	case s.old == nil:
		p.rule(to == job.StateQueued && grown == 1, s, "a job begins queued with version 1")
	case from != to:
		if !jobLegal(from, to) {
			p.rule(false, s, "a job can't go from "+string(from)+" to "+string(to))
		}
		p.rule(grown == 1, s, "a transition counts the version up by one")
	default:
		p.rule(grown == 0 || grown == 1, s, "a version grows by one")
	}
	p.rule(grown == 0 || p.recorded(s), s, "a new version comes with its audit event")
	if from.Terminal() && from == to {
		p.rule(onlyChanged(s, fieldVersion, "updated_at_ms", "downloads", job.FieldDueAt, job.FieldDueBucket, "nudges", "updated_at_ms"), s, "a job that has ended is left alone")
	}
	for _, field := range []string{"artifact_key", "publish_key", "snapshot", "plan_generation", "shards", "ceiling"} {
		was, had := s.old[field]
		if had && was != s.next[field] {
			p.rule(false, s, "field "+field+" is fixed once and for all")
		}
	}
	if to == job.StateCompleted && from != to {
		p.rule(text(s.next, "artifact_key") != "" && s.next["artifact_key"] == s.next["publish_key"], s,
			"a job completes with the artifact that its publish record names")
	}
	if to == job.StatePublishing && from != to {
		p.rule(number(s.next, "shards_done") == number(s.next, "shards"), s, "a job publishes when all shards are done")
	}
	if shards := number(s.next, "shards"); shards > 0 {
		p.rule(number(s.next, "shards_done") <= shards, s, "more shards are done than there are")
	}
	if most := number(s.next, "downloads_max"); most > 0 {
		// Of many files each download is a link for the manifest and one for each of them.
		p.rule(number(s.next, "downloads") <= most*(number(s.next, "artifact_files")+1), s, "more downloads than allowed")
	}
	p.rule(number(s.next, "shards_done")-number(s.old, "shards_done") == p.shardsEnded(), s,
		"done shards are counted in the change that ends them")
	if p.world.whole {
		p.sums(s)
		p.published(s, from, to)
	}
	p.due(s, !to.Terminal() || to == job.StateCompleted)
}

// jobLegal reports whether a job may go from one state to the other. It is said here once more, so that a mistake in the
// table of package job is none in the rule.
func jobLegal(from, to job.State) bool {
	var next []job.State
	switch from {
	case job.StateQueued:
		next = []job.State{job.StateRunning, job.StateFailed, job.StateCancelled}
	case job.StateRunning:
		next = []job.State{job.StatePublishing, job.StateFailed, job.StateCancelled}
	case job.StatePublishing:
		next = []job.State{job.StateCompleted, job.StateFailed}
	case job.StateCompleted:
		next = []job.State{job.StateExpired}
	case job.StateFailed, job.StateCancelled, job.StateExpired:
	}
	return slices.Contains(next, to)
}

// unit holds the rules of a unit's row.
func (p patrol) unit(s *step, id string) {
	from, to := job.UnitState(text(s.old, fieldState)), job.UnitState(text(s.next, fieldState))
	restaged := s.write.Insert && s.old != nil
	reused := id == job.CleanID && to == job.UnitPending
	if restaged {
		p.rule(number(s.old, fieldGeneration) == 0, s, "a plan replaced a shard that was claimed")
		p.rule(number(s.next, "plan_generation") > number(s.old, "plan_generation"), s, "an older plan replaced a newer one")
	} else {
		if !unitLegal(from, to) && !reused {
			p.rule(false, s, "a unit can't go from "+string(from)+" to "+string(to))
		}
		grown := number(s.next, fieldGeneration) - number(s.old, fieldGeneration)
		p.rule(grown == 0 || grown == 1, s, "a generation grows by one")
		claimed := to == job.UnitLeased && s.next["owner"] != s.old["owner"]
		p.rule(!claimed || grown == 1, s, "a unit has two holders of one generation")
		p.rule(!p.world.whole || !claimed || from != job.UnitLeased || number(s.old, "lease_until_ms") <= p.world.Clock.Now().UnixMilli(), s,
			"a lease was taken before its end")
		held := from == job.UnitLeased && to == from && !claimed
		p.rule(!held || number(s.next, "lease_until_ms") >= number(s.old, "lease_until_ms"), s, "a lease was cut short under its holder")
		p.rule(number(s.next, "rows") >= number(s.old, "rows"), s, "progress went backwards")
		p.rule(from != job.UnitLeased || reused || p.fenced(s), s, "a leased unit was written without its generation")
	}
	if list, ok := s.next["parts"].([]string); ok {
		p.rule(number(s.next, "part_count") == int64(len(list)), s, "the list of parts has another length than its count")
	}
	if p.world.whole {
		p.stale(s, from, to)
		p.durable(s, from, to)
	}
	if to == job.UnitLeased {
		p.rule(number(s.next, "lease_until_ms") > 0 && text(s.next, "owner") != "", s, "a lease has an owner and an end")
	}
	p.due(s, !to.Over())
}

// unitLegal reports whether a unit's row may go from one state to the other.
func unitLegal(from, to job.UnitState) bool {
	switch from {
	case "":
		return to == job.UnitPending
	case job.UnitPending:
		return to == job.UnitPending || to == job.UnitLeased || to == job.UnitRetired
	case job.UnitLeased:
		return true
	case job.UnitWaiting:
		return to == job.UnitWaiting || to == job.UnitPending || to == job.UnitLeased || to == job.UnitRetired
	case job.UnitDone, job.UnitFailed, job.UnitRetired:
		return false
	}
	return false
}

// fenced reports whether the write carries the unit's generation, or only says that somebody looked.
func (p patrol) fenced(s *step) bool {
	return onlyChanged(s, job.FieldDueAt, job.FieldDueBucket, "nudges") || slices.ContainsFunc(s.write.Guards, func(guard job.Guard) bool {
		return guard.Field == fieldGeneration && guard.Test == job.IsEqual
	})
}

// due holds the rule that every unfinished row says when somebody must look at it, and no finished one does.
func (p patrol) due(s *step, unfinished bool) {
	if unfinished {
		p.rule(number(s.next, job.FieldDueAt) > 0 && text(s.next, job.FieldDueBucket) == job.DueBucket(s.write.Key), s,
			"an unfinished row is due some time")
		if p.world.whole && text(s.next, fieldState) != string(job.StateCompleted) {
			p.rule(number(s.next, job.FieldDueAt) <= p.world.Clock.Now().Add(dueMax).UnixMilli(), s, "an unfinished row is due soon")
		}
		return
	}
	_, due := s.next[job.FieldDueAt]
	_, bucket := s.next[job.FieldDueBucket]
	p.rule(!due && !bucket, s, "a finished row is never due")
}

// recorded reports whether the change inserts the audit event of the job's new version.
func (p patrol) recorded(s *step) bool {
	id, _, _ := job.ParseRowKey(s.write.Key)
	want := job.EventKey(id, number(s.next, fieldVersion), "")
	return slices.ContainsFunc(p.steps, func(other step) bool { return other.write.Insert && other.write.Key == want })
}

// shardsEnded counts the shards that the change ends as done.
func (p patrol) shardsEnded() int64 {
	var ended int64
	for i := range p.steps {
		s := &p.steps[i]
		if text(s.next, fieldState) != string(job.UnitDone) || text(s.old, fieldState) == string(job.UnitDone) {
			continue
		}
		_, unit, _ := job.ParseRowKey(s.write.Key)
		if _, shard := job.ShardNumber(unit); shard {
			ended++
		}
	}
	return ended
}

// onlyChanged reports whether the write changes no other field than these.
func onlyChanged(s *step, fields ...string) bool {
	for field := range s.changed {
		if !slices.Contains(fields, field) {
			return false
		}
	}
	return true
}

// changed yields the fields that the write changes.
func (s *step) changed(yield func(field string) bool) {
	differ := func(field string) bool {
		was, had := s.old[field]
		is, has := s.next[field]
		return had != has || !same(was, is)
	}
	for _, list := range [...][]job.Field{s.write.Set, s.write.Add, s.write.Append} {
		for i := range list {
			if differ(list[i].Name) && !yield(list[i].Name) {
				return
			}
		}
	}
	for _, field := range s.write.Remove {
		if differ(field) && !yield(field) {
			return
		}
	}
	if !s.write.Insert {
		return
	}
	for field := range s.old {
		if _, kept := s.next[field]; !kept && !yield(field) {
			return
		}
	}
}

func same(a, b job.Value) bool {
	if list, ok := a.([]string); ok {
		other, also := b.([]string)
		return also && slices.Equal(list, other)
	}
	if _, ok := b.([]string); ok {
		return false
	}
	return a == b
}

func text(row job.Fields, field string) string {
	value, _ := row[field].(string)
	return value
}

func number(row job.Fields, field string) int64 {
	value, _ := row[field].(int64)
	return value
}
