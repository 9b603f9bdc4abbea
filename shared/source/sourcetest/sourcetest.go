// Package sourcetest owns the tests that every source must pass: nothing lost, nothing twice, nothing changed, whatever
// the keys, the sizes and the values are. A source's own tests call Run with a fixture that stores rows the way its
// users do. Start reading at Run and Fixture. It is for tests only.
package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// Fixture is one empty place for tables, with a writing side that the source under test doesn't have.
type Fixture struct {
	// Open connects the source under test.
	Open func(tb testing.TB) source.Source
	// Create makes a table and an index on its tenant and key columns.
	Create func(tb testing.TB, table Table)
	// Insert adds rows of canonical text, nil for NULL, and refreshes statistics where the source keeps any.
	Insert func(tb testing.TB, table Table, rows []Row)
	// Delete removes the rows whose column, of kind Int64, has the value.
	Delete func(tb testing.TB, table Table, column string, value string)
	// Drop, Rename and Retype change a column; Retype makes it a type that gives no Int64, and is nil where types
	// belong to values.
	Drop, Rename, Retype func(tb testing.TB, table Table, column string)
	// Exec runs statements of plain SQL on the writing side.
	Exec func(tb testing.TB, statements ...string)
	// Gives is the canonical text in which a value comes back, where the source's types change its spelling, as a scale
	// does; ok is false for a value that no type holds. Nil means that every value comes back as it was.
	Gives func(kind row.Kind, canonical string) (text string, ok bool)
	// AlikeViews says that the source can't tell a view from one of the same text that took its place.
	AlikeViews bool
}

// gives is Gives, whether or not it is set.
func (f Fixture) gives(kind row.Kind, canonical string) (text string, ok bool) {
	if f.Gives == nil {
		return canonical, true
	}
	return f.Gives(kind, canonical)
}

// Table is what a fixture creates. Its first column is the tenant.
type Table struct {
	Name    string
	Columns []Column
	// Key names the columns of the key in order.
	Key []string
	// Loose leaves the index without uniqueness.
	Loose bool
}

// Column is one column of a Table.
type Column struct {
	Name string
	Kind row.Kind
	Null bool
}

// Row is one row in canonical text, timestamps in UTC.
type Row []any

// Run runs every case, each on a fixture of its own.
func Run(t *testing.T, fixture func(t *testing.T) Fixture) {
	t.Helper()
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"read", readCases()},
		{"value", valueCases()},
		{"filter", filterCases()},
		{"change", changeCases()},
		{"identity", identityCases()},
		{"plan", planCases()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, fixture(t))
				})
			}
		})
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, f Fixture)
}

// orders is the table most cases use: business time and number are the key.
func orders(extra ...Column) Table {
	return Table{
		Name: "orders",
		Columns: append([]Column{
			{Name: "tenant", Kind: row.String}, {Name: "created_at", Kind: row.Timestamp}, {Name: "id", Kind: row.Int64},
		}, extra...),
		Key: []string{"created_at", "id"},
	}
}

// column finds a column of the table.
func (table Table) column(name string) row.Column {
	for _, c := range table.Columns {
		if c.Name == name {
			return row.Column{Name: name, Source: name, Kind: c.Kind, Scale: -1}
		}
	}
	panic("sourcetest: no column " + name)
}

// query asks for every column of the table but the tenant.
func (table Table) query() row.Query {
	q := row.Query{Table: table.Name, TenantColumn: table.column("tenant"), Tenant: "acme", Zone: "UTC"}
	for _, c := range table.Columns[1:] {
		q.Columns = append(q.Columns, table.column(c.Name))
		if c.Name == "created_at" {
			q.TimeColumn = table.column(c.Name)
		}
	}
	for _, name := range table.Key {
		q.Key = append(q.Key, table.column(name))
	}
	return q
}

// at is a time of day on one day, in seconds.
func at(second int) string {
	return fmt.Sprintf("2026-03-01T%02d:%02d:%02dZ", second/3600, second/60%60, second%60)
}

