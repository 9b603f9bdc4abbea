package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"sealift/shared/checksum"
	"sealift/shared/limits"
)

// cursor reads the values of one column chunk after the other.
type cursor struct {
	file    io.ReaderAt
	storage storage
	utf8    bool
	decoder *decompressor

	chunk chunk
	// at is where the next page begins, until is the chunk's end.
	at, until int64
	// rows is how many rows of the chunk no page has given yet; raw adds up the sizes of the pages.
	rows, raw int64
	seen      statistics

	// entries are the values of the dictionary.
	entries    [][]byte
	dictionary []byte

	// page is the open page; left is how many of its rows are still to come, of index rows before.
	page        []byte
	stored      []byte
	left, index int
	valid       levels
	values      []byte
	bools       int
	numbers     *numbers
}

var errPage = errors.New("a page isn't as this program writes it; the file was changed")

// open begins a chunk that stands at a place in the file.
func (c *cursor) open(m chunk, at, rows int64) {
	c.chunk, c.at, c.until, c.rows, c.raw = m, at, at+m.stored, rows, 0
	c.seen, c.entries, c.left = statistics{}, c.entries[:0], 0
}

// next returns the next value; its text is valid until the next call.
func (c *cursor) next() (cell, error) {
	if c.left == 0 {
		if err := c.load(); err != nil {
			return cell{}, err
		}
	}
	c.left--
	c.index++
	if !c.valid.bit(c.index - 1) {
		c.seen.nulls++
		return cell{null: true}, nil
	}
	value, err := c.value()
	if err != nil {
		return cell{}, err
	}
	if c.utf8 && c.storage == storedBytes && !utf8.Valid(value.text) {
		return cell{}, errors.New("a text isn't UTF-8")
	}
	c.seen.add(c.storage, &value)
	return value, nil
}

// emptied reports whether nothing is left of the page.
func (c *cursor) emptied() bool {
	return c.left == 0 && (c.storage != storedBytes || len(c.values) == 0)
}

// end checks that the chunk ends here and that the footer says the truth of it.
func (c *cursor) end() error {
	switch {
	case !c.emptied() || c.rows > 0 || c.at != c.until || c.raw != c.chunk.raw:
		return errPage
	case c.seen.nulls != c.chunk.nulls || !c.seen.bounds(c.storage, c.utf8).equal(c.chunk.bounds):
		return errors.New("the statistics in the footer aren't those of the values")
	}
	return nil
}

// load reads the next page, and the dictionary before it.
func (c *cursor) load() error {
	if !c.emptied() {
		return errPage
	}
	h, header, err := c.readPage()
	if err != nil {
		return err
	}
	if h.kind == pageDictionary {
		if len(c.entries) > 0 || c.storage != storedBytes || h.values > entriesMax || int64(header+h.stored) != c.chunk.dictionary {
			return errPage
		}
		c.dictionary = append(c.dictionary[:0], c.page...)
		if err := c.readEntries(h.values); err != nil {
			return err
		}
		if h, _, err = c.readPage(); err != nil {
			return err
		}
	}
	if h.kind != pageData || h.values == 0 || int64(h.values) > c.rows {
		return errPage
	}
	c.rows -= int64(h.values)
	c.left, c.index, c.bools = h.values, 0, 0
	rest := c.page
	if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
		return errPage
	}
	n := int(binary.LittleEndian.Uint32(rest))
	if c.valid, err = readLevels(rest[4:4+n], h.values); err != nil {
		return err
	}
	c.values, c.numbers = rest[4+n:], nil
	if h.dictionary {
		c.numbers, err = readNumbers(c.values, c.valid.count, len(c.entries))
		c.values = nil
		return err
	}
	if c.storage != storedBytes && len(c.values) != valuesBytes(c.storage, c.valid.count) {
		return errPage
	}
	return nil
}

// valuesBytes is the size of n values that aren't bytes.
func valuesBytes(s storage, n int) int {
	if s == storedBool {
		return (n + 7) / 8
	}
	return n * s.size()
}

// readPage reads the header and the body of the next page.
func (c *cursor) readPage() (h pageHeader, header int, err error) {
	const headerBytesMax = 64
	head, err := readAt(c.file, c.at, min(c.at+headerBytesMax, c.until))
	if err != nil {
		return h, 0, err
	}
	h, rest, err := readPageHeader(head)
	if err != nil {
		return h, 0, err
	}
	header = len(head) - len(rest)
	if int64(header+h.stored) > c.until-c.at || h.raw > pageBytesMax {
		return h, 0, errPage
	}
	if cap(c.stored) < h.stored || cap(c.stored) > keptBytesMax {
		c.stored = make([]byte, 0, h.stored)
	}
	c.stored = c.stored[:h.stored]
	if err := readFull(c.file, c.stored, c.at+int64(header)); err != nil {
		return h, 0, err
	}
	if uint32(checksum.Sum32(c.stored)) != h.crc {
		return h, 0, fmt.Errorf("the page at byte %d doesn't have its checksum", c.at)
	}
	if c.page, err = c.decoder.decode(c.page, c.stored, h.raw); err != nil {
		return h, 0, err
	}
	c.at += int64(header + h.stored)
	c.raw += int64(header + h.raw)
	return h, header, nil
}

