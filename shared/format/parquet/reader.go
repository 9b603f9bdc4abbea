package parquet

import (
	"errors"
	"fmt"
	"io"
	"time"

	"sealift/shared/limits"
	"sealift/shared/row"
)

// Reader reads a file that parts and a Joiner's suffix make, and nothing else. Every byte is accounted for: column
// chunks follow each other without gaps, between them stand the footers of parts exactly as they follow from the row
// groups before, pages have their checksum and their form, statistics are those of the values, and the last footer is
// exactly that of the row groups. It holds a page and a dictionary for each column, and the footer.
type Reader struct {
	config Config
	schema *schema
	file   io.ReaderAt
	zone   *time.Location

	// footer is what is left of the last footer; groups is how many row groups it has to give, rows how many rows.
	footer *thriftReader
	groups int
	rows   int64
	// footerAt is where the last footer begins, at is behind the last row group that was opened.
	footerAt, at int64
	part         openPart

	// left is how many rows of the open row group are still to come.
	left    int64
	cursors []*cursor
	values  [][]byte
	null    []bool
	text    []byte
	hash    hasher
	err     error
}

// openPart is the part of the file that the last row groups are of.
type openPart struct {
	start  int64
	rows   int64
	count  int
	groups []byte
}

// NewReader returns a reader of a file of size bytes that config describes. It reads the footer.
func NewReader(file io.ReaderAt, size int64, config Config) (*Reader, error) {
	zone, err := time.LoadLocation(config.Zone)
	if err != nil {
		return nil, fmt.Errorf("the zone %q isn't known: %w", config.Zone, err)
	}
	r := &Reader{
		config: config, schema: newSchema(config), file: file, zone: zone,
		values: make([][]byte, len(config.Columns)), null: make([]bool, len(config.Columns)),
	}
	end, err := readAt(file, max(0, size-int64(endBytes)), size)
	if err != nil {
		return nil, err
	}
	n, ok := footerLength(end)
	if !ok || n > limits.FooterBytesMax || n > size-int64(endBytes) {
		return nil, errors.New("the file doesn't end with a parquet footer; it was cut off or is another file")
	}
	r.footerAt = size - int64(endBytes) - n
	footer, err := readAt(file, r.footerAt, size-int64(endBytes))
	if err != nil {
		return nil, err
	}
	if r.footer, r.rows, r.groups, err = r.schema.readFooter(footer); err != nil {
		return nil, fmt.Errorf("the footer: %w", err)
	}
	if err := r.expect([]byte(magic)); err != nil {
		return nil, err
	}
	decoder, err := newDecompressor(config.Codec)
	if err != nil {
		return nil, err
	}
	for i, s := range r.schema.storage {
		r.cursors = append(r.cursors, &cursor{file: file, storage: s, utf8: r.schema.texts[i], decoder: decoder})
	}
	return r, nil
}

