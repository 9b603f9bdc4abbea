package verify

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"sealift/shared/definition"
	"sealift/shared/format"
	"sealift/shared/format/csv"
	"sealift/shared/format/field"
	"sealift/shared/format/xlsx"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// tally counts what the rows of files show of the receipt's counters. Some they show exactly, of others how many values
// it may be at most: of a file nobody can tell an apostrophe, a question mark or U+FFFD that was put there from one that the
// table held, nor a text that was cut from one that just fits. A mask that writes NULL can't be told from NULL.
type tally [changes]bound

// bound is between which numbers a counter lies.
type bound struct{ least, most int64 }

// change is what is counted: one of the receipt's counters.
type change int

const (
	nulls change = iota
	neutralised
	invalidUTF8
	masked
	numbersAsText
	timesAsText
	escaped
	replaced
	truncated
	changes
)

// String is the counter's name in the receipt.
func (c change) String() string {
	return [changes]string{
		"nulls", "neutralised", "invalid_utf8_replaced", "masked", "numbers_as_text", "times_as_text", "escaped", "characters_replaced", "truncated",
	}[c]
}

func (t *tally) add(c change, least, most int64) {
	t[c].least += least
	t[c].most += most
}

func (t *tally) join(other tally) {
	for c, b := range other {
		t.add(change(c), b.least, b.most)
	}
}

// check compares the receipt's counters with what was counted.
func (t tally) check(report *Report, said map[string]int64) {
	equal(report, "NULL values", t[nulls].most, said[nulls.String()])
	for c := neutralised; c < changes; c++ {
		b, count := t[c], said[c.String()]
		if count >= b.least && count <= b.most {
			continue
		}
		found := fmt.Sprint(b.least)
		if b.least < b.most {
			found = fmt.Sprintf("%d to %d", b.least, b.most)
		}
		report.check("changed values", false, "%s: the values show %s; the receipt says %d", c, found, count)
		return
	}
	report.check("changed values", true, "the values show as many as the receipt's counters say, or leave room for them")
}

// counter counts the values of one file.
type counter struct {
	tally tally
	spec  format.Spec
	masks []definition.MaskKind
	// cells writes workbooks again, which counts; nil for other formats.
	cells *cells
}

func newCounter(spec format.Spec, snap snapshot.Snapshot) (*counter, error) {
	c := &counter{spec: spec}
	for _, column := range snap.Columns {
		c.masks = append(c.masks, column.Mask)
	}
	if spec.Format != format.XLSX {
		return c, nil
	}
	var err error
	c.cells, err = newCells(spec)
	return c, err
}

// row counts one row.
func (c *counter) row(values [][]byte, null []bool) error {
	for i, value := range values {
		if c.masks[i] == definition.MaskNull {
			c.tally.add(masked, 0, 1)
		} else if c.masks[i] != "" && !null[i] {
			c.tally.add(masked, 1, 1)
		}
		if null[i] {
			c.tally.add(nulls, 1, 1)
			continue
		}
		switch c.spec.Columns[i].Kind {
		case row.String, row.JSON:
			c.text(value, c.spec.Columns[i].Kind)
		case row.Bytes:
			if c.spec.XLSX.LongText == xlsx.LongTruncate && len(value) >= bytesMax {
				c.tally.add(truncated, 0, 1)
			}
		case row.Int64, row.Decimal, row.Float64, row.Bool, row.Date, row.Timestamp, row.DateTime:
		}
	}
	if c.cells == nil {
		return nil
	}
	return c.cells.row(values, null)
}

// bytesMax is how many bytes of a binary value a cell of a workbook holds, in base64.
const bytesMax = xlsx.CellUnitsMax / 4 * 3

// escape is how a document spells the character that stands for what isn't text.
const escape = `\ufffd`

func (c *counter) text(value []byte, kind row.Kind) {
	if c.spec.InvalidUTF8 == format.Replace && (bytes.ContainsRune(value, utf8.RuneError) || kind == row.JSON && bytes.Contains(bytes.ToLower(value), []byte(escape))) {
		c.tally.add(invalidUTF8, 0, 1)
	}
	if c.spec.CSV.Encoding != csv.UTF8 && c.spec.CSV.Unencodable == format.Replace && bytes.ContainsRune(value, '?') {
		c.tally.add(replaced, 0, 1)
	}
	if c.spec.XLSX.LongText == xlsx.LongTruncate && len(value) >= xlsx.CellUnitsMax-1 && len(utf16.Encode([]rune(string(value)))) >= xlsx.CellUnitsMax-1 {
		c.tally.add(truncated, 0, 1)
	}
	if c.spec.Format != format.CSV || !c.spec.Guard {
		return
	}
	kept, apostrophe := bytes.CutPrefix(value, []byte("'"))
	switch {
	case !apostrophe || !field.Formula(kept):
	case kind == row.JSON:
		// No document begins with an apostrophe of its own.
		c.tally.add(neutralised, 1, 1)
	default:
		c.tally.add(neutralised, 0, 1)
	}
}

// end is what was counted of the whole file.
func (c *counter) end() (tally, error) {
	if c.cells == nil {
		return c.tally, nil
	}
	part, err := c.cells.end()
	for change, count := range map[change]int64{
		neutralised: part.Neutralised, numbersAsText: part.NumbersAsText, timesAsText: part.TimesAsText, escaped: part.Escaped,
	} {
		c.tally.add(change, count, count)
	}
	return c.tally, err
}

// cells writes the rows of a workbook again. Its values are as they were read but for what can't be told any more, so the
// writer counts the same of them.
type cells struct {
	spec    format.Spec
	writer  format.PartWriter
	batch   row.Batch
	counted format.Counters
}

func newCells(spec format.Spec) (*cells, error) {
	c := &cells{spec: spec}
	return c, c.begin()
}

func (c *cells) begin() (err error) {
	c.writer, err = format.NewPartWriter(c.spec, format.PartOptions{First: true, Shard: 1})
	return err
}

func (c *cells) row(values [][]byte, null []bool) error {
	c.batch.Reset(len(values))
	for i, value := range values {
		if null[i] {
			c.batch.AppendNull()
		} else {
			c.batch.Append(value)
		}
	}
	full, err := c.writer.Append(&c.batch, 0)
	if err != nil || !full {
		return err
	}
	if _, err := c.end(); err != nil {
		return err
	}
	return c.begin()
}

// end ends what was written and counts all so far.
func (c *cells) end() (format.Counters, error) {
	part, err := c.writer.End()
	c.counted.Add(part.Counters)
	return c.counted, err
}
