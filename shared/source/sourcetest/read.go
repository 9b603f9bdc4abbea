package sourcetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

func readCases() []testCase {
	return []testCase{
		{"seven rows of one time in batches of three are each read once", sevenTies},
		{"550 rows of one time in batches of 500 are each read once", manyTies},
		{"a range begins at its lower and ends before its upper bound", bounds},
		{"since is inclusive and until exclusive to the microsecond", period},
		{"rows above the ceiling are not in the set", ceiling},
		{"an older row that appears behind the cursor is left out and one before it is read", insertedLater},
		{"a deleted row ends nothing", deleted},
		{"an empty set reads as zero rows", emptyRead},
		{"two rows of one key are refused in a batch and at its border", twins},
		{"another tenant's rows are never read, however the tenant is spelled", tenants},
		{"one row of 30 MB is read alone", hugeRow},
		{"forty rows of 3 MB stay within the byte bound", largeRows},
		{"an ended context cancels", ended},
		{"a source may be closed twice and then refuses to read", closedTwice},
		{"missing columns and tables are named by check and read", missing},
	}
}

func sevenTies(t *testing.T, f Fixture) { ties(t, f, 7, 3) }

func manyTies(t *testing.T, f Fixture) { ties(t, f, 550, 500) }

func ties(t *testing.T, f Fixture, count, batch int) {
	table := orders()
	f.Create(t, table)
	var rows []Row
	var want [][]string
	for i := range count {
		rows = append(rows, Row{"acme", at(0), strconv.Itoa(count - i)})
		want = append(want, []string{at(0), strconv.Itoa(i + 1)})
	}
	f.Insert(t, table, rows)
	wantRows(t, readRange(t, open(t, f), table.query(), row.Range{}, source.Limit{Rows: batch, Bytes: 1 << 20}), want)
}

// numbered is a set of rows whose ids count from 1, one a second.
func numbered(f Fixture, t *testing.T, count int) Table {
	table := orders()
	f.Create(t, table)
	var rows []Row
	for i := range count {
		rows = append(rows, Row{"acme", at(i + 1), strconv.Itoa(i + 1)})
	}
	f.Insert(t, table, rows)
	return table
}

func ids(rows [][]string) string {
	var list []string
	for _, r := range rows {
		list = append(list, r[1])
	}
	return strings.Join(list, " ")
}

func wantIDs(t *testing.T, rows [][]string, want string) {
	t.Helper()
	if got := ids(rows); got != want {
		t.Fatalf("ids are %q, want %q", got, want)
	}
}

func bounds(t *testing.T, f Fixture) {
	table := numbered(f, t, 9)
	src := open(t, f)
	q := table.query()
	key := func(n int) row.Key { return row.Key{at(n), strconv.Itoa(n)} }
	limit := source.Limit{Rows: 2, Bytes: 1 << 20}
	wantIDs(t, readRange(t, src, q, row.Range{To: key(4)}, limit), "1 2 3")
	wantIDs(t, readRange(t, src, q, row.Range{From: key(4), To: key(7)}, limit), "4 5 6")
	wantIDs(t, readRange(t, src, q, row.Range{From: key(7)}, limit), "7 8 9")
	wantIDs(t, readRange(t, src, q, row.Range{From: row.Key{at(4), "5"}, To: row.Key{at(7), "6"}}, limit), "5 6")
	wantIDs(t, readRange(t, src, q, row.Range{From: key(4), To: key(4)}, limit), "")
}

func period(t *testing.T, f Fixture) {
	table := orders()
	f.Create(t, table)
	f.Insert(t, table, []Row{
		{"acme", "2026-03-01T00:00:00.999999Z", "1"}, {"acme", "2026-03-01T00:00:01.000000Z", "2"}, {"acme", "2026-03-01T00:00:01.000001Z", "3"},
		{"acme", "2026-03-01T00:00:01.500000Z", "4"}, {"acme", "2026-03-01T00:00:01.500001Z", "5"}, {"acme", "2026-03-01T00:00:02.000000Z", "6"},
	})
	src := open(t, f)
	for _, c := range []struct{ since, until, want string }{
		{"", "", "1 2 3 4 5 6"},
		{"2026-03-01T00:00:01Z", "", "2 3 4 5 6"},
		{"2026-03-01T00:00:01Z", "2026-03-01T00:00:02Z", "2 3 4 5"},
		{"2026-03-01T00:00:01.000001Z", "2026-03-01T00:00:01.500001Z", "3 4"},
		{"2026-03-01T00:00:01.0000001Z", "2026-03-01T00:00:01.5000001Z", "3 4"},
		{"2026-03-01T00:00:01.500Z", "2026-03-01T00:00:01.500001Z", "4"},
		{"", "2026-03-01T00:00:01.000000Z", "1"},
		{"2027-01-01T00:00:00Z", "", ""},
	} {
		q := table.query()
		q.Since, q.Until = c.since, c.until
		rows := readRange(t, src, q, row.Range{}, plenty())
		_, planned := readPlan(t, src, q, source.PlanOptions{ShardRows: 2, ShardsMax: 10})
		wantRows(t, planned, rows)
		if got := ids(rows); got != c.want {
			t.Errorf("since %q until %q reads %q, want %q", c.since, c.until, got, c.want)
		}
	}
}

