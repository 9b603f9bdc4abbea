package sqldb

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/row"
)

// chooseTree finds the index on (tenant, key…) that holds most of the key; nil when there is none that this package
// can compare the entries of.
func (s *sqliteSource) chooseTree(ctx context.Context, q *row.Query) (*btree, error) {
	encoding, err := s.conn.row(ctx, statement{text: "PRAGMA encoding"})
	if err != nil || encoding != "UTF-8" {
		return nil, err
	}
	schema, name := sqliteName(q.Table)
	if !strings.EqualFold(schema, "main") {
		return nil, nil
	}
	table, err := s.describe(ctx, q)
	if err != nil {
		return nil, err
	}
	var best *btree
	bestName := ""
	for _, index := range table.indexes {
		if prefix := index.serves(q); !index.partial && prefix > 0 && (best == nil || prefix > best.prefix) {
			best, bestName = &btree{prefix: prefix}, index.name
		}
	}
	if best == nil {
		return nil, nil
	}
	// The primary key of a table WITHOUT ROWID has no entry of its own: its tree is the table's.
	err = s.conn.rows(ctx, statement{
		text: "SELECT rootpage FROM sqlite_schema WHERE name IN (?1, ?2) COLLATE NOCASE ORDER BY name = ?1 COLLATE NOCASE DESC",
		args: []arg{{text: bestName}, {text: name}},
	}, func(st *sqliteStmt) (bool, error) {
		best.root = st.value(0).integer
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	first, err := s.page(ctx, 1)
	if err != nil {
		return nil, err
	}
	best.usable = len(first.data) - int(first.data[20])
	return best, nil
}

// separatorKey decodes the key columns of an entry; nil when it belongs to another tenant or can't be decoded here.
func (s *sqliteSource) separatorKey(q *row.Query, tree *btree, entry []byte) row.Key {
	values := record(entry, tree.prefix+1)
	if len(values) <= tree.prefix || compareStored(values[0], q.Tenant) != 0 {
		return nil
	}
	key := make(row.Key, 0, tree.prefix)
	for i, v := range values[1:] {
		text, wrong := s.forms[i].appendKey(s.scratch[:0], v, q.Key[i], utcZone())
		if wrong != faultNone {
			return nil
		}
		s.scratch = text
		key = append(key, string(text))
	}
	return key
}

// compareTenant orders an entry's tenant against the query's.
func (t *btree) compareTenant(q *row.Query, entry []byte) int {
	values := record(entry, 1)
	if len(values) == 0 {
		return 0
	}
	return compareStored(values[0], q.Tenant)
}

// compareStored orders a stored value against text as an index does: NULL, numbers, text, blobs.
func compareStored(v sqliteValue, text string) int {
	switch v.class {
	case sqlite3.SQLITE_TEXT:
		return bytes.Compare(v.bytes, []byte(text))
	case sqlite3.SQLITE_INTEGER:
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil || v.integer < n:
			return -1
		case v.integer > n:
			return 1
		}
		return 0
	case sqlite3.SQLITE_BLOB:
		return 1
	}
	return -1
}

// record decodes the first count values of a record, fewer when the rest lies on an overflow page.
func record(payload []byte, count int) []sqliteValue {
	headerBytes, n := varint(payload)
	if n == 0 || headerBytes < uint64(n) || headerBytes > uint64(len(payload)) {
		return nil
	}
	types, body := payload[n:headerBytes], payload[headerBytes:]
	values := make([]sqliteValue, 0, count)
	for len(values) < count && len(types) > 0 {
		serial, n := varint(types)
		if n == 0 {
			return values
		}
		types = types[n:]
		v, length, ok := serialValue(serial, body)
		if !ok {
			return values
		}
		values, body = append(values, v), body[length:]
	}
	return values
}

func serialValue(serial uint64, body []byte) (v sqliteValue, length int, ok bool) {
	switch {
	case serial == 0:
		return sqliteValue{class: sqlite3.SQLITE_NULL}, 0, true
	case serial <= 6:
		length = [...]int{0, 1, 2, 3, 4, 6, 8}[serial]
		if length > len(body) {
			return v, 0, false
		}
		n := int64(int8(body[0]))
		for _, c := range body[1:length] {
			n = n<<8 | int64(c)
		}
		return sqliteValue{class: sqlite3.SQLITE_INTEGER, integer: n}, length, true
	case serial == 7:
		if len(body) < 8 {
			return v, 0, false
		}
		real := math.Float64frombits(binary.BigEndian.Uint64(body))
		return sqliteValue{class: sqlite3.SQLITE_FLOAT, real: real}, 8, true
	case serial == 8 || serial == 9:
		return sqliteValue{class: sqlite3.SQLITE_INTEGER, integer: int64(serial - 8)}, 0, true
	case serial < 12 || (serial-12)/2 > uint64(len(body)):
		return v, 0, false
	}
	length = int((serial - 12) / 2)
	v = sqliteValue{class: sqlite3.SQLITE_BLOB, bytes: body[:length]}
	if serial%2 == 1 {
		v.class = sqlite3.SQLITE_TEXT
	}
	return v, length, true
}
