package sqldb

import (
	"strconv"
	"strings"

	"sealift/shared/row"
)

// mysqlClass is how the text of a type's values is read.
type mysqlClass uint8

const (
	classOther mysqlClass = iota
	classText
	classBinary
	classChoice // ENUM and SET, which sort by number and compare as text
	classInteger
	classYear
	classBit
	classDecimal
	classFloat
	classDouble
	classDate
	classTime
	classDateTime
	classTimestamp
	classJSON
)

// mysqlType is a column's type.
type mysqlType struct {
	class mysqlClass
	// name is the bare type, declared the type with its width and attributes.
	name, declared string
	// bits is the width of a BIT column; zeros says that numbers are padded with zeros.
	bits  int
	zeros bool
	// charset is the character set of text, "" for what has none.
	charset string
	// exact says that a text column holds different texts to be different.
	exact bool
}

// newMySQLType reads what information_schema.COLUMNS says of a column.
func newMySQLType(name, declared, collation string) mysqlType {
	t := mysqlType{name: strings.ToLower(name), declared: declared, class: classOther, zeros: strings.Contains(declared, "zerofill")}
	switch t.name {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		t.class = classText
		// Other collations ignore case, accents or blanks at the end.
		t.exact = strings.HasSuffix(collation, "_nopad_bin") || strings.HasSuffix(collation, "_0900_bin")
	case "uuid", "inet4", "inet6":
		t.class, t.exact = classText, true
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		t.class = classBinary
	case "enum", "set":
		t.class = classChoice
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		t.class = classInteger
	case "year":
		t.class = classYear
	case "bit":
		t.class = classBit
		t.bits, _ = strconv.Atoi(strings.Trim(declared, "bit()"))
	case "decimal":
		t.class = classDecimal
	case "float":
		t.class = classFloat
	case "double":
		t.class = classDouble
	case "date":
		t.class = classDate
	case "time":
		t.class = classTime
	case "datetime":
		t.class = classDateTime
	case "timestamp":
		t.class = classTimestamp
	case "json":
		t.class = classJSON
	}
	return t
}

// The numbers that the protocol gives types, and flags and the charset of bytes.
const (
	wireDecimal    = 0
	wireTiny       = 1
	wireShort      = 2
	wireLong       = 3
	wireFloat      = 4
	wireDouble     = 5
	wireTimestamp  = 7
	wireLongLong   = 8
	wireInt24      = 9
	wireDate       = 10
	wireTime       = 11
	wireDateTime   = 12
	wireYear       = 13
	wireNewDate    = 14
	wireVarChar    = 15
	wireBit        = 16
	wireJSON       = 245
	wireNewDecimal = 246
	wireEnum       = 247
	wireSet        = 248
	wireTinyBlob   = 249
	wireBlob       = 252
	wireVarString  = 253
	wireString     = 254

	flagEnum      = 0x100
	flagSet       = 0x800
	charsetBinary = 63
)

// class is what a result's field holds.
func (f mysqlField) class() mysqlClass {
	switch f.kind {
	case wireTiny, wireShort, wireLong, wireLongLong, wireInt24:
		return classInteger
	case wireDecimal, wireNewDecimal:
		return classDecimal
	case wireFloat:
		return classFloat
	case wireDouble:
		return classDouble
	case wireTimestamp:
		return classTimestamp
	case wireDate, wireNewDate:
		return classDate
	case wireTime:
		return classTime
	case wireDateTime:
		return classDateTime
	case wireYear:
		return classYear
	case wireBit:
		return classBit
	case wireJSON:
		return classJSON
	case wireEnum, wireSet:
		return classChoice
	}
	switch {
	case f.kind != wireVarChar && (f.kind < wireTinyBlob || f.kind > wireString):
		return classOther
	case f.flags&(flagEnum|flagSet) != 0:
		return classChoice
	case f.charset == charsetBinary:
		return classBinary
	}
	return classText
}

// gives reports whether the type's text is exact for kind. DATETIME names no instant.
func (t mysqlType) gives(kind row.Kind) bool {
	switch kind {
	case row.String:
		switch t.class {
		case classText, classBinary, classChoice, classInteger, classYear, classBit, classTime, classJSON:
			return true
		case classOther, classDecimal, classFloat, classDouble, classDate, classDateTime, classTimestamp:
		}
		return false
	case row.Int64:
		return t.class == classInteger || t.class == classYear || t.class == classBit
	case row.Decimal:
		return t.class == classDecimal || t.class == classInteger || t.class == classBit
	case row.Float64:
		return t.class == classFloat || t.class == classDouble
	case row.Bool:
		return t.name == "tinyint" || t.class == classBit && t.bits == 1
	case row.Date:
		return t.class == classDate
	case row.Timestamp:
		return t.class == classTimestamp
	case row.DateTime:
		return t.class == classDateTime
	case row.JSON:
		return t.class == classJSON || t.class == classText
	case row.Bytes:
		return t.class == classBinary
	}
	return false
}

// orders reports whether the column's own order is that of the canonical text's values, which a key needs.
func (t mysqlType) orders() bool {
	switch t.class {
	case classText, classInteger, classDecimal, classDate, classDateTime, classTimestamp:
		return true
	case classOther, classBinary, classChoice, classYear, classBit, classFloat, classDouble, classTime, classJSON:
	}
	return false
}

// orderAdvice says what to do to compare a column of strings by its values, "" where they are text.
func (t mysqlType) orderAdvice(column row.Column) string {
	switch t.class {
	case classText:
		switch t.name {
		case "uuid":
			return viewAs(column, "CAST(? AS CHAR(36))", "kind string")
		case "inet4":
			return viewAs(column, "INET_ATON(?)", "kind int64")
		case "inet6":
			return viewAs(column, "HEX(INET6_ATON(?))", "kind string")
		}
		return ""
	case classBinary:
		return ""
	case classChoice:
		return viewAs(column, "CAST(? + 0 AS UNSIGNED)", "kind int64")
	case classInteger, classBit:
		return declareAs("int64 or decimal")
	case classYear:
		return declareAs("int64")
	case classTime:
		return viewAs(column, "TIME_TO_SEC(?)", "kind int64 (decimal, where it has fractions of a second)")
	case classJSON:
		return viewAs(column, "JSON_UNQUOTE(JSON_EXTRACT(?, '$.name'))", "kind string")
	case classOther, classDecimal, classFloat, classDouble, classDate, classDateTime, classTimestamp:
	}
	return "declare its own kind"
}

// rounded reports whether the server writes fewer digits of a number than it holds: of a FLOAT six, of a DOUBLE(12,4) four
// behind the dot.
func (t mysqlType) rounded() bool {
	return t.class == classFloat || t.class == classDouble && strings.Contains(t.declared, "(")
}

// small reports whether the type reads letters of either case and writes small ones.
func (t mysqlType) small() bool { return t.name == "uuid" || t.name == "inet6" }

// mysqlTypesGiving names the types for kind.
func mysqlTypesGiving(kind row.Kind) string {
	switch kind {
	case row.String:
		return "char, varchar, text, binary, blob, enum, set, integers, time, year, bit, json, uuid, inet"
	case row.Int64:
		return "integers, year, bit"
	case row.Decimal:
		return "decimal, integers, bit"
	case row.Float64:
		return "float, double"
	case row.Bool:
		return "tinyint, bit(1)"
	case row.Date:
		return "date"
	case row.Timestamp:
		return "timestamp"
	case row.DateTime:
		return "datetime"
	case row.JSON:
		return "json, char, varchar, text"
	case row.Bytes:
		return "binary, varbinary, blob"
	}
	return "none"
}
