package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/localstack/lambda"
	"sealift/localstack/template"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("LAMBDA_TEST_HOST_BIN"); dir != "" {
		hostUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

// TestHost builds one real function binary and runs the host's rules against it.
func TestHost(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "probe", "bootstrap"), "./testdata/function")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test function: %v\n%s", err, out)
	}
	for _, rule := range []struct {
		name string
		test func(*testing.T, string)
	}{
		{"a function answers and its process serves the next invocation", testReuse},
		{"a function sees its own environment and nothing of the host's", testEnvironment},
		{"a handler's error and panic are reported and the function goes on", testHandlerErrors},
		{"a process that exits in an invocation is a crash, the next one is served", testCrash},
		{"a process over its memory size is killed and reported as out of memory", testMemory},
		{"a process under its memory size lives and its peak is known", testPeak},
		{"a process over its timeout is killed and reported as timed out", testTimeout},
		{"a process that exits in init fails the invocation with the exit status", testInitExit},
		{"a process that never becomes ready fails after the init timeout", testInitHang},
		{"a response over 6 MB is refused, one just under passes", testResponseSize},
		{"reserved concurrency throttles and frees its slot", testReserved},
		{"parallel invocations get processes of their own", testParallel},
		{"idle processes are reaped", testReap},
		{"a killed process is replaced", testKill},
		{"a missing binary says how to build it", testMissingBinary},
		{"output lines carry the function's name and every invocation a report", testOutput},
		{"stopping ends every process, one that ignores SIGTERM too", testStop},
		{"a process with an extension hears SIGTERM when it is stopped, idle or over its timeout", testWarned},
		{"a process without an extension is killed without a warning", testNotWarned},
		{"the Extensions API refuses what it does not serve", testExtensionRefusals},
		{"a caller that gives up does not stop the invocation", testCallerGone},
		{"no process outlives a host that is killed", testHostKilled},
		{"an event that fails is repeated and then handed to its destination", testEventFails},
		{"a throttled event waits and succeeds", testEventThrottled},
		{"the AWS SDK can invoke, list and get functions", testAPI},
	} {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			rule.test(t, bin)
		})
	}
}

func testReuse(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	first := succeed(t, h, `{"value":"a"}`)
	second := succeed(t, h, `{"value":"b"}`)
	if first.Value != "a" || second.Value != "b" {
		t.Errorf("answers %q and %q, want a and b", first.Value, second.Value)
	}
	if first.PID != second.PID {
		t.Errorf("two processes (%d, %d) served two invocations that followed each other", first.PID, second.PID)
	}
	if stats := h.Stats()[0]; stats.ColdStarts != 1 || stats.Invocations != 2 || stats.Errors != 0 {
		t.Errorf("stats %+v, want one cold start, two invocations, no error", stats)
	}
	if _, err := h.Invoke(t.Context(), "stack-other", nil); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("unknown function: %v, want ErrNotFound", err)
	}
	if _, err := h.Invoke(t.Context(), "stack-probe", []byte(`{`)); !errors.Is(err, lambda.ErrInvalidJSON) {
		t.Errorf("malformed payload: %v, want ErrInvalidJSON", err)
	}
}

func testEnvironment(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	got := succeed(t, h, `{"do":"facts"}`)
	env := map[string]string{}
	for _, pair := range got.Env {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	for name, want := range map[string]string{
		"TABLE_NAME": "ledger", "AWS_LAMBDA_FUNCTION_NAME": "stack-probe", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128", "AWS_REGION": "us-east-1",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_SESSION_TOKEN": "function/stack-probe", "TZ": ":UTC", "_HANDLER": "bootstrap",
		"AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "LAMBDA_TASK_ROOT": filepath.Join(bin, "probe"),
	} {
		if env[name] != want {
			t.Errorf("%s = %q, want %q", name, env[name], want)
		}
	}
	for name := range env {
		known := strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "LAMBDA_") || strings.HasPrefix(name, "_X_AMZN")
		if !known && !slices.Contains([]string{"TABLE_NAME", "TZ", "LANG", "PATH", "TMPDIR", "_HANDLER"}, name) {
			t.Errorf("variable %s leaked from the host", name)
		}
	}
	if got.Remaining < 15_000 || got.Remaining > 20_000 {
		t.Errorf("remaining time %d ms, want just under 20 s", got.Remaining)
	}
	if got.ARN != "arn:aws:lambda:us-east-1:000000000000:function:stack-probe" {
		t.Errorf("invoked ARN %q", got.ARN)
	}
	if !strings.HasPrefix(got.Trace, "Root=1-") || !strings.Contains(got.Trace, ";Parent=") {
		t.Errorf("trace header %q is not X-Ray's", got.Trace)
	}
}

