package job

import (
	"fmt"
	"time"

	"sealift/shared/audit"
	"sealift/shared/limits"
)

// How an attempt may end, as its history says.
const (
	AttemptDone     = "done"
	AttemptReleased = "released"
	AttemptRetry    = "failed, will retry"
	AttemptFailed   = "failed"
	AttemptCrashed  = "crashed"
)

// Stage writes one shard of a plan, unless a newer plan has written it. It starts from nothing whatever an older plan
// left there, but never over a shard that was claimed or retired: the job has gone on or ended since, and its generation
// would fall back.
func Stage(unit Unit, now time.Time) Write {
	w := insertUnit(unit, now.Add(limits.WakeGrace))
	w.Guards = []Guard{
		{Field: "plan_generation", Test: IsAbsentOrLess, Values: []Value{unit.PlanGeneration}},
		{Field: "generation", Test: IsAbsentOrIs, Values: []Value{int64(0)}},
	}
	w.Applied = []Guard{equal("plan_generation", unit.PlanGeneration)}
	return w
}

// StageAll bundles staged shards into one all-or-nothing change.
func StageAll(units []Unit, now time.Time) Change {
	change := Change{name: "stage"}
	for _, unit := range units {
		change.writes = append(change.writes, Stage(unit, now))
	}
	return change
}

// Claim takes the unit for one attempt: the generation grows and everybody else is fenced. owner is unique per attempt.
// It returns the unit as it will be. The guard is what was read, so a lease that was renewed since is left alone.
func (u Unit) Claim(owner string, now time.Time) (Unit, Change, error) {
	if ok, at := u.Claimable(now); !ok {
		return Unit{}, Change{}, Errorf(Fenced, "unit_state", "unit %s is %s until %s", u.ID, u.State, at.UTC().Format(time.RFC3339))
	}
	next := u
	guards := []Guard{equal(fieldState, string(u.State)), equal("generation", u.Generation)}
	if u.State == UnitLeased {
		guards = append(guards, equal("lease_until_ms", u.LeaseUntil.UnixMilli()))
		next.Crashes++
		next.History = u.history(now, AttemptCrashed, Failure{})
	}
	next.State, next.Owner, next.Generation = UnitLeased, owner, u.Generation+1
	next.LeaseUntil = now.Add(limits.Lease)
	next.DueAt = next.LeaseUntil
	next.Nudges = 0
	if u.Upload.Open() {
		next.Upload.PartNumber = u.Upload.PartNumber + limits.PartsInFlight
	}
	next.History = append(next.History, Attempt{Generation: next.Generation, Owner: owner, FromMillis: now.UnixMilli()})
	if extra := len(next.History) - limits.HistoryMax; extra > 0 {
		next.History = next.History[extra:]
	}
	key := UnitKey(u.Job, u.ID)
	set := append([]Field{
		{fieldState, string(next.State)},
		{"owner", owner},
		{"generation", next.Generation},
		{"lease_until_ms", next.LeaseUntil.UnixMilli()},
		{"crashes", next.Crashes},
		{"nudges", int64(0)},
		{"part_number", next.Upload.PartNumber},
		{"history", encodeJSON(next.History)},
	}, due(key, next.DueAt)...)
	return next, Change{name: "claim", writes: []Write{{
		Key: key, Guards: guards, Set: set,
		Applied: []Guard{equal("generation", next.Generation), equal("owner", owner)},
	}}}, nil
}

// Renew moves the lease's end, never back: a renewal that was under way for long must not cut short what a later one
// has promised. A renewal whose answer was lost counts as not renewed for its holder, whatever the row says.
func (u Unit) Renew(now time.Time) (time.Time, Change) {
	until := now.Add(limits.Lease)
	w := u.owned()
	w.Guards = append(w.Guards, Guard{Field: "lease_until_ms", Test: IsAbsentOrLess, Values: []Value{until.UnixMilli()}})
	w.Set = append([]Field{{"lease_until_ms", until.UnixMilli()}}, due(w.Key, until)...)
	w.Applied = append(u.holder(), equal("lease_until_ms", until.UnixMilli()))
	return until, Change{name: "renew", writes: []Write{w}}
}

// OpenUpload records the multipart upload that this attempt created for the unit; there is at most one at a time.
func (u Unit) OpenUpload(key, id string) (Unit, Change) {
	return u.openUpload("open_upload", key, id, Guard{Field: "upload_id", Test: IsAbsent})
}

