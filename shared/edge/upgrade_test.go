package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// upgrade applies the shipped definition with some of its compact text replaced, which must be there.
func (h *house) upgrade(pairs ...string) {
	h.t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(ordersJSON(h.t))); err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(compact.String(), pairs[i]) {
			h.t.Fatalf("the definition has no %s", pairs[i])
		}
	}
	h.apply(strings.NewReplacer(pairs...).Replace(compact.String()))
}

func marchWith(more string) string { return strings.TrimSuffix(march, "}") + more + "}" }

// TestAKeyOutlivesADefinition asks again, with the same key, after the definition has become another one.
func TestAKeyOutlivesADefinition(t *testing.T) {
	t.Parallel()
	const unprocessable, bad = http.StatusUnprocessableEntity, http.StatusBadRequest
	cases := []struct {
		name    string
		request string
		pairs   []string
		// other is how another request with the key is answered.
		other int
	}{
		{"a new column", march, []string{`"columns":[`, `"columns":[{"name":"remark","source":"note","kind":"string"},`}, unprocessable},
		{"another order of columns", march, []string{`"source":"id",`, `"source":"items",`}, unprocessable},
		{"another default format", march, []string{`"formats":["csv","jsonl"`, `"formats":["jsonl","csv"`}, unprocessable},
		{"another default compression", march, []string{`"compressions":["gzip","zstd"`, `"compressions":["zstd","gzip"`}, unprocessable},
		{"formulas kept", march, []string{`"title":"Orders"`, `"title":"Orders","keep_formulas":true`}, unprocessable},
		{"another rule for bad text", march, []string{`"title":"Orders"`, `"title":"Orders","invalid_utf8":"fail"`}, unprocessable},
		{"purposes", march, []string{`"title":"Orders"`, `"title":"Orders","purposes":["audit"]`}, bad},
		{"shorter spans", march, []string{`"span_days_max":92`, `"span_days_max":7`}, bad},
		{"a column that is gone", marchWith(`, "columns": ["order_id", "note"]`), []string{`"name":"note"`, `"name":"remark","source":"note"`}, bad},
		{"a column that is for others now", march, []string{`"name":"note"`, `"name":"note","roles":["finance"]`}, unprocessable},
		{"a column that is masked now", march, []string{`"name":"note"`, `"name":"note","mask":{"kind":"redact"}`}, unprocessable},
		{"a filter that is gone", marchWith(`, "filters": [{"column": "status", "op": "ne", "value": "paid"}]`), []string{`["eq","ne","in"]`, `["eq","in"]`}, bad},
		{"a format that is gone", marchWith(`, "format": {"type": "jsonl"}`), []string{`"csv","jsonl",`, `"csv",`}, bad},
		{"another retention", march, []string{`"retention_days":7`, `"retention_days":3`}, unprocessable},
		{"keys for everybody", march, []string{`"title":"Orders"`, `"title":"Orders","require_idempotency_key":true`}, unprocessable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			first := h.ask(ana(), "POST", "/v1/exports", withBody(c.request), withKey("k"))
			id := h.must(http.StatusAccepted, first)["id"].(string)
			h.upgrade(c.pairs...)
			spelled := strings.NewReplacer(`"2026-04-01T00:00:00Z"`, `"2026-04-01T08:00:00.0+08:00"`, `"purpose": "settlement"`, `"purpose": "\u0073ettlement "`).Replace(c.request)
			for _, body := range []string{c.request, spelled} {
				again := h.ask(ana(), "POST", "/v1/exports", withBody(body), withKey("k"))
				if again.Headers["location"] != first.Headers["location"] || again.Headers["idempotent-replayed"] != "true" {
					t.Errorf("again: %d %s, want the export %s", again.StatusCode, again.Body, id)
				}
			}
			other := h.ask(ana(), "POST", "/v1/exports", withBody(strings.Replace(c.request, `"settlement"`, `"settling"`, 1)), withKey("k"))
			if other.StatusCode != c.other || strings.Contains(other.Body, id) {
				t.Errorf("another request: %d %s, want %d", other.StatusCode, other.Body, c.other)
			}
			if colleague := h.ask(bob(), "POST", "/v1/exports", withBody(c.request), withKey("k")); colleague.StatusCode != c.other || strings.Contains(colleague.Body, id) {
				t.Errorf("a colleague: %d %s", colleague.StatusCode, colleague.Body)
			}
			listed := h.must(http.StatusOK, h.ask(chief(), "GET", "/v1/exports"))
			if exports := listed["exports"].([]any); len(exports) != 1 {
				t.Errorf("%d exports are listed", len(exports))
			}
		})
	}
}

