package sqldb_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
	"sealift/shared/source/sqldb"
)

// address is the host and port of a connection string.
func address(dsn string) string {
	parsed, err := url.Parse(dsn)
	if err != nil {
		panic(err)
	}
	return parsed.Host
}

// unheard is the address of a port where nobody listens.
func unheard(t *testing.T) string {
	t.Helper()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	return closed.Addr().String()
}

// answering is the address of a server that answers every connection with the bytes and hangs up when they are read.
func answering(t *testing.T, said []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write(said)
			if len(said) > 0 {
				_, _ = io.Copy(io.Discard, io.LimitReader(conn, 8))
			}
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func TestWhoCantReachADatabaseIsToldWhichAndWhy(t *testing.T) {
	t.Parallel()
	postgres, mysql := pgtest.Start(t), mytest.Start(t)
	guarded := pgtest.Start(t)
	pgtest.Exec(t, guarded.DSN(), "CREATE ROLE shop LOGIN PASSWORD 'right'", "CREATE DATABASE shop", "CREATE ROLE closed LOGIN",
		"CREATE DATABASE closed", "REVOKE CONNECT ON DATABASE closed FROM PUBLIC",
		`COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; (echo "host all shop all password"; echo "host all all all trust") > pg_hba.conf'`,
		"SELECT pg_reload_conf()")
	mytest.Exec(t, mysql.Schema(t), "CREATE USER root2 IDENTIFIED BY 'right'")
	away, mute, dir := unheard(t), answering(t, nil), t.TempDir()
	file := filepath.Join(dir, "shop.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	// A server that refuses the host before it says what it is.
	blocked := answering(t, []byte("\x17\x00\x00\x00\xff\x6a\x04#HY000Host is blocked"))
	const correct = "; correct user, password, database or sslmode in the connection's secret"
	const check = "; check host and port in the connection's secret if this lasts"
	for title, c := range map[string]struct{ dsn, kind, code, want string }{
		"PostgreSQL, a wrong password that is the database's name": {"postgres://shop:shop@" + address(guarded.DSN()) + "/shop", "permanent", "source_denied",
			"the PostgreSQL server at " + address(guarded.DSN()) + " refused the connection to database shop (SQLSTATE 28P01)" + correct},
		"PostgreSQL, no such database": {"postgres://postgres:b@" + address(postgres.DSN()) + "/none", "permanent", "source_denied",
			"the PostgreSQL server at " + address(postgres.DSN()) + " refused the connection to database none (SQLSTATE 3D000)" + correct},
		"PostgreSQL, no right to connect": {"postgres://closed@" + address(guarded.DSN()) + "/closed", "permanent", "source_denied",
			"the PostgreSQL server at " + address(guarded.DSN()) + " doesn't let the source's user connect to database closed (SQLSTATE 42501); grant it CONNECT on the database"},
		"PostgreSQL, a foreign parameter": {"postgres://postgres@" + address(postgres.DSN()) + "/postgres?hush=1", "permanent", "source_denied",
			"the PostgreSQL server at " + address(postgres.DSN()) + " refused the connection to database postgres (SQLSTATE 42704), because of its parameters; correct what follows the ? in the connection's secret"},
		"PostgreSQL, nobody listens": {"postgres://postgres:postgres@" + away + "/postgres", "transient", "source_unavailable",
			"the PostgreSQL server at " + away + " can't be reached (connection refused)" + check},
		"PostgreSQL, nobody listens, no database": {"postgres://postgres:postgres@" + away, "transient", "source_unavailable",
			"the PostgreSQL server at " + away + " can't be reached (connection refused)" + check},
		"PostgreSQL, no such host": {"postgres://postgres:host@nowhere.invalid/postgres", "transient", "source_unavailable",
			"the PostgreSQL server at nowhere.invalid:5432 can't be reached (no such host)" + check},
		"PostgreSQL, who hangs up": {"postgres://postgres:open@" + mute + "/postgres?sslmode=disable", "transient", "source_unavailable",
			"the PostgreSQL server at " + mute + " ended the connection before it was open"},
		"MariaDB, a wrong password": {"mysql://root2:root2@" + address(mysql.DSN()) + "/root2", "permanent", "source_denied",
			"the MariaDB server at " + address(mysql.DSN()) + " refused the connection to database root2 (error 1045)" + correct},
		"MariaDB, no such database": {"mariadb://root@" + address(mysql.DSN()) + "/none", "permanent", "source_denied",
			"the MariaDB server at " + address(mysql.DSN()) + " refused the connection to database none (error 1049)" + correct},
		"MariaDB, a wrong password, no database": {"mysql://root2:root2@" + address(mysql.DSN()), "permanent", "source_denied",
			"the MariaDB server at " + address(mysql.DSN()) + " refused the connection (error 1045)" + correct},
		"MariaDB or MySQL, nobody listens": {"mysql://root:root@" + away + "/root", "transient", "source_unavailable",
			"the MariaDB or MySQL server at " + away + " can't be reached (connection refused)" + check},
		"MariaDB or MySQL, no such host": {"mysql://root:host@nowhere.invalid/root", "transient", "source_unavailable",
			"the MariaDB or MySQL server at nowhere.invalid:3306 can't be reached (no such host)" + check},
		"MariaDB or MySQL, who hangs up": {"mysql://root:open@" + mute + "/root?sslmode=disable", "transient", "source_unavailable",
			"the MariaDB or MySQL server at " + mute + " ended the connection before it was open"},
		"MariaDB or MySQL, a refusal before the greeting": {"mysql://root:root@" + blocked + "/root?sslmode=disable", "permanent", "source_denied",
			"the MariaDB or MySQL server at " + blocked + " refused the connection to database root (error 1130)" + correct},
		"SQLite, no file": {"sqlite://" + dir + "/till/none.db", "permanent", "source_denied",
			"the SQLite file " + dir + "/till/none.db isn't there; check the path in the connection's secret"},
		"SQLite, a folder": {"sqlite://" + dir, "permanent", "source_denied",
			"the SQLite file " + dir + " is a folder; check the path in the connection's secret, which has to end with the file's name"},
		"SQLite, below a file": {"sqlite://" + file + "/none.db", "permanent", "source_denied",
			"the SQLite file " + file + "/none.db can't be read (not a directory); check the path in the connection's secret and the permissions of its folders"},
		"no scheme": {"hush", "permanent", "source_dsn_invalid", "the connection string of the source has no scheme; write sqlite:///absolute/path.db"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			for _, name := range []string{"", "till"} {
				want := c.code + ": " + c.want
				if name != "" {
					want = c.code + ": connection till: " + c.want
				}
				_, err := sqldb.OpenNamed(t.Context(), name, c.dsn)
				if err == nil || !strings.HasPrefix(err.Error(), c.kind+": "+want) || strings.Contains(err.Error(), "  ") {
					t.Errorf("got  %v\nwant %s: %s", err, c.kind, want)
				}
			}
		})
	}
	t.Run("two hosts", func(t *testing.T) {
		t.Parallel()
		other := unheard(t)
		_, err := sqldb.Open(t.Context(), "postgres://postgres@"+away+","+other+"/postgres")
		if !says(err, "the PostgreSQL server at "+away+" or "+other+" can't be reached") {
			t.Errorf("got %v, want both hosts", err)
		}
	})
	t.Run("an ended context", func(t *testing.T) {
		t.Parallel()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for dsn, want := range map[string]string{
			"postgres://a@db/shop": "connecting to the PostgreSQL server at db:5432 was stopped", "mysql://a@db/shop": "connecting to the MariaDB or MySQL server at db:3306 was stopped",
			"sqlite:///srv/shop.db": "the SQLite file /srv/shop.db wasn't opened",
		} {
			if _, err := sqldb.OpenNamed(ended, "till", dsn); job.KindOf(err) != job.Cancelled || !says(err, "connection till: "+want) {
				t.Errorf("%s: %v, want cancelled: %s", dsn, err, want)
			}
		}
	})
}

// What isn't percent-encoded in a password would make a part of it the host, the port or the database, which messages name.
func TestAPasswordThatIsntEncodedIsntTakenForAnotherPart(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://reader:12/34hush@db/shop", "postgres://reader:12#34hush@db/shop", "postgres://reader:12?34hush@db/shop", "postgres://reader:1@2/34hush@db/shop",
		"mysql://reader:12/34hush@db/shop", "mysql://reader:1@2/34hush@db/shop", "mysql://reader:1@2#34hush@db/shop", "mysql://reader:12?34hush@db/shop",
		"postgres://reader:12?a=34hush@db/shop", "postgres://reader:12#34hush@db:5432,db2/shop", "postgres://reader:1@2/34hush@db:5432,db2/shop",
	} {
		_, err := sqldb.Open(t.Context(), dsn)
		if job.CodeOf(err) != "source_dsn_invalid" || !says(err, "special characters percent-encoded") || says(err, "hush") || says(err, "12") {
			t.Errorf("%s is told %v, want source_dsn_invalid without a part of it", dsn, err)
		}
	}
	for _, dsn := range []string{"postgres://reader@127.0.0.1:1/a%40b?sslmode=disable", "postgres://127.0.0.1:1/shop?user=reader%40corp", "postgres://127.0.0.1:1/shop?user=reader@corp&password=a@b", "postgres://reader@127.0.0.1:1,127.0.0.1:2/shop", "mysql://reader:a@b@127.0.0.1:1/shop"} {
		if _, err := sqldb.Open(t.Context(), dsn); job.CodeOf(err) != "source_unavailable" {
			t.Errorf("%s is told %v, want that nobody listens there", dsn, err)
		}
	}
}

