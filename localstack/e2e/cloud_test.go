package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sealift/localstack/cloud"
)

const (
	region = "us-east-1"
	stack  = "sealift"

	readyWait = 2 * time.Minute
	// patience bounds a wait for something that has no lease to wait for, slowWait one that has.
	patience = 2 * time.Minute
	slowWait = 4 * time.Minute
	pause    = 100 * time.Millisecond
)

// world is a running embedded cloud and its operator's clients.
type world struct {
	root, dir, log string
	args           []string
	process        *exec.Cmd
	exited         chan struct{}

	Endpoint string `json:"endpoint"`
	API      string `json:"api"`
	Data     string `json:"data"`

	aws           aws.Config
	table, bucket string
}

// start runs a cloud with the template's functions until the test ends.
func start(t *testing.T, args ...string) *world {
	t.Helper()
	w := &world{root: checkout(t), dir: t.TempDir(), args: args}
	w.log = filepath.Join(w.dir, "cloud.log")
	w.run(t, "0", "0")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the cloud's log:\n%s", tail(w.log))
		}
		w.kill(t)
	})
	w.aws = cloud.AWSConfig(w.Endpoint, region)
	tables, err := dynamodb.NewFromConfig(w.aws).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	ok(t, err)
	buckets, err := w.s3().ListBuckets(t.Context(), &s3.ListBucketsInput{})
	ok(t, err)
	if len(tables.TableNames) != 1 || len(buckets.Buckets) != 1 {
		t.Fatalf("the cloud has %d tables and %d buckets, want one of each", len(tables.TableNames), len(buckets.Buckets))
	}
	w.table, w.bucket = tables.TableNames[0], aws.ToString(buckets.Buckets[0].Name)
	return w
}

// checkout is the repository's root, with everything that "make build" makes.
func checkout(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	ok(t, err)
	for _, program := range []string{"bin/localstack", "bin/sealift", "bin/functions/process-shard/bootstrap"} {
		if _, err := os.Stat(filepath.Join(root, program)); err != nil {
			t.Fatalf("%s is not there; these tests run the built programs: run make build first", program)
		}
	}
	return root
}

// run starts the process and waits until it is usable.
func (w *world) run(t *testing.T, port, apiPort string) {
	t.Helper()
	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ok(t, err)
	defer func() { _ = log.Close() }()
	args := append([]string{"serve", "--json", "--port", port, "--api-port", apiPort, "--stack", stack, "--region", region,
		"--template", filepath.Join(w.root, "template.yaml"), "--bin", filepath.Join(w.root, "bin", "functions"),
		"--data", filepath.Join(w.dir, "data")}, w.args...)
	process, exited := exec.Command(filepath.Join(w.root, "bin", "localstack"), args...), make(chan struct{})
	process.Stderr, process.SysProcAttr = log, diesWithParent()
	stdout, err := process.StdoutPipe()
	ok(t, err)
	started := make(chan error, 1)
	line := make(chan []byte, 1)
	go func() {
		// The kernel ties a child's death signal to the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(exited)
		err := process.Start()
		started <- err
		if err != nil {
			return
		}
		reader := bufio.NewReader(stdout)
		first, _ := reader.ReadBytes('\n')
		line <- first
		_, _ = io.Copy(io.Discard, reader)
		_ = process.Wait()
	}()
	ok(t, <-started)
	w.process, w.exited = process, exited
	select {
	case text := <-line:
		if err := json.Unmarshal(text, w); err != nil {
			t.Fatalf("the cloud did not start: %v\n%s", err, tail(w.log))
		}
	case <-time.After(readyWait):
		t.Fatalf("the cloud is not ready after %s\n%s", readyWait, tail(w.log))
	}
}

// kill ends the cloud as a power cut would.
func (w *world) kill(t *testing.T) {
	t.Helper()
	_ = w.process.Process.Kill()
	select {
	case <-w.exited:
	case <-time.After(patience):
		t.Errorf("the cloud is still there %s after its kill", patience)
	}
}

// restart kills the cloud and starts it on the same data and ports.
func (w *world) restart(t *testing.T) {
	t.Helper()
	w.kill(t)
	w.run(t, portOf(t, w.Endpoint), portOf(t, w.API))
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	ok(t, err)
	_, port, err := net.SplitHostPort(parsed.Host)
	ok(t, err)
	return port
}

func (w *world) s3() *s3.Client {
	return s3.NewFromConfig(w.aws, func(o *s3.Options) { o.UsePathStyle = true })
}

// connect stores a source's address as the secret of a connection.
func (w *world) connect(t *testing.T, connection, dsn string) {
	t.Helper()
	_, err := secretsmanager.NewFromConfig(w.aws).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String(stack + "/connections/" + connection), SecretString: &dsn,
	})
	ok(t, err)
}

// sweep does what the minute's schedule does, now. Another sweep that is under way is as good.
func (w *world) sweep(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := lambda.NewFromConfig(w.aws, func(o *lambda.Options) { o.Retryer = aws.NopRetryer{} }).Invoke(ctx,
		&lambda.InvokeInput{FunctionName: aws.String(stack + "-sweep-orphans"), Payload: []byte("{}")})
	if err != nil && !strings.Contains(err.Error(), "TooManyRequests") {
		t.Fatalf("invoke the sweeper: %v", err)
	}
}

// queue is the URL of one of the stack's queues.
func (w *world) queue(t *testing.T, name string) string {
	t.Helper()
	found, err := sqs.NewFromConfig(w.aws).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String(stack + "-" + name)})
	ok(t, err)
	return aws.ToString(found.QueueUrl)
}

// send puts a message into one of the stack's queues as the operator.
func (w *world) send(t *testing.T, queue, body string) {
	t.Helper()
	_, err := sqs.NewFromConfig(w.aws).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(w.queue(t, queue)), MessageBody: &body})
	ok(t, err)
}

// await asks until done says so, sweeping in between if asked to, and fails the test at the deadline with what was last
// seen.
func await(t *testing.T, within time.Duration, what string, done func() (seen string, over bool)) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(pause) {
		seen, over := done()
		if over {
			return
		}
		last = seen
	}
	t.Fatalf("after %s: %s: last seen: %s", within, what, last)
}

// tail is the end of a log, for the message of a failure.
func tail(path string) string {
	const most = 6000
	text, err := os.ReadFile(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	return string(text[max(0, len(text)-most):])
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
