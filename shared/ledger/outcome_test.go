package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sealift/shared/job"
	"sealift/shared/ledger"
	"sealift/shared/limits"
	"sealift/shared/pipeline/pipelinetest"
)

// answer is what the scripted service does with one request.
type answer struct {
	status int
	body   string
	// drop closes the connection without an answer; stall does so after longer than a try may take.
	drop, stall bool
}

func exception(status int, code string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"scripted"}`, code)}
}

func done() answer { return answer{status: http.StatusOK, body: `{}`} }

func canceled(reasons string) answer {
	return answer{status: http.StatusBadRequest, body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
		`"Message":"scripted","CancellationReasons":[` + reasons + `]}`}
}

const (
	reasonNone     = `{"Code":"None"}`
	reasonConflict = `{"Code":"TransactionConflict","Message":"m"}`
	reasonInvalid  = `{"Code":"ValidationError","Message":"the item is too large"}`
	reasonRefused  = `{"Code":"ConditionalCheckFailed","Item":{"state":{"S":"other"}}}`
)

// script is a service that gives its answers in order and then its last one for ever.
type script struct {
	answers []answer
	date    time.Time

	mu     sync.Mutex
	calls  int
	tokens []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct{ ClientRequestToken string }
	_ = json.Unmarshal(body, &request)
	s.mu.Lock()
	answer := s.answers[min(s.calls, len(s.answers)-1)]
	s.calls++
	s.tokens = append(s.tokens, request.ClientRequestToken)
	s.mu.Unlock()
	if answer.stall {
		time.Sleep(limits.LedgerTryTime + 200*time.Millisecond)
	}
	if answer.drop || answer.stall {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("Date", s.date.UTC().Format(http.TimeFormat))
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.body)
}

// seen is how many calls were made and which tokens they carried.
func (s *script) seen() (calls int, tokens []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls, slices.Clone(s.tokens)
}

func (s *script) ledger(t *testing.T) *ledger.Ledger {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return at(server.URL)
}

func at(endpoint string) *ledger.Ledger {
	client := dynamodb.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		RetryMaxAttempts: 10, // The ledger must not let the client retry as well.
	})
	opt := options()
	opt.Random = func() float64 { return 0 }
	return ledger.New(client, "T", opt)
}

func sample(t *testing.T, name string) job.Change {
	t.Helper()
	for _, sample := range pipelinetest.Samples() {
		if sample.Name == name {
			return sample.Change
		}
	}
	t.Fatalf("there is no sample %s", name)
	return job.Change{}
}

// applied is a row which shows that the sample claim_pending has happened.
const applied = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m",` +
	`"Item":{"generation":{"N":"1"},"owner":{"S":"attempt-1"}}}`

func TestWhatTheServiceAnswersBecomesOneOutcome(t *testing.T) {
	t.Parallel()
	const alone, transaction = "claim_pending", "cancel"
	all := limits.LedgerTries
	for _, test := range []struct {
		name    string
		change  string
		answers []answer
		kind    job.Kind
		code    string
		calls   int
	}{
		{"success", alone, []answer{done()}, "", "", 1},
		{"throttled, then success", alone, []answer{exception(400, "ProvisionedThroughputExceededException"), exception(400, "ThrottlingException"), done()}, "", "", 3},
		{"throttled for ever", alone, []answer{exception(400, "RequestLimitExceeded")}, job.Overload, "ledger_busy", all},
		{"in conflict with a transaction", alone, []answer{exception(400, "TransactionConflictException")}, job.Overload, "ledger_busy", all},
		{"failing, then success", alone, []answer{exception(500, "InternalServerError"), done()}, "", "", 2},
		{"failing for ever", alone, []answer{exception(500, "InternalServerError")}, job.Unknown, "ledger_unknown", all},
		{"unavailable for ever", alone, []answer{{status: 503, body: "<html>busy</html>"}}, job.Unknown, "ledger_unknown", all},
		{"answer lost, then success", alone, []answer{{drop: true}, done()}, "", "", 2},
		{"answer lost for ever", alone, []answer{{drop: true}}, job.Unknown, "ledger_unknown", all},
		{"answer too late, then success", alone, []answer{{stall: true}, done()}, "", "", 2},
		{"answer lost, then throttled for ever", alone, []answer{{drop: true}, exception(400, "ThrottlingException")}, job.Unknown, "ledger_unknown", all},
		{"answer lost, then denied", alone, []answer{{drop: true}, exception(400, "AccessDeniedException")}, job.Unknown, "ledger_unknown", 2},
		{"answer lost, then refused by what it wrote", alone, []answer{{drop: true}, {status: 400, body: applied}}, "", "", 2},
		{"refused by what it wrote before", alone, []answer{{status: 400, body: applied}}, "", "", 1},
		{"refused by another's write", alone, []answer{exception(400, "ConditionalCheckFailedException")}, job.Fenced, "change_refused", 1},
		{"garbled answer", alone, []answer{{status: 200, body: `{"Attributes":`}, done()}, "", "", 2},
		{"denied", alone, []answer{exception(400, "AccessDeniedException")}, job.Permanent, "ledger_denied", 1},
		{"no table", alone, []answer{exception(400, "ResourceNotFoundException")}, job.Permanent, "ledger_missing", 1},
		{"invalid", alone, []answer{exception(400, "ValidationException")}, job.Permanent, "ledger_invalid", 1},
		{"a full collection", alone, []answer{exception(400, "ItemCollectionSizeLimitExceededException")}, job.Permanent, "ledger_invalid", 1},
		{"expired credentials for ever", alone, []answer{exception(400, "ExpiredTokenException")}, job.Transient, "ledger_unavailable", all},

		{"transaction: conflict, then success", transaction, []answer{canceled(reasonNone + "," + reasonConflict), done()}, "", "", 2},
		{"transaction: conflict for ever", transaction, []answer{canceled(reasonConflict + "," + reasonNone)}, job.Overload, "ledger_busy", all},
		{"transaction: in progress", transaction, []answer{exception(400, "TransactionInProgressException"), done()}, "", "", 2},
		{"transaction: refused", transaction, []answer{canceled(reasonRefused + "," + reasonNone)}, job.Fenced, "change_refused", 1},
		{"transaction: refused and in conflict", transaction, []answer{canceled(reasonConflict + "," + reasonNone + "," + reasonRefused)}, job.Fenced, "change_refused", 1},
		{"transaction: invalid", transaction, []answer{canceled(reasonNone + "," + reasonInvalid)}, job.Permanent, "ledger_invalid", 1},
		{"transaction: happened before, and in conflict", transaction,
			[]answer{canceled(happened + "," + reasonNone + "," + reasonNone + "," + reasonConflict), done()}, "", "", 2},
		{"transaction: happened before", transaction, []answer{canceled(happened + "," + reasonNone)}, "", "", 1},
		{"transaction: answer lost for ever", transaction, []answer{{drop: true}}, job.Unknown, "ledger_unknown", all},
		{"transaction: cancelled without a reason", transaction, []answer{canceled("")}, job.Unknown, "ledger_unknown", all},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			service := &script{answers: test.answers, date: time.Now()}
			err := service.ledger(t).Apply(t.Context(), sample(t, test.change))
			if job.KindOf(err) != test.kind || err != nil && job.CodeOf(err) != test.code {
				t.Errorf("got %v, want %s %s", err, test.kind, test.code)
			}
			calls, tokens := service.seen()
			if calls != test.calls {
				t.Errorf("%d calls were made, want %d", calls, test.calls)
			}
			for _, token := range tokens {
				if token != tokens[0] || (token == "") == (test.change == transaction) {
					t.Errorf("the tries carried the tokens %q", tokens)
				}
			}
		})
	}
}

