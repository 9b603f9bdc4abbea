package sqldb_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// A table that takes the name only while a statement runs has gone again when the identity is asked for.
func TestPostgresReadsNothingButWhatWasIdentified(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for name, c := range map[string]struct{ change, back string }{
		"another table takes the name": {
			"ALTER TABLE orders RENAME TO away; CREATE TABLE orders (LIKE away INCLUDING ALL); INSERT INTO orders SELECT * FROM away",
			"DROP TABLE orders; ALTER TABLE away RENAME TO orders",
		},
		"an empty table takes the name": {
			"ALTER TABLE orders RENAME TO away; CREATE TABLE orders (LIKE away INCLUDING ALL)",
			"DROP TABLE orders; ALTER TABLE away RENAME TO orders",
		},
		"a view takes the name": {
			"ALTER TABLE orders RENAME TO away; CREATE VIEW orders AS SELECT * FROM away",
			"DROP VIEW orders; ALTER TABLE away RENAME TO orders",
		},
		"it is emptied and filled again": {
			"CREATE TABLE kept AS TABLE orders; TRUNCATE orders; INSERT INTO orders SELECT * FROM kept", "",
		},
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, mixedOrders, `INSERT INTO orders SELECT 'acme', '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 second', i, 'n' FROM generate_series(1, 60) AS g(i)`)
		src, q := open(t, dsn), mixedQuery()
		before := identity(t, src, q)
		first := readSome(t, src, q)
		pgtest.Exec(t, dsn, c.change)
		var b row.Batch
		err := src.Read(context.Background(), q, row.Range{}, first, source.Limit{Rows: 25, Bytes: 1 << 20}, &b)
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_replaced" || b.Rows() != 0 {
			t.Errorf("%s: %d rows and %v, want none and a permanent source_replaced", name, b.Rows(), err)
		}
		if c.back == "" {
			continue
		}
		pgtest.Exec(t, dsn, c.back)
		if identity(t, src, q) != before {
			t.Errorf("%s: the table that is back is another one", name)
		}
		var want []string
		for i := 26; i <= 60; i++ {
			want = append(want, strconv.Itoa(i))
		}
		if ids, failure := readOn(t, src, q, first); !slices.Equal(ids, want) || failure != nil {
			t.Errorf("%s: of the table that is back rows %v are read (%v), want 26 to 60", name, ids, failure)
		}
	}
}
