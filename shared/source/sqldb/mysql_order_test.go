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

// planned plans a query and reads its shards in small batches, as an export does.
func planned(t *testing.T, src source.Source, q row.Query, shardRows int64) (ids []string, err error) {
	t.Helper()
	plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: shardRows, ShardsMax: 100})
	if err != nil {
		return nil, err
	}
	q.Ceiling = plan.Ceiling
	for _, shard := range plan.Shards {
		var b row.Batch
		var after row.Key
		for {
			if err := src.Read(context.Background(), q, shard.Range, after, source.Limit{Rows: 100, Bytes: 1 << 20}, &b); err != nil {
				return ids, err
			}
			if b.Rows() == 0 {
				break
			}
			for i := range b.Rows() {
				value, _ := b.Value(i, 0)
				ids = append(ids, string(value))
			}
			after = b.Key(b.Rows()-1, len(q.Key))
		}
	}
	return ids, nil
}

// concatenated shows that text which a view puts together isn't cut, whatever the server's setting: it is a warning there.
func concatenated(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "SET GLOBAL group_concat_max_len = 1024", "CREATE TABLE b (tenant varchar(10) NOT NULL, id bigint NOT NULL, v text)",
		"INSERT INTO b SELECT 'acme', 1, repeat('x', 50000) FROM seq_1_to_40",
		"CREATE VIEW t AS SELECT tenant, id, GROUP_CONCAT(v SEPARATOR '') AS v FROM b GROUP BY tenant, id")
	if rows, err := read(open(t, dsn), valueQuery(row.String)); err != nil || len(rows) != 1 || len(rows[0][0]) != 2_000_000 {
		t.Errorf("%d rows are read (%v), want one with all of 2,000,000 letters", len(rows), err)
		for _, r := range rows {
			t.Errorf("it has %d", len(r[0]))
		}
	}
}

// longQuery is a query on a view with a long text in its key.
func longQuery(view string) row.Query {
	q := valueQuery(row.Int64)
	q.Table = view
	q.Columns[0].Source = "id"
	q.Key = []row.Column{{Source: "ts", Kind: row.DateTime}, {Source: "k", Kind: row.String}, {Source: "id", Kind: row.Int64}}
	return q
}

// longColumns are the columns of a table of long keys.
const longColumns = "(tenant varchar(20) COLLATE utf8mb4_nopad_bin NOT NULL, ts datetime NOT NULL, k %s COLLATE utf8mb4_nopad_bin NOT NULL, id int PRIMARY KEY)"

// mysqlLongKeys reads views whose keys differ behind what a server sorts by unless it is told to look further.
func mysqlLongKeys(t *testing.T, server *mytest.Server) {
	all := "plain joined both_halves grouped once derived"
	for _, c := range []struct {
		column      string
		common, max int
		views       string
	}{{"text", 260, 3000, all}, {"varchar(256)", 251, 1000, "plain"}, {"varchar(300)", 260, 1000, "plain grouped"}, {"longtext", 9_000, 200, all}, {"varchar(16000)", 15_990, 200, "plain"}} {
		count := c.max
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, "CREATE TABLE w "+fmt.Sprintf(longColumns, c.column),
			fmt.Sprintf("INSERT INTO w SELECT 'acme', '2026-01-01', concat(repeat('x', %d), lpad(seq * 1777 %% 3001, 5, '0')), seq FROM seq_1_to_%d", c.common, count),
			"CREATE VIEW plain AS SELECT tenant, ts, k, id FROM w", "CREATE VIEW joined AS SELECT w.tenant, w.ts, w.k, w.id FROM w JOIN w AS o ON o.id = w.id",
			"CREATE VIEW both_halves AS SELECT tenant, ts, k, id FROM w WHERE id < 1500 UNION ALL SELECT tenant, ts, k, id FROM w WHERE id >= 1500",
			"CREATE VIEW grouped AS SELECT tenant, ts, k, max(id) AS id FROM w GROUP BY tenant, ts, k",
			"CREATE VIEW once AS SELECT DISTINCT tenant, ts, k, id FROM w",
			"CREATE VIEW derived AS SELECT tenant, ts, concat(k, '') AS k, id FROM w")
		want := map[string]int{}
		for id := range count {
			want[fmt.Sprint(id+1)] = 1
		}
		for _, view := range strings.Fields(c.views) {
			src := open(t, dsn)
			got := map[string]int{}
			ids, err := planned(t, src, longQuery(view), int64(count/3))
			for _, id := range ids {
				got[id]++
			}
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("%s of %s behind %d letters: %d of %d rows are read, %d different ones (%v)", view, c.column, c.common, len(ids), count, len(got), err)
			}
			_ = src.Close()
		}
	}
}

// mysqlOverlongKeys differ behind all that a server can be told to sort by.
func mysqlOverlongKeys(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE w "+fmt.Sprintf(longColumns, "mediumtext"),
		"INSERT INTO w SELECT 'acme', '2026-01-01', concat(repeat('é', 16378), lpad(seq * 17 % 31, 5, '0')), seq FROM seq_1_to_30", "CREATE VIEW t AS SELECT * FROM w")
	src := open(t, dsn)
	if ids, err := planned(t, src, longQuery("t"), 10); err != nil || len(ids) != 30 {
		t.Errorf("keys of 16,383 letters give %d rows (%v), want 30", len(ids), err)
	}
	mytest.Exec(t, dsn, "UPDATE w SET k = concat(k, 'x') WHERE id = 20")
	_, err := planned(t, src, longQuery("t"), 10)
	if job.CodeOf(err) != "source_value_invalid" || job.KindOf(err) != job.Permanent || !says(err, "column k", "16,383 characters") {
		t.Errorf("a key of 16,384 letters is told %.300v, want a permanent source_value_invalid", err)
	}
}

// mysqlSplitGroups has a view's own groups fall apart where the server sorts by less than the whole key.
func mysqlSplitGroups(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE w (tenant varchar(20) COLLATE utf8mb4_nopad_bin NOT NULL, ts datetime NOT NULL, k text COLLATE utf8mb4_nopad_bin NOT NULL, v int NOT NULL)",
		"INSERT INTO w SELECT 'acme', '2026-01-01', concat(repeat('x', 300), lpad(seq % 100, 5, '0')), seq FROM seq_1_to_500",
		"CREATE VIEW t AS SELECT tenant, ts, k, max(v) AS id FROM w GROUP BY tenant, ts, k")
	q := longQuery("t")
	q.Key = q.Key[:2]
	if ids, err := planned(t, open(t, dsn), q, 30); err != nil || len(ids) != 100 {
		t.Errorf("a view of 100 groups gives %d rows (%v)", len(ids), err)
	}
}
