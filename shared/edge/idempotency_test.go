package edge_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheSameKeyAndRequestIsTheSameExport(t *testing.T) {
	t.Parallel()
	h := opened(t)
	first := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k"))
	spelled := `{"purpose":"settlement","span":{"to":"2026-04-01T08:00:00+08:00","from":"2026-03-01T00:00:00.000Z"},"filters":[],"definition":"orders"}`
	again := h.ask(ana(), "POST", "/v1/exports", withBody(spelled), withKey("k"))
	if again.Headers["idempotent-replayed"] != "true" || again.Headers["location"] != first.Headers["location"] {
		t.Errorf("another spelling of the same request is answered with %v", again.Headers)
	}
	h.run()
	h.world.Clock.Advance(29 * 24 * time.Hour)
	late := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k"))
	if late.Headers["location"] != first.Headers["location"] || h.must(http.StatusAccepted, late)["state"] != "completed" {
		t.Errorf("after 29 days the same request is answered with %v %s", late.Headers, late.Body)
	}
	if other := h.ask(eve(), "POST", "/v1/exports", withBody(march), withKey("k")); other.Headers["idempotent-replayed"] != "" {
		t.Error("another tenant's key is the same key")
	}
}

func TestAReusedKeyIsRefusedAndRecorded(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.created(ana(), withKey("k"))
	refused := h.ask(ana(), "POST", "/v1/exports", withBody(strings.Replace(march, "settlement", "tax", 1)), withKey("k"))
	if refused.StatusCode != http.StatusUnprocessableEntity || strings.Contains(refused.Body, id) {
		t.Errorf("got %d %s", refused.StatusCode, refused.Body)
	}
	page := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/events"))
	last := page["events"].([]any)[1].(map[string]any)
	if last["action"] != "idempotency_conflict" || last["actor"] != ana().subject {
		t.Errorf("the audit ends with %v", last)
	}
}

func TestAKeyThatAColleagueUsedIsUsed(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.created(ana(), withKey("k"))
	refused := h.ask(bob(), "POST", "/v1/exports", withBody(march), withKey("k"))
	if refused.StatusCode != http.StatusUnprocessableEntity || strings.Contains(refused.Body, id) ||
		!strings.Contains(refused.Body, "was used in your tenant for another request; send a new key") {
		t.Errorf("got %d %s", refused.StatusCode, refused.Body)
	}
}

func TestWithoutAKeyTheSameRequestIsTheSameExportForAWhile(t *testing.T) {
	t.Parallel()
	h := opened(t)
	first := h.created(ana())
	if again := h.created(ana()); again != first {
		t.Error("the same request at once is another export")
	}
	if other := h.created(bob()); other == first {
		t.Error("the same request by another subject is the same export")
	}
	h.world.Clock.Advance(6 * time.Minute)
	if later := h.created(ana()); later == first {
		t.Error("the same request six minutes later is the same export")
	}
}

func TestFiftyAtOnceWithOneKeyMakeOneExport(t *testing.T) {
	t.Parallel()
	h := opened(t)
	const callers = 50
	var group sync.WaitGroup
	locations, replayed := make([]string, callers), make([]bool, callers)
	for i := range callers {
		group.Go(func() {
			answer := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k"))
			locations[i], replayed[i] = answer.Headers["location"], answer.Headers["idempotent-replayed"] == "true"
		})
	}
	group.Wait()
	slices.Sort(locations)
	if unique := slices.Compact(locations); len(unique) != 1 || unique[0] == "" {
		t.Errorf("there are %d exports: %q", len(unique), unique)
	}
	if fresh := slices.IndexFunc(replayed, func(was bool) bool { return !was }); fresh < 0 || slices.Contains(replayed[fresh+1:], false) {
		t.Errorf("not exactly one answer is that of a new export: %v", replayed)
	}
	listed := h.must(http.StatusOK, h.ask(chief(), "GET", "/v1/exports"))
	if exports := listed["exports"].([]any); len(exports) != 1 {
		t.Errorf("%d exports are listed", len(exports))
	}
}
