package sqldb

import (
	"bytes"
	"slices"

	"sealift/shared/job"
	"sealift/shared/row"
)

// A cursor is right only where a database sorts as it compares. That is a database's promise, and this file holds it to the
// promise where a key's order is the same everywhere: a row that isn't above its predecessor, or isn't in the range that was
// asked for, ends the export, because others would be missing or double without a sign.

// keyOrder is how the values of a key column are ordered.
type keyOrder uint8

const (
	// orderUnknown is a database's own affair, as a collation's.
	orderUnknown keyOrder = iota
	// orderBytes is that of days, and of UTF-8 that is compared byte by byte.
	orderBytes
	// orderPadded is that of UTF-8 that is compared byte by byte as if blanks without end were behind it.
	orderPadded
	// orderWhole is that of whole numbers without zeros in front, orderNumber that of decimals.
	orderWhole
	orderNumber
	// orderTime is that of instants in UTC and of wall clocks.
	orderTime
)

// orderOf is the order that values of a kind have in every database.
func orderOf(kind row.Kind) keyOrder {
	switch kind {
	case row.Int64:
		return orderWhole
	case row.Decimal:
		return orderNumber
	case row.Date:
		return orderBytes
	case row.Timestamp, row.DateTime:
		return orderTime
	case row.String, row.Float64, row.Bool, row.JSON, row.Bytes:
	}
	return orderUnknown
}

// compare compares two canonical texts that aren't the same; 0 says that nothing is known of them.
func (o keyOrder) compare(a, b []byte) int {
	switch o {
	case orderBytes:
		return bytes.Compare(a, b)
	case orderPadded:
		return comparePadded(a, b)
	case orderWhole:
		return compareWhole(a, b)
	case orderNumber:
		return compareNumbers(a, b)
	case orderTime:
		if len(a) == len(b) {
			return bytes.Compare(a, b)
		}
		return compareTimes(a, b)
	case orderUnknown:
	}
	return 0
}

func comparePadded(a, b []byte) int {
	n := min(len(a), len(b))
	if c := bytes.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	for _, c := range a[n:] {
		if c != ' ' {
			return int(c) - ' '
		}
	}
	for _, c := range b[n:] {
		if c != ' ' {
			return ' ' - int(c)
		}
	}
	return 0
}

