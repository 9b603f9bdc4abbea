package sqldb

import (
	"slices"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
)

// missingTable refuses a table that isn't there, be it gone or never made.
func missingTable(q *row.Query) error {
	return job.Errorf(job.Permanent, codeSchemaChanged, "table %s isn't there; check how the definition spells its name and schema, "+
		"and which database the connection leads to; if it was renamed or dropped, restore it or apply a new version of the definition", q.Table)
}

// otherTable refuses a table that isn't there where others are whose names have the same letters, some of them capital.
func otherTable(q *row.Query, alike []string) error {
	verb := "is"
	if len(alike) > 1 {
		verb = "are"
	}
	return job.Errorf(job.Permanent, codeSchemaChanged, "table %s isn't there, but %s %s; capital letters count: write the name as the "+
		"database has it in a new version of the definition", q.Table, strings.Join(alike, " and "), verb)
}

// missingColumns refuses columns that the table doesn't have. own are the names of those that it has, in order, in a
// database where capital letters count.
func missingColumns(q *row.Query, names, own []string) error {
	var list []string
	respelt := 0
	for _, name := range distinct(names) {
		var alike []string
		for _, other := range own {
			if strings.EqualFold(name, other) {
				alike = append(alike, other)
			}
		}
		if len(alike) > 0 {
			respelt++
			name += " (it has " + strings.Join(alike, " and ") + ")"
		}
		list = append(list, name)
	}
	advice := "check how the definition spells it; if it was renamed or dropped, restore it or apply a new version of the definition"
	switch {
	case respelt == 1:
		advice = "capital letters count: write the name as the table has it in a new version of the definition"
	case respelt > 1:
		advice = "capital letters count: write the names as the table has them in a new version of the definition"
	case len(list) > 1:
		advice = "check how the definition spells them; if they were renamed or dropped, restore them or apply a new version of the definition"
	}
	if respelt > 0 && respelt < len(list) {
		advice += ", and check, restore or leave out the rest"
	}
	return job.Errorf(job.Permanent, codeSchemaChanged, "table %s has no %s; %s", q.Table, columnsNamed(list), advice)
}

// columnsNamed names columns for people, each once.
func columnsNamed(names []string) string {
	list := distinct(names)
	if len(list) > 1 {
		return "columns " + strings.Join(list, ", ")
	}
	return "column " + strings.Join(list, "")
}

// distinct has each name once: one column may be exported, filtered and part of the key.
func distinct(names []string) []string {
	var list []string
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// misfit is a column whose type can't give its kind, with the types that can.
type misfit struct {
	column     row.Column
	have, want string
}

// mistyped refuses columns whose types can't give their kinds, all at once, so that one new version mends them all.
func mistyped(q *row.Query, misfits ...misfit) error {
	var list []string
	for _, m := range misfits {
		list = append(list, called(m.column)+" has "+m.have+" ("+m.want+" can)")
	}
	if list = distinct(list); len(list) > 1 {
		return job.Errorf(job.Permanent, codeSchemaChanged, "%d columns of table %s have types that can't give their kinds: %s; "+
			"change the kinds in a new version of the definition, or export a view that casts the columns", len(list), q.Table, strings.Join(list, ", "))
	}
	return job.Errorf(job.Permanent, codeSchemaChanged, "column %s of table %s has type %s, which can't give that kind (%s can); "+
		"change the kind in a new version of the definition, or export a view that casts the column", called(misfits[0].column), q.Table,
		misfits[0].have, misfits[0].want)
}

// unfitForKey refuses a column of the key whose type gives its kind, but doesn't order it.
func unfitForKey(q *row.Query, column row.Column, have, why string) error {
	return job.Errorf(job.Permanent, codeSchemaChanged, "column %s of table %s has type %s, which can't be in a key, because %s; "+
		"choose another key in a new version of the definition, or export a view that casts the column", called(column), q.Table, have, why)
}

func keyNullable(q *row.Query, column row.Column) error {
	return job.Errorf(job.Permanent, codeKeyNullable, "key column %s of table %s may be NULL, and rows without a key can't be "+
		"ordered; declare it NOT NULL or choose another key in the definition", column.Source, q.Table)
}

func keyNull(q *row.Query) error {
	return job.Errorf(job.Permanent, codeKeyNullable, "%s yields NULL in a column of its key (%s); mend such rows, leave them out in "+
		"a view or choose another key in the definition", q.Table, keyNames(q))
}

// keyNotIndexed refuses a table that can't be read in the order of its key. least are the key columns that an index must
// have; create is the beginning of the statement that makes one, in the server's language, as quote is its spelling of names.
func keyNotIndexed(q *row.Query, least, create string, quote func(name string) string) error {
	columns := []string{quote(q.TenantColumn.Source)}
	for _, column := range q.Key {
		columns = append(columns, quote(column.Source))
	}
	return job.Errorf(job.Permanent, codeKeyNotIndexed, "table %s has no index that begins with (%s, %s) or (%s), so every batch "+
		"would sort the whole table; create one: %s (%s)", q.Table, q.TenantColumn.Source, least, least, create, strings.Join(columns, ", "))
}

func keyCollation(q *row.Query, column row.Column, remedy string) error {
	return job.Errorf(job.Permanent, codeKeyCollation, "key column %s of table %s holds different texts to be equal, so rows could "+
		"share a key; %s or choose another key in the definition", column.Source, q.Table, remedy)
}

// nullProbe narrows a statement without order to one row with a NULL in its key.
func nullProbe(q *row.Query) string {
	var nulls []string
	for _, column := range q.Key {
		nulls = append(nulls, quoteColumn(column)+" IS NULL")
	}
	return " AND (" + strings.Join(nulls, " OR ") + ") LIMIT 1"
}
