package sqldb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// timeKeys reads keys that the server sends as numbers: a doubled one is found within a batch and behind its last row,
// and what is no time of a calendar year is refused with the key of its row.
func timeKeys(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	statements := []string{
		"CREATE TABLE t (tenant text NOT NULL, z timestamptz NOT NULL, s timestamp NOT NULL, d date NOT NULL, id bigint NOT NULL)",
		"CREATE INDEX ON t (tenant, z)", "CREATE INDEX ON t (tenant, s)", "CREATE INDEX ON t (tenant, d)",
		`INSERT INTO t SELECT 'acme', a, a AT TIME ZONE 'UTC', a AT TIME ZONE 'UTC', i FROM (
			SELECT i, timestamptz '1999-12-25 23:59:59.999999Z' + interval '1 day' * i AS a FROM generate_series(1, 9) AS g(i)) AS x`,
		"INSERT INTO t SELECT tenant, z, s, d, 100 FROM t WHERE id = 6",
	}
	// Tenants are called as the only key of theirs.
	for _, at := range []string{"-infinity", "infinity", "0044-03-15 BC", "20226-02-28"} {
		statements = append(statements, fmt.Sprintf("INSERT INTO t VALUES ('%[1]s', timestamp '%[1]s' AT TIME ZONE 'UTC', '%[1]s', '%[1]s', 1)", at))
	}
	pgtest.Exec(t, dsn, statements...)
	src := open(t, dsn)
	const midnight = " 00:00:00"
	for _, c := range []struct {
		name    string
		kind    row.Kind
		doubled string
		beyond  map[string]string
	}{
		{"z", row.Timestamp, "1999-12-31T23:59:59.999999Z", map[string]string{"0044-03-15 BC": "0044-03-15" + midnight + " BC", "20226-02-28": "20226-02-28" + midnight}},
		{"s", row.DateTime, "1999-12-31T23:59:59.999999", map[string]string{"0044-03-15 BC": "0044-03-15" + midnight + " BC", "20226-02-28": "20226-02-28" + midnight}},
		{"d", row.Date, "1999-12-31", map[string]string{"0044-03-15 BC": "0044-03-15 BC", "20226-02-28": "20226-02-28"}},
	} {
		q := valueQuery(row.Int64)
		q.Columns[0].Source, q.Key[0].Source, q.Key[0].Kind = "id", c.name, c.kind
		batch := func(rows int) (int, error) {
			var b row.Batch
			err := src.Read(context.Background(), q, row.Range{}, nil, source.Limit{Rows: rows, Bytes: 1 << 20}, &b)
			return b.Rows(), err
		}
		if rows, err := batch(5); rows != 5 || err != nil {
			t.Errorf("%s: five rows before a doubled key are %d rows and %v", c.name, rows, err)
		}
		for _, limit := range []int{6, 7, 100} {
			if _, err := batch(limit); job.CodeOf(err) != "source_key_not_unique" || !strings.Contains(err.Error(), "key "+c.doubled) {
				t.Errorf("%s: a doubled key at %d rows is read as %v, want source_key_not_unique with %s", c.name, limit, err, c.doubled)
			}
		}
		c.beyond["infinity"], c.beyond["-infinity"] = "infinity", "-infinity"
		for tenant, key := range c.beyond {
			q.Tenant = tenant
			if _, err := batch(9); job.CodeOf(err) != "source_value_invalid" || !strings.Contains(err.Error(), "the row with key "+key+" ") {
				t.Errorf("%s: a row of %s is read as %v, want source_value_invalid with its key", c.name, key, err)
			}
		}
	}
}
