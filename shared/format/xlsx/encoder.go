package xlsx

import (
	"strconv"

	"github.com/cespare/xxhash/v2"

	"sealift/shared/format/field"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// CodeTooLong is the code of a text that no cell holds, under the rule LongFail.
const CodeTooLong = "value_too_long"

// encoder writes rows of one shape as XML. It holds no state between rows and may be shared by goroutines.
//
// The column's kind decides what a cell is, never the look of a value:
//   - Text (String, JSON, and Bytes as standard base64) is an inline string, which no program evaluates. With Guard,
//     text that looks like a formula has a style with quotePrefix as well, for those who edit the cell; its value stays
//     as it is.
//   - Int64 and Decimal are numbers that show every digit they have, and at least the declared scale. What a spreadsheet
//     would round (more than 15 significant digits), strip of leading zeros or not show (more than 30 decimals) is text.
//   - Float64 is a number, or text when it is none or near the end of what a float holds.
//   - Bool is a Boolean. Date, DateTime and Timestamp are serial numbers with a style that shows date, time, up to three
//     digits of a fraction, and the offset as literal text. What the 1900 date system or these styles don't have is text
//     as it came: dates before 1900-03-01, finer fractions, odd offsets.
//   - NULL is a cell without a value and the empty string one with an empty text. Every row has a cell for every column,
//     so that cells need no references (they are optional: ECMA-376, part 1, section 18.3.1.4). The first cell with a
//     value has one all the same, and so has each that follows an empty one, because there are programs that drop empty
//     cells before they count.
type encoder struct {
	config  Config
	class   [256]class
	columns []column
	// open begins a cell of each style: with a value, or as text.
	open        [styles]string
	openGuarded string
}

type column struct {
	kind   row.Kind
	asText bool
	// scale is the least number of decimals that are shown.
	scale int
	// ref is how a reference to a cell of the column begins.
	ref string
}

const (
	rowOpen, rowClose   = `<row r="`, "</row>"
	cellOpen            = "<c"
	cellNull            = "<c/>"
	cellText            = `<c t="inlineStr"><is><t`
	textKeep, textClose = ` xml:space="preserve">`, "</t></is></c>"
	cellNumber          = "<c><v>"
	cellBool            = `<c t="b"><v>`
	valueClose          = "</v></c>"
)

// styled opens a cell with a number of a style.
func styled(style int) string { return `<c s="` + strconv.Itoa(style) + `"><v>` }

// styledText opens an inline string of a style.
func styledText(style int) string { return `<c s="` + strconv.Itoa(style) + `" t="inlineStr"><is><t` }

// newEncoder returns an encoder for rows as config describes them.
func newEncoder(config Config) *encoder {
	e := &encoder{config: config, class: classTable(config.Guard)}
	for i, c := range config.Columns {
		e.columns = append(e.columns, column{
			kind: c.Kind, asText: i < len(config.AsText) && config.AsText[i], scale: min(max(c.Scale, 0), scaleMax),
			ref: ` r="` + columnName(i),
		})
	}
	for style := range e.open {
		e.open[style] = styled(style)
	}
	e.openGuarded = styledText(styleGuarded)
	return e
}

// line is one row of a worksheet on its way.
type line struct {
	// number is the row's in its worksheet; the header is number 1.
	number int64
	// refs are where references stand in the buffer that holds the row's cells.
	refs []span
	// starts takes where the columns' values begin, or their cells; empty where nobody asks.
	starts []uint32
	digest xxhash.Digest
}

type span struct{ from, to int }

// start says where the value of column i begins.
func (l *line) start(i, at int) {
	if i < len(l.starts) {
		l.starts[i] = uint32(at)
	}
}

// closing is how many bytes end the last cell of dst behind its value.
func closing(dst []byte) int {
	if dst[len(dst)-len(valueClose)] == valueClose[0] {
		return len(valueClose)
	}
	return len(textClose)
}

// hash is the XXH64 of dst[from:], which are the row's cells, without the references: the same wherever the row stands.
func (l *line) hash(dst []byte, from int) uint64 {
	l.digest.Reset()
	for _, ref := range l.refs {
		_, _ = l.digest.Write(dst[from:ref.from])
		from = ref.to
	}
	_, _ = l.digest.Write(dst[from:])
	return l.digest.Sum64()
}

// appendRow appends the cells of row r of b and counts into c what it did. On error dst is of no use and c may have
// counted part of the row. The errors are Permanent *job.Error with CodeTooLong or a code of package field; they name
// the column and the row's key.
func (e *encoder) appendRow(dst []byte, l *line, b *row.Batch, r int, c *field.Counters) ([]byte, error) {
	start, anchor := len(dst), true
	l.refs = l.refs[:0]
	for i := range e.columns {
		value, ok := b.Value(r, i)
		if !ok {
			c.Nulls++
			l.start(i, len(dst))
			dst, anchor = append(dst, cellNull...), true
			continue
		}
		// What a cell begins with is written over the end of its reference, and the end comes back.
		var end [len(cellOpen)]byte
		at := len(dst)
		if anchor {
			dst = append(append(dst, cellOpen...), e.columns[i].ref...)
			dst = append(strconv.AppendInt(dst, l.number, 10), '"')
			l.refs = append(l.refs, span{at + len(cellOpen), len(dst)})
			at = len(dst) - len(cellOpen)
			copy(end[:], dst[at:])
			dst = dst[:at]
		}
		var wrong fault
		if dst, wrong = e.appendCell(dst, value, i, c); wrong != none {
			return dst, e.errorOf(wrong, b, r, i)
		}
		if anchor {
			copy(dst[at:], end[:])
		}
		l.start(i, max(at, len(dst)-closing(dst)-len(value)))
		anchor = len(value) == 0
		if len(dst)-start > limits.RowBytesMax {
			return dst, field.TooLarge(e.place(b, r, i), limits.RowBytesMax)
		}
	}
	return dst, nil
}

// columnName is the name of column i, from 0: A to Z, AA to ZZ, AAA to XFD.
func columnName(i int) string {
	const letters = 26
	name := ""
	for i++; i > 0; i = (i - 1) / letters {
		name = string(rune('A'+(i-1)%letters)) + name
	}
	return name
}

// fault is what is wrong with a value.
type fault uint8

const (
	none fault = iota
	invalidText
	halfPair
	tooLong
	notCanonical
)

func (e *encoder) errorOf(wrong fault, b *row.Batch, r, i int) error {
	switch place := e.place(b, r, i); wrong {
	case invalidText:
		return field.InvalidUTF8(place)
	case halfPair:
		return field.UnpairedSurrogate(place)
	case tooLong:
		return field.Errorf(place, CodeTooLong, "the text is longer than the %d characters (UTF-16 units) that a cell "+
			"holds; leave the column out, choose another format, or let the definition say long_text: %s for text that may "+
			"be cut", CellUnitsMax, LongTruncate)
	case notCanonical:
		value, _ := b.Value(r, i)
		return field.NotCanonical(place, e.columns[i].kind, value)
	case none:
	}
	return nil
}

func (e *encoder) place(b *row.Batch, r, i int) field.Place {
	return field.Place{Batch: b, Row: r, Keys: e.config.Keys, Column: e.config.Columns[i].Name}
}