func ceiling(t *testing.T, f Fixture) {
	table := numbered(f, t, 5)
	src := open(t, f)
	q := table.query()
	plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: 2, ShardsMax: 10})
	if err != nil {
		t.Fatal(err)
	}
	q.Ceiling = plan.Ceiling
	f.Insert(t, table, []Row{{"acme", at(5), "6"}, {"acme", at(9), "9"}})
	var rows [][]string
	for _, shard := range plan.Shards {
		rows = append(rows, readRange(t, src, q, shard.Range, source.Limit{Rows: 1, Bytes: 1 << 20})...)
	}
	wantIDs(t, rows, "1 2 3 4 5")
}

func insertedLater(t *testing.T, f Fixture) {
	table := numbered(f, t, 6)
	src := open(t, f)
	q := table.query()
	q.Ceiling = row.Key{at(6), "6"}
	var b row.Batch
	if err := src.Read(context.Background(), q, row.Range{}, nil, source.Limit{Rows: 3, Bytes: 1 << 20}, &b); err != nil {
		t.Fatal(err)
	}
	after := b.Key(b.Rows()-1, 2)
	f.Insert(t, table, []Row{{"acme", at(2), "20"}, {"acme", at(4), "40"}})
	f.Delete(t, table, "id", "3")
	if err := src.Read(context.Background(), q, row.Range{}, after, plenty(), &b); err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for i := range b.Rows() {
		rows = append(rows, texts(&b, i, 2))
	}
	wantIDs(t, rows, "4 40 5 6")
}

func deleted(t *testing.T, f Fixture) {
	table := numbered(f, t, 5)
	f.Delete(t, table, "id", "3")
	wantIDs(t, readRange(t, open(t, f), table.query(), row.Range{}, source.Limit{Rows: 2, Bytes: 1 << 20}), "1 2 4 5")
}

func emptyRead(t *testing.T, f Fixture) {
	table := orders()
	f.Create(t, table)
	src := open(t, f)
	if err := src.Check(context.Background(), table.query()); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, readRange(t, src, table.query(), row.Range{}, plenty()), "")
}

func twins(t *testing.T, f Fixture) {
	table := orders()
	table.Loose = true
	table.Key = []string{"created_at"}
	f.Create(t, table)
	f.Insert(t, table, []Row{{"acme", at(1), "1"}, {"acme", at(2), "2"}, {"acme", at(2), "3"}, {"acme", at(3), "4"}})
	src := open(t, f)
	for _, rows := range []int{1, 2, 3, 10} {
		_, err := tryRange(src, table.query(), row.Range{}, source.Limit{Rows: rows, Bytes: 1 << 20})
		wantError(t, err, job.Permanent, "source_key_not_unique")
	}
}

func tenants(t *testing.T, f Fixture) {
	table := orders()
	f.Create(t, table)
	names := []string{"acme", "ACME", "acme ", "ac%", "a_me", `o'hara "x"; DROP TABLE orders; --`, "1", "1.0", "阿里", ""}
	var rows []Row
	for i, name := range names {
		rows = append(rows, Row{name, at(i), strconv.Itoa(i)})
	}
	f.Insert(t, table, rows)
	src := open(t, f)
	for i, name := range names {
		q := table.query()
		q.Tenant = name
		if name == "" {
			_, err := tryRange(src, q, row.Range{}, plenty())
			wantError(t, err, job.Permanent, "source_query_invalid")
			continue
		}
		_, read := readPlan(t, src, q, source.PlanOptions{ShardRows: 1, ShardsMax: 9})
		wantIDs(t, read, strconv.Itoa(i))
	}
	for _, name := range []string{"%", "acm", "Acme", "01", "x' OR '1'='1"} {
		q := table.query()
		q.Tenant = name
		wantIDs(t, readRange(t, src, q, row.Range{}, plenty()), "")
	}
}

