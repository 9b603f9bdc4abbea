// Package csv owns CSV: an encoder that appends rows to a buffer without allocating, and a strict reader that tells
// NULL from empty. It follows RFC 4180; Options names what the RFC leaves open. It imports format/field, its own
// gb18030, row, job and limits; start reading at Encoder.AppendRow.
//
// What a row looks like:
//   - A field is quoted when it must be (delimiter, quote, CR, LF), when readers might trim it (a leading or trailing
//     space or control character), when it is empty, and when it equals the null text. Everything else is bare.
//   - NULL is the null text without quotes and nothing else is, so that NULL, the empty string and the null text as a
//     value stay three things.
//   - Bytes are standard base64 with padding; JSON is the source's text, escapes of half a surrogate pair as the rule for
//     invalid UTF-8 says: what a JSON Lines file can't hold, nobody expects to come out of a cell either.
//   - Control characters are written as they are.
//   - All of it is UTF-8, or GB 18030 where that is asked for; quotes and guards are decided on the UTF-8 that goes in.
//
// With the guard, values of text columns (String, JSON and the header) that a spreadsheet might take for a formula get
// a leading apostrophe and are quoted; see formula. The column's kind decides, never the look of a value: a String
// column's "-1.5" or "+86 21" is text and is changed, a Decimal column's -1.5 is a number and isn't. So is a JSON
// document that is a number. Base64 can hold neither a function call nor a command and is left readable.
package csv

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"sealift/shared/format/csv/gb18030"
	"sealift/shared/format/field"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Config is everything an encoder must know; all of it is fixed for a job.
type Config struct {
	Options
	Columns []row.Column
	// Keys is how many key values follow the columns in each row of a batch.
	Keys int
	// Guard neutralises formulas in text.
	Guard       bool
	InvalidUTF8 field.InvalidRule
}

// Encoder writes rows of one shape. It holds no state between rows and may be shared by goroutines.
type Encoder struct {
	config Config
	class  [256]class
	// quotes and delimiters are eight of them in a word.
	quotes, delimiters uint64
	// coder is nil for UTF-8.
	coder *gb18030.Encoder
	// null is the null text as the file holds it.
	null    []byte
	columns []column
}

// column is what an encoder knows of one beforehand.
type column struct {
	kind row.Kind
	// check is the check of kinds whose alphabet needs no quotes, nil for the others.
	check func(value []byte) bool
	// binary values become base64.
	binary bool
}

// class is what a byte may mean inside a field.
type class uint8

const (
	// special bytes force quotes.
	special class = 1 << iota
	// high bytes call for a check of the encoding.
	high
	// edge bytes force quotes at either end of a field.
	edge
	// lead bytes may start a formula, or the white space in front of one.
	lead
)

// New returns an encoder for rows as config describes them. Options.Faults must be empty.
func New(config Config) *Encoder {
	const ones = 0x0101010101010101
	e := &Encoder{config: config, quotes: uint64(config.Quote) * ones, delimiters: uint64(config.Delimiter) * ones}
	for ch := range 256 {
		if ch >= utf8.RuneSelf {
			e.class[ch] |= high
		}
		if ch <= ' ' {
			e.class[ch] |= edge
		}
	}
	for _, ch := range []byte{config.Delimiter, config.Quote, '\r', '\n'} {
		e.class[ch] |= special
	}
	if config.Guard {
		for _, ch := range []byte(leads) {
			e.class[ch] |= lead
		}
	}
	if config.Encoding == GB18030 {
		e.coder = gb18030.NewEncoder()
	}
	e.null = e.append(nil, []byte(config.NullText), high)
	e.columns = make([]column, len(config.Columns))
	for i, c := range config.Columns {
		e.columns[i] = column{kind: c.Kind, binary: c.Kind == row.Bytes}
		if c.Kind != row.String && c.Kind != row.JSON && c.Kind != row.Bytes {
			e.columns[i].check = field.Checker(c.Kind)
		}
	}
	return e
}

// AppendHeader appends what a file begins with: the byte order mark and the header, as far as they are asked for.
// Names are quoted and guarded like text; a first name that begins with ID is quoted, because spreadsheets take a file
// that begins with these letters for another format.
func (e *Encoder) AppendHeader(dst []byte) []byte {
	if e.config.BOM {
		dst = append(dst, BOM...)
	}
	if !e.config.Header {
		return dst
	}
	for i, column := range e.config.Columns {
		if i > 0 {
			dst = append(dst, e.config.Delimiter)
		}
		name := []byte(column.Name)
		guarded, seen := e.config.Guard && formula(name), e.classes(name)
		if guarded || e.quoted(name, seen) || i == 0 && strings.HasPrefix(column.Name, "ID") {
			dst = e.appendQuoted(dst, name, seen, guarded, 0)
			continue
		}
		dst = e.append(dst, name, seen)
	}
	return append(dst, e.config.LineEnd...)
}

