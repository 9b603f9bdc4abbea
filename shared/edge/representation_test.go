package edge_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnETagSavesTheSameAnswer(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.created(ana())
	first := h.ask(ana(), "GET", "/v1/exports/"+id)
	tag := first.Headers["etag"]
	for _, held := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		same := h.ask(ana(), "GET", "/v1/exports/"+id, withHeader("if-none-match", held))
		if same.StatusCode != http.StatusNotModified || same.Body != "" || same.Headers["etag"] != tag || same.Headers["retry-after"] == "" {
			t.Errorf("If-None-Match %s: got %d %q %v", held, same.StatusCode, same.Body, same.Headers)
		}
	}
	h.run()
	changed := h.ask(ana(), "GET", "/v1/exports/"+id, withHeader("if-none-match", tag))
	if changed.StatusCode != http.StatusOK || changed.Headers["etag"] == tag || changed.Headers["retry-after"] != "" {
		t.Errorf("after it ended: got %d %v", changed.StatusCode, changed.Headers)
	}
}

func TestRetryAfterGrowsWithTheAge(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.created(ana())
	var found []string
	for range 5 {
		found = append(found, h.ask(ana(), "GET", "/v1/exports/"+id).Headers["retry-after"])
		h.world.Clock.Advance(100 * time.Second)
	}
	if diff := cmp.Diff([]string{"1", "11", "21", "30", "30"}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADefinitionIsAppliedOncePerContent(t *testing.T) {
	t.Parallel()
	h := opened(t)
	again := h.must(http.StatusOK, h.ask(operator(), "PUT", "/v1/definitions/orders", withBody(ordersJSON(t))))
	if again["changed"] != false || text(again["version"]) != "1" {
		t.Errorf("the same content is answered with %v", again)
	}
	h.apply(h.reshaped(`"title":`, `"purposes": ["audit"], "title":`))
	shown := h.must(http.StatusOK, h.ask(operator(), "GET", "/v1/definitions/orders"))
	if text(shown["version"]) != "2" {
		t.Errorf("the newest version is %v", shown["version"])
	}
	first := h.must(http.StatusOK, h.ask(operator(), "GET", "/v1/definitions/orders?version=1"))
	if first["definition"].(map[string]any)["purposes"] != nil {
		t.Error("version 1 has changed")
	}
	if mine := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/definitions/orders?version=2")); text(mine["version"]) != "2" {
		t.Errorf("who may ask for exports sees version %v of the newest, 2", mine["version"])
	}
	old := h.must(http.StatusNotFound, h.ask(ana(), "GET", "/v1/definitions/orders?version=1"))
	if old["type"] != "/problems/definition-not-found" || !strings.HasPrefix(old["detail"].(string), `version 1 of definition "orders" is for operators, if there is one; the newest is 2`) {
		t.Errorf("an older version is answered with %v", old)
	}
	listed := h.must(http.StatusOK, h.ask(operator(), "GET", "/v1/definitions"))
	if definitions := listed["definitions"].([]any); len(definitions) != 1 {
		t.Errorf("%d definitions are listed", len(definitions))
	}
}
