package sqldb_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// keyed is a table whose key is a column at of the given kind and an id.
func keyed(t *testing.T, at row.Column, values ...string) (source.Source, row.Query, func(tb testing.TB, statements ...string)) {
	t.Helper()
	dsn, exec := sqliteFile(t)
	exec(t, "CREATE TABLE t (tenant TEXT NOT NULL, at NOT NULL, id INTEGER PRIMARY KEY, v TEXT)", "CREATE INDEX i ON t (tenant, at, id)")
	for i, value := range values {
		exec(t, fmt.Sprintf("INSERT INTO t VALUES ('acme', %s, %d, 'v')", value, i+1))
	}
	src := open(t, dsn)
	at.Source, at.Name = "at", "at"
	q := valueQuery(row.String)
	q.Key = append([]row.Column{at}, q.Key...)
	if at.Kind.Timed() || at.Kind == row.Date {
		q.TimeColumn = at
	}
	return src, q, exec
}

// exported is what a job does: check, plan, and read every shard below the ceiling.
func exported(src source.Source, q row.Query) ([][]string, error) {
	if err := src.Check(context.Background(), q); err != nil {
		return nil, err
	}
	plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: 3, ShardsMax: 100})
	if err != nil || plan.Ceiling == nil {
		return nil, err
	}
	q.Ceiling = plan.Ceiling
	var rows [][]string
	for _, shard := range plan.Shards {
		var b row.Batch
		var after row.Key
		for {
			if err := src.Read(context.Background(), q, shard.Range, after, source.Limit{Rows: 2, Bytes: 1 << 20}, &b); err != nil {
				return nil, err
			}
			if b.Rows() == 0 {
				break
			}
			after = b.Key(b.Rows()-1, len(q.Key))
			for i := range b.Rows() {
				rows = append(rows, b.Key(i, len(q.Key)))
			}
		}
	}
	return rows, nil
}

