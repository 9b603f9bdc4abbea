package sqldb_test

import (
	"context"
	"fmt"
	"testing"

	"sealift/shared/source/pgtest"
	"sealift/shared/source/sqldb"
)

func BenchmarkReadPostgres(b *testing.B) {
	dsn := pgtest.Start(b).Schema(b)
	pgtest.Exec(b, dsn, `CREATE TABLE orders (tenant text NOT NULL, created_at timestamptz NOT NULL, id bigint NOT NULL, status text,
			buyer text, amount numeric(12,2), currency text, paid boolean, ship_date date, updated_at timestamptz, quantity int,
			note text, sku text)`,
		fmt.Sprintf(`INSERT INTO orders SELECT 'acme', to_timestamp(1750000000 + i*20) + interval '123456 microseconds', i, 'shipped',
			'buyer ' || i, (i %% 1000) + (i %% 100) / 100.0, 'CNY', i %% 2 = 1, '2026-01-31', '2026-01-01 10:00:00.5Z', i %% 7,
			CASE WHEN i %% 3 = 0 THEN NULL ELSE 'leave it at the door' END, 'SKU' || lpad(i::text, 8, '0')
			FROM generate_series(1, %d) AS g(i)`, benchRows),
		`CREATE UNIQUE INDEX orders_key ON orders (tenant, created_at, id)`, `VACUUM ANALYZE orders`)
	src, err := sqldb.Open(context.Background(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	benchRead(b, src)
}
