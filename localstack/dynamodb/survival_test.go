//go:build !aws

package dynamodb_test

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
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sealift/localstack/dynamodb"
)

// childDir is the environment variable that makes the test binary an engine on that directory.
const childDir = "DYNAMODB_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, serve(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// serve runs an engine until the process is killed; its address is the first line of output.
func serve(dir string) error {
	engine, err := dynamodb.Open(dir, options(time.Now))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	return (&http.Server{Handler: engine, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

// child starts the engine in a process of its own.
func child(t *testing.T, dir string) (*cloud, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(line)
	return &cloud{Client: newClient(url), url: url}, cmd
}

func TestARestartKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	func() {
		c, cmd := child(t, dir)
		c.create(t, "table")
		c.put(t, item{"pk": "a", "sk": "b", "gpk": "g", "gsk": 1})
		_, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{ClientRequestToken: aws.String("token"), TransactItems: []types.TransactWriteItem{updateAction(key("a", "b"), "ADD n :v", item{":v": 1})}})
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}()
	c := start(t, dir, time.Now)
	_, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{ClientRequestToken: aws.String("token"), TransactItems: []types.TransactWriteItem{updateAction(key("a", "b"), "ADD n :v", item{":v": 1})}})
	if err != nil {
		t.Fatal(err)
	}
	want := wantItem(item{"pk": "a", "sk": "b", "gpk": "g", "gsk": 1, "n": 1})
	same(t, c.get(t, "a", "b"), want)
	same(t, c.indexed(t, "all"), []item{want})
}

// TestKillLosesNothingThatWasAnswered kills the engine amid the writes of eight clients,
// several times, and compares what it then holds with what it had answered.
func TestKillLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const clients, rounds = 8, 5
	answered := make([]int, clients)
	sent := make([]int, clients)
	for round := range rounds {
		c, cmd := child(t, dir)
		if round == 0 {
			c.create(t, "table")
		}
		var clientsDone sync.WaitGroup
		for i := range clients {
			clientsDone.Go(func() {
				for {
					sent[i]++
					_, err := c.TransactWriteItems(t.Context(), &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
						updateAction(key(asJSON(i), "counter"), "SET n = :n, gpk = :g, gsk = :n", item{":n": sent[i], ":g": "g"}),
						putAction(item{"pk": asJSON(i), "sk": fmt.Sprintf("%08d", sent[i]), "x": strings.Repeat("x", 2000)}, ""),
					}})
					if err != nil {
						return
					}
					answered[i] = sent[i]
				}
			})
		}
		time.Sleep(300 * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		clientsDone.Wait()
	}
	c := start(t, dir, time.Now)
	total := 0
	for i := range clients {
		n, _ := strconv.Atoi(string(c.get(t, asJSON(i), "counter")["n"].(number)))
		if n < answered[i] || n > sent[i] {
			t.Errorf("client %d: the counter is %d, answered was %d, sent was %d", i, n, answered[i], sent[i])
		}
		if c.get(t, asJSON(i), fmt.Sprintf("%08d", n)) == nil || c.get(t, asJSON(i), fmt.Sprintf("%08d", n+1)) != nil {
			t.Errorf("client %d: half of a transaction is missing or too much", i)
		}
		total += answered[i]
	}
	same(t, len(c.indexed(t, "all")), clients)
	if total < clients*rounds {
		t.Errorf("only %d transactions were answered", total)
	}
	t.Logf("%d transactions answered in %d lives", total, rounds)
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	if _, err := dynamodb.Open(t.TempDir(), dynamodb.Options{}); err == nil || !strings.Contains(err.Error(), "Options need Now") {
		t.Errorf("got %v", err)
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dynamodb.Open(file, options(time.Now)); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}
