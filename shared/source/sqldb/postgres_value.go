package sqldb

import (
	"bytes"
	"strings"

	"sealift/shared/row"
)

// appendPostgres writes a value that the server sent as text (bytes: binary) as canonical text of kind. The session's
// settings fix the server's spelling: UTC, ISO dates, shortest floats. NULL is the caller's.
func appendPostgres(dst, text []byte, kind row.Kind, z *zone) ([]byte, fault) {
	switch kind {
	case row.String, row.JSON, row.Bytes, row.Int64, row.Float64:
		return append(dst, text...), faultNone
	case row.Decimal:
		if last := text[len(text)-1]; last < '0' || last > '9' {
			return dst, faultNotFinite
		}
		return append(dst, text...), faultNone
	case row.Bool:
		if text[0] == 't' {
			return append(dst, "true"...), faultNone
		}
		return append(dst, "false"...), faultNone
	case row.Date:
		if _, rest, ok := parseDate(text); !ok || len(rest) != 0 {
			return dst, faultYear
		}
		return append(dst, text...), faultNone
	case row.DateTime:
		c, _, rest, ok := parseCivil(text)
		if !ok || len(rest) != 0 {
			return dst, faultYear
		}
		return c.append(dst, 'T'), faultNone
	case row.Timestamp:
		c, _, rest, ok := parseCivil(text)
		if !ok {
			return dst, faultYear
		}
		offset, ok := parseOffset(rest)
		if !ok {
			return dst, faultYear
		}
		if out, ok := z.append(dst, c.unix()-int64(offset), c.fraction); ok {
			return out, faultNone
		}
		return dst, faultYear
	}
	return dst, faultClass
}

// postgresType is a base type of the server.
type postgresType struct {
	oid      uint32
	name     string
	category byte // pg_type.typcategory: S string, E enum, A array, R range, G geometry, ...
}

// String is the type's name.
func (t postgresType) String() string { return t.name }

// The types' object ids, which PostgreSQL never changes.
const (
	oidBool        = 16
	oidBytea       = 17
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidJSON        = 114
	oidXML         = 142
	oidMoney       = 790
	oidInterval    = 1186
	oidFloat4      = 700
	oidFloat8      = 701
	oidCIDR        = 650
	oidMACAddr8    = 774
	oidMACAddr     = 829
	oidInet        = 869
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTime        = 1083
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidTimetz      = 1266
	oidBit         = 1560
	oidVarbit      = 1562
	oidNumeric     = 1700
	oidUUID        = 2950
	oidJSONB       = 3802
)

// gives reports whether the type's text is exact for kind. What no other kind fits is given as a string: arrays, ranges,
// geometry and intervals in the server's spelling, which the session fixes, money in the database's own lc_monetary, and a
// numeric with NaN and Infinity. timestamp without zone names no instant.
func (t postgresType) gives(kind row.Kind) bool {
	switch kind {
	case row.String:
		switch t.oid {
		case oidText, oidVarchar, oidBpchar, oidInt2, oidInt4, oidInt8, oidJSON, oidJSONB, oidXML, oidCIDR, oidInet, oidMACAddr, oidMACAddr8, oidTime,
			oidTimetz, oidBit, oidVarbit, oidUUID:
			return true
		}
		return t.category == 'S' || t.category == 'E' || t.spelled()
	case row.Int64:
		return t.oid == oidInt2 || t.oid == oidInt4 || t.oid == oidInt8
	case row.Decimal:
		return t.oid == oidNumeric || t.oid == oidInt2 || t.oid == oidInt4 || t.oid == oidInt8
	case row.Float64:
		return t.oid == oidFloat4 || t.oid == oidFloat8
	case row.Bool:
		return t.oid == oidBool
	case row.Date:
		return t.oid == oidDate
	case row.Timestamp:
		return t.oid == oidTimestamptz
	case row.DateTime:
		return t.oid == oidTimestamp
	case row.JSON:
		return t.oid == oidJSON || t.oid == oidJSONB
	case row.Bytes:
		return t.oid == oidBytea
	}
	return false
}

// shown is the SQL of a value's text as the server sends it, in the collation of the column. A cast to text is that as a rule;
// but it takes the blanks at the end from a char(n), gives an inet a mask that says nothing, and keeps an xml's encoding.
func (t postgresType) shown(column string) string {
	switch t.oid {
	case oidBpchar:
		return "(" + column + "::text || repeat(' ', octet_length(" + column + ") - octet_length(" + column + "::text)))"
	case oidInet:
		return "textin(inet_out(" + column + "))"
	case oidXML:
		return "textin(xml_out(" + column + "))"
	}
	return column + "::text"
}

// small reports whether the type reads letters of either case and writes small ones.
func (t postgresType) small() bool {
	switch t.oid {
	case oidUUID, oidInet, oidCIDR, oidMACAddr, oidMACAddr8:
		return true
	}
	return false
}

