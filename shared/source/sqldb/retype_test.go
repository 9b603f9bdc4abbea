package sqldb_test

import (
	"context"
	"strings"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source/pgtest"
)

// TestATypeThatAColumnGotSinceIsNamed changes the type of a column that was checked.
func TestATypeThatAColumnGotSinceIsNamed(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for declared, told := range map[string]string{
		"timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone", "boolean": "boolean", "bytea": "bytea", "real": "real",
		"double precision": "double precision", "date": "date", "letter": "other than when it was checked (object id ", "text": "",
	} {
		dsn := server.Schema(t)
		pgtest.Exec(t, dsn, "CREATE TYPE letter AS (a text)", "CREATE TABLE t (tenant text NOT NULL, id bigint PRIMARY KEY, v text)", "INSERT INTO t VALUES ('acme', 1)")
		src, q := open(t, dsn), valueQuery(row.String)
		if err := src.Check(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		pgtest.Exec(t, dsn, "ALTER TABLE t DROP COLUMN v", "ALTER TABLE t ADD COLUMN v "+declared)
		_, err := read(src, q)
		if (err == nil) != (told == "") || err != nil && !strings.Contains(err.Error(), "column v (string) of table t has type "+told) {
			t.Errorf("a column that became %s is told %v, want type %s", declared, err, told)
		}
		_ = src.Close()
	}
}
