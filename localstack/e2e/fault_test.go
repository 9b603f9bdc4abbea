package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// strike is one misbehaviour at one call of an export: the nth of its kind.
type strike struct {
	function, service, operation string
	nth                          int
	action                       string
}

func (s strike) String() string {
	return s.action + " at " + strings.TrimPrefix(s.function, stack+"-") + "'s " + s.operation + " " + itoa(s.nth)
}

const (
	killBefore  = "kill_before"
	killAfter   = "kill_after"
	dropAnswer  = "drop_answer"
	dropRequest = "drop_request"
	throttle    = "throttle"
)

// strikes are those of the normal run: one at least of everything that differs.
func strikes() []strike {
	plan, process, finalize := stack+"-plan-shards", stack+"-process-shard", stack+"-finalize"
	return []strike{
		{plan, "dynamodb", "UpdateItem", 1, killAfter},               // claimed, nothing done
		{plan, "dynamodb", "TransactWriteItems", 1, killAfter},       // shards staged, plan not committed
		{plan, "dynamodb", "TransactWriteItems", 2, killAfter},       // plan committed, nobody woken
		{plan, "sqs", "SendMessage", 2, killBefore},                  // one shard woken of three
		{process, "dynamodb", "UpdateItem", 1, killAfter},            // claimed, nothing done
		{process, "s3", "CreateMultipartUpload", 1, killAfter},       // an upload that nobody knows of
		{process, "s3", "UploadPart", 1, killAfter},                  // a part that nobody knows of
		{process, "s3", "UploadPart", 2, killBefore},                 // one part of two
		{process, "s3", "CompleteMultipartUpload", 1, killAfter},     // an object that is not committed
		{process, "s3", "PutObject", 1, killAfter},                   // the same of a small shard
		{process, "dynamodb", "TransactWriteItems", 3, killAfter},    // all shards done, finalize not woken
		{finalize, "dynamodb", "UpdateItem", 1, killAfter},           // claimed, nothing done
		{finalize, "dynamodb", "TransactWriteItems", 1, killAfter},   // decided to publish
		{finalize, "s3", "UploadPartCopy", 1, killAfter},             // a part of the artifact
		{finalize, "s3", "CompleteMultipartUpload", 1, killAfter},    // an artifact that is not bound
		{finalize, "s3", "PutObject", 1, killAfter},                  // a receipt that is not bound
		{finalize, "dynamodb", "TransactWriteItems", 2, killBefore},  // all but bound
		{finalize, "dynamodb", "TransactWriteItems", 2, killAfter},   // bound, message not acknowledged
		{plan, "dynamodb", "UpdateItem", 1, dropAnswer},              // whether claimed is unknown
		{plan, "dynamodb", "TransactWriteItems", 2, dropAnswer},      // whether planned is unknown
		{plan, "sqs", "SendMessage", 1, dropAnswer},                  // a shard woken twice
		{process, "dynamodb", "UpdateItem", 2, dropAnswer},           // whether checkpointed is unknown
		{process, "dynamodb", "TransactWriteItems", 1, dropAnswer},   // whether counted is unknown
		{process, "s3", "CreateMultipartUpload", 1, dropAnswer},      // one upload too many
		{process, "s3", "UploadPart", 1, dropAnswer},                 // a part twice
		{process, "s3", "CompleteMultipartUpload", 1, dropAnswer},    // whether there is an object is unknown
		{process, "s3", "PutObject", 1, dropAnswer},                  // the same of a small shard
		{process, "sqs", "SendMessage", 1, dropAnswer},               // finalize woken twice
		{process, "secretsmanager", "GetSecretValue", 1, dropAnswer}, // read again
		{finalize, "s3", "UploadPartCopy", 1, dropAnswer},            // a part twice
		{finalize, "s3", "GetObject", 1, dropAnswer},                 // read again
		{finalize, "s3", "CompleteMultipartUpload", 1, dropAnswer},   // whether published is unknown
		{finalize, "s3", "PutObject", 1, dropAnswer},                 // whether there is a receipt is unknown
		{finalize, "dynamodb", "TransactWriteItems", 1, dropAnswer},  // whether decided is unknown
		{finalize, "dynamodb", "TransactWriteItems", 2, dropAnswer},  // whether bound is unknown
		{process, "s3", "UploadPart", 1, throttle},                   // asked too often
		{process, "dynamodb", "TransactWriteItems", 1, throttle},     // the same of the ledger
		{process, "s3", "UploadPart", 2, dropRequest},                // never arrived
		{finalize, "dynamodb", "TransactWriteItems", 2, dropRequest}, // the same of the binding
	}
}

