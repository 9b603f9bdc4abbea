package edge_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// operation is one of the description's, with the query parameters that it names.
type operation struct {
	method, path string
	parameters   []string
}

func describedOperations(t *testing.T) []operation {
	t.Helper()
	validating.Lock()
	defer validating.Unlock()
	var all []operation
	for path, item := range description(t).model.Paths.PathItems.FromOldest() {
		for method, described := range item.GetOperations().FromOldest() {
			o := operation{method: strings.ToUpper(method), path: path}
			for _, parameter := range described.Parameters {
				if parameter.In == "query" {
					o.parameters = append(o.parameters, parameter.Name)
				}
			}
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		t.Fatal("the description has no operation")
	}
	return all
}

// with asks for the operation with a query, on an export or a definition that is there.
func (o operation) with(h *house, query string) events.APIGatewayV2HTTPResponse {
	h.t.Helper()
	who, body := ana(), ""
	switch {
	case o.method == "PUT":
		who, body = operator(), ordersJSON(h.t)
	case strings.HasPrefix(o.path, "/v1/definitions"):
		who = operator()
	case o.method == "POST" && !strings.Contains(o.path, "{id}"):
		body = march
	}
	path := strings.NewReplacer("{id}", h.created(ana(), withKey("the only one")), "{name}", "orders").Replace(o.path)
	return h.ask(who, o.method, path+"?"+query, withBody(body))
}

func TestAQueryParameterThatTheDescriptionLacksIsRefused(t *testing.T) {
	t.Parallel()
	for _, o := range describedOperations(t) {
		t.Run(o.method+" "+o.path, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			allowed := "none is allowed"
			if len(o.parameters) > 0 {
				allowed = "allowed are " + strings.Join(o.parameters, ", ")
			}
			query := "stage=done"
			for _, name := range o.parameters {
				query = name + "=1&" + query
			}
			problem := h.must(http.StatusBadRequest, o.with(h, query))
			want := `there is no query parameter "stage" here; ` + allowed
			if problem["type"] != "/problems/parameter-unknown" || problem["field"] != "stage" || problem["detail"] != want {
				t.Errorf("got  %v\nwant %s", problem, want)
			}
			if jobs := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports"))["exports"].([]any); len(jobs) != 1 {
				t.Errorf("a request that was refused made an export: %v", jobs)
			}
			for _, name := range o.parameters {
				// An empty filter is refused and not left out: whoever sends it has lost what was to stand there.
				wanted := http.StatusOK
				if name == "state" || name == "definition" {
					wanted = http.StatusBadRequest
				}
				h.must(wanted, o.with(h, name+"="))
			}
		})
	}
}

func TestOfSeveralUnknownParametersTheFirstByNameIsTold(t *testing.T) {
	t.Parallel()
	h := opened(t)
	long := strings.Repeat("x", 3000)
	var fields []string
	for _, query := range []string{"b=1&a=2&limit=3", "Limit=3", "limit[]=3", "=3", long + "=3"} {
		problem := h.must(http.StatusBadRequest, h.ask(ana(), "GET", "/v1/exports?"+query))
		field, _ := problem["field"].(string)
		fields = append(fields, field)
	}
	if want := []string{"a", "Limit", "limit[]", "", long[:100] + "…"}; !slices.Equal(fields, want) {
		t.Errorf("got %q, want %q", fields, want)
	}
}
