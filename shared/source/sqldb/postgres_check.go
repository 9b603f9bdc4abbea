package sqldb

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
)

// postgresTable is what the catalogue says of one relation.
type postgresTable struct {
	// searched says that the key must be searched for NULL, because nothing promises that it has none: in views, foreign
	// tables and materialised views, whose columns can't be declared NOT NULL, and where a domain says so, which INSERT gets
	// around with a subquery that yields nothing.
	searched bool
	// indexed says that it can have indexes of its own.
	indexed bool
	// local says that all its rows are stored and compared here: it isn't a view or a foreign table, and none of its
	// partitions and children is a foreign one.
	local   bool
	columns map[string]postgresColumn
	types   map[uint32]postgresType
	// indexes are the first two columns of every whole, valid B-tree.
	indexes [][2]string
	// alike are relations whose names differ from that of one that isn't there in capital letters alone.
	alike []string
	// unspelt are texts of the query that no text of the database can be.
	unspelt map[string]bool
}

type postgresColumn struct {
	postgresType
	// notNull is the column's own promise, promised that of its domain.
	notNull, promised bool
	granted           bool
	// blind says that different texts may compare equal.
	blind bool
	// declared is the column's own type in SQL, a domain's name included.
	declared string
}

// exact reports whether values of the column are equal only where their texts are. A comparison that another server does
// follows that server's types and collations, which a foreign table doesn't tell.
func (t *postgresTable) exact(column row.Column) bool {
	c := t.columns[column.Source]
	return t.local && !c.blind && (c.oid == oidText || c.oid == oidVarchar)
}

// catalogue reads the columns of a relation; a domain counts as the type it is based on.
const catalogue = `WITH RECURSIVE h(oid) AS (
	SELECT to_regclass($1)::oid
	UNION SELECT i.inhrelid FROM h JOIN pg_inherits AS i ON i.inhparent = h.oid
)
SELECT c.relkind, a.attname, b.oid, format_type(b.oid, NULL), b.typcategory, a.attnotnull,
	has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
	b.typname = 'citext' OR NOT coalesce(l.collisdeterministic, true), format_type(a.atttypid, NULL),
	(SELECT NOT bool_or(k.relkind IN ('v', 'f')) FROM h JOIN pg_class AS k ON k.oid = h.oid), b.promised
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
CROSS JOIN LATERAL (
	WITH RECURSIVE d(oid) AS (
		SELECT a.atttypid
		UNION ALL SELECT t.typbasetype FROM d JOIN pg_type AS t ON t.oid = d.oid WHERE t.typtype = 'd'
	)
	SELECT t.*, (SELECT bool_or(n.typnotnull) FROM d JOIN pg_type AS n ON n.oid = d.oid) AS promised
	FROM d JOIN pg_type AS t ON t.oid = d.oid WHERE t.typtype <> 'd'
) AS b
LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
WHERE c.oid = to_regclass($1)`

// alikeCatalogue finds relations by schema, empty for what the session's search path shows, and name, whatever their capital letters.
const alikeCatalogue = `SELECT n.nspname, c.relname
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE lower(c.relname) = lower($2::text) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
	AND CASE WHEN $1::text = '' THEN pg_table_is_visible(c.oid) ELSE lower(n.nspname) = lower($1::text) END
ORDER BY 1, 2 LIMIT 5`

const indexCatalogue = `SELECT a.attname, coalesce(e.attname, '')
FROM pg_index AS i
JOIN pg_class AS x ON x.oid = i.indexrelid
JOIN pg_am AS m ON m.oid = x.relam AND m.amname = 'btree'
JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
LEFT JOIN pg_attribute AS e ON e.attrelid = i.indrelid AND i.indnkeyatts > 1 AND e.attnum = i.indkey[1]
WHERE i.indrelid = to_regclass($1) AND i.indisvalid AND i.indpred IS NULL`

// Check implements source.Source. A key column must be NOT NULL and compare different texts as different, and an index
// must begin with the tenant and the first key column, or with that column: each batch would sort the table otherwise.
// Views and foreign tables can't declare this, and materialised views and domains no NOT NULL to rely on; Plan searches
// them for NULL keys instead, once.
func (s *postgresSource) Check(ctx context.Context, q row.Query) error {
	if err := validate(&q); err != nil {
		return err
	}
	s.shape = ""
	if err := s.prepareQuery(ctx, &q); err != nil {
		return err
	}
	for _, column := range q.Key {
		if s.table.columns[column.Source].blind {
			return keyCollation(&q, column, "give it a deterministic collation")
		}
	}
	for _, column := range q.Key {
		if !s.table.searched && !s.table.columns[column.Source].notNull {
			return keyNullable(&q, column)
		}
	}
	if !s.table.indexed {
		return nil
	}
	first := q.Key[0].Source
	for _, index := range s.table.indexes {
		if index[0] == first || index[0] == q.TenantColumn.Source && index[1] == first {
			return nil
		}
	}
	return keyNotIndexed(&q, q.Key[0].Source, "CREATE INDEX ON "+quoteTable(q.Table), quote)
}

func (s *postgresSource) checkNulls(ctx context.Context, q *row.Query) error {
	st, err := selectKeyset(s, q, "1", false, 0, scope{})
	if err != nil {
		return err
	}
	st.text += nullProbe(q)
	return s.query(ctx, q, st, func([][]byte) error { return keyNull(q) })
}

