package fault

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/localstack/role"
)

// site is a board in front of a service that counts what gets through.
type site struct {
	board  *Board
	url    string
	done   *atomic.Int64
	killed chan string
}

func start(t *testing.T, call role.Call, answer string) site {
	t.Helper()
	s := site{done: &atomic.Int64{}, killed: make(chan string, 10)}
	ids := atomic.Int64{}
	s.board = New(Options{
		Kill:   func(function, process string) bool { s.killed <- function + " " + process; return true },
		NewID:  func() string { return "id-" + string(rune('0'+ids.Add(1))) },
		Clocks: NewClocks(time.Now),
	})
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.done.Add(1)
		_, _ = io.WriteString(w, answer)
	})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_localstack/") {
			s.board.ServeHTTP(w, r)
			return
		}
		s.board.Wrap(call, service).ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// ask sends a request; an error means that the connection was closed.
func (s site) ask(t *testing.T, method, path, body string) (status int, text string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, strings.TrimSpace(string(data)), err
}

func (s site) order(t *testing.T, rules string) {
	t.Helper()
	if status, text, err := s.ask(t, http.MethodPut, "/_localstack/faults", rules); err != nil || status != 200 {
		t.Fatalf("set faults: %d %s %v", status, text, err)
	}
}

var update = role.Call{Caller: role.Caller{Function: "app-work", Process: "p7"}, Service: role.DynamoDB, Operation: "UpdateItem", Subject: "T job#1"}

func TestEachActionDoesWhatItSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, action   string
		status         int
		text           string
		closed, served bool
		killed         string
	}{
		{"refuse", `"action": "refuse", "code": "TransactionConflictException", "message": "no"`, 400, `"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException"`, false, false, ""},
		{"refuse with status", `"action": "refuse", "code": "InternalServerError", "status": 500`, 500, "InternalServerError", false, false, ""},
		{"throttle", `"action": "throttle"`, 400, "ThrottlingException", false, false, ""},
		{"drop request", `"action": "drop_request"`, 0, "", true, false, ""},
		{"drop answer", `"action": "drop_answer"`, 0, "", true, true, ""},
		{"kill before", `"action": "kill_before"`, 0, "", true, false, "app-work p7"},
		{"kill after", `"action": "kill_after"`, 0, "", true, true, "app-work p7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, update, "served")
			s.order(t, `[{"match": {"service": "dynamodb"}, `+c.action+`}]`)
			status, text, err := s.ask(t, http.MethodPost, "/", "{}")
			if (err != nil) != c.closed || status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("got %d %s %v", status, text, err)
			}
			if got := s.done.Load() == 1; got != c.served {
				t.Errorf("served: got %v, want %v", got, c.served)
			}
			killed := ""
			select {
			case killed = <-s.killed:
			default:
			}
			if killed != c.killed {
				t.Errorf("killed: got %q, want %q", killed, c.killed)
			}
		})
	}
}

func TestADelayWaitsAndThenServes(t *testing.T) {
	t.Parallel()
	s := start(t, update, "served")
	s.order(t, `{"match": {}, "action": "delay", "delay_ms": 120}`)
	begin := time.Now()
	_, text, err := s.ask(t, http.MethodPost, "/", "{}")
	if took := time.Since(begin); err != nil || text != "served" || took < 120*time.Millisecond {
		t.Errorf("got %s %v after %s", text, err, took)
	}
}

func TestARuleStrikesTheCallsItMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, match, times string
		want               string // s: served, x: struck, for four calls
	}{
		{"everything", `{}`, "0", "xxxx"},
		{"nth", `{"nth": 3}`, "0", "ssxs"},
		{"times", `{}`, "2", "xxss"},
		{"function", `{"function": "app-work"}`, "0", "xxxx"},
		{"other function", `{"function": "app-other"}`, "0", "ssss"},
		{"operation", `{"operation": "UpdateItem"}`, "0", "xxxx"},
		{"other operation", `{"operation": "GetItem"}`, "0", "ssss"},
		{"key", `{"key": "job#1"}`, "0", "xxxx"},
		{"other key", `{"key": "job#2"}`, "0", "ssss"},
		{"subject", `{"subject": "T job#1"}`, "0", "xxxx"},
		{"part of the subject", `{"subject": "job#1"}`, "0", "ssss"},
	} {
		s := start(t, update, "served")
		s.order(t, `[{"match": `+c.match+`, "action": "throttle", "times": `+c.times+`}]`)
		got := ""
		for range 4 {
			_, text, err := s.ask(t, http.MethodPost, "/", "{}")
			if err != nil {
				t.Fatal(err)
			}
			got += map[bool]string{true: "s", false: "x"}[text == "served"]
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestADuplicatedReceiveIsAnsweredTwice(t *testing.T) {
	t.Parallel()
	receive := role.Call{Service: role.SQS, Operation: "ReceiveMessage", Subject: "plan"}
	s := start(t, receive, `{"Messages":[{"ReceiptHandle":"r"}]}`)
	s.order(t, `[{"match": {"service": "sqs", "operation": "ReceiveMessage", "key": "plan"}, "action": "duplicate", "times": 1}]`)
	for i, served := range []int64{1, 1, 2} {
		_, text, err := s.ask(t, http.MethodPost, "/", "{}")
		if err != nil || !strings.Contains(text, `"r"`) || s.done.Load() != served {
			t.Errorf("receive %d: %s %v, served %d", i+1, text, err, s.done.Load())
		}
	}
}

func TestRulesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, update, "")
	for body, want := range map[string]string{
		`{`:                         "a fault is",
		`[{"action": "burn"}]`:      `action \"burn\" is none of`,
		`[{"action": "delay"}]`:     "delay_ms",
		`[{"action": "refuse"}]`:    "needs",
		`[{"action": "duplicate"}]`: "ReceiveMessage",
		`[{"action": "throttle", "match": {"service": "dynamo"}}]`: "is none of dynamodb",
		`[{"action": "throttle", "match": {"operations": "x"}}]`:   "unknown field",
		`[null]`: "fault 1 is null",
	} {
		status, text, err := s.ask(t, http.MethodPut, "/_localstack/faults", body)
		if err != nil || status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %s %v, want %s", body, status, text, err, want)
		}
	}
}

func TestRulesCanBeAddedListedAndRemoved(t *testing.T) {
	t.Parallel()
	s := start(t, update, "served")
	s.order(t, `[{"id": "a", "match": {"nth": 2}, "action": "throttle"}]`)
	if status, _, _ := s.ask(t, http.MethodPost, "/_localstack/faults", `{"id": "b", "match": {}, "action": "drop_request", "times": 1}`); status != 200 {
		t.Fatal(status)
	}
	_, _, _ = s.ask(t, http.MethodPost, "/", "{}")
	_, text, _ := s.ask(t, http.MethodGet, "/_localstack/faults", "")
	var rules []Rule
	if err := json.Unmarshal([]byte(text), &rules); err != nil {
		t.Fatal(err)
	}
	want := []Rule{
		{ID: "a", Match: Match{Nth: 2}, Action: Throttle, Fitted: 1},
		{ID: "b", Action: DropRequest, Times: 1, Fitted: 1, Struck: 1},
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	_, _, _ = s.ask(t, http.MethodDelete, "/_localstack/faults?id=a", "")
	if got := s.board.Rules(); len(got) != 1 || got[0].ID != "b" {
		t.Errorf("after removing a: %+v", got)
	}
	_, _, _ = s.ask(t, http.MethodDelete, "/_localstack/faults", "")
	if got := s.board.Rules(); len(got) != 0 {
		t.Errorf("after removing all: %+v", got)
	}
}

func TestCallsAreCountedAndKeptInOrder(t *testing.T) {
	t.Parallel()
	s := start(t, update, "served")
	s.order(t, `[{"match": {"nth": 2}, "action": "throttle"}]`)
	for range 3 {
		_, _, _ = s.ask(t, http.MethodPost, "/", "{}")
	}
	_, text, _ := s.ask(t, http.MethodGet, "/_localstack/calls?after=1", "")
	var got struct {
		Counts   []Count
		Calls    []Made
		Made     int
		Complete bool
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Count{{"app-work", role.DynamoDB, "UpdateItem", 3}}, got.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(got.Calls) != 2 || got.Calls[0].Number != 2 || got.Calls[0].Fault != Throttle || got.Calls[1].Subject != "T job#1" || got.Made != 3 || !got.Complete {
		t.Errorf("calls: %+v", got)
	}
	_, text, _ = s.ask(t, http.MethodDelete, "/_localstack/calls", "")
	if text != `{"counts":[],"made":0}` {
		t.Errorf("after reset: %s", text)
	}
}
