// Package jsonl owns JSON Lines: an encoder that appends rows to a buffer without allocating, and a strict reader of
// what it writes. It imports format/field, row, job and limits; start reading at Encoder.AppendRow.
//
// A row is one object on one line that ends in LF, its keys in column order without white space. The kind of a column
// decides how its values are spelled, the same in every row:
//   - Int64 and Decimal are strings, because most JSON readers round numbers beyond 2^53 or with many digits.
//   - Float64 is a number; NaN, Infinity and -Infinity, which JSON has no number for, are strings spelled so, as in
//     the JSON mapping of Protocol Buffers, so that they stay distinct from NULL.
//   - Bool is true or false. Date, Timestamp and DateTime are strings.
//   - Bytes are a string of standard base64 with padding.
//   - JSON is embedded: checked, white space between its tokens removed, otherwise as the source renders it, numbers
//     digit by digit, and escapes of half a surrogate pair as the rule for invalid UTF-8 says. A document null can't be
//     told from NULL in the file, and is counted as one.
//   - String escapes the quote, the backslash and control characters, and nothing else.
//   - NULL is null, and the key is always there.
package jsonl

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"sealift/shared/format/field"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Config is everything an encoder must know; all of it is fixed for a job.
type Config struct {
	Columns []row.Column
	// Keys is how many key values follow the columns in each row of a batch.
	Keys        int
	InvalidUTF8 field.InvalidRule
}

// Encoder writes rows of one shape. It holds no state between rows and may be shared by goroutines.
type Encoder struct {
	config Config
	// labels are what stands before each value: the brace or comma, the key and the colon.
	labels [][]byte
	// width is how many bytes each byte of a string takes; 0 marks the bytes that call for a check of the encoding.
	width [256]uint8
}

// New returns an encoder for rows as config describes them. The columns' names must be UTF-8.
func New(config Config) *Encoder {
	e := &Encoder{config: config, labels: labels(config.Columns)}
	for ch := range 256 {
		switch {
		case ch >= utf8.RuneSelf:
			e.width[ch] = 0
		case ch == '"', ch == '\\', ch < ' ' && short[ch] != 0:
			e.width[ch] = 2
		case ch < ' ':
			e.width[ch] = 6
		default:
			e.width[ch] = 1
		}
	}
	return e
}

// short holds the letters of the escapes that JSON has for some control characters.
const short = "\x00\x00\x00\x00\x00\x00\x00\x00btn\x00fr\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func labels(columns []row.Column) [][]byte {
	labels := make([][]byte, len(columns))
	for i, column := range columns {
		label := []byte{','}
		if i == 0 {
			label[0] = '{'
		}
		labels[i] = append(appendString(label, []byte(column.Name), false), ':')
	}
	return labels
}

// AppendHeader appends nothing: a file of JSON Lines has no header.
func (e *Encoder) AppendHeader(dst []byte) []byte { return dst }

// AppendRow appends row r of b and counts into c what it did. starts, which is empty or has an element for each column,
// takes where in dst the columns' values begin. On error dst is of no use and c may have counted part of the row. The
// errors are Permanent *job.Error with a code of package field; they name the column and the row's key.
func (e *Encoder) AppendRow(dst []byte, starts []uint32, b *row.Batch, r int, c *field.Counters) ([]byte, error) {
	start := len(dst)
	for i := range e.config.Columns {
		dst = append(dst, e.labels[i]...)
		if i < len(starts) {
			starts[i] = uint32(len(dst))
		}
		value, ok := b.Value(r, i)
		if !ok {
			c.Nulls++
			dst = append(dst, "null"...)
			continue
		}
		kind := e.config.Columns[i].Kind
		if !field.Check(kind, value) {
			return dst, field.NotCanonical(e.place(b, r, i), kind, value)
		}
		if len(value) > largeBytes {
			size := e.sizeMax(kind, value)
			if len(dst)-start+size > limits.RowBytesMax {
				return dst, field.TooLarge(e.place(b, r, i), limits.RowBytesMax)
			}
			dst = slices.Grow(dst, size)
		}
		switch kind {
		case row.String, row.JSON:
			var fault error
			if dst, fault = e.appendText(dst, b, r, i, value, c); fault != nil {
				return dst, fault
			}
		case row.Bytes:
			dst = append(dst, '"')
			dst = base64.StdEncoding.AppendEncode(dst, value)
			dst = append(dst, '"')
		case row.Int64, row.Decimal, row.Date, row.Timestamp, row.DateTime:
			dst = append(dst, '"')
			dst = append(dst, value...)
			dst = append(dst, '"')
		case row.Float64:
			dst = appendFloat(dst, value)
		case row.Bool:
			dst = append(dst, value...)
		}
		if len(dst)-start > limits.RowBytesMax {
			return dst, field.TooLarge(e.place(b, r, i), limits.RowBytesMax)
		}
	}
	return append(dst, '}', '\n'), nil
}