// TestALostConnectionIsNamedInTheMiddleOfAnExport ends sessions while they are used, and the server before the next is opened.
func TestALostConnectionIsNamedInTheMiddleOfAnExport(t *testing.T) {
	t.Parallel()
	postgres, mysql := pgtest.Start(t).Schema(t), mytest.Start(t).Schema(t)
	pgtest.Exec(t, postgres, "CREATE TABLE t (tenant text NOT NULL, id bigint PRIMARY KEY, v text)", "CREATE INDEX ON t (tenant, id)", "INSERT INTO t VALUES ('acme', 1, 'x')")
	mytest.Exec(t, mysql, "CREATE TABLE t (tenant varchar(9) NOT NULL, id bigint PRIMARY KEY, v text, KEY (tenant, id))", "INSERT INTO t VALUES ('acme', 1, 'x')")
	for product, dsn := range map[string]string{"PostgreSQL": postgres, "MariaDB": mysql} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			parsed, err := url.Parse(dsn)
			if err != nil {
				t.Fatal(err)
			}
			relay := newCut(t, parsed.Host)
			parsed.Host = relay.address
			src, err := sqldb.OpenNamed(t.Context(), "till", parsed.String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = src.Close() })
			q := valueQuery(row.String)
			if rows, err := read(src, q); err != nil || len(rows) != 1 {
				t.Fatalf("read %q (%v)", rows, err)
			}
			relay.cut()
			var b row.Batch
			err = src.Read(t.Context(), q, row.Range{}, nil, source.Limit{Rows: 10, Bytes: 1000}, &b)
			want := "connection till: the " + product + " server at " + relay.address + " ended the connection while table t was read"
			if job.KindOf(err) != job.Transient || job.CodeOf(err) != "source_unavailable" || !says(err, want) {
				t.Errorf("a lost connection is told %v, want %q", err, want)
			}
			err = src.Read(t.Context(), q, row.Range{}, nil, source.Limit{Rows: 10, Bytes: 1000}, &b)
			want = "server at " + relay.address + " can't be reached (connection refused)"
			if job.KindOf(err) != job.Transient || !says(err, "connection till: the ", want) {
				t.Errorf("a server that is away is told %v, want %q", err, want)
			}
			_ = src.Close()
			if err := src.Check(t.Context(), q); !says(err, "connection till: the source is closed; open it again") {
				t.Errorf("a closed source says %v", err)
			}
		})
	}
}

// cutter passes connections on until they are cut.
type cutter struct {
	address  string
	listener net.Listener
	conns    chan net.Conn
}

func newCut(t *testing.T, to string) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{address: listener.Addr().String(), listener: listener, conns: make(chan net.Conn, 64)}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.conns <- near
			go func() {
				pass(far, func(said []byte) { _, _ = near.Write(said) })
				_ = near.Close()
			}()
			go func() {
				pass(near, func(said []byte) { _, _ = far.Write(bytes.Clone(said)) })
				_ = far.Close()
			}()
		}
	}()
	return c
}

// cut ends all connections and takes no more.
func (c *cutter) cut() {
	_ = c.listener.Close()
	for {
		select {
		case conn := <-c.conns:
			_ = conn.Close()
		default:
			return
		}
	}
}
