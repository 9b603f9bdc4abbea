package edge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source"
)

// overstated is a source whose statistics count the rows of before a great deletion.
type overstated struct{ source.Source }

func (s overstated) Plan(ctx context.Context, q row.Query, opt source.PlanOptions) (source.Plan, error) {
	plan, err := s.Source.Plan(ctx, q, opt)
	plan.RowsEstimated *= 100
	return plan, err
}

// What a definition allows is counted and not estimated, whatever the database's statistics say.
func TestTheRowsThatAreAllowedAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ allowed, state string }{{"120", "completed"}, {"119", "failed"}} {
		t.Run(c.allowed, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			h.dress = func(s source.Source) source.Source { return overstated{s} }
			h.apply(strings.Replace(ordersJSON(t), `"rows_max": 50000000`, `"rows_max": `+c.allowed, 1))
			id := h.created(ana())
			h.run()
			shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
			if shown["state"] != c.state {
				t.Fatalf("the export of 120 rows is %v, want %s: %v", shown["state"], c.state, shown["failure"])
			}
			if c.state == "completed" {
				return
			}
			failure := shown["failure"].(map[string]any)
			if failure["code"] != "rows_max_exceeded" || failure["detail"] != "the export has 120 rows; the definition allows 119: ask for a shorter span or more filters" {
				t.Errorf("it failed with %v", failure)
			}
		})
	}
}
