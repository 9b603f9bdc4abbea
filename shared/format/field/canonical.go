package field

import (
	"bytes"

	"sealift/shared/row"
)

// Check reports whether value has the canonical text of kind as package row defines it. Text kinds (String, JSON and
// Bytes) hold anything and always pass. It guards the files against a faulty source: what passes can't hold a
// delimiter, a quote or a line break, and can't be taken for a formula. It checks the shape, not the calendar.
func Check(kind row.Kind, value []byte) bool { return Checker(kind)(value) }

// Checker is Check for one kind, for encoders that check a column's values one after the other.
func Checker(kind row.Kind) func(value []byte) bool {
	switch kind {
	case row.Int64:
		return func(value []byte) bool { return digits(unsigned(value)) }
	case row.Decimal:
		return func(value []byte) bool { return plainDecimal(unsigned(value)) }
	case row.Float64:
		return float
	case row.Bool:
		return func(value []byte) bool { return string(value) == "true" || string(value) == "false" }
	case row.Date:
		return date
	case row.DateTime:
		return func(value []byte) bool { return row.IsWall(value, 'T') && fraction(value[row.WallBytes:]) }
	case row.Timestamp:
		return timestamp
	case row.String, row.JSON, row.Bytes:
		return func([]byte) bool { return true }
	}
	return func([]byte) bool { return false }
}

// Number reports whether value is a number as JSON spells it (RFC 8259, section 6).
func Number(value []byte) bool {
	value = unsigned(value)
	whole := leadingDigits(value)
	if whole == 0 || whole > 1 && value[0] == '0' {
		return false
	}
	value = value[whole:]
	if len(value) > 0 && value[0] == '.' {
		n := leadingDigits(value[1:])
		if n == 0 {
			return false
		}
		value = value[1+n:]
	}
	if len(value) > 0 && (value[0] == 'e' || value[0] == 'E') {
		value = value[1:]
		if len(value) > 0 && (value[0] == '+' || value[0] == '-') {
			value = value[1:]
		}
		return digits(value)
	}
	return len(value) == 0
}

// NumberDocument reports whether a JSON document is a number, which may have white space around it.
func NumberDocument(value []byte) bool { return Number(bytes.Trim(value, " \t\r\n")) }

// Finite reports whether a canonical Float64 is a number that JSON can spell.
func Finite(value []byte) bool {
	last := value[len(value)-1]
	return last != 'N' && last != 'y'
}

func float(value []byte) bool {
	if Number(value) {
		return true
	}
	return string(value) == "NaN" || string(unsigned(value)) == "Infinity"
}

func plainDecimal(value []byte) bool {
	whole := leadingDigits(value)
	if whole == 0 {
		return false
	}
	if whole == len(value) {
		return true
	}
	return value[whole] == '.' && digits(value[whole+1:])
}

func date(value []byte) bool {
	return len(value) == 10 && value[4] == '-' && value[7] == '-' &&
		digits(value[:4]) && digits(value[5:7]) && digits(value[8:])
}

// fraction accepts nothing, or a dot and digits.
func fraction(value []byte) bool {
	return len(value) == 0 || value[0] == '.' && digits(value[1:])
}

// timestamp accepts no row.OffsetUnknown, for it stands where the zone of the export has no text.
func timestamp(value []byte) bool {
	if !row.IsWall(value, 'T') {
		return false
	}
	rest := value[row.WallBytes:]
	if end := len(rest) - 1; end >= 0 && rest[end] == 'Z' {
		return fraction(rest[:end])
	}
	const offset = len("+00:00")
	if len(rest) < offset {
		return false
	}
	zone := rest[len(rest)-offset:]
	if string(zone) == row.OffsetUnknown {
		return false
	}
	return (zone[0] == '+' || zone[0] == '-') && zone[3] == ':' && digits(zone[1:3]) && digits(zone[4:]) &&
		fraction(rest[:len(rest)-offset])
}

func unsigned(value []byte) []byte {
	if len(value) > 0 && value[0] == '-' {
		return value[1:]
	}
	return value
}

// digits reports whether value is one or more decimal digits.
func digits(value []byte) bool {
	return len(value) > 0 && leadingDigits(value) == len(value)
}

func leadingDigits(value []byte) int {
	for i, ch := range value {
		if ch-'0' > 9 {
			return i
		}
	}
	return len(value)
}
