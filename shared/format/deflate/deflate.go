// Package deflate owns deflate streams (RFC 1951) that many workers write, and a compressor for the rows of tables: blocks
// are compressed one by one, so that what comes of them can be joined by plain concatenation, and a block may say where
// the values of its rows begin. It imports nothing but the compression library, for text without such rows; start reading
// at Packer.Pack, and for the rows at finder.
package deflate

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/flate"
)

// End is a final empty block with fixed codes (RFC 1951, section 3.2.6). It ends a stream of packed blocks.
const End = "\x03\x00"

// Block is a piece of text and what is known of its structure.
type Block struct {
	Text []byte
	// Values are where in Text values begin: row by row, Width of them a row, none before another. Text may have more
	// than rows at both ends. Without Values it is text like any other.
	Values []uint32
	Width  int
}

// Row makes room for the next row's Values and returns it.
func (b *Block) Row() []uint32 {
	n := len(b.Values)
	b.Values = slices.Grow(b.Values, b.Width)[:n+b.Width]
	return b.Values[n:]
}

// DropRow forgets what the last Row made room for.
func (b *Block) DropRow() { b.Values = b.Values[:len(b.Values)-b.Width] }

// cut is the text of the block from from to to, with the values that begin there.
func (b *Block) cut(from, to int) Block {
	first, _ := slices.BinarySearch(b.Values, uint32(from))
	last, _ := slices.BinarySearch(b.Values, uint32(to))
	piece := Block{Text: b.Text[from:to], Values: slices.Clone(b.Values[first:last]), Width: b.Width}
	for i := range piece.Values {
		piece.Values[i] -= uint32(from)
	}
	return piece
}

// Reset empties the block and keeps its memory.
func (b *Block) Reset() { b.Text, b.Values = b.Text[:0], b.Values[:0] }

// Packer compresses the blocks of one stream: a sync flush ends every block at a byte boundary, and no Packer refers to
// bytes of another. What it writes depends on its blocks and on nothing else. It has about 1.5 MiB of memory and belongs
// to one goroutine.
type Packer struct {
	general *flate.Writer
	sink    sink
	// rows is nil until rows have come. own tells that it compresses them, and due that the next are tried again.
	rows     *rows
	own, due bool
	// share is how much, in 1024ths, the block took that was tried last.
	share int
}

// sink lets the library append to the caller's buffer.
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
	p.general = w
	return p, nil
}

// Pack appends the compressed block; nothing for an empty one.
func (p *Packer) Pack(dst []byte, block Block) ([]byte, error) {
	if len(block.Text) == 0 {
		return dst, nil
	}
	if len(block.Values) == 0 {
		if p.own {
			// The library would refer to text of its own that rows may have come behind.
			p.general.Reset(&p.sink)
		}
		return p.pack(dst, block.Text)
	}
	tried := p.rows == nil || p.due
	if tried {
		if err := p.try(block); err != nil {
			return nil, err
		}
	}
	from := len(dst)
	if p.own {
		dst = p.rows.pack(dst, block)
	} else {
		var err error
		if dst, err = p.pack(dst, block.Text); err != nil {
			return nil, err
		}
	}
	if size := len(block.Text); size > 2*trialBytes {
		p.judge((len(dst)-from)*shareWhole/size, tried)
	}
	return dst, nil
}

const (
	// trialBytes is how much of a block is compressed in both ways, at its beginning and at its end, to see which is better.
	trialBytes = 32 << 10
	// trialShift says how much larger rows may be than what the library makes of them: a 32nd. They take less time.
	trialShift = 5

	shareWhole = 1024
	// shareSlack is by how much the share of a block may differ beside a quarter of it before rows count as others.
	shareSlack = 16
)

// judge sees by what a block took whether the rows have become others than those that were tried: a column that was empty
// is filled from here on, or texts have become long. The next block is then tried too. A small block is no measure.
func (p *Packer) judge(share int, tried bool) {
	if tried {
		p.share = share
	}
	p.due = max(share-p.share, p.share-share) > p.share/4+shareSlack
}

// try chooses how rows are compressed from here on, by the ends of a block.
func (p *Packer) try(block Block) error {
	if p.rows == nil {
		p.rows = newRows()
	}
	ends := []Block{block}
	if size := len(block.Text); size > 2*trialBytes {
		ends = []Block{block.cut(0, trialBytes), block.cut(size-trialBytes, size)}
	}
	own, general := 0, 0
	for _, end := range ends {
		text, err := p.pack(nil, end.Text)
		if err != nil {
			return err
		}
		// What was tried is no part of the stream.
		p.general.Reset(&p.sink)
		general += len(text)
		own += len(p.rows.pack(nil, end))
	}
	p.own = own <= general+general>>trialShift
	return nil
}

// pack appends what the library makes of text.
func (p *Packer) pack(dst, text []byte) ([]byte, error) {
	p.sink.dst = dst
	defer func() { p.sink.dst = nil }()
	if _, err := p.general.Write(text); err != nil {
		return nil, fmt.Errorf("deflate a block of %d bytes: %w", len(text), err)
	}
	if err := p.general.Flush(); err != nil {
		return nil, fmt.Errorf("flush a block of %d bytes: %w", len(text), err)
	}
	return p.sink.dst, nil
}
