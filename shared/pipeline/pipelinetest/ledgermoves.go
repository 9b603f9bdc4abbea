package pipelinetest

import (
	"math"
	"sync"
	"sync/atomic"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/row"
)

func checkpointRepeats(s *story) {
	j := s.running(1)
	unit := s.claimed(j.ID, job.ShardID(1))
	stale := unit
	unit, open := unit.OpenUpload("staging/x", "u1")
	s.must(open)
	s.must(open)
	_, other := unit.OpenUpload("staging/x", "u2")
	s.refused(other)

	progress := unit.Progress
	progress.Rows, progress.Bytes, progress.Cursor = 10, 100, row.Key{"a", "1"}
	one, first := unit.Checkpoint(job.Part{Number: 1, ETag: "e:1", Bytes: 100, CRC64: math.MaxUint64}, progress)
	s.must(first)
	s.must(first)
	progress.Rows, progress.Bytes, progress.Cursor = 25, 250, row.Key{"b", "2"}
	_, second := one.Checkpoint(job.Part{Number: 2, ETag: "e2", Bytes: 150, CRC64: 1}, progress)
	s.must(second)
	s.must(second)

	have := s.unit(j.ID, unit.ID)
	diff(s.t, "parts", have.Progress.Parts, []job.Part{
		{Number: 1, ETag: "e:1", Bytes: 100, CRC64: math.MaxUint64}, {Number: 2, ETag: "e2", Bytes: 150, CRC64: 1},
	})
	diff(s.t, "rows", have.Progress.Rows, int64(25))
	diff(s.t, "cursor", have.Progress.Cursor, row.Key{"b", "2"})
	diff(s.t, "next part number", have.Upload.PartNumber, int64(3))

	s.now = have.LeaseUntil.Add(1)
	s.claimed(j.ID, unit.ID)
	_, late := stale.Checkpoint(job.Part{Number: 3, ETag: "late", Bytes: 1}, progress)
	s.refused(late)
	diff(s.t, "parts after a stale checkpoint", len(s.unit(j.ID, unit.ID).Progress.Parts), 2)
}

func uploadsFollow(s *story) {
	j := s.running(1)
	unit := s.claimed(j.ID, job.ShardID(1))
	first, open := unit.OpenUpload("artifacts/1", "u1")
	s.must(open)
	_, follow := first.FollowUpload("artifacts/2", "u2")
	s.must(follow)
	s.must(follow)
	_, late := first.FollowUpload("artifacts/2", "u3")
	s.refused(late)
	diff(s.t, "upload", s.unit(j.ID, unit.ID).Upload, job.Upload{Key: "artifacts/2", ID: "u2", PartNumber: 1})
}

func valuesSurvive(s *story) {
	j := s.running(1)
	unit := s.claimed(j.ID, job.ShardID(1))
	want := job.Progress{
		Cursor: row.Key{"2026-03-29T01:00:00.123456Z", "名字 \"q\"\n𠮷", ""},
		First:  row.Key{"-9223372036854775808"},
		Rows:   9007199254740993, Bytes: math.MaxInt64, RawBytes: math.MinInt64 + 1, RawCRC32: math.MaxUint32,
		CRC64: math.MaxUint64, RowsHash: 1 << 63, Counters: job.Counters{Nulls: 1, Neutralised: 2, InvalidUTF8: 3, Masked: 4, NumbersAsText: 5, TimesAsText: 6, Escaped: 7, Replaced: 8, Truncated: 9},
		Fragment:  `{"sheets": ["名字"]}`,
		PartCount: 1, Exhausted: true, Parts: []job.Part{{Number: 1, ETag: "", Bytes: 0, CRC64: 0}},
	}
	want.RawBytes = math.MaxInt64
	_, checkpoint := unit.Checkpoint(want.Parts[0], want)
	s.must(checkpoint)
	diff(s.t, "progress", s.unit(j.ID, unit.ID).Progress, want)

	event := audit.Event{
		Job: j.ID, Tenant: s.tenant, Action: audit.Denied, Actor: "ünï@acme.example", AtMilli: math.MaxInt64, Version: j.Version,
		Reason: "line\r\nbreak\ttab \\ \" 😀", Detail: map[string]string{"empty": ""},
	}
	s.must(job.Note(event, "n"))
	have, err := job.DecodeEvent(s.row(job.EventKey(j.ID, j.Version, "#n")))
	if err != nil {
		s.t.Fatal(err)
	}
	diff(s.t, "event", have, event)
}

