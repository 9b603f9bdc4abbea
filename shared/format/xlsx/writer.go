package xlsx

import (
	"slices"

	"sealift/shared/checksum"
	"sealift/shared/format/deflate"
	"sealift/shared/format/field"
	"sealift/shared/format/part"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Writer is the part.Writer of workbooks.
//
// What a file holds, in this order: the parts whose bytes are known at once (content types, the root relationship,
// styles), which begin the first shard; the worksheets, of which each shard has as many as its rows need, the header row
// at the top of each; and the joiner's workbook and directory. A worksheet is one deflate stream over any number of
// parts: its checksum and sizes so far are in the fragment, and follow it in a descriptor. It ends with the shard, when
// it has Cut.SheetRows rows, or when one more row would exceed Bounds.SheetBytes. A shard without rows has none.
//
// Its memory is bounded whatever the number of rows: a raw block (limits.BlockBytes and one row, which is at most
// limits.RowBytesMax), the open part (its size and one packed block), about 2 MiB for the compressor, and the buffers
// that the caller lends to Take. Append allocates nothing per row.
//
// The hash of a row is that of the XML of its cells without their references. RawBytes and RawCRC32 of its parts are zero: what a part
// holds is no one text.
type Writer struct {
	encoder *encoder
	// prefix is nil for shards that aren't the file's first.
	prefix []byte
	start  []byte
	shard  int
	cut    part.Cut
	bounds Bounds
	width  int

	part  part.Part
	state fragment
	// packer is that of the open part and sheet; nil until it has a block.
	packer *deflate.Packer
	block  deflate.Block
	full   bool
	line   line
}

// NewWriter returns a writer of the parts of one shard of a file that config describes. Its error is Permanent: the
// fragment isn't one.
func NewWriter(config Config, opt part.Options) (*Writer, error) {
	state, err := decodeFragment(opt.Fragment)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		encoder: newEncoder(config), shard: opt.Shard, cut: opt.Cut.OrLimits(), bounds: config.Bounds.orReal(),
		width: len(config.Columns) + config.Keys, state: state, block: deflate.Block{Width: len(config.Columns)},
	}
	w.start = w.encoder.sheetStart()
	if opt.First {
		w.prefix, _ = config.prefix()
	}
	w.begin(opt.Index, opt.Buffer)
	return w, nil
}

// Append is that of part.Writer.
func (w *Writer) Append(b *row.Batch, r int) (full bool, err error) {
	if err := w.ready(b); err != nil {
		return false, err
	}
	if w.block.Text == nil {
		w.block.Text = make([]byte, 0, w.cut.BlockBytes+w.cut.BlockBytes/4)
	}
	if w.state.Open != nil && w.state.Open.Rows >= int64(w.cut.SheetRows) {
		if err := w.endSheet(); err != nil {
			return false, err
		}
	}
	if w.state.Open == nil {
		w.beginSheet()
	}
	start, counters := len(w.block.Text), w.part.Counters
	hash, err := w.appendRow(b, r)
	if err == nil && w.state.Open.Raw+int64(len(w.block.Text)+len(sheetEnd)) > w.bounds.SheetBytes && w.state.Open.Rows > 0 {
		w.dropRow(start, counters)
		if err := w.endSheet(); err != nil {
			return false, err
		}
		w.beginSheet()
		start = len(w.block.Text)
		hash, err = w.appendRow(b, r)
	}
	if err != nil {
		w.dropRow(start, counters)
		return false, err
	}
	w.part.RowsHash += hash
	w.part.Rows++
	w.state.Open.Rows++
	if len(w.block.Text) < w.cut.BlockBytes {
		return false, nil
	}
	if err := w.flush(); err != nil {
		return false, err
	}
	w.full = len(w.part.Data) >= w.cut.Size(w.part.Index)
	return w.full, nil
}

// Take is that of part.Writer.
func (w *Writer) Take(buf []byte) (part.Part, error) {
	if err := w.flush(); err != nil {
		return part.Part{}, err
	}
	taken := w.part
	taken.CRC64 = uint64(checksum.Sum64(taken.Data))
	next := taken.Index
	if len(taken.Data) > 0 {
		next++
		w.state.At += int64(len(taken.Data))
	}
	var err error
	if taken.Fragment, err = w.state.encode(); err != nil {
		return part.Part{}, err
	}
	w.begin(next, buf)
	return taken, nil
}

// End is that of part.Writer. It ends the open worksheet, so the last part of a shard is never empty where there were
// rows.
func (w *Writer) End() (part.Part, error) {
	if w.state.Open != nil {
		if w.part.Index >= w.cut.PartsMax {
			return part.Part{}, w.tooLarge()
		}
		if err := w.endSheet(); err != nil {
			return part.Part{}, err
		}
	}
	return w.Take(nil)
}

