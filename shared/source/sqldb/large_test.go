package sqldb_test

import (
	"context"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// TestARowThatIsTooLargeIsNamed reads rows that are larger than a reader may hold.
func TestARowThatIsTooLargeIsNamed(t *testing.T) {
	t.Parallel()
	postgres, server := pgtest.Start(t).Schema(t), mytest.Start(t)
	mytest.Exec(t, server.DSN(), "SET GLOBAL max_allowed_packet = 134217728")
	mysql := server.Schema(t)
	pgtest.Exec(t, postgres, "CREATE TABLE t (tenant text NOT NULL, at timestamptz NOT NULL, id bigint NOT NULL, v text, PRIMARY KEY (tenant, at, id))",
		`INSERT INTO t VALUES ('acme', '2026-01-01 08:00Z', 1, 'small'), ('acme', '2026-01-01 08:00Z', 2, repeat('x', 70000000)), ('one', '2026-01-01 08:00Z', 3, repeat('x', 70000000))`)
	mytest.Exec(t, mysql, "CREATE TABLE t (tenant varchar(9) NOT NULL, at timestamp(6) NOT NULL, id bigint NOT NULL, v longtext, PRIMARY KEY (tenant, at, id))",
		`INSERT INTO t VALUES ('acme', '2026-01-01 08:00:00', 1, 'small'), ('acme', '2026-01-01 08:00:00', 2, repeat('x', 70000000)), ('one', '2026-01-01 08:00:00', 3, repeat('x', 70000000))`)
	for _, c := range []struct {
		dsn, tenant string
		after       row.Key
		want        string
	}{
		{postgres, "acme", nil, "the row with key 2026-01-01T08:00:00Z/2 has 700000"},
		{postgres, "one", nil, "the row with key 2026-01-01T08:00:00Z/3 has 700000"},
		{mysql, "acme", nil, "the row behind the one with key 2026-01-01T08:00:00Z/1 of table t has "},
		{mysql, "acme", row.Key{"2026-01-01T08:00:00Z", "1"}, "the row behind the one with key 2026-01-01T08:00:00Z/1 of table t has "},
		{mysql, "one", nil, "the tenant's first row of table t has "},
	} {
		src, q := open(t, c.dsn), valueQuery(row.String)
		q.Tenant, q.Key = c.tenant, []row.Column{{Source: "at", Kind: row.Timestamp}, {Source: "id", Kind: row.Int64}}
		var b row.Batch
		err := src.Read(context.Background(), q, row.Range{}, c.after, source.Limit{Rows: 100, Bytes: 1 << 20}, &b)
		for err == nil && b.Rows() > 0 {
			err = src.Read(context.Background(), q, row.Range{}, b.Key(b.Rows()-1, 2), source.Limit{Rows: 100, Bytes: 1 << 20}, &b)
		}
		if job.CodeOf(err) != "source_row_too_large" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("tenant %s behind %s is told %v, want %s", c.tenant, c.after, err, c.want)
		}
	}
}
