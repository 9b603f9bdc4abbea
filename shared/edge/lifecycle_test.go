package edge_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/sim"
)

func TestAnExportGoesFromRequestToFile(t *testing.T) {
	t.Parallel()
	h := opened(t)
	asked := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k1"))
	id := h.must(http.StatusAccepted, asked)["id"].(string)
	if got, want := asked.Headers["location"], "/v1/exports/"+id; got != want {
		t.Errorf("location is %q, want %q", got, want)
	}
	if asked.Headers["retry-after"] != "1" || asked.Headers["idempotent-replayed"] != "" {
		t.Errorf("the headers of a new export are %v", asked.Headers)
	}
	h.run()
	shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
	if shown["state"] != "completed" || text(shown["rows_written"]) != "120" {
		t.Fatalf("the export is %v", shown)
	}
	receipt := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt"))
	if receipt["snapshot_sha256"] != shown["snapshot_sha256"] || text(receipt["rows"]) != "120" {
		t.Errorf("the receipt is of another export: %v", receipt)
	}
	link := h.must(http.StatusCreated, h.link(ana(), id))
	file, err := h.world.Store.Fetch(link["url"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if rows := readCSV(t, file); len(rows) != ordersOfAcme+1 || rows[0][0] != "order_id" {
		t.Errorf("the file has %d lines, want a header and %d orders", len(rows), ordersOfAcme)
	}
	if strings.Contains(h.log.String(), link["url"].(string)) || strings.Contains(h.log.String(), "customer@example.com") {
		t.Error("the log holds a link or a row")
	}
}

func TestTheAuditHoldsEveryActInOrder(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.completed(ana())
	h.must(http.StatusCreated, h.link(ana(), id))
	h.must(http.StatusOK, h.end(ana(), id, "revoke"))
	var actions []string
	target := "/v1/exports/" + id + "/events?limit=2"
	for cursor := ""; ; {
		page := h.must(http.StatusOK, h.ask(ana(), "GET", target+cursor))
		for _, event := range page["events"].([]any) {
			actions = append(actions, event.(map[string]any)["action"].(string))
		}
		next, more := page["next_cursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + next
	}
	want := []string{"created", "planned", "publishing", "completed", "link_signed", "revoked"}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Errorf("the audit differs (-want +got):\n%s", diff)
	}
}

func TestTheLogLeadsFromARequestToTheExportThatItMade(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.created(ana(), withKey("a"))
	h.created(ana(), withKey("a"))
	lines := 0
	for line := range strings.Lines(h.log.String()) {
		if strings.Contains(line, `"route":"POST /v1/exports","request_id":`) && strings.Contains(line, `"job":"`+id+`","status":202`) {
			lines++
		}
	}
	if lines != 2 {
		t.Errorf("%d of two requests are logged with the export:\n%s", lines, h.log)
	}
}

func TestARevokedExportIsToldFromOneWhoseTimeIsOver(t *testing.T) {
	t.Parallel()
	h := opened(t)
	revoked := h.completed(ana(), withKey("a"))
	expired := h.completed(ana(), withKey("b"))
	h.world.Clock.Advance(time.Hour)
	at := h.world.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00")
	answer := h.must(http.StatusOK, h.end(ana(), revoked, "revoke"))
	if answer["state"] != "expired" || answer["revoked_at"] != at || answer["expires_at"] != at {
		t.Errorf("revoked: %v, want revoked_at and expires_at %s", answer, at)
	}
	if again := h.must(http.StatusOK, h.end(ana(), revoked, "revoke")); again["revoked_at"] != at {
		t.Errorf("again: %v", again)
	}
	h.sweep(7 * 24 * time.Hour)
	if late := h.must(http.StatusOK, h.end(ana(), expired, "revoke")); late["state"] != "expired" || late["revoked_at"] != nil {
		t.Errorf("one whose time is over: %v", late)
	}
	want := map[string]any{revoked: at, expired: nil}
	for id, wanted := range want {
		if got := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id)); got["revoked_at"] != wanted {
			t.Errorf("%s: revoked_at is %v, want %v", id, got["revoked_at"], wanted)
		}
	}
	for _, e := range h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports"))["exports"].([]any) {
		if e := e.(map[string]any); e["revoked_at"] != want[e["id"].(string)] {
			t.Errorf("listed: %v", e)
		}
	}
	receipt := object(t, h.ask(ana(), "GET", "/v1/exports/"+revoked+"/receipt").Body)
	if receipt["type"] != "/problems/export-revoked" || !strings.Contains(receipt["detail"].(string), "was revoked at "+at[:19]+"Z and its file is no longer available") {
		t.Errorf("the receipt: %v", receipt)
	}
	if gone := object(t, h.ask(ana(), "GET", "/v1/exports/"+expired+"/receipt").Body); gone["type"] != "/problems/export-expired" {
		t.Errorf("the receipt of the other: %v", gone)
	}
}

