package e2e

import (
	"testing"

	"sealift/shared/source/pgtest"
)

// shared is one cloud and one PostgreSQL server for all proofs that leave both well. Every proof has tenants,
// definitions and tables of its own, or the common ones.
type shared struct {
	*world
	server *pgtest.Server
	list   []order
	lite   string
	pg     string
}

// TestProduct proves what needs neither a kill of the cloud nor its misbehaviour.
func TestProduct(t *testing.T) {
	t.Parallel()
	s := &shared{server: pgtest.Start(t), list: orders(7, 6_000, awkward), world: start(t, "--param", "Upstreams="+upstreams)}
	s.lite, s.pg = sqlite(t, s.list), postgres(t, s.server, s.list)
	s.connect(t, "lite", s.lite)
	s.connect(t, "pg", s.pg)
	s.define(t, definition("lite", "lite", map[string]any{"shard_rows": 2_000, "active_jobs_max": 60}))
	s.define(t, definition("pg", "pg", map[string]any{"shard_rows": 2_000, "active_jobs_max": 60}))
	for name, proof := range map[string]func(*testing.T, *shared){
		"a file holds exactly the tenant's rows in their order": proveEquality,
		"an export from PostgreSQL equals psql's copy":          proveCopy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proof(t, s)
		})
	}
}

// upstreams lets the operator's messages and one event source ask for one tenant.
const upstreams = `{"sqs:000000000000": {"subject": "billing", "tenants": ["upstream"]}, "events:000000000000:shop.orders": {"subject": "shop", "tenants": ["upstream"]}}`
