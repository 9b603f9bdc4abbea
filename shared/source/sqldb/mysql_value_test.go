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
	"sealift/shared/source/mytest"
)

// mysqlOne makes table t with one row whose column v has the type and the value; sql_mode is empty, as on old servers.
func mysqlOne(t *testing.T, dsn, declared, expression string) {
	t.Helper()
	if strings.HasPrefix(declared, "timestamp") {
		declared += " NULL"
	}
	mytest.Exec(t, dsn, "SET sql_mode = ''", "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint NOT NULL, v "+declared+", UNIQUE KEY (tenant, id))",
		"INSERT INTO t (tenant, id, v) VALUES ('acme', 41, "+expression+")")
}

func mysqlTypes(t *testing.T, server *mytest.Server) {
	for _, c := range []struct {
		kind                 row.Kind
		declared, expression string
		want                 string // "" for a refusal by Check
	}{
		{row.Int64, "bigint unsigned", "9223372036854775807", "9223372036854775807"},
		{row.Decimal, "bigint unsigned", "18446744073709551615", "18446744073709551615"},
		{row.String, "bigint unsigned", "18446744073709551615", "18446744073709551615"},
		{row.Int64, "bigint", "-9223372036854775808", "-9223372036854775808"},
		{row.Int64, "int(6) zerofill", "42", "42"}, {row.Int64, "int(6) zerofill", "0", "0"}, {row.String, "int(6) zerofill", "42", "000042"},
		{row.Decimal, "decimal(8,3) zerofill", "1.5", "1.500"}, {row.Float64, "double zerofill", "1.5", "1.5"},
		{row.Decimal, "decimal(65,30)", "-12345678901234567890123456789012345.123456789012345678901234567890",
			"-12345678901234567890123456789012345.123456789012345678901234567890"},
		{row.Decimal, "decimal(20,10)", "0.00000035", "0.0000003500"}, {row.Decimal, "decimal(10,0)", "100", "100"}, {row.Decimal, "int", "7", "7"},
		{row.Decimal, "double", "0.1", ""}, {row.Int64, "decimal(10,0)", "7", ""}, {row.Int64, "varchar(9)", "'7'", ""},
		{row.Float64, "float", "0.1", "0.1"}, {row.Float64, "float", "16777217", "16777216"}, {row.Float64, "float", "3.4028235e38", "3.4028235e+38"},
		{row.Float64, "float(7,2)", "1.5", "1.5"}, {row.Float64, "double(9,2)", "0.25", "0.25"}, {row.Float64, "float", "-1e-45", "-1e-45"},
		{row.Float64, "double(12,4)", "10.6749", "10.674900000000001"}, {row.Float64, "double(12,4) unsigned zerofill", "10.1452", "10.145199999999999"},
		{row.Float64, "double", "0.1 + 0.2e0", "0.30000000000000004"}, {row.Float64, "double", "1e20", "1e+20"},
		{row.Float64, "double", "1.7976931348623157e308", "1.7976931348623157e+308"}, {row.Float64, "decimal(3,1)", "0.1", ""},
		{row.Bool, "tinyint(1)", "1", "true"}, {row.Bool, "boolean", "false", "false"}, {row.Bool, "tinyint(3) zerofill", "1", "true"},
		{row.Int64, "tinyint(1)", "1", "1"}, {row.Bool, "bit(1)", "b'1'", "true"}, {row.Bool, "bit(1)", "b'0'", "false"}, {row.Bool, "int", "1", ""},
		{row.Bool, "bit(2)", "b'01'", ""}, {row.Int64, "bit(1)", "b'1'", "1"}, {row.Int64, "bit(8)", "b'00110001'", "49"},
		{row.String, "bit(8)", "b'00110001'", "00110001"}, {row.Decimal, "bit(64)", "0xffffffffffffffff", "18446744073709551615"},
		{row.Int64, "bit(64)", "0x7fffffffffffffff", "9223372036854775807"}, {row.String, "bit(64)", "b'101'", strings.Repeat("0", 61) + "101"},
		{row.Bytes, "bit(8)", "b'1'", ""}, {row.Int64, "year", "2026", "2026"}, {row.String, "year", "1901", "1901"}, {row.Int64, "year", "0", "0"},
		{row.Date, "date", "'2026-02-28'", "2026-02-28"}, {row.Date, "date", "'0001-01-01'", "0001-01-01"}, {row.Date, "datetime", "'2026-02-28'", ""},
		{row.DateTime, "datetime(6)", "'2026-03-08 02:30:00.000001'", "2026-03-08T02:30:00.000001"}, {row.DateTime, "datetime", "'9999-12-31 23:59:59'", "9999-12-31T23:59:59"},
		{row.DateTime, "datetime(3)", "'2026-01-01 00:00:00.120'", "2026-01-01T00:00:00.12"}, {row.Timestamp, "datetime", "'2026-01-01'", ""},
		{row.Timestamp, "timestamp(6) DEFAULT 0", "'2026-03-08 07:00:00.5'", "2026-03-08T07:00:00.5Z"}, {row.DateTime, "timestamp", "now()", ""},
		{row.Timestamp, "timestamp", "'2038-01-19 03:14:07'", "2038-01-19T03:14:07Z"}, {row.Timestamp, "date", "'2026-01-01'", ""},
		{row.String, "time", "'838:59:59'", "838:59:59"}, {row.String, "time(6)", "'-838:59:59.000001'", "-838:59:59.000001"}, {row.String, "time", "'-00:00:01'", "-00:00:01"},
		{row.String, "char(5)", "'x  '", "x"}, {row.String, "varchar(5)", "'x  '", "x  "}, {row.String, "varchar(9)", "''", ""}, {row.String, "text", "'😀𠮷'", "😀𠮷"},
		{row.String, "varchar(9) CHARACTER SET latin1", "'é€'", "é€"}, {row.String, "varchar(9) CHARACTER SET gbk", "'订单'", "订单"}, {row.String, "varchar(9) CHARACTER SET utf16", "'😀'", "😀"},
		{row.String, "varbinary(9)", "x'41ff42'", "A\xffB"}, {row.String, "blob", "x'e9'", "\xe9"}, {row.String, "binary(3)", "x'41'", "A\x00\x00"},
		{row.String, "enum('a','b''c')", "'b''c'", "b'c"}, {row.String, "set('x','y','z')", "'z,x'", "x,z"}, {row.String, "enum('a')", "'none'", ""},
		{row.String, "uuid", "'0000000A-0000-0000-0000-000000000001'", "0000000a-0000-0000-0000-000000000001"}, {row.String, "inet6", "'::1'", "::1"},
		{row.String, "date", "'2026-01-01'", ""}, {row.String, "decimal(3,1)", "1", ""}, {row.String, "double", "1", ""}, {row.String, "point", "point(1,2)", ""},
		{row.JSON, "json", `'{"a" : [1, "二"]}'`, `{"a" : [1, "二"]}`}, {row.JSON, "text", "'[1]'", "[1]"}, {row.JSON, "blob", "'[1]'", ""}, {row.String, "json", "'[1]'", "[1]"},
		{row.Bytes, "varbinary(3)", "x'00ff5c'", "\x00\xff\\"}, {row.Bytes, "longblob", "''", ""}, {row.Bytes, "binary(2)", "x'01'", "\x01\x00"}, {row.Bytes, "text", "'x'", ""},
		{row.Int64, "int AS (6 * 7) VIRTUAL", "DEFAULT", "42"}, {row.String, "varchar(9) AS (concat(tenant, id)) STORED", "DEFAULT", "acme41"}, {row.Int64, "int INVISIBLE", "5", "5"},
	} {
		dsn := server.Schema(t)
		mysqlOne(t, dsn, c.declared, c.expression)
		src := open(t, dsn)
		q := valueQuery(c.kind)
		err := src.Check(context.Background(), q)
		empty := c.expression == "''" || c.expression == "'none'"
		if c.want == "" && !empty {
			if job.CodeOf(err) != "source_schema_changed" || !strings.Contains(err.Error(), "column v") {
				t.Errorf("%s from %s is checked as %v, want a refusal that names the column", c.kind, c.declared, err)
			}
		} else if rows, readErr := read(src, q); err != nil || readErr != nil || rows[0][0] != c.want {
			t.Errorf("%s from %s of %s is %q (%v, %v), want %q", c.kind, c.expression, c.declared, rows, err, readErr, c.want)
		}
		_ = src.Close()
	}
}