// ownName is what SQL calls a type that every database has, "" for others.
func ownName(oid uint32) string {
	switch oid {
	case oidBool:
		return "boolean"
	case oidBytea:
		return "bytea"
	case oidInt2:
		return "smallint"
	case oidInt4:
		return "integer"
	case oidInt8:
		return "bigint"
	case oidText:
		return "text"
	case oidVarchar:
		return "character varying"
	case oidBpchar:
		return "character"
	case oidJSON:
		return "json"
	case oidJSONB:
		return "jsonb"
	case oidXML:
		return "xml"
	case oidMoney:
		return "money"
	case oidInterval:
		return "interval"
	case oidFloat4:
		return "real"
	case oidFloat8:
		return "double precision"
	case oidCIDR:
		return "cidr"
	case oidInet:
		return "inet"
	case oidMACAddr:
		return "macaddr"
	case oidMACAddr8:
		return "macaddr8"
	case oidDate:
		return "date"
	case oidTime:
		return "time without time zone"
	case oidTimetz:
		return "time with time zone"
	case oidTimestamp:
		return "timestamp without time zone"
	case oidTimestamptz:
		return "timestamp with time zone"
	case oidBit:
		return "bit"
	case oidVarbit:
		return "bit varying"
	case oidNumeric:
		return "numeric"
	case oidUUID:
		return "uuid"
	}
	return ""
}

// orders reports whether a key of strings can be of the type: json and xml have no order, and in that of jsonb, as in that
// of what is spelled, different texts may be equal, as 24:00:00 and 1 day are.
func (t postgresType) orders() bool {
	return !t.spelled() && t.oid != oidJSON && t.oid != oidJSONB && t.oid != oidXML
}

// orderAdvice says what to do to compare a column of strings by its values, "" where they are text.
func (t postgresType) orderAdvice(column row.Column) string {
	switch t.oid {
	case oidInt2, oidInt4, oidInt8:
		return declareAs("int64")
	case oidNumeric:
		return declareAs("decimal")
	case oidTime, oidTimetz, oidInterval:
		return viewAs(column, "extract(epoch FROM ?)::numeric", "kind decimal")
	case oidMoney:
		return viewAs(column, "?::numeric", "kind decimal")
	case oidUUID, oidMACAddr, oidMACAddr8, oidBit, oidVarbit:
		return viewAs(column, "?::text", "kind string")
	case oidInet, oidCIDR:
		return viewAs(column, "? <<= '10.0.0.0/8'", "kind bool")
	case oidJSON, oidJSONB:
		return viewAs(column, "? ->> 'name'", "kind string")
	}
	switch t.category {
	case 'S':
		return ""
	case 'E':
		return viewAs(column, "array_position(enum_range(NULL::"+t.name+"), ?)", "kind int64")
	case 'A':
		return viewAs(column, "?[1]", "its elements")
	case 'R':
		return viewAs(column, "lower(?)", "its bounds")
	}
	return "name a view with a column of what is to be compared"
}

// spelled reports whether a string is the type's text for want of a better kind.
func (t postgresType) spelled() bool {
	switch t.oid {
	case oidMoney, oidInterval, oidNumeric:
		return true
	}
	return t.category == 'A' || t.category == 'R' || t.category == 'G'
}

// typesGiving names the types for kind.
func typesGiving(kind row.Kind) string {
	switch kind {
	case row.String:
		return "text, varchar, char, enums, uuid, integers, numeric, json, xml, inet, time, interval, bit, money, arrays, ranges"
	case row.Int64:
		return "smallint, integer, bigint"
	case row.Decimal:
		return "numeric and integers"
	case row.Float64:
		return "real, double precision"
	case row.Bool:
		return "boolean"
	case row.Date:
		return "date"
	case row.Timestamp:
		return "timestamptz"
	case row.DateTime:
		return "timestamp"
	case row.JSON:
		return "json, jsonb"
	case row.Bytes:
		return "bytea"
	}
	return "none"
}

// microseconds makes a bound on a time exact for a server that keeps microseconds: rows at or above the bound are
// those at or above its next whole microsecond.
func microseconds(canonical string) (string, bool) {
	at, ok := parseInstant(canonical)
	if !ok || len(at.fraction) <= 6 {
		return canonical, ok
	}
	if len(bytes.Trim(at.fraction[6:], "0")) > 0 {
		at.fraction = at.fraction[:6]
		carried := true
		for i := 5; i >= 0 && carried; i-- {
			at.fraction[i]++
			if carried = at.fraction[i] > '9'; carried {
				at.fraction[i] = '0'
			}
		}
		if carried {
			at.unix++
		}
	}
	c := civilOf(at.unix)
	c.fraction = at.fraction[:6]
	suffix := ""
	if strings.ContainsAny(canonical[19:], "Zz+-") {
		suffix = "Z"
	}
	return string(c.append(nil, 'T')) + suffix, true
}
