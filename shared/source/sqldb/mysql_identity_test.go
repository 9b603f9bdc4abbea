package sqldb_test

import (
	"testing"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
)

func mysqlIdentities(t *testing.T, server *mytest.Server) {
	for _, c := range []struct {
		name, table, column string
		kind                row.Kind
		changes             []string
		other               bool
	}{
		{"varchar grows", "t", "w", row.String, []string{"ALTER TABLE t MODIFY w varchar(60)"}, true},
		{"text takes another collation", "t", "w", row.String, []string{"ALTER TABLE t MODIFY w varchar(50) COLLATE utf8mb4_bin"}, true},
		{"two columns swap their names", "t", "v", row.String, []string{"ALTER TABLE t RENAME COLUMN v TO x, RENAME COLUMN x2 TO v", "ALTER TABLE t RENAME COLUMN x TO x2"}, true},
		{"the table is emptied by TRUNCATE", "t", "v", row.String, []string{"TRUNCATE t"}, true},
		{"a table of the same making takes the name", "t", "v", row.String, []string{"CREATE TABLE other LIKE t", "RENAME TABLE t TO old, other TO t"}, true},
		{"the name goes and comes back", "t", "v", row.String, []string{"RENAME TABLE t TO old", "RENAME TABLE old TO t"}, false},
		{"an index comes", "t", "v", row.String, []string{"CREATE INDEX more ON t (tenant, w)"}, false},
		{"a view is replaced in place", "one", "v", row.String, []string{"CREATE OR REPLACE VIEW one AS SELECT tenant, id, upper(v) AS v FROM t"}, true},
		{"a view below a view is replaced in place", "two", "v", row.String, []string{"CREATE OR REPLACE VIEW one AS SELECT tenant, id, upper(v) AS v FROM t"}, true},
		{"a table below a view is made anew", "two", "v", row.String, []string{"CREATE TABLE other LIKE t", "RENAME TABLE t TO old, other TO t"}, true},
		{"rows come below a view", "two", "v", row.String, []string{"INSERT INTO t VALUES ('acme', 2, 'v', 'x2', 'w')"}, false},
		{"a table of an odd name is emptied", "an odd-na$me", "v", row.String, []string{"TRUNCATE `an odd-na$me`"}, true},
		{"a partition comes", "parts", "v", row.String, []string{"ALTER TABLE parts ADD PARTITION (PARTITION p2 VALUES LESS THAN (20))"}, false},
	} {
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint PRIMARY KEY, v text, x2 text, w varchar(50))", "INSERT INTO t VALUES ('acme', 1, 'v', 'x2', 'w')",
			"CREATE VIEW one AS SELECT tenant, id, v FROM t", "CREATE VIEW two AS SELECT * FROM one", "CREATE TABLE `an odd-na$me` LIKE t",
			"CREATE TABLE parts (tenant varchar(20) NOT NULL, id bigint PRIMARY KEY, v text) PARTITION BY RANGE (id) (PARTITION p1 VALUES LESS THAN (10))")
		src := open(t, dsn)
		q := valueQuery(c.kind)
		q.Table, q.Columns[0].Source = c.table, c.column
		before := identity(t, src, q)
		mytest.Exec(t, dsn, c.changes...)
		for name, after := range map[string]string{"same": identity(t, src, q), "new": identity(t, open(t, dsn), q)} {
			if source.Same(before, after) == c.other {
				t.Errorf("%s: over the %s connection the identity is another one: %t, want %t", c.name, name, !c.other, c.other)
			}
		}
	}
	twin := func() (source.Source, string) {
		dsn := server.Schema(t)
		mytest.Exec(t, dsn, "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint PRIMARY KEY, v text)")
		return open(t, dsn), dsn
	}
	one, dsn := twin()
	two, _ := twin()
	if source.Same(identity(t, one, valueQuery(row.String)), identity(t, two, valueQuery(row.String))) {
		t.Error("tables of two schemas have one identity")
	}
	mytest.Exec(t, dsn, "CREATE USER modest", "GRANT SELECT ON t TO modest")
	modest := open(t, asUser(dsn, "modest"))
	before := identity(t, modest, valueQuery(row.String))
	mytest.Exec(t, dsn, "INSERT INTO t VALUES ('acme', 1, 'x')", "ANALYZE TABLE t")
	if after := identity(t, modest, valueQuery(row.String)); !source.Same(before, after) {
		t.Error("a user without PROCESS sees another table after an insert")
	}
	mytest.Exec(t, dsn, "DO sleep(1.1)", "DROP TABLE t", "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint PRIMARY KEY, v text)")
	if after := identity(t, modest, valueQuery(row.String)); source.Same(before, after) {
		t.Error("a user without PROCESS doesn't see that another table took the name a second later")
	}
}

