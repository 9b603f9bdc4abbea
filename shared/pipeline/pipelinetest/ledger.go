package pipelinetest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// Ledger runs the suite of pipeline.Ledger. newLedger is called once for each test and may return the same ledger.
func Ledger(t *testing.T, newLedger func(t *testing.T) pipeline.Ledger) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(s *story)
	}{
		{"an absent row is empty", absentRow},
		{"of a row that is read in part nothing else comes", partOfRow},
		{"creating makes every row, and repeating it changes nothing", createRepeats},
		{"a bound key refuses another job and shows whose it is", boundKey},
		{"a key is free again when its memory has ended", keyMemoryEnds},
		{"a used-up quota refuses and shows the count", quotaUsedUp},
		{"a claim fences everybody else and may be repeated", claimFences},
		{"a renewal that was repeated is one renewal, a stale one is refused", renewal},
		{"of many claims at once one wins", claimRace},
		{"a checkpoint appends its part once however often it is repeated", checkpointRepeats},
		{"one upload follows another, and only one", uploadsFollow},
		{"values survive exactly", valuesSurvive},
		{"a refused transaction leaves no row behind", transactionIsAtomic},
		{"a plan and its end may be repeated", planRepeats},
		{"shards that end together are each counted once", shardsEndTogether},
		{"of a cancel and a publication one wins", cancelOrPublish},
		{"ending a job puts its clean unit to work with a new generation", cleanRestaged},
		{"a completed job keeps its artifact and counts its links", completeAndSign},
		{"a finished unit is never due and has no lease", finishedIsNotDue},
		{"the audit keeps every event in order", auditInOrder},
		{"a definition's head moves from version to version only", definitionVersions},
		{"a sweep's position moves only from where it was read", sweepPosition},
		{"rows come in order within their span", rowsInSpan},
		{"rows larger than a page of the service come whole", rowsBeyondPage},
		{"due rows come earliest first, up to the time and the limit", dueInOrder},
		{"due rows come page by page, each once, also behind one that has moved", duePages},
		{"recent jobs come newest first, page by page, of one tenant", recentInOrder},
		{"a caller that has gone gets Cancelled", cancelledCaller},
		{"a read of no rows is refused", noLimit},
		{"the clock never goes backwards", clockMonotone},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(newStory(t, newLedger(t)))
		})
	}
}

func absentRow(s *story) {
	row := s.row(job.JobKey("exp_none" + unique()))
	if len(row) != 0 {
		s.t.Errorf("got %v, want no field", row)
	}
}

func partOfRow(s *story) {
	j := s.created()
	for _, test := range []struct {
		id   string
		only []string
		want job.Fields
	}{
		{j.ID, []string{"state", "rows_max"}, job.Fields{"state": job.Value("queued"), "rows_max": job.Value(j.RowsMax)}},
		{j.ID, []string{"finished_at_ms"}, job.Fields{}},
		{"exp_none" + unique(), []string{"state"}, job.Fields{}},
	} {
		got, err := s.ledger.Row(s.ctx, job.JobKey(test.id), test.only...)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(got)+len(test.want) > 0 {
			diff(s.t, strings.Join(test.only, " "), got, test.want)
		}
	}
	part, err := s.ledger.Row(s.ctx, job.JobKey(j.ID), job.LifeFields()...)
	if err != nil {
		s.t.Fatal(err)
	}
	life, err := job.DecodeLife(part)
	if err != nil || life.State != job.StateQueued || life.RowsMax != j.RowsMax || j.RowsMax == 0 {
		s.t.Errorf("the job's life is %+v, %v", life, err)
	}
}

func createRepeats(s *story) {
	intent := s.intent()
	for range 3 {
		s.must(job.Create(intent, s.now))
	}
	j := s.job(intent.Job.ID)
	if j.State != job.StateQueued || j.Version != 1 || j.Tenant != s.tenant || !j.CreatedAt.Equal(s.now) || j.Snapshot != intent.Job.Snapshot {
		s.t.Errorf("the job reads back as %+v", j)
	}
	if plan := s.unit(j.ID, job.PlanID); plan.State != job.UnitPending || plan.Generation != 0 || plan.DueAt.IsZero() {
		s.t.Errorf("the plan unit reads back as %+v", plan)
	}
	bound, err := job.DecodeBoundKey(s.row(job.IdempotencyKey(s.tenant, intent.KeyDigest)))
	if err != nil {
		s.t.Fatal(err)
	}
	diff(s.t, "bound key", bound, job.BoundKey{
		Job: j.ID, RequestDigest: intent.Job.RequestDigest, AskedDigest: intent.AskedDigest, Expires: s.now.Add(intent.KeyMemory).Truncate(time.Second).UTC(),
	})
	diff(s.t, "active jobs", s.row(job.QuotaKey(s.tenant))["active_jobs"], job.Value(int64(1)))
	event, err := job.DecodeEvent(s.row(job.EventKey(j.ID, 1, "")))
	if err != nil || event.Action != audit.Created || event.Detail["definition"] != "orders" {
		s.t.Errorf("the audit holds %+v, %v", event, err)
	}
}

