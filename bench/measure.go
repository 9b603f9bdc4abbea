package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sample is one measurement of one line.
type sample struct {
	Rows     int64   `json:"rows"`
	OutBytes int64   `json:"out_bytes"`
	Seconds  float64 `json:"seconds"`
	// OwnSeconds is processor time on the exporter's side, CloudSeconds that of the embedded cloud, ServerSeconds that of the database.
	OwnSeconds    float64 `json:"own_cpu_seconds"`
	CloudSeconds  float64 `json:"cloud_cpu_seconds,omitempty"`
	ServerSeconds float64 `json:"server_cpu_seconds"`
	// FunctionSeconds is the share of the functions that still live in OwnSeconds.
	FunctionSeconds map[string]float64 `json:"function_cpu_seconds,omitempty"`
	// PeakBytes is the largest resident set by process.
	PeakBytes map[string]int64 `json:"peak_bytes"`
	HeapBytes int64            `json:"heap_bytes,omitempty"`
	// Calls are those of the cloud.
	Calls []called `json:"calls,omitempty"`
}

// meter measures what happens between its start and done.
type meter struct {
	server int
	before float64
	start  time.Time
}

func startMeter(server int) (*meter, error) {
	own, children, err := spent(server)
	return &meter{server: server, before: own + children, start: time.Now()}, err
}

// done says how long it took and what the database spent on it.
func (m *meter) done() (seconds, serverSeconds float64, err error) {
	seconds = time.Since(m.start).Seconds()
	// A connection that was just closed may not have been counted yet.
	time.Sleep(serverSettle)
	own, children, err := spent(m.server)
	return seconds, own + children - m.before, err
}

const serverSettle = 50 * time.Millisecond

// command runs a program, or several as a shell has them, and measures it with all it starts. Its standard output is returned.
func command(ctx context.Context, server int, name string, args ...string) (sample, []byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	// An interrupt ends what the shell has started too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	m, err := startMeter(server)
	if err != nil {
		return sample{}, nil, err
	}
	if err := cmd.Run(); err != nil {
		return sample{}, nil, fmt.Errorf("%s: %w: %s", name, err, lastLine(diagnostics.String()))
	}
	seconds, serverSeconds, err := m.done()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if err == nil && !ok {
		err = errors.New("this system doesn't say what a process used; measure on Linux")
	}
	var self syscall.Rusage
	if err := errors.Join(err, syscall.Getrusage(syscall.RUSAGE_SELF, &self)); err != nil {
		return sample{}, nil, err
	}
	peaks := map[string]int64{}
	// A child's peak begins with that of its parent at the fork (getrusage(2)); what is no larger says nothing.
	if most := usage.Maxrss << 10; most > self.Maxrss<<10 {
		peaks["largest"] = most
	}
	return sample{
		Seconds: seconds, ServerSeconds: serverSeconds,
		OwnSeconds: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		PeakBytes:  peaks,
	}, out.Bytes(), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// pipeline measures a shell's pipeline whose last program prints how many bytes there were.
func pipeline(ctx context.Context, server int, rows int64, text string) (sample, error) {
	s, out, err := command(ctx, server, "bash", "-c", "set -euo pipefail; "+text)
	if err != nil {
		return s, err
	}
	s.Rows = rows
	s.OutBytes, err = strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return s, err
}

// again measures a copy of this program that does one piece of work.
func again(ctx context.Context, server int, args ...string) (sample, yield, error) {
	self, err := os.Executable()
	if err != nil {
		return sample{}, yield{}, err
	}
	s, out, err := command(ctx, server, self, append([]string{childWord}, args...)...)
	if err != nil {
		return s, yield{}, err
	}
	var y yield
	if err := json.Unmarshal(out, &y); err != nil {
		return s, y, fmt.Errorf("read what %q reports: %w", args, err)
	}
	s.Rows, s.OutBytes, s.HeapBytes = y.Rows, y.OutBytes, y.HeapBytes
	s.PeakBytes = map[string]int64{"largest": y.PeakBytes}
	return s, y, nil
}

// childWord begins the arguments of a copy of this program that is measured.
const childWord = "do"
