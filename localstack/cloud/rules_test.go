package cloud

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	ok(t, err)
	return n
}

func r1Requests(t *testing.T, r rig) {
	p := r.start(t, t.TempDir())
	status, text := p.do("who", "")
	expect(t, "with a token", status, text, 200, "ada")
	status, text = p.call(http.MethodPost, p.API+"/do/who", "", "")
	expect(t, "without", status, text, 401, `{"message":"Unauthorized"}`)
	status, text = p.call(http.MethodPost, p.API+"/nowhere", p.token(), "")
	expect(t, "no route", status, text, 404, `{"message":"Not Found"}`)
	status, text = p.call(http.MethodGet, p.Endpoint+"/_localstack/health", "", "")
	expect(t, "health", status, text, 200, `"ready":true`)
	status, text = p.call(http.MethodGet, p.Endpoint+"/_localstack/functions", "", "")
	expect(t, "functions", status, text, 200, `"name":"sealift-probe"`)
}

func r2Roles(t *testing.T, r rig) {
	p := r.start(t, t.TempDir())
	status, text := p.do("store", "hello")
	expect(t, "allowed", status, text, 200, "")
	status, text = p.do("store-elsewhere", "hello")
	expect(t, "another prefix", status, text, 502, "is not authorized to perform: s3:PutObject on resource: arn:aws:s3:::sealift-files/secrets/note")
	status, text = p.do("look-for-nothing", "")
	expect(t, "a missing object, without s3:ListBucket", status, text, 502, "StatusCode: 403")
	status, link := p.do("link", "")
	expect(t, "link", status, link, 200, p.Endpoint)
	status, text = p.call(http.MethodGet, link, "", "")
	expect(t, "link followed", status, text, 200, "hello")
	status, text = p.call(http.MethodGet, strings.Replace(link, "files/note", "files/other", 1), "", "")
	expect(t, "link to another object", status, text, 403, "SignatureDoesNotMatch")
}

func r3Triggers(t *testing.T, r rig) {
	p := r.start(t, t.TempDir())
	p.send("job-1")
	p.await("job-1/done", 10*time.Second)
	status, text := p.do("delay", "")
	expect(t, "delay", status, text, 200, "")
	p.await("woken/done", 10*time.Second)
	out, err := eventbridge.NewFromConfig(AWSConfig(p.Endpoint, "us-east-1")).PutEvents(t.Context(), &eventbridge.PutEventsInput{
		Entries: []types.PutEventsRequestEntry{{Source: aws.String("test"), DetailType: aws.String("note.asked"), Detail: aws.String("{}")}}})
	ok(t, err)
	if out.FailedEntryCount != 0 {
		t.Errorf("events refused: %+v", out.Entries)
	}
	p.await("event", 10*time.Second)
}

func r4Kill(t *testing.T, r rig) {
	data := t.TempDir()
	p := r.start(t, data)
	status, text := p.do("store", "kept")
	expect(t, "store", status, text, 200, "")
	p.send("slow-1")
	p.send("slow-2")
	p.await("slow-1/begun", 10*time.Second)
	functions := children(t, p.PID)
	if len(functions) == 0 {
		t.Error("no function process to be seen")
	}
	p.kill()
	time.Sleep(100 * time.Millisecond)
	for _, pid := range functions {
		if alive(pid) {
			t.Errorf("function process %d outlived the cloud", pid)
		}
	}
	again := r.start(t, data)
	again.await("slow-1/done", 20*time.Second)
	again.await("slow-2/done", 20*time.Second)
	status, link := again.do("link", "")
	expect(t, "link", status, link, 200, again.Endpoint)
	status, text = again.call(http.MethodGet, link, "", "")
	expect(t, "object after the kill", status, text, 200, "kept")
}

func r5KilledFunction(t *testing.T, r rig) {
	p := r.start(t, t.TempDir())
	status, text := p.call(http.MethodPut, p.Endpoint+"/_localstack/faults", "",
		`[{"match": {"function": "sealift-probe", "service": "dynamodb", "operation": "UpdateItem", "key": "job/begun", "nth": 1}, "action": "kill_after"}]`)
	expect(t, "set fault", status, text, 200, "kill_after")
	p.send("job")
	p.await("job/done", 20*time.Second)
	if n := p.seen("job/begun"); n != "2" {
		t.Errorf("message begun %s times, want 2: once killed after its effect, once more", n)
	}
	status, text = p.call(http.MethodGet, p.Endpoint+"/_localstack/faults", "", "")
	expect(t, "faults", status, text, 200, `"struck":1`)
	status, text = p.call(http.MethodGet, p.Endpoint+"/_localstack/calls", "", "")
	expect(t, "calls", status, text, 200, `{"function":"sealift-probe","service":"dynamodb","operation":"UpdateItem","calls":`)
}

func r6LostAnswer(t *testing.T, r rig) {
	p := r.start(t, t.TempDir())
	status, text := p.call(http.MethodPut, p.Endpoint+"/_localstack/faults", "", `[
		{"match": {"function": "sealift-probe", "service": "s3", "operation": "PutObject", "nth": 1}, "action": "drop_answer"},
		{"match": {"function": "sealift-probe", "service": "s3", "operation": "PutObject", "nth": 1}, "action": "throttle"}]`)
	expect(t, "set faults", status, text, 200, "drop_answer")
	status, text = p.do("store", "hello")
	expect(t, "store", status, text, 200, "")
	status, text = p.call(http.MethodGet, p.Endpoint+"/_localstack/calls", "", "")
	expect(t, "calls", status, text, 200, `{"function":"sealift-probe","service":"s3","operation":"PutObject","calls":3}`)
	_, link := p.do("link", "")
	status, text = p.call(http.MethodGet, link, "", "")
	expect(t, "object", status, text, 200, "hello")
}

func r7Locks(t *testing.T, r rig) {
	data := t.TempDir()
	p := r.start(t, data)
	port := p.Endpoint[strings.LastIndex(p.Endpoint, ":")+1:]
	for _, c := range []struct {
		name, data string
		args       []string
		want       string
	}{
		{"data folder in use", data, nil, "is in use by process " + itoa(p.PID)},
		{"port in use", t.TempDir(), []string{"--port", port}, "port " + port + " is taken"},
		{"unknown parameter", t.TempDir(), []string{"--param", "Nonsense=1"}, "Nonsense"},
		{"missing binary", t.TempDir(), []string{"--bin", filepath.Join(data, "nowhere")}, "nowhere has no binary of probe; build the functions first"},
		{"missing template", t.TempDir(), []string{"--template", "nowhere.yaml"}, "nowhere.yaml"},
	} {
		if out := r.refused(t, c.data, c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, out, c.want)
		}
	}
}

func r8Interrupt(t *testing.T, r rig) {
	p := r.start(t, t.TempDir())
	p.send("job")
	p.await("job/done", 10*time.Second)
	functions := children(t, p.PID)
	begin := time.Now()
	ok(t, p.cmd.Process.Signal(os.Interrupt))
	select {
	case err := <-p.exited:
		if err != nil {
			t.Errorf("exit: %v", err)
		}
	case <-time.After(20 * time.Second):
		ok(t, p.cmd.Process.Signal(syscall.SIGQUIT))
		t.Fatalf("the cloud did not stop within 20 seconds (%v); its goroutines are in the log", <-p.exited)
	}
	t.Logf("stopped in %s", time.Since(begin))
	for _, pid := range functions {
		if alive(pid) {
			t.Errorf("function process %d outlived the cloud", pid)
		}
	}
}
