package definition

import (
	"slices"
	"strings"

	"sealift/shared/row"
)

// NameHelp says what ValidName takes.
const NameHelp = "use 1 to 64 of a-z, 0-9, - and _, beginning with a letter"

func (d Definition) validateSource(c *checker) {
	s := d.Source
	if strings.Contains(s.Connection, "://") {
		// It may hold a password, so no message repeats it.
		c.must(false, "/source/connection", "is an address, which is a secret; give the name that it is kept under: "+NameHelp)
	} else {
		c.must(ValidName(s.Connection), "/source/connection", "is %q; "+NameHelp, s.Connection)
	}
	c.must(validTable(s.Table), "/source/table", "is %q; write table or schema.table", s.Table)
	c.must(s.TenantColumn.Name != "", "/source/tenant_column/name", "is missing; every query is restricted to one tenant")
	c.must(s.TenantColumn.Kind == row.String || s.TenantColumn.Kind == row.Int64, "/source/tenant_column/kind",
		"is %q; allowed are string and int64", s.TenantColumn.Kind)
	c.must(s.TimeColumn.Name != "", "/source/time_column/name", "is missing; the cutoff needs a business time")
	c.must(slices.Contains([]row.Kind{row.Timestamp, row.DateTime, row.Date}, s.TimeColumn.Kind), "/source/time_column/kind",
		"is %q; allowed are timestamp, datetime and date", s.TimeColumn.Kind)
	c.must(len(s.Key) > 0, "/source/key", "is empty; name the columns of a unique order, business time first")
	for i, column := range s.Key {
		c.must(column.Name != "", at("/source/key", i)+"/name", "is missing")
		c.must(column.Kind.Orderable(), at("/source/key", i)+"/kind", "is %q, which has no order that a source and Sealift agree on", column.Kind)
	}
}

// validTable reports whether a table is named by itself or after its schema. A name that holds a dot can't be written; a
// view can stand for such a table.
func validTable(name string) bool {
	schema, table, qualified := strings.Cut(name, ".")
	return schema != "" && (!qualified || table != "" && !strings.Contains(table, "."))
}

// ValidName reports whether name may be that of a definition or connection.
func ValidName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
