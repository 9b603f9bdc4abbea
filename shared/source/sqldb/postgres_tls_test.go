package sqldb_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sealift/shared/job"
	"sealift/shared/source/pgtest"
	"sealift/shared/source/sqldb"
)

// offerTLS gives a server a certificate, runs commands in its folder and waits until it has taken both.
func offerTLS(t *testing.T, server *pgtest.Server, certFile, keyFile string, commands ...string) {
	t.Helper()
	// The server wants a key that nobody else may read.
	for _, command := range append(commands, "umask 077; cat "+keyFile+" > server.key") {
		// A program that ends before it has read the row breaks the server's pipe now and then.
		pgtest.Exec(t, server.DSN(), "COPY (SELECT 1) TO PROGRAM "+quoted("cat > /dev/null; "+command))
	}
	for _, text := range []string{"ssl_cert_file = " + quoted(certFile), "ssl_key_file = 'server.key'", "ssl = on"} {
		pgtest.Exec(t, server.DSN(), "ALTER SYSTEM SET "+text)
	}
	pgtest.Exec(t, server.DSN(), "SELECT pg_reload_conf()")
	var err error
	for range 200 {
		var conn *pgconn.PgConn
		if conn, err = pgconn.Connect(context.Background(), strings.Replace(server.DSN(), "sslmode=disable", "sslmode=require", 1)); err == nil {
			_ = conn.Close(context.Background())
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the server offers no TLS: %v", err)
}

func TestPostgresUsesTLSAsTheAddressAsks(t *testing.T) {
	t.Parallel()
	mine, key := certificate(t, "127.0.0.1")
	foreign, _ := certificate(t, "127.0.0.1")
	named, namedKey := certificate(t, "db.example")
	secure, other, plain, strict := pgtest.Start(t), pgtest.Start(t), pgtest.Start(t), pgtest.Start(t)
	offerTLS(t, secure, mine, key)
	offerTLS(t, other, named, namedKey)
	offerTLS(t, strict, mine, key, `echo "hostssl all all all trust" > pg_hba.conf`)
	for _, c := range []struct {
		name    string
		server  *pgtest.Server
		options string
		want    string // what the refusal says, empty when the source opens
	}{
		{"disable", secure, "sslmode=disable", ""}, {"prefer", secure, "sslmode=prefer", ""}, {"require", secure, "sslmode=require", ""},
		{"verify-ca", secure, "sslmode=verify-ca&sslrootcert=" + mine, ""}, {"verify-full", secure, "sslmode=verify-full&sslrootcert=" + mine, ""},
		{"verify-full by another root", secure, "sslmode=verify-full&sslrootcert=" + foreign, "doesn't verify as sslmode=verify-full asks (x509: certificate signed by unknown authority"},
		{"verify-ca by another root", secure, "sslmode=verify-ca&sslrootcert=" + foreign, "sslmode=verify-ca asks (x509: certificate signed by unknown authority"},
		{"verify-full by the system's roots", secure, "sslmode=verify-full", "x509: certificate signed by unknown authority"},
		{"verify-ca of another host", other, "sslmode=verify-ca&sslrootcert=" + named, ""},
		{"verify-full of another host", other, "sslmode=verify-full&sslrootcert=" + named, "cannot validate certificate for 127.0.0.1"},
		{"nothing said, without TLS", plain, "", ""}, {"prefer without TLS", plain, "sslmode=prefer", ""},
		{"require without TLS", plain, "sslmode=require", "asks for TLS with sslmode=require, and the PostgreSQL server at " + address(plain.DSN()) + " offers none; set up TLS on the server"},
		{"verify-ca without TLS", plain, "sslmode=verify-ca&sslrootcert=" + mine, "asks for TLS with sslmode=verify-ca"},
		{"verify-full without TLS", plain, "sslmode=verify-full", "asks for TLS with sslmode=verify-full"},
		{"direct TLS without TLS", plain, "sslmode=require&sslnegotiation=direct", "asks for TLS with sslmode=require"},
		{"disable where TLS is a must", strict, "sslmode=disable", "correct user, password, database or sslmode"},
	} {
		src, err := sqldb.Open(context.Background(), strings.Replace(c.server.DSN(), "sslmode=disable", c.options, 1))
		if c.want != "" {
			wantRefused(t, c.name, err, c.want)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		_ = src.Close()
	}
}

// A server that is away may come back, and one that hangs up may be starting: neither is about TLS.
func TestTLSToAServerThatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	for _, address := range []string{closed.Addr().String(), listener.Addr().String()} {
		for _, scheme := range []string{"postgres", "mysql"} {
			_, err := sqldb.Open(context.Background(), scheme+"://reader:hush@"+address+"/shop?sslmode=require")
			if job.KindOf(err) != job.Transient || job.CodeOf(err) != "source_unavailable" || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s at %s: %v, want a transient source_unavailable", scheme, address, err)
			}
		}
	}
}
