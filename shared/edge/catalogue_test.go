package edge_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestAUserSeesWhatMayBeAskedForAndNothingOfTheSource asks for the definitions as a user without the operator's role.
func TestAUserSeesWhatMayBeAskedForAndNothingOfTheSource(t *testing.T) {
	t.Parallel()
	h := opened(t)
	for _, path := range []string{"/v1/definitions", "/v1/definitions/orders"} {
		answer := get(ana(), path)(h)
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s answered %d %s", path, answer.StatusCode, answer.Body)
		}
		for _, hidden := range []string{"connection", "tenant_column", "applied_by", "sha256", "\"table\""} {
			if strings.Contains(answer.Body, hidden) {
				t.Errorf("%s shows %s: %s", path, hidden, answer.Body)
			}
		}
	}
	shown := get(ana(), "/v1/definitions/orders")(h).Body
	if !strings.Contains(shown, `"time_column":"placed_at"`) {
		t.Errorf("a user is not told which column a span bounds: %s", shown)
	}
	if !strings.Contains(shown, `"columns":[{"name":`) || !strings.Contains(shown, `"formats":[`) || !strings.Contains(shown, `"promise":`) {
		t.Errorf("a user is not told the choices: %s", shown)
	}
}

func TestAListingOfDefinitionsSaysTheirTitles(t *testing.T) {
	t.Parallel()
	h := opened(t)
	for name, who := range map[string]person{"a user": ana(), "an operator": operator()} {
		listed := h.must(http.StatusOK, get(who, "/v1/definitions")(h))["definitions"].([]any)
		if title := listed[0].(map[string]any)["title"]; len(listed) != 1 || title != "Orders" {
			t.Errorf("%s is told the title %v, want Orders", name, title)
		}
	}
	h.apply(h.reshaped(`"title": "Orders",`, ""))
	if answer := get(ana(), "/v1/definitions")(h); answer.StatusCode != http.StatusOK || strings.Contains(answer.Body, "title") {
		t.Errorf("a definition without a title is listed as %s", answer.Body)
	}
}
