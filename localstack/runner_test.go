package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestASecondCloudLeavesTheRunningOneItsLogAndMakesNoTable(t *testing.T) {
	t.Parallel()
	data, work := t.TempDir(), t.TempDir()
	held, err := os.Create(filepath.Join(data, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(work, "up.log")
	running, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = running.Close() }()
	write(t, running, "began\n")

	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), []string{"up", "--rows", "10", "--data", data, "--work", work, "--root", ".."}, &stdout, &stderr); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	if !strings.Contains(stderr.String(), "data folder "+data+" is in use by process") {
		t.Errorf("it says %q", stderr.String())
	}
	if tables, _ := filepath.Glob(filepath.Join(work, "*.db")); len(tables) != 0 || stdout.Len() != 0 {
		t.Errorf("it made %v before it knew and said %q", tables, stdout.String())
	}
	write(t, running, "went on\n")
	if text, err := os.ReadFile(path); err != nil || string(text) != "began\nwent on\n" {
		t.Errorf("the running cloud's log is %q (%v)", text, err)
	}
}

func TestALogBeginsAnewWhenNobodyWritesIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "up.log")
	for _, line := range []string{"first\n", "second\n"} {
		log, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, log, line)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != line {
			t.Errorf("the log is %q (%v), want %q", text, err, line)
		}
	}
}

func write(t *testing.T, file *os.File, text string) {
	t.Helper()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
