package sqldb_test

import (
	"context"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

// TestKeysThatCannotBeDeclaredNotNullAreSearched plans relations whose columns can't be declared NOT NULL, or declare it by
// a domain, which INSERT gets around.
func TestKeysThatCannotBeDeclaredNotNullAreSearched(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	const base = "CREATE TABLE b (tenant text, id bigint, note text)"
	const whole, holed = "INSERT INTO b VALUES ('acme', 1, 'a')", "INSERT INTO b VALUES ('acme', 1, 'a'), ('acme', NULL, 'b')"
	const domain = "CREATE DOMAIN number AS bigint NOT NULL"
	for name, c := range map[string]struct {
		statements []string
		want       string // the code of the error, of Plan where Check has none
		says       string
	}{
		"a materialised view": {[]string{base, whole, "CREATE MATERIALIZED VIEW t AS SELECT * FROM b", "CREATE INDEX ON t (tenant, id)"}, "", ""},
		"a materialised view with a NULL": {[]string{base, holed, "CREATE MATERIALIZED VIEW t AS SELECT * FROM b", "CREATE INDEX ON t (tenant, id)"},
			"source_key_nullable", "t yields NULL in a column of its key (id); mend such rows, leave them out in a view"},
		"a materialised view without an index": {[]string{base, whole, "CREATE MATERIALIZED VIEW t AS SELECT * FROM b"}, "source_key_not_indexed", "(tenant, id)"},
		"a domain that is NOT NULL": {[]string{domain, "CREATE TABLE t (tenant text, id number, note text)", "CREATE INDEX ON t (id)", "INSERT INTO t VALUES ('acme', 1, 'a')"},
			"", ""},
		"a domain below another": {[]string{domain, "CREATE DOMAIN order_number AS number CHECK (value > 0)", "CREATE TABLE t (tenant text, id order_number, note text)",
			"CREATE INDEX ON t (id)", "INSERT INTO t VALUES ('acme', 1, 'a')"}, "", ""},
		"a domain that got a NULL": {[]string{domain, "CREATE TABLE t (tenant text, id number, note text)", "CREATE INDEX ON t (id)",
			"INSERT INTO t VALUES ('acme', 1, 'a')", "INSERT INTO t VALUES ('acme', (SELECT id FROM t WHERE false), 'b')"},
			"source_key_nullable", "t yields NULL in a column of its key (id)"},
		"a domain without an index": {[]string{domain, "CREATE TABLE t (tenant text, id number, note text)"}, "source_key_not_indexed", "(tenant, id)"},
		"a domain that may be NULL": {[]string{"CREATE DOMAIN number AS bigint", "CREATE TABLE t (tenant text, id number, note text)", "CREATE INDEX ON t (id)"},
			"source_key_nullable", "declare it NOT NULL"},
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, c.statements...)
		src, q := open(t, dsn), valueQuery(row.String)
		q.Columns[0].Source = "note"
		err := src.Check(context.Background(), q)
		var plan source.Plan
		if err == nil {
			plan, err = src.Plan(context.Background(), q, source.PlanOptions{})
		}
		switch {
		case (err == nil) != (c.want == "") || err != nil && (job.CodeOf(err) != c.want || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s is told %v, want %q with %s", name, err, c.want, c.says)
		case err == nil:
			if rows, err := read(src, q); err != nil || len(rows) != 1 || plan.RowsEstimated != 1 {
				t.Errorf("%s reads %q of %d planned (%v), want its one row", name, rows, plan.RowsEstimated, err)
			}
		}
	}
}
