package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func proveOneKey(t *testing.T, s *shared) {
	const creates = 50
	kim := s.user(t, "onekey", "kim")
	asked := whole("lite", "csv", "gzip")
	answers := make([]answer, creates)
	errs := make([]error, creates)
	body := asked.json(t)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			answers[i], errs[i] = kim.try(t, http.MethodPost, "/v1/exports", body, "Idempotency-Key", `"march"`)
		})
	}
	group.Wait()
	ids, fresh := map[string]int{}, 0
	for i, a := range answers {
		ok(t, errs[i])
		a.want(t, http.StatusAccepted)
		ids[a.object(t)["id"].(string)]++
		if a.header.Get("Idempotent-Replayed") == "" {
			fresh++
		}
	}
	if len(ids) != 1 || fresh != 1 {
		t.Errorf("%d creates with one key made %d exports (%v), %d of them said to be new", creates, len(ids), ids, fresh)
	}
	list := kim.do(t, http.MethodGet, "/v1/exports", nil).want(t, http.StatusOK).object(t)["exports"].([]any)
	if len(list) != 1 {
		t.Errorf("the list has %d exports, want 1", len(list))
	}
	if active := s.active(t, "onekey"); active != "1" && active != "0" {
		t.Errorf("the ledger counts %s unfinished exports for one key", active)
	}
	kim.post(t, asked.with("purpose", "another"), "march").want(t, http.StatusUnprocessableEntity)
	if a := kim.do(t, http.MethodPost, "/v1/exports", body, "Idempotency-Key", "march").want(t, http.StatusBadRequest); !strings.Contains(string(a.body), "quoted") {
		t.Errorf("the refusal of a bare key does not say that it must be quoted: %s", a.body)
	}
	// The key belongs to a tenant, not to the world.
	if other := s.user(t, "otherkey", "kim").create(t, asked, "march"); ids[other] != 0 {
		t.Error("another tenant's same key gave this tenant's export")
	}
}

// refused is a bad request and what its refusal must say.
type refused struct {
	body   any
	status int
	field  string
	says   []string
	header []string
}

