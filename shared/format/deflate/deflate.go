// Package deflate owns deflate streams (RFC 1951) that many workers write: blocks are compressed one by one so that what
// comes of them can be joined by plain concatenation. It imports nothing but the compression library; start reading at
// Packer.
package deflate

import (
	"fmt"

	"github.com/klauspost/compress/flate"
)

// End is a final empty block with fixed codes (RFC 1951, section 3.2.6). It ends a stream of packed blocks.
const End = "\x03\x00"

// Packer compresses blocks of one stream: a sync flush ends every block at a byte boundary, and no Packer refers to
// bytes of another. It belongs to one goroutine.
type Packer struct {
	w    *flate.Writer
	sink sink
}

// sink lets a compressor append to the caller's buffer.
type sink struct{ dst []byte }

func (s *sink) Write(data []byte) (int, error) {
	s.dst = append(s.dst, data...)
	return len(data), nil
}

// New returns a Packer that has seen nothing yet.
func New() (*Packer, error) {
	p := &Packer{}
	w, err := flate.NewWriter(&p.sink, flate.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("set up deflate: %w", err)
	}
	p.w = w
	return p, nil
}

// Pack appends the compressed block; nothing for an empty one.
func (p *Packer) Pack(dst, block []byte) ([]byte, error) {
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