func boundKey(s *story) {
	first, second := s.intent(), s.intent()
	second.KeyDigest = first.KeyDigest
	s.must(job.Create(first, s.now))
	old := s.refused(job.Create(second, s.now))
	diff(s.t, "refused writes", len(old), 1)
	bound, err := job.DecodeBoundKey(old[job.CreateKeyWrite])
	if err != nil || bound.Job != first.Job.ID {
		s.t.Errorf("the old row names %+v, %v", bound, err)
	}
	if row := s.row(job.JobKey(second.Job.ID)); len(row) != 0 {
		s.t.Errorf("the refused job was written: %v", row)
	}
	diff(s.t, "active jobs", s.row(job.QuotaKey(s.tenant))["active_jobs"], job.Value(int64(1)))
}

func keyMemoryEnds(s *story) {
	first, second := s.intent(), s.intent()
	second.KeyDigest = first.KeyDigest
	s.must(job.Create(first, s.now))
	s.now = s.now.Add(first.KeyMemory)
	s.refused(job.Create(second, s.now))
	s.now = s.now.Add(time.Second)
	s.must(job.Create(second, s.now))
	diff(s.t, "bound to", s.row(job.IdempotencyKey(s.tenant, first.KeyDigest))["job"], job.Value(second.Job.ID))
}

func quotaUsedUp(s *story) {
	first, second := s.intent(), s.intent()
	first.ActiveMax, second.ActiveMax = 1, 1
	s.must(job.Create(first, s.now))
	old := s.refused(job.Create(second, s.now))
	diff(s.t, "refused writes", len(old), 1)
	diff(s.t, "count", old[job.CreateQuotaWrite]["active_jobs"], job.Value(int64(1)))

	second.KeyDigest = first.KeyDigest
	old = s.refused(job.Create(second, s.now))
	diff(s.t, "refused writes when the key is bound as well", len(old), 2)

	s.move(s.job(first.Job.ID).Cancel(s.act()))
	second.KeyDigest = unique()
	s.must(job.Create(second, s.now))
}

func claimFences(s *story) {
	j := s.created()
	pending := s.unit(j.ID, job.PlanID)
	first, claim, err := pending.Claim("one", s.now)
	s.move(claim, err)
	s.must(claim)
	_, rival, err := pending.Claim("two", s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	old := s.refused(rival)
	diff(s.t, "owner in the old row", old[0]["owner"], job.Value("one"))

	held := s.unit(j.ID, job.PlanID)
	if held.Generation != 1 || held.Owner != "one" || !held.LeaseUntil.Equal(first.LeaseUntil) || held.State != job.UnitLeased {
		s.t.Errorf("the unit reads back as %+v", held)
	}
	s.now = held.LeaseUntil.Add(time.Millisecond)
	second, takeover, err := held.Claim("three", s.now)
	s.move(takeover, err)
	if second.Generation != 2 || second.Crashes != 1 {
		s.t.Errorf("the takeover has generation %d and %d crashes", second.Generation, second.Crashes)
	}
	s.refused(first.Release(s.now))
	s.refused(claim)
	s.must(second.Release(s.now))
	s.must(second.Release(s.now))
	if unit := s.unit(j.ID, job.PlanID); unit.State != job.UnitPending || !unit.LeaseUntil.IsZero() || unit.Generation != 2 {
		s.t.Errorf("the released unit reads back as %+v", unit)
	}
}

func renewal(s *story) {
	j := s.created()
	unit := s.claimed(j.ID, job.PlanID)
	until, renew := unit.Renew(s.now.Add(20 * time.Second))
	s.must(renew)
	s.must(renew)
	if have := s.unit(j.ID, job.PlanID); !have.LeaseUntil.Equal(until) || !have.DueAt.Equal(until) {
		s.t.Errorf("the lease ends %s and is due %s, want %s", have.LeaseUntil, have.DueAt, until)
	}
	s.now = until.Add(time.Second)
	s.claimed(j.ID, job.PlanID)
	s.refused(renew)
}

func claimRace(s *story) {
	j := s.created()
	pending := s.unit(j.ID, job.PlanID)
	var wins, losses atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		_, claim, err := pending.Claim("attempt-"+unique(), s.now)
		if err != nil {
			s.t.Fatal(err)
		}
		group.Go(func() {
			switch err := s.patiently(claim); job.KindOf(err) {
			case "":
				wins.Add(1)
			case job.Fenced:
				losses.Add(1)
			default:
				s.t.Errorf("claim: %v", err)
			}
		})
	}
	group.Wait()
	if wins.Load() != 1 || losses.Load() != 7 {
		s.t.Errorf("%d claims won and %d lost, want 1 and 7", wins.Load(), losses.Load())
	}
	diff(s.t, "generation", s.unit(j.ID, job.PlanID).Generation, int64(1))
}

