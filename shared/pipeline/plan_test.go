package pipeline

import (
	"slices"
	"strings"
	"testing"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

func TestAWorkbookHasFewSheetsAndManyWorkbooksHaveOneEach(t *testing.T) {
	t.Parallel()
	cases := []struct {
		format    string
		layout    snapshot.Layout
		shardRows int64
		want      int64
	}{
		{"csv", snapshot.LayoutFile, 250_000, 250_000},
		{"parquet", snapshot.LayoutFiles, 2_000_000, 2_000_000},
		{"xlsx", snapshot.LayoutFile, 1000, limits.SheetShardRows},
		{"xlsx", snapshot.LayoutFiles, 1000, 1000},
		{"xlsx", snapshot.LayoutFiles, 2_000_000, limits.SheetShardRows},
	}
	for _, c := range cases {
		snap := snapshot.Snapshot{Format: snapshot.Format{Type: c.format}, Layout: c.layout}
		d := definition.Definition{Limits: definition.Limits{ShardRows: c.shardRows}}
		if have := shardRows(snap, d); have != c.want {
			t.Errorf("%s in the layout %s with shard_rows %d: %d rows a shard, want %d", c.format, c.layout, c.shardRows, have, c.want)
		}
	}
}

func TestAKeyIsHeldToWhatItTakesWhereItIsStored(t *testing.T) {
	t.Parallel()
	const brackets = len(`[""]`)
	for name, c := range map[string]struct {
		fill string
		most int // how many of it a key may have
	}{
		"letters":            {"a", limits.KeyBytesMax - brackets},
		"marks of HTML":      {"<", limits.KeyBytesMax - brackets},
		"quotes":             {`"`, (limits.KeyBytesMax - brackets) / 2},
		"control characters": {"\x01", (limits.KeyBytesMax - brackets) / 6},
		"ideographs":         {"漢", (limits.KeyBytesMax - brackets) / 3},
	} {
		if err := storable(row.Key{strings.Repeat(c.fill, c.most)}); err != nil {
			t.Errorf("%s: a key of %d is refused: %v", name, c.most, err)
		}
		err := storable(row.Key{strings.Repeat(c.fill, c.most+1)})
		if job.CodeOf(err) != "key_too_long" || job.KindOf(err) != job.Permanent || !strings.Contains(err.Error(), "at most 32768 are allowed: choose other key columns") {
			t.Errorf("%s: a key of %d gives %v, want a permanent key_too_long", name, c.most+1, err)
		}
	}
}

func TestShardsAreStagedInWritesThatTheLedgerTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		units, size, want int
	}{
		"none":                    {0, 0, 0},
		"one":                     {1, 10, 1},
		"as many as one takes":    {limits.StagePerWrite, 10, 1},
		"one more":                {limits.StagePerWrite + 1, 10, 2},
		"long keys, few a write":  {100, 30 << 10, 2},
		"the longest keys":        {100, limits.KeyBytesMax - 4, 3},
		"keys that just fit them": {limits.StagePerWrite, limits.StageBytes/limits.StagePerWrite/2 - 4, 1},
	} {
		key := row.Key{strings.Repeat("k", c.size)}
		units := make([]job.Unit, c.units)
		for i := range units {
			units[i] = job.Unit{ID: job.ShardID(i + 1), Range: row.Range{From: key, To: key}}
		}
		all := stages(units)
		if len(all) != c.want {
			t.Errorf("%s: %d writes, want %d", name, len(all), c.want)
		}
		var staged []string
		for _, some := range all {
			bytes := 0
			for _, unit := range some {
				staged = append(staged, unit.ID)
				bytes += job.KeyBytes(unit.Range.From) + job.KeyBytes(unit.Range.To)
			}
			if len(some) == 0 || len(some) > limits.StagePerWrite || bytes > limits.StageBytes {
				t.Errorf("%s: a write has %d units and %d bytes of keys", name, len(some), bytes)
			}
		}
		if len(staged) != c.units || !slices.IsSorted(staged) {
			t.Errorf("%s: the writes hold %d units of %d", name, len(staged), c.units)
		}
	}
}
