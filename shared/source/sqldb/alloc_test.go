package sqldb_test

import (
	"context"
	"fmt"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// A batch costs its statement, and its rows nothing.
func TestRowsCostNoAllocation(t *testing.T) {
	dsn, exec := sqliteFile(t)
	exec(t, "CREATE TABLE orders (tenant TEXT NOT NULL, created_at TEXT NOT NULL, id INTEGER NOT NULL, note TEXT, amount TEXT)",
		"CREATE INDEX orders_key ON orders (tenant, created_at, id)",
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000)
			INSERT INTO orders SELECT 'acme', strftime('%Y-%m-%d %H:%M:%S', 1750000000 + i, 'unixepoch'), i, 'note', '12.50' FROM n`)
	server := pgtest.Start(t).Schema(t)
	pgtest.Exec(t, server, `CREATE TABLE orders (tenant text NOT NULL, created_at timestamptz NOT NULL, id bigint NOT NULL, note text, amount numeric)`,
		`INSERT INTO orders SELECT 'acme', to_timestamp(1750000000 + i), i, 'note', 12.50 FROM generate_series(1, 20000) AS g(i)`,
		"CREATE INDEX orders_key ON orders (tenant, created_at, id)", "VACUUM ANALYZE orders")
	mysql := mytest.Start(t).Schema(t)
	mytest.Exec(t, mysql, mysqlOrders, fmt.Sprintf(mysqlOrdersRows, 20_000))
	for name, dsn := range map[string]string{"SQLite": dsn, "PostgreSQL": server, "MariaDB": mysql} {
		src := open(t, dsn)
		q := benchQuery()
		q.Columns = []row.Column{q.Columns[0], q.Columns[1], q.Columns[4], q.Columns[10]}
		var b row.Batch
		allocated := func(rows int) float64 {
			return testing.AllocsPerRun(5, func() {
				err := src.Read(context.Background(), q, row.Range{}, nil, source.Limit{Rows: rows, Bytes: 64 << 20}, &b)
				if err != nil || b.Rows() != rows {
					panic(fmt.Sprintf("%d rows, %v", b.Rows(), err))
				}
			})
		}
		// A first batch may be short, because the size of rows isn't known.
		if err := src.Read(context.Background(), q, row.Range{}, nil, source.Limit{Rows: 11_000, Bytes: 64 << 20}, &b); err != nil {
			t.Fatal(err)
		}
		few, many := allocated(1000), allocated(11_000)
		if perRow := (many - few) / 10_000; perRow > 0.01 {
			t.Errorf("%s allocates %.3f times a row (%.0f for 1,000 rows, %.0f for 11,000), want none", name, perRow, few, many)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}
