package sqldb

import (
	"strconv"
	"strings"

	"sealift/shared/row"
)

// argKind is the storage class in which a parameter is sent.
type argKind uint8

const (
	argText argKind = iota
	argInteger
	argReal
	argBytes
)

// arg is one parameter of a statement. PostgreSQL takes the text of every kind.
type arg struct {
	kind    argKind
	text    string
	integer int64
	real    float64
}

// statement is finished SQL text and its parameters in order.
type statement struct {
	text string
	args []arg
}

// dialect is what differs between databases in the text of a statement.
type dialect interface {
	// marker names parameter n, from 1.
	marker(n int) string
	// tenant is the condition that lets only the query's tenant through, bytewise.
	tenant(b *builder) (string, error)
	// keyArg turns canonical text of key column i into a parameter that compares as the column does.
	keyArg(q *row.Query, i int, canonical string) (arg, error)
	// time is the condition "time column op canonical"; op is >= or <.
	time(b *builder, op, canonical string) (string, error)
	// filter is the condition of one filter.
	filter(b *builder, f row.Filter) (string, error)
	// hint follows the table's name, "" where the database finds the key's index by itself.
	hint() string
	// rowValues compares row values column by column, as "left op right" does in SQL; op is <, <=, > or >=.
	rowValues(left, right []string, op string) string
	// aside keeps a condition from the choice of where in the index a scan starts and ends.
	aside(condition string) string
}

// keyBound is one side of a range of keys; its key may be a prefix of the whole key.
type keyBound struct {
	key    row.Key
	strict bool
}

// scope says which rows of the query's set a statement is about.
type scope struct {
	// lower and upper are the bounds that an index serves; it seeks to the one and stops at the other.
	lower, upper *keyBound
	// lowest and highest are looser bounds, checked on what the index yields.
	lowest, highest []keyBound
	// equal fixes the first key columns; lower and upper then compare only those behind them.
	equal row.Key
	// times and filters say whether the business time and the filters apply.
	times, filters bool
}

// readScope covers what is left of a range after the cursor. The tightest bound on each side serves the index; a looser
// one that it implies isn't asked again.
func readScope(q *row.Query, r row.Range, after row.Key) scope {
	s := scope{times: true, filters: true}
	if r.From != nil {
		s.lower = &keyBound{key: r.From}
	}
	if after != nil {
		if s.lower != nil && !behind(q, after, r.From) {
			s.lowest = append(s.lowest, *s.lower)
		}
		s.lower = &keyBound{key: after, strict: true}
	}
	if q.Ceiling != nil {
		s.upper = &keyBound{key: q.Ceiling}
	}
	if r.To != nil {
		if s.upper != nil && !behind(q, q.Ceiling, r.To) {
			s.highest = append(s.highest, *s.upper)
		}
		s.upper = &keyBound{key: r.To, strict: true}
	}
	return s
}

// builder puts one statement together.
type builder struct {
	dialect dialect
	query   *row.Query
	args    []arg
	where   []string
}

// bind adds a parameter and returns its marker.
func (b *builder) bind(a arg) string {
	b.args = append(b.args, a)
	return b.dialect.marker(len(b.args))
}

// selectKeyset builds SELECT fields over the scope in key order, at most limit rows (0: no order and no limit).
func selectKeyset(d dialect, q *row.Query, fields string, descending bool, limit int, s scope) (statement, error) {
	b := &builder{dialect: d, query: q}
	if err := b.conditions(s); err != nil {
		return statement{}, err
	}
	text := "SELECT " + fields + " FROM " + quoteTable(q.Table) + " AS t" + d.hint() + " WHERE " + strings.Join(b.where, " AND ")
	if limit > 0 {
		terms := make([]string, len(q.Key))
		for i, column := range q.Key {
			terms[i] = quoteColumn(column)
			if descending {
				terms[i] += " DESC"
			}
		}
		text += " ORDER BY " + strings.Join(terms, ", ") + " LIMIT " + strconv.Itoa(limit)
	}
	return statement{text: text, args: b.args}, nil
}

func (b *builder) conditions(s scope) error {
	tenant, err := b.dialect.tenant(b)
	if err != nil {
		return err
	}
	b.where = append(b.where, tenant)
	for i, value := range s.equal {
		a, err := b.dialect.keyArg(b.query, i, value)
		if err != nil {
			return err
		}
		b.where = append(b.where, quoteColumn(b.query.Key[i])+" = "+b.bind(a))
	}
	if err := b.keyBounds(s); err != nil {
		return err
	}
	if s.times {
		fixed := len(s.equal) > 0
		if !s.impliesSince(b.query) {
			if err := b.timeBound(">=", b.query.Since, fixed || s.lower != nil); err != nil {
				return err
			}
		}
		if !s.impliesUntil(b.query) {
			if err := b.timeBound("<", b.query.Until, fixed || s.upper != nil); err != nil {
				return err
			}
		}
	}
	if !s.filters {
		return nil
	}
	for _, f := range b.query.Filters {
		condition, err := b.dialect.filter(b, f)
		if err != nil {
			return err
		}
		b.where = append(b.where, b.dialect.aside(condition))
	}
	return nil
}

func (b *builder) keyBounds(s scope) error {
	for _, side := range []struct {
		op     string
		served *keyBound
		looser []keyBound
	}{{">", s.lower, s.lowest}, {"<", s.upper, s.highest}} {
		if side.served != nil {
			condition, err := b.keyBound(*side.served, side.op, len(s.equal))
			if err != nil {
				return err
			}
			b.where = append(b.where, condition)
		}
		for _, bound := range side.looser {
			condition, err := b.keyBound(bound, side.op, 0)
			if err != nil {
				return err
			}
			b.where = append(b.where, b.dialect.aside(condition))
		}
	}
	return nil
}

