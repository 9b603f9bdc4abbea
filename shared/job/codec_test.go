package job_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/sim"
)

// desk applies moves to a policing ledger and reads back what they left.
type desk struct {
	t     *testing.T
	world *sim.World
}

func newDesk(t *testing.T) desk {
	t.Helper()
	d := desk{t: t, world: sim.New(sim.Options{})}
	t.Cleanup(func() {
		for _, violation := range d.world.Violations() {
			t.Errorf("violation: %s", violation)
		}
	})
	return d
}

func (d desk) apply(change job.Change, err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.world.Ledger.Apply(d.t.Context(), change); err != nil {
		d.t.Fatalf("%s: %v", change.Name(), err)
	}
}

func (d desk) row(key job.RowKey) job.Fields {
	d.t.Helper()
	fields, err := d.world.Ledger.Row(d.t.Context(), key)
	if err != nil {
		d.t.Fatal(err)
	}
	return fields
}

func (d desk) job() job.Job {
	d.t.Helper()
	j, err := job.DecodeJob(d.row(job.JobKey(testID())))
	if err != nil {
		d.t.Fatal(err)
	}
	return j
}

// unit checks that the row of a unit is what its move promised, when there is a promise.
func (d desk) unit(id string, promised ...job.Unit) job.Unit {
	d.t.Helper()
	have, err := job.DecodeUnit(d.row(job.UnitKey(testID(), id)))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, want := range promised {
		if diff := cmp.Diff(want, have); diff != "" {
			d.t.Errorf("unit %s is not what its move promised (-promised +stored):\n%s", id, diff)
		}
	}
	return have
}

func (d desk) claim(id string, now time.Time) job.Unit {
	d.t.Helper()
	promised, change, err := d.unit(id).Claim("owner of "+id, now)
	d.apply(change, err)
	return d.unit(id, promised)
}

func TestRowsDecodeToWhatTheirMovesPromised(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	now := testTime()
	act := job.Act{Actor: job.System, Now: now}
	asked := job.Job{
		ID: testID(), Tenant: "acme", Applicant: "ana", Definition: "orders", DefinitionVersion: 3, Lane: job.Realtime,
		Snapshot: `{"a":1}`, SnapshotDigest: "s", RequestDigest: "r", Retention: 90 * time.Minute, DownloadsMax: 2, RowsMax: 50,
	}
	d.apply(job.Create(job.Intent{Job: asked, KeyDigest: "k", KeyMemory: time.Hour, ActiveMax: 1}, now), nil)
	want := asked
	want.State, want.Version, want.CreatedAt, want.RowsEstimated = job.StateQueued, 1, now, -1
	want.DueAt, want.UpdatedAt = d.job().DueAt, now
	if diff := cmp.Diff(want, d.job()); diff != "" {
		t.Errorf("created (-want +stored):\n%s", diff)
	}

	plan := d.claim(job.PlanID, now)
	shard := job.Unit{
		Job: testID(), ID: job.ShardID(1), Tenant: "acme", Lane: job.Realtime, State: job.UnitPending, PlanGeneration: plan.Generation,
		RowsEstimated: 9, Range: row.Range{From: row.Key{"a", ""}, To: row.Key{"名"}},
	}
	d.apply(job.StageAll([]job.Unit{shard}, now), nil)
	staged := d.unit(shard.ID)
	shard.DueAt = staged.DueAt
	if diff := cmp.Diff(shard, staged); diff != "" {
		t.Errorf("staged (-want +stored):\n%s", diff)
	}
	d.apply(d.job().Plan(plan, job.Planned{Shards: 1, RowsEstimated: 9, Ceiling: row.Key{"z", "1"}}, act))
	want = d.job()
	if want.Shards != 1 || want.PlanGeneration != 1 || want.RowsEstimated != 9 || !slices.Equal(want.Ceiling, row.Key{"z", "1"}) || !want.StartedAt.Equal(now) {
		t.Errorf("planned: %+v", want)
	}

	held := d.claim(shard.ID, now)
	held, change := held.OpenUpload("staging/k", "u")
	d.apply(change, nil)
	d.unit(shard.ID, held)
	for n := range int64(3) {
		held, change = held.Checkpoint(job.Part{Number: n + 1, ETag: "e:" + string(rune('a'+n)), Bytes: 5 + n, CRC64: math.MaxUint64 - uint64(n)}, job.Progress{
			Cursor: row.Key{"k", ""}, First: row.Key{"a"}, Rows: 10 * (n + 1), Bytes: 100 * (n + 1), RawBytes: 1, RawCRC32: math.MaxUint32,
			CRC64: math.MaxUint64, RowsHash: 1 << 63, Counters: job.Counters{Nulls: 1, Neutralised: 2, InvalidUTF8: 3, Masked: 4}, Exhausted: n == 2,
		})
		d.apply(change, nil)
		d.unit(shard.ID, held)
	}
	d.apply(d.job().FinishShard(held, job.StagedObject{Key: "staging/k", ETag: "e", Bytes: 300}, now), nil)
	done := d.unit(shard.ID)
	if done.State != job.UnitDone || done.Object != (job.StagedObject{Key: "staging/k", ETag: "e", Bytes: 300}) || !done.DueAt.IsZero() ||
		done.History[0].Ended != job.AttemptDone {
		t.Errorf("finished: %+v", done)
	}

	finalize := d.claim(job.FinalizeID, now)
	publish := job.Publication{ArtifactKey: "artifacts/a", ReceiptKey: "receipts/r"}
	d.apply(d.job().BeginPublish(finalize, publish, act))
	publish.Generation, publish.At = finalize.Generation, now
	if diff := cmp.Diff(publish, d.job().Publish); diff != "" {
		t.Errorf("publication (-want +stored):\n%s", diff)
	}
	artifact := job.Artifact{Key: "artifacts/a", ReceiptKey: "receipts/r", ReceiptSHA256: "c", ETag: "e", Bytes: 300, Rows: 30, CRC64: math.MaxUint64, Files: 3, FilesBytes: 900}
	d.apply(d.job().Complete(finalize, artifact, act))
	if diff := cmp.Diff(artifact, d.job().Artifact); diff != "" {
		t.Errorf("artifact (-want +stored):\n%s", diff)
	}
	cleaner := d.claim(job.CleanID, now)
	d.apply(d.job().Cleaned(cleaner, nil, now), nil)
	d.apply(d.job().Sign(act, 3))
	d.apply(d.job().Expire(audit.Revoked, act))
	if at := d.job().Revoked(); !at.Equal(now) {
		t.Errorf("revoked at %s, want %s", at, now)
	}
	if end := d.job(); end.State != job.StateExpired || end.Downloads != 1 || !end.DueAt.IsZero() || !end.ExpiresAt.Equal(now) {
		t.Errorf("revoked: %+v", end)
	}
}

