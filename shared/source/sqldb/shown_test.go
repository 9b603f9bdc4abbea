package sqldb_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/row"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// shown is a column whose values people see in a file and filter by.
type shown struct {
	kind     row.Kind
	declared string
	// values are the column's, in SQL, row by row.
	values []string
	// finds are filters, as op and value, and the rows that they find.
	finds map[string][]int
}

// TestAFilterFindsWhatTheFileShows holds filters to the values that a file shows: eq finds each row by its own, and no row
// that shows another.
func TestAFilterFindsWhatTheFileShows(t *testing.T) {
	t.Parallel()
	postgres, mysql := pgtest.Start(t).Schema(t), mytest.Start(t).Schema(t)
	file, exec := sqliteFile(t)
	wide, execWide := sqliteFile(t)
	execWide(t, "PRAGMA encoding = 'UTF-16le'", "CREATE TABLE holds_the_encoding (a)")
	pgtest.Exec(t, postgres, "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", "CREATE DOMAIN padded AS char(5)",
		"CREATE EXTENSION citext")
	const lower, upper = "0000000a-0000-0000-0000-00000000000f", "0000000A-0000-0000-0000-00000000000F"
	reals := map[string][]int{"eq 0.1": {1}, "eq 0.3": {2}, "ne 0.1": {2, 3}, "in 0.1,0.3,7": {1, 2}, "eq 0.30000000000000004": nil, "eq 0.30000001192092896": nil,
		"ne 0.30000000000000004": {1, 2, 3}, "lt 0.3": {1}, "le 0.3": {1, 2}, "ge 0.3": {2, 3}, "gt 0.3": {3}, "lt 0.30000000000000004": {1, 2}, "le 0.30000000000000004": {1, 2},
		"ge 0.30000000000000004": {3}, "gt 0.29999999": {2, 3}, "le 0.29999999": {1}, "eq 1e+39": nil, "lt 1e+39": {1, 2, 3}, "gt -1e+39": {1, 2, 3}, "gt 1e-50": {1, 2, 3}}
	uuids := map[string][]int{"eq " + lower: {1}, "eq " + upper: {1}, "ne " + upper: {2}, "in " + upper + ",x": {1}}
	uuidValues := []string{"'" + upper + "'", "'0000000b-0000-0000-0000-00000000000f'"}
	blind := map[string][]int{"eq acme": {1}, "eq ACME": {2}, "ne acme": {2}, "in acme,zz": {1}}
	for name, c := range map[string]struct {
		dsn string
		shown
	}{
		"PostgreSQL real": {postgres, shown{row.Float64, "real", []string{"0.1", "0.3", "1e30"}, reals}},
		"PostgreSQL double": {postgres, shown{row.Float64, "double precision", []string{"0.1", "0.3", "0.30000000000000004"},
			map[string][]int{"eq 0.1": {1}, "eq 0.3": {2}, "eq 0.30000000000000004": {3}}}},
		"PostgreSQL char": {postgres, shown{row.String, "char(5)", []string{"'acme'", "'acme '", "'acmf'", "NULL", "''"},
			map[string][]int{"eq acme ": {1, 2}, "eq acme": nil, "ne acme ": {3, 5}, "in acme ,acmf ": {1, 2, 3}, "lt acmf ": {1, 2, 5}, "eq      ": {5}, "eq ": nil}}},
		"PostgreSQL domain of char": {postgres, shown{row.String, "padded", []string{"'acme'", "'ACME'"}, map[string][]int{"eq acme ": {1}, "eq acme": nil}}},
		"PostgreSQL blind char":     {postgres, shown{row.String, "char(5) COLLATE blind", []string{"'acme'", "'ACME'"}, map[string][]int{"eq acme ": {1}, "ne acme ": {2}}}},
		"PostgreSQL varchar":        {postgres, shown{row.String, "varchar(5)", []string{"'acme'", "'acme '"}, map[string][]int{"eq acme ": {2}, "eq acme": {1}}}},
		"PostgreSQL uuid":           {postgres, shown{row.String, "uuid", uuidValues, uuids}},
		"PostgreSQL inet": {postgres, shown{row.String, "inet", []string{"'10.0.0.1'", "'10.0.0.1/8'", "'::A'"},
			map[string][]int{"eq 10.0.0.1": {1}, "eq 10.0.0.1/8": {2}, "eq ::a": {3}, "eq ::A": {3}, "eq 10.0.0.1/32": nil}}},
		"PostgreSQL cidr":            {postgres, shown{row.String, "cidr", []string{"'10.0.0.1'", "'::A/128'"}, map[string][]int{"eq 10.0.0.1/32": {1}, "eq ::a/128": {2}, "eq ::A/128": {2}}}},
		"PostgreSQL macaddr":         {postgres, shown{row.String, "macaddr", []string{"'08:00:2B:01:02:03'"}, map[string][]int{"eq 08:00:2b:01:02:03": {1}, "eq 08:00:2B:01:02:03": {1}}}},
		"PostgreSQL blind collation": {postgres, shown{row.String, "text COLLATE blind", []string{"'acme'", "'ACME'"}, blind}},
		"PostgreSQL citext":          {postgres, shown{row.String, "citext", []string{"'acme'", "'ACME'"}, blind}},
		"PostgreSQL bit":             {postgres, shown{row.String, "bit(8)", []string{"B'00000101'"}, map[string][]int{"eq 00000101": {1}, "eq 101": nil}}},
		"PostgreSQL xml": {postgres, shown{row.String, "xml", []string{`'<?xml version="1.0" encoding="UTF-8"?><a/>'`},
			map[string][]int{"eq <a/>": {1}}}},
		"MariaDB float": {mysql, shown{row.Float64, "float", []string{"0.1", "0.3", "1e30"}, reals}},
		"MariaDB uuid":  {mysql, shown{row.String, "uuid", uuidValues, uuids}},
		"MariaDB inet6": {mysql, shown{row.String, "inet6", []string{"'::A'", "'::B'"}, map[string][]int{"eq ::a": {1}, "eq ::A": {1}}}},
		"MariaDB char":  {mysql, shown{row.String, "char(5)", []string{"'ab '", "'AB'"}, map[string][]int{"eq ab": {1}, "eq AB": {2}, "eq ab ": nil}}},
		"MariaDB bit": {mysql, shown{row.String, "bit(8)", []string{"5", "255", "0", "NULL"},
			map[string][]int{"eq 00000101": {1}, "eq 11111111": {2}, "eq 00000000": {3}, "ne 00000101": {2, 3}, "in 00000101,00000000": {1, 3}, "eq 101": nil, "eq 5": nil}}},
		"MariaDB zerofill": {mysql, shown{row.String, "int(5) zerofill", []string{"42"}, map[string][]int{"eq 00042": {1}, "eq 42": nil}}},
		"MariaDB year":     {mysql, shown{row.String, "year", []string{"2026", "0"}, map[string][]int{"eq 2026": {1}, "eq 0000": {2}}}},
		"MariaDB time":     {mysql, shown{row.String, "time(3)", []string{"'-1:00:00.5'"}, map[string][]int{"eq -01:00:00.500": {1}}}},
		"SQLite text":      {"sqlite", shown{row.String, "TEXT COLLATE NOCASE", []string{"'acme'", "'ACME'"}, blind}},
		"SQLite text kept as bytes": {"sqlite", shown{row.String, "TEXT", []string{"CAST('acme' AS BLOB)", "'acme'", "'ACME'"},
			map[string][]int{"eq acme": {1, 2}, "ne acme": {3}, "in acme,zz": {1, 2}, "gt ACME": {1, 2}}}},
		"SQLite text kept as bytes, UTF-16": {"sqlite wide", shown{row.String, "TEXT", []string{"x'61636d65'", "'acme'", "'名'", "x'e5908d'"},
			map[string][]int{"eq acme": {1, 2}, "ne acme": {3, 4}, "in acme,zz": {1, 2}, "eq 名": {3, 4}}}},
		"SQLite number": {"sqlite", shown{row.String, "INTEGER", []string{"42"}, map[string][]int{"eq 42": {1}, "eq 042": nil}}},
		"SQLite float":  {"sqlite", shown{row.Float64, "FLOAT", []string{"0.1", "0.3"}, map[string][]int{"eq 0.1": {1}, "eq 0.3": {2}}}},
	} {
		run := func(statements ...string) { pgtest.Exec(t, postgres, statements...) }
		switch c.dsn {
		case mysql:
			run = func(statements ...string) { mytest.Exec(t, mysql, statements...) }
		case "sqlite":
			c.dsn, run = file, func(statements ...string) { exec(t, statements...) }
		case "sqlite wide":
			c.dsn, run = wide, func(statements ...string) { execWide(t, statements...) }
		}
		t.Run(name, func(t *testing.T) { c.shown.check(t, c.dsn, run) })
	}
}

