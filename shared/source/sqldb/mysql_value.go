package sqldb

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"sealift/shared/row"
)

// appendMySQL writes a value that the server sent as text as canonical text of kind. The session fixes the server's
// spelling: UTC and UTF-8; a number that it would round is asked for as the DOUBLE of the same value. NULL is the caller's. The rules that
// follow no other database's:
//
//	date, datetime, timestamp   a zero date, whole or in part, is a fault: NULL would be another value
//	int64                       an unsigned number beyond 2^63-1 is a fault; a decimal carries all of them
//	bool                        0 and 1 of a TINYINT or BIT(1), other numbers are a fault
//	string                      BIT as its digits, TIME as it is (-838:59:59 to 838:59:59), zeros in front as declared
//	json                        a text that isn't a document is a fault
func appendMySQL(dst, text []byte, kind row.Kind, t mysqlType, z *zone) ([]byte, fault) {
	switch kind {
	case row.String:
		if t.class == classBit {
			return appendBits(dst, text, t.bits), faultNone
		}
		return append(dst, text...), faultNone
	case row.Bytes:
		return append(dst, text...), faultNone
	case row.JSON:
		if t.class != classJSON && !json.Valid(text) {
			return dst, faultText
		}
		return append(dst, text...), faultNone
	case row.Int64, row.Decimal:
		return appendMySQLNumber(dst, text, kind, t)
	case row.Float64:
		return appendMySQLFloat(dst, text, t)
	case row.Bool:
		return appendMySQLBool(dst, t.trimmed(text))
	case row.Date, row.DateTime, row.Timestamp:
		return appendMySQLTime(dst, text, kind, z)
	}
	return dst, faultClass
}

func appendMySQLNumber(dst, text []byte, kind row.Kind, t mysqlType) ([]byte, fault) {
	if t.class == classBit {
		n := bitsOf(text)
		if kind == row.Int64 && n > 1<<63-1 {
			return dst, faultUnsigned
		}
		return strconv.AppendUint(dst, n, 10), faultNone
	}
	text = t.trimmed(text)
	// The longest texts that always fit have 18 digits.
	if kind == row.Int64 && len(text) > 18 {
		if _, err := strconv.ParseInt(string(text), 10, 64); err != nil {
			return dst, faultUnsigned
		}
	}
	return append(dst, text...), faultNone
}

// trimmed is a number without the zeros that its declaration puts in front.
func (t mysqlType) trimmed(text []byte) []byte {
	if !t.zeros && t.class != classYear {
		return text
	}
	for len(text) > 1 && text[0] == '0' && text[1] != '.' {
		text = text[1:]
	}
	return text
}

func appendMySQLFloat(dst, text []byte, t mysqlType) ([]byte, fault) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return dst, faultText
	}
	if t.class != classFloat || float64(float32(v)) != v {
		return appendFloat(dst, v), faultNone
	}
	format := byte('f')
	if magnitude := math.Abs(v); magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e15) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, 32), faultNone
}

func appendMySQLBool(dst, text []byte) ([]byte, fault) {
	if len(text) == 1 {
		switch text[0] {
		case '1', 1:
			return append(dst, "true"...), faultNone
		case '0', 0:
			return append(dst, "false"...), faultNone
		}
	}
	return dst, faultText
}

func appendMySQLTime(dst, text []byte, kind row.Kind, z *zone) ([]byte, fault) {
	if kind == row.Date {
		if _, rest, ok := parseDate(text); !ok || len(rest) != 0 {
			return dst, faultZeroDate
		}
		return append(dst, text...), faultNone
	}
	c, _, rest, ok := parseCivil(text)
	if !ok || len(rest) != 0 {
		return dst, faultZeroDate
	}
	// A column writes as many digits as it declares; like PostgreSQL's, those that say nothing are left out.
	c.fraction = bytes.TrimRight(c.fraction, "0")
	if kind == row.DateTime {
		return c.append(dst, 'T'), faultNone
	}
	if out, ok := z.append(dst, c.unix(), c.fraction); ok {
		return out, faultNone
	}
	return dst, faultYear
}

// bitsOf is the number of a BIT value, at most eight bytes with the highest first.
func bitsOf(text []byte) (n uint64) {
	for _, b := range text {
		n = n<<8 | uint64(b)
	}
	return n
}

// appendBits writes the last bits of a BIT value, the highest first.
func appendBits(dst, text []byte, bits int) []byte {
	n := bitsOf(text)
	for i := bits - 1; i >= 0; i-- {
		dst = append(dst, '0'+byte(n>>i&1))
	}
	return dst
}