func TestCancelIsIdempotentAndEndsTheExport(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.created(ana())
	first := h.end(ana(), id, "cancel")
	if state := h.must(http.StatusOK, first)["state"]; state != "cancelled" {
		t.Errorf("the state is %v", state)
	}
	if again := h.end(ana(), id, "cancel"); again.StatusCode != http.StatusOK || again.Body != first.Body {
		t.Errorf("a repeat is answered with %d %s, want %s", again.StatusCode, again.Body, first.Body)
	}
	h.run()
	if state := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))["state"]; state != "cancelled" {
		t.Errorf("after its messages came, the export is %v", state)
	}
	conflict := object(t, h.end(ana(), id, "revoke").Body)
	if conflict["state"] != "cancelled" {
		t.Errorf("the conflict names the state %v, want cancelled", conflict["state"])
	}
}

func TestAnEmptyBodyIsNoReason(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.must(http.StatusOK, h.ask(ana(), "POST", "/v1/exports/"+h.created(ana())+"/cancel"))
}

func TestAFailedExportSaysWhy(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.apply(h.reshaped(`"source":"id"`, `"source":"number"`, `"source": "id"`, `"source": "number"`))
	id := h.created(ana())
	h.run()
	shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
	failure, _ := shown["failure"].(map[string]any)
	if shown["state"] != "failed" || failure["code"] != "source_schema_changed" || !strings.Contains(failure["detail"].(string), "number") {
		t.Errorf("the export is %v with failure %v", shown["state"], failure)
	}
}

func TestAWaitingExportSaysWhyAndUntilWhen(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.sourceErr = job.Errorf(job.Transient, "source_unavailable", "the source does not answer")
	id := h.created(ana())
	h.run()
	shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
	waiting, _ := shown["waiting"].(map[string]any)
	if shown["state"] != "queued" || waiting["code"] != "source_unavailable" || waiting["until"].(string) <= shown["created_at"].(string) {
		t.Errorf("the export is %v and waits for %v", shown["state"], waiting)
	}
	h.sourceErr = nil
	h.world.Clock.Advance(time.Minute)
	h.run()
	shown = h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
	if shown["state"] != "completed" || shown["waiting"] != nil {
		t.Errorf("after the source is back the export is %v and waits for %v", shown["state"], shown["waiting"])
	}
}

func TestARequestIsValidatedWithoutATrace(t *testing.T) {
	t.Parallel()
	h := opened(t)
	answer := h.must(http.StatusOK, h.ask(ana(), "POST", "/v1/exports:validate", withBody(march)))
	if snapshot := answer["snapshot"].(map[string]any); snapshot["tenant"] != "acme" || snapshot["applicant"] != "ana@acme.example" {
		t.Errorf("the snapshot is of %v %v", snapshot["tenant"], snapshot["applicant"])
	}
	listed := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports"))
	if exports := listed["exports"].([]any); len(exports) != 0 {
		t.Errorf("%d exports were made", len(exports))
	}
	if sent := h.world.Queue.Messages(); len(sent) != 0 {
		t.Errorf("%d messages were sent", len(sent))
	}
}

