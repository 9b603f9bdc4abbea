package sqldb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// oneValue makes table t with one row whose column v is the expression.
func oneValue(t *testing.T, dsn, expression string) {
	t.Helper()
	pgtest.Exec(t, dsn, "CREATE TABLE t AS SELECT 'acme'::text AS tenant, 41::bigint AS id, "+expression+" AS v",
		"ALTER TABLE t ALTER id SET NOT NULL", "CREATE UNIQUE INDEX ON t (tenant, id)")
}

func typesBecomeKinds(t *testing.T, server *pgtest.Server) {
	for _, c := range []struct {
		kind       row.Kind
		expression string
		want       string // "" for a refusal by Check
	}{
		{row.String, "'x'::varchar(3)", "x"}, {row.String, "'x'::char(3)", "x  "}, {row.String, "'x'::name", "x"},
		{row.String, "'00000000-0000-0000-0000-00000000000A'::uuid", "00000000-0000-0000-0000-00000000000a"}, {row.String, "7::int", "7"},
		{row.String, "'10.0.0.1/8'::inet", "10.0.0.1/8"}, {row.String, "'12:30:00.5'::time", "12:30:00.5"}, {row.String, "b'101'", "101"},
		{row.String, "1.5::float8", ""}, {row.String, "12.5::money", "$12.50"}, {row.String, "now()", ""}, {row.String, `'{a,NULL,"b,c",""}'::text[]`, `{a,NULL,"b,c",""}`},
		{row.String, "'{{1,2},{3,4}}'::int[]", "{{1,2},{3,4}}"}, {row.String, "'{0.1}'::real[]", "{0.1}"}, {row.String, "array[timestamptz '2026-01-01 08:00+08']", `{"2026-01-01 00:00:00+00"}`},
		{row.String, "interval '1 year -2 days 3.5 seconds'", "P1Y-2DT3.5S"}, {row.String, "interval '24 hours'", "PT24H"}, {row.String, "point '(1,0.1)'", "(1,0.1)"},
		{row.String, "int4range(1, 5)", "[1,5)"}, {row.String, "'NaN'::numeric", "NaN"}, {row.String, "'-Infinity'::numeric", "-Infinity"}, {row.String, "7.50::numeric", "7.50"},
		{row.String, "row(1, 'x')::pair", ""}, {row.String, "'Ab'::citext", "Ab"}, {row.String, "'b'::letter", "b"}, {row.String, "'x'::small", "x"}, {row.Int64, "7::counted", "7"},
		{row.String, "'::1/64'::inet", "::1/64"}, {row.String, "'10.0.0.0/8'::cidr", "10.0.0.0/8"}, {row.String, "'08:00:2b:01:02:03'::macaddr", "08:00:2b:01:02:03"}, {row.String, "'12:30:00+05:30'::timetz", "12:30:00+05:30"},
		{row.Date, "date '0001-01-01'", "0001-01-01"}, {row.Date, "date '9999-12-31'", "9999-12-31"}, {row.Timestamp, "timestamptz '0001-01-01 00:00Z'", "0001-01-01T00:00:00Z"},
		{row.DateTime, "timestamp '9999-12-31 23:59:59.999999'", "9999-12-31T23:59:59.999999"}, {row.Decimal, "'12345678901234567890.123456789'::numeric", "12345678901234567890.123456789"},
		{row.Decimal, "1e-20::numeric(30,25)", "0.0000000000000000000100000"}, {row.Decimal, "1e30::numeric", "1000000000000000000000000000000"}, {row.Decimal, "0.1 + 0.2", "0.3"},
		{row.Float64, "'Infinity'::real", "Infinity"}, {row.String, "'x'::bytea", ""}, {row.String, "true", ""},
		{row.Int64, "7::smallint", "7"}, {row.Int64, "(-9223372036854775808)::bigint", "-9223372036854775808"},
		{row.Int64, "7.0", ""}, {row.Int64, "'7'::text", ""}, {row.Decimal, "7::int", "7"}, {row.Decimal, "12.50::numeric(12,3)", "12.500"},
		{row.Decimal, "0.1::float8", ""}, {row.Decimal, "12.5::money", ""}, {row.Float64, "0.1::real", "0.1"}, {row.Float64, "0.1::float8", "0.1"},
		{row.Float64, "1e20::float8", "1e+20"}, {row.Float64, "'NaN'::float8", "NaN"}, {row.Float64, "'-inf'::float8", "-Infinity"},
		{row.Float64, "0.1", ""}, {row.Bool, "true", "true"}, {row.Bool, "1", ""}, {row.Date, "date '2026-02-28'", "2026-02-28"},
		{row.Date, "timestamp '2026-02-28'", ""}, {row.Timestamp, "timestamptz '2026-02-28 00:00+05:30'", "2026-02-27T18:30:00Z"},
		{row.Timestamp, "timestamp '2026-02-28'", ""}, {row.DateTime, "timestamp '2026-02-28 1:00'", "2026-02-28T01:00:00"},
		{row.DateTime, "timestamptz '2026-02-28'", ""}, {row.JSON, "'{\"a\" : 1}'::json", `{"a" : 1}`}, {row.JSON, "'{\"a\":1}'::jsonb", `{"a": 1}`},
		{row.JSON, "'{}'::text", ""}, {row.Bytes, "'\\x00ff'::bytea", "\x00\xff"}, {row.Bytes, "'x'::text", ""},
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, "CREATE TYPE letter AS ENUM ('b', 'a')", "CREATE TYPE pair AS (a int, b text)",
			"CREATE DOMAIN small AS varchar(3)", "CREATE DOMAIN counted AS bigint CHECK (value > 0)")
		oneValue(t, dsn, c.expression)
		src := open(t, dsn)
		q := valueQuery(c.kind)
		err := src.Check(context.Background(), q)
		if c.want == "" {
			if job.CodeOf(err) != "source_schema_changed" || !strings.Contains(err.Error(), "column v") {
				t.Errorf("%s from %s is checked as %v, want a refusal that names the column", c.kind, c.expression, err)
			}
		} else if rows, readErr := read(src, q); err != nil || readErr != nil || rows[0][0] != c.want {
			t.Errorf("%s from %s is %q (%v, %v), want %q", c.kind, c.expression, rows, err, readErr, c.want)
		}
		_ = src.Close()
	}
}