// keyBound compares the key columns behind the first skip, which are fixed, with a bound.
func (b *builder) keyBound(bound keyBound, op string, skip int) (string, error) {
	var left, right []string
	for col := skip; col < len(bound.key); col++ {
		a, err := b.dialect.keyArg(b.query, col, bound.key[col])
		if err != nil {
			return "", err
		}
		left = append(left, quoteColumn(b.query.Key[col]))
		right = append(right, b.bind(a))
	}
	if !bound.strict {
		op += "="
	}
	return b.dialect.rowValues(left, right, op), nil
}

// sqlRowValues compares row values as the SQL standard writes it.
func sqlRowValues(left, right []string, op string) string {
	return rowValue(left) + " " + op + " " + rowValue(right)
}

func rowValue(items []string) string {
	if len(items) == 1 {
		return items[0]
	}
	return "(" + strings.Join(items, ", ") + ")"
}

func (b *builder) timeBound(op, canonical string, bounded bool) error {
	if canonical == "" {
		return nil
	}
	condition, err := b.dialect.time(b, op, canonical)
	if err != nil {
		return err
	}
	if bounded {
		condition = b.dialect.aside(condition)
	}
	b.where = append(b.where, condition)
	return nil
}

// checked hides a condition from the choice of an index, so that a scan always starts at the cursor and always ends at
// the range's end instead of at a looser bound on the same column.
func checked(condition string) string { return "(" + condition + ") IS TRUE" }

// quoteTable quotes a relation, schema-qualified where it has a dot. The name has passed validate.
func quoteTable(name string) string {
	schema, table, qualified := strings.Cut(name, ".")
	if !qualified {
		return quote(name)
	}
	return quote(schema) + "." + quote(table)
}

// quoteColumn names a column of the statement's one relation. The qualifier keeps a missing column an error where a
// bare quoted name would be read as a string literal.
func quoteColumn(c row.Column) string { return "t." + quote(c.Source) }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// fields is the select list of q, each source column once, and for every value of a batch row the field it comes from.
func fields(q *row.Query) (list string, index []int) {
	position := map[string]int{}
	var names []string
	for _, columns := range [][]row.Column{q.Columns, q.Key} {
		for _, c := range columns {
			at, known := position[c.Source]
			if !known {
				at = len(names)
				position[c.Source] = at
				names = append(names, quoteColumn(c))
			}
			index = append(index, at)
		}
	}
	return strings.Join(names, ", "), index
}

// keyFields is the select list of the key columns alone.
func keyFields(q *row.Query) string {
	names := make([]string, len(q.Key))
	for i, column := range q.Key {
		names[i] = quoteColumn(column)
	}
	return strings.Join(names, ", ")
}

// validate refuses a query that no statement may be built from.
func validate(q *row.Query) error {
	schema, table, qualified := strings.Cut(q.Table, ".")
	if badName(schema) || qualified && (badName(table) || strings.Contains(table, ".")) {
		return queryInvalid("table name %q isn't of the form table or schema.table", q.Table)
	}
	if len(q.Key) == 0 {
		return queryInvalid("table %s has no key to order its rows by", q.Table)
	}
	if q.Tenant == "" || q.TenantColumn.Source == "" {
		return queryInvalid("a query on table %s names no tenant or no tenant column", q.Table)
	}
	if (q.Since != "" || q.Until != "") && q.TimeColumn.Source == "" {
		return queryInvalid("a query on table %s bounds the business time but names no time column", q.Table)
	}
	if q.Ceiling != nil && len(q.Ceiling) != len(q.Key) {
		return queryInvalid("the ceiling has %d values for the %d key columns of table %s", len(q.Ceiling), len(q.Key), q.Table)
	}
	for _, column := range q.Key {
		if !column.Kind.Orderable() {
			return queryInvalid("key column %s of table %s has kind %s, which has no total order", column.Source, q.Table, column.Kind)
		}
	}
	for _, column := range sources(q) {
		if badName(column.Source) || !column.Kind.Valid() {
			return queryInvalid("column %q of table %s has no usable source name or kind (%q)", column.Source, q.Table, column.Kind)
		}
		if column.Unit != "" && (!column.Kind.Timed() || column.Unit.Digits() == 0 && column.Unit != row.Seconds) {
			return queryInvalid("column %s of table %s has kind %s and unit %q; only timestamp and datetime columns have a unit, and it is "+
				"s, ms or us", column.Source, q.Table, column.Kind, column.Unit)
		}
	}
	return nil
}

// validateKeys refuses bounds that don't fit the query's key.
func validateKeys(q *row.Query, r row.Range, after row.Key) error {
	for _, key := range []row.Key{r.From, r.To, after} {
		if key != nil && len(key) != len(q.Key) {
			return queryInvalid("a range bound or cursor has %d values for the %d key columns of table %s", len(key),
				len(q.Key), q.Table)
		}
	}
	return nil
}

// sources lists every source column that statements of q mention.
func sources(q *row.Query) []row.Column {
	columns := append([]row.Column{q.TenantColumn}, q.Key...)
	columns = append(columns, q.Columns...)
	if q.TimeColumn.Source != "" {
		columns = append(columns, q.TimeColumn)
	}
	for _, f := range q.Filters {
		columns = append(columns, f.Column)
	}
	return columns
}

func badName(name string) bool { return name == "" || strings.ContainsRune(name, 0) }
