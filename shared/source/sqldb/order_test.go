package sqldb_test

import (
	"context"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// textOrder is a column that is declared string and whose values may sort in another order than their text.
type textOrder struct {
	declared string
	// value is one of its values in SQL, shown what a file shows of it.
	value, shown string
	// advice is what somebody is told who asks for an order, empty where the order is that of text.
	advice []string
}

func (c textOrder) check(t *testing.T, dsn string, run func(statements ...string)) {
	t.Helper()
	run("DROP TABLE IF EXISTS t", "CREATE TABLE t (tenant varchar(10) NOT NULL, id bigint NOT NULL, v "+c.declared+", PRIMARY KEY (tenant, id))",
		"INSERT INTO t VALUES ('acme', 1, "+c.value+")", "INSERT INTO t VALUES ('acme', 2, NULL)")
	q := valueQuery(row.String)
	for op, want := range map[row.Op]string{row.Equal: "1", row.In: "1", row.NotEqual: "", row.IsNull: "2", row.NotNull: "1"} {
		f := row.Filter{Column: q.Columns[0], Op: op, Values: []string{c.shown}}
		if op == row.IsNull || op == row.NotNull {
			f.Values = nil
		}
		q.Filters = []row.Filter{f}
		src := open(t, dsn)
		rows, err := read(src, q)
		if checked := src.Check(context.Background(), q); err != nil || checked != nil || want == "" && len(rows) > 0 || want != "" && (len(rows) != 1 || rows[0][1] != want) {
			t.Errorf("%s: %s %q finds %q (%v, %v), want row %q", c.declared, op, c.shown, rows, err, checked, want)
		}
		_ = src.Close()
	}
	// One connection: what was learned of another comparison doesn't count.
	src := open(t, dsn)
	for _, op := range []row.Op{row.Equal, row.Less, row.LessEqual, row.Greater, row.GreaterEqual} {
		q.Filters = []row.Filter{{Column: q.Columns[0], Op: op, Values: []string{c.shown}}}
		_, readErr := read(src, q)
		checkErr := src.Check(context.Background(), q)
		_, planErr := src.Plan(context.Background(), q, source.PlanOptions{})
		if len(c.advice) == 0 || op == row.Equal {
			if readErr != nil || checkErr != nil || planErr != nil {
				t.Errorf("%s: %s is checked as %v, planned as %v and read as %v, want none of these", c.declared, op, checkErr, planErr, readErr)
			}
			continue
		}
		words := append([]string{"column v", "its text", "eq, ne and in"}, c.advice...)
		if job.KindOf(checkErr) != job.Permanent || job.CodeOf(checkErr) != "filter_invalid" || !says(checkErr, words...) {
			t.Errorf("%s: %s is told %v, want a permanent filter_invalid that says %q", c.declared, op, checkErr, words)
		}
		if job.KindOf(readErr) != job.Permanent || !says(readErr, words[:3]...) {
			t.Errorf("%s: %s is read as %v, want a permanent refusal that says %q", c.declared, op, readErr, words[:3])
		}
	}
	_ = src.Close()
}

// TestViewsThatAreAdvisedForAnOrderGiveOne makes the views that are advised, in the kinds that are.
func TestViewsThatAreAdvisedForAnOrderGiveOne(t *testing.T) {
	t.Parallel()
	mysql, postgres := mytest.Start(t).Schema(t), pgtest.Start(t).Schema(t)
	pgtest.Exec(t, postgres, "CREATE TYPE st AS ENUM ('neu', 'alt')")
	for _, c := range []struct {
		dsn, declared, value, expression string
		kind                             row.Kind
		op                               row.Op
		operand, shown                   string
	}{
		{mysql, "time", "'100:00:00'", "TIME_TO_SEC(v)", row.Int64, row.Greater, "72000", "360000"},
		{mysql, "time(3)", "'-13:51:03.5'", "TIME_TO_SEC(v)", row.Decimal, row.Less, "0", "-49863.500"},
		{mysql, "enum('low','mid','high')", "'mid'", "CAST(v + 0 AS UNSIGNED)", row.Int64, row.Greater, "1", "2"},
		{mysql, "set('x','y')", "'y,x'", "CAST(v + 0 AS UNSIGNED)", row.Int64, row.Greater, "2", "3"},
		{mysql, "uuid", "'0000000a-0000-0000-0000-00000000000f'", "CAST(v AS CHAR(36))", row.String, row.Less, "b", "0000000a-0000-0000-0000-00000000000f"},
		{mysql, "inet6", "'::a'", "HEX(INET6_ATON(v))", row.String, row.Less, "F", "0000000000000000000000000000000A"},
		{mysql, "inet4", "'9.0.0.1'", "INET_ATON(v)", row.Int64, row.Less, "167772160", "150994945"},
		{postgres, "st", "'neu'", "array_position(enum_range(NULL::st), v)", row.Int64, row.Less, "2", "1"},
		{postgres, "inet", "'10.1.0.0/16'", "v <<= '10.0.0.0/8'", row.Bool, row.Equal, "true", "true"},
		{postgres, "cidr", "'10.1.0.0/16'", "v <<= '10.0.0.0/8'", row.Bool, row.Equal, "true", "true"},
		{postgres, "time", "'9:00:00.5'", "extract(epoch FROM v)::numeric", row.Decimal, row.Less, "36000", "32400.500000"},
		{postgres, "interval", "'1 day'", "extract(epoch FROM v)::numeric", row.Decimal, row.Greater, "3600", "86400.000000"},
		{postgres, "money", "5", "v::numeric", row.Decimal, row.Less, "10", "5.00"},
		{postgres, "macaddr", "'08:00:2b:01:02:03'", "v::text", row.String, row.Less, "1", "08:00:2b:01:02:03"},
		{postgres, "jsonb", `'{"name": "b"}'`, "v ->> 'name'", row.String, row.Greater, "a", "b"},
	} {
		run := func(statements ...string) { pgtest.Exec(t, postgres, statements...) }
		if c.dsn == mysql {
			run = func(statements ...string) { mytest.Exec(t, mysql, statements...) }
		}
		run("DROP VIEW IF EXISTS t", "DROP TABLE IF EXISTS b", "CREATE TABLE b (tenant varchar(10) NOT NULL, id bigint NOT NULL, v "+c.declared+", PRIMARY KEY (tenant, id))",
			"INSERT INTO b VALUES ('acme', 1, "+c.value+")", "CREATE VIEW t AS SELECT tenant, id, "+c.expression+" AS v FROM b")
		src, q := open(t, c.dsn), valueQuery(c.kind)
		q.Filters = []row.Filter{{Column: q.Columns[0], Op: c.op, Values: []string{c.operand}}}
		err := src.Check(context.Background(), q)
		if rows, readErr := read(src, q); err != nil || readErr != nil || len(rows) != 1 || rows[0][0] != c.shown {
			t.Errorf("%s of %s %s %s: %q (%v, %v), want %s", c.expression, c.declared, c.op, c.operand, rows, err, readErr, c.shown)
		}
		_ = src.Close()
	}
}

func TestNoOrderOfTextPassesForThatOfValues(t *testing.T) {
	t.Parallel()
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		dsn := mytest.Start(t).Schema(t)
		for _, c := range []textOrder{
			{"time", "'100:00:00'", "100:00:00", []string{"time", "TIME_TO_SEC(v)", "int64"}},
			{"time(3)", "'-13:51:03'", "-13:51:03.000", []string{"time(3)", "TIME_TO_SEC(v)", "decimal"}},
			{"enum('low','mid','high')", "'mid'", "mid", []string{"enum('low','mid','high')", "CAST(v + 0 AS UNSIGNED)", "int64"}},
			{"set('x','y')", "'y,x'", "x,y", []string{"set('x','y')", "CAST(v + 0 AS UNSIGNED)", "int64"}},
			{"int", "50", "50", []string{"int", "declare the column int64"}},
			{"bigint unsigned", "50", "50", []string{"bigint", "unsigned", "declare the column int64 or decimal"}},
			{"int(5) zerofill", "50", "00050", []string{"declare the column int64"}},
			{"bit(4)", "b'1010'", "1010", []string{"bit(4)", "declare the column int64"}},
			{"year", "2026", "2026", []string{"year", "declare the column int64"}},
			{"uuid", "'0000000a-0000-0000-0000-00000000000f'", "0000000a-0000-0000-0000-00000000000f", []string{"uuid", "CAST(v AS CHAR(36))"}},
			{"inet6", "'::a'", "::a", []string{"inet6", "HEX(INET6_ATON(v))"}},
			{"inet4", "'9.0.0.1'", "9.0.0.1", []string{"inet4", "INET_ATON(v)", "int64"}},
			{"varchar(9)", "'b'", "b", nil}, {"char(9)", "'b'", "b", nil}, {"longtext", "'b'", "b", nil}, {"json", `'"b"'`, `"b"`, nil},
			{"varbinary(9)", "'b'", "b", nil}, {"blob", "'b'", "b", nil},
		} {
			c.check(t, dsn, func(statements ...string) { mytest.Exec(t, dsn, statements...) })
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.Start(t).Schema(t)
		pgtest.Exec(t, dsn, "CREATE TYPE st AS ENUM ('neu', 'alt')", "CREATE DOMAIN counted AS bigint", "CREATE DOMAIN word AS varchar(9)", "CREATE EXTENSION citext")
		for _, c := range []textOrder{
			{"st", "'neu'", "neu", []string{"type st", "array_position(enum_range(NULL::st), v)", "int64"}},
			{"inet", "'9.0.0.0/8'", "9.0.0.0/8", []string{"type inet", "v <<= '10.0.0.0/8'", "bool"}},
			{"cidr", "'9.0.0.0/8'", "9.0.0.0/8", []string{"type cidr", "v <<= '10.0.0.0/8'"}},
			{"time", "'9:00'", "09:00:00", []string{"time without time zone", "extract(epoch FROM v)::numeric", "decimal"}},
			{"time with time zone", "'9:00+02'", "09:00:00+02", []string{"time with time zone", "extract(epoch FROM v)::numeric"}},
			{"interval", "'1 day'", "P1D", []string{"interval", "extract(epoch FROM v)::numeric", "decimal"}},
			{"integer", "50", "50", []string{"integer", "declare the column int64"}}, {"counted", "50", "50", []string{"bigint", "declare the column int64"}},
			{"numeric", "5.50", "5.50", []string{"numeric", "declare the column decimal"}}, {"money", "5", "$5.00", []string{"money", "v::numeric", "decimal"}},
			{"uuid", "'0000000a-0000-0000-0000-00000000000f'", "0000000a-0000-0000-0000-00000000000f", []string{"uuid", "v::text"}},
			{"macaddr", "'08:00:2b:01:02:03'", "08:00:2b:01:02:03", []string{"macaddr", "v::text"}}, {"bit(4)", "B'1010'", "1010", []string{"bit", "v::text"}},
			{"int[]", "'{10}'", "{10}", []string{"integer[]", "v[1]"}}, {"int4range", "'[1,5)'", "[1,5)", []string{"int4range", "lower(v)"}},
			{"point", "'(1,2)'", "(1,2)", []string{"point", "a view"}}, {"xml", "'<a/>'", "<a/>", []string{"xml", "a view"}},
			{"json", "'5'", "5", []string{"json", "v ->> "}}, {"jsonb", "'5'", "5", []string{"jsonb", "v ->> "}},
			{"text", "'b'", "b", nil}, {"word", "'b'", "b", nil}, {"char(3)", "'b'", "b  ", nil}, {"name", "'b'", "b", nil}, {"citext", "'b'", "b", nil},
		} {
			c.check(t, dsn, func(statements ...string) { pgtest.Exec(t, dsn, statements...) })
		}
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		dsn, exec := sqliteFile(t)
		for _, c := range []textOrder{
			{"INTEGER", "50", "50", []string{"INTEGER", "declare the column int64"}}, {"unsigned big int", "50", "50", []string{"unsigned big int", "declare the column int64"}},
			{"TEXT", "50", "50", nil}, {"BLOB", "x'62'", "b", nil}, {"varchar(9)", "'b'", "b", nil}, {"DATETIME", "'09:00:00'", "09:00:00", nil}, {"", "'b'", "b", nil},
		} {
			c.check(t, dsn, func(statements ...string) { exec(t, statements...) })
		}
	})
}

