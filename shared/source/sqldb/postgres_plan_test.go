package sqldb_test

import (
	"context"
	"fmt"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// restRows is the least that the last of some shards has in these tests: what is left behind the last whole one stands
// alone from a quarter of a shard on, and the server's samples, from which that is told, are random.
const restRows = 500

// keyTypes plans and reads keys whose order isn't their text's.
func keyTypes(t *testing.T, server *pgtest.Server) {
	for _, c := range []struct {
		column     string
		kind       row.Kind
		expression string
	}{
		{"numeric", row.Decimal, "(i - 60000) / 8.0"}, {"date", row.Date, "date '1800-01-01' + i"}, {"timestamp", row.DateTime, "timestamp '1999-12-31 23:59:59.999999' + i * interval '1 hour'"},
		{"uuid", row.String, "md5(i::text)::uuid"}, {`text COLLATE "en-x-icu"`, row.String, "chr(65 + i % 58) || md5(i::text)"}, {"int", row.Int64, "i - 50000"},
		{"varchar(40)", row.String, "'k' || i"},
	} {
		const count = 120_000
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, fmt.Sprintf("CREATE TABLE t (tenant text NOT NULL, id %s NOT NULL, v int)", c.column),
			fmt.Sprintf("INSERT INTO t SELECT 'acme', %s, i FROM generate_series(1, %d) AS g(i)", c.expression, count),
			"CREATE UNIQUE INDEX ON t (tenant, id)", "ANALYZE t")
		src := open(t, dsn)
		q := valueQuery(row.Int64)
		q.Key[0].Kind = c.kind
		if err := src.Check(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: 10_000, ShardsMax: 40})
		if err != nil {
			t.Fatal(err)
		}
		q.Ceiling = plan.Ceiling
		total := 0
		for i, shard := range plan.Shards {
			rows, least := countRange(t, src, q, shard.Range), 3_000
			if i == len(plan.Shards)-1 {
				least = restRows
			}
			if rows < least || rows > 25_000 {
				t.Errorf("%s: shard %s has %d rows, want about 10,000", c.column, shard.Range, rows)
			}
			total += rows
		}
		if total != count {
			t.Errorf("%s: the shards hold %d rows, want %d", c.column, total, count)
		}
		_ = src.Close()
	}
}

func countRange(t *testing.T, src source.Source, q row.Query, r row.Range) int {
	t.Helper()
	var b row.Batch
	var after row.Key
	total := 0
	for {
		if err := src.Read(context.Background(), q, r, after, source.Limit{Rows: 10_000, Bytes: 4 << 20}, &b); err != nil {
			t.Fatal(err)
		}
		if b.Rows() == 0 {
			return total
		}
		total += b.Rows()
		after = b.Key(b.Rows()-1, len(q.Key))
	}
}

// lateTenant has one tenant in the last tenth of the table's time, where the server's estimate is wrong ten times over.
func lateTenant(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE TABLE t (tenant text NOT NULL, at timestamptz NOT NULL, id bigint NOT NULL, v text)",
		`INSERT INTO t SELECT CASE WHEN i > 900000 THEN 'acme' ELSE 'old ' || i % 3 END, timestamptz '2020-01-01 00:00Z' + i * interval '1 minute', i, 'x'
			FROM generate_series(1, 1000000) AS g(i)`, "CREATE UNIQUE INDEX ON t (tenant, at, id)", "ANALYZE t")
	src := open(t, dsn)
	q := valueQuery(row.String)
	q.TimeColumn = row.Column{Source: "at", Kind: row.Timestamp}
	q.Key = append([]row.Column{q.TimeColumn}, q.Key...)
	q.Since, q.Until = "2021-01-01T00:00:00Z", "2030-01-01T00:00:00Z"
	plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: 10_000, ShardsMax: 100})
	if err != nil {
		t.Fatal(err)
	}
	if plan.RowsEstimated < 60_000 || plan.RowsEstimated > 160_000 || len(plan.Shards) < 6 || len(plan.Shards) > 16 {
		t.Errorf("100,000 rows are planned as %d in %d shards, want about 10", plan.RowsEstimated, len(plan.Shards))
	}
	for i, shard := range plan.Shards {
		least := 2_000
		if i == len(plan.Shards)-1 {
			least = restRows
		}
		if rows := countRange(t, src, q, shard.Range); rows < least || rows > 30_000 {
			t.Errorf("shard %s has %d rows, want about 10,000", shard.Range, rows)
		}
	}
}

// shrunken has a table of which the server still believes that it is large.
func shrunken(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE TABLE t (tenant text NOT NULL, id bigint NOT NULL, v text) WITH (autovacuum_enabled = off)",
		"INSERT INTO t SELECT 'acme', i, 'x' FROM generate_series(1, 300000) AS g(i)", "CREATE UNIQUE INDEX ON t (tenant, id)", "ANALYZE t",
		"DELETE FROM t WHERE id % 100 > 0")
	plan, err := open(t, dsn).Plan(context.Background(), valueQuery(row.String), source.PlanOptions{ShardRows: 1000, ShardsMax: 100})
	if err != nil {
		t.Fatal(err)
	}
	if plan.RowsEstimated != 3000 || len(plan.Shards) != 3 || plan.Ceiling.String() != "300000" || plan.Shards[1].Range.From.String() != "100100" {
		t.Errorf("3,000 rows are planned as %d up to %s in %v, want them counted", plan.RowsEstimated, plan.Ceiling, plan.Shards)
	}
}
