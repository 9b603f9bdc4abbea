package sqldb_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
)

// mysqlMiddles plans keys of types that read their values in one form only. How many statements that takes is what the server
// has counted for the session.
func mysqlMiddles(t *testing.T, server *mytest.Server) {
	const count, shards = 70_000, 20
	text := "insert(insert(insert(insert(%s, 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-')"
	random := "insert(insert(md5(seq), 13, 1, '4'), 17, 1, 'a')"
	timed := "concat(lpad(hex(1700000000000 + seq * 7), 12, '0'), '7', substr(md5(seq), 1, 3), '9', substr(md5(seq), 5, 15))"
	for name, c := range map[string]struct{ declared, expression string }{
		"text for comparison":       {"varchar(36) COLLATE utf8mb4_nopad_bin", "md5(seq)"},
		"uuids of version 1":        {"uuid", "uuid()"},
		"random uuids":              {"uuid", fmt.Sprintf(text, random)},
		"uuids of version 7":        {"uuid", fmt.Sprintf(text, timed)},
		"uuids of several versions": {"uuid", "if(seq % 2, " + fmt.Sprintf(text, random) + ", " + fmt.Sprintf(text, timed) + ")"},
		"uuids of no version":       {"uuid", "concat('00000000-0000-0000-0000-', lpad(hex(seq), 12, '0'))"},
		"inet6":                     {"inet6", "concat('2001:db8:', hex(seq % 7000), ':', hex(seq div 16), ':', hex(seq % 16), '::1')"},
		"inet6 of version 4":        {"inet6", "concat('::ffff:', inet_ntoa(seq * 50000))"},
		"inet4":                     {"inet4", "inet_ntoa(seq * 50000)"},
	} {
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, fmt.Sprintf("CREATE TABLE t (tenant varchar(20) NOT NULL, id %s NOT NULL, v int, UNIQUE KEY (tenant, id))", c.declared),
			fmt.Sprintf("INSERT INTO t SELECT 'acme', %s, seq FROM seq_1_to_%d", c.expression, count),
			"CREATE VIEW asked AS SELECT 'acme' AS tenant, 1 AS id, variable_value AS v FROM information_schema.SESSION_STATUS WHERE variable_name = 'QUESTIONS'")
		src := open(t, dsn)
		asked := valueQuery(row.String)
		asked.Table = "asked"
		statements := func() int {
			rows, err := read(src, asked)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := strconv.Atoi(rows[0][0])
			return n
		}
		q := valueQuery(row.Int64)
		q.Key[0].Kind = row.String
		before := statements()
		plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: count / shards, ShardsMax: 100})
		if err != nil {
			t.Fatal(err)
		}
		n := statements() - before
		if n > 1200 {
			t.Errorf("%s: the plan took %d statements, want a few for each of about 160 pieces", name, n)
		}
		q.Ceiling = plan.Ceiling
		var sizes []int
		total := 0
		for _, shard := range plan.Shards {
			rows := countRange(t, src, q, shard.Range)
			sizes = append(sizes, rows)
			total += rows
		}
		if total != count || len(sizes) < shards/2 || slices.Max(sizes) > 3*count/shards {
			t.Errorf("%s: the shards hold %v, %d rows together, want %d in about %d", name, sizes, total, count, shards)
		}
		_ = src.Close()
	}
}
