package pipeline

import (
	"testing"

	"sealift/shared/definition"
	"sealift/shared/limits"
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