func transactionIsAtomic(s *story) {
	j := s.created()
	newer := s.shards(j, 5, 9)[2:3]
	s.must(job.StageAll(newer, s.now))
	old := s.refused(job.StageAll(s.shards(j, 5, 8), s.now))
	diff(s.t, "refused writes", len(old), 1)
	diff(s.t, "plan generation of the old row", old[2]["plan_generation"], job.Value(int64(9)))
	for _, unit := range s.shards(j, 5, 8) {
		if row := s.row(job.UnitKey(j.ID, unit.ID)); len(row) != 0 && unit.ID != job.ShardID(3) {
			s.t.Errorf("unit %s was written although the change was refused", unit.ID)
		}
	}
	const most = 100
	s.must(job.StageAll(s.shards(j, most, 10), s.now))
	diff(s.t, "last of a full change", s.unit(j.ID, job.ShardID(most)).PlanGeneration, int64(10))
	if err := s.ledger.Apply(s.ctx, job.StageAll(s.shards(j, most+1, 11), s.now)); job.KindOf(err) != job.Permanent {
		s.t.Errorf("a change of %d writes: got %v, want Permanent", most+1, err)
	}
	if err := s.ledger.Apply(s.ctx, job.StageAll(nil, s.now)); job.KindOf(err) != job.Permanent {
		s.t.Errorf("a change of no writes: got %v, want Permanent", err)
	}
	if err := s.ledger.Apply(s.ctx, job.StageAll([]job.Unit{newer[0], newer[0]}, s.now)); job.KindOf(err) != job.Permanent {
		s.t.Errorf("a change that writes one row twice: got %v, want Permanent", err)
	}
}

func cancelledCaller(s *story) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	intent := s.intent()
	if err := s.ledger.Apply(ctx, job.Create(intent, s.now)); job.KindOf(err) != job.Cancelled {
		s.t.Errorf("a write: got %v, want Cancelled", err)
	}
	if _, err := s.ledger.Row(ctx, job.JobKey(intent.Job.ID)); job.KindOf(err) != job.Cancelled {
		s.t.Errorf("a read: got %v, want Cancelled", err)
	}
	if row := s.row(job.JobKey(intent.Job.ID)); len(row) != 0 {
		s.t.Errorf("the job was written: %v", row)
	}
}

func noLimit(s *story) {
	_, rows := s.ledger.Rows(s.ctx, pipeline.Span{PK: "JOB#x", From: "A", To: "B"})
	_, due := s.ledger.Due(s.ctx, pipeline.DueSpan{Bucket: job.DueBucketName(0), At: s.now})
	_, recent := s.ledger.Recent(s.ctx, job.TenantKey(s.tenant), "", 0)
	for _, err := range []error{rows, due, recent} {
		if job.KindOf(err) != job.Permanent || !strings.Contains(err.Error(), "at least one row") {
			s.t.Errorf("got %v, want Permanent with advice", err)
		}
	}
}

func clockMonotone(s *story) {
	s.created()
	last := s.ledger.Now()
	for range 20 {
		s.row(job.QuotaKey(s.tenant))
		now := s.ledger.Now()
		if now.Before(last) {
			s.t.Fatalf("the clock went from %s back to %s", last, now)
		}
		last = now
	}
}
