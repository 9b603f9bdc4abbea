package sqldb

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
)

// mysqlTable is what the catalogue says of one relation.
type mysqlTable struct {
	view    bool
	columns map[string]mysqlColumn
	// index is the index that orders by tenant and key, or by the key, "" when there is none.
	index string
	// unique says that an index lets no two rows of a tenant have keys that compare equal.
	unique bool
	// alike are relations whose names differ from that of one that isn't there in capital letters alone.
	alike []string
}

type mysqlColumn struct {
	mysqlType
	nullable, granted bool
	position          string
	collation         string
	// letters is how many a text may have.
	letters int
}

// typeOf is a column's type. The server holds names that differ in case to be the same.
func (t *mysqlTable) typeOf(column row.Column) mysqlType { return t.column(column.Source).mysqlType }

func (t *mysqlTable) column(name string) mysqlColumn { return t.columns[strings.ToLower(name)] }

// whereTable restricts a statement on information_schema to the query's table.
func whereTable(q *row.Query) statement {
	schema, table, qualified := strings.Cut(q.Table, ".")
	st := statement{text: " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = \x001\x00", args: []arg{textLiteral(schema)}}
	if qualified {
		st = statement{text: " WHERE TABLE_SCHEMA = \x001\x00 AND TABLE_NAME = \x002\x00", args: []arg{textLiteral(schema), textLiteral(table)}}
	}
	return st
}

// describe reads the catalogue.
func (s *mysqlSource) describe(ctx context.Context, q *row.Query) (*mysqlTable, error) {
	t := &mysqlTable{columns: map[string]mysqlColumn{}}
	where := whereTable(q)
	read := func(from string, each func(values map[string]string)) error {
		return s.names(ctx, q, statement{text: "SELECT * FROM information_schema." + from + where.text, args: where.args}, each)
	}
	if err := read("COLUMNS", func(values map[string]string) {
		declared := newMySQLType(values["data_type"], values["column_type"], values["collation_name"])
		declared.charset = values["character_set_name"]
		letters, _ := strconv.Atoi(values["character_maximum_length"])
		t.columns[strings.ToLower(values["column_name"])] = mysqlColumn{
			mysqlType: declared, letters: letters,
			nullable: values["is_nullable"] != "NO", granted: strings.Contains(values["privileges"], "select"),
			position: values["ordinal_position"], collation: values["collation_name"],
		}
	}); err != nil {
		return nil, err
	}
	innoDB := false
	if err := read("TABLES", func(values map[string]string) {
		t.view = strings.HasSuffix(values["table_type"], "VIEW")
		innoDB = strings.EqualFold(values["engine"], "InnoDB")
	}); err != nil {
		return nil, err
	}
	if len(t.columns) == 0 && !t.view {
		var err error
		t.alike, err = s.alike(ctx, q)
		return t, err
	}
	var indexes []mysqlIndex
	if err := read("STATISTICS", func(values map[string]string) { indexes = addPart(indexes, values) }); err != nil {
		return nil, err
	}
	t.choose(q, indexes, innoDB)
	return t, nil
}

// alike finds the relations that a table that isn't there may be meant for: where files' names have capital letters, those
// of tables and databases have them too.
func (s *mysqlSource) alike(ctx context.Context, q *row.Query) ([]string, error) {
	schema, table, qualified := strings.Cut(q.Table, ".")
	st := statement{text: "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND " +
		"LOWER(TABLE_NAME) = LOWER(\x001\x00) ORDER BY 1, 2 LIMIT 5", args: []arg{textLiteral(schema)}}
	if qualified {
		st = statement{text: "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE LOWER(TABLE_SCHEMA) = LOWER(\x001\x00) AND " +
			"LOWER(TABLE_NAME) = LOWER(\x002\x00) ORDER BY 1, 2 LIMIT 5", args: []arg{textLiteral(schema), textLiteral(table)}}
	}
	var found []string
	err := s.names(ctx, q, st, func(values map[string]string) {
		other := values["table_name"]
		if qualified {
			other = values["table_schema"] + "." + other
		}
		if other != q.Table {
			found = append(found, other)
		}
	})
	return found, err
}

// mysqlIndex is one B-tree.
type mysqlIndex struct {
	name    string
	columns []string
	unique  bool
	// usable says that the index holds whole values in ascending order and that the server uses it.
	usable bool
}

// addPart takes one row of information_schema.STATISTICS, whose rows of an index come in order.
func addPart(indexes []mysqlIndex, values map[string]string) []mysqlIndex {
	name := values["index_name"]
	at := slices.IndexFunc(indexes, func(i mysqlIndex) bool { return i.name == name })
	if at < 0 {
		at = len(indexes)
		indexes = append(indexes, mysqlIndex{name: name, unique: values["non_unique"] == "0", usable: true})
	}
	index := &indexes[at]
	index.columns = append(index.columns, strings.ToLower(values["column_name"]))
	_, partial := values["sub_part"]
	if partial || values["column_name"] == "" || values["index_type"] != "BTREE" || values["collation"] != "A" ||
		values["ignored"] == "YES" || values["is_visible"] == "NO" {
		index.usable = false
	}
	return indexes
}

