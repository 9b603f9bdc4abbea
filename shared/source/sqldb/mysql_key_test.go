package sqldb_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
)

func mysqlChecks(t *testing.T, server *mytest.Server) {
	const columns = "(tenant varchar(20) NOT NULL, created_at timestamp NOT NULL, id bigint NOT NULL, sku varchar(20) NOT NULL, " +
		"code varchar(20) COLLATE utf8mb4_nopad_bin NOT NULL, state enum('b','a') NOT NULL, raw varbinary(9) NOT NULL, note varchar(20)"
	for _, c := range []struct {
		name, rest, key string
		want            string
	}{
		{"an index on tenant and key", ", KEY (tenant, id)", "id", ""},
		{"an index on the key alone", ", KEY (id)", "id", ""},
		{"an index on more than the key", ", KEY (tenant, id, note)", "id", ""},
		{"a primary key", ", PRIMARY KEY (tenant, id)", "id", ""},
		{"an index that ends with the primary key", ", PRIMARY KEY (id), KEY (tenant, created_at)", "created_at id", ""},
		{"an index on the first key column only", ", KEY (tenant, created_at)", "created_at id", "source_key_not_indexed"},
		{"an index on the tenant only", ", KEY (tenant)", "id", "source_key_not_indexed"},
		{"no index", "", "id", "source_key_not_indexed"},
		{"an index of another order", ", KEY (id, tenant)", "created_at id", "source_key_not_indexed"},
		{"an index that goes down", ", KEY (tenant, id DESC)", "id", "source_key_not_indexed"},
		{"an index that is ignored", ", KEY (tenant, id) IGNORED", "id", "source_key_not_indexed"},
		{"an index on the beginning of a text", ", UNIQUE KEY (tenant, code(5))", "code", "source_key_not_indexed"},
		{"a key that may be NULL", ", UNIQUE KEY (tenant, note)", "note", "source_key_nullable"},
		{"a text of bytes", ", KEY (tenant, code)", "code", ""},
		{"a case-blind text, unique", ", UNIQUE KEY (tenant, sku)", "sku", ""},
		{"a case-blind text, unique in the whole table", ", UNIQUE KEY (sku), KEY (tenant, sku)", "sku", ""},
		{"a case-blind text, not unique", ", KEY (tenant, sku)", "sku", "source_key_collation"},
		{"a case-blind text, unique in its beginning", ", UNIQUE KEY (tenant, sku(3)), KEY (tenant, sku)", "sku", "source_key_collation"},
		{"a case-blind text, unique with another column", ", UNIQUE KEY (tenant, sku, note), KEY (tenant, sku)", "sku", "source_key_collation"},
		{"a case-blind text before a unique number", ", UNIQUE KEY (id), KEY (tenant, sku, id)", "sku id", ""},
		{"an enum, which sorts by number", ", UNIQUE KEY (tenant, state)", "state", "source_schema_changed"},
		{"bytes", ", UNIQUE KEY (tenant, raw)", "raw", "source_schema_changed"},
	} {
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, "CREATE TABLE t "+columns+c.rest+")")
		src := open(t, dsn)
		q := valueQuery(row.String)
		q.Columns[0].Source = "note"
		q.Key = nil
		for _, name := range strings.Fields(c.key) {
			kind := map[string]row.Kind{"id": row.Int64, "created_at": row.Timestamp}[name]
			if kind == "" {
				kind = row.String
			}
			q.Key = append(q.Key, row.Column{Source: name, Kind: kind})
		}
		err := src.Check(context.Background(), q)
		if c.want == "" && err != nil || c.want != "" && (job.CodeOf(err) != c.want || job.KindOf(err) != job.Permanent) {
			t.Errorf("%s: check says %v, want %q", c.name, err, c.want)
		}
		_ = src.Close()
	}
}

