package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestManyLinksAtOnceAreCountedExactly has many ask at the same time for links of one export, which allows fewer: every one
// of them is given a link or refused by the count.
func TestManyLinksAtOnceAreCountedExactly(t *testing.T) {
	t.Parallel()
	const atOnce, most = 36, 30
	w := start(t)
	w.connect(t, "lite", sqlite(t, orders(7, 40, awkward)))
	w.define(t, definition("many", "lite", map[string]any{"downloads_max": most}))
	dee := w.user(t, tenant, "dee")
	id := dee.create(t, whole("many", "csv", "none"), "links at once")
	dee.completed(t, id)

	answers, errs := make([]answer, atOnce), make([]error, atOnce)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			answers[i], errs[i] = dee.try(t, http.MethodPost, "/v1/exports/"+id+"/download-links", nil)
		})
	}
	group.Wait()
	given := 0
	for i, a := range answers {
		switch {
		case errs[i] != nil:
			t.Errorf("request %d: %v", i, errs[i])
		case a.status == http.StatusCreated:
			given++
		case a.status != http.StatusForbidden || !strings.Contains(string(a.body), "downloads-exceeded"):
			t.Errorf("request %d got %d %s, want a link or the refusal of the count", i, a.status, a.body)
		}
	}
	if given != most {
		t.Errorf("%d links were given, want %d", given, most)
	}
	events := string(dee.do(t, http.MethodGet, "/v1/exports/"+id+"/events", nil).want(t, http.StatusOK).body)
	if signed := strings.Count(events, `"action":"link_signed"`); signed != most {
		t.Errorf("the audit has %d links, want %d", signed, most)
	}
}