// choose finds the index that serves the key: it begins with the tenant and all of the key, or with all of the key.
// InnoDB's indexes that aren't unique end with the primary key.
func (t *mysqlTable) choose(q *row.Query, indexes []mysqlIndex, innoDB bool) {
	tenant := strings.ToLower(q.TenantColumn.Source)
	var key []string
	for _, column := range q.Key {
		key = append(key, strings.ToLower(column.Source))
	}
	var primary []string
	for _, index := range indexes {
		if index.name == "PRIMARY" && index.usable && innoDB {
			primary = index.columns
		}
	}
	alone := ""
	for _, index := range indexes {
		if !index.usable {
			continue
		}
		columns := index.columns
		if !index.unique {
			columns = append(slices.Clone(columns), primary...)
		}
		if begins(columns, append([]string{tenant}, key...)) {
			t.index = index.name
		} else if begins(columns, key) {
			alone = index.name
		}
		t.unique = t.unique || index.unique && !slices.ContainsFunc(index.columns, func(name string) bool {
			return name != tenant && !slices.Contains(key, name)
		})
	}
	if t.index == "" {
		t.index = alone
	}
}

func begins(columns, with []string) bool {
	return len(columns) >= len(with) && slices.Equal(columns[:len(with)], with)
}

// Check implements source.Source. A key column must be NOT NULL; text in the key must be compared byte by byte, or an
// index must rule out texts that compare equal; and an index must begin with the tenant and the whole key, or with the
// whole key: each batch would sort the table otherwise. Views can't declare this; Plan searches them for NULL keys
// instead, once.
func (s *mysqlSource) Check(ctx context.Context, q row.Query) error {
	if err := validate(&q); err != nil {
		return err
	}
	s.shape = ""
	if err := s.prepareQuery(ctx, &q); err != nil {
		return err
	}
	for _, column := range q.Key {
		if t := s.table.typeOf(column); t.class == classText && !t.exact && !s.table.unique {
			return keyCollation(&q, column, "make the index on the tenant and the key UNIQUE, give the column a collation that compares "+
				"bytes and no padding (utf8mb4_nopad_bin, in MySQL utf8mb4_0900_bin)")
		}
	}
	if s.table.view {
		return nil
	}
	for _, column := range q.Key {
		if s.table.column(column.Source).nullable {
			return keyNullable(&q, column)
		}
	}
	if s.table.index == "" {
		// The catalogue is read in pieces, between which a right or the table may go: nothing is advised that wasn't seen twice.
		s.shape = ""
		if err := s.prepareQuery(ctx, &q); err != nil {
			return err
		}
	}
	if s.table.index == "" {
		ticks := func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
		table := ticks(q.Table)
		if database, name, qualified := strings.Cut(q.Table, "."); qualified {
			table = ticks(database) + "." + ticks(name)
		}
		return keyNotIndexed(&q, keyNames(&q), "CREATE INDEX export_key ON "+table, ticks)
	}
	return nil
}

// check compares the query with the catalogue.
func (t *mysqlTable) check(q *row.Query) error {
	if len(t.alike) > 0 {
		return otherTable(q, t.alike)
	}
	if len(t.columns) == 0 && t.view {
		return brokenView(q, "")
	}
	if len(t.columns) == 0 {
		return missingTable(q)
	}
	var missing, denied []string
	for _, column := range sources(q) {
		have, ok := t.columns[strings.ToLower(column.Source)]
		switch {
		case !ok:
			missing = append(missing, column.Source)
		case !have.granted:
			denied = append(denied, column.Source)
		}
	}
	if len(missing) > 0 {
		return missingColumns(q, missing, nil)
	}
	if len(denied) > 0 {
		return job.Errorf(job.Permanent, codeDenied, "the source's user may not read %s of table %s; grant it SELECT on the "+
			"table", columnsNamed(denied), q.Table)
	}
	var misfits []misfit
	// The tenant is compared in the column's own type, whatever that is.
	for i, column := range sources(q)[1:] {
		have := t.typeOf(column)
		if column.Unit != "" {
			return queryInvalid("column %s of table %s declares unit %s, which is for whole numbers in a SQLite file, and has type %s; remove "+
				"the unit, and export whole numbers from a view that casts them, as with FROM_UNIXTIME", column.Source, q.Table, column.Unit, have.declared)
		}
		if !have.gives(column.Kind) {
			misfits = append(misfits, misfit{column, have.declared, mysqlTypesGiving(column.Kind)})
			continue
		}
		if i < len(q.Key) && (!have.orders() || column.Kind == row.String && have.class != classText) {
			return unfitForKey(q, column, have.declared, "its order isn't that of what the file shows")
		}
	}
	if len(misfits) > 0 {
		return mistyped(q, misfits...)
	}
	if err := checkOrders(q, func(column row.Column) (string, string) {
		have := t.typeOf(column)
		return have.declared, have.orderAdvice(column)
	}); err != nil {
		return err
	}
	return t.checkCharsets(q)
}

func (s *mysqlSource) checkNulls(ctx context.Context, q *row.Query) error {
	st, err := selectKeyset(s, q, "1", false, 0, scope{})
	if err != nil {
		return err
	}
	st.text += nullProbe(q)
	return s.query(ctx, q, st, func([][]byte) error { return keyNull(q) })
}
