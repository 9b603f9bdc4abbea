package fault

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sealift/localstack/role"
)

func TestAJournalKeepsWhatTookEffectAndWhoNeverHeard(t *testing.T) {
	t.Parallel()
	call := update
	call.Body = []byte(`{"TableName":"T"}`)
	s := start(t, call, "served")
	_, _, _ = s.ask(t, http.MethodPost, "/", "{}")
	if status, _, err := s.ask(t, http.MethodPut, "/_localstack/journal", ""); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	s.order(t, `[{"match": {"nth": 2}, "action": "drop_answer"}, {"match": {"nth": 2}, "action": "drop_request"}, {"match": {"nth": 2}, "action": "kill_after"}]`)
	for range 4 {
		_, _, _ = s.ask(t, http.MethodPost, "/", "{}")
	}
	_, text, _ := s.ask(t, http.MethodGet, "/_localstack/journal", "")
	var got struct {
		Recording bool
		Missed    int
		Entries   []Entry
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	lost, last := "", int64(-1)
	for i, e := range got.Entries {
		lost += map[bool]string{true: "x", false: "."}[e.Lost]
		if e.Number != i+1 || e.Begin <= last || e.End < e.Begin || e.Status != 200 || e.Answer != "served" ||
			e.Process != "p7" || string(e.Request) != `{"TableName":"T"}` || time.Since(time.UnixMilli(e.LedgerMS)) > time.Minute {
			t.Errorf("entry %d: %+v", i, e)
		}
		last = e.End
	}
	if lost != ".xx" || !got.Recording || got.Missed != 0 {
		t.Errorf("lost answers %q, want the second and the third of those that took effect: %s", lost, text)
	}
	_, text, _ = s.ask(t, http.MethodDelete, "/_localstack/journal", "")
	if text != `{"entries":[],"missed":0,"recording":false}` {
		t.Errorf("after its end: %s", text)
	}
}

func TestAJournalKnowsTheOutcomeOfACallWhoseCallerDies(t *testing.T) {
	t.Parallel()
	j := &journal{on: true, ledger: time.Now}
	ctx, die := context.WithCancel(t.Context())
	handler := j.wrap(update, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		die()
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = io.WriteString(w, "served")
		panic(http.ErrAbortHandler)
	}))
	func() {
		defer func() { _ = recover() }()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody))
	}()
	if len(j.entries) != 1 || j.entries[0].Status != 200 || !j.entries[0].Lost || j.entries[0].Answer != "served" {
		t.Errorf("the journal: %+v", j.entries)
	}
}

func TestAJournalKeepsOnlyWhatChangesSomething(t *testing.T) {
	t.Parallel()
	j := &journal{on: true}
	for name, want := range map[string]bool{
		"dynamodb UpdateItem": true, "dynamodb PutItem": true, "dynamodb TransactWriteItems": true, "dynamodb GetItem": false,
		"dynamodb Query": false, "dynamodb TransactGetItems": false, "s3 UploadPart": true, "s3 AbortMultipartUpload": true, "s3 GetObject": false,
		"s3 ListParts": false, "sqs SendMessage": true, "sqs DeleteMessageBatch": true, "sqs ReceiveMessage": false, "secretsmanager GetSecretValue": false,
		"kms Sign": false,
	} {
		service, operation, _ := strings.Cut(name, " ")
		if got := j.records(role.Call{Service: role.Service(service), Operation: operation}); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestAClockGoesForwardOnly(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clocks := NewClocks(func() time.Time { return begin })
	for _, c := range []struct {
		service role.Service
		forward int64
		want    bool
	}{{role.DynamoDB, 61_000, true}, {role.DynamoDB, 1_000, true}, {role.DynamoDB, -1, false}, {role.DynamoDB, 0, false}, {role.S3, 1, false}, {role.SQS, forwardMSMax + 1, false}} {
		if got := clocks.move(c.service, c.forward); got != c.want {
			t.Errorf("%s by %d: got %v", c.service, c.forward, got)
		}
	}
	if got := clocks.Of(role.DynamoDB)(); !got.Equal(begin.Add(62 * time.Second)) {
		t.Errorf("the tables' clock: %s", got)
	}
	if got := clocks.Of(role.SQS)(); !got.Equal(begin) {
		t.Errorf("the queues' clock: %s", got)
	}
}
