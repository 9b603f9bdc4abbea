package job

import (
	"strconv"
	"time"

	"sealift/shared/audit"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Act says who makes a transition and why, for the audit.
type Act struct {
	Actor  string
	Reason string
	Now    time.Time
	// ID tells two acts of one actor in one moment apart, where both may happen: links.
	ID string
}

// System is the actor of transitions that no person asked for.
const System = "sealift"

// Legal reports whether the state machine has a transition from one state to the other.
func Legal(from, to State) bool {
	switch to {
	case StateQueued:
		return false
	case StateRunning:
		return from == StateQueued
	case StatePublishing:
		return from == StateRunning
	case StateCompleted:
		return from == StatePublishing
	case StateFailed:
		return from == StateQueued || from == StateRunning || from == StatePublishing
	case StateCancelled:
		return from == StateQueued || from == StateRunning
	case StateExpired:
		return from == StateCompleted
	}
	return false
}

// transition is the guarded write that moves the job's row, and its event. The guard is the exact version and state
// that were read, so whatever has happened since refuses it.
func (j Job) transition(to State, action audit.Action, act Act, detail map[string]string, set ...Field) (Write, Write) {
	version := j.Version + 1
	move := Write{
		Key:    JobKey(j.ID),
		Guards: []Guard{equal(fieldState, string(j.State)), equal("version", j.Version)},
		Set: append([]Field{
			{fieldState, string(to)},
			{"version", version},
			{"updated_at_ms", act.Now.UnixMilli()},
		}, set...),
		Applied: []Guard{equal(fieldState, string(to)), equal("version", version)},
	}
	event := insertEvent(audit.Event{
		Job: j.ID, Tenant: j.Tenant, Action: action, Actor: act.Actor, AtMilli: act.Now.UnixMilli(),
		Version: version, From: string(j.State), To: string(to), Reason: act.Reason, Detail: detail,
	}, "")
	return move, event
}

// after moves an act behind the last event: clocks of different processes differ by a moment, and an audit must not go
// back in time.
func (j Job) after(act Act) Act {
	if act.Now.Before(j.UpdatedAt) {
		act.Now = j.UpdatedAt
	}
	return act
}

// illegal is the error of asking for a move that the state machine doesn't have. People ask for two of them, by their
// names: to cancel and to revoke.
func (j Job) illegal(to State) error {
	rest := " and can't become " + string(to)
	switch to {
	case StateCancelled:
		rest = " and can't be cancelled any more"
	case StateExpired:
		rest = "; only a completed export can be revoked"
	default:
	}
	return Errorf(Fenced, "job_state", "the export is %s%s", j.State, rest)
}

// Cancel ends a job that hasn't begun to publish. Nobody needs to be at work for it: the clean unit, staged in the same
// write, fences every worker and removes what they left.
func (j Job) Cancel(act Act) (Change, error) {
	if !Legal(j.State, StateCancelled) {
		return Change{}, j.illegal(StateCancelled)
	}
	return j.end(StateCancelled, audit.Cancelled, act, Failure{}), nil
}

// Fail ends a job for good, saying why and what to do.
func (j Job) Fail(failure Failure, act Act) (Change, error) {
	if !Legal(j.State, StateFailed) {
		return Change{}, j.illegal(StateFailed)
	}
	return j.end(StateFailed, audit.Failed, act, failure), nil
}

func (j Job) end(to State, action audit.Action, act Act, failure Failure, more ...Write) Change {
	act = j.after(act)
	set := []Field{{"finished_at_ms", act.Now.UnixMilli()}}
	var detail map[string]string
	if failure.Code != "" {
		set = append(set, Field{"failure", encodeJSON(failure)})
		detail = map[string]string{"code": failure.Code, "unit": failure.Unit}
	}
	move, event := j.transition(to, action, act, detail, set...)
	move.Remove = notDue()
	writes := append(more, move, j.stageClean(CleanEverything, act.Now), j.giveBackQuota(), event)
	return Change{name: string(action), writes: writes}
}

// Planned is what a plan fixes for good.
type Planned struct {
	Shards        int64
	RowsEstimated int64
	Ceiling       row.Key
	// SourceIdentity is what every shard must find again.
	SourceIdentity string
}

// Plan commits a plan: the job runs with these shards, the plan unit is done and the finalize unit stands ready.
func (j Job) Plan(unit Unit, planned Planned, act Act) (Change, error) {
	if !Legal(j.State, StateRunning) {
		return Change{}, j.illegal(StateRunning)
	}
	act = j.after(act)
	move, event := j.transition(StateRunning, audit.Planned, act,
		map[string]string{"shards": strconv.FormatInt(planned.Shards, 10)},
		append([]Field{
			{"shards", planned.Shards},
			{"plan_generation", unit.Generation},
			{"rows_estimated", planned.RowsEstimated},
			{"ceiling", encodeJSON(planned.Ceiling)},
			{"source_identity", planned.SourceIdentity},
			{"started_at_ms", act.Now.UnixMilli()},
			{"nudges", int64(0)},
		}, due(JobKey(j.ID), act.Now.Add(limits.WakeGraceMax))...)...)
	finalize := insertUnit(Unit{
		Job: j.ID, ID: FinalizeID, Tenant: j.Tenant, Lane: j.Lane, State: UnitPending, PlanGeneration: unit.Generation,
	}, act.Now.Add(limits.WakeGraceMax))
	return Change{name: "plan", writes: []Write{unit.finish(act.Now, AttemptDone, Failure{}), move, finalize, event}}, nil
}

// BeginPublish decides that the job will publish: from here on it can't be cancelled, and the keys it names are the only
// ones under which its artifact may ever exist.
func (j Job) BeginPublish(unit Unit, publish Publication, act Act) (Change, error) {
	if !Legal(j.State, StatePublishing) {
		return Change{}, j.illegal(StatePublishing)
	}
	act = j.after(act)
	move, event := j.transition(StatePublishing, audit.Publishing, act, nil,
		append([]Field{
			{"publish_key", publish.ArtifactKey},
			{"publish_receipt_key", publish.ReceiptKey},
			{"publish_generation", unit.Generation},
			{"publish_at_ms", act.Now.UnixMilli()},
		}, due(JobKey(j.ID), act.Now.Add(limits.WakeGraceMax))...)...)
	move.Guards = append(move.Guards, equal("shards_done", j.Shards))
	return Change{name: "begin_publish", writes: []Write{unit.held(), move, event}}, nil
}

// Complete binds the artifact and ends the job. The key must be the one of the publish record.
func (j Job) Complete(unit Unit, artifact Artifact, act Act) (Change, error) {
	if !Legal(j.State, StateCompleted) {
		return Change{}, j.illegal(StateCompleted)
	}
	act = j.after(act)
	expires := act.Now.Add(j.Retention)
	move, event := j.transition(StateCompleted, audit.Completed, act,
		map[string]string{
			"rows":  strconv.FormatInt(artifact.Rows, 10),
			"bytes": strconv.FormatInt(artifact.FilesBytes, 10),
		},
		append([]Field{
			{"artifact_key", artifact.Key},
			{"artifact_receipt_key", artifact.ReceiptKey},
			{"artifact_receipt_sha256", artifact.ReceiptSHA256},
			{"artifact_receipt_signature", artifact.ReceiptSignature},
			{"artifact_etag", artifact.ETag},
			{"artifact_bytes", artifact.Bytes},
			{"artifact_rows", artifact.Rows},
			{"artifact_crc64", hex64(artifact.CRC64)},
			{"artifact_files", artifact.Files},
			{"artifact_files_bytes", artifact.FilesBytes},
			{"artifact_counters", encodeJSON(artifact.Counters)},
			{"finished_at_ms", act.Now.UnixMilli()},
			{"expires_at_ms", expires.UnixMilli()},
		}, due(JobKey(j.ID), expires)...)...)
	move.Guards = append(move.Guards, equal("publish_key", artifact.Key))
	return Change{name: "complete", writes: []Write{
		unit.finish(act.Now, AttemptDone, Failure{}), move,
		j.stageClean(CleanStaging, act.Now), j.giveBackQuota(), event,
	}}, nil
}

// FailUnit reports that a unit can't be done and ends its job with it.
func (j Job) FailUnit(unit Unit, failure Failure, act Act) (Change, error) {
	if !Legal(j.State, StateFailed) {
		return Change{}, j.illegal(StateFailed)
	}
	failure.Unit = unit.ID
	return j.end(StateFailed, audit.Failed, act, failure, unit.finish(act.Now, AttemptFailed, failure)), nil
}

// Expire ends the delivery of a completed job: no new link from here on, deletion afterwards. Revoking is the same move
// made early by a person.
func (j Job) Expire(action audit.Action, act Act) (Change, error) {
	if !Legal(j.State, StateExpired) {
		return Change{}, j.illegal(StateExpired)
	}
	act = j.after(act)
	move, event := j.transition(StateExpired, action, act, nil, Field{"expires_at_ms", act.Now.UnixMilli()})
	move.Remove = notDue()
	return Change{name: "expire", writes: []Write{move, j.stageClean(CleanEverything, act.Now), event}}, nil
}

// Sign records one download link before it is given out: for file number file, or for the artifact itself when that is
// 0. It is refused when the job has moved on or the count is used up since it was read.
func (j Job) Sign(act Act, file int64) (Change, error) {
	if j.State != StateCompleted {
		return Change{}, Errorf(Fenced, "job_state", "the export is %s; only a completed export has a file", j.State)
	}
	act = j.after(act)
	version := j.Version + 1
	var detail map[string]string
	if file > 0 {
		detail = map[string]string{"file": strconv.FormatInt(file, 10)}
	}
	return Change{name: "sign", writes: []Write{
		{
			Key:     JobKey(j.ID),
			Guards:  []Guard{equal(fieldState, string(j.State)), equal("version", j.Version)},
			Set:     []Field{{"version", version}, {"updated_at_ms", act.Now.UnixMilli()}},
			Add:     []Field{{"downloads", int64(1)}},
			Applied: []Guard{equal("version", version)},
		},
		insertEvent(audit.Event{
			Job: j.ID, Tenant: j.Tenant, Action: audit.Signed, Actor: act.Actor, AtMilli: act.Now.UnixMilli(),
			Version: version, Reason: act.Reason, Act: act.ID, Detail: detail,
		}, ""),
	}}, nil
}

// Nudge notes that somebody looked at a due job and when to look next. It moves nothing else, and only if nobody else
// has looked since.
func (j Job) Nudge(next time.Time) Change {
	return Change{name: "nudge_job", writes: []Write{nudge(JobKey(j.ID), j.DueAt, next)}}
}

func nudge(key RowKey, was, next time.Time) Write {
	return Write{
		Key:     key,
		Guards:  []Guard{equal(FieldDueAt, was.UnixMilli())},
		Set:     due(key, next),
		Add:     []Field{{"nudges", int64(1)}},
		Applied: []Guard{equal(FieldDueAt, next.UnixMilli())},
	}
}

// stageClean puts the clean unit to work in the transaction that ends the job, whatever it did before: its generation
// grows, so that a cleaner with the old scope is fenced.
func (j Job) stageClean(scope CleanScope, now time.Time) Write {
	key := UnitKey(j.ID, CleanID)
	return Write{
		Key: key,
		// A clean unit never carries another scope's generation backwards, so any earlier state may be replaced.
		Guards: []Guard{{Field: fieldSchema, Test: IsAbsentOrIs, Values: []Value{int64(Schema)}}},
		Set: append([]Field{
			{fieldSchema, int64(Schema)},
			{"job", j.ID},
			{"unit", CleanID},
			{"tenant", j.Tenant},
			{"lane", string(j.Lane)},
			{fieldState, string(UnitPending)},
			{"scope", string(scope)},
			{"faults", int64(0)},
			{"crashes", int64(0)},
		}, due(key, now)...),
		Add:    []Field{{"generation", int64(1)}},
		Remove: []string{"lease_until_ms"},
	}
}

func (j Job) giveBackQuota() Write {
	return Write{
		Key:    QuotaKey(j.Tenant),
		Guards: []Guard{{Field: fieldSchema, Test: IsEqual, Values: []Value{int64(Schema)}}},
		Add:    []Field{{"active_jobs", int64(-1)}},
	}
}