func TestFaultsOfTheServiceAreToldApartFromThoseThatPass(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		status  int
		problem string
		ask     func(t *testing.T) (h *house, answer events.APIGatewayV2HTTPResponse)
	}{
		{"a damaged file", http.StatusInternalServerError, "/problems/artifact-damaged", func(t *testing.T) (*house, events.APIGatewayV2HTTPResponse) {
			h := opened(t)
			id := h.completed(ana())
			h.world.Store.Damage(h.job(id).Artifact.Key, []byte("something else"))
			return h, h.link(ana(), id)
		}},
		{"a lost receipt", http.StatusInternalServerError, "/problems/receipt-missing", func(t *testing.T) (*house, events.APIGatewayV2HTTPResponse) {
			h := opened(t)
			id := h.completed(ana())
			if err := h.world.Store.Delete(t.Context(), h.job(id).Artifact.ReceiptKey, ""); err != nil {
				t.Fatal(err)
			}
			h.broken = true
			return h, h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt")
		}},
		{"a changed receipt", http.StatusInternalServerError, "/problems/receipt-changed", func(t *testing.T) (*house, events.APIGatewayV2HTTPResponse) {
			h := opened(t)
			id := h.completed(ana())
			key := h.job(id).Artifact.ReceiptKey
			h.broken = true
			h.world.Store.Damage(key, bytes.Replace(h.object(key), []byte(`"rows": 120`), []byte(`"rows": 119`), 1))
			return h, h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt")
		}},
		{"a route without its authorizer", http.StatusInternalServerError, "/problems/authorizer-missing", func(t *testing.T) (*house, events.APIGatewayV2HTTPResponse) {
			h := opened(t)
			event := gatewayEvent(ana(), "GET", "/v1/exports")
			event.RequestContext.Authorizer = nil
			return h, h.hand(event)
		}},
		{"a ledger that is busy", http.StatusServiceUnavailable, "/problems/ledger-busy", func(t *testing.T) (*house, events.APIGatewayV2HTTPResponse) {
			h := newHouse(t, sim.Options{Faults: func(call sim.Call) sim.Fault {
				if call.Port == sim.PortLedger {
					return sim.Throttle()
				}
				return sim.Fault{}
			}})
			return h, h.ask(ana(), "POST", "/v1/exports", withBody(march))
		}},
		{"a ledger whose answer is lost", http.StatusServiceUnavailable, "/problems/ledger-unknown", func(t *testing.T) (*house, events.APIGatewayV2HTTPResponse) {
			lost := false
			h := newHouse(t, sim.Options{Faults: func(call sim.Call) sim.Fault {
				if call.Subject == "create" && !lost {
					lost = true
					return sim.LoseAnswer()
				}
				return sim.Fault{}
			}})
			h.apply(ordersJSON(t))
			answer := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k"))
			if again := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k")); again.StatusCode != http.StatusAccepted {
				t.Errorf("the repeat is answered with %d %s", again.StatusCode, again.Body)
			}
			return h, answer
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, answer := c.ask(t)
			problem := object(t, answer.Body)
			if answer.StatusCode != c.status || problem["type"] != c.problem {
				t.Errorf("got %d %v, want %d %s", answer.StatusCode, problem["type"], c.status, c.problem)
			}
			if retry := answer.Headers["retry-after"]; (retry != "") != (c.status == http.StatusServiceUnavailable) {
				t.Errorf("retry-after is %q", retry)
			}
			if !strings.Contains(h.log.String(), `"msg":"request failed"`) {
				t.Error("the log lacks the failure")
			}
		})
	}
}

func TestALinkEndsNoLaterThanTheFileAndTheCredentials(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	h := newHouse(t, sim.Options{Start: start, CredentialsEnd: start.Add(2 * time.Minute)})
	h.apply(ordersJSON(t))
	link := h.must(http.StatusCreated, h.link(ana(), h.completed(ana())))
	if got, want := link["expires_at"], "2026-03-29T01:01:50.000Z"; got != want {
		t.Errorf("the link says it ends at %v, want %s", got, want)
	}
}

func readCSV(t *testing.T, file []byte) [][]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(plain).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// job reads a job's row.
func (h *house) job(id string) job.Job {
	h.t.Helper()
	fields, err := h.world.Ledger.Row(h.t.Context(), job.JobKey(id))
	if err != nil {
		h.t.Fatal(err)
	}
	j, err := job.DecodeJob(fields)
	if err != nil {
		h.t.Fatal(err)
	}
	return j
}

// text renders a number of a decoded body.
func text(number any) string { return fmt.Sprint(number) }