// AppendRow appends row r of b and counts into c what it did. starts, which is empty or has an element for each column,
// takes where in dst the columns' values begin. On error dst is of no use and c may have counted part of the row. The
// errors are Permanent *job.Error with a code of package field; they name the column and the row's key.
func (e *Encoder) AppendRow(dst []byte, starts []uint32, b *row.Batch, r int, c *field.Counters) ([]byte, error) {
	start := len(dst)
	arena, spans := b.Row(r)
	for i := range e.columns {
		if i > 0 {
			dst = append(dst, e.config.Delimiter)
		}
		if i < len(starts) {
			starts[i] = uint32(len(dst))
		}
		if spans[i].Null() {
			c.Nulls++
			dst = append(dst, e.null...)
			if len(e.columns) == 1 && e.config.NullText == "" {
				return dst, field.Errorf(e.place(b, r, i), field.CodeNullUnwritable, "a NULL in the only column "+
					`would be an empty line, which readers drop; set a null text such as \N or add a column`)
			}
			continue
		}
		value := spans[i].Of(arena)
		switch column := &e.columns[i]; {
		case column.check != nil:
			if !column.check(value) {
				return dst, field.NotCanonical(e.place(b, r, i), column.kind, value)
			}
			dst = e.appendCanonical(dst, value)
		case column.binary:
			if len(dst)-start+base64.StdEncoding.EncodedLen(len(value)) > limits.RowBytesMax {
				return dst, field.TooLarge(e.place(b, r, i), limits.RowBytesMax)
			}
			dst = e.appendBase64(dst, value)
		default:
			if len(value) > largeBytes {
				var ok bool
				if dst, ok = e.grow(dst, start, value); !ok {
					return dst, field.TooLarge(e.place(b, r, i), limits.RowBytesMax)
				}
			}
			var flaw func(field.Place) *job.Error
			if dst, flaw = e.appendText(dst, value, column.kind, c); flaw != nil {
				return dst, flaw(e.place(b, r, i))
			}
		}
		if len(dst)-start > limits.RowBytesMax {
			return dst, field.TooLarge(e.place(b, r, i), limits.RowBytesMax)
		}
	}
	return append(dst, e.config.LineEnd...), nil
}

// largeBytes is the size from which a value is measured before it is written.
const largeBytes = 1 << 20

// grow makes room for a large text value; ok is false when the row would become too large.
func (e *Encoder) grow(dst []byte, start int, value []byte) (_ []byte, ok bool) {
	const frame = 4 // two quotes and up to two apostrophes
	size := bytes.Count(value, []byte{e.config.Quote}) + frame
	if e.coder != nil {
		// Not less than what is written, for here every byte that isn't UTF-8 counts as U+FFFD.
		size += e.coder.Size(value)
	} else {
		size += len(value)
		if e.config.InvalidUTF8 == field.Replace {
			size += len(field.Replacement) * field.InvalidCount(value)
		}
	}
	if len(dst)-start+size > limits.RowBytesMax {
		return dst, false
	}
	return slices.Grow(dst, size), true
}

// appendText appends a text value; flaw is the error of one that can't be written under the rules.
func (e *Encoder) appendText(dst, value []byte, kind row.Kind, c *field.Counters) (_ []byte, flaw func(field.Place) *job.Error) {
	unpaired := kind == row.JSON && field.Unpaired(value)
	if unpaired && e.config.InvalidUTF8 != field.Replace {
		return dst, field.UnpairedSurrogate
	}
	if !unpaired && e.plain(value) {
		return append(dst, value...), nil
	}
	seen := e.classes(value)
	var mend mending
	if unpaired {
		mend |= mendEscapes
		c.InvalidUTF8++
	}
	if seen&high != 0 {
		if !utf8.Valid(value) {
			if e.config.InvalidUTF8 != field.Replace {
				return dst, field.InvalidUTF8
			}
			mend |= mendCharacters
			if !unpaired {
				c.InvalidUTF8++
			}
		}
		if e.coder != nil && !gb18030.AllEncodable(value) {
			if e.config.Unencodable != field.Replace {
				return dst, unencodable
			}
			mend |= mendCharacters
			c.Replaced++
		}
	}
	guarded := len(value) > 0 && e.class[value[0]]&lead != 0 && formula(value) &&
		(kind != row.JSON || !field.NumberDocument(value))
	if guarded {
		c.Neutralised++
	}
	if guarded || mend != 0 || e.quoted(value, seen) {
		return e.appendQuoted(dst, value, seen, guarded, mend), nil
	}
	return e.append(dst, value, seen), nil
}

