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

// A name in other letters than the database's own is told in the database's own, wherever that makes a difference.
func TestANameInOtherLettersIsToldAsTheDatabaseHasIt(t *testing.T) {
	t.Parallel()
	file, exec := sqliteFile(t)
	postgres, mysql := pgtest.Start(t).Schema(t), mytest.Start(t).Schema(t)
	_, database, _ := strings.Cut(mysql[strings.Index(mysql, "://")+3:], "/")
	database, _, _ = strings.Cut(database, "?")
	const create = "CREATE TABLE orders (tenant varchar(20) NOT NULL, placed_at timestamp NOT NULL, id bigint NOT NULL, note varchar(20))"
	const index = "CREATE UNIQUE INDEX orders_key ON orders (tenant, placed_at, id)"
	exec(t, create, index)
	mytest.Exec(t, mysql, create, index)
	pgtest.Exec(t, postgres, strings.Replace(create, "note", `"Note"`, 1), index, "CREATE TABLE twice (tenant text, \"Id\" bigint, \"ID\" bigint)",
		"CREATE SCHEMA \"Shop\"", "CREATE TABLE \"Shop\".\"Orders\" (tenant text)")
	const one = "; capital letters count: write the name as the table has it in a new version of the definition"
	const two = "; capital letters count: write the names as the table has them in a new version of the definition"
	const table = "; capital letters count: write the name as the database has it in a new version of the definition"
	for name, c := range map[string]struct {
		dsn, table, tenant, time, id, note string
		want                               string
	}{
		"PostgreSQL, as it is":               {postgres, "orders", "tenant", "placed_at", "id", "Note", ""},
		"PostgreSQL, the time":               {postgres, "orders", "tenant", "Placed_At", "id", "Note", "table orders has no column Placed_At (it has placed_at)" + one},
		"PostgreSQL, the tenant":             {postgres, "orders", "TENANT", "placed_at", "id", "Note", "table orders has no column TENANT (it has tenant)" + one},
		"PostgreSQL, the key":                {postgres, "orders", "tenant", "placed_at", "Id", "Note", "table orders has no column Id (it has id)" + one},
		"PostgreSQL, a column":               {postgres, "orders", "tenant", "placed_at", "id", "note", "table orders has no column note (it has Note)" + one},
		"PostgreSQL, two":                    {postgres, "orders", "Tenant", "Placed_at", "id", "Note", "table orders has no columns Tenant (it has tenant), Placed_at (it has placed_at)" + two},
		"PostgreSQL, one and one that isn't": {postgres, "orders", "Tenant", "placed", "id", "Note", "table orders has no columns Tenant (it has tenant), placed; capital letters count: write the name as the table has it in a new version of the definition, and check, restore or leave out the rest"},
		"PostgreSQL, one of two":             {postgres, "twice", "tenant", "Id", "id", "ID", "table twice has no column id (it has ID and Id)" + one},
		"PostgreSQL, the table":              {postgres, "ORDERS", "tenant", "placed_at", "id", "Note", "table ORDERS isn't there, but orders is" + table},
		"PostgreSQL, the schema and table":   {postgres, "shop.orders", "tenant", "placed_at", "id", "Note", "table shop.orders isn't there, but Shop.Orders is" + table},
		"MariaDB, columns":                   {mysql, "orders", "Tenant", "Placed_At", "ID", "NOTE", ""},
		"MariaDB, the table":                 {mysql, "Orders", "tenant", "placed_at", "id", "note", "table Orders isn't there, but orders is" + table},
		"MariaDB, the table of a database":   {mysql, database + ".ORDERS", "tenant", "placed_at", "id", "note", "table " + database + ".ORDERS isn't there, but " + database + ".orders is" + table},
		"PostgreSQL, a column that isn't":    {postgres, "orders", "tenant", "placed", "id", "Note", "table orders has no column placed; check how the definition spells it; if it was renamed or dropped, restore it or apply a new version of the definition"},
		"MariaDB, columns that aren't":       {mysql, "orders", "tenants", "placed", "id", "note", "table orders has no columns tenants, placed; check how the definition spells them; if they were renamed or dropped, restore them or apply a new version of the definition"},
		"SQLite, all":                        {file, "ORDERS", "Tenant", "Placed_At", "ID", "NOTE", ""},
	} {
		src, q := open(t, c.dsn), valueQuery(row.String)
		kind := row.DateTime
		if c.dsn == mysql {
			kind = row.Timestamp
		}
		q.Table, q.TenantColumn.Source, q.Columns[0].Source = c.table, c.tenant, c.note
		q.TimeColumn, q.Since, q.Until = row.Column{Source: c.time, Kind: kind, Scale: -1}, "", ""
		q.Key = []row.Column{q.TimeColumn, {Source: c.id, Kind: row.Int64, Scale: -1}}
		err := src.Check(context.Background(), q)
		if c.want == "" && err != nil || c.want != "" && (job.CodeOf(err) != "source_schema_changed" || !strings.HasSuffix(err.Error(), ": "+c.want)) {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, c.want)
		}
	}
}

// Whoever declared several kinds wrongly mends them all with one new version of the definition.
func TestEveryColumnThatCanNotGiveItsKindIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	postgres, mysql := pgtest.Start(t).Schema(t), mytest.Start(t).Schema(t)
	const create = "CREATE TABLE t (tenant varchar(20) NOT NULL, id bigint NOT NULL, note varchar(20), price decimal(9,2), day date)"
	const index = "CREATE UNIQUE INDEX t_key ON t (tenant, id)"
	pgtest.Exec(t, postgres, create, index)
	mytest.Exec(t, mysql, create, index)
	column := func(name, source string, kind row.Kind) row.Column {
		return row.Column{Name: name, Source: source, Kind: kind, Scale: -1}
	}
	note, price, day := column("note", "note", row.Bytes), column("price", "price", row.Int64), column("on", "day", row.Timestamp)
	for name, c := range map[string]struct {
		dsn     string
		columns []row.Column
		want    string
	}{
		"PostgreSQL, one": {postgres, []row.Column{price}, "column price (int64) of table t has type numeric, which can't give that kind (smallint, integer, " +
			"bigint can); change the kind in a new version of the definition, or export a view that casts the column"},
		"PostgreSQL, three": {postgres, []row.Column{note, price, day, note}, "3 columns of table t have types that can't give their kinds: note (bytes) has " +
			"character varying (bytea can), price (int64) has numeric (smallint, integer, bigint can), on (timestamp, the source's column day) has date " +
			"(timestamptz can); change the kinds in a new version of the definition, or export a view that casts the columns"},
		"MariaDB, two": {mysql, []row.Column{price, column("note", "note", row.Date)}, "2 columns of table t have types that can't give their kinds: " +
			"price (int64) has decimal(9,2) (integers, year, bit can), note (date) has varchar(20) (date can); change the kinds in a new version of the " +
			"definition, or export a view that casts the columns"},
	} {
		src, q := open(t, c.dsn), valueQuery(row.String)
		q.Columns = c.columns
		if err := src.Check(context.Background(), q); job.CodeOf(err) != "source_schema_changed" || !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, c.want)
		}
	}
}
