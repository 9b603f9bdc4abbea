package sqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/pgtest"
	"sealift/shared/source/sourcetest"
	"sealift/shared/source/sqldb"
)

// spelling is how a test database writes values and declares columns.
type spelling struct {
	types   map[row.Kind]string
	literal func(kind row.Kind, canonical string) string
	// exec runs statements on the writing side.
	exec func(tb testing.TB, statements ...string)
	// settled follows a large insert.
	settled []string
	// primary makes the tenant and the key the table's primary key, numbered the column id the row's own number.
	primary, numbered bool
}

// fixture builds the suite's fixture from a spelling.
func (s spelling) fixture(dsn string) sourcetest.Fixture {
	alter := func(format string) func(tb testing.TB, table sourcetest.Table, column string) {
		return func(tb testing.TB, table sourcetest.Table, column string) {
			tb.Helper()
			s.exec(tb, fmt.Sprintf(format, table.Name, column))
		}
	}
	f := sourcetest.Fixture{
		Open:   func(tb testing.TB) source.Source { tb.Helper(); return open(tb, dsn) },
		Create: s.create,
		Insert: s.insert,
		Delete: func(tb testing.TB, table sourcetest.Table, column, value string) {
			tb.Helper()
			s.exec(tb, fmt.Sprintf("DELETE FROM %s WHERE %s = %s", table.Name, column, value))
		},
		Drop:   alter("ALTER TABLE %s DROP COLUMN %s"),
		Rename: alter("ALTER TABLE %s RENAME COLUMN %s TO renamed"),
		Exec:   s.exec,
	}
	if strings.HasPrefix(dsn, "postgres") {
		f.Retype = alter("ALTER TABLE %s ALTER COLUMN %s TYPE double precision")
	}
	return f
}

func (s spelling) create(tb testing.TB, table sourcetest.Table) {
	tb.Helper()
	var columns []string
	for _, c := range table.Columns {
		text := c.Name + " " + s.types[c.Kind]
		if !c.Null {
			text += " NOT NULL"
		}
		if s.numbered && c.Name == "id" {
			text = "id INTEGER PRIMARY KEY"
		}
		columns = append(columns, text)
	}
	key := "tenant, " + strings.Join(table.Key, ", ")
	switch {
	case s.primary && !table.Loose:
		s.exec(tb, fmt.Sprintf("CREATE TABLE %s (%s, PRIMARY KEY (%s)) WITHOUT ROWID", table.Name, strings.Join(columns, ", "), key))
	case table.Loose:
		s.exec(tb, fmt.Sprintf("CREATE TABLE %s (%s)", table.Name, strings.Join(columns, ", ")),
			fmt.Sprintf("CREATE INDEX %s_key ON %s (%s)", table.Name, table.Name, key))
	default:
		s.exec(tb, fmt.Sprintf("CREATE TABLE %s (%s)", table.Name, strings.Join(columns, ", ")),
			fmt.Sprintf("CREATE UNIQUE INDEX %s_key ON %s (%s)", table.Name, table.Name, key))
	}
}

func (s spelling) insert(tb testing.TB, table sourcetest.Table, rows []sourcetest.Row) {
	tb.Helper()
	var statements []string
	for start := 0; start < len(rows); start += 1000 {
		var text strings.Builder
		fmt.Fprintf(&text, "INSERT INTO %s VALUES ", table.Name)
		for i, r := range rows[start:min(start+1000, len(rows))] {
			if i > 0 {
				text.WriteByte(',')
			}
			for c, value := range r {
				text.WriteByte("(,"[min(c, 1)])
				if canonical, ok := value.(string); ok {
					text.WriteString(s.literal(table.Columns[c].Kind, canonical))
				} else {
					text.WriteString("NULL")
				}
			}
			text.WriteByte(')')
		}
		statements = append(statements, text.String())
	}
	if len(rows) > 10_000 {
		statements = append(statements, s.settled...)
	}
	s.exec(tb, statements...)
}

// open connects until the test ends.
func open(tb testing.TB, dsn string) source.Source {
	tb.Helper()
	src, err := sqldb.Open(context.Background(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = src.Close() })
	return src
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// sqliteFile is an empty file and its writing side.
func sqliteFile(tb testing.TB) (dsn string, exec func(tb testing.TB, statements ...string)) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "source.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { _ = db.Close() })
	exec = func(tb testing.TB, statements ...string) {
		tb.Helper()
		for _, text := range statements {
			if _, err := db.Exec(text); err != nil {
				tb.Fatalf("%.300s: %v", text, err)
			}
		}
	}
	exec(tb, "PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF")
	return "sqlite://" + path, exec
}

// sqliteSpelling writes times by the given function and declares columns as SQLite users do.
func sqliteSpelling(exec func(tb testing.TB, statements ...string), times func(canonical string) string) spelling {
	return spelling{
		types: map[row.Kind]string{
			row.String: "TEXT", row.Int64: "INTEGER", row.Decimal: "TEXT", row.Float64: "REAL", row.Bool: "BOOLEAN", row.Date: "DATE_TEXT",
			row.Timestamp: "TEXT", row.DateTime: "TEXT", row.JSON: "TEXT", row.Bytes: "BLOB",
		},
		literal: func(kind row.Kind, canonical string) string {
			switch kind {
			case row.Int64, row.Float64, row.Bool:
				return canonical
			case row.Bytes:
				return fmt.Sprintf("x'%x'", canonical)
			case row.Timestamp:
				return quoted(times(canonical))
			case row.DateTime:
				return quoted(strings.Replace(canonical, "T", " ", 1))
			case row.String, row.Decimal, row.Date, row.JSON:
			}
			if strings.ContainsRune(canonical, 0) {
				return fmt.Sprintf("CAST(x'%x' AS TEXT)", canonical)
			}
			return quoted(canonical)
		},
		exec: exec,
	}
}

// postgresSpelling is how PostgreSQL writes values.
func postgresSpelling(dsn string) spelling {
	return spelling{
		types: map[row.Kind]string{
			row.String: "text", row.Int64: "bigint", row.Decimal: "numeric", row.Float64: "double precision", row.Bool: "boolean",
			row.Date: "date", row.Timestamp: "timestamptz", row.DateTime: "timestamp", row.JSON: "json", row.Bytes: "bytea",
		},
		literal: func(kind row.Kind, canonical string) string {
			if kind == row.Bytes {
				return fmt.Sprintf(`'\x%x'`, canonical)
			}
			return quoted(canonical)
		},
		exec: func(tb testing.TB, statements ...string) {
			tb.Helper()
			pgtest.Exec(tb, dsn, statements...)
		},
		settled: []string{"ANALYZE"},
	}
}
