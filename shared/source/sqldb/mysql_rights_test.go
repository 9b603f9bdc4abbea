package sqldb_test

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
)

// mysqlUnexplained plans views as users whom the server tells no estimates of them, because they may not see what is below.
func mysqlUnexplained(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	const rows = 200_000
	mytest.Exec(t, dsn, "CREATE TABLE b (tenant varchar(20) NOT NULL, id bigint NOT NULL, n int, UNIQUE KEY (tenant, id))",
		"INSERT INTO b SELECT 'acme', seq * seq, seq FROM seq_1_to_200000", "INSERT INTO b SELECT 'few', seq, seq FROM seq_1_to_9",
		"CREATE VIEW t AS SELECT tenant, id, n AS v FROM b", "CREATE USER viewer, looker, holder", "GRANT SELECT ON t TO viewer",
		"GRANT SELECT, SHOW VIEW ON t TO looker", "GRANT SELECT ON t TO holder", "GRANT SELECT ON b TO holder", "GRANT PROCESS ON *.* TO holder")
	for _, user := range []string{"viewer", "looker", "holder", "root"} {
		src, q := open(t, asUser(dsn, user)), valueQuery(row.Int64)
		if err := src.Check(context.Background(), q); err != nil {
			t.Errorf("%s: the check says %v", user, err)
		}
		for _, options := range []source.PlanOptions{{ShardRows: 30_000, ShardsMax: 100}, {ShardRows: 1000, ShardsMax: 10}} {
			plan, err := src.Plan(context.Background(), q, options)
			if err != nil {
				t.Errorf("%s: the plan says %v", user, err)
				continue
			}
			exact := user != "root"
			if exact && plan.RowsEstimated != rows || !exact && (plan.RowsEstimated < rows/2 || plan.RowsEstimated > 2*rows) {
				t.Errorf("%s: %d rows are planned as %d", user, rows, plan.RowsEstimated)
			}
			counted, total, most := q, 0, 2*max(options.ShardRows, rows/int64(options.ShardsMax))
			counted.Ceiling = plan.Ceiling
			for _, shard := range plan.Shards {
				n := countRange(t, src, counted, shard.Range)
				if total += n; int64(n) > most || exact && int64(n) != shard.RowsEstimated {
					t.Errorf("%s: shard %s has %d rows, planned as %d, want %d at most", user, shard.Range, n, shard.RowsEstimated, most)
				}
			}
			if total != rows || len(plan.Shards) > options.ShardsMax || len(plan.Shards) < 4 {
				t.Errorf("%s: %d shards hold %d rows, want 4 to %d and %d rows", user, len(plan.Shards), total, options.ShardsMax, rows)
			}
		}
		q.Tenant = "few"
		if plan, err := src.Plan(context.Background(), q, source.PlanOptions{}); err != nil || plan.RowsEstimated != 9 {
			t.Errorf("%s: 9 rows are planned as %d (%v)", user, plan.RowsEstimated, err)
		}
		q.Filters = []row.Filter{{Column: q.Columns[0], Op: row.Less, Values: []string{"5"}}}
		if plan, err := src.Plan(context.Background(), q, source.PlanOptions{}); err != nil || plan.RowsEstimated != -1 {
			t.Errorf("%s: filtered rows are planned as %d (%v), want an unknown number", user, plan.RowsEstimated, err)
		}
		if user != "root" {
			_ = src.Close()
		}
	}
}

// mysqlNamedRights are refusals of what an export can't do without: each is told at once, with the right that is missing.
func mysqlNamedRights(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	database := dsn[strings.LastIndex(dsn, "/")+1 : strings.Index(dsn, "?")]
	mytest.Exec(t, dsn, "CREATE TABLE b (tenant varchar(20) NOT NULL, id bigint NOT NULL, v int, UNIQUE KEY (tenant, id))", "INSERT INTO b VALUES ('acme', 1, 1)",
		"CREATE FUNCTION more(n int) RETURNS int DETERMINISTIC RETURN n + 1", "CREATE SQL SECURITY INVOKER VIEW asker AS SELECT * FROM b",
		"CREATE SQL SECURITY INVOKER VIEW runner AS SELECT tenant, id, more(v) AS v FROM b", "CREATE USER poor, maker", "GRANT SELECT ON "+database+".asker TO poor",
		"GRANT SELECT ON runner TO poor", "CREATE DEFINER = maker VIEW made AS SELECT * FROM b", "GRANT SELECT ON made TO poor")
	src := open(t, asUser(dsn, "poor"))
	for table, words := range map[string][]string{
		"b":      {"may not read b", "grant it SELECT"},
		"asker":  {"view asker", "SELECT", "SQL SECURITY INVOKER", "the source's user"},
		"runner": {"view runner", "EXECUTE", "SQL SECURITY INVOKER", "the source's user"},
		"made":   {"view made", "SELECT", "definer"},
	} {
		q := valueQuery(row.Int64)
		q.Table = table
		_, identified := src.Identity(context.Background(), q)
		_, planned := src.Plan(context.Background(), q, source.PlanOptions{})
		// The catalogue alone doesn't always show it.
		err := cmp.Or(src.Check(context.Background(), q), identified, planned)
		if job.KindOf(err) != job.Permanent || !says(err, words...) {
			t.Errorf("%s: told %v, want a permanent refusal that says %q", table, err, words)
		}
	}
}
