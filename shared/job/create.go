package job

import (
	"time"

	"sealift/shared/audit"
	"sealift/shared/limits"
)

// Intent is a request that has passed every check and asks to become a job.
type Intent struct {
	Job Job
	// KeyDigest is the SHA-256 in hex of the Idempotency-Key, given or derived.
	KeyDigest string
	// AskedDigest is the digest of the request as it was asked; that of the job is of what it was resolved to.
	AskedDigest string
	// KeyMemory is how long the key is remembered.
	KeyMemory time.Duration
	// ActiveMax is how many unfinished jobs the tenant may have, counted in the same write.
	ActiveMax int64
}

// Index of the writes of Create, for reading what a refusal holds.
const (
	CreateJobWrite = iota
	CreateKeyWrite
	CreateQuotaWrite
)

// Create makes the job, binds its idempotency key, takes one unit of the tenant's quota, stages the plan unit and
// records the event, all or nothing. It is refused when the key is bound already (the old row of CreateKeyWrite names
// the job and its digest) or the quota is used up (CreateQuotaWrite).
func Create(intent Intent, now time.Time) Change {
	j := intent.Job
	j.State, j.Version, j.CreatedAt = StateQueued, 1, now
	bound := equal("job", j.ID)
	return Change{name: "create", writes: []Write{
		{Key: JobKey(j.ID), Insert: true, Guards: []Guard{absent()}, Set: newJobFields(j, now), Applied: []Guard{bound}},
		{
			Key: IdempotencyKey(j.Tenant, intent.KeyDigest), Insert: true,
			// A key whose memory has ended but whose row is not collected yet is free again.
			Guards: []Guard{{Field: FieldExpires, Test: IsAbsentOrLess, Values: []Value{now.Unix()}}},
			Set: []Field{
				{fieldSchema, int64(Schema)},
				{"job", j.ID},
				{"request_digest", j.RequestDigest},
				{"asked_digest", intent.AskedDigest},
				{FieldExpires, now.Add(intent.KeyMemory).Unix()},
			},
			Applied: []Guard{bound},
		},
		{
			Key:    QuotaKey(j.Tenant),
			Guards: []Guard{{Field: "active_jobs", Test: IsAbsentOrLess, Values: []Value{intent.ActiveMax}}},
			Set:    []Field{{fieldSchema, int64(Schema)}},
			Add:    []Field{{"active_jobs", int64(1)}},
		},
		insertUnit(Unit{Job: j.ID, ID: PlanID, Tenant: j.Tenant, Lane: j.Lane, State: UnitPending}, now.Add(limits.WakeGrace)),
		insertEvent(audit.Event{
			Job: j.ID, Tenant: j.Tenant, Action: audit.Created, Actor: j.Applicant, AtMilli: now.UnixMilli(),
			Version: 1, To: string(StateQueued),
			Detail: map[string]string{"definition": j.Definition, "snapshot_digest": j.SnapshotDigest},
		}, ""),
	}}
}

// BoundKey is what an idempotency row remembers, until Expires. AskedDigest is empty in the rows of releases that had none.
type BoundKey struct {
	Job           string
	RequestDigest string
	AskedDigest   string
	Expires       time.Time
}

// Remembers reports whether the key is still bound.
func (b BoundKey) Remembers(now time.Time) bool { return b.Expires.Unix() >= now.Unix() }

// DecodeBoundKey reads an idempotency row.
func DecodeBoundKey(fields Fields) (BoundKey, error) {
	r := &reader{row: fields, what: "idempotency row"}
	r.schema()
	bound := BoundKey{
		Job: r.text("job"), RequestDigest: r.text("request_digest"), AskedDigest: r.text("asked_digest"),
		Expires: time.Unix(r.number(FieldExpires), 0).UTC(),
	}
	return bound, r.err
}

// Note records an act that changes no state, beside the version at which it happened; id makes its row unique.
func Note(event audit.Event, id string) Change {
	return Change{name: "note", writes: []Write{insertEvent(event, "#"+id)}}
}

func newJobFields(j Job, now time.Time) []Field {
	fields := []Field{
		{fieldSchema, int64(Schema)},
		{"job", j.ID},
		{"tenant", j.Tenant},
		{"applicant", j.Applicant},
		{"definition", j.Definition},
		{"definition_version", j.DefinitionVersion},
		{"lane", string(j.Lane)},
		{fieldState, string(j.State)},
		{"version", j.Version},
		{"snapshot", j.Snapshot},
		{"snapshot_digest", j.SnapshotDigest},
		{"request_digest", j.RequestDigest},
		{"created_at_ms", now.UnixMilli()},
		{"updated_at_ms", now.UnixMilli()},
		{"rows_estimated", int64(-1)},
		{"retention_s", int64(j.Retention / time.Second)},
		{"downloads_max", j.DownloadsMax},
		{"rows_max", j.RowsMax},
		{FieldTenantKey, TenantKey(j.Tenant)},
		{FieldCreated, createdKey(now, j.ID)},
	}
	return append(fields, due(JobKey(j.ID), now.Add(limits.WakeGrace))...)
}

func insertUnit(u Unit, dueAt time.Time) Write {
	key := UnitKey(u.Job, u.ID)
	fields := []Field{
		{fieldSchema, int64(Schema)},
		{"job", u.Job},
		{"unit", u.ID},
		{"tenant", u.Tenant},
		{"lane", string(u.Lane)},
		{fieldState, string(u.State)},
		{"generation", u.Generation},
		{"part_count", int64(0)},
	}
	if _, shard := ShardNumber(u.ID); shard {
		fields = append(fields,
			Field{"range", encodeJSON(u.Range)},
			Field{"rows_estimated", u.RowsEstimated},
			Field{"parts", []string{}})
	}
	if u.PlanGeneration > 0 {
		fields = append(fields, Field{"plan_generation", u.PlanGeneration})
	}
	if u.Scope != "" {
		fields = append(fields, Field{"scope", string(u.Scope)})
	}
	applied := []Guard{equal("job", u.Job)}
	if u.PlanGeneration > 0 {
		applied = append(applied, equal("plan_generation", u.PlanGeneration))
	}
	return Write{
		Key: key, Insert: true, Guards: []Guard{absent()}, Set: append(fields, due(key, dueAt)...), Applied: applied,
	}
}

func insertEvent(event audit.Event, suffix string) Write {
	fields := []Field{
		{fieldSchema, int64(Schema)},
		{"job", event.Job},
		{"tenant", event.Tenant},
		{"action", string(event.Action)},
		{"actor", event.Actor},
		{"at_ms", event.AtMilli},
		{"version", event.Version},
	}
	optional := []Field{{"from", event.From}, {"to", event.To}, {"reason", event.Reason}, {"act", event.Act}}
	for _, field := range optional {
		if field.Value != "" {
			fields = append(fields, field)
		}
	}
	if len(event.Detail) > 0 {
		fields = append(fields, Field{"detail", encodeJSON(event.Detail)})
	}
	applied := []Guard{equal("action", string(event.Action)), equal("at_ms", event.AtMilli), equal("actor", event.Actor)}
	if event.Act != "" {
		applied = append(applied, equal("act", event.Act))
	}
	return Write{
		Key: EventKey(event.Job, event.Version, suffix), Insert: true, Guards: []Guard{absent()}, Set: fields, Applied: applied,
	}
}
