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
	s.validateTable(c)
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

// validateTable holds a table to be named by itself or after its schema, as it stands. A name that holds a dot can't be
// written; a view can stand for such a table.
func (s Source) validateTable(c *checker) {
	const viewHelp = "; a name that holds a dot can't be written: make a view under a name without one"
	schema, table, qualified := strings.Cut(s.Table, ".")
	switch {
	case quoted(s.Table) || quoted(schema) || quoted(table):
		c.must(false, "/source/table", "has quotes around a name; write table or schema.table without quotes, each as it stands%s", viewHelp)
	case strings.Contains(table, "."):
		c.must(false, "/source/table", "is %q; write table or schema.table%s", s.Table, viewHelp)
	default:
		c.must(schema != "" && (table != "" || !qualified), "/source/table", "is %q; write table or schema.table", s.Table)
	}
}

// quoted reports whether a name stands in the quotes of some database, which would be taken for a part of it.
func quoted(name string) bool {
	if len(name) < 2 {
		return false
	}
	return slices.Contains([]string{"``", `""`, "[]", "''"}, name[:1]+name[len(name)-1:])
}

// ValidName reports whether name may be that of a definition or connection.
func ValidName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
