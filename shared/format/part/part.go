// Package part owns what a format promises to those who write and join its parts, whatever the format: Writer cuts the
// rows of one shard into parts, Joiner says what must follow the parts of all shards to make them one file. Start
// reading at Writer. It imports row, job and limits.
package part

import (
	"context"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Part is one durable stretch of a shard's output. A file is the parts of its shards in order and the joiner's suffix.
type Part struct {
	// Index is the part's place in its shard, from 0.
	Index int
	// Data are the stored bytes; empty when there was nothing to write. Their memory is the
	// receiver's until it hands it back to Writer.Take.
	Data []byte
	Rows int64
	// RawBytes and RawCRC32 are the size and the CRC-32 of what Data holds uncompressed, header included; zero where a
	// format has no such text.
	RawBytes int64
	RawCRC32 uint32
	// CRC64 is the CRC-64/NVME of Data.
	CRC64 uint64
	// RowsHash is the sum modulo 2^64 of the XXH64 of each row as the file holds it; each format says what that is. The
	// sum over parts is the same whatever the order of rows and the cuts between parts. By accident a lost, doubled or
	// changed row goes unseen with a chance of about 2^-64. It is no proof against somebody who chooses the rows: that is
	// what the receipt's signature and the checksums of the file are for.
	RowsHash uint64
	Counters job.Counters
	// Fragment is what the writer of the shard's next part, and the joiner, must know of the shard up to the end of this
	// part beyond its sizes and checksums. It is the format's own text: valid UTF-8, at most limits.FragmentBytesMax
	// bytes, empty where a format needs none. It is committed with the part.
	Fragment string
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
	// SheetRows is how many rows, without the header, a worksheet may have.
	SheetRows int
	// GroupRows is how many rows make a row group.
	GroupRows int
}

// OrLimits fills in the bounds of limits.
func (c Cut) OrLimits() Cut {
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
		SheetRows:       orLimit(c.SheetRows, limits.SheetRowsMax),
		GroupRows:       orLimit(c.GroupRows, limits.GroupRows),
	}
}

// Size is the size in bytes at which the part with this index is full: it doubles after every PartGrowthParts parts.
func (c Cut) Size(index int) int {
	return c.PartBytes << min(index/c.PartGrowthParts, partDoublingsMax)
}

// partDoublingsMax keeps the growth far from overflow; the bound of parts ends it long before.
const partDoublingsMax = 8

// Options say which part of which shard a Writer begins with.
type Options struct {
	// First is true for the first shard of a file, whose part 0 begins the file.
	First bool
	// Shard is the number of the shard, from 1. Names inside a file that must differ between shards are made of it.
	Shard int
	// Index is the index of the part to begin with: the number of parts that the shard has committed.
	Index int
	// Fragment is that of the last committed part; empty when there is none.
	Fragment string
	Cut      Cut
	// Buffer is memory for the first part, as Writer.Take gets it for those that follow; nil is replaced.
	Buffer []byte
}

// Writer cuts the rows of one shard into parts. Where it cuts and what it writes depend only on the rows, in their
// order, from the start of each part, and on the fragment before it: neither on the batches they come in nor on
// interruptions. A worker that takes over creates a Writer with the index of the first part that isn't committed and
// the fragment of the one before, and appends the rows after the last committed cursor; the parts it writes are those
// the former worker would have written.
//
// So Take belongs where Append says full, and End at the end of the shard. A worker that must stop in between drops the
// open part; taking it early would move every later cut.
//
// Every part but a shard's last has at least the object store's minimum. Its memory is bounded whatever the number of
// rows. A Writer belongs to one goroutine.
type Writer interface {
	// Append adds row r of b. When full is true the part has reached its size and the caller must Take it before it
	// appends the next row. After an error the row isn't in the part and the job can't go on; the error is Permanent and
	// names the row's key, or says that the shard has too many parts.
	Append(b *row.Batch, r int) (full bool, err error)
	// Take ends a full part and returns it. The next part is written into buf from its start, so buf must be memory that
	// no upload still reads: with n uploads in flight n+1 buffers go round, each the Data of a part that is stored. A nil
	// or small buf is replaced.
	Take(buf []byte) (Part, error)
	// End ends the shard and returns its last part, whose Data is empty when there is nothing more to store. It may be
	// smaller than the object store's minimum.
	End() (Part, error)
}

// Piece is the share of one shard in a file, as it was committed.
type Piece struct {
	// Number is the shard's, from 1; pieces of a file are joined in the order of their numbers.
	Number int
	// Offset is where the piece begins in the file.
	Offset   int64
	Bytes    int64
	Rows     int64
	RawBytes int64
	RawCRC32 uint32
	// Fragment is that of the shard's last part.
	Fragment string
	// Parts are the sizes of the stored parts in order; one for a shard that was stored in one call.
	Parts []int64
	// Read returns bytes [from, to) of the piece.
	Read func(ctx context.Context, from, to int64) ([]byte, error)
}

// Joiner computes what ends a file, without reading its rows again.
type Joiner interface {
	// Add takes note of one piece. It may be called by several goroutines at once and in any order, once for each.
	Add(ctx context.Context, piece Piece) error
	// Suffix is what follows the last piece. It may be empty. It is called once, after every Add has returned.
	Suffix() ([]byte, error)
}