func TestSQLiteKeysInTwoFormsAreRefusedByThePlan(t *testing.T) {
	t.Parallel()
	const spaced, tee, zed, milli, none = "'2026-03-01 10:00:00'", "'2026-03-01T10:00:00'", "'2026-03-01 10:00:00Z'", "'2026-03-01 10:00:00.250'", "'2026-03-02 10:00:00'"
	millis := row.Column{Kind: row.Timestamp, Unit: row.Milliseconds}
	text := row.Column{Kind: row.Timestamp}
	for _, c := range []struct {
		name     string
		at       row.Column
		values   []string
		code     string
		says     []string
		readable bool
	}{
		{"a space and a T", text, []string{spaced, tee, none}, "source_form_mixed",
			[]string{"column at", "rowid 2 ", "TEXT YYYY-MM-DDThh:mm:ss,", "TEXT YYYY-MM-DD hh:mm:ss;", "rewrite"}, false},
		{"a Z and none", text, []string{zed, none}, "source_form_mixed", []string{"hh:mm:ssZ"}, false},
		{"a fraction and none, with Z", text, []string{"'2026-03-01T12:00:12Z'", "'2026-03-01T12:00:12.5Z'"}, "source_form_mixed", []string{"ss.fZ", "ssZ"}, false},
		{"a fraction and none", text, []string{spaced, milli}, "source_form_mixed", []string{"ss.fff", "rowid 2"}, false},
		{"two lengths of fractions", text, []string{milli, "'2026-03-01 11:00:00.5'"}, "source_form_mixed", []string{"ss.fff", "ss.f,"}, false},
		{"an offset among times without one", text, []string{spaced, "'2026-03-01 18:00:00+08:00'"}, "source_form_mixed", []string{"ss+hh:mm", "rowid 2"}, false},
		{"offsets throughout", text, []string{"'2026-03-01 18:00:00+08:00'", "'2026-03-01 18:00:00+09:00'"}, "source_form_mixed", []string{"offset", "UTC"}, false},
		{"numbers beside text", text, []string{"1767225600000", none}, "source_form_mixed", []string{"INTEGER", "TEXT"}, false},
		{"numbers of a unit beside text", millis, []string{"1767225600000", none}, "source_form_mixed", []string{"INTEGER", "TEXT", "rowid 2"}, false},
		{"a blob beside text", text, []string{none, "x'323032362d30332d30322031303a30303a3030'"}, "source_value_invalid", []string{"rowid 2", "expected"}, false},
		{"no time at all", text, []string{none, "'2026/03/01 10:00:00'"}, "source_value_invalid", []string{"rowid 2", "key ?/2", "YYYY-MM-DD hh:mm:ss"}, false},
		{"wall clocks in two forms", row.Column{Kind: row.DateTime}, []string{spaced, tee}, "source_form_mixed", []string{"rowid 2"}, false},
		{"a date among numbers", row.Column{Kind: row.Date}, []string{"20260301", "'2026-03-01'"}, "source_value_invalid", []string{"rowid 1", "YYYY-MM-DD"}, false},
		{"a time among dates", row.Column{Kind: row.Date}, []string{"'2026-03-01'", spaced}, "source_value_invalid", []string{"rowid 2"}, false},
		{"decimals of two lengths", row.Column{Kind: row.Decimal}, []string{"'9.50'", "'10.00'"}, "source_form_mixed",
			[]string{"TEXT of 1 digits, a dot and 2 digits", "TEXT of 2 digits"}, false},
		{"negative decimals as text", row.Column{Kind: row.Decimal}, []string{"'-1.50'", "'-2.50'"}, "source_form_mixed", []string{"negative"}, false},
		{"decimals as numbers and text", row.Column{Kind: row.Decimal}, []string{"9", "'10'"}, "source_form_mixed", []string{"INTEGER"}, false},
		{"decimals of one length", row.Column{Kind: row.Decimal}, []string{"'09.50'", "'10.00'"}, "", nil, true},
		{"integers stored as text", row.Column{Kind: row.Int64}, []string{"7", "'8'"}, "source_value_invalid", []string{"rowid 2", "64 bits"}, false},
		{"one form", text, []string{spaced, none}, "", nil, true},
		{"one form with a T and Z", text, []string{"'2026-03-01T10:00:00.5Z'", "'2026-03-01T10:00:01.0Z'"}, "", nil, true},
		{"numbers of a unit", millis, []string{"1767225600000", "1767225600001"}, "", nil, true},
		{"another tenant's form", text, []string{spaced, none}, "", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			src, q, exec := keyed(t, c.at, c.values...)
			if c.name == "another tenant's form" {
				exec(t, "INSERT INTO t VALUES ('zeta', '2026-03-01T10:00:00Z', 99, 'v'), ('ACME', 5, 98, 'v')")
			}
			// The span is a narrow one: rows in another form lie outside of what is compared.
			if c.at.Kind.Timed() {
				q.Since, q.Until = "2026-03-01T09:59:59Z", "2026-03-01T10:00:01Z"
				if c.at.Kind == row.DateTime {
					q.Since, q.Until = "2026-03-01T09:59:59", "2026-03-01T10:00:01"
				}
			}
			_, err := exported(src, q)
			if c.readable {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if job.CodeOf(err) != c.code || job.KindOf(err) != job.Permanent {
				t.Fatalf("the export says %v, want a permanent %s", err, c.code)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error doesn't say %q: %v", part, err)
				}
			}
			for _, value := range c.values {
				if strings.Contains(err.Error(), strings.Trim(value, "'")) {
					t.Errorf("the error repeats the value %s: %v", value, err)
				}
			}
			if _, err := src.Plan(context.Background(), q, source.PlanOptions{}); job.KindOf(err) != job.Permanent {
				t.Errorf("the plan alone says %v, want a permanent error", err)
			}
		})
	}
}

func TestSQLiteNumbersWithoutAUnitAreNeverGuessed(t *testing.T) {
	t.Parallel()
	for _, kind := range []row.Kind{row.Timestamp, row.DateTime} {
		for _, number := range []string{"1767225600", "1767225600000", "1767225600000000", "0"} {
			src, q, _ := keyed(t, row.Column{Kind: kind}, number)
			checks := map[string]error{"check": src.Check(context.Background(), q)}
			_, checks["plan"] = src.Plan(context.Background(), q, source.PlanOptions{})
			_, checks["read"] = read(src, q)
			// The same number in a column that is only exported, or only filtered.
			q = valueQuery(kind)
			q.Columns[0].Source = "at"
			checks["check of a column"] = src.Check(context.Background(), q)
			_, checks["read of a column"] = read(src, q)
			q = valueQuery(row.String)
			q.Filters = []row.Filter{{Column: row.Column{Source: "at", Kind: kind}, Op: row.Less, Values: []string{"2026-01-01T00:00:00Z"}}}
			if kind == row.DateTime {
				q.Filters[0].Values[0] = "2026-01-01T00:00:00"
			}
			_, checks["filter"] = read(src, q)
			for call, err := range checks {
				if job.CodeOf(err) != "source_unit_missing" || job.KindOf(err) != job.Permanent ||
					!strings.Contains(err.Error(), "column at") || !strings.Contains(err.Error(), "declare unit: s, ms or us") {
					t.Errorf("%s of %s %s says %v, want source_unit_missing that names the column and the units", call, kind, number, err)
				}
			}
		}
	}
}

