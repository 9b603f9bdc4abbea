package job_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/limits"
)

func TestRowKeysNameTheirJobAndUnit(t *testing.T) {
	t.Parallel()
	id := testID()
	for _, test := range []struct {
		key       job.RowKey
		job, unit string
		ok        bool
	}{
		{job.JobKey(id), id, "", true},
		{job.UnitKey(id, job.PlanID), id, job.PlanID, true},
		{job.UnitKey(id, job.ShardID(17)), id, "s00017", true},
		{job.EventKey(id, 3, ""), id, "", false},
		{job.QuotaKey("acme"), "", "", false},
		{job.IdempotencyKey("acme", "d"), "", "", false},
		{job.DefinitionHeadKey("orders"), "", "", false},
		{job.SweepKey("objects"), "", "", false},
		{job.RowKey{PK: "JOB#", SK: "JOB"}, "", "", false},
		{job.RowKey{PK: "JOB#" + id, SK: "UNIT#"}, id, "", false},
	} {
		jobID, unit, ok := job.ParseRowKey(test.key)
		if ok != test.ok || ok && (jobID != test.job || unit != test.unit) {
			t.Errorf("%v: %q, %q, %v", test.key, jobID, unit, ok)
		}
	}
}

func TestKeysOfDifferentThingsNeverMeet(t *testing.T) {
	t.Parallel()
	id := testID()
	keys := []job.RowKey{
		job.JobKey(id), job.UnitKey(id, job.PlanID), job.UnitKey(id, job.FinalizeID), job.UnitKey(id, job.CleanID), job.UnitKey(id, job.ShardID(1)),
		job.EventKey(id, 1, ""), job.EventKey(id, 1, "#x"), job.QuotaKey("a"), job.QuotaKey("b"), job.IdempotencyKey("a", "k"),
		job.IdempotencyKey("b", "k"), job.DefinitionHeadKey("d"), job.DefinitionKey("d", 1), job.DefinitionKey("d", 2), job.SweepKey("s"),
	}
	seen := map[job.RowKey]bool{}
	for _, key := range keys {
		if seen[key] {
			t.Errorf("%v names two things", key)
		}
		seen[key] = true
	}
}

func TestSpansHoldExactlyTheirRows(t *testing.T) {
	t.Parallel()
	id := testID()
	within := func(key job.RowKey, from, to string) bool { return from <= key.SK && key.SK <= to }
	shardFrom, shardTo := job.ShardSpan()
	unitFrom, unitTo := job.UnitSpan()
	eventFrom, eventTo := job.EventSpan()
	for _, test := range []struct {
		name               string
		key                job.RowKey
		shard, unit, event bool
	}{
		{"first shard", job.UnitKey(id, job.ShardID(1)), true, true, false},
		{"last shard", job.UnitKey(id, job.ShardID(limits.ShardsPerJobMax)), true, true, false},
		{"plan", job.UnitKey(id, job.PlanID), false, true, false},
		{"finalize", job.UnitKey(id, job.FinalizeID), false, true, false},
		{"clean", job.UnitKey(id, job.CleanID), false, true, false},
		{"job", job.JobKey(id), false, false, false},
		{"event", job.EventKey(id, 1, ""), false, false, true},
		{"note", job.EventKey(id, 9_999_999_999, "#note"), false, false, true},
	} {
		if within(test.key, shardFrom, shardTo) != test.shard || within(test.key, unitFrom, unitTo) != test.unit || within(test.key, eventFrom, eventTo) != test.event {
			t.Errorf("%s is in the wrong span", test.name)
		}
	}
}

func TestSortKeysKeepTheOrderOfNumbers(t *testing.T) {
	t.Parallel()
	var shards, events, versions []string
	for _, n := range []int{1, 2, 9, 10, 99, 100, 999, 1000, limits.ShardsPerJobMax} {
		shards = append(shards, job.ShardID(n))
		events = append(events, job.EventKey("x", int64(n), "").SK)
		versions = append(versions, job.DefinitionKey("x", int64(n)).SK)
		if number, ok := job.ShardNumber(job.ShardID(n)); !ok || number != n {
			t.Errorf("shard %d reads back as %d, %v", n, number, ok)
		}
	}
	for _, keys := range [][]string{shards, events, versions} {
		if !slices.IsSorted(keys) {
			t.Errorf("%v is out of order", keys)
		}
	}
}

func TestDueBucketsSpreadAndStay(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	const rows = 8000
	for n := range rows {
		key := job.UnitKey(fmt.Sprintf("exp_%d", n/10), job.ShardID(n%10+1))
		bucket := job.DueBucket(key)
		if bucket != job.DueBucket(key) {
			t.Fatalf("row %v changes its bucket", key)
		}
		counts[bucket]++
	}
	if len(counts) != limits.DueBuckets {
		t.Fatalf("rows spread over %d buckets, want %d", len(counts), limits.DueBuckets)
	}
	for n := range limits.DueBuckets {
		if count := counts[job.DueBucketName(n)]; count < rows/limits.DueBuckets/2 || count > rows/limits.DueBuckets*2 {
			t.Errorf("bucket %d has %d of %d rows", n, count, rows)
		}
	}
	if !strings.HasPrefix(job.DueBucketName(3), "due#") {
		t.Errorf("bucket 3 is called %s", job.DueBucketName(3))
	}
}
