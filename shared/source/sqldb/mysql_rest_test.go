package sqldb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
)

// readBatches reads a whole table in batches as a worker does and counts its rows.
func readBatches(src source.Source, q row.Query) (rows int, err error) {
	var b row.Batch
	var after row.Key
	for {
		if err := src.Read(context.Background(), q, row.Range{}, after, source.Limit{Rows: limits.BatchRows, Bytes: limits.BatchBytes}, &b); err != nil || b.Rows() == 0 {
			return rows, err
		}
		rows += b.Rows()
		after = b.Key(b.Rows()-1, len(q.Key))
	}
}

// mysqlLongRests gives rows that must be refused a rest that is too long to be read: the refusal is told all the same.
func mysqlLongRests(t *testing.T, server *mytest.Server) {
	const table = "CREATE TABLE t (tenant varchar(20) COLLATE utf8mb4_nopad_bin NOT NULL, id bigint NOT NULL, v %s, pad longtext, KEY (tenant, id))"
	const large = "INSERT INTO t SELECT 'acme', seq, %s, repeat('y', %d) FROM seq_%d_to_%d"
	for _, c := range []struct {
		name, declared string
		kind           row.Kind
		rows           []string
		code, key      string
	}{
		{
			"a twin behind a full batch", "int", row.Int64,
			[]string{
				fmt.Sprintf(large, "0", 1, 1, 200), fmt.Sprintf(large, "0", 3_000_000, 201, 201), fmt.Sprintf(large, "0", 3_000_000, 201, 201),
				fmt.Sprintf(large, "0", 3_000_000, 202, 210),
			}, "source_key_not_unique", "key 201",
		},
		{
			"a twin in the middle of a batch", "int", row.Int64,
			[]string{fmt.Sprintf(large, "0", 1, 1, 200), fmt.Sprintf(large, "0", 1, 201, 201), fmt.Sprintf(large, "0", 300_000, 201, 400)},
			"source_key_not_unique", "key 201",
		},
		{
			"a zero date", "date", row.Date,
			[]string{
				fmt.Sprintf(large, "'2026-01-01'", 1, 1, 200), fmt.Sprintf(large, "'0000-00-00'", 1, 201, 201),
				fmt.Sprintf(large, "'2026-01-01'", 300_000, 202, 400),
			}, "source_value_invalid", "key 201",
		},
		{
			"a number beyond an int64", "bigint unsigned", row.Int64,
			[]string{
				fmt.Sprintf(large, "1", 1, 1, 200), fmt.Sprintf(large, "18446744073709551615", 1, 201, 201),
				fmt.Sprintf(large, "1", 300_000, 202, 400),
			}, "source_value_invalid", "key 201",
		},
	} {
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, append([]string{"SET sql_mode = ''", fmt.Sprintf(table, c.declared)}, c.rows...)...)
		src := open(t, dsn)
		q := valueQuery(c.kind)
		q.Columns = append(q.Columns, row.Column{Source: "pad", Kind: row.String})
		rows, err := readBatches(src, q)
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.key) {
			t.Errorf("%s: after %d rows the reader says %v, want a permanent %s that names %s", c.name, rows, err, c.code, c.key)
		}
		// The connection was given up; the next call makes another.
		if err := src.Check(context.Background(), q); err != nil {
			t.Errorf("%s: the check after it says %v", c.name, err)
		}
		_ = src.Close()
	}
	mysqlLongPlan(t, server)
	mysqlLongChange(t, server)
}

// mysqlLongPlan has a key that can't be read before more keys than a plan reads for nothing.
func mysqlLongPlan(t *testing.T, server *mytest.Server) {
	t.Helper()
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "SET sql_mode = ''", "CREATE TABLE t (tenant varchar(20) NOT NULL, day date NOT NULL, id varchar(100) NOT NULL, v int, UNIQUE KEY (tenant, day, id))",
		"INSERT INTO t VALUES ('acme', '0000-00-00', '1', 1)", "INSERT INTO t SELECT 'acme', '2026-01-01', lpad(seq, 100, '0'), 1 FROM seq_1_to_20000")
	q := valueQuery(row.Int64)
	q.Key = []row.Column{{Source: "day", Kind: row.Date}, {Source: "id", Kind: row.String}}
	_, err := open(t, dsn).Plan(context.Background(), q, source.PlanOptions{ShardRows: 1000, ShardsMax: 100})
	if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_value_invalid" || !strings.Contains(fmt.Sprint(err), "column day") {
		t.Errorf("a zero date in the key is planned as %v, want a permanent source_value_invalid that names the column", err)
	}
}

// mysqlLongChange changes a column's type behind the reader's back, in a table of more bytes than a reader skips.
func mysqlLongChange(t *testing.T, server *mytest.Server) {
	t.Helper()
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint NOT NULL, v int, pad longtext, UNIQUE KEY (tenant, id))",
		"INSERT INTO t SELECT 'acme', seq, 1, repeat('y', 300000) FROM seq_1_to_100")
	src := open(t, dsn)
	q := valueQuery(row.Int64)
	q.Columns = append(q.Columns, row.Column{Source: "pad", Kind: row.String})
	if err := src.Check(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	mytest.Exec(t, dsn, "ALTER TABLE t MODIFY v double")
	if _, err := readBatches(src, q); job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_schema_changed" {
		t.Errorf("a column of another type is read as %v, want a permanent source_schema_changed", err)
	}
}
