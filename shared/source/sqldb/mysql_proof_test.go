package sqldb_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
)

// mysqlProvenOrders makes a table of sixty rows and lets no ALTER wait for a lock longer than a second.
func mysqlProvenOrders(t *testing.T, server *mytest.Server) (dsn string, alter func(statements ...string)) {
	dsn = server.Schema(t)
	alter = func(statements ...string) {
		mytest.Exec(t, dsn, append([]string{"SET lock_wait_timeout = 1"}, statements...)...)
	}
	alter("CREATE TABLE orders (tenant varchar(20) NOT NULL, created_at datetime NOT NULL, id bigint NOT NULL, note text, other text, more bigint NOT NULL DEFAULT 7, UNIQUE (tenant, created_at, id))",
		"INSERT INTO orders SELECT 'acme', '2026-01-01' + INTERVAL seq SECOND, seq, 'n', 'o', 7 FROM seq_1_to_60")
	return dsn, alter
}

func mysqlProvenQuery(table string) row.Query {
	q := mixedQuery()
	q.Table = table
	q.Key[0].Kind, q.TimeColumn.Kind = row.DateTime, row.DateTime
	return q
}

func TestMySQLReadsNothingButWhatWasIdentified(t *testing.T) {
	t.Parallel()
	server := mytest.Start(t)
	for name, run := range map[string]func(t *testing.T, server *mytest.Server){
		"what was put back behind a read is found":    mysqlProof,
		"what isn't read may change":                  mysqlUnmoved,
		"a batch that costs the connection is proven": mysqlGrownAndProven,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, server)
		})
	}
}

// mysqlProof changes what is read between two reads, and puts it back, so that the identity says nothing of it any more.
func mysqlProof(t *testing.T, server *mytest.Server) {
	swapped := "ALTER TABLE orders CHANGE note other text, CHANGE other note text"
	seen, exchanged := "CREATE OR REPLACE VIEW seen AS SELECT * FROM orders", "CREATE OR REPLACE VIEW seen AS SELECT tenant, created_at, id, other AS note, note AS other, more FROM orders"
	below := "CREATE OR REPLACE VIEW below AS SELECT * FROM orders"
	for name, c := range map[string]struct {
		table                string
		before, change, back []string
	}{
		"two columns of a table that is long there swap their names": {before: []string{"DO sleep(3.1)"}, change: []string{swapped}, back: []string{swapped}},
		"two columns swap their names":                               {change: []string{swapped}, back: []string{swapped}},
		"two columns of the key swap their names": {
			change: []string{"ALTER TABLE orders CHANGE id more bigint NOT NULL, CHANGE more id bigint NOT NULL, ADD UNIQUE again (tenant, created_at, id, more)"},
			back:   []string{"ALTER TABLE orders DROP INDEX again, CHANGE id more bigint NOT NULL, CHANGE more id bigint NOT NULL"},
		},
		"another table takes the name": {
			change: []string{"CREATE TABLE copy LIKE orders", "INSERT INTO copy SELECT * FROM orders", "RENAME TABLE orders TO away, copy TO orders"},
			back:   []string{"RENAME TABLE orders TO copy, away TO orders"},
		},
		"a view is replaced in place":              {"seen", []string{seen}, []string{exchanged}, []string{seen}},
		"a view below a view is replaced in place": {"top", []string{seen, "CREATE VIEW top AS SELECT * FROM seen"}, []string{exchanged}, []string{seen}},
		"a view of a view becomes one of a table": {
			"seen", []string{below, "CREATE VIEW seen AS SELECT * FROM below"}, []string{seen}, []string{"CREATE OR REPLACE VIEW seen AS SELECT * FROM below"},
		},
	} {
		dsn, alter := mysqlProvenOrders(t, server)
		alter(c.before...)
		src, q := open(t, dsn), mysqlProvenQuery(cmp.Or(c.table, "orders"))
		before := identity(t, src, q)
		first := readSome(t, src, q)
		alter(c.change...)
		var b row.Batch
		err := src.Read(context.Background(), q, row.Range{}, first, source.Limit{Rows: 25, Bytes: 1 << 20}, &b)
		if job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_replaced" || b.Rows() != 0 {
			t.Errorf("%s: %d rows and %v, want none and a permanent source_replaced", name, b.Rows(), err)
		}
		// Neither a read that went well nor one that failed keeps a lock.
		alter(c.back...)
		if !source.Same(before, identity(t, src, q)) {
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

// mysqlUnmoved changes what isn't read, or changes and puts it back between two reads, which ends no export.
func mysqlUnmoved(t *testing.T, server *mytest.Server) {
	for name, changes := range map[string][]string{
		"nothing happens":                  nil,
		"time passes":                      {"DO sleep(3.1)"},
		"a column comes":                   {"ALTER TABLE orders ADD COLUMN new text DEFAULT 'x'"},
		"a column that isn't read changes": {"ALTER TABLE orders CHANGE other was text"},
		"an index comes":                   {"CREATE INDEX more ON orders (id)"},
		"the name goes and comes back":     {"RENAME TABLE orders TO away", "RENAME TABLE away TO orders"},
		"rows come and the table is analyzed": {
			"INSERT INTO orders SELECT 'other', created_at, id, note, other, more FROM orders", "ANALYZE TABLE orders",
		},
	} {
		dsn, alter := mysqlProvenOrders(t, server)
		src, q := open(t, dsn), mysqlProvenQuery("orders")
		before := identity(t, src, q)
		first := readSome(t, src, q)
		alter(changes...)
		readSome(t, src, q)
		if ids, failure := readOn(t, src, q, first); len(ids) != 35 || failure != nil {
			t.Errorf("%s: %d rows are read (%v), want 35", name, len(ids), failure)
		}
		if !source.Same(before, identity(t, src, q)) {
			t.Errorf("%s: the table is another one", name)
		}
	}
}

// mysqlGrownAndProven reads rows whose rest is too long to be looked through: the connection goes, and its lock with it.
func mysqlGrownAndProven(t *testing.T, server *mytest.Server) {
	dsn, alter := mysqlProvenOrders(t, server)
	alter("ALTER TABLE orders MODIFY note longtext, MODIFY other longtext", "UPDATE orders SET note = repeat('n', 300000) WHERE id > 10")
	src, q := open(t, dsn), mysqlProvenQuery("orders")
	identity(t, src, q)
	var after row.Key
	var b row.Batch
	seen := 0
	for range 100 {
		if err := src.Read(context.Background(), q, row.Range{}, after, source.Limit{Rows: 1000, Bytes: 1 << 20}, &b); err != nil {
			t.Fatal(err)
		}
		if b.Rows() == 0 {
			break
		}
		if id, _ := b.Value(0, 0); string(id) != strconv.Itoa(seen+1) {
			t.Fatalf("behind %d rows comes row %s", seen, id)
		}
		seen += b.Rows()
		after = b.Key(b.Rows()-1, len(q.Key))
	}
	if seen != 60 {
		t.Errorf("%d rows are read, want 60", seen)
	}
	alter("ALTER TABLE orders CHANGE note other longtext, CHANGE other note longtext")
	if err := src.Read(context.Background(), q, row.Range{}, nil, source.Limit{Rows: 1000, Bytes: 1 << 20}, &b); job.CodeOf(err) != "source_replaced" || b.Rows() != 0 {
		t.Errorf("of exchanged columns %d rows are read (%v), want none and source_replaced", b.Rows(), err)
	}
}