func compareWhole(a, b []byte) int {
	negative := len(a) > 0 && a[0] == '-'
	if other := len(b) > 0 && b[0] == '-'; negative != other {
		if negative {
			return -1
		}
		return 1
	}
	if negative {
		a, b = b, a
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

// compareNumbers compares plain digits with an optional minus sign and dot.
func compareNumbers(a, b []byte) int {
	negative := len(a) > 0 && a[0] == '-'
	if other := len(b) > 0 && b[0] == '-'; negative != other {
		if len(bytes.Trim(a, "-0.")) == 0 && len(bytes.Trim(b, "-0.")) == 0 {
			return 0
		}
		if negative {
			return -1
		}
		return 1
	}
	if negative {
		a, b = b[1:], a[1:]
	}
	a, b = bytes.TrimLeft(a, "0"), bytes.TrimLeft(b, "0")
	dotA, dotB := dotOf(a), dotOf(b)
	if dotA != dotB {
		return dotA - dotB
	}
	if c := bytes.Compare(a[:dotA], b[:dotB]); c != 0 {
		return c
	}
	return compareFractions(a[dotA:], b[dotB:])
}

// dotOf is how many digits stand before the dot.
func dotOf(number []byte) int {
	if at := bytes.IndexByte(number, '.'); at >= 0 {
		return at
	}
	return len(number)
}

// compareTimes compares times with or without Z and a fraction.
func compareTimes(a, b []byte) int {
	a, b = bytes.TrimSuffix(a, []byte("Z")), bytes.TrimSuffix(b, []byte("Z"))
	n := min(len(a), len(b), len("2006-01-02T15:04:05"))
	if c := bytes.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	return compareFractions(a[n:], b[n:])
}

// compareFractions compares what stands from a dot on; zeros at its end say nothing.
func compareFractions(a, b []byte) int {
	return bytes.Compare(bytes.TrimRight(a, "0."), bytes.TrimRight(b, "0."))
}

// sequence judges the order of a batch's rows.
type sequence struct {
	query  *row.Query
	orders []keyOrder
}

// newSequence knows the orders that are those of the kinds.
func newSequence(q *row.Query) sequence {
	s := sequence{query: q, orders: make([]keyOrder, len(q.Key))}
	for k, column := range q.Key {
		s.orders[k] = orderOf(column.Kind)
	}
	return s
}

// key is value k of a row's key.
func (s *sequence) key(b *row.Batch, at, k int) []byte {
	value, _ := b.Value(at, len(s.query.Columns)+k)
	return value
}

// next refuses row at of the batch when it has its predecessor's key or, where that can be told, belongs before it.
func (s *sequence) next(b *row.Batch, at int) error {
	if at == 0 {
		return nil
	}
	for k, order := range s.orders {
		before, current := s.key(b, at-1, k), s.key(b, at, k)
		if bytes.Equal(before, current) {
			continue
		}
		if order.compare(before, current) > 0 {
			return s.disordered(b.Key(at, len(s.orders)), "comes behind the row with key "+b.Key(at-1, len(s.orders)).String())
		}
		return nil
	}
	return keyNotUnique(s.query, b.Key(at, len(s.orders)))
}

// ahead judges value k of the key of the row behind a full batch, which place names. While same, those that follow tell more.
func (s *sequence) ahead(b *row.Batch, last, k int, value []byte, place func() string) (same bool, err error) {
	before := s.key(b, last, k)
	if bytes.Equal(before, value) {
		return true, nil
	}
	if s.orders[k].compare(before, value) > 0 {
		return false, s.misplaced(place() + " comes behind the row with key " + b.Key(last, len(s.orders)).String())
	}
	return false, nil
}

// compare compares a row's key with another; 0 says that they are the same or that nothing is known of them.
func (s *sequence) compare(b *row.Batch, at int, key row.Key) int {
	for k, order := range s.orders[:min(len(s.orders), len(key))] {
		if value := s.key(b, at, k); string(value) != key[k] {
			return order.compare(value, []byte(key[k]))
		}
	}
	return 0
}

// inside refuses a batch whose rows aren't those of the range behind the cursor. They are in order, so the first and the last
// tell it of all.
func (s *sequence) inside(b *row.Batch, r row.Range, after row.Key) error {
	rows := b.Rows()
	if rows == 0 {
		return nil
	}
	first, last := b.Key(0, len(s.orders)), b.Key(rows-1, len(s.orders))
	switch {
	case r.From != nil && s.compare(b, 0, r.From) < 0:
		return s.disordered(first, "lies before the range's first key "+r.From.String())
	case after != nil && s.compare(b, 0, after) < 0:
		return s.disordered(first, "lies before the key that was read last, "+after.String())
	case after != nil && slices.Equal(first, after):
		return keyNotUnique(s.query, after)
	case r.To != nil && (s.compare(b, rows-1, r.To) > 0 || slices.Equal(last, r.To)):
		return s.disordered(last, "lies behind the range's end "+r.To.String())
	case s.query.Ceiling != nil && s.compare(b, rows-1, s.query.Ceiling) > 0:
		return s.disordered(last, "lies behind the highest key of the plan, "+s.query.Ceiling.String())
	}
	return nil
}

// disordered refuses a row in the wrong place.
func (s *sequence) disordered(key row.Key, where string) error {
	return s.misplaced(placeAt(key) + " " + where)
}

func (s *sequence) misplaced(what string) error {
	return job.Errorf(job.Permanent, codeKeyCollation, "table %s: %s; the database sorts %s otherwise than it compares, so rows would be missing or "+
		"double: rebuild the key's index where there is one, or choose another key in the definition", s.query.Table, what, keyNames(s.query))
}