// happened is the reason of a job's row which shows that the sample cancel has happened.
const happened = `{"Code":"ConditionalCheckFailed","Item":{"state":{"S":"cancelled"},"version":{"N":"5"}}}`

func TestARefusedTransactionShowsTheOldRowsByTheirWrites(t *testing.T) {
	t.Parallel()
	service := &script{answers: []answer{canceled(reasonNone + "," + reasonRefused + `,{"Code":"ConditionalCheckFailed"}`)}, date: time.Now()}
	err := service.ledger(t).Apply(t.Context(), sample(t, "create"))
	var refused *job.Refused
	if !errors.As(err, &refused) || len(refused.Old) != 2 || refused.Old[1]["state"] != "other" || refused.Old[2] == nil || len(refused.Old[2]) != 0 {
		t.Errorf("got %v with %+v", err, refused)
	}
}

func TestAReadIsNeverUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		answers []answer
		kind    job.Kind
		calls   int
	}{
		{"answer lost, then success", []answer{{drop: true}, done()}, "", 2},
		{"answer lost for ever", []answer{{drop: true}}, job.Transient, limits.LedgerTries},
		{"failing for ever", []answer{exception(500, "InternalServerError")}, job.Transient, limits.LedgerTries},
		{"throttled for ever", []answer{exception(400, "ThrottlingException")}, job.Overload, limits.LedgerTries},
		{"denied", []answer{exception(400, "AccessDeniedException")}, job.Permanent, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			service := &script{answers: test.answers, date: time.Now()}
			row, err := service.ledger(t).Row(t.Context(), job.QuotaKey("acme"))
			calls, _ := service.seen()
			if job.KindOf(err) != test.kind || calls != test.calls || err == nil && len(row) != 0 {
				t.Errorf("got %v, %v after %d calls; want %s after %d", row, err, calls, test.kind, test.calls)
			}
		})
	}
}

func TestAServiceThatIsNotThereDidCertainlyNothing(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	err = at(endpoint).Apply(t.Context(), sample(t, "cancel"))
	if job.KindOf(err) != job.Transient || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL") {
		t.Errorf("got %v, want Transient with advice", err)
	}
}

func TestEveryResponseSetsTheClock(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]answer{"success": done(), "refusal": exception(400, "ConditionalCheckFailedException")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &script{answers: []answer{given}, date: time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)}
			l := service.ledger(t)
			if behind := time.Since(l.Now()); behind < 0 || behind > time.Minute {
				t.Errorf("before a response the clock is %s behind the local one", behind)
			}
			_ = l.Apply(t.Context(), sample(t, "claim_pending"))
			if ahead := l.Now().Sub(service.date); ahead < 0 || ahead > time.Minute {
				t.Errorf("after a response of %s the clock is %s", service.date, l.Now())
			}
		})
	}
}

func TestACallerThatLeavesDuringAWriteIsToldSo(t *testing.T) {
	t.Parallel()
	service := &script{answers: []answer{{stall: true}}, date: time.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := service.ledger(t).Apply(ctx, sample(t, "cancel"))
	if job.KindOf(err) != job.Cancelled || !strings.Contains(err.Error(), "not known") {
		t.Errorf("got %v, want Cancelled that says what is not known", err)
	}
}
