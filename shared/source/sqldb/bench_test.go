package sqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the writing side of the tests

	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/sqldb"
)

const benchRows = 200_000

// benchQuery reads twelve columns of the usual kinds.
func benchQuery() row.Query {
	column := func(name string, kind row.Kind) row.Column {
		return row.Column{Name: name, Source: name, Kind: kind, Scale: -1}
	}
	return row.Query{
		Table: "orders",
		Columns: []row.Column{
			column("id", row.Int64), column("created_at", row.Timestamp), column("status", row.String), column("buyer", row.String),
			column("amount", row.Decimal), column("currency", row.String), column("paid", row.Bool), column("ship_date", row.Date),
			column("updated_at", row.Timestamp), column("quantity", row.Int64), column("note", row.String), column("sku", row.String),
		},
		Key:          []row.Column{column("created_at", row.Timestamp), column("id", row.Int64)},
		TenantColumn: column("tenant", row.String),
		Tenant:       "acme",
		TimeColumn:   column("created_at", row.Timestamp),
		Since:        "2025-01-01T00:00:00Z",
		Until:        "2027-01-01T00:00:00Z",
		Zone:         "Asia/Shanghai",
	}
}

func BenchmarkReadSQLite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{
		`CREATE TABLE orders (tenant TEXT NOT NULL, created_at TEXT NOT NULL, id INTEGER PRIMARY KEY, status TEXT, buyer TEXT,
			amount TEXT, currency TEXT, paid INTEGER, ship_date TEXT, updated_at TEXT, quantity INTEGER, note TEXT, sku TEXT)`,
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d)
			INSERT INTO orders SELECT 'acme', strftime('%%Y-%%m-%%d %%H:%%M:%%S', 1750000000 + i*20, 'unixepoch') || '.123456', i, 'shipped',
			'buyer ' || i, printf('%%d.%%02d', i%%1000, i%%100), 'CNY', i%%2, '2026-01-31',
			'2026-01-01 10:00:00.5', i%%7, CASE WHEN i%%3=0 THEN NULL ELSE 'leave it at the door' END, printf('SKU%%08d', i) FROM n`, benchRows),
		`CREATE INDEX orders_key ON orders (tenant, created_at, id)`,
	} {
		if _, err := db.Exec(text); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	src, err := sqldb.Open(context.Background(), "sqlite://"+path)
	if err != nil {
		b.Fatal(err)
	}
	benchRead(b, src)
}

// benchRead reads the whole set again and again into one batch.
func benchRead(b *testing.B, src source.Source) {
	b.Helper()
	defer func() { _ = src.Close() }()
	q := benchQuery()
	ctx := context.Background()
	plan, err := src.Plan(ctx, q, source.PlanOptions{ShardRows: 50_000, ShardsMax: 100})
	if err != nil {
		b.Fatal(err)
	}
	q.Ceiling = plan.Ceiling
	var batch row.Batch
	rows := 0
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		var after row.Key
		for {
			limit := source.Limit{Rows: limits.BatchRows, Bytes: limits.BatchBytes}
			if err := src.Read(ctx, q, row.Range{}, after, limit, &batch); err != nil {
				b.Fatal(err)
			}
			if batch.Rows() == 0 {
				break
			}
			rows += batch.Rows()
			after = batch.Key(batch.Rows()-1, len(q.Key))
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	if rows != b.N*benchRows {
		b.Fatalf("read %d rows, want %d", rows, b.N*benchRows)
	}
}
