package format

import (
	"fmt"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// packer compresses the blocks of one part so that what it appends for one block can follow what was appended for the
// block before, in this part or in any other. Every part has a packer of its own, so that its bytes depend on its blocks
// and on nothing else whoever writes it. Another release of the compression library may give other bytes for the same
// rows, but every mixture of parts is a valid file.
type packer interface {
	// pack appends the compressed block.
	pack(dst, block []byte) ([]byte, error)
}

// newPacker returns the packer of a valid spec.
func newPacker(spec Spec) (packer, error) {
	switch spec.Compression {
	case Gzip:
		return newGzipPacker()
	case Zstd:
		return newZstdPacker()
	case None:
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

func (plain) pack(dst, block []byte) ([]byte, error) { return append(dst, block...), nil }

// gzipHeader begins the one gzip member of a file (RFC 1952): deflate, no flags, no time, fastest, unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// deflateEnd is a final empty deflate block with fixed codes (RFC 1951, section 3.2.6).
const deflateEnd = "\x03\x00"

// gzipPacker writes one deflate stream for the whole file: a sync flush ends every block at a byte boundary, and no
// part refers to bytes of another.
type gzipPacker struct {
	w    *flate.Writer
	sink sink
}

// sink lets a compressor append to the caller's buffer.
type sink struct{ dst []byte }

func (s *sink) Write(data []byte) (int, error) {
	s.dst = append(s.dst, data...)
	return len(data), nil
}

func newGzipPacker() (*gzipPacker, error) {
	p := &gzipPacker{}
	w, err := flate.NewWriter(&p.sink, flate.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("set up deflate: %w", err)
	}
	p.w = w
	return p, nil
}

func (p *gzipPacker) pack(dst, block []byte) ([]byte, error) {
	if len(block) == 0 {
		return dst, nil
	}
	p.sink.dst = dst
	defer func() { p.sink.dst = nil }()
	if _, err := p.w.Write(block); err != nil {
		return nil, fmt.Errorf("deflate a block of %d bytes: %w", len(block), err)
	}
	if err := p.w.Flush(); err != nil {
		return nil, fmt.Errorf("flush a block of %d bytes: %w", len(block), err)
	}
	return p.sink.dst, nil
}

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

// pack also writes a frame for an empty block, so that a file without a byte of text is still a zstd file.
func (p *zstdPacker) pack(dst, block []byte) ([]byte, error) { return p.w.EncodeAll(block, dst), nil }
