package sqldb_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// foreignTenants reads text whose comparison another server does, with its own collation: what is declared here says
// nothing about what is equal there.
func foreignTenants(t *testing.T, server *pgtest.Server) {
	for _, remote := range []string{"citext", "text COLLATE blind", "text"} {
		dsn := server.Schema(t)
		at, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		schema, _, _ := strings.Cut(at.Query().Get("search_path"), ",")
		pgtest.Exec(t, dsn, "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
			fmt.Sprintf("CREATE TABLE remote (tenant %s NOT NULL, id bigint NOT NULL, v text)", remote),
			"INSERT INTO remote VALUES ('acme', 1, 'mine'), ('ACME', 2, 'other'), ('acme', 3, 'mine')",
			fmt.Sprintf("CREATE SERVER %s_elsewhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '%s', dbname 'postgres')", schema, at.Port()),
			fmt.Sprintf("CREATE USER MAPPING FOR postgres SERVER %s_elsewhere OPTIONS (user 'postgres', password_required 'false')", schema),
			fmt.Sprintf("CREATE FOREIGN TABLE direct (tenant text NOT NULL, id bigint NOT NULL, v text) SERVER %s_elsewhere OPTIONS (schema_name '%s', table_name 'remote')", schema, schema),
			"CREATE VIEW seen AS SELECT * FROM direct",
			"CREATE TABLE parted (tenant text NOT NULL, id bigint NOT NULL, v text) PARTITION BY RANGE (id)",
			fmt.Sprintf("CREATE FOREIGN TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (10) SERVER %s_elsewhere OPTIONS (schema_name '%s', table_name 'remote')", schema, schema),
			"CREATE TABLE parent (tenant text NOT NULL, id bigint NOT NULL, v text)", "CREATE TABLE child () INHERITS (parent)",
			fmt.Sprintf("CREATE FOREIGN TABLE grandchild () INHERITS (child) SERVER %s_elsewhere OPTIONS (schema_name '%s', table_name 'remote')", schema, schema))
		for _, table := range []string{"direct", "seen", "parted", "parent"} {
			src := open(t, dsn)
			q := valueQuery(row.String)
			q.Table = table
			rows, err := read(src, q)
			if diff := cmp.Diff([][]string{{"mine", "1"}, {"mine", "3"}}, rows); diff != "" || err != nil {
				t.Errorf("%s over a remote %s: %v (-want +got):\n%s", table, remote, err, diff)
			}
			if plan, err := src.Plan(context.Background(), q, source.PlanOptions{}); err != nil || plan.RowsEstimated != 2 {
				t.Errorf("%s over a remote %s is planned as %d rows (%v), want 2", table, remote, plan.RowsEstimated, err)
			}
			_ = src.Close()
		}
	}
}
