//go:build !aws

package sqs_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"sealift/localstack/sqs"
)

// childDir names the data directory to a copy of the test binary that is to be
// a queue server until it is killed.
const childDir = "SEALIFT_SQS_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, serveUntilKilled(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func serveUntilKilled(dir string) error {
	engine, err := sqs.Open(dir, sqs.Options{})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	return http.Serve(listener, engine) //nolint:gosec // A test server without timeouts.
}

// child starts a queue server on dir in its own process.
func child(t *testing.T, dir string) (*exec.Cmd, *awssqs.Client) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// It has been killed already unless the test failed before.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("child gave no address: %v", err)
	}
	return cmd, clientOf(strings.TrimSpace(line))
}

func TestKillLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, client := child(t, dir)
	created, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q"), Attributes: map[string]string{"VisibilityTimeout": "3600"}})
	if err != nil {
		t.Fatal(err)
	}
	// Writers send, and every other message is received and deleted again,
	// until the server is killed under them.
	var mu sync.Mutex
	sent, deleted, uncertain := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				body := strconv.Itoa(w) + "-" + strconv.Itoa(i)
				if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: created.QueueUrl, MessageBody: &body}); err != nil {
					return
				}
				mu.Lock()
				sent[body] = true
				mu.Unlock()
				if i%2 == 0 {
					continue
				}
				got, err := client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: created.QueueUrl})
				if err != nil || len(got.Messages) == 0 {
					return
				}
				mu.Lock()
				uncertain[*got.Messages[0].Body] = true
				mu.Unlock()
				if _, err := client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: created.QueueUrl, ReceiptHandle: got.Messages[0].ReceiptHandle}); err != nil {
					return
				}
				mu.Lock()
				deleted[*got.Messages[0].Body] = true
				mu.Unlock()
			}
		})
	}
	time.Sleep(700 * time.Millisecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	if err := cmd.Wait(); err == nil {
		t.Fatal("the server ended by itself")
	}

	b := startIn(t, dir)
	b.clock.advance(2 * time.Hour)
	url := b.queue("q", nil)
	found := map[string]bool{}
	for {
		messages := b.receive(url, 10, 0)
		if len(messages) == 0 {
			break
		}
		for _, m := range messages {
			if found[*m.Body] {
				t.Errorf("%s is there twice", *m.Body)
			}
			found[*m.Body] = true
		}
	}
	for body := range sent {
		if !found[body] && !deleted[body] && !uncertain[body] {
			t.Errorf("%s was sent and is lost", body)
		}
	}
	for body := range deleted {
		if found[body] {
			t.Errorf("%s was deleted and came back", body)
		}
	}
	if len(sent) < 100 || len(deleted) < 50 {
		t.Errorf("only %d sent and %d deleted before the kill: too few to prove anything", len(sent), len(deleted))
	}
	t.Logf("%d sent, %d deleted, %d found after the kill", len(sent), len(deleted), len(found))
}

func TestRestartKeepsStateOfEveryKind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := startIn(t, dir)
	work, _ := bury(b, 3)
	b.send(work, "in flight")
	m := b.one(work, 0)
	if _, err := b.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &work, MessageBody: aws.String("delayed"), DelaySeconds: 600}); err != nil {
		t.Fatal(err)
	}
	b.send(work, "visible")
	if _, err := b.StartMessageMoveTask(t.Context(), &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(arnPrefix + "dead")}); err != nil {
		t.Fatal(err)
	}
	b.stop()

	b = startIn(t, dir)
	work = b.queue("work", nil)
	if got := b.counts(work); got != [3]string{"1", "1", "1"} {
		t.Errorf("after the restart: %v", got)
	}
	b.discard(work, m.ReceiptHandle)
	if got := b.counts(work); got != [3]string{"1", "0", "1"} {
		t.Errorf("a handle from before the restart did not delete: %v", got)
	}
	b.runs()
	waitForTask(b, "COMPLETED")
	if got := b.counts(work); got != [3]string{"4", "0", "1"} {
		t.Errorf("the move task did not go on after the restart: %v", got)
	}
}

func TestSecondEngineOnTheSameDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t)
	_, err := sqs.Open(b.dir, sqs.Options{})
	if err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v, want a refusal that says why", err)
	}
}

func TestSendFromInsideIsAnOrdinaryMessage(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	if err := b.engine.Send(t.Context(), arnPrefix+"q", "hello"); err != nil {
		t.Fatal(err)
	}
	if m := b.one(url, 0); *m.Body != "hello" {
		t.Errorf("received %q", *m.Body)
	}
	for _, arn := range []string{arnPrefix + "missing", "arn:aws:sqs:eu-west-1:000000000000:q", "q"} {
		if err := b.engine.Send(t.Context(), arn, "hello"); err == nil || !strings.Contains(err.Error(), arn) {
			t.Errorf("%s: got %v, want an error that names the target", arn, err)
		}
	}
}
