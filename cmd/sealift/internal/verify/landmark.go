package verify

import (
	"fmt"
	"slices"
	"time"

	"sealift/shared/format"
	"sealift/shared/format/xlsx"
	"sealift/shared/pipeline"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// landmarks are the rows of a file that the receipt names the keys of, in order.
type landmarks struct {
	columns []keyColumn
	places  []place
	next    int
	row     int64
}

// place is a row that must have a key.
type place struct {
	row int64
	key row.Key
	// name says for people whose key it is.
	name string
}

// keyColumn is a column of the file with the name of a column of the key.
type keyColumn struct {
	name        string
	column, key int
	kind        row.Kind
	wrong       int
	// first is the first difference.
	first string
}

// placesMin is how many places it takes to know a column for the key's.
const placesMin = 4

// newLandmarks finds the rows by the counts of the segments, and the columns by their names. A mask hides a key, and so may
// what a format does to text that it can't hold.
func newLandmarks(snap snapshot.Snapshot, of pipeline.ReceiptFile) *landmarks {
	l := &landmarks{}
	cut := snap.Format.LongText == string(xlsx.LongTruncate) || snap.Format.Unencodable == string(format.Replace)
	for key, name := range snap.Order {
		at := slices.IndexFunc(snap.Columns, func(c snapshot.Column) bool {
			return c.Name == name && c.Mask == "" && !(cut && c.Kind == row.String)
		})
		if at >= 0 {
			l.columns = append(l.columns, keyColumn{name: name, column: at, key: key, kind: snap.Columns[at].Kind})
		}
	}
	rows := int64(0)
	for _, s := range of.Segments {
		if s.Rows > 0 {
			l.places = append(l.places, place{rows, s.Keys.First, "first key of segment " + s.Unit}, place{rows + s.Rows - 1, s.Keys.Last, "last key of segment " + s.Unit})
			rows += s.Rows
		}
	}
	return l
}

// pass looks at the next row.
func (l *landmarks) pass(values [][]byte, null []bool) {
	for ; l.next < len(l.places) && l.places[l.next].row == l.row; l.next++ {
		p := l.places[l.next]
		for i := range l.columns {
			c := &l.columns[i]
			if c.key < len(p.key) && !null[c.column] && sameKey(c.kind, p.key[c.key], string(values[c.column])) {
				continue
			}
			if c.wrong++; c.first == "" {
				c.first = fmt.Sprintf("row %d has %s %q, which is not that of the %s: %s", l.row+1, c.name, values[c.column], p.name, p.key)
			}
		}
	}
	l.row++
}

// check tells what was found. A column may have the name of the key's and be read from another one of the table: then its
// values differ at many places, and nothing is said. A key that was changed differs at one.
func (l *landmarks) check(report *Report) {
	if len(l.places) < placesMin {
		return
	}
	right, wrong := false, ""
	for _, c := range l.columns {
		switch c.wrong {
		case 0:
			right = true
		case 1:
			wrong = c.first
		}
	}
	if right || wrong != "" {
		report.check("keys of the rows", wrong == "", "%s", either(wrong == "", "the rows that segments begin and end with have their keys", wrong))
	}
}

// sameKey reports whether a value of a file is that of a key, which is in UTC and has no guard against formulas.
func sameKey(kind row.Kind, key, value string) bool {
	if key == value {
		return true
	}
	switch kind {
	case row.Timestamp:
		x, errX := time.Parse(time.RFC3339Nano, key)
		y, errY := time.Parse(time.RFC3339Nano, value)
		return errX == nil && errY == nil && x.Equal(y)
	case row.String:
		return value == "'"+key
	case row.Int64, row.Decimal, row.Float64, row.Bool, row.Date, row.DateTime, row.JSON, row.Bytes:
	}
	return false
}