// plain reports whether text goes as it is: not empty, ASCII without control characters, quotes and delimiters, nothing at
// its ends that must be kept from readers, and no formula. It may say no to some that do, never yes to others. Most text
// in most tables is plain, so that it looks at eight bytes at a time.
func (e *Encoder) plain(value []byte) bool {
	const bytes = 8
	n := len(value)
	if n == 0 || (e.class[value[0]]|e.class[value[n-1]])&(edge|lead) != 0 || string(value) == e.config.NullText {
		return false
	}
	if n < bytes {
		return e.classes(value)&(special|high) == 0
	}
	for i := 0; i < n-bytes; i += bytes {
		if e.delicate(binary.LittleEndian.Uint64(value[i:])) {
			return false
		}
	}
	return !e.delicate(binary.LittleEndian.Uint64(value[n-bytes:]))
}

// delicate reports whether one of eight bytes isn't ASCII, is a control character, the quote or the delimiter. A byte
// below its bound borrows into its top bit, which no byte above has set before (Bit Twiddling Hacks, "Determine if a word
// has a byte less than n"); a borrow goes on only from a byte that counts itself.
func (e *Encoder) delicate(word uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quotes, delimiters := word^e.quotes, word^e.delimiters
	return (word|(word-ones*' ')|(quotes-ones)|(delimiters-ones))&tops != 0
}

// append appends text in the file's encoding; seen are its classes.
func (e *Encoder) append(dst, text []byte, seen class) []byte {
	if e.coder == nil || seen&high == 0 {
		return append(dst, text...)
	}
	return e.coder.Append(dst, text)
}

// appendCanonical appends a value whose alphabet needs no quotes.
func (e *Encoder) appendCanonical(dst, value []byte) []byte {
	if string(value) == e.config.NullText {
		return e.appendQuoted(dst, value, 0, false, 0)
	}
	return append(dst, value...)
}

func (e *Encoder) appendBase64(dst, value []byte) []byte {
	start := len(dst)
	dst = base64.StdEncoding.AppendEncode(dst, value)
	if text := dst[start:]; len(text) == 0 || string(text) == e.config.NullText {
		dst = append(dst, e.config.Quote, e.config.Quote)
		copy(dst[start+1:], dst[start:len(dst)-2])
		dst[start] = e.config.Quote
	}
	return dst
}

// appendQuoted appends value between quotes, quotes inside doubled, behind an apostrophe when it is guarded and, to mend
// it, with what can't be written replaced; seen are its classes.
func (e *Encoder) appendQuoted(dst, value []byte, seen class, guarded bool, mend mending) []byte {
	quote := e.config.Quote
	dst = append(dst, quote)
	if guarded {
		dst = append(dst, '\'')
		if quote == '\'' {
			dst = append(dst, quote)
		}
	}
	from := 0
	for i := 0; i < len(value); {
		ch := value[i]
		if ch >= utf8.RuneSelf && mend&mendCharacters != 0 || ch == '\\' && mend&mendEscapes != 0 {
			size, instead := e.mended(value[i:])
			if instead != "" {
				dst = e.append(dst, value[from:i], seen)
				dst = append(dst, instead...)
				from = i + size
			}
			i += size
			continue
		}
		i++
		if ch == quote {
			dst = e.append(dst, value[from:i], seen)
			dst = append(dst, quote)
			from = i
		}
	}
	dst = e.append(dst, value[from:], seen)
	return append(dst, quote)
}

// classes is the union of the classes of value's bytes.
func (e *Encoder) classes(value []byte) class {
	var seen class
	for _, ch := range value {
		seen |= e.class[ch]
	}
	return seen
}

// quoted reports whether text must be quoted; seen is what classes found in it.
func (e *Encoder) quoted(value []byte, seen class) bool {
	return seen&special != 0 || len(value) == 0 || string(value) == e.config.NullText ||
		seen&edge != 0 && (e.class[value[0]]|e.class[value[len(value)-1]])&edge != 0
}

func (e *Encoder) place(b *row.Batch, r, i int) field.Place {
	return field.Place{Batch: b, Row: r, Keys: e.config.Keys, Column: e.config.Columns[i].Name}
}
