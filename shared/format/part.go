package format

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Part is one durable fragment of a shard's output. The joined file is every shard's parts in order and the Suffix.
type Part struct {
	// Index is the part's place in its shard, from 0.
	Index int
	// Data are the stored bytes; empty when there was nothing to write. Their memory is the
	// receiver's until it hands it back to PartWriter.Take.
	Data []byte
	Rows int64
	// RawBytes and RawCRC32 are the size and the CRC-32 of what Data holds uncompressed, header included.
	RawBytes int64
	RawCRC32 uint32
	// CRC64 is the CRC-64/NVME of Data.
	CRC64 uint64
	// RowsHash is the sum modulo 2^64 of the XXH64 of each row's encoded bytes, line end included. The sum over parts
	// is the same whatever the order of rows and the cuts between parts. By accident a lost, doubled or changed row
	// goes unseen with a chance of about 2^-64. It is no proof against somebody who chooses the rows: that is what the
	// receipt's signature and the checksums of the file are for.
	RowsHash uint64
	Counters Counters
}

// Cut says where blocks and parts end. A job must never change it. The zero value stands for the bounds in limits;
// tests lower them.
type Cut struct {
	// BlockBytes is how much raw text makes a block.
	BlockBytes int
	// PartBytes is how much stored data makes a part, and PartGrowthParts after how many parts that doubles.
	PartBytes       int
	PartGrowthParts int
	// PartsMax is how many parts a shard may have.
	PartsMax int
}

// PartOptions say which part a PartWriter begins with.
type PartOptions struct {
	// First is true for the job's first shard, whose part 0 begins the file.
	First bool
	// PartIndex is the index of the part to begin with: the number of parts that the shard has committed.
	PartIndex int
	Cut       Cut
}

// PartWriter cuts the rows of one shard into parts. Where it cuts and what it writes depend only on the rows, in their
// order, from the start of each part: neither on the batches they come in nor on interruptions. A worker that takes
// over creates a PartWriter with the index of the first part that isn't committed and appends the rows after the last
// committed cursor; the parts it writes are those the former worker would have written.
//
// So Take belongs where Append says full and at the end of the shard. A worker that must stop in between drops the open
// part; taking it early would move every later cut.
//
// Its memory is bounded whatever the number of rows: a raw block (limits.BlockBytes and one row, which is at most
// limits.RowBytesMax), the open part (its size and one packed block), about 2 MiB for the compressor, and the buffers
// that the caller lends to Take. Blocks that a large row has blown up are given back.
//
// A PartWriter belongs to one goroutine. Append allocates nothing per row.
type PartWriter struct {
	spec    Spec
	encoder encoder
	first   bool
	cut     Cut
	width   int

	part Part
	// packer is that of the open part; nil until it has a block.
	packer packer
	block  []byte
	full   bool
	// opened tells that the open part holds something, be it only the file's beginning.
	opened bool
}

// NewPartWriter returns a PartWriter for a shard of a file that spec describes. Its error is that of Spec.Validate.
func NewPartWriter(spec Spec, opt PartOptions) (*PartWriter, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	w := &PartWriter{
		spec: spec, encoder: newEncoder(spec), first: opt.First, cut: opt.Cut.orLimits(),
		width: len(spec.Columns) + spec.Keys,
	}
	w.begin(opt.PartIndex, nil)
	return w, nil
}

// Append adds row r of b. When full is true the part has reached its size and the caller must Take it before it appends
// the next row. After an error the row isn't in the part and the job can't go on; the error is Permanent and names the
// row's key, or says that the shard has too many parts.
func (w *PartWriter) Append(b *row.Batch, r int) (full bool, err error) {
	if err := w.ready(b); err != nil {
		return false, err
	}
	if w.block == nil {
		w.block = make([]byte, 0, w.cut.BlockBytes+w.cut.BlockBytes/4)
	}
	start, counters := len(w.block), w.part.Counters
	block, err := w.encoder.AppendRow(w.block, b, r, &w.part.Counters)
	if err != nil {
		w.block, w.part.Counters = block[:start], counters
		return false, err
	}
	w.block = block
	w.part.RowsHash += xxhash.Sum64(block[start:])
	w.part.Rows++
	w.opened = true
	if len(block) < w.cut.BlockBytes {
		return false, nil
	}
	if err := w.flush(); err != nil {
		return false, err
	}
	w.full = len(w.part.Data) >= w.partBytes(w.part.Index)
	return w.full, nil
}

// Take ends the open part and returns it; its Data is empty when there is nothing to store. The next part is written
// into buf from its start, so buf must be memory that no upload still reads: with n uploads in flight n+1 buffers go
// round, each the Data of a part that is stored. A nil or small buf is replaced when the first block is packed.
func (w *PartWriter) Take(buf []byte) (Part, error) {
	if w.opened && (len(w.block) > 0 || w.part.RawBytes == 0) {
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

func (w *PartWriter) ready(b *row.Batch) error {
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
func (w *PartWriter) begin(index int, buf []byte) {
	w.part = Part{Index: index, Data: buf[:0]}
	w.block, w.packer, w.full, w.opened = w.block[:0], nil, false, false
	if w.first && index == 0 {
		w.part.Data = append(w.part.Data, prefix(w.spec)...)
		w.block = w.encoder.AppendHeader(w.block)
		w.opened = true
	}
}

// flush packs the open block into the part.
func (w *PartWriter) flush() error {
	if w.packer == nil {
		packer, err := newPacker(w.spec)
		if err != nil {
			return job.Errorf(job.Resource, "compression_failed", "start to compress part %d: %w", w.part.Index, err)
		}
		w.packer = packer
	}
	room := w.partBytes(w.part.Index) + w.cut.BlockBytes
	data, err := w.packer.pack(slices.Grow(w.part.Data, max(0, room-len(w.part.Data))), w.block)
	if err != nil {
		return job.Errorf(job.Resource, "compression_failed", "compress part %d: %w", w.part.Index, err)
	}
	w.part.Data = data
	w.part.RawCRC32 = uint32(checksum.CRC32(w.part.RawCRC32).Append(w.block))
	w.part.RawBytes += int64(len(w.block))
	w.block = w.block[:0]
	if cap(w.block) > 4*w.cut.BlockBytes {
		w.block = nil
	}
	return nil
}

// partBytes is the size of part index: it doubles after every PartGrowthParts parts.
func (w *PartWriter) partBytes(index int) int {
	return w.cut.PartBytes << min(index/w.cut.PartGrowthParts, partDoublingsMax)
}

// partDoublingsMax keeps the growth far from overflow; the bound of parts ends it long before.
const partDoublingsMax = 8

func (c Cut) orLimits() Cut {
	orLimit := func(value, limit int) int {
		if value > 0 {
			return value
		}
		return limit
	}
	return Cut{
		BlockBytes:      orLimit(c.BlockBytes, limits.BlockBytes),
		PartBytes:       orLimit(c.PartBytes, limits.PartBytes),
		PartGrowthParts: orLimit(c.PartGrowthParts, limits.PartGrowthParts),
		PartsMax:        orLimit(c.PartsMax, limits.PartsPerShardMax),
	}
}