func planRepeats(s *story) {
	j := s.created()
	plan := s.claimed(j.ID, job.PlanID)
	stage := job.StageAll(s.shards(j, 3, plan.Generation), s.now)
	s.must(stage)
	s.must(stage)
	commit, err := j.Plan(plan, job.Planned{Shards: 3, RowsEstimated: 7, Ceiling: row.Key{"z"}}, s.act())
	s.move(commit, err)
	s.must(commit)
	j = s.job(j.ID)
	if j.State != job.StateRunning || j.Version != 2 || j.Shards != 3 || j.PlanGeneration != 1 || j.Ceiling[0] != "z" || j.RowsEstimated != 7 {
		s.t.Errorf("the job reads back as %+v", j)
	}
	if finalize := s.unit(j.ID, job.FinalizeID); finalize.State != job.UnitPending || finalize.PlanGeneration != 1 {
		s.t.Errorf("the finalize unit reads back as %+v", finalize)
	}
	if shard := s.unit(j.ID, job.ShardID(2)); shard.Range.String() != "[1, 2)" || shard.RowsEstimated != 1 {
		s.t.Errorf("the second shard reads back as %+v", shard)
	}
}

func shardsEndTogether(s *story) {
	const shards = 6
	j := s.running(shards)
	var group sync.WaitGroup
	for n := 1; n <= shards; n++ {
		unit := s.claimed(j.ID, job.ShardID(n))
		unit.Progress.Rows = int64(n)
		change := j.FinishShard(unit, job.StagedObject{Key: unit.ID, ETag: "e", Bytes: 10}, s.now)
		group.Go(func() {
			for range 2 {
				if err := s.patiently(change); err != nil {
					s.t.Errorf("shard %d: %v", n, err)
				}
			}
		})
	}
	group.Wait()
	j = s.job(j.ID)
	diff(s.t, "done", j.ShardsDone, int64(shards))
	diff(s.t, "rows", j.Rows, int64(shards*(shards+1)/2))
	diff(s.t, "bytes", j.Bytes, int64(shards*10))
	if !j.AllShardsDone() {
		s.t.Error("the job does not know that all its shards are done")
	}
}

func cancelOrPublish(s *story) {
	for range 3 {
		j := s.running(1)
		s.finished(j, 1, 3)
		finalize := s.claimed(j.ID, job.FinalizeID)
		j = s.job(j.ID)
		publish, errPublish := j.BeginPublish(finalize, job.Publication{ArtifactKey: "a", ReceiptKey: "r"}, s.act())
		cancel, errCancel := j.Cancel(s.act())
		if errPublish != nil || errCancel != nil {
			s.t.Fatal(errPublish, errCancel)
		}
		var wins atomic.Int32
		var group sync.WaitGroup
		for _, change := range []job.Change{publish, cancel} {
			group.Go(func() {
				switch err := s.patiently(change); job.KindOf(err) {
				case "":
					wins.Add(1)
				case job.Fenced:
				default:
					s.t.Errorf("%s: %v", change.Name(), err)
				}
			})
		}
		group.Wait()
		diff(s.t, "winners", wins.Load(), int32(1))
		after := s.job(j.ID)
		clean := len(s.row(job.UnitKey(j.ID, job.CleanID))) > 0
		if cancelled := after.State == job.StateCancelled; cancelled != clean || cancelled == (after.Publish.ArtifactKey != "") {
			s.t.Errorf("the job is %s, publishes %q, clean unit %v: the loser left something behind", after.State, after.Publish.ArtifactKey, clean)
		}
		diff(s.t, "version", after.Version, j.Version+1)
	}
}

func cleanRestaged(s *story) {
	j := s.completed()
	clean := s.unit(j.ID, job.CleanID)
	if clean.State != job.UnitPending || clean.Generation != 1 || clean.Scope != job.CleanStaging || clean.DueAt.IsZero() {
		s.t.Errorf("the clean unit reads back as %+v", clean)
	}
	cleaner := s.claimed(j.ID, job.CleanID)
	s.must(j.Cleaned(cleaner, map[string]string{"objects": "2"}, s.now))

	s.move(j.Expire(audit.Expired, s.act()))
	again := s.unit(j.ID, job.CleanID)
	if again.State != job.UnitPending || again.Generation != cleaner.Generation+1 || again.Scope != job.CleanEverything || again.DueAt.IsZero() {
		s.t.Errorf("the clean unit of the expired job reads back as %+v", again)
	}
	holder := s.claimed(j.ID, job.CleanID)
	s.must(j.Cleaned(holder, nil, s.now))
	s.refused(cleaner.Release(s.now))
	expired := s.job(j.ID)
	if expired.State != job.StateExpired || !expired.DueAt.IsZero() {
		s.t.Errorf("the expired job reads back as %+v", expired)
	}
	diff(s.t, "active jobs", s.row(job.QuotaKey(s.tenant))["active_jobs"], job.Value(int64(0)))
}

