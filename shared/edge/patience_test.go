package edge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/source/sqldb"
)

// patience is how often and for how long an export tries a source that never answers, when every pause is the given
// fraction of the longest that it may be.
func patience(t *testing.T, fraction float64) (tries int, lasts time.Duration) {
	t.Helper()
	h := opened(t)
	h.sourceErr = job.Errorf(job.Transient, "source_unavailable", "the server can't be reached")
	id := h.created(ana())
	worker := edge.Worker(h.world.Ledger, h.world.Queue, h.logger())
	worker.Jitter = func(most time.Duration) time.Duration { return time.Duration(fraction * float64(most)) }
	planner := pipeline.Planner{Worker: worker, Sources: h}
	begun := h.world.Clock.Now()
	for range 100 {
		for _, ready := range h.world.Queue.Ready() {
			message, _ := h.world.Queue.Take(ready.Number)
			if err := planner.Plan(t.Context(), message.Pointer); err != nil {
				t.Fatal(err)
			}
			tries++
		}
		shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
		if failure, failed := shown["failure"].(map[string]any); failed {
			if shown["state"] != "failed" || failure["code"] != "source_unavailable" || failure["detail"] != "the server can't be reached" {
				t.Errorf("the export is %v: %v", shown["state"], failure)
			}
			return tries, h.world.Clock.Now().Sub(begun).Round(time.Second)
		}
		if waiting, _ := shown["waiting"].(map[string]any); shown["state"] != "queued" || waiting["code"] != "source_unavailable" {
			t.Fatalf("the export is %v and waits for %v", shown["state"], waiting)
		}
		if due, waits := h.world.Queue.Next(); waits {
			h.world.Clock.Advance(due.Sub(h.world.Clock.Now()))
		}
	}
	t.Fatal("the export does not end")
	return 0, 0
}

// What is written for people who write definitions holds for the program.
func TestHowLongASourceIsTriedIsAsWritten(t *testing.T) {
	t.Parallel()
	spoken := func(d time.Duration) string {
		if d < time.Minute {
			return fmt.Sprintf("%d seconds", d/time.Second)
		}
		return fmt.Sprintf("%d minutes and %d seconds", d/time.Minute, d%time.Minute/time.Second)
	}
	text := strings.Join(strings.Fields(string(mustRead(t, "infra/definitions/README.md"))), " ")
	for format, fraction := range map[string]float64{"at least %s": 0, "%s on average": 0.5, "at most %s": 1} {
		tries, lasts := patience(t, fraction)
		if want := fmt.Sprintf(format, spoken(lasts)); tries != 8 || !strings.Contains(text, want) || !strings.Contains(text, "eight tries") {
			t.Errorf("infra/definitions/README.md does not say that a source is given up after %d tries, %s", tries, want)
		}
	}
	if want := fmt.Sprintf("up to %s each", spoken(sqldb.ConnectTime)); !strings.Contains(text, want) {
		t.Errorf("infra/definitions/README.md does not say that tries take %s", want)
	}
}
