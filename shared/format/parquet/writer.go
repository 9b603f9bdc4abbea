package parquet

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"sealift/shared/checksum"
	"sealift/shared/format/field"
	"sealift/shared/format/part"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Writer is the part.Writer of Parquet. A row group ends after Cut.GroupRows rows; or when its values take
// limits.GroupBytes, its finished pages Cut.PartBytes, or its finished and open pages limits.GroupHeldBytes; or when its
// finished pages bring the part to its size and a block; whichever is first. A part is full when a row group ends and it
// has its size.
//
// Its memory is bounded whatever the number of rows and columns: an open page for each column, together at most
// limits.OpenBytes, the finished pages of the row group in one buffer, dictionaries of at most limits.DictionariesBytes and
// their tables, the open part, a compressor, and one row, which is at most limits.RowBytesMax. What that adds up to is
// limits.ColumnarGroupBytes and limits.ColumnarPartBytes. Append allocates nothing per row.
type Writer struct {
	config  Config
	first   bool
	cut     part.Cut
	width   int
	schema  *schema
	columns []*column
	// cells is the row that is being read.
	cells []cell
	// repaired holds its texts that had to be changed.
	repaired []byte
	hash     hasher

	part part.Part
	full bool
	// rows and raw are the rows and the bytes of values in the open row group, finished its finished pages and open the
	// bytes of the others.
	rows, raw, open int
	finished        finished
	// groups are the encoded row groups of the open part, count their number.
	groups     []byte
	count      int
	compressor *compressor
}

// NewWriter returns a writer of the parts of one shard. config must have no faults.
func NewWriter(config Config, opt part.Options) *Writer {
	w := &Writer{
		config: config, first: opt.First, cut: opt.Cut.OrLimits(), width: len(config.Columns) + config.Keys,
		schema: newSchema(config), cells: make([]cell, len(config.Columns)),
	}
	texts := 0
	for _, s := range w.schema.storage {
		if s == storedBytes {
			texts++
		}
	}
	for i, s := range w.schema.storage {
		c := &column{
			storage: s, reading: readingOf(config.Columns[i]), scale: config.Columns[i].Scale, utf8: w.schema.texts[i],
			pageBytesMax: min(limits.PageBytes, limits.OpenBytes/len(config.Columns), w.cut.BlockBytes),
		}
		if s == storedBytes {
			c.dictionary = newDictionary(texts)
		}
		w.columns = append(w.columns, c)
	}
	w.begin(opt.Index, opt.Buffer)
	return w
}

// Append is that of part.Writer.
func (w *Writer) Append(b *row.Batch, r int) (full bool, err error) {
	if err := w.ready(b); err != nil {
		return false, err
	}
	counters := w.part.Counters
	size, err := w.read(b, r)
	if err != nil {
		w.part.Counters = counters
		return false, err
	}
	w.part.RowsHash += w.hash.sum()
	w.open = 0
	for i, c := range w.columns {
		c.add(&w.cells[i], &w.finished, w.compressor)
		bytes := c.pageBytes()
		if bytes >= c.pageBytesMax {
			c.endPage(&w.finished, w.compressor)
			continue
		}
		w.open += bytes
	}
	w.part.Rows++
	w.rows++
	w.raw += size
	if w.groupFull() {
		w.endGroup()
		w.full = len(w.part.Data) >= w.cut.Size(w.part.Index)
	}
	return w.full, nil
}

// groupFull tells whether the row group ends.
func (w *Writer) groupFull() bool {
	stored := len(w.finished.data)
	return w.rows >= w.cut.GroupRows || w.raw >= limits.GroupBytes ||
		stored >= w.cut.PartBytes || stored+w.open >= limits.GroupHeldBytes ||
		len(w.part.Data)+stored >= w.cut.Size(w.part.Index)+w.cut.BlockBytes
}