func outOfRange(t *testing.T, server *pgtest.Server) {
	for _, c := range []struct {
		kind       row.Kind
		expression string
		zone       string
	}{
		{row.Timestamp, "timestamptz 'infinity'", "UTC"}, {row.Timestamp, "timestamptz '-infinity'", "UTC"},
		{row.Timestamp, "timestamptz '0001-01-01 00:00Z BC'", "UTC"}, {row.Timestamp, "timestamptz '10000-01-01 00:00Z'", "UTC"},
		{row.Timestamp, "timestamptz 'infinity'", "Asia/Shanghai"}, {row.Timestamp, "timestamptz '10000-01-01 00:00Z'", "Asia/Shanghai"},
		{row.DateTime, "timestamp 'infinity'", "UTC"}, {row.DateTime, "timestamp '0044-03-15 12:00 BC'", "UTC"},
		{row.Date, "date 'infinity'", "UTC"}, {row.Date, "date '0044-03-15 BC'", "UTC"}, {row.Date, "date '12000-01-01'", "UTC"},
		{row.Decimal, "'NaN'::numeric", "UTC"}, {row.Decimal, "'-Infinity'::numeric", "UTC"},
	} {
		dsn := server.Schema(t)
		oneValue(t, dsn, c.expression)
		src := open(t, dsn)
		q := valueQuery(c.kind)
		q.Zone = c.zone
		_, err := read(src, q)
		if job.CodeOf(err) != "source_value_invalid" || !strings.Contains(fmt.Sprint(err), "column v") || !strings.Contains(fmt.Sprint(err), "key 41") {
			t.Errorf("%s of %s in %s is read as %v, want source_value_invalid with column and key", c.kind, c.expression, c.zone, err)
		}
		_ = src.Close()
	}
	for zone, at := range map[string]string{"Asia/Shanghai": "9999-12-31T23:00:00", "America/New_York": "0001-01-01T00:00:00"} {
		dsn := server.Schema(t)
		oneValue(t, dsn, "timestamptz '"+at+"Z'")
		src := open(t, dsn)
		q := valueQuery(row.Timestamp)
		q.Zone = zone
		if rows, err := read(src, q); err != nil || rows[0][0] != at+row.OffsetUnknown {
			t.Errorf("%s UTC in %s is read as %v (%v), want UTC with the offset %s", at, zone, rows, err, row.OffsetUnknown)
		}
		_ = src.Close()
	}
}

