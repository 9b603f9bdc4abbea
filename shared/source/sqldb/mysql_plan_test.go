package sqldb_test

import (
	"context"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
)

// mysqlSkew has one tenant in the last tenth of the table's time, half of whose rows are of one moment.
func mysqlSkew(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	const count = 80_000
	mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, at datetime NOT NULL, id bigint NOT NULL, v text, UNIQUE KEY (tenant, at, id))",
		`INSERT INTO t SELECT if(seq > 220000, 'acme', concat('old ', seq % 3)), if(seq > 260000, '2020-07-01', timestamp'2020-01-01 00:00:00' + interval seq minute), seq, 'x' FROM seq_1_to_300000`)
	src := open(t, dsn)
	q := valueQuery(row.String)
	q.TimeColumn = row.Column{Source: "at", Kind: row.DateTime}
	q.Key = append([]row.Column{q.TimeColumn}, q.Key...)
	q.Since, q.Until = "2020-01-01T00:00:00", "2030-01-01T00:00:00"
	for _, options := range []source.PlanOptions{{ShardRows: 10_000, ShardsMax: 100}, {ShardRows: 10, ShardsMax: 8}, {ShardRows: 100, ShardsMax: 1000}} {
		plan, err := src.Plan(context.Background(), q, options)
		if err != nil {
			t.Fatal(err)
		}
		want := max(options.ShardRows, int64(count/options.ShardsMax))
		if plan.RowsEstimated < count/2 || plan.RowsEstimated > count*2 || len(plan.Shards) > options.ShardsMax || int64(len(plan.Shards)) < count/want/2 {
			t.Errorf("%d rows are planned as %d in %d shards, want about %d", count, plan.RowsEstimated, len(plan.Shards), count/want)
		}
		counted := q
		counted.Ceiling = plan.Ceiling
		total := 0
		for _, shard := range plan.Shards {
			rows := countRange(t, src, counted, shard.Range)
			if int64(rows) > 3*want {
				t.Errorf("shard %s has %d rows, want about %d", shard.Range, rows, want)
			}
			total += rows
		}
		if total != count {
			t.Errorf("the shards hold %d rows, want %d", total, count)
		}
	}
}
