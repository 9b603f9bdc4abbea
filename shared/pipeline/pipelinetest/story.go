package pipelinetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/row"
)

// story plays the moves of one tenant's jobs on a ledger.
type story struct {
	t      *testing.T
	ctx    context.Context
	ledger pipeline.Ledger
	tenant string
	now    time.Time
}

func newStory(t *testing.T, ledger pipeline.Ledger) *story {
	t.Helper()
	return &story{t: t, ctx: t.Context(), ledger: ledger, tenant: "t-" + unique(), now: storyTime()}
}

// storyTime is when stories begin. It is far ahead of every clock, because a ledger that removes rows at the end of their
// time to live goes by a clock of its own and would remove them in the middle of a story that plays in the past.
func storyTime() time.Time { return time.Date(2096, 3, 29, 1, 2, 3, 456_000_000, time.UTC) }

// unique is a text that no other test and no other run uses.
func unique() string { return rand.Text() }

// intent is a request of the story's tenant under a key of its own.
func (s *story) intent() job.Intent {
	var random [16]byte
	copy(random[:], unique())
	j := sampleJob(job.StateQueued)
	j.ID, j.Tenant = job.NewID(random), s.tenant
	return job.Intent{Job: j, KeyDigest: unique(), AskedDigest: unique(), KeyMemory: time.Hour, ActiveMax: 100}
}

func (s *story) act() job.Act { return job.Act{Actor: job.System, Now: s.now} }

// must applies a change that nothing refuses; a busy ledger is asked again, as its contract says.
func (s *story) must(change job.Change) {
	s.t.Helper()
	if err := s.patiently(change); err != nil {
		s.t.Fatalf("%s: %v", change.Name(), err)
	}
}

func (s *story) patiently(change job.Change) error {
	const most = 50
	for n := 1; ; n++ {
		err := s.ledger.Apply(s.ctx, change)
		if job.KindOf(err) != job.Overload || n == most {
			return err
		}
	}
}

// move is must for moves that can be illegal.
func (s *story) move(change job.Change, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.must(change)
}

// refused applies a change that a guard must refuse, and returns the old rows.
func (s *story) refused(change job.Change) map[int]job.Fields {
	s.t.Helper()
	err := s.patiently(change)
	var refused *job.Refused
	if !errors.As(err, &refused) {
		s.t.Fatalf("%s: got %v, want it refused by a guard", change.Name(), err)
	}
	if job.KindOf(err) != job.Fenced || refused.Change != change.Name() {
		s.t.Errorf("%s: the refusal has kind %s and names %q", change.Name(), job.KindOf(err), refused.Change)
	}
	return refused.Old
}

func (s *story) row(key job.RowKey) job.Fields {
	s.t.Helper()
	row, err := s.ledger.Row(s.ctx, key)
	if err != nil {
		s.t.Fatalf("row %v: %v", key, err)
	}
	return row
}

func (s *story) job(id string) job.Job {
	s.t.Helper()
	j, err := job.DecodeJob(s.row(job.JobKey(id)))
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

func (s *story) unit(jobID, unitID string) job.Unit {
	s.t.Helper()
	u, err := job.DecodeUnit(s.row(job.UnitKey(jobID, unitID)))
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// created makes a queued job.
func (s *story) created() job.Job {
	s.t.Helper()
	intent := s.intent()
	s.must(job.Create(intent, s.now))
	return s.job(intent.Job.ID)
}

// claimed takes a unit for a new attempt.
func (s *story) claimed(jobID, unitID string) job.Unit {
	s.t.Helper()
	unit, change, err := s.unit(jobID, unitID).Claim("attempt-"+unique(), s.now)
	s.move(change, err)
	return unit
}

// running makes a job that has a plan of some shards.
func (s *story) running(shards int) job.Job {
	s.t.Helper()
	j := s.created()
	plan := s.claimed(j.ID, job.PlanID)
	s.must(job.StageAll(s.shards(j, shards, plan.Generation), s.now))
	s.move(j.Plan(plan, job.Planned{Shards: int64(shards), RowsEstimated: 7, Ceiling: row.Key{"z"}}, s.act()))
	return s.job(j.ID)
}

func (s *story) shards(j job.Job, count int, generation int64) []job.Unit {
	units := make([]job.Unit, count)
	for i := range units {
		units[i] = job.Unit{
			Job: j.ID, ID: job.ShardID(i + 1), Tenant: j.Tenant, Lane: j.Lane, State: job.UnitPending,
			PlanGeneration: generation, RowsEstimated: int64(i),
			Range: row.Range{From: row.Key{fmt.Sprint(i)}, To: row.Key{fmt.Sprint(i + 1)}},
		}
	}
	return units
}

// finished ends a shard that wrote some rows.
func (s *story) finished(j job.Job, shard int, rows int64) {
	s.t.Helper()
	unit := s.claimed(j.ID, job.ShardID(shard))
	unit.Progress.Rows, unit.Progress.Exhausted = rows, true
	s.must(j.FinishShard(unit, job.StagedObject{Key: "staging/" + unit.ID, ETag: "e", Bytes: rows * 10}, s.now))
}

// publishing makes a job of one shard whose publication has begun, and the finalize unit that holds it.
func (s *story) publishing() (job.Job, job.Unit) {
	s.t.Helper()
	j := s.running(1)
	s.finished(j, 1, 3)
	finalize := s.claimed(j.ID, job.FinalizeID)
	s.move(s.job(j.ID).BeginPublish(finalize, job.Publication{ArtifactKey: "artifacts/" + j.ID, ReceiptKey: "receipts/" + j.ID}, s.act()))
	return s.job(j.ID), finalize
}

// completed makes a job with an artifact.
func (s *story) completed() job.Job {
	s.t.Helper()
	j, finalize := s.publishing()
	s.move(j.Complete(finalize, job.Artifact{
		Key: j.Publish.ArtifactKey, ReceiptKey: j.Publish.ReceiptKey, ReceiptSHA256: "c0", ETag: "e", Bytes: 30, Rows: 3, CRC64: 1 << 63,
	}, s.act()))
	return s.job(j.ID)
}

// Complete plays a job from its creation to its completion on a ledger and binds an artifact of that key, for tests that
// begin with a delivered file.
func Complete(t *testing.T, ledger pipeline.Ledger, artifactKey string) job.Job {
	t.Helper()
	s := newStory(t, ledger)
	j := s.running(1)
	s.finished(j, 1, 3)
	finalize := s.claimed(j.ID, job.FinalizeID)
	s.move(s.job(j.ID).BeginPublish(finalize, job.Publication{ArtifactKey: artifactKey, ReceiptKey: "receipts/" + j.ID}, s.act()))
	j = s.job(j.ID)
	s.move(j.Complete(finalize, job.Artifact{Key: artifactKey, ReceiptKey: j.Publish.ReceiptKey, ETag: "e", Bytes: 30, Rows: 3}, s.act()))
	return s.job(j.ID)
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