// TestNoNumberOfASQLiteFileIsComparedAsText has a number in a column of no type, where only the row tells it.
func TestNoNumberOfASQLiteFileIsComparedAsText(t *testing.T) {
	t.Parallel()
	dsn, exec := sqliteFile(t)
	exec(t, "CREATE TABLE t (tenant TEXT NOT NULL, id INTEGER PRIMARY KEY, v)", "CREATE INDEX i ON t (tenant, id)", "INSERT INTO t VALUES ('acme', 1, 'b'), ('acme', 2, x'63'), ('acme', 3, NULL)")
	q := valueQuery(row.String)
	q.Filters = []row.Filter{{Column: q.Columns[0], Op: row.Greater, Values: []string{"a"}}}
	src := open(t, dsn)
	if rows, err := read(src, q); err != nil || len(rows) != 2 {
		t.Errorf("text and bytes are read as %q (%v), want 2 rows", rows, err)
	}
	exec(t, "INSERT INTO t VALUES ('acme', 41, 50)")
	if _, err := read(src, q); job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_value_invalid" || !says(err, "column v", "key 41", "stored as a number", "int64", "eq, ne and in") {
		t.Errorf("a number is told %v, want a permanent source_value_invalid that names column and row", err)
	}
	q.Filters[0].Op, q.Filters[0].Values = row.Equal, []string{"50"}
	if rows, err := read(src, q); err != nil || len(rows) != 1 {
		t.Errorf("eq finds %q (%v), want the number's row", rows, err)
	}
}
