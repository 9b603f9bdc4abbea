// Package pgtest owns a throw-away PostgreSQL server for tests. It imports servertest, which says what becomes of it, and
// pgconn. Start reading at Start.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"sealift/shared/source/servertest"
)

// Server is a running server.
type Server struct {
	port    int
	schemas atomic.Int64
}

// Start runs a server until tb ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	bin, err := binaries()
	if err != nil {
		tb.Fatal(err)
	}
	port := servertest.Start(tb, servertest.Program{
		Name: "PostgreSQL", Users: []string{"postgres", "nobody"},
		Initialise: func(_, data string) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "initdb"), "--pgdata="+data, "--auth=trust", "--username=postgres",
				"--encoding=UTF8", "--locale=C", "--no-sync")
		},
		Serve: func(dir, data string, port int) *exec.Cmd {
			return exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port),
				"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+dir, "-c", "fsync=off",
				"-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "shared_buffers=64MB",
				"-c", "max_connections=60", "-c", "autovacuum=off", "-c", "timezone=Asia/Shanghai")
		},
		Ping: func(ctx context.Context, port int) error {
			conn, err := pgconn.Connect(ctx, (&Server{port: port}).DSN())
			if err != nil {
				return err
			}
			return conn.Close(ctx)
		},
		// A fast shutdown, and an immediate one.
		Stop: syscall.SIGINT, Death: syscall.SIGQUIT,
	})
	return &Server{port: port}
}

// DSN is the connection string of the server's superuser.
func (s *Server) DSN() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
}

// Schema creates an empty schema and returns a connection string whose unqualified names live in it.
func (s *Server) Schema(tb testing.TB) string {
	tb.Helper()
	name := "t" + strconv.FormatInt(s.schemas.Add(1), 10)
	Exec(tb, s.DSN(), "CREATE SCHEMA "+name)
	return s.DSN() + "&search_path=" + name + ",public"
}

// Exec runs SQL, several statements at once if need be.
func Exec(tb testing.TB, dsn string, statements ...string) {
	tb.Helper()
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, text := range statements {
		if _, err := conn.Exec(ctx, text).ReadAll(); err != nil {
			tb.Fatalf("%.300s: %v", text, err)
		}
	}
}

// binaries finds the folder of initdb and postgres: the newest of Debian's, else the one on PATH.
func binaries() (string, error) {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	sort.Slice(folders, func(i, j int) bool { return version(folders[i]) > version(folders[j]) })
	if path, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, "initdb")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, "postgres")); err == nil {
			return folder, nil
		}
	}
	return "", errors.New("these tests need a PostgreSQL server and found no initdb on PATH or in /usr/lib/postgresql; install " +
		"one with: make setup (on Debian: apt-get install -y postgresql)")
}

func version(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return n
}