// open connects and closes when the test ends.
func open(t *testing.T, f Fixture) source.Source {
	t.Helper()
	src := f.Open(t)
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return src
}

// plenty is a limit that small tables don't reach.
func plenty() source.Limit { return source.Limit{Rows: 10_000, Bytes: 4 << 20} }

// readRange reads a range in batches to its end, as text with "NULL" for NULL, and checks what must hold for every
// batch.
func readRange(t *testing.T, src source.Source, q row.Query, r row.Range, limit source.Limit) [][]string {
	t.Helper()
	rows, err := tryRange(src, q, r, limit)
	if err != nil {
		t.Fatalf("read %s: %v", r, err)
	}
	return rows
}

func tryRange(src source.Source, q row.Query, r row.Range, limit source.Limit) ([][]string, error) {
	var rows [][]string
	var after row.Key
	var b row.Batch
	for {
		if err := src.Read(context.Background(), q, r, after, limit, &b); err != nil {
			return rows, err
		}
		if b.Rows() == 0 {
			return rows, nil
		}
		if b.Width() != len(q.Columns)+len(q.Key) || b.Rows() > limit.Rows || b.Rows() > 1 && b.Bytes() > limit.Bytes {
			return rows, fmt.Errorf("a batch of %d rows of %d values and %d bytes exceeds %v", b.Rows(), b.Width(), b.Bytes(), limit)
		}
		for i := range b.Rows() {
			rows = append(rows, texts(&b, i, len(q.Columns)))
		}
		next := b.Key(b.Rows()-1, len(q.Key))
		if slices.Equal(after, next) {
			return rows, errors.New("the cursor doesn't move")
		}
		after = next
	}
}

func texts(b *row.Batch, i, columns int) []string {
	values := make([]string, columns)
	for c := range values {
		value, ok := b.Value(i, c)
		values[c] = string(value)
		if !ok {
			values[c] = "NULL"
		}
	}
	return values
}

// readPlan plans and reads every shard, and checks that the shards tile.
func readPlan(t *testing.T, src source.Source, q row.Query, opt source.PlanOptions) (source.Plan, [][]string) {
	t.Helper()
	plan, err := src.Plan(context.Background(), q, opt)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	checkTiles(t, plan, opt)
	q.Ceiling = plan.Ceiling
	var rows [][]string
	for _, shard := range plan.Shards {
		rows = append(rows, readRange(t, src, q, shard.Range, plenty())...)
	}
	return plan, rows
}

func checkTiles(t *testing.T, plan source.Plan, opt source.PlanOptions) {
	t.Helper()
	shards := plan.Shards
	if len(shards) == 0 || len(shards) > opt.ShardsMax {
		t.Fatalf("the plan has %d shards, want 1 to %d", len(shards), opt.ShardsMax)
	}
	if shards[0].Range.From != nil || shards[len(shards)-1].Range.To != nil {
		t.Fatalf("the outer bounds are %v and %v, want none", shards[0].Range.From, shards[len(shards)-1].Range.To)
	}
	keyBytes := opt.KeyBytes
	for i := 1; i < len(shards); i++ {
		if keyBytes -= job.KeyBytes(shards[i].Range.From); opt.KeyBytes > 0 && keyBytes < 0 {
			t.Fatalf("the keys of shard 0 to %d of %d take more than the %d bytes that all may", i, len(shards), opt.KeyBytes)
		}
		if diff := cmp.Diff(shards[i-1].Range.To, shards[i].Range.From); diff != "" || shards[i].Range.From == nil {
			t.Fatalf("shards %d and %d don't touch: %s", i-1, i, diff)
		}
	}
}

// wantRows compares rows, in order.
func wantRows(t *testing.T, got, want [][]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		if len(diff) > 4000 {
			diff = diff[:4000]
		}
		t.Fatalf("rows differ (-want +got):\n%s", diff)
	}
}

// wantError checks what a caller acts on.
func wantError(t *testing.T, err error, kind job.Kind, code string) {
	t.Helper()
	if job.KindOf(err) != kind || job.CodeOf(err) != code {
		t.Fatalf("error is %v, want %s %s", err, kind, code)
	}
}
