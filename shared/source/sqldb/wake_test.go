package sqldb_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

func postgresRests(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE VIEW own AS SELECT 'acme'::text AS tenant, 1::bigint AS id, pg_backend_pid()::text AS v",
		"CREATE TABLE t (tenant text NOT NULL, id bigint PRIMARY KEY, v text)", "INSERT INTO t VALUES ('acme', 1, 'before')")
	rests(t, lasting(t, dsn), func(statements ...string) { pgtest.Exec(t, dsn, statements...) }, func(session string) {
		pgtest.Exec(t, dsn, "SELECT pg_terminate_backend("+session+", 10000)")
	})
	silent(t, dsn)
}

func mysqlRests(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE VIEW own AS SELECT 'acme' AS tenant, 1 AS id, concat('', connection_id()) AS v",
		"CREATE TABLE t (tenant varchar(9) NOT NULL, id bigint PRIMARY KEY, v text)", "INSERT INTO t VALUES ('acme', 1, 'before')",
		"CREATE FUNCTION patience() RETURNS text RETURN @@session.wait_timeout", "CREATE VIEW p AS SELECT 'acme' AS tenant, 1 AS id, patience() AS v")
	src := lasting(t, dsn)
	patience := valueQuery(row.String)
	patience.Table = "p"
	for _, c := range []struct {
		turn func(context.Context) bool
		want string
	}{{src.Wake, "900"}, {src.Rest, "30"}, {src.Wake, "900"}} {
		ready := c.turn(t.Context())
		if rows, err := read(src, patience); err != nil || !ready || rows[0][0] != c.want {
			t.Errorf("the server waits %q seconds (%v, %t), want %s", rows, err, ready, c.want)
		}
	}
	rests(t, src, func(statements ...string) { mytest.Exec(t, dsn, statements...) }, func(session string) {
		mytest.Exec(t, dsn, "KILL "+session)
	})
	silent(t, dsn)
}

func lasting(t *testing.T, dsn string) source.Lasting {
	t.Helper()
	src := open(t, dsn)
	last, ok := src.(source.Lasting)
	if !ok {
		t.Fatalf("a %T can't rest", src)
	}
	return last
}

// rests lets a source rest that view own shows the session of; exec changes table t, and end ends a session.
func rests(t *testing.T, src source.Lasting, exec func(...string), end func(string)) {
	t.Helper()
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
	if !src.Rest(t.Context()) {
		t.Fatal("a source whose server is there can't rest")
	}
	exec("DROP TABLE t", "CREATE TABLE t (id bigint PRIMARY KEY, tenant varchar(9) NOT NULL, v varchar(9))",
		"INSERT INTO t (tenant, id, v) VALUES ('acme', 1, 'after')")
	if !src.Wake(t.Context()) {
		t.Fatal("a source whose server is there isn't woken")
	}
	want(table, "after")
	want(own, session)

	end(session)
	if src.Wake(t.Context()) {
		t.Error("a source whose session has ended is woken")
	}
	_ = src.Close()
	if src.Rest(t.Context()) || src.Wake(t.Context()) {
		t.Error("a closed source rests or is woken")
	}
}

// silent lets a source rest whose server says nothing any more when it is to be woken: its connection is left at once, not
// when the driver has given up too.
func silent(t *testing.T, dsn string) {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var dumb atomic.Bool
	var ended chan struct{}
	address.Host, ended = interposed(t, address.Host, func([]byte) {}, &dumb)
	src := lasting(t, address.String())
	if rows, err := read(src, valueQuery(row.String)); err != nil || len(rows) != 1 || !src.Rest(t.Context()) {
		t.Fatalf("read %q (%v)", rows, err)
	}
	dumb.Store(true)
	if src.Wake(t.Context()) {
		t.Error("a source whose server is silent is woken")
	}
	_ = src.Close()
	<-ended
}

// interposed stands between a client and a server, hears what the client says before the server does, and says nothing to
// the client while dumb is set; ended tells that the client has hung up.
func interposed(t *testing.T, server string, hears func(said []byte), dumb *atomic.Bool) (address string, ended chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ended = make(chan struct{})
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", server)
		if err != nil {
			_ = client.Close()
			return
		}
		go pass(far, func(said []byte) {
			if !dumb.Load() {
				_, _ = client.Write(said)
			}
		})
		pass(client, func(said []byte) {
			hears(said)
			_, _ = far.Write(said)
		})
		_ = far.Close()
		close(ended)
	}()
	return listener.Addr().String(), ended
}

// pass hands on what comes until nothing more does.
func pass(from io.Reader, to func(said []byte)) {
	room := make([]byte, 1<<16)
	for {
		n, err := from.Read(room)
		if err != nil {
			return
		}
		to(room[:n])
	}
}

// revokedMeanwhile loses its right between what the catalogue says of the columns and of the indexes.
func revokedMeanwhile(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(9) NOT NULL, id bigint PRIMARY KEY, v text)",
		"CREATE USER passing IDENTIFIED BY 'secret'", "GRANT SELECT ON t TO passing")
	address, err := url.Parse(asUser(dsn, "passing:secret"))
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	address.Host, _ = interposed(t, address.Host, func(said []byte) {
		if bytes.Contains(said, []byte("STATISTICS")) {
			once.Do(func() { mytest.Exec(t, dsn, "REVOKE SELECT ON t FROM passing") })
		}
	}, &atomic.Bool{})
	if err := open(t, address.String()).Check(t.Context(), valueQuery(row.String)); job.CodeOf(err) != "source_denied" {
		t.Errorf("a right that goes while the table is examined is told %v, want source_denied", err)
	}
}
