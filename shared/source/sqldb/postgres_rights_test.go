package sqldb_test

import (
	"context"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// hiddenStatistics plans a table as a user whom the server keeps its statistics from.
func hiddenStatistics(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	const rows = 200_000
	pgtest.Exec(t, dsn, "CREATE TABLE t (tenant text NOT NULL, id bigint NOT NULL, v bigint, PRIMARY KEY (tenant, id))", "INSERT INTO t SELECT 'acme', n, n FROM generate_series(1, 200000) AS n",
		"ANALYZE t", "CREATE ROLE uninformed LOGIN", "GRANT SELECT ON t TO uninformed",
		"DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO uninformed', current_schema); END $$", "REVOKE SELECT ON pg_stats FROM PUBLIC")
	src, q := open(t, strings.Replace(dsn, "postgres@", "uninformed@", 1)), valueQuery(row.Int64)
	plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: 20_000, ShardsMax: 100})
	pgtest.Exec(t, dsn, "GRANT SELECT ON pg_stats TO PUBLIC")
	if err != nil || plan.RowsEstimated < rows/2 || plan.RowsEstimated > 2*rows || len(plan.Shards) < 5 {
		t.Fatalf("%d rows are planned as %d in %d shards (%v), want about 10 shards", rows, plan.RowsEstimated, len(plan.Shards), err)
	}
	q.Ceiling = plan.Ceiling
	total := 0
	for _, shard := range plan.Shards {
		total += countRange(t, src, q, shard.Range)
	}
	if total != rows {
		t.Errorf("the shards hold %d rows, want %d", total, rows)
	}
}

// namedRights are refusals of what an export can't do without: each names the right that is missing.
func namedRights(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE TABLE b (tenant text NOT NULL, id bigint NOT NULL, v bigint, PRIMARY KEY (tenant, id))", "INSERT INTO b VALUES ('acme', 1, 1)",
		"CREATE FUNCTION more(n bigint) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN n + 1; END'", "REVOKE EXECUTE ON FUNCTION more FROM PUBLIC",
		"CREATE VIEW runner AS SELECT tenant, id, more(v) AS v FROM b", "CREATE ROLE poor LOGIN", "CREATE ROLE maker", "CREATE VIEW made AS SELECT * FROM b",
		"GRANT SELECT ON runner, made TO poor", "DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO poor, maker', current_schema); EXECUTE format('GRANT CREATE ON SCHEMA %I TO maker', current_schema); END $$",
		"ALTER VIEW made OWNER TO maker")
	src := open(t, strings.Replace(dsn, "postgres@", "poor@", 1))
	for table, words := range map[string][]string{
		"b":      {"may not read", "of table b", "grant it SELECT"},
		"runner": {"permission denied for function more", "EXECUTE on a function"},
		"made":   {"permission denied for table b", "SELECT", "owner of the view"},
	} {
		q := valueQuery(row.Int64)
		q.Table = table
		err := src.Check(context.Background(), q)
		if err == nil {
			_, err = src.Plan(context.Background(), q, source.PlanOptions{})
		}
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_denied" || !says(err, words...) {
			t.Errorf("%s: told %v, want source_denied that says %q", table, err, words)
		}
	}
}
