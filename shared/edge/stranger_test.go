package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"sealift/shared/job"
)

// TestAnExportThatCanNotBeReadIsNoneToStrangers asks for one whose row says whose it is, and for one whose row doesn't.
func TestAnExportThatCanNotBeReadIsNoneToStrangers(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.broken = true
	id, lost := h.created(ana(), withKey("a")), h.created(ana(), withKey("b"))
	h.world.Ledger.Rewrite(job.JobKey(id), "shards", "many")
	h.world.Ledger.Rewrite(job.JobKey(lost), "tenant", int64(7))
	for _, c := range []struct {
		who    person
		id     string
		status int
	}{
		{bob(), id, http.StatusNotFound}, {eve(), id, http.StatusNotFound}, {operator(), id, http.StatusNotFound},
		{ana(), id, http.StatusInternalServerError}, {chief(), id, http.StatusInternalServerError},
		{eve(), lost, http.StatusNotFound},
	} {
		for _, what := range []string{"", "/events", "/receipt"} {
			h.must(c.status, h.ask(c.who, "GET", "/v1/exports/"+c.id+what))
		}
		for _, how := range []string{"cancel", "revoke"} {
			h.must(c.status, h.end(c.who, c.id, how))
		}
		h.must(c.status, h.link(c.who, c.id))
	}
}

// TestADefinitionThatCanNotBeReadTellsNothingOfItself has one that is hidden from whoever asks for it be of another release.
func TestADefinitionThatCanNotBeReadTellsNothingOfItself(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.broken = true
	h.world.Ledger.Rewrite(job.DefinitionHeadKey("orders"), "body", `{"name": "orders", "source": {"table": "salaries", "engine": 7}, "request_roles": ["board"]}`)
	for name, answer := range map[string]string{
		"create": h.ask(ana(), "POST", "/v1/exports", withBody(march)).Body,
		"show":   h.ask(ana(), "GET", "/v1/definitions/orders").Body,
	} {
		if problem := object(t, answer); problem["type"] != "/problems/definition-unreadable" || problem["faults"] != nil || strings.Contains(answer, "source") {
			t.Errorf("%s: %s", name, answer)
		}
	}
}
