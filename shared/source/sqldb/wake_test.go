package sqldb_test

import (
	"context"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

func postgresRests(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE VIEW own AS SELECT 'acme'::text AS tenant, 1::bigint AS id, pg_backend_pid()::text AS v",
		"CREATE TABLE t (tenant text NOT NULL, id bigint PRIMARY KEY, v text)", "INSERT INTO t VALUES ('acme', 1, 'before')")
	rests(t, open(t, dsn), func(statements ...string) { pgtest.Exec(t, dsn, statements...) }, func(session string) {
		pgtest.Exec(t, dsn, "SELECT pg_terminate_backend("+session+", 10000)")
	})
}

func mysqlRests(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE VIEW own AS SELECT 'acme' AS tenant, 1 AS id, concat('', connection_id()) AS v",
		"CREATE TABLE t (tenant varchar(9) NOT NULL, id bigint PRIMARY KEY, v text)", "INSERT INTO t VALUES ('acme', 1, 'before')")
	rests(t, open(t, dsn), func(statements ...string) { mytest.Exec(t, dsn, statements...) }, func(session string) {
		mytest.Exec(t, dsn, "KILL "+session)
	})
}

// rests lets a source rest that view own shows the session of; exec changes table t, and end ends a session.
func rests(t *testing.T, src source.Source, exec func(...string), end func(string)) {
	t.Helper()
	lasting, ok := src.(source.Lasting)
	if !ok {
		t.Fatalf("a %T can't rest", src)
	}
	table, own := valueQuery(row.String), valueQuery(row.String)
	own.Table = "own"
	want := func(q row.Query, text string) {
		t.Helper()
		if rows, err := read(src, q); err != nil || len(rows) != 1 || rows[0][0] != text {
			t.Errorf("%s reads as %q (%v), want %q", q.Table, rows, err, text)
		}
	}
	rows, err := read(src, own)
	if err != nil {
		t.Fatal(err)
	}
	session := rows[0][0]
	want(table, "before")
	exec("DROP TABLE t", "CREATE TABLE t (id bigint PRIMARY KEY, tenant varchar(9) NOT NULL, v varchar(9))",
		"INSERT INTO t (tenant, id, v) VALUES ('acme', 1, 'after')")
	if !lasting.Wake(context.Background()) {
		t.Fatal("a source whose server is there isn't woken")
	}
	want(table, "after")
	want(own, session)

	end(session)
	if lasting.Wake(context.Background()) {
		t.Error("a source whose session has ended is woken")
	}
	_ = src.Close()
	if lasting.Wake(context.Background()) {
		t.Error("a closed source is woken")
	}
}
