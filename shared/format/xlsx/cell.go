package xlsx

import (
	"bytes"
	"encoding/base64"
	"slices"
	"unicode/utf8"

	"sealift/shared/format/field"
	"sealift/shared/row"
)

// appendCell appends the cell of a value in column i.
func (e *encoder) appendCell(dst, value []byte, i int, c *field.Counters) ([]byte, fault) {
	col := &e.columns[i]
	switch col.kind {
	case row.String, row.JSON:
		return e.appendString(dst, value, col.kind, c)
	case row.Bytes:
		return e.appendBytes(dst, value, c)
	case row.Int64, row.Decimal, row.Float64, row.Bool, row.Date, row.DateTime, row.Timestamp:
	}
	if !field.Check(col.kind, value) {
		return dst, notCanonical
	}
	if !col.asText {
		if out, ok := e.appendValue(dst, value, col); ok {
			return out, none
		}
	}
	switch col.kind {
	case row.Int64, row.Decimal, row.Float64:
		c.NumbersAsText++
	case row.Date, row.DateTime, row.Timestamp:
		c.TimesAsText++
	case row.String, row.JSON, row.Bytes, row.Bool:
	}
	if len(value) > CellUnitsMax {
		return dst, tooLong // whatever the rule: a number that is cut is another number
	}
	dst = append(append(dst, cellText...), '>')
	return append(append(dst, value...), textClose...), none
}

// appendValue appends a value that a spreadsheet has a type for; ok is false, and nothing appended, when it must be text.
func (e *encoder) appendValue(dst, value []byte, col *column) (_ []byte, ok bool) {
	switch col.kind {
	case row.Int64, row.Decimal:
		scale, ok := shown(value)
		if !ok {
			return dst, false
		}
		dst = append(dst, e.open[styleScale+max(scale, col.scale)]...)
		dst = append(dst, value...)
	case row.Float64:
		if !floats(value) {
			return dst, false
		}
		dst = append(append(dst, cellNumber...), value...)
	case row.Bool:
		bit := byte('0')
		if value[0] == 't' {
			bit = '1'
		}
		dst = append(append(dst, cellBool...), bit)
	case row.Date, row.DateTime, row.Timestamp:
		day, ok := serialDay(value)
		if !ok {
			return dst, false
		}
		style, ms := styleDate, 0
		if col.kind != row.Date {
			if style, ms, ok = e.clockStyle(value[11:], col.kind); !ok {
				return dst, false
			}
		}
		dst = appendSerial(append(dst, e.open[style]...), day, ms)
	case row.String, row.JSON, row.Bytes:
		return dst, false
	}
	return append(dst, valueClose...), true
}

// clockStyle is the style and the time of day of what follows the T of a DateTime or a Timestamp; ok is false when no
// style shows it.
func (e *encoder) clockStyle(clock []byte, kind row.Kind) (style, ms int, ok bool) {
	style = styleDateTime
	if kind == row.Timestamp {
		suffix := 0
		if end := len(clock) - 1; clock[end] == 'Z' {
			clock = clock[:end]
		} else {
			zone := clock[len(clock)-6:]
			clock = clock[:len(clock)-6]
			minutes := two(zone[1:])*60 + two(zone[4:])
			if zone[0] == '-' {
				minutes = -minutes
			}
			if suffix, ok = suffixOf(minutes); !ok || two(zone[4:]) > 59 || e.config.utc() {
				return 0, 0, false
			}
		}
		style = styleTimestamp + suffix*(fractionMax+1)
	}
	ms, digits, ok := millis(clock)
	return style + digits, ms, ok
}

// appendString appends the cell of a text.
func (e *encoder) appendString(dst, value []byte, kind row.Kind, c *field.Counters) ([]byte, fault) {
	unpaired := kind == row.JSON && field.Unpaired(value)
	if unpaired && e.config.InvalidUTF8 != field.Replace {
		return dst, halfPair
	}
	if n := fit(value); n < len(value) {
		if e.config.LongText != LongTruncate {
			return dst, tooLong
		}
		value = value[:n]
		c.Truncated++
	}
	if unpaired {
		value = slices.Clone(value) // which is a cell's at most, and the row's other columns may share what was sent
		field.MendEscapes(value)
	}
	seen := e.classesOf(value)
	invalid := seen&high != 0 && !utf8.Valid(value)
	if invalid && e.config.InvalidUTF8 != field.Replace {
		return dst, invalidText
	}
	if invalid || unpaired {
		c.InvalidUTF8++
	}
	if len(value) > 0 && e.class[value[0]]&lead != 0 && field.Formula(value) && (kind != row.JSON || !field.NumberDocument(value)) {
		c.Neutralised++
		dst = append(dst, e.openGuarded...)
	} else {
		dst = append(dst, cellText...)
	}
	dst, escaped := e.appendKept(dst, value, seen, invalid)
	if escaped {
		c.Escaped++
	}
	return append(dst, textClose...), none
}

// appendKept appends what follows <t: the attribute that keeps outer white space where there is some, and the text.
func (e *encoder) appendKept(dst, text []byte, seen class, invalid bool) (_ []byte, escaped bool) {
	if seen&space != 0 && (e.class[text[0]]|e.class[text[len(text)-1]])&space != 0 {
		dst = append(dst, textKeep...)
	} else {
		dst = append(dst, '>')
	}
	return e.appendText(dst, text, seen, invalid)
}

// appendBytes appends the cell of a binary value. What is cut stays base64: whole groups of what fits.
func (e *encoder) appendBytes(dst, value []byte, c *field.Counters) ([]byte, fault) {
	const bytesMax = CellUnitsMax / 4 * 3
	if len(value) > bytesMax {
		if e.config.LongText != LongTruncate {
			return dst, tooLong
		}
		value = value[:bytesMax]
		c.Truncated++
	}
	dst = append(append(dst, cellText...), '>')
	dst = base64.StdEncoding.AppendEncode(dst, value)
	return append(dst, textClose...), none
}

// digitsMax is how many significant digits a spreadsheet keeps (Microsoft, "Excel specifications and limits").
const digitsMax = 15

// shown reports whether a spreadsheet shows the Int64 or Decimal as it is spelled, and with how many decimals.
func shown(value []byte) (scale int, ok bool) {
	if value[0] == '-' {
		value = value[1:]
	}
	whole, fraction, _ := bytes.Cut(value, []byte{'.'})
	scale = len(fraction)
	significant := len(whole)
	if whole[0] == '0' {
		if significant > 1 {
			return 0, false
		}
		significant = 0
		for len(fraction) > 0 && fraction[0] == '0' {
			fraction = fraction[1:]
		}
	}
	end := len(fraction)
	for end > 0 && fraction[end-1] == '0' {
		end--
	}
	return scale, significant+end <= digitsMax && scale <= scaleMax
}

// floats reports whether the Float64 is a number that a spreadsheet holds. Those near the smallest and the largest float
// are none of its numbers.
func floats(value []byte) bool {
	const exponentMax = 307
	if !field.Finite(value) {
		return false
	}
	at := bytes.IndexAny(value, "eE")
	if at < 0 {
		return len(value) < exponentMax
	}
	exponent := 0
	for _, ch := range value[at+1:] {
		if ch >= '0' {
			exponent = min(exponent*10+int(ch-'0'), exponentMax)
		}
	}
	return exponent < exponentMax
}