// Take is that of part.Writer.
func (w *Writer) Take(buf []byte) (part.Part, error) {
	if w.rows > 0 {
		w.endGroup()
	}
	next := w.part.Index
	taken := w.part
	if len(taken.Data) > 0 {
		taken.Data = w.schema.appendFooter(taken.Data, taken.Rows, w.count, w.groups)
		next++
	}
	taken.CRC64 = uint64(checksum.Sum64(taken.Data))
	w.begin(next, buf)
	return taken, nil
}

// End is that of part.Writer.
func (w *Writer) End() (part.Part, error) { return w.Take(nil) }

func (w *Writer) ready(b *row.Batch) error {
	if b.Width() != w.width {
		return job.Errorf(job.Permanent, "row_width", "a row has %d values where %d columns and %d key values are expected; "+
			"the source and the snapshot disagree", b.Width(), len(w.config.Columns), w.config.Keys)
	}
	if w.full {
		return job.Errorf(job.Permanent, "part_full", "part %d has its size and must be taken before the next row", w.part.Index)
	}
	if w.part.Index >= w.cut.PartsMax {
		return job.Errorf(job.Permanent, "shard_too_large", "the shard has %d parts, the most allowed, and more rows; "+
			"choose fewer rows per shard in the definition", w.cut.PartsMax)
	}
	if w.compressor == nil {
		compressor, err := newCompressor(w.config.Codec)
		if err != nil {
			return job.Errorf(job.Resource, "compression_failed", "start to compress part %d: %w", w.part.Index, err)
		}
		w.compressor = compressor
	}
	return nil
}

// begin opens part index in buf.
func (w *Writer) begin(index int, buf []byte) {
	w.part = part.Part{Index: index, Data: buf[:0]}
	w.full, w.groups, w.count, w.compressor = false, w.groups[:0], 0, nil
	if w.first && index == 0 {
		w.part.Data = append(w.part.Data, magic...)
	}
}

// endGroup moves the row group's pages to the part.
func (w *Writer) endGroup() {
	data := w.part.Data
	if len(data) == 0 {
		data = append(data, magic...)
	}
	data = grown(data, w.groupBytes())
	g := group{rows: int64(w.rows), offset: int64(len(data)), chunks: make([]chunk, len(w.columns))}
	for i, c := range w.columns {
		data, g.chunks[i] = c.appendChunk(data, &w.finished, w.compressor)
	}
	w.finished.reset()
	w.compressor.trim()
	w.part.Data = data
	w.groups = w.schema.appendGroup(w.groups, g)
	w.count++
	w.rows, w.raw, w.open = 0, 0, 0
}

// groupBytes is about what the row group and the footer behind it will take in the part.
func (w *Writer) groupBytes() int {
	stored := 0
	for _, c := range w.columns {
		stored += c.chunkBytes()
	}
	const more = 64
	return stored + stored/more + 2*len(w.schema.head) + len(w.schema.tail) + len(w.groups) + 2*ChunkBytes*len(w.columns)
}

// grown is data with room for so many bytes more. The buffers of parts go round, so they grow by what is missing and not
// by a share of what they have.
func grown(data []byte, more int) []byte {
	size := len(data) + more
	if size <= cap(data) {
		return data
	}
	if size > limits.BlockBytes {
		size += limits.BlockBytes - 1 - (size-1)%limits.BlockBytes
	}
	return append(make([]byte, 0, size), data...)
}

// read parses row r of b into cells and the hash, and returns the size of its values in the file.
func (w *Writer) read(b *row.Batch, r int) (size int, err error) {
	w.repaired = w.repaired[:0]
	if cap(w.repaired) > keptBytesMax {
		w.repaired = nil
	}
	w.hash.reset()
	for i, c := range w.columns {
		cell := &w.cells[i]
		value, ok := b.Value(r, i)
		cell.null = !ok
		switch {
		case !ok:
			w.part.Counters.Nulls++
		case c.storage == storedBytes:
			if cell.text, err = w.text(b, r, i, value); err != nil {
				return 0, err
			}
		default:
			var v verdict
			if cell.low, cell.high, v = parse(c.reading, c.scale, value); v != good {
				return 0, w.refuse(b, r, i, value, v)
			}
		}
		if size += cell.size(c.storage); size > limits.RowBytesMax {
			return 0, field.TooLarge(w.place(b, r, i), limits.RowBytesMax)
		}
		w.hash.add(c.storage, cell)
	}
	return size, nil
}