// check compares the query with the catalogue.
func (t *postgresTable) check(q *row.Query) error {
	if len(t.alike) > 0 {
		return otherTable(q, t.alike)
	}
	if len(t.columns) == 0 {
		return missingTable(q)
	}
	var missing, denied []string
	for _, column := range sources(q) {
		have, ok := t.columns[column.Source]
		switch {
		case !ok:
			missing = append(missing, column.Source)
		case !have.granted:
			denied = append(denied, column.Source)
		}
	}
	if len(missing) > 0 {
		return missingColumns(q, missing, slices.Sorted(maps.Keys(t.columns)))
	}
	if len(denied) > 0 {
		return job.Errorf(job.Permanent, codeDenied, "the source's user may not read %s of table %s; grant it SELECT on the "+
			"table", columnsNamed(denied), q.Table)
	}
	var misfits []misfit
	// The tenant is compared in the column's own type, whatever that is.
	for i, column := range sources(q)[1:] {
		have := t.columns[column.Source]
		if column.Unit != "" {
			return queryInvalid("column %s of table %s declares unit %s, which is for whole numbers in a SQLite file, and has type %s; remove "+
				"the unit, and export whole numbers from a view that casts them, as with to_timestamp", column.Source, q.Table, column.Unit, have.String())
		}
		if !have.gives(column.Kind) {
			misfits = append(misfits, misfit{column, have.String(), typesGiving(column.Kind)})
			continue
		}
		if i < len(q.Key) && column.Kind == row.String && !have.orders() {
			return unfitForKey(q, column, have.String(), "it has no order, or one in which different texts are equal")
		}
	}
	if len(misfits) > 0 {
		return mistyped(q, misfits...)
	}
	return checkOrders(q, func(column row.Column) (string, string) {
		have := t.columns[column.Source].postgresType
		return have.String(), have.orderAdvice(column)
	})
}

// typeOf is the type with the id, as the relation's columns have it or every database.
func (t *postgresTable) typeOf(oid uint32) postgresType {
	if known, ok := t.types[oid]; ok {
		return known
	}
	if name := ownName(oid); name != "" {
		return postgresType{oid: oid, name: name}
	}
	return postgresType{oid: oid, name: "other than when it was checked (object id " + strconv.FormatUint(uint64(oid), 10) + ")"}
}

// takesDomainsWord reports whether the key's columns are NOT NULL, and some only as their domains say.
func (t *postgresTable) takesDomainsWord(q *row.Query) bool {
	some := false
	for _, column := range q.Key {
		c := t.columns[column.Source]
		if !c.notNull && !c.promised {
			return false
		}
		some = some || !c.notNull
	}
	return some
}

// describe reads the catalogue.
func (s *postgresSource) describe(ctx context.Context, q *row.Query) (*postgresTable, error) {
	if err := s.passBytes(ctx, q); err != nil {
		return nil, err
	}
	unspelt, err := s.unspelt(ctx, q)
	if err != nil {
		return nil, err
	}
	t := &postgresTable{columns: map[string]postgresColumn{}, types: map[uint32]postgresType{}, unspelt: unspelt}
	args := []arg{{text: quoteTable(q.Table)}}
	var kind byte // pg_class.relkind
	err = s.query(ctx, q, statement{text: catalogue, args: args}, func(values [][]byte) error {
		kind, t.local = values[0][0], values[9][0] == 't'
		oid, err := strconv.ParseUint(string(values[2]), 10, 32)
		if err != nil {
			return job.Errorf(job.Permanent, codeUnavailable, "the catalogue of %s holds a type id that isn't a number", q.Table)
		}
		base := postgresType{oid: uint32(oid), name: string(values[3]), category: values[4][0]}
		t.types[base.oid] = base
		t.columns[string(values[1])] = postgresColumn{
			postgresType: base, notNull: values[5][0] == 't', granted: values[6][0] == 't', blind: values[7][0] == 't',
			declared: string(values[8]), promised: values[10][0] == 't',
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.indexed = kind == 'r' || kind == 'p' || kind == 'm'
	t.searched = kind == 'v' || kind == 'f' || kind == 'm' || t.takesDomainsWord(q)
	if len(t.columns) == 0 {
		t.alike, err = s.alike(ctx, q)
		return t, err
	}
	err = s.query(ctx, q, statement{text: indexCatalogue, args: args}, func(values [][]byte) error {
		t.indexes = append(t.indexes, [2]string{string(values[0]), string(values[1])})
		return nil
	})
	return t, err
}

// alike finds the relations that a table that isn't there may be meant for.
func (s *postgresSource) alike(ctx context.Context, q *row.Query) ([]string, error) {
	schema, name, qualified := strings.Cut(q.Table, ".")
	if !qualified {
		schema, name = "", q.Table
	}
	var found []string
	err := s.query(ctx, q, statement{text: alikeCatalogue, args: []arg{{text: schema}, {text: name}}}, func(values [][]byte) error {
		other := string(values[1])
		if qualified {
			other = string(values[0]) + "." + other
		}
		if other != q.Table {
			found = append(found, other)
		}
		return nil
	})
	return found, err
}
