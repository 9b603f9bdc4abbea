package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stack is a running embedded cloud with the built functions and nothing in it but the definitions.
type stack struct {
	root, dir string
	cmd       *exec.Cmd
	exited    chan struct{}

	Endpoint string `json:"endpoint"`
	API      string `json:"api"`
	Data     string `json:"data"`

	user, operator string
}

const stackStopWait = 20 * time.Second

// startStack runs the cloud with as many workers at a time on fresh data below dir. It ends with this program at the latest.
func startStack(ctx context.Context, root, dir string, workers int) (*stack, error) {
	data, err := os.MkdirTemp(dir, "cloud-")
	if err != nil {
		return nil, err
	}
	s := &stack{root: root, dir: data, exited: make(chan struct{})}
	if err := s.start(max(workers, leastConcurrency)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	if err := s.equip(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// leastConcurrency is the least that an event source mapping of SQS may be limited to. One worker is had by planning one shard.
const leastConcurrency = 2

func (s *stack) start(concurrency int) error {
	s.cmd = exec.Command(filepath.Join(s.root, "bin", "localstack"), "serve", "--json", "--port", "0", "--api-port", "0", //nolint:noctx // stop ends it
		"--template", filepath.Join(s.root, "template.yaml"), "--bin", filepath.Join(s.root, "bin", "functions"), "--data", filepath.Join(s.dir, "data"),
		"--log", s.logPath(), "--param", "BulkConcurrency="+strconv.Itoa(concurrency))
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var diagnostics bytes.Buffer
	s.cmd.Stderr = &diagnostics
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	started, first := make(chan error, 1), make(chan []byte, 1)
	go func() {
		// The kernel ties a child's death signal to the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.exited)
		err := s.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		reader := bufio.NewReader(stdout)
		line, _ := reader.ReadBytes('\n')
		first <- line
		_, _ = io.Copy(io.Discard, reader)
		_ = s.cmd.Wait()
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start the embedded cloud: %w; run make build first", err)
	}
	if err := json.Unmarshal(<-first, s); err != nil {
		<-s.exited
		return fmt.Errorf("the embedded cloud did not start: %s", lastLine(diagnostics.String()))
	}
	return nil
}

func (s *stack) logPath() string { return filepath.Join(s.dir, "log") }

// stop ends the cloud and removes its data.
func (s *stack) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.exited:
	case <-time.After(stackStopWait):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	return os.RemoveAll(s.dir)
}

// equip mints the tokens.
func (s *stack) equip(ctx context.Context) (err error) {
	token := func(args ...string) string {
		out, failed := s.sealift(ctx, append([]string{"token", "--issuer", s.Endpoint + "/_issuer", "--issuer-key", filepath.Join(s.Data, "issuer", "key.pem")}, args...)...)
		err = errors.Join(err, failed)
		return strings.TrimSpace(out)
	}
	s.user = token("--tenant", tenant, "--subject", "bench")
	s.operator = token("--tenant", "operations", "--subject", "bench-operator", "--role", "sealift:operator")
	return err
}

// sealift runs the command line as the operator and returns what it prints.
func (s *stack) sealift(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.root, "bin", "sealift"), args...)
	cmd.Env = append(cmd.Environ(), "SEALIFT_ENDPOINT="+s.API, "SEALIFT_TOKEN="+s.operator)
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("sealift %s: %w: %s", args[0], err, strings.Join(strings.Fields(diagnostics.String()), " "))
	}
	return string(out), nil
}

// connect tells the cloud where the table is.
func (s *stack) connect(ctx context.Context, dsn string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(s.root, "bin", "localstack"), "connect", "--endpoint", s.Endpoint, "--name", "bench")
	cmd.Stdin = strings.NewReader(dsn + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tell the cloud where the table is: %w: %s", err, out)
	}
	return nil
}

const definitionName = "orders.yaml"

// define applies a definition of the table for one format.
func (s *stack) define(ctx context.Context, f form, shardRows int64) error {
	path := filepath.Join(s.dir, definitionName)
	if err := os.WriteFile(path, []byte(definition(f, shardRows)), 0o600); err != nil {
		return err
	}
	_, err := s.sealift(ctx, "definitions", "apply", path)
	return err
}

// definition is the contract that is measured: every column as it is, no mask, no filter.
func definition(f form, shardRows int64) string {
	return `name: orders
title: Orders
lane: bulk
source:
  connection: bench
  table: orders
  tenant_column: {name: tenant_id, kind: string}
  time_column: {name: placed_at, kind: timestamp}
  key:
    - {name: placed_at, kind: timestamp}
    - {name: id, kind: int64}
consistency:
  kind: cutoff
  promise: The table does not change while it is measured.
columns:
  - {name: id, kind: int64}
  - {name: tenant_id, kind: string}
  - {name: order_no, kind: string}
  - {name: placed_at, kind: timestamp}
  - {name: status, kind: string}
  - {name: customer, kind: string}
  - {name: email, kind: string}
  - {name: country, kind: string}
  - {name: amount, kind: decimal, scale: 2}
  - {name: items, kind: int64}
  - {name: shipped_at, kind: timestamp}
  - {name: note, kind: string}
formats: [` + f.format + `]
compressions: [` + f.compression + `]
limits:
  span_days_max: 366
  rows_max: 1000000000
  active_jobs_max: 100
  downloads_max: 50
  retention_days: 7
  shard_rows: ` + strconv.FormatInt(shardRows, 10) + `
  link_seconds_max: 300
`
}

// ask sends a request to the API as the user and decodes the answer, whose status must be the wanted one.
func (s *stack) ask(ctx context.Context, method, path string, want int, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, s.API+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.user)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", strconv.Quote(fmt.Sprint("bench-", time.Now().UnixNano())))
	}
	return fetch(request, want, into)
}

// own asks the cloud itself.
func (s *stack) own(ctx context.Context, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, s.Endpoint+path, nil)
	if err != nil {
		return err
	}
	return fetch(request, http.StatusOK, into)
}

func fetch(request *http.Request, want int, into any) error {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != want {
		return fmt.Errorf("%s %s: status %d, want %d: %s", request.Method, request.URL.Path, response.StatusCode, want, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
