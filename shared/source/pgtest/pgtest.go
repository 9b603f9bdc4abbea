// Package pgtest owns a throw-away PostgreSQL server for tests: a fresh cluster in a temporary folder on a free
// loopback port, stopped and removed when the test ends, and killed by the kernel when the test process dies. Start
// reading at Start. It imports the standard library and pgconn only.
package pgtest

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
	"sort"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	startTime = 60 * time.Second
	// portTries is how often a port is chosen anew because somebody else took it first.
	portTries = 5
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
	owner, err := unprivileged()
	if err != nil {
		tb.Fatal(err)
	}
	// The test's own folder is closed to other users and its path may be too long for a socket.
	dir, err := os.MkdirTemp("", "pgtest")
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
	initialise := exec.Command(filepath.Join(bin, "initdb"), "--pgdata="+data, "--auth=trust", "--username=postgres",
		"--encoding=UTF8", "--locale=C", "--no-sync")
	initialise.Dir = dir
	initialise.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	if out, err := initialise.CombinedOutput(); err != nil {
		tb.Fatalf("initdb failed: %v\n%s", err, out)
	}
	for range portTries {
		s, err := serve(tb, bin, dir, data, owner)
		if err == nil {
			return s
		}
		tb.Log(err)
	}
	tb.Fatal("PostgreSQL didn't start; the messages above say why")
	return nil
}

// serve starts the server process on a port that is free now.
func serve(tb testing.TB, bin, dir, data string, owner *syscall.Credential) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	command := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+dir, "-c", "fsync=off",
		"-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "shared_buffers=64MB",
		"-c", "max_connections=60", "-c", "autovacuum=off", "-c", "timezone=Asia/Shanghai")
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
			return nil, fmt.Errorf("postgres ended while starting:\n%s", output.Bytes())
		default:
		}
		if err = s.ping(); err == nil {
			break
		}
		if time.Now().After(deadline) {
			stop(command, exited)
			return nil, fmt.Errorf("postgres doesn't answer: %w", err)
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

// stop asks for a fast shutdown and waits.
func stop(command *exec.Cmd, exited <-chan struct{}) {
	_ = command.Process.Signal(syscall.SIGINT)
	select {
	case <-exited:
	case <-time.After(10 * time.Second):
		_ = command.Process.Kill()
		<-exited
	}
}

func (s *Server) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := pgconn.Connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
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

// unprivileged is whom the server runs as: nobody else unless the test runs as root, which PostgreSQL refuses.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
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
	return nil, errors.New("the test runs as root, which PostgreSQL refuses, and there is no user postgres or nobody to run it as; " +
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