func TestSQLiteNumbersAreReadInTheirUnit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   row.Kind
		unit   row.Unit
		number string
		want   string // "" for a refusal
	}{
		{row.Timestamp, row.Seconds, "1767225600", "2026-01-01T00:00:00Z"},
		{row.Timestamp, row.Seconds, "-1", "1969-12-31T23:59:59Z"},
		{row.Timestamp, row.Milliseconds, "1767225600123", "2026-01-01T00:00:00.123Z"},
		{row.Timestamp, row.Milliseconds, "-1", "1969-12-31T23:59:59.999Z"},
		{row.Timestamp, row.Microseconds, "1767225600000001", "2026-01-01T00:00:00.000001Z"},
		{row.Timestamp, row.Microseconds, "-62135596800000000", "0001-01-01T00:00:00.000000Z"},
		{row.Timestamp, row.Microseconds, "253402300799999999", "9999-12-31T23:59:59.999999Z"},
		{row.Timestamp, row.Seconds, "1767225600123", ""},
		{row.Timestamp, row.Microseconds, "9223372036854775807", ""},
		{row.Timestamp, row.Seconds, "-62135596801", ""},
		{row.DateTime, row.Seconds, "1767225600", "2026-01-01T00:00:00"},
		{row.DateTime, row.Milliseconds, "-1", "1969-12-31T23:59:59.999"},
		{row.DateTime, row.Seconds, "253402300800", ""},
	} {
		src, q, _ := keyed(t, row.Column{Kind: c.kind, Unit: c.unit}, c.number)
		rows, err := exported(src, q)
		if c.want == "" {
			if job.CodeOf(err) != "source_value_invalid" || !strings.Contains(err.Error(), "rowid 1 ") {
				t.Errorf("%s %s %s says %v, want source_value_invalid that names the row", c.kind, c.unit, c.number, err)
			}
			continue
		}
		if diff := cmp.Diff([][]string{{c.want, "1"}}, rows); diff != "" || err != nil {
			t.Errorf("%s %s %s: %v (-want +got):\n%s", c.kind, c.unit, c.number, err, diff)
		}
	}
}

// fine spells an instant in nanoseconds, so that instants compare as text.
func fine(nanoseconds int64) string {
	return time.Unix(0, nanoseconds).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// Every row whose time lies in the span is exported and no other, however finely the span is cut, in every form.
func TestSQLiteSpansAndFiltersAreExactInEveryForm(t *testing.T) {
	t.Parallel()
	const base = 1_772_323_199_000_000_000 // 2026-02-28T23:59:59Z
	layouts := map[string]string{
		"space": "2006-01-02 15:04:05", "RFC 3339": "2006-01-02T15:04:05Z", "milliseconds": "2006-01-02 15:04:05.000", "microseconds and Z": "2006-01-02T15:04:05.000000Z",
	}
	steps := map[string]int64{
		"space": 1e9, "RFC 3339": 1e9, "milliseconds": 1e6, "microseconds and Z": 1e3,
		"s": 1e9, "ms": 1e6, "us": 1e3,
	}
	for form, step := range steps {
		for _, leads := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s leading %v", form, leads), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(uint64(step), uint64(len(form))))
				at := row.Column{Kind: row.Timestamp}
				if layouts[form] == "" {
					at.Unit = row.Unit(form)
				}
				var stored []string
				var instants []int64
				for range 40 {
					n := base + rnd.Int64N(6)*step + rnd.Int64N(2)*1e9
					n -= n % step
					instants = append(instants, n)
					if at.Unit != "" {
						stored = append(stored, strconv.FormatInt(n/step, 10))
					} else {
						stored = append(stored, "'"+time.Unix(0, n).UTC().Format(layouts[form])+"'")
					}
				}
				src, q, _ := keyed(t, at, stored...)
				if !leads {
					q.Key = q.Key[1:]
				}
				for range 60 {
					since, until := base+rnd.Int64N(8)*step/2, base+rnd.Int64N(8)*step/2+rnd.Int64N(3)*1e9+rnd.Int64N(2)
					above := base + rnd.Int64N(8)*step/2 + rnd.Int64N(2)
					q.Since, q.Until = fine(since), fine(until)
					q.Filters = []row.Filter{{Column: q.TimeColumn, Op: row.Greater, Values: []string{fine(above)}}}
					rows, err := exported(src, q)
					if err != nil {
						t.Fatal(err)
					}
					var got, want []string
					for _, r := range rows {
						got = append(got, r[len(r)-1])
					}
					for i, n := range instants {
						if n >= since && n < until && n > above {
							want = append(want, strconv.Itoa(i+1))
						}
					}
					slices.Sort(got)
					slices.Sort(want)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("since %s until %s above %s (-want +got):\n%s", q.Since, q.Until, fine(above), diff)
					}
				}
			})
		}
	}
}

