package pipeline

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// shardsDone is a ledger that has the rows of shards and nothing else.
type shardsDone struct {
	Ledger

	rows []job.Fields
}

func (l shardsDone) Rows(_ context.Context, span Span) ([]job.Fields, error) {
	first := 0
	for first < len(l.rows) && keyOf(l.rows[first]).SK <= span.After {
		first++
	}
	return l.rows[first:min(len(l.rows), first+span.Limit)], nil
}

// doneShards are the rows of shards that have found one row each; every one of their keys takes keyBytes where it is stored.
func doneShards(t *testing.T, j job.Job, keyBytes int, letter string) shardsDone {
	t.Helper()
	key := func(shard int64, end string) row.Key {
		number := string([]byte{'0' + byte(shard/100), '0' + byte(shard/10%10), '0' + byte(shard%10)})
		return row.Key{number + end + strings.Repeat(letter, keyBytes-len(number+end)-len(`[""]`))}
	}
	var ledger shardsDone
	for i := range j.Shards {
		unit := job.Unit{Job: j.ID, ID: job.ShardID(int(i) + 1), Tenant: "acme", Lane: job.Bulk, State: job.UnitPending, PlanGeneration: j.PlanGeneration}
		if i > 0 {
			unit.Range.From = key(i, "a")
		}
		if i < j.Shards-1 {
			unit.Range.To = key(i+1, "a")
		}
		write := job.Stage(unit, time.UnixMilli(1))
		fields := job.Fields{job.FieldPK: write.Key.PK, job.FieldSK: write.Key.SK}
		for _, field := range write.Set {
			fields[field.Name] = field.Value
		}
		for name, found := range map[string]row.Key{"first": key(i, "b"), "cursor": key(i, "c")} {
			text, err := json.Marshal(found)
			if err != nil {
				t.Fatal(err)
			}
			fields[name] = string(text)
		}
		fields["state"], fields["rows"] = string(job.UnitDone), int64(1)
		ledger.rows = append(ledger.rows, fields)
	}
	return ledger
}

func TestKeysAreRefusedThatTheReceiptHasNoRoomFor(t *testing.T) {
	t.Parallel()
	const shards, slack = 100, 200
	for _, c := range []struct {
		name   string
		layout snapshot.Layout
		letter string
		// times is how often the receipt lists a key, wide how many bytes it takes for a letter.
		times, wide int
	}{
		{"one file", snapshot.LayoutFile, "k", 4, 1},
		{"a file for each shard, which lists its first and last key once more", snapshot.LayoutFiles, "k", 6, 1},
		{"what the receipt escapes", snapshot.LayoutFile, "<", 4, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fits := limits.ReceiptKeyBytesMax / shards / c.times / c.wide
			j := job.Job{ID: job.NewID([16]byte{1}), Shards: shards, PlanGeneration: 1, Rows: shards, Snapshot: "{}"}
			w, err := Finalizer{Worker: Worker{Ledger: doneShards(t, j, fits, c.letter)}}.gather(t.Context(), j, c.layout)
			if err != nil {
				t.Fatal(err)
			}
			receipt := len(newReceipt(j, snapshot.Snapshot{Layout: c.layout}, w, layFiles(w, c.layout)).Encode())
			if beside := receipt - w.keyBytes; beside < 0 || beside > shards*2048 {
				t.Errorf("the receipt has %d bytes, of which %d are said to be keys; want about as many", receipt, w.keyBytes)
			}
			_, err = Finalizer{Worker: Worker{Ledger: doneShards(t, j, fits+slack, c.letter)}}.gather(t.Context(), j, c.layout)
			if job.CodeOf(err) != "keys_too_large" || job.KindOf(err) != job.Permanent || !strings.Contains(err.Error(), "export's 100 shards begin and end take more than the 12 MiB ") {
				t.Errorf("longer keys give %v", err)
			}
		})
	}
}
