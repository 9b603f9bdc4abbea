package sqldb

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source/mytest"
)

// The server counts the index entries that a statement touches; each statement of 100 rows may touch these and few more.
func TestMySQLReadsSeekInTheKeyIndex(t *testing.T) {
	t.Parallel()
	server := mytest.Start(t)
	for _, c := range []struct{ name, tenant, id, primary string }{
		{"case-blind text", "varchar(20)", "bigint NOT NULL", ""}, {"bytes", "varchar(20) COLLATE utf8mb4_nopad_bin", "bigint NOT NULL", ""},
		{"one byte a letter", "varchar(20) CHARACTER SET latin1", "bigint NOT NULL", ""}, {"padded", "char(8)", "bigint NOT NULL", ""},
		{"enum", "enum('acme', 'other')", "bigint NOT NULL", ""}, {"the primary key behind the index", "varchar(20)", "bigint NOT NULL PRIMARY KEY", "id"},
		{"the primary key itself", "varchar(20)", "bigint NOT NULL", "all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key := map[string]string{
				"": "KEY orders_key (tenant, created_at, id)", "id": "KEY orders_key (tenant, created_at)", "all": "PRIMARY KEY (tenant, created_at, id)",
			}[c.primary]
			dsn := server.Schema(t)
			mytest.Exec(t, dsn, "CREATE TABLE orders (tenant "+c.tenant+" NOT NULL, created_at timestamp NOT NULL, id "+c.id+", note text, KEY orders_tenant (tenant), "+key+")",
				"INSERT INTO orders SELECT 'acme', timestamp'2026-01-01 00:00:00' + interval seq minute, seq, 'x' FROM seq_1_to_50000", "ANALYZE TABLE orders")
			opened, err := Open(context.Background(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = opened.Close() }()
			s, _ := opened.(*mysqlSource)
			q := keyedQuery()
			if err := s.prepareQuery(context.Background(), &q); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{true: "PRIMARY", false: "orders_key"}[c.primary == "all"]; s.table.index != want {
				t.Fatalf("the index is %s, want %s", s.table.index, want)
			}
			for name, statements := range reads(t, s, &q, func(sc scope) []scope { return []scope{sc} }) {
				mysqlSeeks(t, s, &q, name, statements[0])
			}
		})
	}
}

func mysqlSeeks(t *testing.T, s *mysqlSource, q *row.Query, name string, st statement) {
	t.Helper()
	ctx := context.Background()
	explain := st
	explain.text = "EXPLAIN FORMAT=TRADITIONAL " + st.text
	lines := 0
	if err := s.names(ctx, q, explain, func(values map[string]string) {
		lines++
		if values["key"] != s.table.index || values["type"] != "range" || strings.Contains(values["extra"], "filesort") || strings.Contains(values["extra"], "temporary") {
			t.Errorf("%s isn't one search of the key index: %v\n%s", name, values, finish(st))
		}
	}); err != nil || lines != 1 {
		t.Fatalf("%s: %d lines of EXPLAIN (%v)", name, lines, err)
	}
	touched := -s.handled(t, q)
	rows := 0
	if err := s.query(ctx, q, st, func([][]byte) error {
		rows++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if touched += s.handled(t, q); rows != 100 || touched > 110 {
		t.Errorf("%s reads %d rows and touches %d index entries, want 100 and hardly more", name, rows, touched)
	}
}

// handled is how many rows and index entries the session has touched.
func (s *mysqlSource) handled(t *testing.T, q *row.Query) (sum int) {
	t.Helper()
	if err := s.names(context.Background(), q, statement{text: "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', " +
		"'Handler_read_last', 'Handler_read_next', 'Handler_read_prev', 'Handler_read_rnd')"}, func(values map[string]string) {
		n, _ := strconv.Atoi(values["value"])
		sum += n
	}); err != nil {
		t.Fatal(err)
	}
	return sum
}
