package edge_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// answered is what a caller can tell apart, without what differs by the request itself.
func answered(answer events.APIGatewayV2HTTPResponse, id string) string {
	return fmt.Sprint(answer.StatusCode, answer.Headers, strings.ReplaceAll(answer.Body, id, "ID"))
}

func TestAStrangersExportIsAnsweredAsOneThatDoesNotExist(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.completed(ana())
	routes := []struct{ method, suffix string }{
		{"GET", ""}, {"GET", "/receipt"}, {"GET", "/events"}, {"POST", "/cancel"}, {"POST", "/revoke"}, {"POST", "/download-links"},
	}
	for _, who := range []person{eve(), bob(), {"Acme", "ana@acme.example", "[]"}, {"acme ", "ana@acme.example", "[sealift:tenant-exports]"}, operator()} {
		for _, r := range routes {
			foreign := answered(h.ask(who, r.method, "/v1/exports/"+id+r.suffix), id)
			missing := answered(h.ask(who, r.method, "/v1/exports/"+noJob+r.suffix), noJob)
			if foreign != missing || !strings.HasPrefix(foreign, "404") {
				t.Errorf("%s %s %s:\n foreign: %s\n missing: %s", who.subject, r.method, r.suffix, foreign, missing)
			}
		}
	}
	if state := h.must(http.StatusOK, h.ask(chief(), "GET", "/v1/exports/"+id))["state"]; state != "completed" {
		t.Errorf("after the strangers' tries the export is %v", state)
	}
}

func TestAHiddenColumnIsAnsweredAsOneThatDoesNotExist(t *testing.T) {
	t.Parallel()
	h := opened(t)
	ask := func(column string) string {
		return answered(h.ask(ana(), "POST", "/v1/exports", withBody(strings.TrimSuffix(march, "}")+`, "columns": ["`+column+`"]}`)), column)
	}
	if hidden, unknown := ask("cost"), ask("tsoc"); hidden != strings.ReplaceAll(unknown, "tsoc", "cost") {
		t.Errorf("\nhidden:  %s\nunknown: %s", hidden, unknown)
	}
	finance := person{"acme", "fin@acme.example", "[finance]"}
	h.must(http.StatusAccepted, h.ask(finance, "POST", "/v1/exports", withBody(strings.TrimSuffix(march, "}")+`, "columns": ["cost"]}`)))
}

func TestAHiddenDefinitionIsAnsweredAsOneThatDoesNotExist(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.apply(h.reshaped(`"title":`, `"request_roles": ["finance"], "title":`))
	hidden := answered(h.ask(ana(), "POST", "/v1/exports", withBody(march)), "orders")
	unknown := answered(h.ask(ana(), "POST", "/v1/exports", withBody(strings.Replace(march, "orders", "stocks", 1))), "stocks")
	if hidden != unknown {
		t.Errorf("\nhidden:  %s\nunknown: %s", hidden, unknown)
	}
}

func TestPagingShowsEveryOwnExportOnceAndNoOther(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.apply(h.reshaped(`"active_jobs_max":20`, `"active_jobs_max":1000`, `"active_jobs_max": 20`, `"active_jobs_max": 1000`))
	const each = 250
	own := map[string][]string{}
	for i := range each {
		for _, who := range []person{ana(), bob(), eve()} {
			own[who.subject] = append(own[who.subject], h.created(who, withKey(fmt.Sprint(who.subject, i))))
		}
		if i%3 == 0 {
			h.world.Clock.Advance(time.Millisecond)
		}
	}
	newest := func(ids ...[]string) []string {
		all := slices.Concat(ids...)
		slices.SortFunc(all, func(a, b string) int {
			x, y := h.job(a), h.job(b)
			return strings.Compare(y.CreatedAt.Format("150405.000")+b, x.CreatedAt.Format("150405.000")+a)
		})
		return all
	}
	cases := []struct {
		who  person
		want []string
	}{
		{ana(), newest(own[ana().subject])},
		{bob(), newest(own[bob().subject])},
		{chief(), newest(own[ana().subject], own[bob().subject])},
		{person{"acme", "new@acme.example", "[]"}, nil},
	}
	for _, c := range cases {
		var found []string
		for target := "/v1/exports?limit=7"; target != ""; {
			page := h.must(http.StatusOK, h.ask(c.who, "GET", target))
			exports := page["exports"].([]any)
			for _, export := range exports {
				found = append(found, export.(map[string]any)["id"].(string))
			}
			next, more := page["next_cursor"].(string)
			if more && len(exports) != 7 {
				t.Errorf("a page before the last has %d exports", len(exports))
			}
			target = map[bool]string{true: "/v1/exports?limit=7&cursor=" + next}[more]
		}
		if diff := cmp.Diff(c.want, found); diff != "" {
			t.Errorf("%s sees other exports (-want +got):\n%s", c.who.subject, diff)
		}
	}
}