// appendText appends a value of kind String or JSON.
func (e *Encoder) appendText(dst []byte, b *row.Batch, r, i int, value []byte, c *field.Counters) ([]byte, error) {
	seen, escapes := false, false
	for _, ch := range value {
		seen = seen || e.width[ch] == 0
		escapes = escapes || e.width[ch] > 1
	}
	invalid := seen && !utf8.Valid(value)
	if invalid {
		if e.config.InvalidUTF8 != field.Replace {
			return dst, field.InvalidUTF8(e.place(b, r, i))
		}
		c.InvalidUTF8++
	}
	if e.config.Columns[i].Kind == row.JSON {
		return e.appendDocument(dst, b, r, i, value, invalid, c)
	}
	if escapes || invalid {
		return appendString(dst, value, invalid), nil
	}
	dst = append(dst, '"')
	dst = append(dst, value...)
	return append(dst, '"'), nil
}

// appendDocument appends a value of kind JSON; invalid says that it isn't UTF-8 and has been counted.
func (e *Encoder) appendDocument(dst []byte, b *row.Batch, r, i int, value []byte, invalid bool, c *field.Counters) ([]byte, error) {
	if !json.Valid(value) {
		return dst, field.NotCanonical(e.place(b, r, i), row.JSON, value)
	}
	start, unpaired := len(dst), field.Unpaired(value)
	if unpaired && e.config.InvalidUTF8 != field.Replace {
		return dst, field.UnpairedSurrogate(e.place(b, r, i))
	}
	dst = appendCompact(dst, value, invalid)
	if unpaired {
		field.MendEscapes(dst[start:])
		if !invalid {
			c.InvalidUTF8++
		}
	}
	if string(dst[start:]) == "null" {
		c.Nulls++
	}
	return dst, nil
}

// largeBytes is the size from which a value is measured before it is written.
const largeBytes = 1 << 20

// sizeMax is the most that a value can take when it is written: exact for String and Bytes.
func (e *Encoder) sizeMax(kind row.Kind, value []byte) int {
	size := len(value) + len(`""`)
	switch kind {
	case row.Bytes:
		return base64.StdEncoding.EncodedLen(len(value)) + len(`""`)
	case row.String:
		for _, ch := range value {
			size += max(int(e.width[ch]), 1) - 1
		}
	case row.JSON, row.Int64, row.Decimal, row.Float64, row.Bool, row.Date, row.Timestamp, row.DateTime:
	}
	if e.config.InvalidUTF8 == field.Replace && (kind == row.String || kind == row.JSON) && !utf8.Valid(value) {
		size += len(field.Replacement) * field.InvalidCount(value)
	}
	return size
}

func (e *Encoder) place(b *row.Batch, r, i int) field.Place {
	return field.Place{Batch: b, Row: r, Keys: e.config.Keys, Column: e.config.Columns[i].Name}
}

func appendFloat(dst, value []byte) []byte {
	if field.Finite(value) {
		return append(dst, value...)
	}
	dst = append(dst, '"')
	dst = append(dst, value...)
	return append(dst, '"')
}

// appendString appends value as a JSON string, with invalid sequences replaced when there are any.
func appendString(dst, value []byte, invalid bool) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(value); {
		ch := value[i]
		if invalid && ch >= utf8.RuneSelf {
			n := field.Invalid(value[i:])
			if n == 0 {
				_, size := utf8.DecodeRune(value[i:])
				i += size
				continue
			}
			dst = append(dst, value[from:i]...)
			dst = append(dst, field.Replacement...)
			i += n
			from = i
			continue
		}
		i++
		if ch >= ' ' && ch != '"' && ch != '\\' {
			continue
		}
		dst = append(dst, value[from:i-1]...)
		from = i
		switch {
		case ch >= ' ':
			dst = append(dst, '\\', ch)
		case short[ch] != 0:
			dst = append(dst, '\\', short[ch])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
		}
	}
	dst = append(dst, value[from:]...)
	return append(dst, '"')
}

// appendCompact appends a valid JSON document without the white space between its tokens, with invalid sequences
// replaced when there are any.
func appendCompact(dst, value []byte, invalid bool) []byte {
	inString := false
	for i := 0; i < len(value); i++ {
		ch := value[i]
		switch {
		case !inString && (ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n'):
			continue
		case ch == '"':
			inString = !inString
		case ch == '\\':
			// Outside strings a valid document has no backslash; the escaped byte may be a quote.
			dst = append(dst, ch)
			i++
			ch = value[i]
		}
		if invalid && ch >= utf8.RuneSelf {
			if n := field.Invalid(value[i:]); n > 0 {
				dst = append(dst, field.Replacement...)
				i += n - 1
				continue
			}
			_, size := utf8.DecodeRune(value[i:])
			dst = append(dst, value[i:i+size]...)
			i += size - 1
			continue
		}
		dst = append(dst, ch)
	}
	return dst
}
