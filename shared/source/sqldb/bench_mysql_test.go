package sqldb_test

import (
	"context"
	"fmt"
	"testing"

	"sealift/shared/source/mytest"
	"sealift/shared/source/sqldb"
)

func BenchmarkReadMySQL(b *testing.B) {
	dsn := mytest.Start(b).Schema(b)
	mytest.Exec(b, dsn, mysqlOrders, fmt.Sprintf(mysqlOrdersRows, benchRows))
	src, err := sqldb.Open(context.Background(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	benchRead(b, src)
}

const (
	mysqlOrders = `CREATE TABLE orders (tenant varchar(20) NOT NULL, created_at timestamp(6) NOT NULL, id bigint NOT NULL, status varchar(20),
		buyer varchar(40), amount decimal(12,2), currency varchar(3), paid boolean, ship_date date, updated_at timestamp(6) NULL, quantity int,
		note text, sku varchar(20), UNIQUE KEY orders_key (tenant, created_at, id))`
	// mysqlOrdersRows fills the table with the rows of the other databases' benchmarks.
	mysqlOrdersRows = `INSERT INTO orders SELECT 'acme', from_unixtime(1750000000 + seq * 20 + 0.123456), seq, 'shipped', concat('buyer ', seq),
		(seq %% 1000) + (seq %% 100) / 100, 'CNY', seq %% 2, '2026-01-31', '2026-01-01 10:00:00.5', seq %% 7,
		if(seq %% 3 = 0, NULL, 'leave it at the door'), concat('SKU', lpad(seq, 8, '0')) FROM seq_1_to_%d`
)