// text checks a value that is bytes in the file, and repairs it where the rule says so.
func (w *Writer) text(b *row.Batch, r, i int, value []byte) ([]byte, error) {
	unpaired := false
	switch w.columns[i].reading {
	case readBytes:
		return value, nil
	case readExact:
		if !field.Check(row.Decimal, value) {
			return nil, field.NotCanonical(w.place(b, r, i), row.Decimal, value)
		}
	case readJSON:
		if !json.Valid(value) {
			return nil, field.NotCanonical(w.place(b, r, i), row.JSON, value)
		}
		unpaired = field.Unpaired(value)
	case readText, readInt, readDecimal, readFloat, readBool, readDate, readDateTime, readTimestamp:
	}
	valid := utf8.Valid(value)
	switch {
	case valid && !unpaired:
		return value, nil
	case w.config.InvalidUTF8 == field.Replace:
		return w.repair(b, r, i, value)
	case valid:
		return nil, field.UnpairedSurrogate(w.place(b, r, i))
	}
	return nil, field.InvalidUTF8(w.place(b, r, i))
}

// repair is value with its invalid sequences and, in a document, its unpaired surrogates replaced.
func (w *Writer) repair(b *row.Batch, r, i int, value []byte) ([]byte, error) {
	w.part.Counters.InvalidUTF8++
	size := len(value) + len(field.Replacement)*field.InvalidCount(value)
	if size > limits.RowBytesMax {
		return nil, field.TooLarge(w.place(b, r, i), limits.RowBytesMax)
	}
	start := len(w.repaired)
	w.repaired = slices.Grow(w.repaired, size)
	for len(value) > 0 {
		if n := field.Invalid(value); n > 0 {
			w.repaired, value = append(w.repaired, field.Replacement...), value[n:]
			continue
		}
		_, n := utf8.DecodeRune(value)
		w.repaired, value = append(w.repaired, value[:n]...), value[n:]
	}
	if w.columns[i].reading == readJSON {
		field.MendEscapes(w.repaired[start:])
	}
	return w.repaired[start:], nil
}

func (w *Writer) place(b *row.Batch, r, i int) field.Place {
	return field.Place{Batch: b, Row: r, Keys: w.config.Keys, Column: w.config.Columns[i].Name}
}

// refuse is the error for a value that isn't good.
func (w *Writer) refuse(b *row.Batch, r, i int, value []byte, v verdict) error {
	place, column := w.place(b, r, i), w.config.Columns[i]
	if v == malformed {
		return field.NotCanonical(place, column.Kind, value)
	}
	switch column.Kind {
	case row.Decimal:
		return field.Errorf(place, field.CodeOutOfRange, "the value has more than %d digits or decimals beyond the declared scale %d, "+
			"and is never rounded; declare a scale that holds it, or leave the scale out and the column is exact text", precision, column.Scale)
	case row.Timestamp, row.DateTime:
		return field.Errorf(place, field.CodeOutOfRange, "the time has digits beyond microseconds, and is never rounded; "+
			"repair it at the source, or declare the column as %s in the definition", row.String)
	case row.Int64, row.Float64, row.Bool, row.Date, row.String, row.JSON, row.Bytes:
	}
	return field.Errorf(place, field.CodeOutOfRange, "the value is outside the range of %s; "+
		"declare the column as %s in the definition", column.Kind, row.Decimal)
}
