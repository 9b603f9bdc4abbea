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
			if (after != before) != c.other {
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
	if identity(t, one, valueQuery(row.String)) == identity(t, two, valueQuery(row.String)) {
		t.Error("tables of two schemas have one identity")
	}
	mytest.Exec(t, dsn, "CREATE USER modest", "GRANT SELECT ON t TO modest")
	modest := open(t, asUser(dsn, "modest"))
	before := identity(t, modest, valueQuery(row.String))
	mytest.Exec(t, dsn, "INSERT INTO t VALUES ('acme', 1, 'x')", "ANALYZE TABLE t")
	if after := identity(t, modest, valueQuery(row.String)); after != before {
		t.Error("a user without PROCESS sees another table after an insert")
	}
	mytest.Exec(t, dsn, "DO sleep(1.1)", "DROP TABLE t", "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint PRIMARY KEY, v text)")
	if after := identity(t, modest, valueQuery(row.String)); after == before {
		t.Error("a user without PROCESS doesn't see that another table took the name a second later")
	}
}