func hugeRow(t *testing.T, f Fixture) {
	const size = 30 << 20
	table := orders(Column{Name: "note", Kind: row.String})
	f.Create(t, table)
	f.Insert(t, table, []Row{
		{"acme", at(1), "1", "small"}, {"acme", at(2), "2", strings.Repeat("长", size/3)}, {"acme", at(3), "3", "small"},
	})
	rows := readRange(t, open(t, f), table.query(), row.Range{}, plenty())
	wantIDs(t, rows, "1 2 3")
	if len(rows[1][2]) != size || strings.Trim(rows[1][2], "长") != "" {
		t.Fatalf("the large value has %d bytes, want %d of one character", len(rows[1][2]), size)
	}
}

func largeRows(t *testing.T, f Fixture) {
	const size, count = 3 << 20, 40
	table := orders(Column{Name: "note", Kind: row.String})
	f.Create(t, table)
	note := strings.Repeat("x", size)
	var rows []Row
	for i := range 200 {
		rows = append(rows, Row{"acme", at(i), strconv.Itoa(i), "small"})
	}
	f.Insert(t, table, rows)
	for i := range count {
		f.Insert(t, table, []Row{{"acme", at(200 + i), strconv.Itoa(200 + i), note}})
	}
	src := open(t, f)
	q := table.query()
	var after row.Key
	var b row.Batch
	read := 0
	for {
		if err := src.Read(context.Background(), q, row.Range{}, after, source.Limit{Rows: 10_000, Bytes: 4 << 20}, &b); err != nil {
			t.Fatal(err)
		}
		if b.Rows() == 0 {
			break
		}
		if b.Bytes() > 4<<20 {
			t.Fatalf("a batch has %d bytes, want at most %d", b.Bytes(), 4<<20)
		}
		read += b.Rows()
		after = b.Key(b.Rows()-1, 2)
	}
	if read != 200+count {
		t.Fatalf("read %d rows, want %d", read, 200+count)
	}
}

func ended(t *testing.T, f Fixture) {
	table := numbered(f, t, 3)
	src := open(t, f)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var b row.Batch
	wantError(t, src.Read(ctx, table.query(), row.Range{}, nil, plenty(), &b), job.Cancelled, "source_cancelled")
	ctx, cancel = context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	_, err := src.Plan(ctx, table.query(), source.PlanOptions{ShardRows: 10, ShardsMax: 10})
	wantError(t, err, job.Cancelled, "source_cancelled")
	wantIDs(t, readRange(t, src, table.query(), row.Range{}, plenty()), "1 2 3")
}

func closedTwice(t *testing.T, f Fixture) {
	table := numbered(f, t, 1)
	src := f.Open(t)
	for range 2 {
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := tryRange(src, table.query(), row.Range{}, plenty())
	wantError(t, err, job.Permanent, "source_unavailable")
}

func missing(t *testing.T, f Fixture) {
	table := numbered(f, t, 3)
	src := open(t, f)
	for name, spoil := range map[string]func(q *row.Query){
		"table":         func(q *row.Query) { q.Table = "nowhere" },
		"output column": func(q *row.Query) { q.Columns[0].Source = "gone" },
		"key column":    func(q *row.Query) { q.Key[1].Source = "gone" },
		"tenant column": func(q *row.Query) { q.TenantColumn.Source = "gone" },
		"filter column": func(q *row.Query) {
			q.Filters = []row.Filter{{Column: row.Column{Source: "gone", Kind: row.String}, Op: row.IsNull}}
		},
		"column in two places": func(q *row.Query) {
			q.Columns[0].Source = "gone"
			q.Filters = []row.Filter{{Column: q.Columns[0], Op: row.IsNull}}
		},
		"quoted column": func(q *row.Query) { q.Columns[0].Source = `id" || 'x` },
	} {
		q := table.query()
		spoil(&q)
		for call, err := range map[string]error{
			"check":    src.Check(context.Background(), q),
			"identity": func() error { _, err := src.Identity(context.Background(), q); return err }(),
			"read":     func() error { _, err := tryRange(src, q, row.Range{}, plenty()); return err }(),
		} {
			if job.CodeOf(err) != "source_schema_changed" || job.KindOf(err) != job.Permanent {
				t.Errorf("%s without %s: %v, want a permanent source_schema_changed", call, name, err)
			}
			if err != nil && name == "output column" && !strings.Contains(err.Error(), "gone") {
				t.Errorf("%s doesn't name the column: %v", call, fmt.Sprint(err))
			}
			if strings.Contains(fmt.Sprint(err), "gone, gone") {
				t.Errorf("%s names the column twice: %v", call, err)
			}
		}
	}
}