func (w *Writer) ready(b *row.Batch) error {
	if b.Width() != w.width {
		return job.Errorf(job.Permanent, "row_width", "a row has %d values where %d columns and %d key values are expected; "+
			"the source and the snapshot disagree", b.Width(), len(w.encoder.columns), w.width-len(w.encoder.columns))
	}
	if w.full {
		return job.Errorf(job.Permanent, "part_full", "part %d has its size and must be taken before the next row", w.part.Index)
	}
	if w.part.Index >= w.cut.PartsMax {
		return w.tooLarge()
	}
	return nil
}

func (w *Writer) tooLarge() error {
	return job.Errorf(job.Permanent, "shard_too_large", "the shard has %d parts, the most allowed, and more rows; "+
		"choose fewer rows per shard in the definition", w.cut.PartsMax)
}

// begin opens part index in buf.
func (w *Writer) begin(index int, buf []byte) {
	w.part = part.Part{Index: index, Data: buf[:0]}
	w.packer, w.full = nil, false
	w.block.Reset()
	if index == 0 && w.state.At == 0 {
		w.part.Data = append(w.part.Data, w.prefix...)
	}
}

// beginSheet opens the shard's next worksheet.
func (w *Writer) beginSheet() {
	w.state.Open = &sheet{Offset: w.state.At + int64(len(w.part.Data))}
	w.part.Data = appendLocal(w.part.Data, w.entry())
	w.block.Text = append(w.block.Text, w.start...)
}

// entry is that of the open worksheet.
func (w *Writer) entry() entry {
	at := int64(1)
	if w.prefix != nil {
		at = 0
	}
	return w.state.Open.entry(w.shard, len(w.state.Done)+1, at, w.bounds)
}

// endSheet ends the open worksheet. What the fragment holds grows with every one.
func (w *Writer) endSheet() error {
	w.block.Text = append(w.block.Text, sheetEnd...)
	if err := w.flush(); err != nil {
		return err
	}
	w.part.Data = append(w.part.Data, deflate.End...)
	w.packer = nil
	done := *w.state.Open
	done.Packed += int64(len(deflate.End))
	w.part.Data = appendDescriptor(w.part.Data, done.entry(w.shard, 0, 0, w.bounds))
	w.state.Open, w.state.Done = nil, append(w.state.Done, done)
	text, err := w.state.encode()
	if err != nil {
		return err
	}
	const openMax = 120 // bytes of the open sheet, and of a longer offset
	if len(text)+openMax > limits.FragmentBytesMax || len(w.state.Done) >= shardSheets-1 {
		return job.Errorf(job.Permanent, "shard_too_large", "the shard has %d worksheets, the most allowed, and more rows; "+
			"choose fewer rows per shard in the definition", len(w.state.Done))
	}
	return nil
}

// appendRow appends the open worksheet's next row to the block.
func (w *Writer) appendRow(b *row.Batch, r int) (hash uint64, err error) {
	w.line.number = w.state.Open.Rows + headerRows + 1
	w.block.Text = appendRowOpen(w.block.Text, w.line.number)
	from := len(w.block.Text)
	w.line.starts = w.block.Row()
	if w.block.Text, err = w.encoder.appendRow(w.block.Text, &w.line, b, r, &w.part.Counters); err != nil {
		return 0, err
	}
	hash = w.line.hash(w.block.Text, from)
	w.block.Text = append(w.block.Text, rowClose...)
	return hash, nil
}

// dropRow takes the row that begins at start, whole or not, off the block again.
func (w *Writer) dropRow(start int, counters field.Counters) {
	w.block.Text, w.part.Counters = w.block.Text[:start], counters
	w.block.DropRow()
}

// headerRows is how many rows of a worksheet come before its first.
const headerRows = 1

// flush packs the open block into the part.
func (w *Writer) flush() error {
	if len(w.block.Text) == 0 {
		return nil
	}
	if w.packer == nil {
		packer, err := deflate.New()
		if err != nil {
			return job.Errorf(job.Resource, "compression_failed", "start to compress part %d: %w", w.part.Index, err)
		}
		w.packer = packer
	}
	room := w.cut.Size(w.part.Index) + w.cut.BlockBytes
	before := len(w.part.Data)
	data, err := w.packer.Pack(slices.Grow(w.part.Data, max(0, room-before)), w.block)
	if err != nil {
		return job.Errorf(job.Resource, "compression_failed", "compress part %d: %w", w.part.Index, err)
	}
	w.part.Data = data
	open := w.state.Open
	open.Packed += int64(len(data) - before)
	open.CRC32 = uint32(checksum.CRC32(open.CRC32).Append(w.block.Text))
	open.Raw += int64(len(w.block.Text))
	w.block.Reset()
	if cap(w.block.Text) > 4*w.cut.BlockBytes {
		w.block.Text = nil
	}
	return nil
}
