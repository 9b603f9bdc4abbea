package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sealift/localstack/lambda"
	"sealift/localstack/template"
)

// safeBuffer is a bytes.Buffer that the host and a test may share.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// probe is the test function as a template would describe it.
func probe(change ...func(*template.Function)) template.Function {
	f := template.Function{
		LogicalID: "Probe", Name: "stack-probe", ARN: "arn:aws:lambda:us-east-1:000000000000:function:stack-probe", CodeURI: "functions/probe/",
		Handler: "bootstrap", Runtime: "provided.al2023", MemoryMiB: 128, Timeout: 20 * time.Second, Env: map[string]string{"TABLE_NAME": "ledger"},
		Async: template.AsyncInvoke{RetriesMax: 2, EventAgeMax: time.Hour},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func ids() func() string {
	var mu sync.Mutex
	n := 0
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
	}
}

// start runs a host for one function until the test ends.
func start(t *testing.T, bin string, f template.Function, change ...func(*lambda.Options)) (*lambda.Host, func()) {
	t.Helper()
	opt := lambda.Options{
		BinDir: bin, Region: "us-east-1", AccountID: "000000000000", Endpoint: "http://127.0.0.1:4566",
		Output: io.Discard, Logger: slog.New(slog.DiscardHandler), Now: time.Now, NewID: ids(), RetryDelay: time.Millisecond,
	}
	for _, c := range change {
		c(&opt)
	}
	h, err := lambda.New([]template.Function{f}, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the host did not stop within 20 s")
		}
	})
	t.Cleanup(stop)
	return h, stop
}

type answer struct {
	Value     string   `json:"value"`
	PID       int      `json:"pid"`
	Env       []string `json:"env"`
	Remaining int64    `json:"remaining_ms"`
	ARN       string   `json:"arn"`
	Trace     string   `json:"trace"`
}

func invoke(t *testing.T, h *lambda.Host, event string) lambda.Response {
	t.Helper()
	response, err := h.Invoke(t.Context(), "stack-probe", []byte(event))
	if err != nil {
		t.Fatalf("invoke %s: %v", event, err)
	}
	return response
}

func succeed(t *testing.T, h *lambda.Host, event string) answer {
	t.Helper()
	response := invoke(t, h, event)
	if response.FunctionError != "" {
		t.Fatalf("invoke %s failed: %s", event, response.Payload)
	}
	var out answer
	if err := json.Unmarshal(response.Payload, &out); err != nil {
		t.Fatalf("answer %s: %v", response.Payload, err)
	}
	return out
}

// failure is Lambda's error object.
type failure struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

func fail(t *testing.T, h *lambda.Host, event string) (failure, lambda.Response) {
	t.Helper()
	response := invoke(t, h, event)
	if response.FunctionError != "Unhandled" {
		t.Fatalf("invoke %s: FunctionError %q, want Unhandled; payload %.200s", event, response.FunctionError, response.Payload)
	}
	var out failure
	if err := json.Unmarshal(response.Payload, &out); err != nil {
		t.Fatalf("error object %s: %v", response.Payload, err)
	}
	return out, response
}

// running says whether a process exists and is no zombie.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(after, "Z")
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if check() {
			return
		}
	}
	t.Errorf("after 10 s not yet: %s", what)
}
