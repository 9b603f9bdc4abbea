package sqldb

import (
	"bytes"
	"cmp"
	"strconv"

	"sealift/shared/row"
)

// A condition costs a database something for every row. This file leaves out those that the bounds of an index scan
// imply: a cursor lies behind its range's start, a range's end below the ceiling, and both inside the period, as a rule.
// That is proven here for each statement, for kinds whose order is the same everywhere; a condition whose implication
// can't be proven stays.

// order compares two canonical values of a column as every database does; known is false where that is the database's own
// affair, as for text under a collation.
func order(kind row.Kind, a, b string) (c int, known bool) {
	if a == b {
		return 0, true
	}
	switch kind {
	case row.Int64:
		x, errX := strconv.ParseInt(a, 10, 64)
		y, errY := strconv.ParseInt(b, 10, 64)
		return cmp.Compare(x, y), errX == nil && errY == nil
	case row.Timestamp, row.DateTime:
		x, okX := parseInstant(a)
		y, okY := parseInstant(b)
		if x.unix != y.unix {
			return cmp.Compare(x.unix, y.unix), okX && okY
		}
		return bytes.Compare(bytes.TrimRight(x.fraction, "0"), bytes.TrimRight(y.fraction, "0")), okX && okY
	case row.Date:
		x, restX, okX := parseDate([]byte(a))
		y, restY, okY := parseDate([]byte(b))
		return cmp.Compare(x.unix(), y.unix()), okX && okY && len(restX)+len(restY) == 0
	case row.String, row.Decimal, row.Float64, row.Bool, row.JSON, row.Bytes:
	}
	return 0, false
}

// orderKeys compares two whole keys.
func orderKeys(q *row.Query, a, b row.Key) (c int, known bool) {
	for i := range min(len(a), len(b)) {
		if c, known = order(q.Key[i].Kind, a[i], b[i]); !known || c != 0 {
			return c, known
		}
	}
	return 0, len(a) == len(b)
}

// behind reports whether key a surely isn't below key b.
func behind(q *row.Query, a, b row.Key) bool {
	c, known := orderKeys(q, a, b)
	return known && c >= 0
}

// impliesSince and impliesUntil report whether the scope's key bounds surely lie inside the business time's. Columns that
// are fixed come before those that are bounded.
func (s scope) impliesSince(q *row.Query) bool {
	first, ok := s.leading(q, s.lower)
	if !ok {
		return false
	}
	c, known := order(q.Key[0].Kind, first, q.Since)
	return known && c >= 0
}

func (s scope) impliesUntil(q *row.Query) bool {
	first, ok := s.leading(q, s.upper)
	if !ok {
		return false
	}
	c, known := order(q.Key[0].Kind, first, q.Until)
	return known && c < 0
}

// leading is the time that the key's first column is fixed at or bounded by.
func (s scope) leading(q *row.Query, bound *keyBound) (first string, ok bool) {
	switch {
	case !timeLeads(q):
		return "", false
	case len(s.equal) > 0:
		return s.equal[0], true
	case bound != nil && len(bound.key) > 0:
		return bound.key[0], true
	}
	return "", false
}
