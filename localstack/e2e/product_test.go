package e2e

import (
	"flag"
	"os"
	"testing"

	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// shared is one cloud and a server of each kind for all proofs that leave both well. Every proof has tenants,
// definitions and tables of its own, or the common ones.
type shared struct {
	*world
	server *pgtest.Server
	list   []order
	lite   string
	pg     string
	maria  string
}

// TestMain lets more tests run at a time than there are processors: they wait for leases far more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	const atOnce = 12
	if err := flag.Set("test.parallel", itoa(atOnce)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestProduct proves what needs neither a kill of the cloud nor its misbehaviour.
func TestProduct(t *testing.T) {
	t.Parallel()
	s := &shared{server: pgtest.Start(t), list: orders(7, 6_000, awkward), world: start(t, "--param", "Upstreams="+upstreams)}
	s.lite, s.pg = sqlite(t, s.list), postgres(t, s.server, s.list)
	s.connect(t, "lite", s.lite)
	s.connect(t, "pg", s.pg)
	s.maria = mariadb(t, mytest.Start(t), s.list)
	s.connect(t, "maria", s.maria)
	s.define(t, definition("lite", "lite", map[string]any{"shard_rows": 2_000, "active_jobs_max": 60}))
	s.define(t, definition("pg", "pg", map[string]any{"shard_rows": 2_000, "active_jobs_max": 60}))
	s.define(t, definition("maria", "maria", map[string]any{"shard_rows": 2_000, "active_jobs_max": 60}))
	for name, proof := range map[string]func(*testing.T, *shared){
		"a file holds exactly the tenant's rows in their order":           proveEquality,
		"an export from PostgreSQL equals psql's copy":                    proveCopy,
		"every format holds what every source has":                        proveFormats,
		"an export of others is no export to strangers":                   proveStrangers,
		"fifty creates with one key are one export":                       proveOneKey,
		"a bad request is told its field and what is allowed":             proveRefusals,
		"the tenant's quota holds and comes back":                         proveQuota,
		"a token that is not the issuer's opens nothing and is told why":  proveTokens,
		"cancel and finish have one winner, a hundred times":              proveRace,
		"an export of many files holds each row once across them":         proveFiles,
		"a link gives one file, under its name, in ranges, a few times":   proveDownload,
		"a revoked export stops its links and is deleted":                 proveRevoke,
		"a link is decided on today's rights":                             proveRights,
		"upstream services ask by message and by event, strangers do not": proveIntake,
		"an export waits for a source that is away":                       proveDownSource,
		"a broken source fails the export and says what to mend":          proveBrokenSources,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proof(t, s)
		})
	}
}

// upstreams lets the operator's messages and one event source ask for one tenant.
const upstreams = `{"sqs:000000000000": {"subject": "billing", "tenants": ["upstream"]}, "events:000000000000:shop.orders": {"subject": "shop", "tenants": ["upstream"]}}`
