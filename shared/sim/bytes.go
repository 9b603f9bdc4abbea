package sim

import (
	"strconv"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/signature"
)

// The rules of this file hold between the ledger and the store, in a world that is whole.

// dueMax is how long an unfinished row may be left without a look: the longest of a lease, a backoff and a grace, and
// some for clocks that differ.
const dueMax = limits.WakeGraceMax + time.Minute

// stale holds that nobody but the attempt that owns a leased unit writes what the unit has done. Attempts are named after
// their actors.
func (p patrol) stale(s *step, from, to job.UnitState) {
	if from != job.UnitLeased || p.actor == "" || onlyChanged(s, job.FieldDueAt, job.FieldDueBucket, "nudges") {
		return
	}
	taken := to == job.UnitLeased && s.next["owner"] != s.old["owner"] || to == job.UnitRetired
	staged := to == job.UnitPending && s.write.Key.SK == job.UnitKey("", job.CleanID).SK
	if taken || staged {
		return // others may do this, by generation
	}
	if owner := text(s.old, "owner"); !owns(p.actor, owner) {
		p.rule(false, s, "a stale write of "+p.actor+" landed; the owner is "+owner)
	}
}

// owns reports whether the attempt is one of the actor's.
func owns(actor, attempt string) bool {
	return len(attempt) > len(actor) && attempt[len(actor)] == '.' && strings.HasPrefix(attempt, actor)
}

// durable holds that a checkpoint is never ahead of the bytes that the store has confirmed.
func (p patrol) durable(s *step, from, to job.UnitState) {
	parts, grown := number(s.next, "part_count"), number(s.next, "part_count") > number(s.old, "part_count")
	ended := from != to && to == job.UnitDone
	_, id, _ := job.ParseRowKey(s.write.Key)
	if id == job.CleanID && ended {
		p.fencedOff(s)
	}
	if _, shard := job.ShardNumber(id); !shard || !grown && !ended {
		return
	}
	unit, err := job.DecodeUnit(s.next)
	if job.Unreadable(err) && number(s.next, "schema") > job.Schema {
		return // another release's; that it was written means that it was read before it became one
	}
	if err != nil {
		p.rule(false, s, "the row can't be read: "+err.Error())
		return
	}
	if grown {
		open := p.world.Store.uploads[unit.Upload.ID]
		p.rule(open != nil && parts == number(s.old, "part_count")+1, s, "a checkpoint names no open upload, or skips a part")
		var size int64
		for _, listed := range unit.Progress.Parts {
			size += listed.Bytes
			if open == nil || open.parts[listed.Number].ETag != listed.ETag || open.parts[listed.Number].Bytes != listed.Bytes {
				p.rule(false, s, "a checkpoint is ahead of the stored bytes: part "+strconv.FormatInt(listed.Number, 10))
			}
		}
		p.rule(size == unit.Progress.Bytes, s, "a checkpoint counts other bytes than its parts have")
	}
	if ended && (unit.Object.Bytes > 0 || unit.Progress.Bytes > 0) {
		object := p.world.Store.objects[unit.Object.Key]
		p.rule(object != nil && object.ETag == unit.Object.ETag && object.Bytes == unit.Progress.Bytes && object.CRC64 == unit.Progress.CRC64, s,
			"a shard is done and its object is not the bytes that it committed")
	}
}

// fencedOff holds that nobody has a lease any more when the clean-up of a job ends.
func (p patrol) fencedOff(s *step) {
	for _, sk := range p.world.Ledger.state.order[s.write.Key.PK] {
		_, unit, ok := job.ParseRowKey(job.RowKey{PK: s.write.Key.PK, SK: sk})
		row := p.world.Ledger.state.byKey[job.RowKey{PK: s.write.Key.PK, SK: sk}]
		if ok && unit != "" && unit != job.CleanID && text(row, fieldState) == string(job.UnitLeased) {
			p.rule(false, s, "a clean-up ended while "+unit+" is leased")
		}
	}
}

// sums holds that the job counts what its shards say.
func (p patrol) sums(s *step) {
	if number(s.next, "shards_done") == number(s.old, "shards_done") {
		return
	}
	var done, rows, size int64
	add := func(key job.RowKey, row job.Fields) {
		_, unit, _ := job.ParseRowKey(key)
		if _, shard := job.ShardNumber(unit); shard && text(row, fieldState) == string(job.UnitDone) &&
			number(row, "plan_generation") == number(s.next, "plan_generation") {
			done, rows, size = done+1, rows+number(row, "rows"), size+number(row, "bytes")
		}
	}
	changed := map[job.RowKey]bool{}
	for _, other := range p.steps {
		changed[other.write.Key] = true
		add(other.write.Key, other.next)
	}
	for _, sk := range p.world.Ledger.state.order[s.write.Key.PK] {
		if key := (job.RowKey{PK: s.write.Key.PK, SK: sk}); !changed[key] {
			add(key, p.world.Ledger.state.byKey[key])
		}
	}
	p.rule(done == number(s.next, "shards_done") && rows == number(s.next, "rows") && size == number(s.next, "bytes"), s,
		"the job's counters are not the sums of its shards")
}

