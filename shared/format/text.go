package format

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"sealift/shared/checksum"
	"sealift/shared/format/deflate"
	"sealift/shared/job"
	"sealift/shared/row"
)

// textWriter is the part.Writer of formats that are text: rows are gathered in blocks, and blocks are compressed one by
// one, so that parts can follow each other in any compression.
//
// Its memory is bounded whatever the number of rows: a raw block (limits.BlockBytes and one row, which is at most
// limits.RowBytesMax), the open part (its size and one packed block), about 2 MiB for the compressor, and the buffers
// that the caller lends to Take. Blocks that a large row has blown up are given back. Append allocates nothing per row.
//
// The hash of a row is that of its encoded bytes, line end included.
type textWriter struct {
	spec    Spec
	encoder encoder
	first   bool
	cut     Cut
	width   int

	part Part
	// packer is that of the open part; nil until it has a block.
	packer packer
	block  deflate.Block
	full   bool
	// opened tells that the open part holds something, be it only the file's beginning.
	opened bool
}

func newTextWriter(spec Spec, opt PartOptions) *textWriter {
	w := &textWriter{
		spec: spec, encoder: newEncoder(spec), first: opt.First, cut: opt.Cut.OrLimits(),
		width: len(spec.Columns) + spec.Keys,
	}
	if spec.Compression == Gzip {
		w.block.Width = len(spec.Columns)
	}
	w.begin(opt.Index, opt.Buffer)
	return w
}

// Append is that of part.Writer.
func (w *textWriter) Append(b *row.Batch, r int) (full bool, err error) {
	if err := w.ready(b); err != nil {
		return false, err
	}
	if w.block.Text == nil {
		w.block.Text = make([]byte, 0, w.cut.BlockBytes+w.cut.BlockBytes/4)
	}
	start, counters := len(w.block.Text), w.part.Counters
	text, err := w.encoder.AppendRow(w.block.Text, w.block.Row(), b, r, &w.part.Counters)
	if err != nil {
		w.block.Text, w.part.Counters = text[:start], counters
		w.block.DropRow()
		return false, err
	}
	w.block.Text = text
	w.part.RowsHash += xxhash.Sum64(text[start:])
	w.part.Rows++
	w.opened = true
	if len(text) < w.cut.BlockBytes {
		return false, nil
	}
	if err := w.flush(); err != nil {
		return false, err
	}
	w.full = len(w.part.Data) >= w.cut.Size(w.part.Index)
	return w.full, nil
}

// Take is that of part.Writer.
func (w *textWriter) Take(buf []byte) (Part, error) {
	if w.opened && (len(w.block.Text) > 0 || w.part.RawBytes == 0) {
		if err := w.flush(); err != nil {
			return Part{}, err
		}
	}
	part := w.part
	part.CRC64 = uint64(checksum.Sum64(part.Data))
	next := part.Index
	if len(part.Data) > 0 {
		next++
	}
	w.begin(next, buf)
	return part, nil
}

// End is that of part.Writer.
func (w *textWriter) End() (Part, error) { return w.Take(nil) }

func (w *textWriter) ready(b *row.Batch) error {
	if b.Width() != w.width {
		return job.Errorf(job.Permanent, "row_width", "a row has %d values where %d columns and %d key values are expected; "+
			"the source and the snapshot disagree", b.Width(), len(w.spec.Columns), w.spec.Keys)
	}
	if w.full {
		return job.Errorf(job.Permanent, "part_full", "part %d has its size and must be taken before the next row", w.part.Index)
	}
	if w.part.Index >= w.cut.PartsMax {
		return job.Errorf(job.Permanent, "shard_too_large", "the shard has %d parts, the most allowed, and more rows; "+
			"choose fewer rows per shard in the definition", w.cut.PartsMax)
	}
	return nil
}

// begin opens part index in buf.
func (w *textWriter) begin(index int, buf []byte) {
	w.part = Part{Index: index, Data: buf[:0]}
	w.packer, w.full, w.opened = nil, false, false
	w.block.Reset()
	if w.first && index == 0 {
		w.part.Data = append(w.part.Data, prefix(w.spec)...)
		w.block.Text = w.encoder.AppendHeader(w.block.Text)
		w.opened = true
	}
}

// flush packs the open block into the part.
func (w *textWriter) flush() error {
	if w.packer == nil {
		packer, err := newPacker(w.spec)
		if err != nil {
			return job.Errorf(job.Resource, "compression_failed", "start to compress part %d: %w", w.part.Index, err)
		}
		w.packer = packer
	}
	room := w.cut.Size(w.part.Index) + w.cut.BlockBytes
	data, err := w.packer.Pack(slices.Grow(w.part.Data, max(0, room-len(w.part.Data))), w.block)
	if err != nil {
		return job.Errorf(job.Resource, "compression_failed", "compress part %d: %w", w.part.Index, err)
	}
	w.part.Data = data
	w.part.RawCRC32 = uint32(checksum.CRC32(w.part.RawCRC32).Append(w.block.Text))
	w.part.RawBytes += int64(len(w.block.Text))
	w.block.Reset()
	if cap(w.block.Text) > 4*w.cut.BlockBytes {
		w.block.Text = nil
	}
	return nil
}