func TestALaterReleasesFieldsAreIgnoredAndItsRowsRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	now := testTime()
	d.apply(job.Create(job.Intent{Job: testJob(job.StateQueued), KeyDigest: "k", ActiveMax: 1}, now), nil)
	jobRow, unitRow := d.row(job.JobKey(testID())), d.row(job.UnitKey(testID(), job.PlanID))
	plainJob, plainUnit := d.job(), d.unit(job.PlanID)

	more := func(fields job.Fields, name string, value job.Value) job.Fields {
		fields = maps.Clone(fields)
		fields[name] = value
		return fields
	}
	newer, err := job.DecodeJob(more(jobRow, "from_2027", []string{"x"}))
	if diff := cmp.Diff(plainJob, newer); diff != "" || err != nil {
		t.Errorf("a job with an unknown field: %v\n%s", err, diff)
	}
	newerUnit, err := job.DecodeUnit(more(unitRow, "from_2027", struct{}{}))
	if diff := cmp.Diff(plainUnit, newerUnit); diff != "" || err != nil {
		t.Errorf("a unit with an unknown field: %v\n%s", err, diff)
	}
	for name, fields := range map[string]job.Fields{"schema 2": more(jobRow, "schema", int64(job.Schema+1)), "no row": {}} {
		if _, err := job.DecodeJob(fields); job.KindOf(err) != job.Transient || job.CodeOf(err) != "ledger_row_schema" || !job.Unreadable(err) {
			t.Errorf("job of %s: %v", name, err)
		}
		if _, err := job.DecodeUnit(fields); job.CodeOf(err) != "ledger_row_schema" {
			t.Errorf("unit of %s: %v", name, err)
		}
	}
}

func TestAFieldOfAnotherTypeIsRefusedByName(t *testing.T) {
	t.Parallel()
	base := job.Fields{"schema": int64(job.Schema)}
	for field, wrong := range map[string]job.Value{
		"state": int64(1), "version": "1", "exhausted": "true", "parts": "1:2:3:4", "crc64": "not hex", "raw_crc32": "1ffffffff",
		"range": "{", "cursor": "[1]", "history": "{}", "due_at_ms": true,
	} {
		fields := maps.Clone(base)
		fields[field] = wrong
		_, errUnit := job.DecodeUnit(fields)
		_, errJob := job.DecodeJob(fields)
		if job.CodeOf(errUnit) != "ledger_row_malformed" && job.CodeOf(errJob) != "ledger_row_malformed" {
			t.Errorf("%s = %v: %v, %v", field, wrong, errUnit, errJob)
		}
	}
	for _, text := range []string{"", "1", "1:2:3", "x:2:3:e", "1:x:3:e", "1:2:x:e"} {
		fields := maps.Clone(base)
		fields["parts"] = []string{text}
		if _, err := job.DecodeUnit(fields); job.CodeOf(err) != "ledger_row_malformed" {
			t.Errorf("part %q: %v", text, err)
		}
	}
}
