package parquet

import (
	"encoding/binary"
	"math"

	"sealift/shared/job"
)

// magic begins and ends a file.
const magic = "PAR1"

// endBytes are what follows a footer: its length and the magic.
const endBytes = 4 + len(magic)

// The format's numbers for encodings.
const (
	encodingPlain      = 0
	encodingRLE        = 3
	encodingDictionary = 8
)

// group is the metadata of a row group. Its column chunks stand one after the other without gaps.
type group struct {
	rows int64
	// offset is where its first page begins in the file.
	offset int64
	chunks []chunk
}

// chunk is the metadata of one column of a row group.
type chunk struct {
	// dictionary is the size of its dictionary page with its header, 0 when it has none.
	dictionary int64
	// raw and stored are the sizes of all pages with their headers, before and after compression.
	raw, stored int64
	nulls       int64
	bounds      bounds
}

// bounds are the least and the greatest value of a chunk in PLAIN encoding, bytes without their length.
type bounds struct {
	known               bool
	low, high           []byte
	lowExact, highExact bool
}

// stored is the size of all chunks.
func (g group) stored() int64 {
	var total int64
	for _, c := range g.chunks {
		total += c.stored
	}
	return total
}

// appendGroup appends the encoded metadata of a row group.
func (s *schema) appendGroup(dst []byte, g group) []byte {
	w := thriftWriter{buf: dst}
	w.element()
	w.list(1, thriftStruct, len(g.chunks))
	offset, raw := g.offset, int64(0)
	for i, c := range g.chunks {
		s.appendChunk(&w, i, c, g.rows, offset)
		offset += c.stored
		raw += c.raw
	}
	w.int64(2, raw)
	w.int64(3, g.rows)
	w.int64(5, g.offset)
	w.int64(6, offset-g.offset)
	w.end()
	return w.buf
}

func (s *schema) appendChunk(w *thriftWriter, i int, c chunk, rows, offset int64) {
	w.element()
	// Where a copy of the metadata stands; there is none.
	w.int64(2, 0)
	w.begin(3)
	w.int32(1, int32(s.storage[i]))
	encodings := []int64{encodingPlain, encodingRLE, encodingDictionary}
	if c.dictionary == 0 {
		encodings = encodings[:2]
	}
	w.list(2, thriftI32, len(encodings))
	for _, encoding := range encodings {
		w.zigzag(encoding)
	}
	w.list(3, thriftBinary, 1)
	w.stringElement(s.names[i])
	w.int32(4, int32(s.codec))
	w.int64(5, rows)
	w.int64(6, c.raw)
	w.int64(7, c.stored)
	w.int64(9, offset+c.dictionary)
	if c.dictionary > 0 {
		w.int64(11, offset)
	}
	w.begin(12)
	w.int64(3, c.nulls)
	if c.bounds.known {
		w.bytes(5, c.bounds.high)
		w.bytes(6, c.bounds.low)
		if s.storage[i] == storedBytes {
			w.bool(7, c.bounds.highExact)
			w.bool(8, c.bounds.lowExact)
		}
	}
	w.end()
	w.end()
	w.end()
}

// readGroup reads what appendGroup appends. Whether that is exactly what was read is for the caller to compare; the
// sizes are checked here to be none that arithmetic could overflow with.
func (s *schema) readGroup(r *thriftReader) group {
	r.element()
	if n := r.list(1, thriftStruct); n != len(s.names) {
		r.fail()
		return group{}
	}
	g := group{chunks: make([]chunk, len(s.names))}
	for i := range g.chunks {
		g.chunks[i] = s.readChunk(r, i)
	}
	r.int64(2)
	g.rows = r.int64(3)
	g.offset = r.int64(5)
	r.int64(6)
	r.end()
	const most = math.MaxInt64 >> 16
	sane := g.rows > 0 && g.rows <= most && g.offset >= 0 && g.offset <= most
	for _, c := range g.chunks {
		sane = sane && c.dictionary >= 0 && c.dictionary <= c.stored && c.stored > 0 && c.stored <= most && c.raw > 0 &&
			c.raw <= most && c.nulls >= 0 && c.nulls <= g.rows
	}
	if !sane {
		r.fail()
	}
	return g
}

func (s *schema) readChunk(r *thriftReader, i int) chunk {
	c := chunk{}
	r.element()
	r.int64(2)
	r.begin(3)
	r.int32(1)
	for range r.list(2, thriftI32) {
		r.zigzag()
	}
	for range r.list(3, thriftBinary) {
		r.bytesElement()
	}
	r.int32(4)
	r.int64(5)
	c.raw = r.int64(6)
	c.stored = r.int64(7)
	data := r.int64(9)
	if _, ok := r.peek(11); ok {
		c.dictionary = data - r.int64(11)
	}
	r.begin(12)
	c.nulls = r.int64(3)
	if _, ok := r.peek(5); ok {
		c.bounds.known = true
		c.bounds.high, c.bounds.low = r.bytes(5), r.bytes(6)
		c.bounds.highExact, c.bounds.lowExact = true, true
		if s.storage[i] == storedBytes {
			c.bounds.highExact, c.bounds.lowExact = r.bool(7), r.bool(8)
		}
	}
	r.end()
	r.end()
	r.end()
	return c
}

// footerLength is how long the footer is that the last bytes of a file speak of.
func footerLength(end []byte) (n int64, ok bool) {
	if len(end) < endBytes || string(end[len(end)-len(magic):]) != magic {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint32(end[len(end)-endBytes:])), true
}

// readFooter checks that footer, without its length and the magic, is one of this schema, and returns a reader that
// stands before the row groups and their number. What follows them is for the caller to compare with tail.
func (s *schema) readFooter(footer []byte) (r *thriftReader, rows int64, count int, err error) {
	if len(footer) < len(s.head) || string(footer[:len(s.head)]) != string(s.head) {
		return nil, 0, 0, errForeign
	}
	r = &thriftReader{buf: footer[len(s.head):]}
	r.last[0] = 2
	rows = r.int64(3)
	count = r.list(4, thriftStruct)
	return r, rows, count, r.err
}

// errForeign tells of a footer with other columns.
var errForeign = job.Errorf(job.Permanent, "footer_foreign", "the columns in a footer aren't those of the snapshot")

// appendEnd appends what follows a footer of n bytes.
func appendEnd(dst []byte, n int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	return append(dst, magic...)
}
