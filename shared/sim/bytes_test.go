package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// TestThePoliceComparesTheLedgerWithTheStore breaks one rule at a time of a world that is whole.
func TestThePoliceComparesTheLedgerWithTheStore(t *testing.T) {
	t.Parallel()
	id := job.NewID([16]byte{1})
	shardKey, jobKey := job.UnitKey(id, job.ShardID(1)), job.JobKey(id)
	staged := "staging/acme/" + id + "/" + job.ShardID(1) + "/1"
	data := []byte("some bytes")
	crc := uint64(checksum.Sum64(data))
	const now = 1_774_746_000_000
	row := func(key job.RowKey, more ...any) job.Fields {
		return dueRow(key, append([]any{job.FieldDueAt, int64(now), "job", id}, more...)...)
	}
	leased := row(shardKey, "unit", job.ShardID(1), "state", "leased", "generation", int64(1), "owner", "worker.1",
		"lease_until_ms", int64(now+60_000), "upload_key", staged, "upload_id", "upload-000001", "part_count", int64(0), "parts", []string{})
	with := func(fields job.Fields, more ...any) job.Fields {
		next := job.Fields{}
		for name, value := range fields {
			next[name] = value
		}
		for i := 0; i < len(more); i += 2 {
			name, _ := more[i].(string)
			next[name] = more[i+1]
		}
		return next
	}
	fence := []job.Guard{{Field: "generation", Test: job.IsEqual, Values: []job.Value{int64(1)}}}
	unitStep := func(next job.Fields) step {
		s := step{write: job.Write{Key: shardKey, Guards: fence}, old: leased, next: next}
		s.spell()
		return s
	}
	running := row(jobKey, "state", "running", "version", int64(2), "shards", int64(2))
	for _, test := range []struct {
		name, says string
		act        func(t *testing.T, w *World)
	}{
		{"somebody else's write of a leased unit", "a stale write of other landed", func(_ *testing.T, w *World) {
			police(w, "other", "checkpoint", []step{unitStep(with(leased, "rows", int64(1)))})
		}},
		{"a takeover before the lease's end", "before its end", func(_ *testing.T, w *World) {
			police(w, "other", "claim", []step{unitStep(with(leased, "owner", "other.1", "generation", int64(2)))})
		}},
		{"a renewal that moves the end back", "cut short", func(_ *testing.T, w *World) {
			police(w, "worker", "renew", []step{unitStep(with(leased, "lease_until_ms", int64(now+50_000)))})
		}},
		{"a checkpoint of a part that is not stored", "ahead of the stored bytes", func(_ *testing.T, w *World) {
			police(w, "worker", "checkpoint", []step{unitStep(with(leased, "part_count", int64(1), "bytes", int64(10),
				"parts", []string{"1:10:0000000000000001:e"}))})
		}},
		{"a shard that is done without its object", "not the bytes that it committed", func(_ *testing.T, w *World) {
			police(w, "worker", "finish_shard", []step{unitStep(with(leased, "state", "done", "object_key", staged, "object_bytes", int64(10),
				"bytes", int64(10)))})
		}},
		{"a count that is no sum", "not the sums", func(_ *testing.T, w *World) {
			police(w, "worker", "finish_shard", []step{
				unitStep(with(leased, "state", "done", "rows", int64(3))),
				{write: job.Write{Key: jobKey}, old: running, next: with(running, "shards_done", int64(1), "rows", int64(4))},
			})
		}},
		{"an artifact that is not there", "not in the store as it says", func(_ *testing.T, w *World) {
			police(w, "worker", "complete", []step{{write: job.Write{Key: jobKey}, old: with(running, "state", "publishing"),
				next: with(running, "state", "completed", "artifact_key", "artifacts/acme/"+id+"/1-x/f.csv")}})
		}},
		{"a clean-up under a lease", "ended while s00001 is leased", func(_ *testing.T, w *World) {
			w.Ledger.state.put(w.Clock.Now(), shardKey, leased)
			cleanKey := job.UnitKey(id, job.CleanID)
			cleaning := row(cleanKey, "state", "leased", "generation", int64(1), "owner", "sweep.1")
			police(w, "sweep", "cleaned", []step{{write: job.Write{Key: cleanKey, Guards: fence}, old: cleaning, next: with(cleaning, "state", "done")}})
		}},
		{"publishing without the lease", "publishes and the holder is worker.1", func(_ *testing.T, w *World) {
			w.Ledger.state.put(w.Clock.Now(), job.UnitKey(id, job.FinalizeID), with(leased, "unit", job.FinalizeID))
			police(w, "other", "begin_publish", []step{{write: job.Write{Key: jobKey}, old: running, next: with(running, "state", "publishing")}})
		}},
		{"a due time in the far future", "due soon", func(_ *testing.T, w *World) {
			police(w, "worker", "nudge", []step{unitStep(with(leased, job.FieldDueAt, int64(now+86_400_000)))})
		}},
		{"a listed part that is written again", "written again", func(t *testing.T, w *World) {
			w.Ledger.state.put(w.Clock.Now(), shardKey, with(leased, "parts", []string{"1:10:0000000000000001:e"}))
			upload := job.Upload{Key: staged, ID: "upload-000001"}
			if _, err := w.Store.PutPart(t.Context(), upload, 1, data, crc); err != nil {
				t.Fatal(err)
			}
		}},
		{"an upload that is aborted under its job", "was aborted while", func(t *testing.T, w *World) {
			w.Ledger.state.put(w.Clock.Now(), shardKey, leased)
			w.Ledger.state.put(w.Clock.Now(), jobKey, running)
			if err := w.Store.AbortUpload(t.Context(), staged, "upload-000001"); err != nil {
				t.Fatal(err)
			}
		}},
		{"a staged object that is deleted under its job", "was deleted while", func(t *testing.T, w *World) {
			w.Ledger.state.put(w.Clock.Now(), shardKey, with(leased, "object_key", staged))
			w.Ledger.state.put(w.Clock.Now(), jobKey, running)
			if _, err := w.Store.Put(t.Context(), pipeline.NewObject{Key: staged}, data); err != nil {
				t.Fatal(err)
			}
			if err := w.Store.Delete(t.Context(), staged, ""); err != nil {
				t.Fatal(err)
			}
		}},
		{"a second artifact", "second object", func(t *testing.T, w *World) {
			for _, name := range []string{"1-x", "2-y"} {
				if _, err := w.Store.Put(t.Context(), pipeline.NewObject{Key: "artifacts/acme/" + id + "/" + name + "/f.csv"}, data); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			world := New(Options{Whole: true, Start: time.UnixMilli(now)})
			if _, err := world.Store.CreateUpload(t.Context(), pipeline.NewObject{Key: staged}); err != nil {
				t.Fatal(err)
			}
			test.act(t, world)
			if found := world.Violations(); !slices.ContainsFunc(found, func(text string) bool { return strings.Contains(text, test.says) }) {
				t.Errorf("violations are %q, want one that says %q", found, test.says)
			}
		})
	}
}
