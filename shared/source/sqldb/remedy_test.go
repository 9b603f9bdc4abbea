package sqldb_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// What a message tells people to do is done, and must do.
func TestTheIndexThatAMessageAsksForIsTheOneThatIsMissing(t *testing.T) {
	t.Parallel()
	const table, columns = "Odd Orders", `("The Tenant" varchar(20) NOT NULL, "Placed At" integer NOT NULL, "select" integer NOT NULL, "note" varchar(20))`
	file := "sqlite://" + filepath.Join(t.TempDir(), "odd.db")
	db, err := sql.Open("sqlite", strings.TrimPrefix(file, "sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	postgres, mysql := pgtest.Start(t).Schema(t), mytest.Start(t).Schema(t)
	for name, c := range map[string]struct {
		dsn  string
		exec func(text string)
	}{
		"SQLite": {file, func(text string) {
			if _, err := db.ExecContext(context.Background(), text); err != nil {
				t.Errorf("SQLite refuses %s: %v", text, err)
			}
		}},
		"PostgreSQL": {postgres, func(text string) { pgtest.Exec(t, postgres, text) }},
		"MariaDB":    {mysql, func(text string) { mytest.Exec(t, mysql, text) }},
	} {
		create := `CREATE TABLE "` + table + `" ` + columns
		if name == "MariaDB" {
			create = strings.ReplaceAll(create, `"`, "`")
		}
		c.exec(create)
		src := open(t, c.dsn)
		q := valueQuery(row.String)
		q.Table, q.Columns[0].Source, q.TenantColumn.Source = table, "note", "The Tenant"
		q.TimeColumn, q.Since, q.Until = row.Column{}, "", ""
		q.Key = []row.Column{{Source: "Placed At", Kind: row.Int64}, {Source: "select", Kind: row.Int64}}
		err := src.Check(context.Background(), q)
		if job.CodeOf(err) != "source_key_not_indexed" {
			t.Errorf("%s: %v, want source_key_not_indexed", name, err)
			continue
		}
		_, statement, _ := strings.Cut(err.Error(), "create one: ")
		c.exec(statement)
		if err := src.Check(context.Background(), q); err != nil {
			t.Errorf("%s: after %s: %v", name, statement, err)
		}
		q.Columns = append(q.Columns, row.Column{Name: "a", Source: "gone", Kind: row.String}, row.Column{Name: "b", Source: "lost", Kind: row.String})
		if err := src.Check(context.Background(), q); err == nil || !strings.Contains(err.Error(), "has no columns gone, lost;") {
			t.Errorf("%s without two columns: %v", name, err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Whether a table is gone or was never there can't be told, so the advice fits both.
func TestATableThatIsNotThereMayBeMisspelt(t *testing.T) {
	t.Parallel()
	file, _ := sqliteFile(t)
	for name, dsn := range map[string]string{"SQLite": file, "PostgreSQL": pgtest.Start(t).Schema(t), "MariaDB": mytest.Start(t).Schema(t)} {
		src, q := open(t, dsn), valueQuery(row.String)
		q.Table = "odrers"
		want := "table odrers isn't there; check how the definition spells its name and schema, and which database the connection leads to; " +
			"if it was renamed or dropped, restore it or apply a new version of the definition"
		if err := src.Check(context.Background(), q); job.CodeOf(err) != "source_schema_changed" || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, want)
		}
	}
}
