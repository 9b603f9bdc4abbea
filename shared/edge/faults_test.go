package edge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// toldOf are the faults that a refusal lists.
func toldOf(problem map[string]any) []string {
	var lines []string
	list, _ := problem["faults"].([]any)
	for _, fault := range list {
		fault := fault.(map[string]any)
		lines = append(lines, strings.TrimPrefix(fmt.Sprint(fault["type"], " ", fault["pointer"]), "/problems/"))
	}
	return lines
}

const faulty = `{"definition": "orders", "span": {"from": "2026-03-02T00:00:00Z", "to": "2026-03-01T00:00:00Z"}, "zone": "X",
	"filters": [{"column": "status", "op": "lt", "value": "a"}], "format": {"type": "xls"}, "layout": "many", "tenant": "evil"}`

func TestARequestIsToldEverythingThatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	body := []string{"purpose-missing /purpose", "filter-not-allowed /filters/0/op", "span-empty /span", "zone-unknown /zone",
		"format-not-allowed /format/type", "layout /layout", "request-malformed /tenant"}
	shifted := func(first string, rest ...string) []string { return append([]string{first}, rest...) }
	unfit := strings.TrimSuffix(march, "}") + `, "format": {"type": "parquet"}, "layout": "many"}`
	cases := map[string]struct {
		who     person
		prepare func(h *house)
		body    string
		options []option
		want    []string
	}{
		"the body's":               {ana(), nil, faulty, nil, body},
		"the key's too":            {ana(), nil, faulty, []option{withHeader("idempotency-key", "bare")}, shifted("idempotency-key-malformed Idempotency-Key", body...)},
		"a good key changes none":  {ana(), nil, faulty, []option{withKey("good")}, body},
		"the key's and no body's":  {ana(), nil, march, []option{withHeader("idempotency-key", "bare")}, nil},
		"the key's and no request": {ana(), nil, `[]`, []option{withHeader("idempotency-key", "bare")}, []string{"idempotency-key-malformed Idempotency-Key", "request-malformed "}},
		"of an unknown definition": {ana(), nil, strings.Replace(faulty, "orders", "odrers", 1), nil,
			[]string{"definition-unknown /definition", "purpose-missing /purpose", "span-empty /span", "zone-unknown /zone", "layout /layout", "request-malformed /tenant"}},
		"without a definition": {ana(), nil, `{}`, nil, []string{"definition-unknown /definition", "purpose-missing /purpose", "span-missing /span/from"}},
		"a key that is missing": {ana(), func(h *house) { h.apply(h.reshaped(`"title":`, `"require_idempotency_key": true, "title":`)) }, strings.Replace(march, "settlement", "", 1), nil,
			[]string{"idempotency-key-missing Idempotency-Key", "purpose-missing /purpose"}},
		"what the format can't write": {ana(), func(h *house) { h.apply(h.reshaped(`"scale": 2`, `"scale": 50`)) }, unfit, nil,
			[]string{"format-option /format", "layout /layout"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			if c.prepare != nil {
				c.prepare(h)
			}
			problem := h.must(http.StatusBadRequest, h.ask(c.who, "POST", "/v1/exports", append([]option{withBody(c.body)}, c.options...)...))
			if diff := cmp.Diff(c.want, toldOf(problem)); diff != "" {
				t.Errorf("%v (-want +got):\n%s", problem, diff)
			}
			if list, _ := problem["faults"].([]any); len(list) > 0 {
				first := list[0].(map[string]any)
				if problem["type"] != first["type"] || problem["field"] != first["pointer"] || problem["detail"] != first["detail"] {
					t.Errorf("the problem is %v, its first fault %v", problem, first)
				}
			}
			if jobs := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports"))["exports"].([]any); len(jobs) != 0 {
				t.Errorf("a refused request made an export: %v", jobs)
			}
		})
	}
}

func TestWhoAsksComesBeforeWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := opened(t)
	bare := withHeader("idempotency-key", "bare")
	for _, c := range []struct {
		problem string
		status  int
		answer  events.APIGatewayV2HTTPResponse
	}{
		{"token-incomplete", 403, h.ask(person{"", "ana@acme.example", "[]"}, "POST", "/v1/exports", withBody(faulty), bare)},
		{"media-type", 415, h.ask(ana(), "POST", "/v1/exports", withBody(faulty), bare, withHeader("content-type", "text/csv"))},
		{"request-too-large", 413, h.ask(ana(), "POST", "/v1/exports", withBody(faulty+strings.Repeat(" ", 1<<20)), bare)},
		{"idempotency-key-malformed", 400, h.ask(ana(), "POST", "/v1/exports:validate", withBody(faulty), bare)},
	} {
		if problem := h.must(c.status, c.answer); problem["type"] != "/problems/"+c.problem {
			t.Errorf("got %v, want %s", problem, c.problem)
		}
	}
	// A key that is used is no matter while the request itself can't be granted.
	h.created(ana(), withKey("used"))
	if problem := h.must(http.StatusBadRequest, h.ask(ana(), "POST", "/v1/exports", withBody(faulty), withKey("used"))); problem["type"] != "/problems/purpose-missing" {
		t.Errorf("%v", problem)
	}
}

// TestAHiddenDefinitionTellsNothingByItsFaults asks with several faults for a definition that is not for the asker.
func TestAHiddenDefinitionTellsNothingByItsFaults(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.apply(h.reshaped(`"title":`, `"request_roles": ["finance"], "title":`))
	hidden := answered(h.ask(ana(), "POST", "/v1/exports", withBody(faulty)), "orders")
	unknown := answered(h.ask(ana(), "POST", "/v1/exports", withBody(strings.Replace(faulty, "orders", "stocks", 1))), "stocks")
	if hidden != unknown || !strings.Contains(hidden, `"faults"`) {
		t.Errorf("\nhidden:  %s\nunknown: %s", hidden, unknown)
	}
}

// TestARequestWithAFieldTooManyIsNoRepeat sends what was granted under a key once more, with a field that no request has.
func TestARequestWithAFieldTooManyIsNoRepeat(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.created(ana(), withKey("once"))
	h.apply(h.reshaped(`"title":`, `"purposes": ["audit"], "title":`))
	h.must(http.StatusAccepted, h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("once")))
	more := strings.TrimSuffix(march, "}") + `, "tenant": "evil"}`
	problem := h.must(http.StatusBadRequest, h.ask(ana(), "POST", "/v1/exports", withBody(more), withKey("once")))
	if diff := cmp.Diff([]string{"purpose-not-allowed /purpose", "request-malformed /tenant"}, toldOf(problem)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnIntakeMessageIsToldEverythingThatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	h := opened(t)
	if failed := h.again(messages("AROASETTLEMENT:nightly", asking("acme", "1", faulty))); len(failed) != 1 {
		t.Errorf("refused are %v", failed)
	}
	for _, word := range []string{"/purpose is missing", `/layout is \"many\"`, "/tenant does not exist"} {
		if !strings.Contains(h.log.String(), word) {
			t.Errorf("the log lacks %q: %s", word, h.log.String())
		}
	}
}
