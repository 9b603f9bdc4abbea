package sqldb

import (
	"bytes"
	"math"
	"strconv"

	sqlite3 "modernc.org/sqlite/lib"

	"sealift/shared/row"
)

// asText renders a value for messages and catalogue reads.
func (v sqliteValue) asText() []byte {
	switch v.class {
	case sqlite3.SQLITE_INTEGER:
		return strconv.AppendInt(nil, v.integer, 10)
	case sqlite3.SQLITE_FLOAT:
		return appendFloat(nil, v.real)
	}
	return v.bytes
}

// size is about what the value adds to a batch.
func (v sqliteValue) size() int {
	switch v.class {
	case sqlite3.SQLITE_INTEGER, sqlite3.SQLITE_FLOAT:
		return 20
	}
	return len(v.bytes)
}

// appendSQLite writes v as canonical text of the column's kind. The rules, since SQLite lets any column hold any class:
//
//	string     TEXT as it is, BLOB as text of unchecked encoding, INTEGER as digits
//	int64      INTEGER
//	decimal    INTEGER, or TEXT in plain notation; REAL isn't exact and is refused
//	float64    REAL, or INTEGER up to 2^53
//	bool       INTEGER 0 and 1, TEXT true and false
//	date       TEXT YYYY-MM-DD
//	timestamp  TEXT YYYY-MM-DD hh:mm:ss (or T), any fraction, then Z, an offset or nothing (UTC); INTEGER in the column's unit
//	datetime   TEXT YYYY-MM-DD hh:mm:ss (or T), any fraction, no zone; INTEGER in the column's unit, as the wall clock of UTC
//	json       TEXT
//	bytes      BLOB or TEXT
//
// Everything else is a fault. NULL is the caller's.
func appendSQLite(dst []byte, v sqliteValue, column row.Column, z *zone) ([]byte, fault) {
	switch column.Kind {
	case row.String:
		switch v.class {
		case sqlite3.SQLITE_TEXT, sqlite3.SQLITE_BLOB:
			return append(dst, v.bytes...), faultNone
		case sqlite3.SQLITE_INTEGER:
			return strconv.AppendInt(dst, v.integer, 10), faultNone
		}
	case row.Int64:
		if v.class == sqlite3.SQLITE_INTEGER {
			return strconv.AppendInt(dst, v.integer, 10), faultNone
		}
	case row.Decimal:
		return appendSQLiteDecimal(dst, v)
	case row.Float64:
		switch v.class {
		case sqlite3.SQLITE_FLOAT:
			return appendFloat(dst, v.real), faultNone
		case sqlite3.SQLITE_INTEGER:
			if v.integer > 1<<53 || v.integer < -1<<53 {
				return dst, faultBig
			}
			return strconv.AppendInt(dst, v.integer, 10), faultNone
		}
	case row.Bool:
		return appendSQLiteBool(dst, v)
	case row.Date:
		if v.class != sqlite3.SQLITE_TEXT {
			return dst, faultClass
		}
		if _, rest, ok := parseDate(v.bytes); !ok || len(rest) != 0 {
			return dst, faultText
		}
		return append(dst, v.bytes...), faultNone
	case row.Timestamp:
		return appendSQLiteInstant(dst, v, column.Unit, z)
	case row.DateTime:
		if v.class == sqlite3.SQLITE_INTEGER {
			return appendCounted(dst, v.integer, column.Unit, nil)
		}
		if v.class != sqlite3.SQLITE_TEXT {
			return dst, faultClass
		}
		c, _, rest, ok := parseCivil(v.bytes)
		if !ok || len(rest) != 0 {
			return dst, faultText
		}
		return c.append(dst, 'T'), faultNone
	case row.JSON:
		if v.class == sqlite3.SQLITE_TEXT {
			return append(dst, v.bytes...), faultNone
		}
	case row.Bytes:
		if v.class == sqlite3.SQLITE_BLOB || v.class == sqlite3.SQLITE_TEXT {
			return append(dst, v.bytes...), faultNone
		}
	}
	return dst, faultClass
}

func appendSQLiteDecimal(dst []byte, v sqliteValue) ([]byte, fault) {
	switch v.class {
	case sqlite3.SQLITE_INTEGER:
		return strconv.AppendInt(dst, v.integer, 10), faultNone
	case sqlite3.SQLITE_FLOAT:
		return dst, faultReal
	case sqlite3.SQLITE_TEXT:
		if !plainDecimal(v.bytes) {
			return dst, faultText
		}
		return append(dst, v.bytes...), faultNone
	}
	return dst, faultClass
}

func appendSQLiteBool(dst []byte, v sqliteValue) ([]byte, fault) {
	switch v.class {
	case sqlite3.SQLITE_INTEGER:
		switch v.integer {
		case 0:
			return append(dst, "false"...), faultNone
		case 1:
			return append(dst, "true"...), faultNone
		}
	case sqlite3.SQLITE_TEXT:
		if string(v.bytes) == "true" || string(v.bytes) == "false" {
			return append(dst, v.bytes...), faultNone
		}
		return dst, faultText
	}
	return dst, faultClass
}

func appendSQLiteInstant(dst []byte, v sqliteValue, unit row.Unit, z *zone) ([]byte, fault) {
	switch v.class {
	case sqlite3.SQLITE_INTEGER:
		return appendCounted(dst, v.integer, unit, z)
	case sqlite3.SQLITE_TEXT:
		c, _, rest, ok := parseCivil(v.bytes)
		if !ok {
			return dst, faultText
		}
		offset, ok := parseOffset(rest)
		if !ok {
			return dst, faultText
		}
		if out, ok := z.append(dst, c.unix()-int64(offset), c.fraction); ok {
			return out, faultNone
		}
		return dst, faultYear
	}
	return dst, faultClass
}

// appendCounted writes the time that is n units after 1970 with the unit's own precision: as an instant in the zone, or
// as the wall clock of UTC where z is nil. A number without a unit could be any time.
func appendCounted(dst []byte, n int64, unit row.Unit, z *zone) ([]byte, fault) {
	if unit == "" {
		return dst, faultUnit
	}
	per := perSecond(unit)
	seconds := floorDiv(n, per)
	if seconds < -1<<40 || seconds > 1<<40 {
		return dst, faultYear
	}
	var room [6]byte
	fraction := room[:unit.Digits()]
	rest := n - seconds*per
	for i := len(fraction) - 1; i >= 0; i-- {
		fraction[i] = byte('0' + rest%10)
		rest /= 10
	}
	if z != nil {
		if out, ok := z.append(dst, seconds, fraction); ok {
			return out, faultNone
		}
		return dst, faultYear
	}
	c := civilOf(seconds)
	if c.year < 1 || c.year > 9999 {
		return dst, faultYear
	}
	c.fraction = fraction
	return c.append(dst, 'T'), faultNone
}

// appendFloat writes the shortest text that reads back to v, with an exponent below 1e-4 and from 1e15 on, as
// PostgreSQL does.
func appendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	if magnitude := math.Abs(v); magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e15) {
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

// plainDecimal reports whether text is an optional minus sign, digits, and optionally a dot and digits.
func plainDecimal(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	whole, fraction, dotted := bytes.Cut(text, []byte("."))
	return allDigits(whole) && (!dotted || allDigits(fraction))
}

func allDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}