func refusals() map[string]refused {
	good := whole("lite", "csv", "none")
	filter := func(column, op string, value any) ask {
		return good.with("filters", []any{map[string]any{"column": column, "op": op, "value": value}})
	}
	span := func(from, to string) ask { return good.with("span", map[string]any{"from": from, "to": to}) }
	return map[string]refused{
		"unknown column":          {good.with("columns", []string{"id", "nme"}), 400, "/columns/1", []string{"nme", "allowed are id, code"}, nil},
		"unknown definition":      {good.with("definition", "ordres"), 400, "/definition", []string{"definition"}, nil},
		"missing definition":      {ask{"purpose": "p"}, 400, "/definition", []string{"missing"}, nil},
		"missing purpose":         {good.with("purpose", ""), 400, "/purpose", []string{"missing"}, nil},
		"unknown field":           {good.with("colums", 1), 400, "", []string{"colums"}, nil},
		"text for a number":       {filter("id", "ge", "many"), 400, "/filters/0/value", []string{"many"}, nil},
		"number for a boolean":    {filter("gift", "eq", 3), 400, "/filters/0/value", []string{"true"}, nil},
		"filter op not allowed":   {filter("id", "ne", 3), 400, "/filters/0/op", []string{"eq, ge, lt"}, nil},
		"span too wide":           {span("2020-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), 400, "/span", []string{"366"}, nil},
		"span backwards":          {span(to, from), 400, "/span", []string{"before"}, nil},
		"span is no time":         {span("yesterday", to), 400, "/span/from", []string{"yesterday"}, nil},
		"unknown format":          {good.with("format", map[string]any{"type": "xls"}), 400, "/format/type", []string{"csv"}, nil},
		"unknown zone":            {good.with("zone", "Mars/Olympus"), 400, "/zone", []string{"Mars/Olympus"}, nil},
		"malformed JSON":          {`{"definition": "lite",`, 400, "", []string{"JSON"}, nil},
		"field twice":             {`{"definition": "lite", "definition": "pg"}`, 400, "/definition", []string{"twice"}, nil},
		"a list":                  {`[]`, 400, "", []string{"object"}, nil},
		"two megabytes":           {`{"purpose": "` + strings.Repeat("x", 2<<20) + `"}`, 413, "", []string{"262144"}, nil},
		"another content type":    {good, 415, "", []string{"application/json"}, []string{"Content-Type", "text/csv"}},
		"key without its quotes":  {good, 400, "Idempotency-Key", []string{"quoted"}, []string{"Idempotency-Key", "abc"}},
		"slash in the file name":  {good.with("file_name", "../x.csv"), 400, "/file_name", []string{"slashes"}, nil},
		"invalid UTF-8":           {"{\"purpose\": \"\xff\"}", 400, "", []string{"UTF-8"}, nil},
		"wrong type of a field":   {good.with("purpose", 7), 400, "/purpose", []string{"purpose"}, nil},
		"a key of the wrong case": {good.with("Purpose", "x"), 400, "", []string{"Purpose"}, nil},
	}
}

func proveRefusals(t *testing.T, s *shared) {
	rob := s.user(t, "refused", "rob")
	for name, r := range refusals() {
		body, isText := r.body.(string)
		if !isText {
			body = string(r.body.(ask).json(t))
		}
		for _, path := range []string{"/v1/exports", "/v1/exports:validate"} {
			a := rob.do(t, http.MethodPost, path, []byte(body), r.header...)
			problem := a.object(t)
			detail, _ := problem["detail"].(string)
			field, _ := problem["field"].(string)
			about := fmt.Sprintf("%s at %s: %d %s", name, path, a.status, a.body)
			if a.status != r.status || problem["status"] != float64(r.status) || a.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: want a problem document of status %d, not %s", about, r.status, a.header.Get("Content-Type"))
			}
			if kind, _ := problem["type"].(string); !strings.HasPrefix(kind, "/problems/") {
				t.Errorf("%s: want a type below /problems/", about)
			}
			if !strings.HasPrefix(field, r.field) || (r.field == "") != (field == "") && r.field != "" {
				t.Errorf("%s: field %q, want %q", about, field, r.field)
			}
			for _, words := range r.says {
				if !strings.Contains(detail, words) {
					t.Errorf("%s: the detail does not say %q", about, words)
				}
			}
		}
	}
	if list := rob.do(t, http.MethodGet, "/v1/exports", nil).want(t, http.StatusOK).object(t)["exports"].([]any); len(list) != 0 {
		t.Errorf("%d refused requests became exports", len(list))
	}
}

func proveQuota(t *testing.T, s *shared) {
	const most = 3
	s.connect(t, "down", "postgres://nobody@127.0.0.1:1/none?sslmode=disable&connect_timeout=2")
	s.define(t, definition("down", "down", map[string]any{"active_jobs_max": most}))
	dan := s.user(t, "quota", "dan")
	asked := whole("down", "csv", "none")
	var ids []string
	for i := range most {
		ids = append(ids, dan.create(t, asked, fmt.Sprint(i)))
	}
	full := dan.post(t, asked, "one too many").want(t, http.StatusTooManyRequests)
	if full.header.Get("Retry-After") == "" || !strings.Contains(string(full.body), "3 unfinished exports") {
		t.Errorf("the refusal does not say what is used up and when to ask again: %v %s", full.header, full.body)
	}
	dan.do(t, http.MethodPost, "/v1/exports/"+ids[0]+"/cancel", nil).want(t, http.StatusOK)
	ids = append(ids, dan.create(t, asked, "one too many"))
	for _, id := range ids {
		dan.do(t, http.MethodPost, "/v1/exports/"+id+"/cancel", nil).want(t, http.StatusOK)
	}
	if active := s.active(t, "quota"); active != "0" {
		t.Errorf("the ledger counts %s unfinished exports after all are cancelled", active)
	}
}