// FollowUpload is OpenUpload for a unit that makes one object after another: the new upload takes the place of the one
// whose object is complete.
func (u Unit) FollowUpload(key, id string) (Unit, Change) {
	return u.openUpload("follow_upload", key, id, equal("upload_id", u.Upload.ID))
}

func (u Unit) openUpload(move, key, id string, before Guard) (Unit, Change) {
	next := u
	next.Upload = Upload{Key: key, ID: id, PartNumber: 1}
	w := u.owned()
	w.Guards = append(w.Guards, before)
	w.Set = []Field{{"upload_key", key}, {"upload_id", id}, {"part_number", int64(1)}}
	w.Applied = []Guard{equal("upload_id", id)}
	return next, Change{name: move, writes: []Write{w}}
}

// Checkpoint commits one part that the store has confirmed: the list grows by it and progress moves to what is behind
// it. It is refused unless the list is exactly as long as this attempt believes, so a repeated commit can't count twice.
func (u Unit) Checkpoint(part Part, progress Progress) (Unit, Change) {
	next := u
	next.Progress = progress
	next.Progress.PartCount = u.Progress.PartCount + 1
	next.Progress.Parts = append(u.Progress.Parts[:len(u.Progress.Parts):len(u.Progress.Parts)], part)
	next.Upload.PartNumber = part.Number + 1
	w := u.owned()
	w.Guards = append(w.Guards, equal("part_count", u.Progress.PartCount))
	w.Set = append(progressFields(next.Progress),
		Field{"part_count", next.Progress.PartCount},
		Field{"part_number", next.Upload.PartNumber})
	w.Append = []Field{{"parts", []string{encodePart(part)}}}
	w.Applied = append(u.holder(), equal("part_count", next.Progress.PartCount), equal("part_number", next.Upload.PartNumber))
	return next, Change{name: "checkpoint", writes: []Write{w}}
}

// FinishShard ends a shard and adds what it wrote to the job, in one write: done counts exactly once. The progress is
// written again because a shard smaller than a part has had no checkpoint.
func (j Job) FinishShard(unit Unit, object StagedObject, now time.Time) Change {
	w := unit.finish(now, AttemptDone, Failure{})
	w.Set = append(w.Set, progressFields(unit.Progress)...)
	w.Set = append(w.Set,
		Field{"object_key", object.Key},
		Field{"object_etag", object.ETag},
		Field{"object_bytes", object.Bytes})
	count := Write{
		Key:    JobKey(j.ID),
		Guards: []Guard{equal(fieldState, string(StateRunning)), equal("plan_generation", unit.PlanGeneration)},
		// Nobody knows here whether this shard is the last. If it is and its worker dies before it wakes finalize, the
		// sweeper does, soon.
		Set: append([]Field{{"nudges", int64(0)}}, due(JobKey(j.ID), now.Add(limits.WakeGrace))...),
		Add: []Field{
			{"shards_done", int64(1)},
			{"rows", unit.Progress.Rows},
			{"bytes", object.Bytes},
		},
	}
	return Change{name: "finish_shard", writes: []Write{w, count}}
}

// Cleaned ends a clean unit and records what it removed.
func (j Job) Cleaned(unit Unit, detail map[string]string, now time.Time) Change {
	event := audit.Event{
		Job: j.ID, Tenant: j.Tenant, Action: audit.Cleaned, Actor: System, AtMilli: now.UnixMilli(), Version: j.Version, Detail: detail,
	}
	return Change{name: "cleaned", writes: []Write{
		unit.finish(now, AttemptDone, Failure{}),
		insertEvent(event, fmt.Sprintf("#%s%06d", CleanID, unit.Generation)),
	}}
}

// Release gives the unit back unfinished so that the next attempt need not wait for the lease to end. It costs no
// budget.
func (u Unit) Release(now time.Time) Change {
	w := u.ended(now, AttemptReleased, Failure{}, UnitPending)
	w.Set = append(w.Set, due(w.Key, now.Add(limits.WakeGrace))...)
	return Change{name: "release", writes: []Write{w}}
}

// Retry gives the unit back after a failure, not to be claimed before at.
func (u Unit) Retry(failure Failure, now, at time.Time) Change {
	w := u.ended(now, AttemptRetry, failure, UnitWaiting)
	w.Set = append(w.Set, Field{"faults", u.Faults + 1}, Field{"failure", encodeJSON(failure)})
	w.Set = append(w.Set, due(w.Key, at)...)
	return Change{name: "retry", writes: []Write{w}}
}