func TestSQLiteAFractionalNumberAtTheEdgeOfASpanIsNeverDropped(t *testing.T) {
	t.Parallel()
	src, q, _ := keyed(t, row.Column{Kind: row.Timestamp, Unit: row.Seconds}, "1000", "1000.5", "2000")
	q.Since, q.Until = "1970-01-01T00:16:40.2Z", "1970-01-01T00:20:00Z"
	if _, err := exported(src, q); job.CodeOf(err) != "source_value_invalid" || !strings.Contains(err.Error(), "rowid 2 ") {
		t.Errorf("says %v, want source_value_invalid that names row 2", err)
	}
	q.Since, q.Until = "1970-01-01T00:10:00Z", "1970-01-01T00:16:40.7Z"
	if _, err := exported(src, q); job.CodeOf(err) != "source_value_invalid" {
		t.Errorf("says %v, want source_value_invalid", err)
	}
}

func TestSQLiteAFilterNeverDropsARowThatItCantJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind         row.Kind
		stored       string
		op           row.Op
		value, wants string
	}{
		{row.Int64, "'7'", row.Less, "8", "64 bits"}, {row.Int64, "7.5", row.Greater, "8", "64 bits"}, {row.Int64, "x'37'", row.Equal, "7", "64 bits"},
		{row.Float64, "'7'", row.Less, "8", "a number"}, {row.Bool, "'yes'", row.Equal, "true", "true or false"}, {row.Bool, "2", row.NotEqual, "true", "0, 1"},
		{row.Date, "20260301", row.GreaterEqual, "2026-01-01", "YYYY-MM-DD"}, {row.Date, "'01.03.2026'", row.GreaterEqual, "2026-01-01", "YYYY-MM-DD"},
		{row.Timestamp, "'soon'", row.Less, "2026-01-01T00:00:00Z", "YYYY-MM-DD"}, {row.Decimal, "7.5", row.Less, "8", "TEXT"},
	} {
		t.Run(string(c.kind)+" "+c.stored, func(t *testing.T) {
			t.Parallel()
			dsn, exec := sqliteFile(t)
			exec(t, "CREATE TABLE t (tenant TEXT NOT NULL, id INTEGER PRIMARY KEY, v)",
				"INSERT INTO t VALUES ('acme', 1, NULL), ('acme', 2, "+c.stored+")")
			src := open(t, dsn)
			q := valueQuery(row.Int64)
			q.Columns = q.Key
			q.Filters = []row.Filter{{Column: row.Column{Source: "v", Kind: c.kind}, Op: c.op, Values: []string{c.value}}}
			_, err := read(src, q)
			if job.CodeOf(err) != "source_value_invalid" || job.KindOf(err) != job.Permanent {
				t.Fatalf("the filter says %v, want source_value_invalid", err)
			}
			for _, part := range []string{"column v (" + string(c.kind) + ")", "rowid 2 and key 2", c.wants} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error doesn't say %q: %v", part, err)
				}
			}
		})
	}
}

func TestSQLiteARewriteBetweenPlanAndReadIsNoticed(t *testing.T) {
	t.Parallel()
	dsn, exec := sqliteFile(t)
	exec(t, "CREATE TABLE t (tenant TEXT NOT NULL, at TEXT NOT NULL, id INTEGER PRIMARY KEY, v TEXT)", "CREATE INDEX i ON t (tenant, at, id)",
		"INSERT INTO t VALUES ('acme', '2026-03-01 10:00:00', 1, 'a'), ('acme', '2026-03-01 11:00:00', 2, 'b'), ('acme', '2026-03-01 12:00:00', 3, 'c')")
	planner := open(t, dsn)
	q := valueQuery(row.String)
	q.TimeColumn = row.Column{Source: "at", Kind: row.Timestamp}
	q.Key = append([]row.Column{q.TimeColumn}, q.Key...)
	q.Until = "2026-03-01T11:30:00Z"
	plan, err := planner.Plan(context.Background(), q, source.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	q.Ceiling = plan.Ceiling
	for _, step := range []struct {
		name, statement, want string
		rows                  int
	}{
		{"the first row is rewritten", "UPDATE t SET at = replace(at, ' ', 'T') WHERE id = 1", "source_form_mixed", 0},
		{"every row is rewritten", "UPDATE t SET at = replace(at, ' ', 'T')", "", 2},
		{"a new row beyond the ceiling comes in another form", "INSERT INTO t VALUES ('acme', '2026-03-02 10:00:00', 4, 'd')", "source_form_mixed", 0},
	} {
		exec(t, step.statement)
		reader := open(t, dsn)
		rows, err := read(reader, q)
		if (step.want == "") != (err == nil) || err != nil && job.CodeOf(err) != step.want || len(rows) != step.rows {
			t.Errorf("%s: %d rows and %v, want %d and %q", step.name, len(rows), err, step.rows, step.want)
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
}