func checksTable(t *testing.T, server *pgtest.Server) {
	const columns = "(tenant text NOT NULL, created_at timestamptz NOT NULL, id bigint NOT NULL, sku text NOT NULL COLLATE blind, note text)"
	for _, c := range []struct {
		name   string
		tables []string
		key    string
		want   string
	}{
		{"index on tenant and key", []string{"CREATE TABLE t " + columns, "CREATE INDEX ON t (tenant, id)"}, "id", ""},
		{"index on the key alone", []string{"CREATE TABLE t " + columns, "CREATE INDEX ON t (id)"}, "id", ""},
		{"no index", []string{"CREATE TABLE t " + columns}, "id", "source_key_not_indexed"},
		{"partial index", []string{"CREATE TABLE t " + columns, "CREATE INDEX ON t (id) WHERE id > 3"}, "id", "source_key_not_indexed"},
		{"hash index", []string{"CREATE TABLE t " + columns, "CREATE INDEX ON t USING hash (id)"}, "id", "source_key_not_indexed"},
		{"only included", []string{"CREATE TABLE t " + columns, "CREATE INDEX ON t (tenant) INCLUDE (id)"}, "id", "source_key_not_indexed"},
		{"an interval, whose texts may be equal", []string{"CREATE TABLE t (tenant text NOT NULL, span interval PRIMARY KEY, note text)"}, "span", "source_schema_changed"},
		{"a numeric as text", []string{"CREATE TABLE t (tenant text NOT NULL, price numeric PRIMARY KEY, note text)"}, "price", "source_schema_changed"},
		{"nullable key", []string{"CREATE TABLE t " + columns, "CREATE INDEX ON t (tenant, note)"}, "note", "source_key_nullable"},
		{"case-blind key", []string{"CREATE TABLE t " + columns, "CREATE INDEX ON t (tenant, sku)"}, "sku", "source_key_collation"},
		{"partitioned", []string{"CREATE TABLE t " + columns + " PARTITION BY RANGE (id)", "CREATE TABLE p PARTITION OF t DEFAULT",
			"CREATE INDEX ON t (tenant, id)"}, "id", ""},
		{"view", []string{"CREATE TABLE b " + columns, "CREATE VIEW t AS SELECT * FROM b"}, "id", ""},
		{"view with NULL keys", []string{"CREATE TABLE b " + columns, "INSERT INTO b VALUES ('acme', now(), 1, 's', NULL)",
			"CREATE VIEW t AS SELECT * FROM b"}, "note", "source_key_nullable"},
		{"domain", []string{"CREATE DOMAIN number AS bigint CHECK (value > 0)", "CREATE DOMAIN order_number AS number",
			"CREATE TABLE t (tenant text, id order_number NOT NULL, note text)", "CREATE INDEX ON t (id)"}, "id", ""},
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
		pgtest.Exec(t, dsn, c.tables...)
		src := open(t, dsn)
		q := valueQuery(row.String)
		q.Columns[0].Source = "note"
		q.Key[0].Source = c.key
		if c.key != "id" {
			q.Key[0].Kind = row.String
		}
		err := src.Check(context.Background(), q)
		if err == nil && strings.HasPrefix(c.name, "view") {
			_, err = src.Plan(context.Background(), q, source.PlanOptions{})
		}
		if c.want == "" && err != nil || c.want != "" && job.CodeOf(err) != c.want {
			t.Errorf("%s: check says %v, want %q", c.name, err, c.want)
		}
		_ = src.Close()
	}
}