// Read returns the next row in the canonical text of its columns' kinds, and which values are NULL; both are valid until
// the next call. After the last row, when everything is as it must be, the error is io.EOF.
func (r *Reader) Read() (values [][]byte, null []bool, err error) {
	if r.err == nil {
		r.err = r.read()
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	return r.values, r.null, nil
}

// Hash is that of the row that was read last, as the package comment defines it.
func (r *Reader) Hash() uint64 { return r.hash.sum() }

func (r *Reader) read() error {
	for r.left == 0 {
		if r.groups == 0 {
			return r.end()
		}
		if err := r.open(); err != nil {
			return err
		}
	}
	r.left--
	r.hash.reset()
	r.text = r.text[:0]
	for i, c := range r.cursors {
		value, err := c.next()
		if err != nil {
			return fmt.Errorf("column %q: %w", r.config.Columns[i].Name, err)
		}
		r.hash.add(c.storage, &value)
		r.null[i], r.values[i] = value.null, nil
		if !value.null {
			r.render(i, value)
		}
	}
	if r.left > 0 {
		return nil
	}
	for i, c := range r.cursors {
		if err := c.end(); err != nil {
			return fmt.Errorf("column %q: %w", r.config.Columns[i].Name, err)
		}
	}
	return nil
}

// open begins the next row group.
func (r *Reader) open() error {
	before := r.footer.buf
	g := r.schema.readGroup(r.footer)
	if r.footer.err != nil {
		return fmt.Errorf("the footer: %w", r.footer.err)
	}
	if again := r.schema.appendGroup(nil, g); string(again) != string(before[:len(before)-len(r.footer.buf)]) {
		return fmt.Errorf("the footer: %w", errThrift)
	}
	r.groups--
	if g.offset != r.at {
		if err := r.endPart(); err != nil {
			return err
		}
		if err := r.expect([]byte(magic)); err != nil {
			return err
		}
	}
	if g.offset != r.at || g.offset+g.stored() > r.footerAt {
		return errors.New("a row group doesn't begin where the one before ends; the file was changed")
	}
	for i, c := range r.cursors {
		c.open(g.chunks[i], r.at, g.rows)
		r.at += g.chunks[i].stored
	}
	r.left = g.rows
	r.rows -= g.rows
	r.part.rows += g.rows
	r.part.count++
	g.offset -= r.part.start
	r.part.groups = r.schema.appendGroup(r.part.groups, g)
	return nil
}

// end checks what follows the last row group.
func (r *Reader) end() error {
	if err := r.endPart(); err != nil {
		return err
	}
	switch {
	case r.at != r.footerAt:
		return errors.New("there are bytes before the last footer that belong to nothing")
	case r.rows != 0:
		return errors.New("the footer's row groups don't have its number of rows")
	case string(r.footer.buf) != string(r.schema.tail):
		return fmt.Errorf("the footer: %w", errThrift)
	}
	return io.EOF
}

// endPart checks the footer of the open part.
func (r *Reader) endPart() error {
	err := r.expect(r.schema.appendFooter(nil, r.part.rows, r.part.count, r.part.groups))
	r.part = openPart{start: r.at, groups: r.part.groups[:0]}
	return err
}

// expect checks that these bytes come next.
func (r *Reader) expect(want []byte) error {
	have, err := readAt(r.file, r.at, r.at+int64(len(want)))
	if err != nil {
		return err
	}
	if string(have) != string(want) {
		return fmt.Errorf("the bytes from %d on aren't those that join two parts; the file was changed", r.at)
	}
	r.at += int64(len(want))
	return nil
}

func readAt(file io.ReaderAt, from, to int64) ([]byte, error) {
	buf := make([]byte, to-from)
	return buf, readFull(file, buf, from)
}

func readFull(file io.ReaderAt, buf []byte, from int64) error {
	if n, err := file.ReadAt(buf, from); n < len(buf) {
		return fmt.Errorf("read bytes %d to %d: %w", from, from+int64(len(buf)), err)
	}
	return nil
}

// render appends the canonical text of value i to the row's texts.
func (r *Reader) render(i int, value cell) {
	if r.schema.storage[i] == storedBytes {
		r.values[i] = value.text
		return
	}
	start := len(r.text)
	r.text = appendText(r.text, r.config.Columns[i], value, r.zone)
	r.values[i] = r.text[start:len(r.text):len(r.text)]
}

// appendText appends the canonical text of a value that isn't bytes in the file.
func appendText(dst []byte, column row.Column, value cell, zone *time.Location) []byte {
	digits := -1
	if column.Unit != "" {
		digits = column.Unit.Digits()
	}
	switch column.Kind {
	case row.Int64:
		return appendInt(dst, int64(value.low))
	case row.Decimal:
		return appendDecimal(dst, value, column.Scale)
	case row.Float64:
		return appendFloat(dst, value.low)
	case row.Bool:
		if value.low == 1 {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case row.Date:
		return appendDate(dst, int64(value.low))
	case row.DateTime:
		return appendCivil(dst, int64(value.low), digits)
	case row.Timestamp:
		return appendInstant(dst, int64(value.low), digits, zone)
	case row.String, row.JSON, row.Bytes:
	}
	return append(dst, value.text...)
}