func TestAKeyOpensNoDefinitionThatIsClosed(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.created(ana(), withKey("k"))
	h.upgrade(`"title":"Orders"`, `"title":"Orders","request_roles":["finance"]`)
	again, fresh := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k")), h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("new"))
	if again.StatusCode != http.StatusBadRequest || again.Body != fresh.Body || strings.Contains(again.Body, id) {
		t.Errorf("got %d %s, want what a new key gets: %s", again.StatusCode, again.Body, fresh.Body)
	}
}

func TestAKeyThatIsForgottenAnswersForNoOldRequest(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.created(ana(), withKey("k"))
	h.upgrade(`"title":"Orders"`, `"title":"Orders","purposes":["audit"]`)
	h.world.Clock.Advance(30*24*time.Hour + time.Second)
	if late := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k")); late.StatusCode != http.StatusBadRequest || strings.Contains(late.Body, id) {
		t.Errorf("got %d %s", late.StatusCode, late.Body)
	}
}

func TestAnAnswerThatWasLostAroundAnUpgradeIsFound(t *testing.T) {
	t.Parallel()
	lost := false
	h := newHouse(t, sim.Options{Faults: func(call sim.Call) sim.Fault {
		if call.Subject == "create" && !lost {
			lost = true
			return sim.LoseAnswer()
		}
		return sim.Fault{}
	}})
	h.upgrade()
	h.must(http.StatusServiceUnavailable, h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k")))
	h.upgrade(`"title":"Orders"`, `"title":"Orders","purposes":["audit"]`)
	again := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k"))
	id := h.must(http.StatusAccepted, again)["id"].(string)
	if again.Headers["idempotent-replayed"] != "true" {
		t.Errorf("the repeat is no repeat: %v", again.Headers)
	}
	h.run()
	if state := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))["state"]; state != "completed" {
		t.Errorf("the export is %v", state)
	}
}

// before is a ledger whose keys were all bound by the release that knew no digest of what was asked.
type before struct{ pipeline.Ledger }

func (b before) Row(ctx context.Context, key job.RowKey, only ...string) (job.Fields, error) {
	row, err := b.Ledger.Row(ctx, key, only...)
	return older(row), err
}

func (b before) Apply(ctx context.Context, change job.Change) error {
	err := b.Ledger.Apply(ctx, change)
	var refused *job.Refused
	if !errors.As(err, &refused) {
		return err
	}
	old := map[int]job.Fields{}
	for i, row := range refused.Old {
		old[i] = older(row)
	}
	return &job.Refused{Change: refused.Change, Old: old}
}

func older(row job.Fields) job.Fields {
	row = maps.Clone(row)
	delete(row, "asked_digest")
	return row
}

func TestAKeyOfTheReleaseBeforeStillReplays(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.ledger = before{h.world.Ledger}
	first := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k"))
	h.upgrade(`"retention_days":7`, `"retention_days":3`)
	if again := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k")); again.Headers["location"] != first.Headers["location"] {
		t.Errorf("again: %d %s", again.StatusCode, again.Body)
	}
	other := h.ask(ana(), "POST", "/v1/exports", withBody(strings.Replace(march, "settlement", "tax", 1)), withKey("k"))
	if other.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("another request: %d %s", other.StatusCode, other.Body)
	}
}