func tenantTypes(t *testing.T, server *pgtest.Server) {
	const id = "0000000a-0000-0000-0000-000000000001"
	for _, c := range []struct {
		name, column, mine, other, tenant string
		// alike are spellings that the type reads as the tenant.
		alike []string
	}{
		{"number", "bigint", "7", "8", "7", []string{"07", " 7", "7 ", "+7", "7.0", "0x7"}},
		{"a domain of numbers", "odd", "7", "9", "7", []string{"07", "8", "+7"}},
		{"small number", "smallint", "7", "8", "7", []string{"07", " 7", "+7"}},
		{"decimal", "numeric", "7", "8", "7", []string{"07", " 7", "+7", "7.0", "7e0", ".7e1"}},
		{"decimal of another scale", "numeric", "7", "7.0", "7", []string{"7.00"}},
		{"float", "double precision", "7", "8", "7", []string{"07", " 7", "+7", "7.0", "7e0"}},
		{"uuid", "uuid", "'" + id + "'", "'00000000-0000-0000-0000-000000000002'", id,
			[]string{strings.ToUpper(id), "{" + id + "}", strings.ReplaceAll(id, "-", "")}},
		{"text", "text", "'acme'", "'ACME'", "acme", []string{"acme ", " acme", "Acme"}},
		{"varchar", "varchar(10)", "'acme'", "'ACME'", "acme", []string{"acme  ", "ACMe"}},
		{"padded text", "char(10)", "'acme'", "'ACME'", "acme", []string{"acme ", "acme      "}},
		{"a domain of padded text", "padded", "'acme'", "'ACME'", "acme", []string{"acme ", "acme      "}},
		{"enum", "shop", "'acme'", "'other'", "acme", []string{" acme", "acme "}},
		{"date", "date", "'2026-03-01'", "'2026-03-02'", "2026-03-01", []string{"20260301", "March 1, 2026"}},
		{"case-blind collation", "text COLLATE blind", "'acme'", "'ACME'", "acme", []string{"Acme"}},
		{"case-blind varchar", "varchar(10) COLLATE blind", "'acme'", "'ACME'", "acme", []string{"Acme", "acme "}},
		{"a domain of a case-blind collation", "dim", "'acme'", "'ACME'", "acme", []string{"Acme"}},
		{"case-blind type", "citext", "'acme'", "'ACME'", "acme", []string{"Acme", "acme "}},
		{"a domain of a case-blind type", "dimmer", "'acme'", "'ACME'", "acme", []string{"Acme"}},
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
			"CREATE TYPE shop AS ENUM ('other', 'acme')", "CREATE DOMAIN padded AS char(10)", "CREATE DOMAIN odd AS bigint CHECK (value % 2 = 1)", "CREATE DOMAIN dim AS text COLLATE blind", "CREATE DOMAIN dimmer AS citext",
			fmt.Sprintf("CREATE TABLE t (tenant %s NOT NULL, id bigint NOT NULL, v text)", c.column), "CREATE INDEX ON t (tenant, id)",
			fmt.Sprintf("INSERT INTO t VALUES (%s, 1, 'mine'), (%s, 2, 'other'), (%s, 3, 'mine')", c.mine, c.other, c.mine))
		src := open(t, dsn)
		q := valueQuery(row.String)
		q.Tenant = c.tenant
		rows, err := read(src, q)
		if diff := cmp.Diff([][]string{{"mine", "1"}, {"mine", "3"}}, rows); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
		for _, q.Tenant = range append(c.alike, "no such tenant'") {
			if rows, err := read(src, q); len(rows) != 0 || err != nil && job.CodeOf(err) != "source_query_invalid" {
				t.Errorf("%s: tenant %q reads %q (%v), want nothing", c.name, q.Tenant, rows, err)
			}
			if plan, err := src.Plan(context.Background(), q, source.PlanOptions{}); err != nil || plan.Ceiling != nil || len(plan.Shards) != 1 {
				t.Errorf("%s: tenant %q is planned up to %v in %d shards (%v), want a plan of nothing", c.name, q.Tenant, plan.Ceiling, len(plan.Shards), err)
			}
		}
		_ = src.Close()
	}
}
