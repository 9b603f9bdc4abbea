// Package cloudtest owns the embedded cloud as tests use it: it builds the localstack program, runs it as a child process
// on free ports with a data folder of its own and the repository's template, and says where its table and bucket are. Its
// functions do nothing.
// With SEALIFT_TEST_ENDPOINT set, tests use that LocalStack-compatible endpoint instead, to which the template has been
// deployed with "localstack deploy". Only tests import it; start reading at Start.
package cloudtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// EndpointVariable names the environment variable that points tests at another endpoint.
const EndpointVariable = "SEALIFT_TEST_ENDPOINT"

const (
	region    = "us-east-1"
	stackName = "sealift-test"

	readyWait = 60 * time.Second
	stopWait  = 10 * time.Second
)

// Cloud is a running embedded cloud.
type Cloud struct {
	// Config reaches it as its operator, who may do everything.
	Config aws.Config
	// Endpoint is that of the AWS services, API that of the HTTP API (empty for another endpoint than the embedded one).
	Endpoint string
	API      string
	// Table and Bucket are the template's.
	Table  string
	Bucket string
}

// Start runs a cloud until the test and its subtests end. A test that needs several tests to share one starts it once,
// in their parent.
func Start(t *testing.T) Cloud {
	t.Helper()
	c := Cloud{Endpoint: os.Getenv(EndpointVariable)}
	if c.Endpoint == "" {
		c = launch(t)
	}
	c.Config = aws.Config{
		Region: region, BaseEndpoint: aws.String(c.Endpoint),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
	c.find(t)
	return c
}

// find looks up what the template's resources are called.
func (c *Cloud) find(t *testing.T) {
	t.Helper()
	tables, err := dynamodb.NewFromConfig(c.Config).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		t.Fatalf("list the tables at %s: %v", c.Endpoint, err)
	}
	buckets, err := s3.NewFromConfig(c.Config, func(o *s3.Options) { o.UsePathStyle = true }).ListBuckets(t.Context(), &s3.ListBucketsInput{})
	if err != nil {
		t.Fatalf("list the buckets at %s: %v", c.Endpoint, err)
	}
	var names []string
	for _, bucket := range buckets.Buckets {
		names = append(names, aws.ToString(bucket.Name))
	}
	c.Table = only(t, "table", c.Endpoint, tables.TableNames)
	c.Bucket = only(t, "bucket", c.Endpoint, names)
}

// only is the one name of a Sealift resource among those that an endpoint has.
func only(t *testing.T, what, endpoint string, names []string) string {
	t.Helper()
	var found []string
	for _, name := range names {
		if strings.HasPrefix(strings.ToLower(name), "sealift") {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d Sealift %ss (%v), want one; deploy the template once with: localstack deploy --endpoint %s",
			endpoint, len(found), what, found, endpoint)
	}
	return found[0]
}

func launch(t *testing.T) Cloud {
	t.Helper()
	root := moduleRoot(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "localstack")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join(root, "localstack")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the embedded cloud in %s: %v\n%s\nmend it, or run: make setup", build.Dir, err, text)
	}
	functions := idleFunctions(t, root, dir)
	log, err := os.Create(filepath.Join(dir, "localstack.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(program, "serve", "--json", "--port", "0", "--api-port", "0", "--stack", stackName, "--region", region,
		"--template", filepath.Join(root, "template.yaml"), "--data", filepath.Join(dir, "data"), "--bin", functions)
	command.Stderr = log
	child := run(t, command, log.Name())
	select {
	case ready := <-child.ready:
		return Cloud{Endpoint: ready.Endpoint, API: ready.API}
	case err := <-child.ended:
		child.ended <- err
		t.Fatalf("the embedded cloud ended before it was ready: %v\n%s", err, tail(log.Name()))
	case <-time.After(readyWait):
		t.Fatalf("the embedded cloud is not ready after %s\n%s", readyWait, tail(log.Name()))
	}
	return Cloud{}
}

// idleFunctions makes a stand-in for every function, which ends as soon as it is started: tests of adapters want the
// services alone, and nobody else's hands on what they store.
func idleFunctions(t *testing.T, root, dir string) string {
	t.Helper()
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil || len(mains) == 0 {
		t.Fatalf("no functions below %s, %v; run the test in a whole checkout", filepath.Join(root, "functions"), err)
	}
	functions := filepath.Join(dir, "functions")
	if err := os.Mkdir(functions, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		if err := os.WriteFile(filepath.Join(functions, name), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return functions
}

// ready is the line that the embedded cloud prints when it is usable.
type ready struct {
	Ready    bool   `json:"ready"`
	Endpoint string `json:"endpoint"`
	API      string `json:"api"`
}

// child is the running program.
type child struct {
	ready chan ready
	ended chan error
}

// run starts the program on a thread that lives as long as it does, because the kernel ties the death signal of a child
// to the thread that started it.
func run(t *testing.T, command *exec.Cmd, log string) *child {
	t.Helper()
	c := &child{ready: make(chan ready, 1), ended: make(chan error, 1)}
	command.SysProcAttr = diesWithParent()
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			c.ended <- errors.Join(watch(stdout, c.ready), command.Wait())
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start the embedded cloud: %v", err)
	}
	t.Cleanup(func() { stop(t, command.Process, c, log) })
	return c
}

// watch reads the program's output to its end and passes the ready line on.
func watch(stdout io.Reader, into chan<- ready) error {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var line ready
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Ready {
			into <- line
			break
		}
	}
	_, err := io.Copy(io.Discard, stdout)
	return errors.Join(lines.Err(), err)
}

func stop(t *testing.T, process *os.Process, c *child, log string) {
	t.Helper()
	if t.Failed() {
		t.Logf("the embedded cloud's last words:\n%s", tail(log))
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("stop the embedded cloud: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	select {
	case err := <-c.ended:
		if err != nil {
			t.Errorf("the embedded cloud ended badly: %v", err)
		}
	case <-ctx.Done():
		_ = process.Kill()
		killed := <-c.ended
		t.Errorf("the embedded cloud did not stop within %s and was killed: %v", stopWait, killed)
	}
}

// moduleRoot is the folder of the product's go.mod, above the test's working directory.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module sealift\n") {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			t.Fatal("no go.mod of module sealift above the working directory; run the test inside the repository")
		}
		dir = above
	}
}

// tail is the end of a log file, for the message of a failure.
func tail(path string) string {
	const most = 4000
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	return string(text[max(0, len(text)-most):])
}
