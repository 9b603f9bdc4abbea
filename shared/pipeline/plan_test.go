package pipeline

import (
	"strings"
	"testing"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/snapshot"
	"sealift/shared/source"
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

func TestAPlanIsHeldToTheKeysThatAReceiptLists(t *testing.T) {
	t.Parallel()
	const each = limits.PlanKeyBytes / 64
	key := func(size int) row.Key { return row.Key{strings.Repeat("k", size-len(`[""]`))} }
	planned := source.Plan{Ceiling: key(each), Shards: []source.Shard{{}}}
	for range 64 {
		planned.Shards[len(planned.Shards)-1].Range.To = key(each)
		planned.Shards = append(planned.Shards, source.Shard{Range: row.Range{From: key(each)}})
	}
	if err := checkKeys(planned); err != nil {
		t.Errorf("as many keys as a plan may have are refused: %v", err)
	}
	planned.Shards[1].Range.From = key(each + 1)
	err := checkKeys(planned)
	const says = "the keys between the 65 shards that the source planned take 1048577 bytes, and 1048576 are allowed; report it, and until it is mended choose " +
		"shorter key columns or a larger shard_rows"
	if job.CodeOf(err) != "plan_malformed" || job.KindOf(err) != job.Permanent || !strings.Contains(err.Error(), says) {
		t.Errorf("a byte more gives %v", err)
	}
}
