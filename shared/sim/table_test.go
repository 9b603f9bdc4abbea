package sim_test

import (
	"context"
	"fmt"
	"strconv"

	"sealift/shared/format"
	"sealift/shared/pipeline"
	"sealift/shared/row"
	"sealift/shared/sim"
	"sealift/shared/snapshot"
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
  "formats": ["csv", "jsonl", "xlsx", "parquet"], "compressions": ["none", "gzip"],
  "limits": {"span_days_max": 92, "rows_max": 1000000, "active_jobs_max": 5, "downloads_max": 5, "retention_days": 7, "shard_rows": 1000, "link_seconds_max": 300}
}`

// The sizes of a simulated world: small ones, so that a few rows make several parts and a few parts several copies.
const (
	simPartBytesMin = 200
	simCopyBytesMax = 600
)

func simCut() format.Cut { return format.Cut{BlockBytes: 64, PartBytes: 256} }

func simBounds() pipeline.Bounds {
	return pipeline.Bounds{PartBytesMin: simPartBytesMin, CopyBytesMax: simCopyBytesMax}
}

// shape is what a job exports: how many rows each shard has, and how they are written.
type shape struct {
	name   string
	shards []int
	format snapshot.FormatRequest
	layout string
	// rare is how much rarer than others random lives have this shape, because it takes long.
	rare int
	// applied is a ledger in which the definition is applied.
	applied *sim.Ledger
}

func shapes() []shape {
	csv := snapshot.FormatRequest{Type: "csv", Compression: "none"}
	all := []shape{
		{name: "several parts, empty, small", shards: []int{23, 0, 3}, format: csv},
		{name: "small, large, small", shards: []int{2, 40, 1}, format: csv},
		{name: "small before large", shards: []int{3, 30}, format: csv},
		{name: "empty", shards: []int{0}, format: csv},
		{name: "nothing but small", shards: []int{1, 0, 2, 1}, format: snapshot.FormatRequest{Type: "jsonl", Compression: "none"}},
		{name: "large and large", shards: []int{18, 17}, format: snapshot.FormatRequest{Type: "jsonl", Compression: "none"}},
		{name: "ten shards", shards: []int{5, 9, 1, 0, 14, 3, 22, 2, 8, 6}, format: csv, rare: 4},
		{name: "many files", shards: []int{4, 30, 0, 20}, format: csv, layout: "files"},
		{name: "workbook", shards: []int{9, 0, 12}, format: snapshot.FormatRequest{Type: "xlsx"}, rare: 4},
		{name: "columns", shards: []int{30, 0, 2}, format: snapshot.FormatRequest{Type: "parquet"}, rare: 4},
		{name: "packed", shards: []int{60, 4}, format: snapshot.FormatRequest{Type: "csv", Compression: "gzip"}, rare: 8},
	}
	begin := applied()
	for i := range all {
		all[i].applied = begin
	}
	return all
}

// gap is how many ids belong to one shard, whether there are rows or not.
const gap = 100

// many reports whether the rows are spread over many files.
func (s shape) many() bool { return s.layout == "files" }

// objects is how many objects are published: the file, or the manifest and one file for each shard with rows.
func (s shape) objects() int {
	if !s.many() {
		return 1
	}
	objects := 1
	for _, rows := range s.shards {
		objects += min(rows, 1)
	}
	return max(objects, 2)
}

func (s shape) rows() int {
	sum := 0
	for _, n := range s.shards {
		sum += n
	}
	return sum
}

// values are the exported values of every row in order.
func (s shape) values() [][2]string {
	var all [][2]string
	for shard, rows := range s.shards {
		for n := range rows {
			id := shard*gap + n
			all = append(all, [2]string{strconv.Itoa(id), note(id)})
		}
	}
	return all
}

func note(id int) string {
	const text = "名字 \"quoted\" and, some more text to make rows of different length"
	return fmt.Sprintf("row %d %.*s", id, 3+id*7%20, text)
}

// table is a source in memory as one caller sees it.
type table struct {
	shape shape
	// touch is asked before each call and may refuse it; short chooses how many rows of up to four a batch has.
	touch func(ctx context.Context, method, subject string) error
	short func(most int) int
	// replaced says that another table has taken the name, with other rows.
	replaced *bool
}

// Open is that of pipeline.Sources.
func (t table) Open(ctx context.Context, connection string) (source.Source, error) {
	return t, t.touch(ctx, "Open", connection)
}

// Check is that of source.Source, like the other methods.
func (t table) Check(ctx context.Context, _ row.Query) error { return t.touch(ctx, "Check", "") }

// Identity changes when the table is replaced.
func (t table) Identity(ctx context.Context, _ row.Query) (string, error) {
	err := t.touch(ctx, "Identity", "")
	if *t.replaced {
		return "another table", err
	}
	return "table", err
}

// Close does nothing.
func (t table) Close() error { return nil }

// Plan cuts the table into its shards.
func (t table) Plan(ctx context.Context, _ row.Query, _ source.PlanOptions) (source.Plan, error) {
	if err := t.touch(ctx, "Plan", ""); err != nil {
		return source.Plan{}, err
	}
	last := len(t.shape.shards)
	plan := source.Plan{Ceiling: row.Key{strconv.Itoa(last * gap)}, RowsEstimated: int64(t.shape.rows())}
	var from row.Key
	for n, rows := range t.shape.shards {
		to := row.Key{strconv.Itoa((n + 1) * gap)}
		if n == last-1 {
			to = nil
		}
		plan.Shards = append(plan.Shards, source.Shard{Range: row.Range{From: from, To: to}, RowsEstimated: int64(rows)})
		from = to
	}
	return plan, nil
}

// Read fills a batch with at most four rows; fewer than it could are no end.
func (t table) Read(ctx context.Context, q row.Query, r row.Range, after row.Key, _ source.Limit, b *row.Batch) error {
	shard, next, err := position(r, after)
	if err != nil {
		return err
	}
	if err := t.touch(ctx, "Read", strconv.Itoa(next)); err != nil {
		return err
	}
	b.Reset(len(q.Columns) + len(q.Key))
	end := shard*gap + t.shape.shards[shard]
	for id := next; id < min(end, next+1+t.short(4)); id++ {
		b.AppendString(strconv.Itoa(id))
		if *t.replaced {
			b.AppendString("of another table")
		} else {
			b.AppendString(note(id))
		}
		b.AppendString(strconv.Itoa(id))
	}
	return nil
}

// position is the shard that a range is, and the first id of it that comes after a cursor.
func position(r row.Range, after row.Key) (shard, next int, err error) {
	from := 0
	if r.From != nil {
		if from, err = strconv.Atoi(r.From[0]); err != nil {
			return 0, 0, err
		}
	}
	if after == nil {
		return from / gap, from, nil
	}
	last, err := strconv.Atoi(after[0])
	return from / gap, last + 1, err
}
