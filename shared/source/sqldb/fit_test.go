package sqldb_test

import (
	"context"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// TestATypeThatCannotBeAKeyIsToldSo asks for keys of types that can be exported, but have no order or one in which different
// texts are equal.
func TestATypeThatCannotBeAKeyIsToldSo(t *testing.T) {
	t.Parallel()
	postgres, mysql := pgtest.Start(t), mytest.Start(t)
	for _, c := range []struct{ dsn, declared, told string }{
		{"postgres", "interval", "interval"}, {"postgres", "money", "money"}, {"postgres", "numeric(5,2)", "numeric"}, {"postgres", "text[]", "text[]"},
		{"postgres", "int4range", "int4range"}, {"postgres", "json", "json"}, {"postgres", "jsonb", "jsonb"}, {"postgres", "xml", "xml"}, {"postgres", "point", "point"},
		{"mysql", "enum('b','a')", "enum('b','a')"}, {"mysql", "year", "year(4)"}, {"mysql", "time", "time"}, {"mysql", "varbinary(9)", "varbinary(9)"}, {"mysql", "int", "int(11)"},
	} {
		columns := "CREATE TABLE t (tenant varchar(9) NOT NULL, id " + c.declared + " NOT NULL, v varchar(9))"
		var dsn string
		if c.dsn == "mysql" {
			dsn = mysql.Schema(t)
			mytest.Exec(t, dsn, columns)
		} else {
			dsn = postgres.Schema(t)
			pgtest.Exec(t, dsn, columns)
		}
		src, q := open(t, dsn), valueQuery(row.String)
		q.Key[0].Kind = row.String
		err := src.Check(context.Background(), q)
		want := "column id (string) of table t has type " + c.told + ", which can't be in a key, because "
		if job.CodeOf(err) != "source_schema_changed" || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(),
			"choose another key in a new version of the definition, or export a view that casts the column") {
			t.Errorf("a key of type %s is told %v, want %s", c.declared, err, want)
		}
	}
}
