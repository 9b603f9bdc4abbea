package pipeline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
	"sealift/shared/sim"
)

const contract = `{
  "schema": 1, "name": "NAME", "lane": "bulk",
  "source": {
    "connection": "memory", "table": "orders",
    "tenant_column": {"name": "tenant", "kind": "string"}, "time_column": {"name": "placed_at", "kind": "timestamp"},
    "key": [{"name": "id", "kind": "int64"}]
  },
  "consistency": {"kind": "cutoff", "promise": "The rows never change."},
  "columns": [{"name": "id", "kind": "int64"}, {"name": "note", "kind": "string"}],
  "formats": ["csv"], "compressions": ["none"],
  "limits": {"span_days_max": 92, "rows_max": 1000000, "active_jobs_max": 5, "downloads_max": 5, "retention_days": 7, "shard_rows": 1000, "link_seconds_max": 300}
}`

// TestADefinitionOfANewerReleaseHidesNoOther has the row of one definition be one that this release can't read, as after
// going back from another. Whoever asks for exports sees those that are left; an operator sees also that there is one.
func TestADefinitionOfANewerReleaseHidesNoOther(t *testing.T) {
	t.Parallel()
	world := sim.New(sim.Options{})
	operator := pipeline.Operator{Ledger: world.Ledger}
	ops := policy.Principal{Tenant: "ops", Subject: "olga", Roles: []string{policy.RoleOperator}}
	for _, name := range []string{"fees", "orders", "stock"} {
		if _, err := operator.Apply(t.Context(), ops, name, []byte(strings.Replace(contract, "NAME", name, 1))); err != nil {
			t.Fatal(err)
		}
	}
	world.Ledger.Rewrite(job.DefinitionHeadKey("orders"), "schema", int64(job.Schema+1))
	for _, c := range []struct {
		who  policy.Principal
		want map[string]bool
	}{
		{ops, map[string]bool{"fees": true, "orders": false, "stock": true}},
		{policy.Principal{Tenant: "acme", Subject: "ana"}, map[string]bool{"fees": true, "stock": true}},
	} {
		listed, _, err := operator.List(t.Context(), c.who, "")
		if err != nil {
			t.Errorf("%s: %v", c.who.Subject, err)
		}
		seen := map[string]bool{}
		for _, entry := range listed {
			if entry.Unread != nil {
				seen[entry.Unread.Record] = !job.Unreadable(entry.Unread.Err)
				continue
			}
			seen[entry.Record.Name] = entry.Record.Body != ""
		}
		if diff := cmp.Diff(c.want, seen); diff != "" {
			t.Errorf("%s sees definitions, and whether they can be read (-want +got):\n%s", c.who.Subject, diff)
		}
	}
}