func testHandlerErrors(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	before := succeed(t, h, `{}`)
	got, _ := fail(t, h, `{"do":"error"}`)
	if diff := cmp.Diff(failure{Type: "errorString", Message: "the handler's error"}, got); diff != "" {
		t.Errorf("error object (-want +got):\n%s", diff)
	}
	if after := succeed(t, h, `{}`); after.PID != before.PID {
		t.Error("a returned error ended the process")
	}
	got, _ = fail(t, h, `{"do":"panic"}`)
	if got.Message != "the handler's bug" {
		t.Errorf("panic reported as %+v", got)
	}
	if after := succeed(t, h, `{"value":"alive"}`); after.Value != "alive" {
		t.Errorf("answer after a panic %+v", after)
	}
}

func testCrash(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	got, _ := fail(t, h, `{"do":"exit"}`)
	if got.Type != "Runtime.ExitError" || !strings.Contains(got.Message, "exit status 7") {
		t.Errorf("crash reported as %+v", got)
	}
	succeed(t, h, `{}`)
}

func testMemory(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	got, response := fail(t, h, `{"do":"allocate","size":2000}`)
	if got.Type != "Runtime.OutOfMemory" || !response.OutOfMemory() {
		t.Errorf("reported as %+v", got)
	}
	if stats := h.Stats()[0]; stats.OutOfMemory != 1 || stats.Errors != 1 || stats.PeakRSSBytes <= 128<<20 {
		t.Errorf("stats %+v, want one out of memory with a peak above 128 MiB", stats)
	}
	succeed(t, h, `{}`)
}

func testPeak(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	succeed(t, h, `{"do":"allocate","size":40}`)
	if peak := h.Stats()[0].PeakRSSBytes >> 20; peak < 40 || peak > 128 {
		t.Errorf("peak %d MiB after 40 MiB were in use", peak)
	}
}

func testTimeout(t *testing.T, bin string) {
	h, _ := start(t, bin, probe(func(f *template.Function) { f.Timeout = time.Second }))
	begun := time.Now()
	got, response := fail(t, h, `{"do":"sleep","ms":60000}`)
	if got.Type != "Sandbox.Timedout" || !strings.HasSuffix(got.Message, "Task timed out after 1.00 seconds") || !response.TimedOut() {
		t.Errorf("reported as %+v", got)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if stats := h.Stats()[0]; stats.Timeouts != 1 || stats.Errors != 1 {
		t.Errorf("stats %+v", stats)
	}
	succeed(t, h, `{}`)
}

func testInitExit(t *testing.T, bin string) {
	var out safeBuffer
	h, _ := start(t, bin, probe(func(f *template.Function) { f.Env = map[string]string{"START": "exit"} }), func(o *lambda.Options) { o.Output = &out })
	got, _ := fail(t, h, `{}`)
	if got.Type != "Runtime.InitError" || !strings.Contains(got.Message, "exit status 3") {
		t.Errorf("reported as %+v", got)
	}
	if !strings.Contains(out.String(), "stack-probe configuration is missing\n") {
		t.Errorf("output %q lacks what the function wrote", out.String())
	}
}

func testInitHang(t *testing.T, bin string) {
	h, _ := start(t, bin, probe(func(f *template.Function) { f.Env = map[string]string{"START": "hang"} }))
	got, _ := fail(t, h, `{}`)
	if got.Type != "Runtime.InitError" || !strings.Contains(got.Message, "init took longer than 10s") {
		t.Errorf("reported as %+v", got)
	}
}

func testResponseSize(t *testing.T, bin string) {
	h, _ := start(t, bin, probe(func(f *template.Function) { f.MemoryMiB = 512 }))
	if got := succeed(t, h, `{"do":"big","size":6000000}`); len(got.Value) != 6000000 {
		t.Errorf("got %d bytes back", len(got.Value))
	}
	got, _ := fail(t, h, `{"do":"big","size":7000000}`)
	if got.Type != "Function.ResponseSizeTooLarge" {
		t.Errorf("reported as %+v", got)
	}
	succeed(t, h, `{}`)
}

func testReserved(t *testing.T, bin string) {
	one := 1
	h, _ := start(t, bin, probe(func(f *template.Function) { f.ReservedConcurrency = &one }))
	succeed(t, h, `{}`)
	slow := make(chan lambda.Response, 1)
	go func() {
		for {
			response, err := h.Invoke(t.Context(), "stack-probe", []byte(`{"do":"sleep","ms":1500}`))
			if !errors.Is(err, lambda.ErrThrottled) {
				slow <- response
				return
			}
		}
	}()
	throttled := false
	for deadline := time.Now().Add(10 * time.Second); !throttled && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_, err := h.Invoke(t.Context(), "stack-probe", []byte(`{}`))
		throttled = errors.Is(err, lambda.ErrThrottled)
	}
	if !throttled {
		t.Error("a second invocation was never throttled at a reserved concurrency of 1")
	}
	if response := <-slow; response.FunctionError != "" {
		t.Errorf("the first invocation failed: %s", response.Payload)
	}
	succeed(t, h, `{}`)
}

func testParallel(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	var mu sync.Mutex
	pids := map[int]bool{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			got := succeed(t, h, `{"do":"sleep","ms":1500}`)
			mu.Lock()
			defer mu.Unlock()
			pids[got.PID] = true
		})
	}
	all.Wait()
	if len(pids) != 4 {
		t.Errorf("%d processes served 4 parallel invocations", len(pids))
	}
}