// mysqlRightsMeanwhile has the user's rights change while an export waits: what is read stays what it is, and what both users see of
// it counts on.
func mysqlRightsMeanwhile(t *testing.T, server *mytest.Server) {
	dsn := server.Schema(t)
	const table = "CREATE TABLE b (tenant varchar(20) NOT NULL, id bigint PRIMARY KEY, v varchar(20))"
	mytest.Exec(t, dsn, table, "INSERT INTO b VALUES ('acme', 1, 'x')", "CREATE VIEW t AS SELECT * FROM b", "CREATE USER waiting", "GRANT SELECT ON t TO waiting")
	src, q := open(t, asUser(dsn, "waiting")), valueQuery(row.String)
	before := identity(t, src, q)
	after := ""
	for _, right := range []string{
		"GRANT SHOW VIEW ON t TO waiting", "GRANT SELECT ON b TO waiting", "GRANT PROCESS ON *.* TO waiting", "REVOKE PROCESS ON *.* FROM waiting",
		"REVOKE SELECT ON b FROM waiting", "REVOKE SHOW VIEW ON t FROM waiting", "GRANT SHOW VIEW ON t TO waiting", "GRANT SELECT ON b TO waiting",
		"GRANT PROCESS ON *.* TO waiting",
	} {
		mytest.Exec(t, dsn, right)
		next := identity(t, open(t, asUser(dsn, "waiting")), q)
		if !source.Same(before, next) || after != "" && !source.Same(after, next) {
			t.Errorf("after %s the view is another one, although only the rights have changed", right)
		}
		if rows, err := read(src, q); err != nil || len(rows) != 1 {
			t.Errorf("after %s the reader that began before it reads %q (%v), want one row", right, rows, err)
		}
		after = next
	}
	for _, change := range []string{
		"CREATE OR REPLACE VIEW t AS SELECT tenant, id, upper(v) AS v FROM b", "CREATE OR REPLACE DEFINER = waiting VIEW t AS SELECT * FROM b",
		"CREATE OR REPLACE TABLE b (tenant varchar(20) NOT NULL, id bigint PRIMARY KEY, v varchar(20))",
	} {
		mytest.Exec(t, dsn, change)
		next := identity(t, open(t, asUser(dsn, "waiting")), q)
		if source.Same(after, next) {
			t.Errorf("after %s the view is the same", change)
		}
		after = next
	}
	// Without SHOW VIEW the columns and the definer are all there is to see.
	mytest.Exec(t, dsn, "CREATE OR REPLACE VIEW t AS SELECT * FROM b", "REVOKE SHOW VIEW ON t FROM waiting")
	before = identity(t, src, q)
	for change, other := range map[string]bool{
		"CREATE OR REPLACE VIEW t AS SELECT tenant, id, CAST(v AS CHAR(19)) AS v FROM b": true,
		"CREATE OR REPLACE VIEW t AS SELECT id, tenant, v FROM b":                        true,
		"CREATE OR REPLACE DEFINER = waiting VIEW t AS SELECT * FROM b":                  true,
		"CREATE OR REPLACE SQL SECURITY INVOKER VIEW t AS SELECT * FROM b":               true,
		"CREATE OR REPLACE VIEW t AS SELECT * FROM b WHERE id > 5":                       false,
	} {
		mytest.Exec(t, dsn, change)
		if same := source.Same(before, identity(t, open(t, asUser(dsn, "waiting")), q)); same == other {
			t.Errorf("a user without SHOW VIEW sees the same view after %s: %t, want %t", change, same, !other)
		}
	}
}
