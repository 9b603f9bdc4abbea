package sqldb_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// A table or column that takes the name only while a statement runs has gone again when the identity is asked for.
func TestPostgresReadsNothingButWhatWasIdentified(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for name, c := range map[string]struct{ change, back, table, before string }{
		"another table takes the name": {
			change: "ALTER TABLE orders RENAME TO away; CREATE TABLE orders (LIKE away INCLUDING ALL); INSERT INTO orders SELECT * FROM away",
			back:   "DROP TABLE orders; ALTER TABLE away RENAME TO orders",
		},
		"an empty table takes the name": {
			change: "ALTER TABLE orders RENAME TO away; CREATE TABLE orders (LIKE away INCLUDING ALL)",
			back:   "DROP TABLE orders; ALTER TABLE away RENAME TO orders",
		},
		"a view takes the name": {
			change: "ALTER TABLE orders RENAME TO away; CREATE VIEW orders AS SELECT * FROM away",
			back:   "DROP VIEW orders; ALTER TABLE away RENAME TO orders",
		},
		"it is emptied and filled again": {
			change: "CREATE TABLE kept AS TABLE orders; TRUNCATE orders; INSERT INTO orders SELECT * FROM kept",
		},
		"two columns swap their names": {change: swapped("TABLE orders", "note", "other"), back: swapped("TABLE orders", "note", "other")},
		"two columns of the key swap their names": {
			before: "ALTER TABLE orders ADD COLUMN more bigint NOT NULL DEFAULT 7",
			change: swapped("TABLE orders", "id", "more"), back: swapped("TABLE orders", "id", "more"),
		},
		"a column of the same type takes the name": {
			change: `ALTER TABLE orders RENAME note TO was; ALTER TABLE orders ADD note text DEFAULT 'x'`,
			back:   "ALTER TABLE orders DROP note; ALTER TABLE orders RENAME was TO note",
		},
		"two columns of a view swap their names": {
			table: "seen", before: "CREATE VIEW seen AS SELECT * FROM orders",
			change: swapped("VIEW seen", "note", "other"), back: swapped("VIEW seen", "note", "other"),
		},
		"two columns of a materialised view swap their names": {
			table: "seen", before: "CREATE MATERIALIZED VIEW seen AS SELECT * FROM orders; CREATE INDEX ON seen (tenant, created_at, id)",
			change: swapped("MATERIALIZED VIEW seen", "note", "other"), back: swapped("MATERIALIZED VIEW seen", "note", "other"),
		},
		"two columns of a partitioned table swap their names": {
			table: "parts", before: "CREATE TABLE parts (LIKE orders) PARTITION BY HASH (id); CREATE INDEX ON parts (tenant, created_at, id);" +
				"CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0); INSERT INTO parts SELECT * FROM orders",
			change: swapped("TABLE parts", "note", "other"), back: swapped("TABLE parts", "note", "other"),
		},
		"a view is replaced in place": {
			table: "seen", before: "CREATE VIEW seen AS SELECT * FROM orders",
			change: "CREATE OR REPLACE VIEW seen AS SELECT tenant, created_at, id, other AS note, note AS other FROM orders",
			back:   "CREATE OR REPLACE VIEW seen AS SELECT * FROM orders",
		},
		"a view below a view is replaced in place": {
			table: "seen", before: "CREATE VIEW below AS SELECT * FROM orders; CREATE VIEW seen AS SELECT * FROM below",
			change: "CREATE OR REPLACE VIEW below AS SELECT tenant, created_at, id, other AS note, note AS other FROM orders",
			back:   "CREATE OR REPLACE VIEW below AS SELECT * FROM orders",
		},
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, mixedOrders, "ALTER TABLE orders ADD COLUMN other text DEFAULT 'o'", `INSERT INTO orders SELECT 'acme', '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 second', i, 'n' FROM generate_series(1, 60) AS g(i)`)
		if c.before != "" {
			pgtest.Exec(t, dsn, c.before)
		}
		src, q := open(t, dsn), mixedQuery()
		q.Table = cmp.Or(c.table, q.Table)
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

// swapped is the statements that give two columns each other's name.
func swapped(relation, one, other string) string {
	rename := func(from, to string) string {
		return "ALTER " + relation + " RENAME COLUMN " + from + " TO " + to + ";"
	}
	return "BEGIN;" + rename(one, "swapping") + rename(other, one) + rename("swapping", other) + "COMMIT"
}

// What leaves the columns that are read what they are ends no export.
func TestPostgresReadsOnWhileOtherThingsOfTheTableChange(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for name, change := range map[string]string{
		"a column comes":                    "ALTER TABLE orders ADD COLUMN more text DEFAULT 'x'",
		"a column that isn't read changes":  "ALTER TABLE orders RENAME COLUMN \"o\"\"dd\\\" TO even",
		"an index comes":                    "CREATE INDEX ON orders (id)",
		"a column is granted":               "CREATE ROLE visitor; GRANT SELECT (note) ON orders TO visitor",
		"a column's statistics are refined": "ALTER TABLE orders ALTER note SET STATISTICS 500; ANALYZE orders",
		"a column gets a default":           "ALTER TABLE orders ALTER note SET DEFAULT 'n'",
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, mixedOrders, "ALTER TABLE orders ADD COLUMN \"o\"\"dd\\\" text",
			`INSERT INTO orders SELECT 'acme', '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 second', i, 'n' FROM generate_series(1, 60) AS g(i)`)
		src, q := open(t, dsn), mixedQuery()
		before := identity(t, src, q)
		first := readSome(t, src, q)
		pgtest.Exec(t, dsn, change)
		if ids, failure := readOn(t, src, q, first); len(ids) != 35 || failure != nil {
			t.Errorf("%s: %d rows are read (%v), want 35", name, len(ids), failure)
		}
		if identity(t, src, q) != before {
			t.Errorf("%s: the table is another one", name)
		}
	}
}

// The names are sent as an array, whose own signs they may hold.
func TestPostgresIdentifiesColumnsOfOddNames(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Schema(t)
	const odd = `o"dd\,{}' name`
	quoted := `"` + strings.ReplaceAll(odd, `"`, `""`) + `"`
	pgtest.Exec(t, dsn, mixedOrders, "ALTER TABLE orders ADD COLUMN "+quoted+" text DEFAULT 'x'",
		`INSERT INTO orders SELECT 'acme', '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 second', i, 'n' FROM generate_series(1, 60) AS g(i)`)
	src, q := open(t, dsn), mixedQuery()
	q.Columns = append(q.Columns, row.Column{Name: odd, Source: odd, Kind: row.String, Scale: -1})
	identity(t, src, q)
	first := readSome(t, src, q)
	pgtest.Exec(t, dsn, swapped("TABLE orders", quoted, "note"))
	var b row.Batch
	err := src.Read(context.Background(), q, row.Range{}, first, source.Limit{Rows: 25, Bytes: 1 << 20}, &b)
	if job.CodeOf(err) != "source_replaced" || b.Rows() != 0 {
		t.Errorf("%d rows and %v, want none and source_replaced", b.Rows(), err)
	}
}
