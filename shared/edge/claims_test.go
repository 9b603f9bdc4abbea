package edge_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestAClaimThatIsNoTextIsNoName has tokens whose claims are of other types, as the gateway and its emulators render them.
func TestAClaimThatIsNoTextIsNoName(t *testing.T) {
	t.Parallel()
	h := opened(t)
	for _, claim := range []string{"[acme]", "[acme globex]", "[]", `["acme"]`, `{"x":"acme"}`, "map[x:acme]", "null", "<nil>", "true", "false"} {
		for place, who := range map[string]person{"tenant (tenant)": {claim, "ana@acme.example", "[]"}, "subject (sub)": {"acme", claim, "[]"}} {
			for _, method := range []string{"GET", "POST"} {
				problem := h.must(http.StatusForbidden, h.ask(who, method, "/v1/exports", withBody(map[string]string{"POST": march}[method])))
				detail, _ := problem["detail"].(string)
				if problem["type"] != "/problems/token-incomplete" || !strings.Contains(detail, "the token's "+place+" is "+claim+", which is no name; ask the issuer") {
					t.Errorf("%s as the %s: %v", claim, place, problem)
				}
			}
		}
	}
	for _, name := range []string{"7", "nullable", "[acme", "acme]", "True", "{acme", "a[0]", "東京"} {
		if got := h.ask(person{name, name, "[]"}, "GET", "/v1/exports"); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.Body)
		}
	}
}
