// Package mytest owns a throw-away MariaDB server for tests. It imports servertest, which says what becomes of it, and the
// MySQL client. Start reading at Start.
package mytest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/go-mysql-org/go-mysql/client"

	"sealift/shared/source/servertest"
)

// statementsMax is how many statements Exec sends over one connection at most; longer lists are a mistake.
const statementsMax = 10_000

// Server is a running server.
type Server struct {
	port    int
	schemas atomic.Int64
}

// Start runs a server until tb ends. More options of mariadbd may follow, as in --max-connections=5.
func Start(tb testing.TB, options ...string) *Server {
	tb.Helper()
	server, install, err := programs()
	if err != nil {
		tb.Fatal(err)
	}
	port := servertest.Start(tb, servertest.Program{
		Name: "MariaDB", Users: []string{"mysql", "nobody"},
		Initialise: func(dir, data string) *exec.Cmd {
			command := exec.Command(install, append([]string{
				"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=8M",
			}, hasty()...)...)
			command.Env = append(os.Environ(), "TMPDIR="+dir)
			return command
		},
		Serve: func(dir, data string, port int) *exec.Cmd {
			return exec.Command(server, append(append([]string{
				"--no-defaults", "--datadir=" + data, "--tmpdir=" + dir, "--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"),
				"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port), "--skip-name-resolve", "--innodb-buffer-pool-size=128M",
				"--innodb-log-file-size=64M", "--max-allowed-packet=128M", "--max-connections=200", "--default-time-zone=+08:00",
			}, hasty()...), options...)...)
		},
		Ping: func(ctx context.Context, port int) error {
			conn, err := connect(ctx, (&Server{port: port}).address(), "")
			if err != nil {
				return err
			}
			return conn.Quit()
		},
		// Its data goes with the test, so nothing has to be written first.
		Stop: syscall.SIGKILL, Death: syscall.SIGKILL,
	})
	return &Server{port: port}
}

// hasty are options of a server whose data nobody needs after a crash.
func hasty() []string {
	return []string{"--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--skip-log-bin"}
}

func (s *Server) address() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

// DSN is the connection string of the server's superuser, without a database.
func (s *Server) DSN() string { return "mysql://root@" + s.address() + "/?sslmode=disable" }

// Schema creates an empty database and returns a connection string to it.
func (s *Server) Schema(tb testing.TB) string {
	tb.Helper()
	name := "t" + strconv.FormatInt(s.schemas.Add(1), 10)
	Exec(tb, s.DSN(), "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
	return strings.Replace(s.DSN(), "/?", "/"+name+"?", 1)
}

// Exec runs statements one after the other over one connection, as the superuser of the server that dsn names.
func Exec(tb testing.TB, dsn string, statements ...string) {
	tb.Helper()
	Query(tb, dsn, statements...)
}

// Query runs statements and returns the first field of the last one's rows as text.
func Query(tb testing.TB, dsn string, statements ...string) (values []string) {
	tb.Helper()
	if len(statements) > statementsMax {
		tb.Fatalf("%d statements are too many", len(statements))
	}
	_, rest, _ := strings.Cut(dsn, "@")
	address, rest, _ := strings.Cut(rest, "/")
	database, _, _ := strings.Cut(rest, "?")
	conn, err := connect(context.Background(), address, database)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Quit() }()
	for _, text := range append([]string{"SET NAMES utf8mb4", "SET time_zone = '+00:00'"}, statements...) {
		result, err := conn.Execute(text)
		if err != nil {
			tb.Fatalf("%.300s: %v", text, err)
		}
		values = nil
		if result.Resultset == nil {
			continue
		}
		for _, row := range result.Values {
			value := row[0].Value()
			if text, ok := value.([]byte); ok {
				value = string(text)
			}
			values = append(values, fmt.Sprint(value))
		}
	}
	return values
}

func connect(ctx context.Context, address, database string) (*client.Conn, error) {
	var dialer net.Dialer
	return client.ConnectWithDialer(ctx, "tcp", address, "root", "", database, dialer.DialContext)
}

// programs finds the server and its installer: on PATH, or where Debian puts the server.
func programs() (server, install string, err error) {
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd"} {
		if server, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err == nil {
		install, err = exec.LookPath("mariadb-install-db")
	}
	if err == nil {
		// The script above runs it, and some systems pack it apart.
		_, err = exec.LookPath("my_print_defaults")
	}
	if err != nil {
		return "", "", errors.New("these tests need a MariaDB server and found no mariadbd, mariadb-install-db or my_print_defaults on PATH or in /usr/sbin; install " +
			"one with: make setup (on Debian: apt-get install -y mariadb-server-core mariadb-client-core)")
	}
	return server, install, nil
}
