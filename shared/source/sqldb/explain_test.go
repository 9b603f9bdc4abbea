package sqldb

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the writing side of the tests

	"sealift/shared/row"
	"sealift/shared/source/pgtest"
)

// keyedQuery reads a table whose index is (tenant, created_at, id), with every kind of condition.
func keyedQuery() row.Query {
	column := func(name string, kind row.Kind) row.Column { return row.Column{Name: name, Source: name, Kind: kind} }
	return row.Query{
		Table: "orders", Columns: []row.Column{column("note", row.String)},
		Key:          []row.Column{column("created_at", row.Timestamp), column("id", row.Int64)},
		TenantColumn: column("tenant", row.String), Tenant: "acme", TimeColumn: column("created_at", row.Timestamp),
		Since: "2026-01-01T00:00:00Z", Until: "2026-02-01T00:00:00.5Z", Ceiling: row.Key{"2026-01-31T00:00:00Z", "900"}, Zone: "UTC",
		Filters: []row.Filter{
			{Column: column("id", row.Int64), Op: row.Greater, Values: []string{"3"}},
			{Column: column("created_at", row.Timestamp), Op: row.GreaterEqual, Values: []string{"2025-01-01T00:00:00Z"}},
		},
	}
}

// reads are the statements of a shard's first and later batches, and of the set's first and last key.
func reads(t *testing.T, d dialect, q *row.Query, split func(scope) []scope) map[string][]statement {
	t.Helper()
	list, _ := fields(q)
	r := row.Range{From: row.Key{"2026-01-05T00:00:00Z", "5"}, To: row.Key{"2026-01-09T00:00:00Z", "9"}}
	statements := map[string][]statement{}
	for name, s := range map[string]scope{
		"first batch":         readScope(q, r, nil),
		"later batch":         readScope(q, r, row.Key{"2026-01-07T00:00:00Z", "7"}),
		"batch of open range": readScope(q, row.Range{}, nil),
		"plan":                planScope(q),
	} {
		for _, piece := range split(s) {
			st, err := selectKeyset(d, q, list, false, 100, piece)
			if err != nil {
				t.Fatal(err)
			}
			statements[name] = append(statements[name], st)
			if strings.Contains(strings.ToUpper(st.text), "OFFSET") {
				t.Errorf("%s uses OFFSET: %s", name, st.text)
			}
			if !strings.Contains(st.text, "tenant") || !strings.Contains(st.text, "ORDER BY") || !strings.Contains(st.text, "LIMIT 100") {
				t.Errorf("%s lacks tenant, order or limit: %s", name, st.text)
			}
		}
	}
	return statements
}

