package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// entry is one call of the cloud's journal: what a service has done, and whether its caller heard of it.
type entry struct {
	Number    int             `json:"number"`
	Function  string          `json:"function"`
	Process   string          `json:"process"`
	Service   string          `json:"service"`
	Operation string          `json:"operation"`
	Subject   string          `json:"subject"`
	Query     string          `json:"query"`
	Request   json.RawMessage `json:"request"`
	Status    int             `json:"status"`
	Answer    string          `json:"answer"`
	Lost      bool            `json:"lost"`
	Begin     int64           `json:"begin"`
	End       int64           `json:"end"`
	LedgerMS  int64           `json:"ledger_ms"`
}

// done reports whether the service did what it was asked. A completion can fail in the body of an answer that began well.
func (e entry) done() bool { return e.Status/100 == 2 && !strings.Contains(e.Answer, "<Error>") }

// record begins the cloud's journal.
func (w *world) record(t *testing.T) {
	t.Helper()
	w.ask(t, http.MethodPut, "/_localstack/journal", "")
}

// journal reads it.
func (w *world) journal(t *testing.T) []entry {
	t.Helper()
	var out struct {
		Missed  int     `json:"missed"`
		Entries []entry `json:"entries"`
	}
	ok(t, json.Unmarshal(get(t, w.Endpoint+"/_localstack/journal").want(t, http.StatusOK).body, &out))
	if out.Missed > 0 || len(out.Entries) == 0 {
		t.Fatalf("the journal has %d entries and misses %d", len(out.Entries), out.Missed)
	}
	return out.Entries
}

// ask is a request to the cloud's own paths.
func (w *world) ask(t *testing.T, method, path, body string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.Endpoint+path, strings.NewReader(body))
	ok(t, err)
	a, err := fetch(request)
	ok(t, err)
	return a.want(t, http.StatusOK).body
}

// balance checks, at the end of a cloud's run, what must add up over all exports: uploads made are completed or aborted,
// messages sent are deleted or set aside, the tenant's quota is given back, no export has more than one artifact. Messages
// of the dead are hidden for long; the queues' clock is moved so that they come once more, to find everything done.
func (w *world) balance(t *testing.T, owner string) []entry {
	t.Helper()
	w.forward(t, "sqs", 5_401_000)
	w.rest(t)
	entries := w.journal(t)
	uploads, ended, published := map[string]string{}, map[string]string{}, map[string]int{}
	sent, deleted := 0, 0
	for _, e := range entries {
		if !e.done() {
			continue
		}
		query, err := url.ParseQuery(e.Query)
		ok(t, err)
		switch e.Operation {
		case "CreateMultipartUpload":
			_, rest, _ := strings.Cut(e.Answer, "<UploadId>")
			id, _, _ := strings.Cut(rest, "</UploadId>")
			uploads[id] = e.Subject
		case "CompleteMultipartUpload", "AbortMultipartUpload":
			ended[query.Get("uploadId")] = e.Operation
		case "SendMessage":
			sent++
		case "DeleteMessageBatch":
			deleted += strings.Count(e.Answer, `"Id"`)
		}
		if strings.HasPrefix(e.Subject, "artifacts/") && (e.Operation == "CompleteMultipartUpload" || e.Operation == "PutObject") {
			// Whatever the publication: an export has one manifest or file, and one of each number.
			segments := strings.Split(e.Subject, "/")
			published[segments[2]+"/"+segments[len(segments)-1]]++
		}
	}
	completed := 0
	for id, key := range uploads {
		if ended[id] == "" {
			t.Errorf("the upload %s of %s is neither completed nor aborted", id, key)
		}
		if ended[id] == "CompleteMultipartUpload" {
			completed++
		}
	}
	left, dead := w.waiting(t, false), w.waiting(t, true)
	if sent != deleted+dead || left != 0 {
		t.Errorf("%d messages were sent, %d deleted, %d set aside, %d are left", sent, deleted, dead, left)
	}
	for file, n := range published {
		if n > 1 {
			t.Errorf("%s was stored %d times", file, n)
		}
	}
	if active := w.active(t, owner); active != "0" {
		t.Errorf("the ledger counts %s unfinished exports after the end of all", active)
	}
	t.Logf("%d uploads = %d completed + %d aborted; %d messages = %d deleted + %d set aside; %d artifacts stored once",
		len(uploads), completed, len(uploads)-completed, sent, deleted, dead, len(published))
	return entries
}

// waiting counts the messages of the work queues, or of their dead letters, however hidden.
func (w *world) waiting(t *testing.T, dead bool) (n int) {
	t.Helper()
	for _, name := range []string{"plan", "lane-bulk", "lane-realtime", "finalize", "intake"} {
		if dead {
			name += "-dead-letters"
		}
		for _, count := range w.depth(t, name) {
			n += count
		}
	}
	return n
}

// depth is how many messages of a queue are visible, delayed and hidden.
func (w *world) depth(t *testing.T, name string) [3]int {
	t.Helper()
	out, err := sqs.NewFromConfig(w.aws).GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(w.Endpoint + "/000000000000/" + stack + "-" + name), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	ok(t, err)
	var depth [3]int
	for i, attribute := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible"} {
		depth[i] = number(t, out.Attributes[attribute])
	}
	return depth
}
