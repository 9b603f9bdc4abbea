package fault

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"sealift/localstack/role"
)

const (
	// rulesMax bounds how many rules there can be at a time.
	rulesMax = 10_000
	// recentMax bounds how many calls are remembered in order.
	recentMax = 20_000
)

// Options are what a Board needs.
type Options struct {
	// Kill ends a function's process; with an empty process id, all of the
	// function's. It reports whether there was one.
	Kill func(function, process string) bool
	// NewID makes ids of rules and of refused requests.
	NewID func() string
	// Clocks are those of the services.
	Clocks *Clocks
}

// Count is how often a caller made a call.
type Count struct {
	Function  string       `json:"function"`
	Service   role.Service `json:"service"`
	Operation string       `json:"operation"`
	Calls     int          `json:"calls"`
}

// Made is one call in order.
type Made struct {
	Number    int          `json:"number"`
	Function  string       `json:"function"`
	Process   string       `json:"process,omitempty"`
	Service   role.Service `json:"service"`
	Operation string       `json:"operation"`
	Subject   string       `json:"subject"`
	Fault     Action       `json:"fault,omitempty"`
}

// Board holds the rules and the counters of a running cloud.
type Board struct {
	opt     Options
	journal *journal

	mu     sync.Mutex
	rules  []*Rule
	counts map[Count]int
	recent []Made
	made   int
	again  map[string]answer
}

// answer is a response kept to be given once more.
type answer struct {
	header http.Header
	body   []byte
}

// New makes a board without rules.
func New(opt Options) *Board {
	return &Board{opt: opt, journal: &journal{ledger: opt.Clocks.Of(role.DynamoDB)}, counts: map[Count]int{}, again: map[string]answer{}}
}

// Wrap counts a call and serves it through next, unless a rule strikes. A call's
// first striking rule decides; delays come on top.
func (b *Board) Wrap(call role.Call, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strike, delay := b.count(call)
		if delay > 0 && !pause(r, delay) {
			return
		}
		if kept, found := b.kept(call); found {
			for name, values := range kept.header {
				w.Header()[name] = values
			}
			_, _ = w.Write(kept.body)
			return
		}
		lost := strike != nil && (strike.Action == DropAnswer || strike.Action == KillAfter)
		b.strike(w, r, call, strike, b.journal.wrap(call, lost, next))
	})
}

func (b *Board) strike(w http.ResponseWriter, r *http.Request, call role.Call, strike *Rule, next http.Handler) {
	if strike == nil {
		next.ServeHTTP(w, r)
		return
	}
	switch strike.Action {
	case Refuse:
		refusal := role.Refusal{Status: cmp.Or(strike.Status, http.StatusBadRequest), Code: strike.Code, Message: cmp.Or(strike.Message, "refused by fault rule "+strike.ID)}
		refusal.Write(w, r, call.Service, b.opt.NewID())
	case Throttle:
		role.ThrottleOf(call.Service).Write(w, r, call.Service, b.opt.NewID())
	case DropAnswer:
		next.ServeHTTP(newSilent(), r)
		panic(http.ErrAbortHandler)
	case KillAfter:
		next.ServeHTTP(newSilent(), r)
		b.opt.Kill(call.Caller.Function, call.Caller.Process)
		panic(http.ErrAbortHandler)
	case KillBefore:
		b.opt.Kill(call.Caller.Function, call.Caller.Process)
		panic(http.ErrAbortHandler)
	case Duplicate:
		kept := newSilent()
		next.ServeHTTP(&copying{ResponseWriter: w, silent: kept}, r)
		if kept.status == http.StatusOK && bytes.Contains(kept.body.Bytes(), []byte(`"ReceiptHandle"`)) {
			b.mu.Lock()
			b.again[call.Subject] = answer{header: w.Header().Clone(), body: kept.body.Bytes()}
			b.mu.Unlock()
		}
	default: // DropRequest; Delay never gets here
		panic(http.ErrAbortHandler)
	}
}

// count notes a call and finds what strikes it.
func (b *Board) count(call role.Call) (strike *Rule, delay time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rule := range b.rules {
		if !rule.fits(call) || strike != nil && rule.Action != Delay || !rule.strikes() {
			continue
		}
		if rule.Action == Delay {
			delay += time.Duration(rule.DelayMS) * time.Millisecond
			continue
		}
		strike = rule
	}
	b.counts[Count{Function: call.Caller.Name(), Service: call.Service, Operation: call.Operation}]++
	b.made++
	made := Made{Number: b.made, Function: call.Caller.Name(), Process: call.Caller.Process, Service: call.Service, Operation: call.Operation, Subject: call.Subject}
	if strike != nil {
		copied := *strike
		strike, made.Fault = &copied, copied.Action
	}
	if len(b.recent) == recentMax {
		b.recent = slices.Delete(b.recent, 0, recentMax/2)
	}
	b.recent = append(b.recent, made)
	return strike, delay
}

// kept takes the answer that a receive is to be given once more.
func (b *Board) kept(call role.Call) (answer, bool) {
	if call.Service != role.SQS || call.Operation != "ReceiveMessage" {
		return answer{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	kept, found := b.again[call.Subject]
	delete(b.again, call.Subject)
	return kept, found
}

func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Counts are the counters in order.
func (b *Board) Counts() []Count {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Count, 0, len(b.counts))
	for c, calls := range b.counts {
		c.Calls = calls
		out = append(out, c)
	}
	slices.SortFunc(out, func(x, y Count) int {
		return cmp.Or(cmp.Compare(x.Function, y.Function), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Operation, y.Operation))
	})
	return out
}

// silent takes an answer that nobody gets.
type silent struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newSilent() *silent { return &silent{header: http.Header{}, status: http.StatusOK} }

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) WriteHeader(status int)      { s.status = status }
func (s *silent) Write(p []byte) (int, error) { return len(p), nil }

// copying gives an answer and keeps a copy of it.
type copying struct {
	http.ResponseWriter
	*silent
}

func (c *copying) Header() http.Header { return c.ResponseWriter.Header() }

func (c *copying) WriteHeader(status int) {
	c.silent.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *copying) Write(p []byte) (int, error) {
	c.silent.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// bodyOf reads a request to the board itself.
func bodyOf(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		return nil, errors.New("the request body cannot be read or is over 8 MiB")
	}
	return body, nil
}

// after is the number in ?after=, -1 when there is none.
func after(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil {
		return -1
	}
	return n
}