func TestSQLiteReadsSeekInTheKeyIndex(t *testing.T) {
	t.Parallel()
	const (
		after   = "(tenant=? AND created_at=? AND id>?)"
		between = "(tenant=? AND created_at>? AND created_at<?)"
		before  = "(tenant=? AND created_at=? AND id<?)"
		rows    = "(tenant=? AND (created_at,id)>(?,?) AND (created_at,id)<(?,?))"
	)
	for _, c := range []struct {
		name, id string
		want     map[string][]string
	}{
		{"number of its own", "INTEGER NOT NULL", map[string][]string{
			// The ceiling bounds the open range, the period only what a plan probes.
			"first batch": {rows}, "later batch": {rows}, "plan": {between},
			"batch of open range": {"(tenant=? AND created_at>? AND (created_at,id)<(?,?))"},
		}},
		{"the row's number", "INTEGER PRIMARY KEY", map[string][]string{
			"first batch": {after, between, before}, "later batch": {after, between, before}, "plan": {between},
			"batch of open range": {between, before},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := explainable(t, c.id)
			q := keyedQuery()
			if err := s.prepareQuery(context.Background(), &q); err != nil {
				t.Fatal(err)
			}
			for name, statements := range reads(t, s, &q, func(sc scope) []scope { return s.pieces(&q, sc) }) {
				var searches []string
				for _, st := range statements {
					st.text = "EXPLAIN QUERY PLAN " + st.text
					if err := s.conn.rows(context.Background(), st, func(st *sqliteStmt) (bool, error) {
						step := string(st.value(3).asText())
						if found, ok := strings.CutPrefix(step, "SEARCH t USING INDEX orders_key "); ok {
							searches = append(searches, found)
						} else if strings.Contains(step, "SCAN") || strings.Contains(step, "SEARCH") || strings.Contains(step, "TEMP") {
							t.Errorf("%s contains the step %s", name, step)
						}
						return true, nil
					}); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(c.want[name], searches); diff != "" {
					t.Errorf("%s searches differently (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestSQLiteProvesFormsInTheKeyIndexAlone(t *testing.T) {
	t.Parallel()
	s := explainable(t, "INTEGER NOT NULL")
	q := keyedQuery()
	if err := s.prepareQuery(context.Background(), &q); err != nil {
		t.Fatal(err)
	}
	st, err := s.otherForms(&q)
	if err != nil {
		t.Fatal(err)
	}
	st.text = "EXPLAIN QUERY PLAN " + st.text
	step := ""
	err = s.conn.rows(context.Background(), st, func(st *sqliteStmt) (bool, error) {
		step += string(st.value(3).asText())
		return true, nil
	})
	if diff := cmp.Diff("SEARCH t USING COVERING INDEX orders_key (tenant=?)", step); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// explainable opens a file with one row whose id column is declared as given.
func explainable(t *testing.T, id string) *sqliteSource {
	t.Helper()
	path := filepath.Join(t.TempDir(), "explain.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"CREATE TABLE orders (tenant TEXT NOT NULL, created_at TEXT NOT NULL, id " + id + ", note TEXT)",
		"CREATE INDEX orders_tenant ON orders (tenant)", "CREATE INDEX orders_key ON orders (tenant, created_at, id)",
		"INSERT INTO orders VALUES ('acme', '2026-01-02 00:00:00', 1, 'x')",
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(context.Background(), "sqlite://"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	s, _ := opened.(*sqliteSource)
	return s
}

func TestPostgresReadsSeekInTheKeyIndex(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for declared, tenant := range map[string]string{
		"text": "acme", "varchar(20)": "acme", "char(8)": "acme", "bigint": "7", "numeric": "7", "uuid": "0000000a-0000-0000-0000-000000000001",
	} {
		t.Run(declared, func(t *testing.T) {
			t.Parallel()
			seekInPostgres(t, server.Schema(t), declared, tenant)
		})
	}
}

func seekInPostgres(t *testing.T, dsn, declared, tenant string) {
	pgtest.Exec(t, dsn, "CREATE TABLE orders (tenant "+declared+" NOT NULL, created_at timestamptz NOT NULL, id bigint NOT NULL, note text)",
		"INSERT INTO orders SELECT '"+tenant+"', timestamptz '2026-01-01 00:00Z' + i * interval '1 minute', i, 'x' FROM generate_series(1, 50000) AS g(i)",
		"CREATE INDEX orders_tenant ON orders (tenant)", "CREATE INDEX orders_key ON orders (tenant, created_at, id)", "ANALYZE orders")
	opened, err := Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	s, _ := opened.(*postgresSource)
	q := keyedQuery()
	q.Tenant = tenant
	if err := s.prepareQuery(context.Background(), &q); err != nil {
		t.Fatal(err)
	}
	for name, statements := range reads(t, s, &q, func(sc scope) []scope { return []scope{sc} }) {
		st := statements[0]
		st.text = "EXPLAIN (COSTS OFF) " + st.text
		plan := ""
		if err := s.query(context.Background(), &q, st, func(values [][]byte) error {
			plan += string(values[0]) + "\n"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		_, condition, _ := strings.Cut(plan, "Index Cond: ")
		condition, _, _ = strings.Cut(condition, "\n")
		// A varchar is compared as text, which its index serves.
		condition = strings.Replace(condition, "(tenant)::text", "tenant", 1)
		want := map[string][]string{
			"first batch":         {"tenant = '" + tenant, "ROW(created_at, id) >= ROW('2026-01-05", "ROW(created_at, id) < ROW('2026-01-09"},
			"later batch":         {"tenant = '" + tenant, "ROW(created_at, id) > ROW('2026-01-07", "ROW(created_at, id) < ROW('2026-01-09"},
			"batch of open range": {"tenant = '" + tenant, "created_at >= '2026-01-01", "ROW(created_at, id) <= ROW('2026-01-31"},
			"plan":                {"tenant = '" + tenant, "created_at >= '2026-01-01", "created_at < '2026-02-01"},
		}[name]
		for _, part := range want {
			if !strings.Contains(condition, part) {
				t.Errorf("%s: the index condition lacks %s:\n%s", name, part, plan)
			}
		}
		if strings.Count(condition, " AND ") != 2 || strings.Contains(plan, "Sort") || !strings.Contains(plan, "orders_key") {
			t.Errorf("%s isn't one search of the key index:\n%s", name, plan)
		}
	}
}