func mysqlOutOfRange(t *testing.T, server *mytest.Server) {
	for _, c := range []struct {
		kind                             row.Kind
		declared, expression, zone, want string
	}{
		{row.Date, "date", "'0000-00-00'", "UTC", "zero date"}, {row.Date, "date", "'2026-00-10'", "UTC", "zero date"}, {row.Date, "date", "'2026-01-00'", "UTC", "zero date"},
		{row.DateTime, "datetime", "'0000-00-00'", "UTC", "zero date"}, {row.DateTime, "datetime(6)", "'2026-00-10 01:02:03'", "UTC", "zero date"},
		{row.Timestamp, "timestamp DEFAULT 0", "'0000-00-00'", "UTC", "zero date"}, {row.Int64, "bigint unsigned", "9223372036854775808", "UTC", "decimal"},
		{row.Int64, "bigint unsigned", "18446744073709551615", "UTC", "decimal"}, {row.Int64, "bit(64)", "x'8000000000000000'", "UTC", "decimal"},
		{row.Bool, "tinyint(1)", "2", "UTC", "0, 1"}, {row.Bool, "tinyint(1)", "-1", "UTC", "0, 1"}, {row.JSON, "text", "'{'", "UTC", "document"},
	} {
		dsn := server.Schema(t)
		mysqlOne(t, dsn, c.declared, c.expression)
		src := open(t, dsn)
		q := valueQuery(c.kind)
		q.Zone = c.zone
		_, err := read(src, q)
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_value_invalid" {
			t.Errorf("%s of %s is read as %v, want a permanent source_value_invalid", c.kind, c.expression, err)
		}
		for _, part := range []string{"column v", "key 41", c.want} {
			if !strings.Contains(fmt.Sprint(err), part) {
				t.Errorf("%s of %s is told %v, want it to say %q", c.kind, c.expression, err, part)
			}
		}
		_ = src.Close()
	}
}