// mysqlCollisions reads texts that a collation holds to be equal or sorts in its own way. Where they can share a key they
// are refused; where an index rules that out they are each read once, whatever the batches and shards.
func mysqlCollisions(t *testing.T, server *mytest.Server) {
	colliding := []string{"a", "A", "a ", "á", "b", "B", "ss", "ß", "Z", "_", "-", "0", "é", "z", "名", "𠮷", "😀"}
	distinct := []string{"a", "b", "c1", "C2", "c10", "d_", "d-", "ß", "st", "Z", "_", "0", "é", "ff", "名", "𠮷", "_z", "Æ"}
	for _, c := range []struct {
		name, column string
		tags         []string
	}{
		{"bytes without padding", "varchar(20) COLLATE utf8mb4_nopad_bin", colliding},
		{"bytes with padding", "varchar(20) COLLATE utf8mb4_bin", slices.DeleteFunc(slices.Clone(colliding), func(s string) bool { return s == "a " })},
		{"case-blind", "varchar(20) COLLATE utf8mb4_general_ci", distinct},
		{"case-blind as German does", "varchar(20) COLLATE utf8mb4_german2_ci", distinct},
		{"accents told apart", "varchar(20) COLLATE utf8mb4_unicode_520_ci", []string{"a", "b", "c1", "C2", "c10", "d_", "d-", "Z", "0", "é", "ff", "名"}},
		{"one byte a letter", "varchar(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci", []string{"a", "b", "Å", "ö", "Z", "0", "_", "ü", "é", "x y", "x-y"}},
	} {
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, tag "+c.column+" NOT NULL, v int, UNIQUE KEY (tenant, tag))")
		for i, tag := range c.tags {
			mytest.Exec(t, dsn, fmt.Sprintf("INSERT INTO t VALUES ('acme', '%s', %d), ('ACME2', '%s', 0)", tag, i, tag))
		}
		src := open(t, dsn)
		q := valueQuery(row.Int64)
		q.Key = []row.Column{{Source: "tag", Kind: row.String}}
		if err := src.Check(context.Background(), q); err != nil {
			t.Errorf("%s: check says %v", c.name, err)
		}
		for shardRows := range int64(4) {
			plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: shardRows + 1, ShardsMax: 100})
			if err != nil {
				t.Fatal(err)
			}
			q.Ceiling = plan.Ceiling
			var got []string
			for _, shard := range plan.Shards {
				got = append(got, oneByOne(t, src, q, shard.Range)...)
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.tags))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %d rows a shard (-want +got):\n%s", c.name, shardRows+1, diff)
			}
			q.Ceiling = nil
		}
		_ = src.Close()
	}
}

// oneByOne are the keys of a range, read in batches of one row.
func oneByOne(t *testing.T, src source.Source, q row.Query, r row.Range) (keys []string) {
	t.Helper()
	var b row.Batch
	var after row.Key
	for {
		if err := src.Read(context.Background(), q, r, after, source.Limit{Rows: 1, Bytes: 1 << 20}, &b); err != nil {
			t.Fatal(err)
		}
		if b.Rows() == 0 {
			return keys
		}
		after = b.Key(b.Rows()-1, len(q.Key))
		keys = append(keys, after[0])
	}
}

