package sourcetest

import (
	"fmt"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
)

func filterCases() []testCase {
	return []testCase{
		{"every comparison on every kind selects by value", everyFilter},
		{"several filters all hold", severalFilters},
		{"a filter whose value isn't of the kind is refused", badFilters},
	}
}

// sample gives three values of a kind in ascending order, and the middle one spelled in another way.
type sample struct{ low, middle, high, again string }

func samples() map[row.Kind]sample {
	return map[row.Kind]sample{
		row.String:    {"a'b", "b%", "c\"d", "b%"},
		row.Int64:     {"-9007199254740993", "9", "9007199254740993", "9"},
		row.Decimal:   {"-100.5", "9.50", "12345678901234567890.123456789", "9.5"},
		row.Float64:   {"-1.5", "0.1", "1e+300", "0.1"},
		row.Date:      {"2025-12-31", "2026-01-01", "2026-01-02", "2026-01-01"},
		row.Timestamp: {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:01Z", "2026-01-01T08:00:00.500+08:00"},
		row.DateTime:  {"2026-01-01T00:00:00", "2026-01-01T00:00:00.5", "2026-01-01T00:00:01", "2026-01-01T00:00:00.500"},
	}
}

// everyFilter stores low, middle, high and NULL as rows 1 to 4.
func everyFilter(t *testing.T, f Fixture) {
	table := orders()
	for _, kind := range row.Kinds() {
		table.Columns = append(table.Columns, Column{Name: "v_" + string(kind), Kind: kind, Null: true})
	}
	f.Create(t, table)
	values := samples()
	values[row.Bool] = sample{low: "false", middle: "true", high: "false"}
	values[row.Bytes] = sample{low: "\x00", middle: "\xff\x00", high: "z"}
	values[row.JSON] = sample{low: "1", middle: "2", high: "3"}
	rows := []Row{{"acme", at(1), "1"}, {"acme", at(2), "2"}, {"acme", at(3), "3"}, {"acme", at(4), "4"}}
	for _, kind := range row.Kinds() {
		s := values[kind]
		rows[0], rows[1], rows[2] = append(rows[0], s.low), append(rows[1], s.middle), append(rows[2], s.high)
		rows[3] = append(rows[3], nil)
	}
	f.Insert(t, table, rows)
	src := open(t, f)
	check := func(kind row.Kind, op row.Op, want string, operands ...string) {
		t.Helper()
		q := table.query()
		q.Filters = []row.Filter{{Column: table.column("v_" + string(kind)), Op: op, Values: operands}}
		read, err := tryRange(src, q, row.Range{}, plenty())
		if got := ids(read); err != nil || got != want {
			t.Errorf("%s %s %q selects %q (%v), want %q", kind, op, operands, got, err, want)
		}
	}
	for kind, s := range samples() {
		check(kind, row.Equal, "2", s.again)
		check(kind, row.NotEqual, "1 3", s.again)
		check(kind, row.Less, "1", s.again)
		check(kind, row.LessEqual, "1 2", s.again)
		check(kind, row.Greater, "3", s.again)
		check(kind, row.GreaterEqual, "2 3", s.again)
		check(kind, row.In, "1 2", s.low, s.again)
	}
	for _, kind := range row.Kinds() {
		check(kind, row.IsNull, "4")
		check(kind, row.NotNull, "1 2 3")
	}
	check(row.Bool, row.Equal, "2", "true")
	check(row.Bool, row.NotEqual, "1 3", "true")
	check(row.Bool, row.In, "1 2 3", "true", "false")
	check(row.Bytes, row.Equal, "2", "\xff\x00")
	check(row.Bytes, row.NotEqual, "1 3", "\xff\x00")
	check(row.Int64, row.Less, "1 2 3", "9223372036854775807")
	check(row.Decimal, row.Greater, "2 3", "-100.49")
	check(row.String, row.Equal, "", "A'B")
}

func severalFilters(t *testing.T, f Fixture) {
	table := numbered(f, t, 9)
	q := table.query()
	id := table.column("id")
	q.Filters = []row.Filter{
		{Column: id, Op: row.Greater, Values: []string{"2"}},
		{Column: id, Op: row.In, Values: []string{"1", "3", "5", "7"}},
		{Column: id, Op: row.NotEqual, Values: []string{"5"}},
	}
	src := open(t, f)
	plan, read := readPlan(t, src, q, planOptions(2, 5))
	wantIDs(t, read, "3 7")
	if plan.Ceiling == nil {
		t.Error("a filtered plan has no ceiling")
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprint(i+5))
	}
	q.Filters = []row.Filter{{Column: id, Op: row.In, Values: many}}
	wantIDs(t, readRange(t, src, q, row.Range{}, plenty()), "5 6 7 8 9")
}

func badFilters(t *testing.T, f Fixture) {
	table := orders(
		Column{Name: "price", Kind: row.Decimal, Null: true}, Column{Name: "paid", Kind: row.Bool, Null: true},
		Column{Name: "doc", Kind: row.JSON, Null: true}, Column{Name: "day", Kind: row.Date, Null: true},
		Column{Name: "rate", Kind: row.Float64, Null: true}, Column{Name: "note", Kind: row.String, Null: true})
	f.Create(t, table)
	src := open(t, f)
	for _, c := range []struct {
		column string
		op     row.Op
		values []string
	}{
		{"id", row.Equal, []string{"1.5"}}, {"id", row.Equal, []string{"9223372036854775808"}}, {"id", row.Equal, nil},
		{"id", row.Equal, []string{"1", "2"}}, {"id", row.In, nil}, {"id", row.IsNull, []string{"1"}}, {"id", "like", []string{"1"}},
		{"price", row.Less, []string{"1e5"}}, {"price", row.Less, []string{"NaN"}}, {"paid", row.Less, []string{"true"}},
		{"paid", row.Equal, []string{"1"}}, {"doc", row.Equal, []string{"{}"}}, {"day", row.Equal, []string{"2026-02-30"}},
		{"created_at", row.Less, []string{"2026-01-01T00:00:00"}}, {"created_at", row.Less, []string{"yesterday"}},
		{"rate", row.Equal, []string{"NaN"}}, {"note", row.Equal, []string{"\xff"}},
	} {
		q := table.query()
		q.Filters = []row.Filter{{Column: table.column(c.column), Op: c.op, Values: c.values}}
		_, err := tryRange(src, q, row.Range{}, plenty())
		if job.CodeOf(err) != "filter_invalid" || !strings.Contains(fmt.Sprint(err), c.column) {
			t.Errorf("%s %s %q: %v, want filter_invalid that names the column", c.column, c.op, c.values, err)
		}
	}
}