// mysqlZones are the clock changes of New York, told by columns that the server's own zone, eight hours ahead, would move.
func mysqlZones(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint NOT NULL, v timestamp(6) NOT NULL, UNIQUE KEY (tenant, id))",
		"INSERT INTO t VALUES ('acme', 1, '2026-03-08 06:59:59.999999'), ('acme', 2, '2026-03-08 07:00:00'), ('acme', 3, '2026-11-01 05:30:00'), ('acme', 4, '2026-11-01 06:30:00')")
	src := open(t, dsn)
	for zone, want := range map[string][]string{
		"America/New_York": {"2026-03-08T01:59:59.999999-05:00", "2026-03-08T03:00:00-04:00", "2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"},
		"Asia/Shanghai":    {"2026-03-08T14:59:59.999999+08:00", "2026-03-08T15:00:00+08:00", "2026-11-01T13:30:00+08:00", "2026-11-01T14:30:00+08:00"},
	} {
		q := valueQuery(row.Timestamp)
		q.Zone = zone
		rows, err := read(src, q)
		var got []string
		for _, r := range rows {
			got = append(got, r[0])
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", zone, err, diff)
		}
	}
}

// mysqlBrokenKeys names a row whose key can't be read whole by what of it can, spelled as everywhere.
func mysqlBrokenKeys(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "SET sql_mode = ''", "CREATE TABLE t (tenant varchar(20) NOT NULL, at datetime NOT NULL, id bigint NOT NULL, v tinyint, UNIQUE KEY (tenant, at, id))",
		"INSERT INTO t VALUES ('acme', '2026-01-01', 7, 2), ('other', '0000-00-00', 41, 1)",
		"CREATE VIEW w AS SELECT tenant, nullif(at, '2026-01-01') AS at, id, v FROM t")
	q := valueQuery(row.Bool)
	q.Key = append([]row.Column{{Source: "at", Kind: row.DateTime}}, q.Key...)
	_, read1 := read(open(t, dsn), q)
	q.Tenant = "other"
	_, read2 := read(open(t, dsn), q)
	_, plan2 := open(t, dsn).Plan(context.Background(), q, source.PlanOptions{})
	q.Tenant, q.Table = "acme", "w"
	q.Columns[0] = q.Key[1]
	_, read3 := read(open(t, dsn), q)
	for _, c := range []struct {
		err  error
		want string
	}{
		{read1, "column v (bool) of the row with key 2026-01-01T00:00:00/7 "}, {read2, "column at (datetime) of the row with key 0000-00-00 00:00:00/41 "},
		{plan2, "column at (datetime) of the row with key 0000-00-00 00:00:00/41 "}, {read3, "column at (datetime) of the row with key ?/7 "},
	} {
		if !says(c.err, c.want) {
			t.Errorf("told %v, want it to say %q", c.err, c.want)
		}
	}
}