func completeAndSign(s *story) {
	j, finalize := s.publishing()
	wrong, err := j.Complete(finalize, job.Artifact{Key: "artifacts/another"}, s.act())
	if err != nil {
		s.t.Fatal(err)
	}
	s.refused(wrong)
	want := job.Artifact{
		Key: j.Publish.ArtifactKey, ReceiptKey: j.Publish.ReceiptKey, ReceiptSHA256: "c0", ReceiptSignature: "head..tail", ETag: "e", Bytes: 30, Rows: 3, CRC64: math.MaxUint64,
	}
	complete, err := j.Complete(finalize, want, s.act())
	s.move(complete, err)
	s.must(complete)
	j = s.job(j.ID)
	diff(s.t, "artifact", j.Artifact, want)
	if j.State != job.StateCompleted || !j.ExpiresAt.Equal(s.now.Add(j.Retention)) || !j.DueAt.Equal(j.ExpiresAt) {
		s.t.Errorf("the completed job reads back as %+v", j)
	}
	sign, err := j.Sign(s.act(), 0)
	s.move(sign, err)
	s.must(sign)
	later := s.act()
	later.Now = later.Now.Add(1e6)
	second, err := j.Sign(later, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.refused(second)
	diff(s.t, "downloads", s.job(j.ID).Downloads, int64(1))
}

func finishedIsNotDue(s *story) {
	j := s.created()
	plan := s.claimed(j.ID, job.PlanID)
	failure := job.Failure{Kind: job.Transient, Code: "source_timeout", Detail: "no answer"}
	s.must(plan.Retry(failure, s.now, s.now.Add(7e9)))
	waiting := s.unit(j.ID, job.PlanID)
	if waiting.State != job.UnitWaiting || !waiting.DueAt.Equal(s.now.Add(7e9)) || waiting.Faults != 1 || !waiting.LeaseUntil.IsZero() {
		s.t.Errorf("the waiting unit reads back as %+v", waiting)
	}
	s.now = waiting.DueAt
	plan = s.claimed(j.ID, job.PlanID)
	fail, err := s.job(j.ID).FailUnit(plan, failure, s.act())
	s.move(fail, err)
	s.must(fail)
	failed := s.unit(j.ID, job.PlanID)
	if failed.State != job.UnitFailed || !failed.DueAt.IsZero() || !failed.LeaseUntil.IsZero() {
		s.t.Errorf("the failed unit reads back as %+v", failed)
	}
	for _, field := range []string{job.FieldDueAt, job.FieldDueBucket} {
		if value, present := s.row(job.UnitKey(j.ID, job.PlanID))[field]; present {
			s.t.Errorf("the failed unit still has %s = %v", field, value)
		}
	}
	after := s.job(j.ID)
	failure.Unit = job.PlanID
	diff(s.t, "failure", after.Failure, failure)
	diff(s.t, "state", after.State, job.StateFailed)
}

func auditInOrder(s *story) {
	j := s.completed()
	s.move(j.Sign(s.act(), 0))
	s.must(job.Note(audit.Event{Job: j.ID, Tenant: s.tenant, Action: audit.Denied, Actor: "bob", AtMilli: 1, Version: j.Version}, "x"))
	s.refused(job.Note(audit.Event{Job: j.ID, Tenant: s.tenant, Action: audit.Denied, Actor: "bob", AtMilli: 2, Version: j.Version}, "x"))
	from, to := job.EventSpan()
	var actions []audit.Action
	for _, row := range s.rows(job.JobKey(j.ID).PK, from, to, "", 100) {
		event, err := job.DecodeEvent(row)
		if err != nil {
			s.t.Fatal(err)
		}
		actions = append(actions, event.Action)
	}
	diff(s.t, "actions", actions, []audit.Action{
		audit.Created, audit.Planned, audit.Publishing, audit.Completed, audit.Denied, audit.Signed,
	})
}

func definitionVersions(s *story) {
	one := job.DefinitionRecord{Name: "d-" + unique(), Version: 1, Digest: "1", Body: "body: one\n", Applied: s.now, Actor: "ops"}
	two := one
	two.Version, two.Digest, two.Body = 2, "2", "body: two\n"
	s.must(job.ApplyDefinition(job.DefinitionRecord{}, one))
	s.must(job.ApplyDefinition(job.DefinitionRecord{}, one))
	other := one
	other.Digest = "other"
	s.refused(job.ApplyDefinition(job.DefinitionRecord{}, other))
	s.must(job.ApplyDefinition(one, two))
	s.must(job.ApplyDefinition(one, two))
	for key, want := range map[job.RowKey]job.DefinitionRecord{
		job.DefinitionHeadKey(one.Name): two, job.DefinitionKey(one.Name, 1): one, job.DefinitionKey(one.Name, 2): two,
	} {
		have, err := job.DecodeDefinitionRecord(s.row(key))
		if err != nil {
			s.t.Fatal(err)
		}
		diff(s.t, key.SK, have, want)
	}
}

func sweepPosition(s *story) {
	scan := "scan-" + unique()
	diff(s.t, "before", job.SweepPosition(s.row(job.SweepKey(scan))), "")
	s.must(job.SaveSweep(scan, "", "m"))
	s.must(job.SaveSweep(scan, "", "m"))
	s.refused(job.SaveSweep(scan, "", "b"))
	s.must(job.SaveSweep(scan, "m", ""))
	diff(s.t, "after", job.SweepPosition(s.row(job.SweepKey(scan))), "")
}
