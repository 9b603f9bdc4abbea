package pipelinetest

import (
	"time"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/row"
)

// Sample is a named change. Names are unique and fit for a file.
type Sample struct {
	Name   string
	Change job.Change
}

// sampleTime is when every sample happens.
func sampleTime() time.Time { return time.Date(2026, 3, 29, 1, 2, 3, 456_000_000, time.UTC) }

// sampleJob is a job of two shards in the given state.
func sampleJob(state job.State) job.Job {
	j := job.Job{
		ID:     job.NewID([16]byte{0: 1, 15: 2}),
		Tenant: "acme", Applicant: "ana@acme.example", Definition: "orders", DefinitionVersion: 3, Lane: job.Bulk,
		State: state, Version: 4, Snapshot: `{"columns":["id","名字"]}`, SnapshotDigest: "5d", RequestDigest: "7e",
		Retention: 72 * time.Hour, DownloadsMax: 5, RowsMax: 1_000_000,
		DueAt: sampleTime().Add(time.Minute),
	}
	if state != job.StateQueued {
		j.Shards, j.PlanGeneration, j.ShardsDone, j.Rows, j.Bytes = 2, 1, 2, 30, 900
	}
	if state == job.StatePublishing || state == job.StateCompleted {
		j.Publish = job.Publication{ArtifactKey: "artifacts/a.csv", ReceiptKey: "receipts/a.json", Generation: 2, At: sampleTime()}
	}
	return j
}

// sampleUnit is a unit that generation 2 holds.
func sampleUnit(id string) job.Unit {
	j := sampleJob(job.StateRunning)
	return job.Unit{
		Job: j.ID, ID: id, Tenant: j.Tenant, Lane: j.Lane, State: job.UnitLeased, Generation: 2, Owner: "attempt-2",
		LeaseUntil: sampleTime().Add(time.Minute), DueAt: sampleTime().Add(time.Minute), PlanGeneration: 1, Faults: 1,
		History: []job.Attempt{{Generation: 2, Owner: "attempt-2", FromMillis: sampleTime().UnixMilli()}},
	}
}

// sampleShard is a shard with one part written.
func sampleShard() job.Unit {
	u := sampleUnit(job.ShardID(1))
	u.Range = row.Range{To: row.Key{"2026-01-02T00:00:00Z", "17"}}
	u.RowsEstimated = 20
	u.Upload = job.Upload{Key: "staging/s00001", ID: "upload-1", PartNumber: 2}
	u.Progress = job.Progress{
		Cursor: row.Key{"2026-01-01T10:00:00Z", "9"}, First: row.Key{"2026-01-01T00:00:00Z", "1"},
		Rows: 9, Bytes: 300, RawBytes: 400, RawCRC32: 0xdeadbeef, CRC64: 0xfeed, RowsHash: 0xabcdef, PartCount: 1,
		Parts: []job.Part{{Number: 1, ETag: "e1", Bytes: 300, CRC64: 0xfeed}},
	}
	return u
}

// Samples are one change of every kind and of every shape that a kind has. They never vary.
func Samples() []Sample {
	samples := leaseSamples()
	samples = append(samples, jobSamples()...)
	return append(samples, recordSamples()...)
}

