package sim_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sealift/shared/row"
	"sealift/shared/source"
)

// contract is the definition that simulated jobs use.
const contract = `{
  "schema": 1, "name": "orders", "lane": "bulk",
  "source": {
    "connection": "memory", "table": "orders",
    "tenant_column": {"name": "tenant", "kind": "string"}, "time_column": {"name": "placed_at", "kind": "timestamp"},
    "key": [{"name": "id", "kind": "int64"}]
  },
  "consistency": {"kind": "cutoff", "promise": "The rows never change."},
  "columns": [{"name": "id", "kind": "int64"}, {"name": "note", "kind": "string"}],
  "formats": ["csv"], "compressions": ["none"],
  "limits": {"span_days_max": 92, "rows_max": 1000000, "active_jobs_max": 5, "downloads_max": 5, "retention_days": 7, "shard_rows": 1000, "link_seconds_max": 300}
}`

// table is a source in memory: rows with ids from 1, in shards of a few, read in smaller batches still. A wide one has
// rows of a megabyte, so that a shard has several parts.
type table struct {
	wide bool
	// fault decides about each read.
	fault func() error
}

const (
	tableShards    = 3
	narrowShardRow = 11
	wideShardRow   = 20
)

func (t table) perShard() int {
	if t.wide {
		return wideShardRow
	}
	return narrowShardRow
}

func (t table) rows() int { return tableShards * t.perShard() }

// Open is that of pipeline.Sources.
func (t table) Open(context.Context, string) (source.Source, error) { return t, nil }

// Check is that of source.Source, like the other methods.
func (t table) Check(context.Context, row.Query) error { return nil }

// Close does nothing.
func (t table) Close() error { return nil }

// Plan cuts the table into its shards.
func (t table) Plan(context.Context, row.Query, source.PlanOptions) (source.Plan, error) {
	plan := source.Plan{Ceiling: row.Key{strconv.Itoa(t.rows())}, RowsEstimated: int64(t.rows())}
	var from row.Key
	for n := 1; n <= tableShards; n++ {
		to := row.Key{strconv.Itoa(n*t.perShard() + 1)}
		if n == tableShards {
			to = nil
		}
		plan.Shards = append(plan.Shards, source.Shard{Range: row.Range{From: from, To: to}, RowsEstimated: int64(t.perShard())})
		from = to
	}
	return plan, nil
}

// Read fills a batch with at most four rows.
func (t table) Read(ctx context.Context, q row.Query, r row.Range, after row.Key, _ source.Limit, b *row.Batch) error {
	if err := t.fault(); err != nil {
		return err
	}
	b.Reset(len(q.Columns) + len(q.Key))
	begin, err := first(r.From, after)
	if err != nil {
		return err
	}
	end := t.rows() + 1
	if r.To != nil {
		if end, err = strconv.Atoi(r.To[0]); err != nil {
			return err
		}
	}
	for id := begin; id < min(end, begin+4); id++ {
		b.AppendString(strconv.Itoa(id))
		b.AppendString(t.note(id))
		b.AppendString(strconv.Itoa(id))
	}
	return ctx.Err()
}

func (t table) note(id int) string {
	if t.wide {
		return strings.Repeat(fmt.Sprintf("%016d", id), 1<<16)
	}
	return fmt.Sprintf("row %d, \"名字\"", id)
}

// first is the first id of a range that comes after a cursor.
func first(from, after row.Key) (int, error) {
	switch {
	case after != nil:
		id, err := strconv.Atoi(after[0])
		return id + 1, err
	case from != nil:
		return strconv.Atoi(from[0])
	}
	return 1, nil
}