func (s shown) check(t *testing.T, dsn string, run func(statements ...string)) {
	run("DROP TABLE IF EXISTS t", "CREATE TABLE t (tenant varchar(10) NOT NULL, id bigint NOT NULL, v "+s.declared+", PRIMARY KEY (tenant, id))")
	for i, value := range s.values {
		run(fmt.Sprintf("INSERT INTO t VALUES ('acme', %d, %s)", i+1, value))
	}
	src, q := open(t, dsn), valueQuery(s.kind)
	if err := src.Check(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	find := func(op row.Op, values ...string) (found []int) {
		q.Filters = []row.Filter{{Column: q.Columns[0], Op: op, Values: values}}
		rows, err := read(src, q)
		if err != nil {
			t.Errorf("%s %q: %v", op, values, err)
		}
		for _, r := range rows {
			found = append(found, int(r[1][0]-'0'))
		}
		return found
	}
	all, err := read(src, q)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range all {
		if r[0] == "NULL" {
			continue
		}
		if s.kind == row.Float64 && r[0] == "1e+30" {
			r[0] = "1e30"
		}
		if found := find(row.Equal, r[0]); !slices.Contains(found, i+1) {
			t.Errorf("eq %q, which the file shows in row %d, finds rows %v", r[0], i+1, found)
		}
	}
	for text, want := range s.finds {
		op, values, _ := strings.Cut(text, " ")
		list := []string{values}
		if op == "in" {
			list = strings.Split(values, ",")
		}
		if diff := cmp.Diff(want, find(row.Op(op), list...)); diff != "" {
			t.Errorf("%s, of %v (-want +got):\n%s", text, s.values, diff)
		}
	}
}
