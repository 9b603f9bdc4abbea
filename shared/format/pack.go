package format

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"sealift/shared/format/deflate"
)

// packer compresses the blocks of one part so that what it appends for one block can follow what was appended for the
// block before, in this part or in any other. Every part has a packer of its own, so that its bytes depend on its blocks
// and on nothing else whoever writes it. Another release of the compressors may give other bytes for the same rows, but
// every mixture of parts is a valid file.
type packer interface {
	// Pack appends the compressed block.
	Pack(dst []byte, block deflate.Block) ([]byte, error)
}

// newPacker returns the packer of a valid spec.
func newPacker(spec Spec) (packer, error) {
	switch spec.Compression {
	case Gzip:
		return deflate.New()
	case Zstd:
		return newZstdPacker()
	case None, Snappy:
	}
	return plain{}, nil
}

// prefix is what the file begins with before its first block.
func prefix(spec Spec) string {
	if spec.Compression == Gzip {
		return gzipHeader
	}
	return ""
}

// plain stores blocks as they are.
type plain struct{}

func (plain) Pack(dst []byte, block deflate.Block) ([]byte, error) {
	return append(dst, block.Text...), nil
}

// gzipHeader begins the one gzip member of a file (RFC 1952): deflate, no flags, no time, fastest, unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// zstdWindowBytes bounds what a reader must remember.
const zstdWindowBytes = 1 << 20

// zstdPacker writes each block as a frame of its own with its size and checksum (RFC 8878).
type zstdPacker struct{ w *zstd.Encoder }

func newZstdPacker() (*zstdPacker, error) {
	w, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(zstdWindowBytes),
		zstd.WithEncoderCRC(true),
		zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	return &zstdPacker{w: w}, nil
}

// Pack also writes a frame for an empty block, so that a file without a byte of text is still a zstd file.
func (p *zstdPacker) Pack(dst []byte, block deflate.Block) ([]byte, error) {
	return p.w.EncodeAll(block.Text, dst), nil
}
