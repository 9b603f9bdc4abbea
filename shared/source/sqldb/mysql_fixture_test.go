package sqldb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sealift/shared/row"
	"sealift/shared/source/mytest"
	"sealift/shared/source/sourcetest"
)

// keyText is a type of text that an index may hold and that compares byte by byte.
const keyText = "varchar(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"

// mysqlFixture is the suite's fixture on a database.
func mysqlFixture(dsn string) sourcetest.Fixture {
	types := map[row.Kind]string{
		row.String: "longtext", row.Int64: "bigint", row.Decimal: "decimal(65,30)", row.Float64: "double", row.Bool: "boolean",
		row.Date: "date", row.Timestamp: "timestamp(6)", row.DateTime: "datetime(6)", row.JSON: "json", row.Bytes: "longblob",
	}
	s := spelling{types: types, literal: mysqlText, exec: func(tb testing.TB, statements ...string) {
		tb.Helper()
		statements = slices.Clone(statements)
		for i, text := range statements {
			if text == "ANALYZE" {
				statements[i] = "ANALYZE TABLE orders"
			}
		}
		mytest.Exec(tb, dsn, statements...)
	}}
	f := s.fixture(dsn)
	f.Create = func(tb testing.TB, table sourcetest.Table) {
		tb.Helper()
		var columns []string
		for _, c := range table.Columns {
			text := c.Name + " " + types[c.Kind]
			if c.Kind == row.String && (c.Name == "tenant" || slices.Contains(table.Key, c.Name)) {
				text = c.Name + " " + keyText
			}
			if c.Null {
				text += " NULL"
			} else {
				text += " NOT NULL"
			}
			columns = append(columns, text)
		}
		unique := "UNIQUE "
		if table.Loose {
			unique = ""
		}
		s.exec(tb, fmt.Sprintf("CREATE TABLE %s (%s, %sKEY (tenant, %s))", table.Name, strings.Join(columns, ", "), unique, strings.Join(table.Key, ", ")))
	}
	f.Retype = func(tb testing.TB, table sourcetest.Table, column string) {
		tb.Helper()
		s.exec(tb, fmt.Sprintf("ALTER TABLE %s MODIFY COLUMN %s double", table.Name, column))
	}
	f.Gives = mysqlGives
	f.AlikeViews = true
	return f
}

// mysqlText is a literal of canonical text.
func mysqlText(kind row.Kind, canonical string) string {
	switch kind {
	case row.Int64, row.Decimal, row.Float64, row.Bool:
		return canonical
	case row.Bytes:
		return fmt.Sprintf("x'%x'", canonical)
	case row.Timestamp, row.DateTime:
		return quoted(strings.TrimSuffix(strings.Replace(canonical, "T", " ", 1), "Z"))
	case row.String, row.Date, row.JSON:
	}
	return quoted(strings.ReplaceAll(canonical, `\`, `\\`))
}

// mysqlGives knows that a TIMESTAMP is a moment of 1970 to 2038 and that a DECIMAL has its column's scale.
func mysqlGives(kind row.Kind, canonical string) (string, bool) {
	switch kind {
	case row.Timestamp:
		return canonical, canonical > "1970-01-01T00:00:00Z" && canonical < "2038-01-19T03:14:08Z"
	case row.Decimal:
		whole, fraction, _ := strings.Cut(canonical, ".")
		return whole + "." + (fraction + strings.Repeat("0", 30))[:30], true
	case row.String, row.Int64, row.Float64, row.Bool, row.Date, row.DateTime, row.JSON, row.Bytes:
	}
	return canonical, true
}