func mysqlTenants(t *testing.T, server *mytest.Server) {
	for _, c := range []struct {
		name, column, mine, other, tenant string
		// alike are spellings that the type or its collation reads as the tenant.
		alike []string
	}{
		{"case-blind text", "varchar(10)", "'acme'", "'ACME '", "acme", []string{"Acme", "acme ", "ACME", "ácme"}},
		{"text of one byte a letter", "varchar(10) CHARACTER SET latin1", "'é'", "'E'", "é", []string{"e", "é ", "名"}},
		{"padded text", "char(10)", "'acme'", "'ACME'", "acme", []string{"acme ", "acme      "}},
		{"text of padded bytes", "varchar(10) COLLATE utf8mb4_bin", "'acme'", "'acme '", "acme", []string{"acme  ", "Acme"}},
		{"number", "bigint", "7", "8", "7", []string{"07", " 7", "7 ", "+7", "7.0", "7e0", "0x7", "acme"}},
		{"negative number", "int", "-7", "7", "-7", []string{"-07", "7.", "- 7", "--7"}},
		{"number with zeros", "int(6) zerofill", "7", "8", "7", []string{"000007", "07"}},
		{"large number", "bigint unsigned", "18446744073709551615", "18446744073709551614", "18446744073709551615", []string{"18446744073709551615.0", "1e400"}},
		{"decimal", "decimal(10,2)", "7", "8", "7.00", []string{"7", "7.0", "7.000", "07.00"}},
		{"enum", "enum('other', 'acme')", "'acme'", "'other'", "acme", []string{"ACME", "acme ", "2"}},
		{"bytes", "varbinary(10)", "'acme'", "'acme '", "acme", []string{"ACME", "acme  "}},
		{"date", "date", "'2026-03-01'", "'2026-03-02'", "2026-03-01", []string{"20260301", "2026-3-1", "2026-03-01 00:00:00"}},
		{"uuid", "uuid", "'0000000a-0000-0000-0000-000000000001'", "'0000000b-0000-0000-0000-000000000001'", "0000000a-0000-0000-0000-000000000001",
			[]string{"0000000A-0000-0000-0000-000000000001", "0000000a000000000000000000000001"}},
	} {
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, fmt.Sprintf("CREATE TABLE t (tenant %s NOT NULL, id bigint NOT NULL, v text, KEY (tenant, id))", c.column),
			fmt.Sprintf("INSERT INTO t VALUES (%s, 1, 'mine'), (%s, 2, 'other'), (%s, 3, 'mine')", c.mine, c.other, c.mine))
		src := open(t, dsn)
		q := valueQuery(row.String)
		q.Tenant = c.tenant
		rows, err := read(src, q)
		if diff := cmp.Diff([][]string{{"mine", "1"}, {"mine", "3"}}, rows); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
		for _, q.Tenant = range append(c.alike, "no such tenant'", `\`, "\xff") {
			if rows, err := read(src, q); len(rows) != 0 || err != nil && job.KindOf(err) != job.Permanent {
				t.Errorf("%s: tenant %q reads %q (%v), want nothing", c.name, q.Tenant, rows, err)
			}
			if plan, err := src.Plan(context.Background(), q, source.PlanOptions{}); err == nil && plan.Ceiling != nil {
				t.Errorf("%s: tenant %q is planned up to %v, want nothing", c.name, q.Tenant, plan.Ceiling)
			}
		}
		_ = src.Close()
	}
}

// mysqlKeyTypes plans and reads keys of every type that a key may have.
func mysqlKeyTypes(t *testing.T, server *mytest.Server) {
	for _, c := range []struct {
		column     string
		kind       row.Kind
		expression string
	}{
		{"decimal(20,3)", row.Decimal, "(cast(seq as signed) - 60000) / 8.0"}, {"date", row.Date, "date '1800-01-01' + interval seq day"},
		{"datetime(6)", row.DateTime, "timestamp'1999-12-31 23:59:59.999999' + interval seq hour"}, {"timestamp", row.Timestamp, "from_unixtime(seq * 1000)"},
		{"int", row.Int64, "cast(seq as signed) - 50000"}, {"bigint unsigned", row.Decimal, "18446744073709551615 - cast(seq * 1000000 as unsigned)"}, {"bigint unsigned", row.Int64, "seq * seq * 100"},
		{"char(32)", row.String, "md5(seq)"}, {"varchar(40)", row.String, "concat('k', seq)"}, {keyText, row.String, "concat(char(65 + seq % 26), '-', md5(seq))"},
		{"varchar(40)", row.String, "concat(elt(1 + seq % 3, '订单', '库存', '发货'), '/', seq)"}, {"varchar(40) CHARACTER SET latin1", row.String, "concat('Å', seq % 7, 'ü', seq)"},
		{"uuid", row.String, "uuid()"},
	} {
		const count = 80_000
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, fmt.Sprintf("CREATE TABLE t (tenant varchar(20) NOT NULL, id %s NOT NULL, v int, UNIQUE KEY (tenant, id))", c.column),
			fmt.Sprintf("INSERT INTO t SELECT 'acme', %s, seq FROM seq_1_to_%d", c.expression, count))
		src := open(t, dsn)
		q := valueQuery(row.Int64)
		q.Key[0].Kind = c.kind
		if err := src.Check(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		plan, err := src.Plan(context.Background(), q, source.PlanOptions{ShardRows: 8_000, ShardsMax: 40})
		if err != nil {
			t.Fatal(err)
		}
		q.Ceiling = plan.Ceiling
		total := 0
		for _, shard := range plan.Shards {
			rows := countRange(t, src, q, shard.Range)
			if rows < restRows || rows > 20_000 {
				t.Errorf("%s: shard %s has %d rows, want about 8,000", c.column, shard.Range, rows)
			}
			total += rows
		}
		if total != count || plan.RowsEstimated < count/2 || plan.RowsEstimated > count*2 {
			t.Errorf("%s: the shards hold %d rows, %d expected, want %d", c.column, total, plan.RowsEstimated, count)
		}
		_ = src.Close()
	}
}
