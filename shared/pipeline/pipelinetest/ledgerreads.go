package pipelinetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

func (s *story) rows(pk, from, to, after string, limit int) []job.Fields {
	s.t.Helper()
	rows, err := s.ledger.Rows(s.ctx, pipeline.Span{PK: pk, From: from, To: to, After: after, Limit: limit})
	if err != nil {
		s.t.Fatal(err)
	}
	return rows
}

func rowsInSpan(s *story) {
	j := s.running(5)
	from, to := job.ShardSpan()
	unitsFrom, unitsTo := job.UnitSpan()
	key := func(id string) string { return job.UnitKey(j.ID, id).SK }
	for _, test := range []struct {
		name            string
		from, to, after string
		limit           int
		want            []string
	}{
		{"the whole span", from, to, "", 100, []string{"s00001", "s00002", "s00003", "s00004", "s00005"}},
		{"both ends are part of it", key("s00002"), key("s00004"), "", 100, []string{"s00002", "s00003", "s00004"}},
		{"up to the limit", from, to, "", 2, []string{"s00001", "s00002"}},
		{"as many as there are", from, to, "", 5, []string{"s00001", "s00002", "s00003", "s00004", "s00005"}},
		{"after a row", from, to, key("s00003"), 100, []string{"s00004", "s00005"}},
		{"after a row, up to the limit", from, to, key("s00001"), 2, []string{"s00002", "s00003"}},
		{"after a row that does not exist", from, to, key("s00003a"), 100, []string{"s00004", "s00005"}},
		{"after the last row", from, to, key("s00005"), 100, nil},
		{"after the span", from, to, "V", 100, nil},
		{"after a row before the span", from, to, "A", 2, []string{"s00001", "s00002"}},
		{"a span that ends before it begins", to, from, "", 100, nil},
		{"a span without rows", "UNIT#t", "UNIT#u", "", 100, nil},
		{"every unit", unitsFrom, unitsTo, "", 100, []string{"finalize", "plan", "s00001", "s00002", "s00003", "s00004", "s00005"}},
		{"open at the begin", "", key("plan"), "JOB", 100, []string{"finalize", "plan"}},
		{"open at the end", key("s00004"), "", "", 100, []string{"s00004", "s00005"}},
		{"open at both ends", "", "", key("s00004"), 100, []string{"s00005"}},
	} {
		var have []string
		for _, row := range s.rows(job.JobKey(j.ID).PK, test.from, test.to, test.after, test.limit) {
			unit, _ := row["unit"].(string)
			have = append(have, unit)
		}
		diff(s.t, test.name, have, test.want)
	}
	diff(s.t, "rows of a partition that does not exist", len(s.rows("JOB#none", from, to, "", 10)), 0)
}

func rowsBeyondPage(s *story) {
	const versions, size = 14, 100 << 10
	name := "big-" + unique()
	var last job.DefinitionRecord
	for n := int64(1); n <= versions; n++ {
		next := job.DefinitionRecord{
			Name: name, Version: n, Digest: fmt.Sprint(n), Body: strings.Repeat(fmt.Sprintf("%09d\n", n), size/10), Applied: s.now, Actor: "ops",
		}
		s.must(job.ApplyDefinition(last, next))
		last = next
	}
	pk := job.DefinitionKey(name, 1).PK
	diff(s.t, "the key of a row", s.rows(pk, "V#", "V#~", "", 1)[0][job.FieldSK], job.Value(job.DefinitionKey(name, 1).SK))
	for _, limit := range []int{versions, versions - 1, 1000} {
		rows := s.rows(pk, "V#", "V#~", "", limit)
		diff(s.t, "rows", len(rows), min(limit, versions))
		for i, row := range rows {
			record, err := job.DecodeDefinitionRecord(row)
			if err != nil || record.Version != int64(i+1) || len(record.Body) != size {
				s.t.Fatalf("row %d is version %d with %d bytes, %v", i, record.Version, len(record.Body), err)
			}
		}
	}
}

// dueInOrder works far in the past, where no other row is due.
func dueInOrder(s *story) {
	const jobs = 12
	base := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(len(unique())) * time.Hour)
	due := map[job.RowKey]time.Time{}
	for n := range jobs {
		s.now = base.Add(time.Duration(jobs-n) * time.Second)
		j := s.created()
		due[job.JobKey(j.ID)] = s.now.Add(limits.WakeGrace)
		due[job.UnitKey(j.ID, job.PlanID)] = s.now.Add(limits.WakeGrace)
	}
	end := base.Add(jobs*time.Second + limits.WakeGrace)
	s.eventually("all rows are due", func() bool { return len(s.due(due, end, 1000)) == 2*jobs })

	cut := base.Add(jobs/2*time.Second + limits.WakeGrace)
	have := s.due(due, cut, 1000)
	diff(s.t, "rows due at a time, inclusive", len(have), jobs)
	for key, at := range due {
		if slices.Contains(have, key) != !at.After(cut) {
			s.t.Errorf("row %v is due at %s: found by %s is %v", key, at, cut, slices.Contains(have, key))
		}
	}
	for n := range limits.DueBuckets {
		rows, err := s.ledger.Due(s.ctx, pipeline.DueSpan{Bucket: job.DueBucketName(n), At: end, Limit: 2})
		if err != nil || len(rows) > 2 {
			s.t.Errorf("bucket %d gives %d rows for a limit of 2, %v", n, len(rows), err)
		}
	}

	first := s.job(mostUrgent(due))
	s.move(first.Cancel(s.act()))
	gone := job.JobKey(first.ID)
	s.eventually("an ended job is not due", func() bool { return !slices.Contains(s.due(due, end, 1000), gone) })
}

