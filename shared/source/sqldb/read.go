package sqldb

import (
	"sealift/shared/row"
	"sealift/shared/source"
)

// checkRead refuses arguments that no statement may be built from.
func checkRead(q *row.Query, r row.Range, after row.Key, limit source.Limit) error {
	if err := validate(q); err != nil {
		return err
	}
	if limit.Rows < 1 || limit.Bytes < 1 {
		return queryInvalid("a read of table %s is limited to %d rows and %d bytes", q.Table, limit.Rows, limit.Bytes)
	}
	return validateKeys(q, r, after)
}

// growth is the most bytes by which a row's values become longer as canonical text: times that are sent as numbers, a
// zone's offset, a spelled-out bool.
func growth(q *row.Query) int {
	bytes := 0
	for _, columns := range [][]row.Column{q.Columns, q.Key} {
		for _, column := range columns {
			switch column.Kind {
			case row.Timestamp, row.DateTime, row.Date:
				bytes += len("2006-01-02T15:04:05.000000+00:00") - dateBytes
			case row.Bool:
				bytes += len("false")
			case row.String, row.JSON, row.Bytes, row.Int64, row.Decimal, row.Float64:
			}
		}
	}
	return bytes
}

// rowTooLong stops a row on its way that is too long to be held. values are those of its fields that are short, nil for others;
// there are none where the row isn't looked through.
type rowTooLong struct {
	bytes  int
	values [][]byte
}

func (rowTooLong) Error() string { return "a row is too long" }

// unread stands for a value that can't be read in a key that names a row.
const unread = "?"

// rowPlace names a row by its number in the table, where it has one, and by its key.
type rowPlace struct {
	rowid string
	key   row.Key
}

func (p rowPlace) String() string {
	if p.rowid == "" {
		return placeAt(p.key)
	}
	return "the row with rowid " + p.rowid + " and key " + p.key.String()
}

// placeAt names a row by its key, placeAfter by the part of a key that could be read.
func placeAt(key row.Key) string { return "the row with key " + key.String() }

func placeAfter(key row.Key) string {
	if len(key) == 0 {
		return "a row whose key can't be read"
	}
	return "a row whose key begins with " + key.String()
}

// placeBehind names a row that couldn't be looked at by what was read before it, or by where the read begins.
func placeBehind(q *row.Query, before, from row.Key) string {
	switch {
	case before != nil:
		return "the row behind the one with key " + before.String() + " of table " + q.Table
	case from != nil:
		return "the first row of table " + q.Table + " from key " + from.String() + " on"
	}
	return "the tenant's first row of table " + q.Table
}
