// Package mytest owns a throw-away MariaDB server for tests: fresh data in a temporary folder, a free loopback port,
// stopped and removed when the test ends, and killed by the kernel when the test process dies. Start reading at Start. It
// imports the standard library and the MySQL client only.
package mytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
)

const (
	startTime = 60 * time.Second
	// portTries is how often a port is chosen anew because somebody else took it first.
	portTries = 5
	// statementsMax is how many statements Exec sends over one connection at most; longer lists are a mistake.
	statementsMax = 10_000
)

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
	owner, err := unprivileged()
	if err != nil {
		tb.Fatal(err)
	}
	// The test's own folder is closed to other users and its path may be too long for a socket.
	dir, err := os.MkdirTemp("", "mytest")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	initialise := exec.Command(install, append([]string{
		"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=8M",
	}, hasty()...)...)
	initialise.Dir = dir
	initialise.Env = append(os.Environ(), "TMPDIR="+dir)
	initialise.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	if out, err := initialise.CombinedOutput(); err != nil {
		tb.Fatalf("mariadb-install-db failed: %v\n%s", err, out)
	}
	for range portTries {
		s, err := serve(tb, server, dir, data, owner, options)
		if err == nil {
			return s
		}
		tb.Log(err)
	}
	tb.Fatal("MariaDB didn't start; the messages above say why")
	return nil
}

// hasty are options of a server whose data nobody needs after a crash.
func hasty() []string {
	return []string{"--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--skip-log-bin"}
}

// serve starts the server process on a port that is free now.
func serve(tb testing.TB, server, dir, data string, owner *syscall.Credential, options []string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	arguments := append([]string{
		"--no-defaults", "--datadir=" + data, "--tmpdir=" + dir, "--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"),
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port), "--skip-name-resolve", "--innodb-buffer-pool-size=128M",
		"--innodb-log-file-size=64M", "--max-allowed-packet=128M", "--max-connections=200", "--default-time-zone=+08:00",
	}, append(hasty(), options...)...)
	command := exec.Command(server, arguments...)
	command.Dir = dir
	command.Stdout, command.Stderr = &output, &output
	command.SysProcAttr = diesWithParent(owner)
	exited, err := startLocked(command)
	if err != nil {
		return nil, err
	}
	s := &Server{port: port}
	deadline := time.Now().Add(startTime)
	for {
		select {
		case <-exited:
			return nil, fmt.Errorf("mariadbd ended while starting:\n%s", output.Bytes())
		default:
		}
		if err = s.ping(); err == nil {
			break
		}
		if time.Now().After(deadline) {
			stop(command, exited)
			return nil, fmt.Errorf("mariadbd doesn't answer: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	tb.Cleanup(func() { stop(command, exited) })
	return s, nil
}

// startLocked starts the process from a thread that lives as long as the process, because the kernel takes the end of
// the starting thread for the end of the parent.
func startLocked(command *exec.Cmd) (exited <-chan struct{}, err error) {
	started := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait()
		}
	}()
	return done, <-started
}

// stop ends the server. Its data goes with the test, so nothing has to be written first.
func stop(command *exec.Cmd, exited <-chan struct{}) {
	_ = command.Process.Kill()
	<-exited
}

func (s *Server) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := connect(ctx, s.address(), "")
	if err != nil {
		return err
	}
	return conn.Quit()
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

// unprivileged is whom the server runs as: nobody else unless the test runs as root, which MariaDB refuses.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"mysql", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(found.Gid, 10, 32)
		if errUID == nil && errGID == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("the test runs as root, which MariaDB refuses, and there is no user mysql or nobody to run it as; " +
		"create one or run the tests as another user")
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("the listener has no TCP address")
	}
	return address.Port, nil
}
