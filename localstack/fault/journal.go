package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"sealift/localstack/role"
)

const (
	// entriesMax bounds a journal; what comes after is counted as missed.
	entriesMax = 1_000_000
	// answerBytesMax is how much of an answer a journal keeps.
	answerBytesMax = 64 << 10
)

// Entry is one call that a service has answered, as the service saw it: between Begin and End it took effect or was
// refused. Lost says that its caller never got the answer.
type Entry struct {
	Number    int          `json:"number"`
	Function  string       `json:"function"`
	Process   string       `json:"process,omitempty"`
	Service   role.Service `json:"service"`
	Operation string       `json:"operation"`
	Subject   string       `json:"subject"`
	Query     string       `json:"query,omitempty"`
	// Request is the body of the JSON protocols.
	Request json.RawMessage `json:"request,omitempty"`
	Status  int             `json:"status"`
	Answer  string          `json:"answer,omitempty"`
	Lost    bool            `json:"lost,omitempty"`
	// Begin and End are nanoseconds since the journal was begun, on a clock that never goes back; LedgerMS is the time of
	// the tables at the end.
	Begin    int64 `json:"begin"`
	End      int64 `json:"end"`
	LedgerMS int64 `json:"ledger_ms"`
}

// journal records what changes something: writes of tables, of the object store and of queues.
type journal struct {
	ledger func() time.Time

	mu      sync.Mutex
	on      bool
	begun   time.Time
	entries []Entry
	missed  int
}

// records reports whether a call belongs into the journal.
func (j *journal) records(call role.Call) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.on {
		return false
	}
	switch call.Service {
	case role.DynamoDB:
		return strings.HasPrefix(call.Operation, "TransactWrite") || strings.HasSuffix(call.Operation, "Item") && call.Operation != "GetItem" && call.Operation != "BatchGetItem"
	case role.S3:
		return !strings.HasPrefix(call.Operation, "Get") && !strings.HasPrefix(call.Operation, "Head") && !strings.HasPrefix(call.Operation, "List")
	case role.SQS:
		return strings.HasPrefix(call.Operation, "SendMessage") || strings.HasPrefix(call.Operation, "DeleteMessage")
	default:
		return false
	}
}

// wrap records a call that reaches its service. The service goes on when the caller dies meanwhile, as one elsewhere would,
// so that its outcome is known.
func (j *journal) wrap(call role.Call, lost bool, next http.Handler) http.Handler {
	if !j.records(call) {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept, begin := newSilent(), time.Now()
		// Deferred, because what passes an answer on may end in a panic when nobody takes it.
		defer func() { j.note(call, r, kept, begin, lost || r.Context().Err() != nil) }()
		next.ServeHTTP(&copying{ResponseWriter: w, silent: kept}, r.WithContext(context.WithoutCancel(r.Context())))
	})
}

func (j *journal) note(call role.Call, r *http.Request, kept *silent, begin time.Time, lost bool) {
	end := time.Now()
	answer := kept.body.Bytes()
	entry := Entry{
		Function: call.Caller.Name(), Process: call.Caller.Process, Service: call.Service, Operation: call.Operation, Subject: call.Subject,
		Query: r.URL.RawQuery, Status: kept.status, Answer: string(answer[:min(len(answer), answerBytesMax)]), Lost: lost,
		LedgerMS: j.ledger().UnixMilli(),
	}
	if json.Valid(call.Body) {
		entry.Request = bytes.Clone(call.Body)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) == entriesMax {
		j.missed++
		return
	}
	entry.Number = len(j.entries) + 1
	entry.Begin, entry.End = begin.Sub(j.begun).Nanoseconds(), end.Sub(j.begun).Nanoseconds()
	j.entries = append(j.entries, entry)
}

// serve answers /_localstack/journal.
func (j *journal) serve(w http.ResponseWriter, r *http.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
	case http.MethodPut:
		j.on, j.begun, j.entries, j.missed = true, time.Now(), nil, 0
	case http.MethodDelete:
		j.on, j.entries, j.missed = false, nil, 0
	default:
		w.Header().Set("Allow", "GET, PUT, DELETE")
		reply(w, http.StatusMethodNotAllowed, map[string]string{"error": "the journal takes PUT (begin), GET and DELETE (end)"})
		return
	}
	reply(w, http.StatusOK, map[string]any{"recording": j.on, "missed": j.missed, "entries": append([]Entry{}, j.entries...)})
}