func testReap(t *testing.T, bin string) {
	h, _ := start(t, bin, probe(), func(o *lambda.Options) { o.IdleMax = 50 * time.Millisecond })
	first := succeed(t, h, `{}`)
	eventually(t, "the idle process is gone", func() bool { return !running(first.PID) && h.Stats()[0].Processes == 0 })
	succeed(t, h, `{}`)
}

func testKill(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	first := succeed(t, h, `{}`)
	if killed := h.Kill("stack-probe"); killed != 1 {
		t.Errorf("killed %d processes, want 1", killed)
	}
	if second := succeed(t, h, `{}`); second.PID == first.PID {
		t.Error("the killed process answered")
	}
	if h.KillProcess("no such process") {
		t.Error("an unknown process was killed")
	}
}

func testMissingBinary(t *testing.T, bin string) {
	h, _ := start(t, bin, probe(func(f *template.Function) { f.CodeURI, f.LogicalID = "functions/absent", "Absent" }))
	got, _ := fail(t, h, `{}`)
	if !strings.Contains(got.Message, filepath.Join(bin, "absent")) || !strings.Contains(got.Message, "make build") {
		t.Errorf("message %q says neither where nor how", got.Message)
	}
}

func testOutput(t *testing.T, bin string) {
	var out safeBuffer
	h, stop := start(t, bin, probe(), func(o *lambda.Options) { o.Output = &out })
	response := invoke(t, h, `{"do":"print"}`)
	stop()
	text := out.String()
	for _, want := range []string{
		"stack-probe one line\n", "stack-probe no line end\n", "stack-probe REPORT RequestId: " + response.RequestID + " Duration: ", "Memory Size: 128 MB Max Memory Used: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("output lacks %q:\n%s", want, text)
		}
	}
}

func testStop(t *testing.T, bin string) {
	h, stop := start(t, bin, probe(func(f *template.Function) { f.Env = map[string]string{"START": "deaf"} }), func(o *lambda.Options) { o.StopGrace = 100 * time.Millisecond })
	idle := succeed(t, h, `{}`)
	busy := make(chan lambda.Response, 1)
	go func() {
		response, _ := h.Invoke(context.Background(), "stack-probe", []byte(`{"do":"sleep","ms":60000}`))
		busy <- response
	}()
	time.Sleep(200 * time.Millisecond)
	stop()
	if running(idle.PID) {
		t.Error("a process is left")
	}
	if response := <-busy; response.FunctionError == "" {
		t.Errorf("the interrupted invocation reported success: %s", response.Payload)
	}
	if _, err := h.Invoke(t.Context(), "stack-probe", []byte(`{}`)); !errors.Is(err, lambda.ErrClosed) {
		t.Errorf("invoke after the end: %v, want ErrClosed", err)
	}
}

func testCallerGone(t *testing.T, bin string) {
	h, _ := start(t, bin, probe())
	succeed(t, h, `{}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := h.Invoke(ctx, "stack-probe", []byte(`{"do":"sleep","ms":400}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("invoke: %v, want the context's end", err)
	}
	eventually(t, "the invocation is counted", func() bool { return h.Stats()[0].Invocations == 2 })
	if stats := h.Stats()[0]; stats.Errors != 0 {
		t.Errorf("stats %+v, want no error", stats)
	}
}

// hostUntilKilled is the host of testHostKilled: a process of its own that prints the ids of two functions' processes, one idle and one busy.
func hostUntilKilled(bin string) {
	h, err := lambda.New([]template.Function{probe()}, lambda.Options{
		BinDir: bin, Region: "us-east-1", AccountID: "000000000000", Output: io.Discard, Logger: slog.New(slog.DiscardHandler), Now: time.Now, NewID: ids(),
	})
	if err != nil {
		panic(err)
	}
	go func() { _ = h.Run(context.Background()) }()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			response, err := h.Invoke(context.Background(), "stack-probe", []byte(`{"do":"sleep","ms":1000}`))
			if err != nil {
				panic(err)
			}
			fmt.Println(string(response.Payload))
		})
	}
	all.Wait()
	_, _ = h.Invoke(context.Background(), "stack-probe", []byte(`{"do":"sleep","ms":60000}`))
}

func testHostKilled(t *testing.T, bin string) {
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), "LAMBDA_TEST_HOST_BIN="+bin)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var children []int
	decoder := json.NewDecoder(out)
	for range 2 {
		var got answer
		if err := decoder.Decode(&got); err != nil {
			t.Fatalf("read the host's output: %v", err)
		}
		children = append(children, got.PID)
	}
	for _, pid := range children {
		if !running(pid) {
			t.Fatalf("child %d is not running before the host is killed", pid)
		}
	}
	if err := host.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // killed, as asked
	for _, pid := range children {
		eventually(t, fmt.Sprintf("child %d is gone", pid), func() bool { return !running(pid) })
	}
}