// Postpone gives the unit back until at because it has to wait for something else; it costs no budget.
func (u Unit) Postpone(now, at time.Time) Change {
	w := u.ended(now, AttemptReleased, Failure{}, UnitWaiting)
	w.Set = append(w.Set, due(w.Key, at)...)
	return Change{name: "postpone", writes: []Write{w}}
}

// GiveUp leaves a clean unit to a person: what it could not remove is still there and its history says why.
func (u Unit) GiveUp(failure Failure, now time.Time) Change {
	return Change{name: "give_up", writes: []Write{u.finish(now, AttemptFailed, failure)}}
}

// Retire ends a unit whose job has ended. The generation grows, so that a worker still at it is fenced.
func (u Unit) Retire() Change {
	key := UnitKey(u.Job, u.ID)
	return Change{name: "retire", writes: []Write{{
		Key:     key,
		Guards:  []Guard{equal("generation", u.Generation), equal(fieldState, string(u.State))},
		Set:     []Field{{fieldState, string(UnitRetired)}, {"generation", u.Generation + 1}},
		Remove:  notDue(),
		Applied: []Guard{equal(fieldState, string(UnitRetired)), equal("generation", u.Generation+1)},
	}}}
}

// Nudge notes that somebody sent a due unit's pointer again and when to look next. A unit that waited until it was due is
// pending from then on: the next look is no time before which it can't be claimed.
func (u Unit) Nudge(next time.Time) Change {
	w := nudge(UnitKey(u.Job, u.ID), u.DueAt, next)
	if u.State == UnitWaiting {
		w.Guards = append(w.Guards, equal(fieldState, string(UnitWaiting)))
		w.Set = append([]Field{{fieldState, string(UnitPending)}}, w.Set...)
	}
	return Change{name: "nudge_unit", writes: []Write{w}}
}

// owned is a write that only the holder of this generation may make.
func (u Unit) owned() Write {
	return Write{Key: UnitKey(u.Job, u.ID), Guards: u.holder()}
}

// held is a guard without a write, for moves of the job that the holder of this unit makes.
func (u Unit) held() Write {
	w := u.owned()
	w.Check = true
	return w
}

func (u Unit) holder() []Guard {
	return []Guard{equal(fieldState, string(UnitLeased)), equal("generation", u.Generation)}
}

func (u Unit) finish(now time.Time, ended string, failure Failure) Write {
	state := UnitDone
	if ended == AttemptFailed {
		state = UnitFailed
	}
	w := u.ended(now, ended, failure, state)
	w.Remove = append(append(w.Remove, notDue()...), "failure")
	return w
}

func (u Unit) ended(now time.Time, ended string, failure Failure, state UnitState) Write {
	w := u.owned()
	w.Set = []Field{
		{fieldState, string(state)},
		{"history", encodeJSON(u.history(now, ended, failure))},
	}
	w.Remove = []string{"lease_until_ms"}
	w.Applied = []Guard{
		equal(fieldState, string(state)), equal("generation", u.Generation), equal("owner", u.Owner),
	}
	return w
}

func (u Unit) history(now time.Time, ended string, failure Failure) []Attempt {
	history := append([]Attempt(nil), u.History...)
	if last := len(history) - 1; last >= 0 && history[last].ToMillis == 0 {
		history[last].ToMillis = now.UnixMilli()
		history[last].Ended = ended
		history[last].Kind = failure.Kind
		history[last].Code = failure.Code
	}
	return history
}

func progressFields(p Progress) []Field {
	fields := []Field{
		{"cursor", encodeJSON(p.Cursor)},
		{"first", encodeJSON(p.First)},
		{"rows", p.Rows},
		{"bytes", p.Bytes},
		{"raw_bytes", p.RawBytes},
		{"raw_crc32", hex64(uint64(p.RawCRC32))},
		{"crc64", hex64(p.CRC64)},
		{"rows_hash", hex64(p.RowsHash)},
		{"counters", encodeJSON(p.Counters)},
		{"exhausted", p.Exhausted},
	}
	if p.Fragment != "" {
		fields = append(fields, Field{"fragment", p.Fragment})
	}
	return fields
}
