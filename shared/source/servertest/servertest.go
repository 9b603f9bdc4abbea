// Package servertest owns throw-away database servers for tests: fresh data in a temporary folder, a free loopback port,
// stopped and removed when the test ends, and ended by the kernel when the test process dies. It knows no kind of server
// and imports the standard library only. Start reading at Start.
package servertest

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
	"syscall"
	"testing"
	"time"
)

const (
	startTime = 60 * time.Second
	stopTime  = 10 * time.Second
	pingTime  = time.Second
	pingPause = 20 * time.Millisecond
	// portTries is how often a port is chosen anew because somebody else took it first.
	portTries = 5
)

// Program is a kind of server.
type Program struct {
	// Name is what people call it.
	Name string
	// Users are whom it may run as, as it refuses to run as root; the first that the machine has is taken.
	Users []string
	// Initialise makes the folder data, inside dir.
	Initialise func(dir, data string) *exec.Cmd
	// Serve serves the folder at a loopback port.
	Serve func(dir, data string, port int) *exec.Cmd
	// Ping reports whether it answers.
	Ping func(ctx context.Context, port int) error
	// Stop asks it to end, and Death has it end when the test process is gone.
	Stop, Death syscall.Signal
}

// Start runs a server until tb ends, and returns its port.
func Start(tb testing.TB, p Program) (port int) {
	tb.Helper()
	owner, err := p.owner()
	if err != nil {
		tb.Fatal(err)
	}
	// The test's own folder is closed to other users and its path may be too long for a socket.
	dir, err := os.MkdirTemp("", "servertest")
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
	initialise := p.Initialise(dir, data)
	initialise.Dir = dir
	initialise.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	if out, err := initialise.CombinedOutput(); err != nil {
		tb.Fatalf("%s failed: %v\n%s", filepath.Base(initialise.Path), err, out)
	}
	for range portTries {
		if port, err = freePort(); err == nil {
			err = p.serve(tb, p.Serve(dir, data, port), dir, owner, port)
		}
		if err == nil {
			return port
		}
		tb.Log(err)
	}
	tb.Fatalf("%s didn't start; the messages above say why", p.Name)
	return 0
}

// serve starts the server process and waits until it answers.
func (p Program) serve(tb testing.TB, command *exec.Cmd, dir string, owner *syscall.Credential, port int) error {
	var output bytes.Buffer
	command.Dir = dir
	command.Stdout, command.Stderr = &output, &output
	command.SysProcAttr = diesWithParent(owner, p.Death)
	exited, err := startLocked(command)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(startTime)
	for {
		select {
		case <-exited:
			return fmt.Errorf("%s ended while starting:\n%s", p.Name, output.Bytes())
		default:
		}
		if err = p.ping(port); err == nil {
			tb.Cleanup(func() { p.stop(command, exited) })
			return nil
		}
		if time.Now().After(deadline) {
			p.stop(command, exited)
			return fmt.Errorf("%s doesn't answer: %w", p.Name, err)
		}
		time.Sleep(pingPause)
	}
}

func (p Program) ping(port int) error {
	ctx, cancel := context.WithTimeout(context.Background(), pingTime)
	defer cancel()
	return p.Ping(ctx, port)
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

// stop asks the server to end, waits, and kills it when it takes too long.
func (p Program) stop(command *exec.Cmd, exited <-chan struct{}) {
	_ = command.Process.Signal(p.Stop)
	select {
	case <-exited:
	case <-time.After(stopTime):
		_ = command.Process.Kill()
		<-exited
	}
}

// owner is whom the server runs as: nobody else unless the test runs as root, which servers refuse.
func (p Program) owner() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range p.Users {
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
	return nil, fmt.Errorf("the test runs as root, which %s refuses, and there is no user %s to run it as; create one or run the tests as another user",
		p.Name, strings.Join(p.Users, " or "))
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
