package parquet

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"sealift/shared/checksum"
)

// The format's numbers for pages.
const (
	pageData       = 0
	pageDictionary = 2
)

// pageHeader is what stands before a page's bytes.
type pageHeader struct {
	// kind is pageData or pageDictionary.
	kind int32
	// raw and stored are the sizes of the page without this header, before and after compression.
	raw, stored int
	crc         uint32
	// values is the number of rows, or of entries of a dictionary.
	values int
	// dictionary tells that the values are numbers of entries.
	dictionary bool
}

func (h pageHeader) append(dst []byte) []byte {
	w := thriftWriter{buf: dst}
	w.element()
	w.int32(1, h.kind)
	w.int32(2, int32(h.raw))
	w.int32(3, int32(h.stored))
	w.int32(4, int32(h.crc))
	if h.kind == pageDictionary {
		w.begin(7)
		w.int32(1, int32(h.values))
		w.int32(2, encodingPlain)
		w.end()
		w.end()
		return w.buf
	}
	w.begin(5)
	w.int32(1, int32(h.values))
	encoding := int32(encodingPlain)
	if h.dictionary {
		encoding = encodingDictionary
	}
	w.int32(2, encoding)
	w.int32(3, encodingRLE)
	w.int32(4, encodingRLE)
	w.end()
	w.end()
	return w.buf
}

// readPageHeader reads what append appends and returns what follows it.
func readPageHeader(buf []byte) (h pageHeader, rest []byte, err error) {
	r := &thriftReader{buf: buf}
	r.element()
	h.kind = r.int32(1)
	h.raw, h.stored = int(r.int32(2)), int(r.int32(3))
	h.crc = uint32(r.int32(4))
	if h.kind == pageDictionary {
		r.begin(7)
		h.values = int(r.int32(1))
		r.int32(2)
	} else {
		r.begin(5)
		h.values = int(r.int32(1))
		h.dictionary = r.int32(2) == encodingDictionary
		r.int32(3)
		r.int32(4)
	}
	r.end()
	r.end()
	if r.err != nil {
		return pageHeader{}, nil, r.err
	}
	header := buf[:len(buf)-len(r.buf)]
	if h.raw < 0 || h.stored < 0 || h.values < 0 || string(h.append(nil)) != string(header) {
		return pageHeader{}, nil, errThrift
	}
	return h, r.buf, nil
}

// compressor compresses the pages of one part. Every part has one of its own, so that its bytes depend on nothing else.
type compressor struct {
	codec  Codec
	zstd   *zstd.Encoder
	packed []byte
}

// zstdWindowBytes bounds what a reader must remember.
const zstdWindowBytes = 1 << 20

func newCompressor(codec Codec) (*compressor, error) {
	c := &compressor{codec: codec}
	if codec != Zstd {
		return c, nil
	}
	var err error
	// A page has a checksum of its own.
	c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindowBytes), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	return c, nil
}

// appendPage appends the page whose body is raw with its header, and returns its size before compression, header
// included.
func (c *compressor) appendPage(dst []byte, h pageHeader, raw []byte) ([]byte, int64) {
	body := raw
	switch c.codec {
	case Zstd:
		c.packed = c.zstd.EncodeAll(raw, c.packed[:0])
		body = c.packed
	case Snappy:
		c.packed = s2.EncodeSnappy(c.packed[:cap(c.packed)], raw)
		body = c.packed
	case Uncompressed:
	}
	h.raw, h.stored, h.crc = len(raw), len(body), uint32(checksum.Sum32(body))
	start := len(dst)
	dst = h.append(dst)
	header := len(dst) - start
	return append(dst, body...), int64(header + len(raw))
}

// appendLevels appends the definition levels of a page of n rows, after their length: one run when all are alike, else
// the bits of valid as they are.
func appendLevels(dst, valid []byte, n, nulls int) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	switch nulls {
	case 0:
		dst = append(binary.AppendUvarint(dst, uint64(n)<<1), 1)
	case n:
		dst = append(binary.AppendUvarint(dst, uint64(n)<<1), 0)
	default:
		groups := (n + 7) / 8
		dst = append(binary.AppendUvarint(dst, uint64(groups)<<1|1), valid[:groups]...)
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendNumbers appends numbers of a dictionary with so many entries: the width in bits, then one run when all are
// alike, else their bits.
func appendNumbers(dst []byte, numbers []uint16, entries int) []byte {
	width := numberWidth(entries)
	dst = append(dst, byte(width))
	if len(numbers) == 0 {
		return dst
	}
	if alike(numbers) {
		dst = append(binary.AppendUvarint(dst, uint64(len(numbers))<<1), byte(numbers[0]))
		if width > 8 {
			dst = append(dst, byte(numbers[0]>>8))
		}
		return dst
	}
	groups := (len(numbers) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	var open uint64
	filled := 0
	for _, number := range numbers {
		open |= uint64(number) << filled
		for filled += width; filled >= 8; filled -= 8 {
			dst = append(dst, byte(open))
			open >>= 8
		}
	}
	// The last group is filled up with zeros.
	for rest := (groups*8-len(numbers))*width + filled; rest > 0; rest -= 8 {
		dst = append(dst, byte(open))
		open >>= 8
	}
	return dst
}

// numberWidth is how many bits a number of an entry takes. It is never 0, which some readers don't know.
func numberWidth(entries int) int { return max(1, bits.Len(uint(entries-1))) }

func alike(numbers []uint16) bool {
	for _, number := range numbers[1:] {
		if number != numbers[0] {
			return false
		}
	}
	return true
}

// trim gives back what a large page took.
func (c *compressor) trim() {
	if cap(c.packed) > keptBytesMax {
		c.packed = nil
	}
}