func leaseSamples() []Sample {
	now := sampleTime()
	shard, pending := sampleShard(), sampleUnit(job.PlanID)
	pending.State, pending.Generation, pending.History = job.UnitPending, 0, nil
	waiting := sampleShard()
	waiting.State, waiting.LeaseUntil = job.UnitWaiting, time.Time{}
	dead := sampleShard()
	dead.LeaseUntil = now.Add(-time.Second)
	_, claim, _ := pending.Claim("attempt-1", now)
	_, takeover, _ := dead.Claim("attempt-3", now)
	_, renew := shard.Renew(now)
	fresh := sampleUnit(job.ShardID(1))
	_, open := fresh.OpenUpload("staging/s00001", "upload-1")
	opened, _ := fresh.OpenUpload("artifacts/file-00001.csv", "upload-1")
	_, follow := opened.FollowUpload("artifacts/file-00002.csv", "upload-2")
	progress := shard.Progress
	progress.Fragment = "sheets=1"
	progress.Rows, progress.Bytes, progress.Exhausted = 20, 600, true
	_, checkpoint := shard.Checkpoint(job.Part{Number: 2, ETag: "e2", Bytes: 300, CRC64: 0xbeef}, progress)
	failure := job.Failure{Kind: job.Transient, Code: "source_timeout", Detail: "the source did not answer within 30s"}
	staged := []job.Unit{sampleShard(), sampleShard()}
	for i := range staged {
		staged[i].ID, staged[i].State, staged[i].Generation = job.ShardID(i+1), job.UnitPending, 0
	}
	return []Sample{
		{"stage", job.StageAll(staged, now)},
		{"claim_pending", claim},
		{"claim_dead_lease", takeover},
		{"renew", renew},
		{"open_upload", open},
		{"follow_upload", follow},
		{"checkpoint", checkpoint},
		{"finish_shard", sampleJob(job.StateRunning).FinishShard(shard, job.StagedObject{Key: "staging/s00001", ETag: "e9", Bytes: 600}, now)},
		{"cleaned", sampleJob(job.StateCompleted).Cleaned(sampleUnit(job.CleanID), map[string]string{"objects": "2"}, now)},
		{"release", shard.Release(now)},
		{"postpone", sampleUnit(job.FinalizeID).Postpone(now, now.Add(30*time.Second))},
		{"give_up", sampleUnit(job.CleanID).GiveUp(failure, now)},
		{"retry", shard.Retry(failure, now, now.Add(30*time.Second))},
		{"retire", shard.Retire()},
		{"nudge_unit", shard.Nudge(now.Add(2 * time.Minute))},
		{"nudge_waiting_unit", waiting.Nudge(now.Add(2 * time.Minute))},
	}
}

func jobSamples() []Sample {
	now := sampleTime()
	act := job.Act{Actor: job.System, Now: now}
	person := job.Act{Actor: "ana@acme.example", Reason: "asked for the wrong month", Now: now}
	queued, running := sampleJob(job.StateQueued), sampleJob(job.StateRunning)
	publishing, completed := sampleJob(job.StatePublishing), sampleJob(job.StateCompleted)
	failure := job.Failure{Kind: job.Permanent, Code: "source_schema_changed", Detail: "column fee is gone"}
	must := func(change job.Change, err error) job.Change {
		if err != nil {
			panic("a sample is not a legal move: " + err.Error())
		}
		return change
	}
	return []Sample{
		{"create", job.Create(job.Intent{Job: queued, KeyDigest: "9f", AskedDigest: "7c", KeyMemory: 24 * time.Hour, ActiveMax: 10}, now)},
		{"plan", must(queued.Plan(sampleUnit(job.PlanID), job.Planned{Shards: 2, RowsEstimated: 40, Ceiling: row.Key{"2026-03-01T00:00:00Z", "99"}}, act))},
		{"plan_empty", must(queued.Plan(sampleUnit(job.PlanID), job.Planned{Shards: 1}, act))},
		{"begin_publish", must(running.BeginPublish(sampleUnit(job.FinalizeID), publishing.Publish, act))},
		{"complete", must(publishing.Complete(sampleUnit(job.FinalizeID), job.Artifact{
			Key: "artifacts/a.csv", ReceiptKey: "receipts/a.json", ReceiptSHA256: "c0", ReceiptSignature: "head..tail", ETag: "e10", Bytes: 900, FilesBytes: 900, Rows: 30, CRC64: 0xffffffffffffffff,
		}, act))},
		{"cancel", must(running.Cancel(person))},
		{"fail", must(queued.Fail(failure, act))},
		{"fail_unit", must(running.FailUnit(sampleShard(), failure, act))},
		{"expire", must(completed.Expire(audit.Expired, act))},
		{"revoke", must(completed.Expire(audit.Revoked, person))},
		{"sign", must(completed.Sign(person, 0))},
		{"nudge_job", running.Nudge(now.Add(2 * time.Minute))},
	}
}

func recordSamples() []Sample {
	now := sampleTime()
	first := job.DefinitionRecord{Name: "orders", Version: 1, Digest: "d1", Body: "name: orders\n", Applied: now, Actor: "ops"}
	second := first
	second.Version, second.Digest = 2, "d2"
	j := sampleJob(job.StateCompleted)
	return []Sample{
		{"note", job.Note(audit.Event{
			Job: j.ID, Tenant: j.Tenant, Action: audit.Denied, Actor: "bob@acme.example", AtMilli: now.UnixMilli(), Version: j.Version,
			Reason: "role_missing", Detail: map[string]string{"role": "exporter"},
		}, "n1")},
		{"apply_definition_first", job.ApplyDefinition(job.DefinitionRecord{}, first)},
		{"apply_definition_next", job.ApplyDefinition(first, second)},
		{"save_sweep", job.SaveSweep("objects", "", "staging/acme/x")},
	}
}