// pageBytesMax bounds what a page may claim to hold: the largest row, what was open before it, and levels.
const pageBytesMax = limits.RowReadBytesMax + limits.GroupBytes

func (c *cursor) readEntries(n int) error {
	rest := c.dictionary
	for range n {
		text, after, ok := cutText(rest)
		if !ok {
			return errPage
		}
		c.entries = append(c.entries, text)
		rest = after
	}
	if len(rest) > 0 || n == 0 {
		return errPage
	}
	return nil
}

func cutText(values []byte) (text, rest []byte, ok bool) {
	if len(values) < 4 || uint64(binary.LittleEndian.Uint32(values)) > uint64(len(values)-4) {
		return nil, nil, false
	}
	end := 4 + int(binary.LittleEndian.Uint32(values))
	return values[4:end:end], values[end:], true
}

// value returns the next value that isn't NULL.
func (c *cursor) value() (v cell, err error) {
	if c.numbers != nil {
		number := c.numbers.next()
		if number >= len(c.entries) {
			return cell{}, errPage
		}
		return cell{text: c.entries[number]}, nil
	}
	switch c.storage {
	case storedBytes:
		var ok bool
		if v.text, c.values, ok = cutText(c.values); !ok {
			return cell{}, errPage
		}
		return v, nil
	case storedBool:
		v.low = uint64(c.values[c.bools/8]>>(c.bools%8)) & 1
		c.bools++
		return v, nil
	case storedInt32:
		v.low = uint64(int32(binary.LittleEndian.Uint32(c.values)))
	case storedInt64, storedDouble:
		v.low = binary.LittleEndian.Uint64(c.values)
	case storedFixed:
		v.high, v.low = binary.BigEndian.Uint64(c.values), binary.BigEndian.Uint64(c.values[8:])
	}
	c.values = c.values[c.storage.size():]
	return v, nil
}

// levels say which rows of a page aren't NULL; count is their number.
type levels struct {
	all   bool
	bits  []byte
	count int
}

func (l levels) bit(i int) bool {
	if l.bits == nil {
		return l.all
	}
	return l.bits[i/8]>>(i%8)&1 == 1
}

// readLevels reads what appendLevels appends for n rows behind the length, and nothing else.
func readLevels(buf []byte, n int) (l levels, err error) {
	head, size := binary.Uvarint(buf)
	if size <= 0 {
		return l, errPage
	}
	buf = buf[size:]
	switch {
	case head == uint64(n)<<1 && len(buf) == 1 && buf[0] <= 1:
		l.all, l.count = buf[0] == 1, n*int(buf[0])
	case head == uint64(n+7)/8<<1|1 && len(buf) == (n+7)/8:
		l.bits = buf
		for i := range n {
			if l.bit(i) {
				l.count++
			}
		}
	default:
		return l, errPage
	}
	return l, nil
}

// numbers are the entries that a page of n values names.
type numbers struct {
	width int
	run   bool
	value int
	bits  []byte
	at    int
}

// readNumbers reads what appendNumbers appends. The width is that of the entries when the page was written, which may
// have been fewer.
func readNumbers(buf []byte, n, entries int) (*numbers, error) {
	if len(buf) < 2 || n == 0 || entries == 0 || int(buf[0]) > numberWidth(entries) || buf[0] == 0 {
		return nil, errPage
	}
	p := &numbers{width: int(buf[0])}
	head, size := binary.Uvarint(buf[1:])
	if size <= 0 {
		return nil, errPage
	}
	rest := buf[1+size:]
	switch {
	case head == uint64(n)<<1 && len(rest) == (p.width+7)/8:
		p.run = true
		for i, ch := range rest {
			p.value |= int(ch) << (8 * i)
		}
	case head == uint64(n+7)/8<<1|1 && len(rest) == (n+7)/8*p.width:
		p.bits = rest
	default:
		return nil, errPage
	}
	return p, nil
}

func (p *numbers) next() int {
	if p.run {
		return p.value
	}
	number := 0
	for i := range p.width {
		at := p.at + i
		number |= int(p.bits[at/8]>>(at%8)&1) << i
	}
	p.at += p.width
	return number
}

// decompressor undoes what a compressor does.
type decompressor struct {
	codec Codec
	zstd  *zstd.Decoder
}

func newDecompressor(codec Codec) (*decompressor, error) {
	d := &decompressor{codec: codec}
	if codec != Zstd {
		return d, nil
	}
	var err error
	d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(pageBytesMax))
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	return d, nil
}

// decode returns what data holds, which must be raw bytes, in dst's memory when it is large enough.
func (d *decompressor) decode(dst, data []byte, raw int) ([]byte, error) {
	if cap(dst) < raw || cap(dst) > keptBytesMax {
		dst = make([]byte, 0, raw)
	}
	var err error
	switch d.codec {
	case Zstd:
		dst, err = d.zstd.DecodeAll(data, dst[:0])
	case Snappy:
		var n int
		if n, err = s2.DecodedLen(data); err == nil && n != raw {
			return nil, errPage
		}
		if err == nil {
			dst, err = s2.Decode(dst[:raw], data)
		}
	case Uncompressed:
		dst = append(dst[:0], data...)
	}
	if err != nil {
		return nil, fmt.Errorf("a page can't be decompressed: %w", err)
	}
	if len(dst) != raw {
		return nil, errPage
	}
	return dst, nil
}