// due reads every bucket and returns those of the keys that are due, checking the order within each bucket.
func (s *story) due(known map[job.RowKey]time.Time, at time.Time, limit int) []job.RowKey {
	s.t.Helper()
	var found []job.RowKey
	for n := range limits.DueBuckets {
		rows, err := s.ledger.Due(s.ctx, pipeline.DueSpan{Bucket: job.DueBucketName(n), At: at, Limit: limit})
		if err != nil {
			s.t.Fatal(err)
		}
		var last time.Time
		for _, row := range rows {
			key := row.Key
			when, mine := known[key]
			if !mine {
				continue
			}
			if !row.DueAt.Equal(when) {
				s.t.Errorf("bucket %d: row %v is due at %s, shown at %s", n, key, when, row.DueAt)
			}
			if when.Before(last) {
				s.t.Errorf("bucket %d: row %v comes after a later one", n, key)
			}
			if job.DueBucket(key) != job.DueBucketName(n) {
				s.t.Errorf("row %v is in bucket %d", key, n)
			}
			last = when
			found = append(found, key)
		}
	}
	return found
}

// duePages works far in the past as well. Rows that are due in the same moment must not hide each other between pages.
func duePages(s *story) {
	const jobs = 40
	s.now = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(len(unique())) * time.Hour)
	at := s.now.Add(limits.WakeGrace)
	known := map[job.RowKey]time.Time{}
	for range jobs {
		j := s.created()
		known[job.JobKey(j.ID)], known[job.UnitKey(j.ID, job.PlanID)] = at, at
	}
	s.eventually("all rows are due", func() bool { return len(s.due(known, at, 1000)) == 2*jobs })
	seen := map[job.RowKey]int{}
	for n := range limits.DueBuckets {
		span := pipeline.DueSpan{Bucket: job.DueBucketName(n), At: at, Limit: 3}
		for range 2 * jobs {
			page, err := s.ledger.Due(s.ctx, span)
			if err != nil {
				s.t.Fatal(err)
			}
			for _, row := range page {
				if _, mine := known[row.Key]; mine {
					seen[row.Key]++
				}
			}
			if len(page) < span.Limit {
				break
			}
			span.After = page[len(page)-1]
			if id, unit, _ := job.ParseRowKey(span.After.Key); unit == "" {
				// Whoever comes next moves the very row behind which the next page begins.
				s.must(s.job(id).Nudge(at.Add(time.Hour)))
			}
		}
		span.After.DueAt = at.Add(time.Second)
		if rows, err := s.ledger.Due(s.ctx, span); err != nil || len(rows) > 0 {
			s.t.Errorf("behind the time that is asked for there are %v, %v", rows, err)
		}
	}
	if len(seen) != 2*jobs {
		s.t.Errorf("%d of %d rows were seen", len(seen), 2*jobs)
	}
	for key, times := range seen {
		if times != 1 {
			s.t.Errorf("row %v was seen %d times", key, times)
		}
	}
}

func mostUrgent(due map[job.RowKey]time.Time) (jobID string) {
	var earliest time.Time
	for key, at := range due {
		if id, _, _ := job.ParseRowKey(key); earliest.IsZero() || at.Before(earliest) {
			earliest, jobID = at, id
		}
	}
	return jobID
}

func recentInOrder(s *story) {
	const jobs = 7
	var want []string
	for n := range jobs {
		s.now = storyTime().Add(time.Duration(n) * time.Second)
		want = append(want, s.created().ID)
	}
	slices.Reverse(want)
	stranger := newStory(s.t, s.ledger)
	stranger.created()

	recent := func(before string, limit int) []job.Fields {
		s.t.Helper()
		rows, err := s.ledger.Recent(s.ctx, job.TenantKey(s.tenant), before, limit)
		if err != nil {
			s.t.Fatal(err)
		}
		return rows
	}
	s.eventually("all jobs are listed", func() bool { return len(recent("", 100)) == jobs })
	var have []string
	before := ""
	for range jobs {
		page := recent(before, 3)
		for _, row := range page {
			j, err := job.DecodeJob(row)
			if err != nil {
				s.t.Fatal(err)
			}
			have = append(have, j.ID)
			// Where a row is names the job also when nothing else of the row can be read.
			pk, _ := row[job.FieldPK].(string)
			sk, _ := row[job.FieldSK].(string)
			id, _, _ := job.ParseRowKey(job.RowKey{PK: pk, SK: sk})
			diff(s.t, "the job that a row's key names", id, j.ID)
			before, _ = row[job.FieldCreated].(string)
		}
		if len(page) < 3 {
			break
		}
	}
	diff(s.t, "jobs, newest first", have, want)
	diff(s.t, "jobs older than the oldest", len(recent(before, 3)), 0)
}

// eventually waits for what an index shows a moment later.
func (s *story) eventually(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("after 10 s it is still not so: %s", what)
		}
	}
}