// published holds that a job is published by the holder of its finalize unit, and that what it binds is there, whole.
func (p patrol) published(s *step, from, to job.State) {
	if from != to && (to == job.StatePublishing || to == job.StateCompleted) && p.actor != "" {
		id, _, _ := job.ParseRowKey(s.write.Key)
		holder := text(p.world.Ledger.state.byKey[job.UnitKey(id, job.FinalizeID)], "owner")
		if !owns(p.actor, holder) {
			p.rule(false, s, p.actor+" publishes and the holder is "+holder)
		}
	}
	if from == to || to != job.StateCompleted {
		return
	}
	j, err := job.DecodeJob(s.next)
	if job.Unreadable(err) && number(s.next, "schema") > job.Schema {
		return
	}
	if err != nil {
		p.rule(false, s, "the row can't be read: "+err.Error())
		return
	}
	object := p.world.Store.objects[j.Artifact.Key]
	p.rule(object != nil && object.ETag == j.Artifact.ETag && object.Bytes == j.Artifact.Bytes && object.CRC64 == j.Artifact.CRC64, s,
		"a job binds an artifact that is not in the store as it says")
	receipt := p.world.Store.objects[j.Artifact.ReceiptKey]
	p.rule(receipt != nil, s, "a job binds a receipt that is not in the store")
	if receipt != nil {
		_, err := signature.Set{p.world.Seal.key}.Verify(j.Artifact.ReceiptSignature, receipt.data)
		p.rule(err == nil, s, "a job binds a signature that is not of its receipt in the store")
	}
	p.rule(j.Artifact.Rows == j.Rows, s, "an artifact has other rows than its job counted")
}

// owner is the row of the unit, or of the job, that a key of the store belongs to.
func owner(w *World, key string) (unit, of job.Fields) {
	segments := strings.Split(key, "/")
	if len(segments) < 4 {
		return nil, nil
	}
	of = w.Ledger.state.byKey[job.JobKey(segments[2])]
	id := job.FinalizeID
	if segments[0] == "staging" {
		id = segments[3]
	}
	return w.Ledger.state.byKey[job.UnitKey(segments[2], id)], of
}

// policePart holds that a part that is listed is never written again.
func policePart(w *World, to *upload, number int64) {
	if !w.whole {
		return
	}
	unit, _ := owner(w, to.key)
	if text(unit, "upload_id") != to.id {
		return
	}
	parts, _ := unit["parts"].([]string)
	for _, listed := range parts {
		if strings.HasPrefix(listed, strconv.FormatInt(number, 10)+":") {
			w.violate("part %d of %s was written again after a checkpoint listed it", number, to.key)
		}
	}
}

// place is what comes before an object's name: the files of one publication have the same.
func place(key string) string { return key[:strings.LastIndexByte(key, '/')+1] }

// policeObject holds that a job has at most one publication and one receipt, ever.
func policeObject(w *World, key string) {
	segments := strings.Split(key, "/")
	if !w.whole || len(segments) < 4 || segments[0] == "staging" {
		return
	}
	root, published := segments[0]+"/"+segments[2], key
	if segments[0] == "artifacts" {
		published = place(key)
	}
	if was, taken := w.Store.artifacts[root]; taken && was != published {
		w.violate("the job has a second object below %s: %s and %s", root, was, published)
	}
	w.Store.artifacts[root] = published
}

// policeAbort holds that an upload in which a living job's progress lies stays open.
func policeAbort(w *World, u *upload) {
	if !w.whole {
		return
	}
	unit, of := owner(w, u.key)
	if text(unit, "upload_id") == u.id && !job.State(text(of, fieldState)).Terminal() {
		w.violate("upload %s of %s was aborted while its job is %s", u.id, u.key, text(of, fieldState))
	}
}

// policeDelete holds that nothing is deleted that is delivered or still needed.
func policeDelete(w *World, key string) {
	of, bound := w.Ledger.state.bound[key]
	if !bound && strings.HasPrefix(key, "artifacts/") {
		of, bound = w.Ledger.state.bound[place(key)]
	}
	if bound {
		w.violate("%s was deleted while %s delivers it", key, of)
	}
	if !w.whole {
		return
	}
	if unit, of := owner(w, key); of != nil && !job.State(text(of, fieldState)).Terminal() && text(unit, "object_key") == key {
		w.violate("%s was deleted while its job is %s", key, text(of, fieldState))
	}
}
