package xlsx

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"

	"sealift/shared/format/field"
	"sealift/shared/row"
)

// cells turns the XML of a row into values. It looks no closer than it must: the row that its values encode to must be
// the one that was read.
type cells struct {
	config  Config
	encoder *encoder
	// raw is a row as it was read, again the row that its values are written as.
	raw   []byte
	again []byte
	hash  uint64

	line    line
	batch   row.Batch
	text    []byte
	scratch []byte
	values  [][]byte
	null    []bool
}

func newCells(config Config) *cells {
	return &cells{
		config: config, encoder: newEncoder(config), values: make([][]byte, len(config.Columns)), null: make([]bool, len(config.Columns)),
	}
}

// formError says that a row is not what was written.
func formError() error { return errors.New("it isn't what was written") }

// parse returns the values of raw, which is row number of its worksheet. They are valid until the next call.
func (c *cells) parse(number int64) ([][]byte, []bool, error) {
	c.again = appendRowOpen(c.again[:0], number)
	frame := len(c.again)
	rest, ok := bytes.CutPrefix(c.raw, c.again)
	if !ok {
		return nil, nil, formError()
	}
	c.batch.Reset(len(c.config.Columns))
	for i := range c.config.Columns {
		if rest, ok = c.cell(rest, c.config.Columns[i].Kind); !ok {
			return nil, nil, fmt.Errorf("the cell of %q isn't one that was written", c.config.Columns[i].Name)
		}
	}
	c.line.number = number
	var counters field.Counters
	var err error
	if c.again, err = c.encoder.appendRow(c.again, &c.line, &c.batch, 0, &counters); err != nil {
		return nil, nil, err
	}
	c.hash = c.line.hash(c.again, frame)
	if c.again = append(c.again, rowClose...); !bytes.Equal(c.again, c.raw) {
		return nil, nil, formError()
	}
	for i := range c.values {
		value, ok := c.batch.Value(0, i)
		c.values[i], c.null[i] = value, !ok
	}
	return c.values, c.null, nil
}

// cell appends the value of the cell that xml begins with to the batch, and returns what follows it.
func (c *cells) cell(xml []byte, kind row.Kind) (rest []byte, ok bool) {
	if rest, ok = bytes.CutPrefix(xml, []byte(cellNull)); ok {
		c.batch.AppendNull()
		return rest, true
	}
	head, rest, ok := bytes.Cut(xml, []byte("><"))
	if !ok {
		return nil, false
	}
	if bytes.HasSuffix(head, []byte(`t="inlineStr"`)) {
		_, rest, ok = bytes.Cut(rest, []byte("><t"))
		if ok {
			_, rest, ok = bytes.Cut(rest, []byte(">"))
		}
		var text []byte
		if ok {
			text, rest, ok = bytes.Cut(rest, []byte(textClose))
		}
		return rest, ok && c.appendText(text, kind)
	}
	value, rest, ok := bytes.Cut(rest, []byte(valueClose))
	if ok {
		value, ok = bytes.CutPrefix(value, []byte("v>"))
	}
	return rest, ok && c.appendValue(head, value, kind)
}

func (c *cells) appendText(text []byte, kind row.Kind) bool {
	c.text = append(c.text[:0], text...)
	value, ok := unescape(c.text)
	if !ok {
		return false
	}
	if kind == row.Bytes {
		if c.scratch, ok = decodeBase64(c.scratch[:0], value); !ok {
			return false
		}
		value = c.scratch
	}
	c.batch.Append(value)
	return true
}

func decodeBase64(dst, text []byte) ([]byte, bool) {
	dst, err := base64.StdEncoding.Strict().AppendDecode(dst, text)
	return dst, err == nil
}

func (c *cells) appendValue(head, value []byte, kind row.Kind) bool {
	switch kind {
	case row.Int64, row.Decimal, row.Float64:
		c.batch.Append(value)
	case row.Bool:
		c.batch.AppendString(strconv.FormatBool(string(value) == "1"))
	case row.Date, row.DateTime, row.Timestamp:
		style, ok := styleOf(head)
		if !ok {
			return false
		}
		if c.scratch, ok = appendCanonical(c.scratch[:0], value, style, kind); !ok {
			return false
		}
		c.batch.Append(c.scratch)
	case row.String, row.JSON, row.Bytes:
		return false
	}
	return true
}

// styleOf is the style of a cell that begins with head.
func styleOf(head []byte) (style int, ok bool) {
	_, text, ok := bytes.Cut(head, []byte(` s="`))
	if !ok {
		return 0, false
	}
	style, err := strconv.Atoi(string(bytes.TrimSuffix(text, []byte(`"`))))
	return style, err == nil && style >= 0 && style < styles
}

// appendCanonical appends the date or time of a serial number.
func appendCanonical(dst, serial []byte, style int, kind row.Kind) ([]byte, bool) {
	whole, fraction, _ := bytes.Cut(serial, []byte{'.'})
	day, err := strconv.Atoi(string(whole))
	if err != nil || day < serialMin || day > serialMax {
		return dst, false
	}
	dst = appendDate(dst, day)
	if kind == row.Date {
		return dst, true
	}
	ms, ok := fractionMillis(fraction)
	if !ok {
		return dst, false
	}
	style -= styleDateTime
	if kind == row.Timestamp {
		style += styleDateTime - styleTimestamp
	}
	if style < 0 {
		return dst, false
	}
	dst = appendClock(append(dst, 'T'), ms, style%(fractionMax+1))
	if kind == row.Timestamp {
		dst = append(dst, suffixText(style/(fractionMax+1))...)
	}
	return dst, true
}

// fractionMillis is the time of day of the decimals of a serial number, rounded to milliseconds.
func fractionMillis(decimals []byte) (ms int, ok bool) {
	const digits, over, times = 12, 10_000_000, 864
	if len(decimals) > digits {
		return 0, false
	}
	part := 0
	for i := range digits {
		part *= 10
		if i < len(decimals) {
			if decimals[i] < '0' || decimals[i] > '9' {
				return 0, false
			}
			part += int(decimals[i] - '0')
		}
	}
	ms = (part*times + over/2) / over
	return ms, ms < millisPerDay
}
