package sqldb

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// listed is a set in which there is a row at every key.
type listed struct{}

// keyAt gives the highest key of the scope.
func (listed) keyAt(_ context.Context, _ *row.Query, s scope, _ bool) (row.Key, error) {
	return s.upper.key, nil
}

// Where long keys take the room of the first shards, short ones behind them have more.
func TestFewLongKeysLeaveRoomForManyShards(t *testing.T) {
	t.Parallel()
	const count, keyBytes = 8_000, 1 << 20
	for _, c := range []struct {
		name        string
		long        func(i int) bool
		least, most int
	}{
		{"none is long", func(int) bool { return false }, count, count},
		{"the first hundred are long", func(i int) bool { return i < 100 }, count / 8, count},
		{"the last hundred are long", func(i int) bool { return i >= count-100 }, count / 8, count},
		{"all are long", func(int) bool { return true }, 20, 34},
	} {
		var cuts []cut
		for i := range count {
			key := fmt.Sprintf("%06d", i)
			if c.long(i) {
				key += strings.Repeat("k", 30<<10)
			}
			cuts = append(cuts, cut{key: row.Key{key}, rows: 1_000})
		}
		q := &row.Query{Key: []row.Column{{Name: "k", Source: "k", Kind: row.String}}}
		plan, err := finishPlan(t.Context(), listed{}, q, cuts[count-1].key, cuts, true, source.PlanOptions{ShardRows: 1_000, ShardsMax: 10_000, KeyBytes: keyBytes})
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, shard := range plan.Shards[1:] {
			size += job.KeyBytes(shard.Range.From)
		}
		if n := len(plan.Shards); n < c.least || n > c.most || size > keyBytes || plan.RowsEstimated != count*1_000 {
			t.Errorf("%s: %d shards of %d rows with %d bytes of keys, want %d to %d shards", c.name, n, plan.RowsEstimated, size, c.least, c.most)
		}
	}
}

// A planner may see any number of keys and holds those of a few shards.
func TestAWalkHoldsNoMoreKeysThanItMay(t *testing.T) {
	t.Parallel()
	const count, keyBytes = 20_000, 4_000
	for _, c := range []struct {
		name        string
		long        func(i int) bool
		least, most int
	}{
		{"short keys", func(int) bool { return false }, cutKeyHolds * keyBytes / 50, cutKeyHolds * keyBytes / 20},
		{"keys of a kilobyte", func(int) bool { return true }, 10, cutKeyHolds * keyBytes / 1000},
		{"keys that become long", func(i int) bool { return i > count/2 }, 10, 2 * cutKeyHolds * keyBytes / 1000},
	} {
		w := newWalk(source.PlanOptions{ShardRows: 8, KeyBytes: keyBytes})
		held := 0
		for i := range count {
			if !w.next() {
				continue
			}
			key := fmt.Sprintf("%06d", i)
			if c.long(i) {
				key += strings.Repeat("k", 1_000)
			}
			w.take(row.Key{key})
			held = 0
			for _, c := range w.cuts {
				held += heldBytes(c.key)
			}
			if held > cutKeyHolds*keyBytes {
				t.Fatalf("%s: after %d rows %d keys take %d bytes, want at most %d", c.name, i+1, len(w.cuts), held, cutKeyHolds*keyBytes)
			}
		}
		cuts := w.finish()
		at := int64(0)
		for _, cut := range cuts {
			if want := fmt.Sprintf("%06d", at); !strings.HasPrefix(cut.key[0], want) {
				t.Fatalf("%s: behind %d rows a shard may start at %.6s, want %s", c.name, at, cut.key[0], want)
			}
			at += cut.rows
		}
		if at != count || len(cuts) < c.least || len(cuts) > c.most {
			t.Errorf("%s: %d cuts of %d rows with %d bytes, want %d to %d cuts of %d rows", c.name, len(cuts), at, held, c.least, c.most, count)
		}
	}
}
