package sqldb

import (
	"context"
	"strings"

	"sealift/shared/row"
)

// sqliteTable is what the catalogue says of one relation.
type sqliteTable struct {
	view    bool
	columns map[string]sqliteColumn
	// rowid is the column that is the row's own number, "" when there is none.
	rowid string
	// number is a name for the row's own number that no column takes, "" where rows have none.
	number  string
	indexes []sqliteIndex
}

type sqliteColumn struct {
	notNull bool
	// declared is the column's type as the table has it, which says how values are stored (SQLite documentation, "Datatypes", 3.1).
	declared string
}

// number reports whether the column keeps as numbers all that reads as one. Of other types only the rows tell.
func (c sqliteColumn) number() bool {
	name := strings.ToUpper(c.declared)
	has := func(part string) bool { return strings.Contains(name, part) }
	if has("INT") {
		return true
	}
	return !has("CHAR") && !has("CLOB") && !has("TEXT") && !has("BLOB") && (has("REAL") || has("FLOAT") || has("DOUBLE"))
}

type sqliteIndex struct {
	name    string
	partial bool
	columns []sqliteIndexColumn
}

type sqliteIndexColumn struct {
	name       string
	descending bool
	collation  string
}

// serves is how many leading key columns follow the tenant in the index, in ascending bytewise order.
func (x sqliteIndex) serves(q *row.Query) int {
	matched := 0
	for i, column := range x.columns {
		want := q.TenantColumn.Source
		if i > 0 {
			if i > len(q.Key) {
				break
			}
			want = q.Key[i-1].Source
		}
		if column.descending || column.collation != "BINARY" || !strings.EqualFold(column.name, want) {
			break
		}
		matched = i
	}
	return matched
}

// leads reports whether the index begins with (tenant, first key column) or with the first key column.
func (x sqliteIndex) leads(q *row.Query) bool {
	if x.partial || len(x.columns) == 0 {
		return false
	}
	first := q.Key[0].Source
	if strings.EqualFold(x.columns[0].name, first) {
		return true
	}
	return len(x.columns) > 1 && strings.EqualFold(x.columns[0].name, q.TenantColumn.Source) &&
		strings.EqualFold(x.columns[1].name, first)
}

// Check implements source.Source. Declared types are only hints in SQLite, so a column's existence is what is checked
// of it; its values are checked as they are read. A key column must be NOT NULL (or the INTEGER PRIMARY KEY), compare
// bytewise when it is text, and an index must begin with the tenant and the first key column, or with that column: each
// batch would sort the table otherwise. A time that the tenant's first or last row holds as a number needs a unit. A view
// can't declare any of this and sorts its rows to find the first; Plan searches it for NULL keys instead, once.
func (s *sqliteSource) Check(ctx context.Context, q row.Query) error {
	if err := validate(&q); err != nil {
		return err
	}
	return s.within(ctx, &q, func(ctx context.Context) error {
		table, err := s.describe(ctx, &q)
		if err != nil {
			return err
		}
		if err := table.check(&q); err != nil {
			return err
		}
		if table.view {
			return nil
		}
		if err := s.checkCollations(&q); err != nil {
			return err
		}
		return s.checkUnits(ctx, &q)
	})
}

func (t *sqliteTable) check(q *row.Query) error {
	if len(t.columns) == 0 {
		return missingTable(q)
	}
	var missing []string
	for _, column := range sources(q) {
		if _, ok := t.columns[strings.ToLower(column.Source)]; !ok {
			missing = append(missing, column.Source)
		}
	}
	if len(missing) > 0 {
		return missingColumns(q, missing, nil)
	}
	if err := checkOrders(q, func(column row.Column) (declared, advice string) {
		if have := t.columns[strings.ToLower(column.Source)]; have.number() {
			return have.declared, declareAs("int64 or float64")
		}
		return "", ""
	}); err != nil {
		return err
	}
	if t.view {
		return nil
	}
	for _, column := range q.Key {
		if !t.columns[strings.ToLower(column.Source)].notNull {
			return keyNullable(q, column)
		}
	}
	if strings.EqualFold(t.rowid, q.Key[0].Source) {
		return nil
	}
	for _, index := range t.indexes {
		if index.leads(q) {
			return nil
		}
	}
	schema, name := sqliteName(q.Table)
	return keyNotIndexed(q, q.Key[0].Source, "CREATE INDEX "+quote(schema)+"."+quote(name+"_export_key")+" ON "+quote(name), quote)
}

