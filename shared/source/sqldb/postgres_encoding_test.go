package sqldb_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// encoded makes a database of the encoding with table t, and returns its address.
func encoded(t *testing.T, server *pgtest.Server, name, encoding string, statements ...string) string {
	t.Helper()
	pgtest.Exec(t, server.DSN(), "CREATE DATABASE "+name+" ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	dsn := strings.Replace(server.DSN(), "/postgres?", "/"+name+"?", 1)
	pgtest.Exec(t, dsn, append([]string{"CREATE TABLE t (tenant text NOT NULL, id bigint NOT NULL, k text NOT NULL, v text, j json, u uuid, UNIQUE (tenant, id), UNIQUE (tenant, k), UNIQUE (u, id))"},
		statements...)...)
	return dsn
}

// unencoded reads a database that takes any bytes for text: they are handed on as they are, and what isn't UTF-8 among
// them is the format's to judge.
func unencoded(t *testing.T, server *pgtest.Server) {
	dsn := encoded(t, server, "unencoded", "SQL_ASCII", `INSERT INTO t VALUES
		('acme', 1, convert_from('\xc3a9', 'SQL_ASCII'), convert_from('\xe96c', 'SQL_ASCII'), ('["' || convert_from('\xff', 'SQL_ASCII') || '"]')::json),
		('acme', 2, convert_from('\xe9', 'SQL_ASCII'), 'plain', NULL),
		(convert_from('\xc3a9', 'SQL_ASCII'), 1, 'a', 'tenant in UTF-8', NULL), (convert_from('\xe9', 'SQL_ASCII'), 1, 'a', 'tenant in Latin 1', NULL)`)
	src := open(t, dsn)
	q := valueQuery(row.String)
	q.Columns = append(q.Columns, row.Column{Name: "j", Source: "j", Kind: row.JSON})
	q.Key[0] = row.Column{Source: "k", Kind: row.String}
	rows, err := read(src, q)
	if diff := cmp.Diff([][]string{{"\xe9l", "[\"\xff\"]", "é"}, {"plain", "NULL", "\xe9"}}, rows); diff != "" || err != nil {
		t.Errorf("bytes are read with %v (-want +got):\n%s", err, diff)
	}
	var b row.Batch
	if err := src.Read(context.Background(), q, row.Range{From: row.Key{"\xe9"}}, nil, source.Limit{Rows: 9, Bytes: 1000}, &b); err != nil || b.Rows() != 1 {
		t.Errorf("behind a bound that isn't UTF-8 are %d rows (%v), want 1", b.Rows(), err)
	}
	if plan, err := src.Plan(context.Background(), q, source.PlanOptions{}); err != nil || cmp.Diff(row.Key{"\xe9"}, plan.Ceiling) != "" {
		t.Errorf("the plan ends at %q (%v), want byte e9", plan.Ceiling, err)
	}
	q.Columns = q.Columns[:1]
	q.Tenant = "é"
	if rows, err = read(src, q); err != nil || len(rows) != 1 || rows[0][0] != "tenant in UTF-8" {
		t.Errorf("tenant é reads %q (%v), want its own row", rows, err)
	}
	q.Tenant, q.Filters = "acme", []row.Filter{{Column: row.Column{Source: "k", Kind: row.String}, Op: row.Equal, Values: []string{"é"}}}
	if rows, err = read(src, q); err != nil || len(rows) != 1 || rows[0][1] != "é" {
		t.Errorf("a filter for é reads %q (%v), want one row", rows, err)
	}
	// The server ends the session; the next one hands bytes on as well.
	q.Filters = nil
	pgtest.Exec(t, dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sealift' AND datname = 'unencoded'")
	_, _ = src.Identity(context.Background(), q)
	if rows, err = read(src, q); err != nil || len(rows) != 2 {
		t.Errorf("after a lost connection the rows are %q (%v), want two", rows, err)
	}
}

// otherLetters reads a database whose encoding hasn't the letters of UTF-8, and has some that UTF-8 hasn't.
func otherLetters(t *testing.T, server *pgtest.Server) {
	dsn := encoded(t, server, "letters", "WIN1252", `INSERT INTO t VALUES ('acme', 1, 'a', chr(128), NULL, NULL), ('acme', 2, 'b', NULL, NULL, NULL),
		(chr(233), 1, 'a', chr(233), NULL, NULL)`)
	src := open(t, dsn)
	q := valueQuery(row.String)
	filters := func(op row.Op, values ...string) []row.Filter {
		return []row.Filter{{Column: row.Column{Source: "v", Kind: row.String}, Op: op, Values: values}}
	}
	for _, c := range []struct {
		name, tenant, column string
		filters              []row.Filter
		want                 [][]string
	}{
		{"all", "acme", "tenant", nil, [][]string{{"€", "1"}, {"NULL", "2"}}},
		{"a tenant with a letter", "é", "tenant", nil, [][]string{{"é", "1"}}},
		{"a tenant that no row can have", "名", "tenant", nil, nil},
		{"no uuid", "名", "u", nil, nil},
		{"equal to what there is", "acme", "tenant", filters(row.Equal, "€"), [][]string{{"€", "1"}}},
		{"equal to what can't be", "acme", "tenant", filters(row.Equal, "名"), nil},
		{"among both", "acme", "tenant", filters(row.In, "名", "€"), [][]string{{"€", "1"}}},
		{"among what can't be", "acme", "tenant", filters(row.In, "名", "字"), nil},
		{"other than what can't be", "acme", "tenant", filters(row.NotEqual, "名"), [][]string{{"€", "1"}}},
	} {
		q.Tenant, q.TenantColumn.Source, q.Filters = c.tenant, c.column, c.filters
		if err := src.Check(context.Background(), q); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		plan, err := src.Plan(context.Background(), q, source.PlanOptions{})
		if err != nil || c.column == "tenant" && c.tenant == "名" != (plan.Ceiling == nil) {
			t.Errorf("%s is planned up to %v (%v)", c.name, plan.Ceiling, err)
		}
		if c.column != "tenant" {
			continue
		}
		rows, err := read(src, q)
		if diff := cmp.Diff(c.want, rows); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	q.Tenant, q.TenantColumn.Source, q.Filters = "acme", "tenant", filters(row.Less, "名")
	if err := src.Check(context.Background(), q); err != nil {
		t.Error(err)
	}
	if _, err := read(src, q); job.CodeOf(err) != "filter_invalid" || !strings.Contains(err.Error(), "encoding") {
		t.Errorf("an order with a letter that isn't there is told %v, want filter_invalid", err)
	}
	q.Filters = nil
	pgtest.Exec(t, dsn, "INSERT INTO t VALUES ('acme', 3, 'c', 'a' || chr(129), NULL, NULL)")
	const want = `table t holds text that can't be read as UTF-8 (SQLSTATE 22P05: character with byte sequence 0x81 in encoding "WIN1252" has no equivalent in encoding "UTF8")`
	if _, err := read(src, q); job.CodeOf(err) != "source_value_invalid" || !strings.Contains(err.Error(), want) {
		t.Errorf("a letter that UTF-8 hasn't is told\n%v, want source_value_invalid with\n%s", err, want)
	}
}

// withoutNUL asks databases of every sort of encoding for what none of their texts can hold.
func withoutNUL(t *testing.T, server *pgtest.Server) {
	rows := `INSERT INTO t VALUES ('acme', 1, 'a', 'x', NULL, NULL), ('acme', 2, 'b', 'y', NULL, NULL)`
	for name, encoding := range map[string]string{"nul_utf8": "UTF8", "nul_none": "SQL_ASCII", "nul_win": "WIN1252"} {
		src := open(t, encoded(t, server, name, encoding, rows))
		filters := func(op row.Op, values ...string) []row.Filter {
			return []row.Filter{{Column: row.Column{Source: "v", Kind: row.String}, Op: op, Values: values}}
		}
		for what, c := range map[string]struct {
			tenant, column string
			filters        []row.Filter
			want           int
		}{
			"a tenant":                   {"acme\x00", "tenant", nil, 0},
			"a tenant that begins so":    {"\x00acme", "tenant", nil, 0},
			"a tenant of another type":   {"1\x00", "id", nil, 0},
			"a value":                    {"acme", "tenant", filters(row.Equal, "x\x00"), 0},
			"one of two values":          {"acme", "tenant", filters(row.In, "x\x00", "x"), 1},
			"all but a value":            {"acme", "tenant", filters(row.NotEqual, "x\x00"), 2},
			"the tenant beside it, last": {"acme", "tenant", nil, 2},
		} {
			q := valueQuery(row.String)
			q.Tenant, q.TenantColumn.Source, q.Filters = c.tenant, c.column, c.filters
			plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: 1000, ShardsMax: 10})
			if err != nil || (plan.Ceiling != nil) != (c.tenant == "acme") {
				t.Errorf("%s: %s is planned up to %v (%v), want rows of acme alone", encoding, what, plan.Ceiling, err)
			}
			if c.column != "tenant" {
				continue
			}
			if rows, err := read(src, q); err != nil || len(rows) != c.want {
				t.Errorf("%s: %s has the rows %q (%v), want %d", encoding, what, rows, err, c.want)
			}
		}
	}
}