// TestStruckExports has one call of each of many exports go wrong, in every way that it can: the caller killed before or
// after it, its answer lost, the call never made. Every export ends with the bytes of an undisturbed one and leaves
// nothing behind.
func TestStruckExports(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.connect(t, "wide", sqlite(t, wide()))
	w.define(t, definition("wide", "wide", map[string]any{"shard_rows": wideShardRows, "active_jobs_max": 100}))
	ana := w.user(t, tenant, "ana")
	asked := whole("wide", "csv", "none")
	made := w.made(t)
	want := ana.undisturbed(t, asked)
	list, long := strikes(), os.Getenv("SEALIFT_E2E") == "long"
	if long {
		list = every(w.callsSince(t, made))
		t.Logf("%d single faults", len(list))
	}
	const atOnce = 40
	struck, done := 0, 0
	for some := range slices.Chunk(list, atOnce) {
		var ids []string
		// Create's own message is refused, so that an export stands still until its fault is set.
		w.faults(t, http.MethodPut, rule{"match": rule{"function": stack + "-create", "service": "sqs"}, "action": "refuse", "code": "AccessDenied", "status": 403})
		for _, s := range some {
			id := ana.create(t, asked, "struck by "+s.String())
			ids = append(ids, id)
			match := rule{"function": s.function, "service": s.service, "operation": s.operation, "nth": s.nth}
			if s.service == "dynamodb" || s.service == "s3" {
				match["key"] = id
			}
			w.faults(t, http.MethodPost, rule{"id": s.String(), "match": match, "action": s.action})
		}
		for _, id := range ids {
			w.send(t, "plan", `{"schema": 1, "job": "`+id+`", "unit": "plan"}`)
		}
		await(t, slowWait, "not every export has ended", func() (string, bool) {
			w.sweep(t)
			time.Sleep(5 * pause)
			open := ""
			for i, id := range ids {
				if e := ana.show(t, id); !e.over() {
					open += some[i].String() + ": " + w.story(t, id) + "\n"
				}
			}
			return open, open == ""
		})
		for _, r := range w.faults(t, http.MethodGet, nil) {
			switch {
			case r["action"] == "refuse":
			case r["struck"] != 0.0:
				struck++
			case !long:
				// How often a caller asks whether it shall go on depends on its pace; the normal run's calls don't.
				t.Errorf("%s never struck: %v", r["id"], r)
			}
		}
		w.faults(t, http.MethodDelete, nil)
		for i, id := range ids {
			if !ana.same(t, id, want) {
				t.Errorf("%s: %s", some[i], w.story(t, id))
			}
		}
		w.settle(t, ids)
		done += len(some)
		t.Logf("%d of %d exports have ended alike", done, len(list))
	}
	t.Logf("%d faults struck", struck)
}

// rule is a fault as the cloud takes it.
type rule map[string]any

func (w *world) faults(t *testing.T, method string, r rule) []rule {
	t.Helper()
	var body []byte
	if r != nil {
		list := []rule{r}
		var err error
		body, err = json.Marshal(list)
		ok(t, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, w.Endpoint+"/_localstack/faults", bytes.NewReader(body))
	ok(t, err)
	a, err := fetch(request)
	ok(t, err)
	var rules []rule
	ok(t, json.Unmarshal(a.want(t, http.StatusOK).body, &rules))
	return rules
}

// call is one that the cloud has answered.
type call struct {
	Function  string `json:"function"`
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Process   string `json:"process"`
	Subject   string `json:"subject"`
}

// calls reads the cloud's record of calls after a number.
func (w *world) calls(t *testing.T, after int) (made int, calls []call) {
	t.Helper()
	var record struct {
		Made  int    `json:"made"`
		Calls []call `json:"calls"`
	}
	a := get(t, w.Endpoint+"/_localstack/calls?after="+strconv.Itoa(after))
	ok(t, json.Unmarshal(a.want(t, http.StatusOK).body, &record))
	return record.Made, record.Calls
}

func (w *world) made(t *testing.T) int {
	t.Helper()
	made, _ := w.calls(t, 1<<40)
	return made
}

func (w *world) callsSince(t *testing.T, made int) []call {
	t.Helper()
	_, calls := w.calls(t, made)
	return calls
}

// every is every single fault at every call that the workers of an undisturbed export have made.
func every(calls []call) []strike {
	var list []strike
	seen := map[call]int{}
	for _, c := range calls {
		worker := strings.TrimPrefix(c.Function, stack+"-")
		if !slices.Contains([]string{"plan-shards", "process-shard", "finalize"}, worker) {
			continue
		}
		c.Process, c.Subject = "", ""
		seen[c]++
		for _, action := range []string{killBefore, killAfter, dropAnswer, dropRequest} {
			list = append(list, strike{c.Function, c.Service, c.Operation, seen[c], action})
		}
	}
	return list
}