// describe reads the catalogue.
func (s *sqliteSource) describe(ctx context.Context, q *row.Query) (*sqliteTable, error) {
	schema, name := sqliteName(q.Table)
	args := []arg{{text: name}, {text: schema}}
	t := &sqliteTable{columns: map[string]sqliteColumn{}}
	keys := 0
	err := s.conn.rows(ctx, statement{
		text: `SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?1, ?2)`, args: args,
	}, func(st *sqliteStmt) (bool, error) {
		column := string(st.value(0).asText())
		t.columns[strings.ToLower(column)] = sqliteColumn{notNull: st.value(2).integer != 0, declared: string(st.value(1).asText())}
		if st.value(3).integer > 0 {
			keys++
			if strings.EqualFold(string(st.value(1).asText()), "INTEGER") {
				t.rowid = column
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.describeKind(ctx, t, keys, args); err != nil {
		return nil, err
	}
	err = s.conn.rows(ctx, statement{
		text: `SELECT l.name, l.partial, x.cid, x.name, x."desc", x.coll FROM pragma_index_list(?1, ?2) AS l,
			pragma_index_xinfo(l.name, ?2) AS x ORDER BY l.name, x.seqno`, args: args,
	}, func(st *sqliteStmt) (bool, error) {
		index := string(st.value(0).asText())
		if len(t.indexes) == 0 || t.indexes[len(t.indexes)-1].name != index {
			t.indexes = append(t.indexes, sqliteIndex{name: index, partial: st.value(1).integer != 0})
		}
		column := sqliteIndexColumn{
			name: string(st.value(3).asText()), descending: st.value(4).integer != 0, collation: string(st.value(5).asText()),
		}
		if st.value(2).integer == -1 {
			column.name = t.rowid
		}
		last := &t.indexes[len(t.indexes)-1]
		last.columns = append(last.columns, column)
		return true, nil
	})
	return t, err
}

// describeKind tells tables from views and finds out whether the INTEGER PRIMARY KEY is the row's own number.
func (s *sqliteSource) describeKind(ctx context.Context, t *sqliteTable, keys int, args []arg) error {
	own, kind := false, ""
	err := s.conn.rows(ctx, statement{
		text: "SELECT type, wr FROM pragma_table_list WHERE name = ?1 COLLATE NOCASE AND schema = ?2 COLLATE NOCASE", args: args,
	}, func(st *sqliteStmt) (bool, error) {
		kind = string(st.value(0).asText())
		t.view, own = kind == "view", st.value(1).integer == 0
		return false, nil
	})
	for _, name := range []string{"oid", "_rowid_", "rowid"} {
		if _, taken := t.columns[name]; !taken && own && kind == "table" {
			t.number = name
		}
	}
	if keys != 1 || !own {
		t.rowid = ""
		return err
	}
	if t.rowid != "" {
		t.columns[strings.ToLower(t.rowid)] = sqliteColumn{notNull: true, declared: t.columns[strings.ToLower(t.rowid)].declared}
	}
	return err
}

// checkCollations refuses key text that doesn't compare bytewise: two keys could be equal to the database and yet
// differ to a cursor.
func (s *sqliteSource) checkCollations(q *row.Query) error {
	for _, column := range q.Key {
		if column.Kind != row.String {
			continue
		}
		schema, name := sqliteName(q.Table)
		collation, err := s.conn.collation(schema, name, column.Source)
		if err != nil {
			return err
		}
		if collation != "BINARY" {
			return keyCollation(q, column, "declare it COLLATE BINARY")
		}
	}
	return nil
}

// checkNulls refuses a view that yields NULL in a key column.
func (s *sqliteSource) checkNulls(ctx context.Context, q *row.Query) error {
	st, err := selectKeyset(s, q, "1", false, 0, scope{})
	if err != nil {
		return err
	}
	st.text += nullProbe(q)
	found := false
	err = s.conn.rows(ctx, st, func(*sqliteStmt) (bool, error) {
		found = true
		return false, nil
	})
	if err == nil && found {
		err = keyNull(q)
	}
	return err
}

// sqliteName splits a relation's name; the schema is main where it names none.
func sqliteName(table string) (schema, name string) {
	schema, name, qualified := strings.Cut(table, ".")
	if !qualified {
		return "main", table
	}
	return schema, name
}
