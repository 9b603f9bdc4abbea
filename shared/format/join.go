package format

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"sealift/shared/checksum"
	"sealift/shared/format/deflate"
	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/limits"
)

// textJoiner is the part.Joiner of formats that are text: only gzip needs a trailer.
type textJoiner struct {
	compression Compression

	mu     sync.Mutex
	pieces []part.Piece
}

// Add is that of part.Joiner.
func (j *textJoiner) Add(_ context.Context, piece part.Piece) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pieces = append(j.pieces, part.Piece{Number: piece.Number, RawBytes: piece.RawBytes, RawCRC32: piece.RawCRC32})
	return nil
}

// Suffix is that of part.Joiner.
func (j *textJoiner) Suffix() ([]byte, error) {
	if j.compression != Gzip {
		return nil, nil
	}
	slices.SortFunc(j.pieces, func(a, b part.Piece) int { return a.Number - b.Number })
	var raw checksum.CRC32
	var rawBytes int64
	for _, piece := range j.pieces {
		raw = raw.Combine(checksum.CRC32(piece.RawCRC32), piece.RawBytes)
		rawBytes += piece.RawBytes
	}
	suffix := []byte(deflate.End)
	suffix = binary.LittleEndian.AppendUint32(suffix, uint32(raw))
	// RFC 1952 keeps the size modulo 2^32.
	return binary.LittleEndian.AppendUint32(suffix, uint32(uint64(rawBytes))), nil
}

// FooterFits tells whether the footer of one file of about so many rows and shards may fit limits.FooterBytesMax. It is
// asked before the work: false means that even half of the rows would not.
func FooterFits(spec Spec, rows int64, shards int) bool {
	if spec.Format != Parquet {
		return true
	}
	groups := max(int64(shards), rows/limits.GroupRows)
	return groups*int64(len(spec.Columns))*parquet.ChunkBytes <= 2*limits.FooterBytesMax
}
