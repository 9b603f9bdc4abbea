package sqldb

import (
	"slices"
	"strconv"

	"sealift/shared/row"
)

// The dialect of SQLite.

// pieces divides a scope whose key ends with the row's own number. SQLite doesn't recognise that column in a comparison
// of row values and would walk through all rows that share the other key columns with a bound; so these are fixed for
// both ends of the range, and the rows between compare without the number. The pieces follow each other in key order.
func (s *sqliteSource) pieces(q *row.Query, whole scope) []scope {
	prefix := len(q.Key) - 1
	full := func(bound *keyBound) bool { return bound != nil && len(bound.key) == len(q.Key) }
	if !s.numbered || len(whole.equal) > 0 || !full(whole.lower) && !full(whole.upper) {
		return []scope{whole}
	}
	if full(whole.lower) && full(whole.upper) && slices.Equal(whole.lower.key[:prefix], whole.upper.key[:prefix]) {
		whole.equal = whole.lower.key[:prefix]
		return []scope{whole}
	}
	start, middle, end := whole, whole, whole
	var pieces []scope
	if full(whole.lower) {
		start.equal, start.upper = whole.lower.key[:prefix], nil
		middle.lower = &keyBound{key: whole.lower.key[:prefix], strict: true}
		pieces = append(pieces, start)
	}
	if full(whole.upper) {
		end.equal, end.lower = whole.upper.key[:prefix], nil
		middle.upper = &keyBound{key: whole.upper.key[:prefix], strict: true}
		return append(pieces, middle, end)
	}
	return append(pieces, middle)
}

func (s *sqliteSource) marker(n int) string { return "?" + strconv.Itoa(n) }

func (s *sqliteSource) hint() string { return "" }

func (s *sqliteSource) aside(condition string) string { return checked(condition) }

func (s *sqliteSource) rowValues(left, right []string, op string) string {
	return sqlRowValues(left, right, op)
}

// tenant compares twice: as stored, which an index serves, and bytewise, because a column with a case-blind collation
// or a numeric affinity would let other spellings of the tenant through.
func (s *sqliteSource) tenant(b *builder) (string, error) {
	column := quoteColumn(b.query.TenantColumn)
	value := b.bind(arg{text: b.query.Tenant})
	return column + " = " + value + " AND CAST(" + column + " AS TEXT) = " + value + " COLLATE BINARY", nil
}

func (s *sqliteSource) keyArg(q *row.Query, i int, canonical string) (arg, error) {
	return s.forms[i].arg(q.Key[i], canonical)
}

// time compares the stored text itself when the time column leads the key, so that an index serves it; elsewhere the
// column's form isn't known and the sorting form decides.
func (s *sqliteSource) time(b *builder, op, canonical string) (string, error) {
	column := b.query.TimeColumn
	f := row.Filter{Column: column, Op: row.Less, Values: []string{canonical}}
	if op == ">=" {
		f.Op = row.GreaterEqual
	}
	if !timeLeads(b.query) || !s.forms[0].known {
		return s.filter(b, f)
	}
	if err := checkValue(f, canonical); err != nil {
		return "", err
	}
	if column.Kind == row.Date {
		return quoteColumn(column) + " " + op + " " + b.bind(arg{text: canonical}), nil
	}
	at, _ := parseInstant(canonical)
	return s.forms[0].timeCondition(b, column, op, at), nil
}

// filter compares values, not what happens to be stored: where another class of value stands in the column, the
// sorting form ends the statement, because SQLite would order it below or above every value of the kind and so drop the
// row in silence.
func (s *sqliteSource) filter(b *builder, f row.Filter) (string, error) {
	name := quoteColumn(f.Column)
	left := name
	switch f.Column.Kind {
	case row.String:
		// Bytes are text in UTF-8, as the file shows them; a cast takes them for text in the database's encoding.
		left = "CASE typeof(" + name + ") WHEN 'blob' THEN " + s.orderExpression(b.query, f.Column) +
			" ELSE CAST(" + name + " AS TEXT) END COLLATE BINARY"
		if ordered(f.Op) {
			left = "CASE typeof(" + name + ") WHEN 'text' THEN " + name + " ELSE " + s.orderExpression(b.query, f.Column) + " END COLLATE BINARY"
		}
	case row.Bytes:
		left = "CAST(" + name + " AS BLOB)"
	case row.Bool:
		left = "CASE " + name + " WHEN 1 THEN 1 WHEN 'true' THEN 1 WHEN 0 THEN 0 WHEN 'false' THEN 0 ELSE " +
			s.orderExpression(b.query, f.Column) + " END"
	case row.Int64:
		left = "CASE typeof(" + name + ") WHEN 'integer' THEN " + name + " ELSE " + s.orderExpression(b.query, f.Column) + " END"
	case row.Float64:
		left = "CASE WHEN typeof(" + name + ") IN ('real', 'integer') THEN " + name + " ELSE " +
			s.orderExpression(b.query, f.Column) + " END"
	case row.Decimal, row.Timestamp, row.DateTime, row.Date:
		left = s.orderExpression(b.query, f.Column)
	case row.JSON:
	}
	return compare(f, left, func(value string) (string, error) {
		if err := checkValue(f, value); err != nil {
			return "", err
		}
		return b.bind(sqliteFilterArg(f.Column.Kind, value)), nil
	})
}

// sqliteFilterArg turns a checked filter value into a parameter.
func sqliteFilterArg(kind row.Kind, value string) arg {
	switch kind {
	case row.Int64:
		n, _ := strconv.ParseInt(value, 10, 64)
		return arg{kind: argInteger, integer: n}
	case row.Float64:
		v, _ := strconv.ParseFloat(value, 64)
		return arg{kind: argReal, real: v}
	case row.Bool:
		if value == "true" {
			return arg{kind: argInteger, integer: 1}
		}
		return arg{kind: argInteger}
	case row.Bytes:
		return arg{kind: argBytes, text: value}
	case row.Decimal, row.Timestamp, row.DateTime:
		return arg{text: string(sortingText(value, kind))}
	case row.String, row.Date, row.JSON:
	}
	return arg{text: value}
}
