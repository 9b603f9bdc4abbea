package sqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
)

func identity(t *testing.T, src source.Source, q row.Query) string {
	t.Helper()
	text, err := src.Identity(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func identities(t *testing.T, server *pgtest.Server) {
	for _, c := range []struct {
		name, table, column string
		kind                row.Kind
		change              string
		other               bool
	}{
		{"text becomes varchar", "t", "v", row.String, "ALTER TABLE t ALTER COLUMN v TYPE varchar(50)", true},
		{"varchar grows", "t", "w", row.String, "ALTER TABLE t ALTER COLUMN w TYPE varchar(60)", true},
		{"text takes another collation", "t", "v", row.String, `ALTER TABLE t ALTER COLUMN v TYPE text COLLATE "C"`, true},
		{"json becomes jsonb", "t", "j", row.JSON, "ALTER TABLE t ALTER COLUMN j TYPE jsonb", true},
		{"an unused column changes", "t", "v", row.String, "ALTER TABLE t DROP COLUMN j, ALTER COLUMN w TYPE text, ADD COLUMN z int", false},
		{"two columns swap their names", "t", "v", row.String,
			"ALTER TABLE t RENAME COLUMN v TO x; ALTER TABLE t RENAME COLUMN w TO v; ALTER TABLE t RENAME COLUMN x TO w", true},
		{"an index comes", "t", "v", row.String, "CREATE INDEX ON t (tenant, v)", false},
		{"the table is emptied", "t", "v", row.String, "TRUNCATE t", true},
		{"the table is emptied and filled again", "t", "v", row.String, "BEGIN; TRUNCATE t; INSERT INTO t VALUES ('acme', 1, '{}', 'w', '{}'); COMMIT", true},
		{"a table below a view is emptied", "two", "v", row.String, "TRUNCATE t", true},
		// The server doesn't tell it from one that was emptied.
		{"the table is written anew", "t", "v", row.String, "VACUUM FULL t", true},
		{"the table is cleaned", "t", "v", row.String, "VACUUM (FREEZE, ANALYZE) t", false},
		{"a view is replaced in place", "one", "v", row.String, "CREATE OR REPLACE VIEW one AS SELECT tenant, id, upper(v) AS v FROM t", true},
		{"a view below a view is replaced in place", "two", "v", row.String, "CREATE OR REPLACE VIEW one AS SELECT tenant, id, upper(v) AS v FROM t", true},
		{"a table below a view loses the column's name", "two", "v", row.String, "ALTER TABLE t RENAME COLUMN v TO x", true},
		{"a materialised view is refreshed", "three", "v", row.String, "REFRESH MATERIALIZED VIEW three", true},
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, "CREATE TABLE t (tenant text NOT NULL, id bigint PRIMARY KEY, v text, w varchar(50), j json)",
			"INSERT INTO t VALUES ('acme', 1, '{}', 'w', '{}')", "CREATE VIEW one AS SELECT tenant, id, v FROM t")
		if strings.HasPrefix(c.table, "t") && c.table != "t" {
			pgtest.Exec(t, dsn, "CREATE VIEW two AS SELECT * FROM one", "CREATE MATERIALIZED VIEW three AS SELECT * FROM one")
		}
		if c.table == "t" {
			pgtest.Exec(t, dsn, "DROP VIEW one")
		}
		src := open(t, dsn)
		q := valueQuery(c.kind)
		q.Table, q.Columns[0].Source = c.table, c.column
		before := identity(t, src, q)
		pgtest.Exec(t, dsn, c.change)
		for name, after := range map[string]string{"same": identity(t, src, q), "new": identity(t, open(t, dsn), q)} {
			if source.Same(before, after) == c.other {
				t.Errorf("%s: over the %s connection the identity is another one: %t, want %t", c.name, name, !c.other, c.other)
			}
		}
	}
	twin := func() (source.Source, string) {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, "CREATE TABLE t (tenant text NOT NULL, id bigint PRIMARY KEY, v text)")
		return open(t, dsn), dsn
	}
	one, dsn := twin()
	two, _ := twin()
	mine := identity(t, one, valueQuery(row.String))
	if source.Same(mine, identity(t, two, valueQuery(row.String))) {
		t.Error("tables of two schemas have one identity")
	}
	pgtest.Exec(t, dsn, "CREATE ROLE modest LOGIN", "GRANT SELECT ON t TO modest",
		"DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO modest', current_schema); END $$")
	modest := func() string {
		return identity(t, open(t, strings.Replace(dsn, "postgres@", "modest@", 1)), valueQuery(row.String))
	}
	if mine != modest() {
		t.Error("a user with fewer rights sees another identity")
	}
	const ask = "EXECUTE ON FUNCTION pg_control_system()"
	pgtest.Exec(t, dsn, "REVOKE "+ask+" FROM PUBLIC")
	before := modest()
	pgtest.Exec(t, dsn, "GRANT "+ask+" TO PUBLIC")
	for name, after := range map[string]string{"who may ask for the cluster's number now": modest(), "who may ask for everything": mine} {
		if !source.Same(before, after) {
			t.Errorf("a user who might not ask for the cluster's number sees another thing than one %s", name)
		}
	}
}

func TestAnotherSQLiteFileOfTheSameContentIsAnotherThing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var paths []string
	for i := range 2 {
		path := filepath.Join(folder, fmt.Sprintf("%d.db", i))
		paths = append(paths, path)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("CREATE TABLE t (tenant TEXT NOT NULL, id INTEGER PRIMARY KEY, v TEXT)"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	q := valueQuery(row.String)
	first := open(t, "sqlite://"+paths[0])
	before := identity(t, first, q)
	if again := identity(t, open(t, "sqlite://"+paths[0]), q); again != before {
		t.Errorf("the same file is %s and %s", before, again)
	}
	if err := os.Rename(paths[1], paths[0]); err != nil {
		t.Fatal(err)
	}
	if now := identity(t, open(t, "sqlite://"+paths[0]), q); now == before {
		t.Error("a file that took the path has the identity of the one before")
	}
	if still := identity(t, first, q); still != before {
		t.Error("a connection that reads the file before has another identity than before")
	}
}

// lostColumn has a source that has seen a table before a column of it went.
func lostColumn(t *testing.T, server *pgtest.Server) {
	dsn := server.Schema(t)
	pgtest.Exec(t, dsn, "CREATE TABLE t (tenant text NOT NULL, id bigint PRIMARY KEY, v text)", "INSERT INTO t VALUES ('acme', 1, 'x')")
	src, q := open(t, dsn), valueQuery(row.String)
	if _, err := src.Identity(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, dsn, "ALTER TABLE t DROP COLUMN v")
	if _, err := src.Identity(context.Background(), q); job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_schema_changed" {
		t.Errorf("without its column the identity is told %v, want a permanent source_schema_changed", err)
	}
	pgtest.Exec(t, dsn, "DROP TABLE t")
	if _, err := src.Identity(context.Background(), q); job.KindOf(err) != job.Permanent || job.CodeOf(err) != "source_schema_changed" {
		t.Errorf("without its table the identity is told %v, want a permanent source_schema_changed", err)
	}
}
