package parquet

import (
	"encoding/binary"
	"errors"
)

// The types of Thrift's compact protocol as its field and list headers number them. The protocol is described in
// "Thrift Compact protocol encoding" of Apache Thrift's documentation.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thriftDepthMax is how deep the structures of a footer nest, with room.
const thriftDepthMax = 8

// thriftWriter appends structures in the compact protocol. Fields must come in the order of their ids.
type thriftWriter struct {
	buf []byte
	// last are the ids of the last fields of the open structures.
	last  [thriftDepthMax]int16
	depth int
}

func (w *thriftWriter) field(id int16, kind byte) {
	delta := id - w.last[w.depth]
	w.last[w.depth] = id
	w.buf = append(w.buf, byte(delta)<<4|kind)
}

// begin opens the structure that is field id; end closes it.
func (w *thriftWriter) begin(id int16) {
	w.field(id, thriftStruct)
	w.element()
}

// element opens a structure that is an element of a list.
func (w *thriftWriter) element() {
	w.depth++
	w.last[w.depth] = 0
}

func (w *thriftWriter) end() {
	w.buf = append(w.buf, 0)
	w.depth--
}

func (w *thriftWriter) int32(id int16, v int32) {
	w.field(id, thriftI32)
	w.zigzag(int64(v))
}

func (w *thriftWriter) int64(id int16, v int64) {
	w.field(id, thriftI64)
	w.zigzag(v)
}

func (w *thriftWriter) bool(id int16, v bool) {
	kind := byte(thriftFalse)
	if v {
		kind = thriftTrue
	}
	w.field(id, kind)
}

func (w *thriftWriter) bytes(id int16, v []byte) {
	w.field(id, thriftBinary)
	w.buf = binary.AppendUvarint(w.buf, uint64(len(v)))
	w.buf = append(w.buf, v...)
}

func (w *thriftWriter) string(id int16, v string) {
	w.field(id, thriftBinary)
	w.stringElement(v)
}

func (w *thriftWriter) stringElement(v string) {
	w.buf = binary.AppendUvarint(w.buf, uint64(len(v)))
	w.buf = append(w.buf, v...)
}

// list begins the list that is field id; its n elements follow.
func (w *thriftWriter) list(id int16, kind byte, n int) {
	w.field(id, thriftList)
	if n < 15 {
		w.buf = append(w.buf, byte(n)<<4|kind)
		return
	}
	w.buf = append(w.buf, 0xf0|kind)
	w.buf = binary.AppendUvarint(w.buf, uint64(n))
}

func (w *thriftWriter) zigzag(v int64) { w.buf = binary.AppendVarint(w.buf, v) }

// errThrift is what a thriftReader finds: the bytes aren't what a thriftWriter appends for the same structure.
var errThrift = errors.New("the metadata isn't as this program writes it")

// thriftReader reads what thriftWriter writes, field by field in the same order. It knows no other fields: a structure
// with more than that isn't of this program. The first fault stays in err and everything after it reads as zero.
type thriftReader struct {
	buf   []byte
	last  [thriftDepthMax]int16
	depth int
	err   error
}

func (r *thriftReader) fail() {
	r.err = errThrift
	r.buf = nil
}

// peek reports whether the next field has this id, and its type.
func (r *thriftReader) peek(id int16) (kind byte, ok bool) {
	if len(r.buf) == 0 || int16(r.buf[0]>>4) != id-r.last[r.depth] || r.buf[0] == 0 {
		return 0, false
	}
	return r.buf[0] & 15, true
}

func (r *thriftReader) field(id int16, kind byte) {
	if found, ok := r.peek(id); !ok || found != kind {
		r.fail()
		return
	}
	r.buf = r.buf[1:]
	r.last[r.depth] = id
}

func (r *thriftReader) begin(id int16) {
	r.field(id, thriftStruct)
	r.element()
}

func (r *thriftReader) element() {
	r.depth++
	r.last[r.depth] = 0
}

func (r *thriftReader) end() {
	if len(r.buf) == 0 || r.buf[0] != 0 {
		r.fail()
	} else {
		r.buf = r.buf[1:]
	}
	r.depth--
}

func (r *thriftReader) int32(id int16) int32 {
	r.field(id, thriftI32)
	v := r.zigzag()
	if int64(int32(v)) != v {
		r.fail()
	}
	return int32(v)
}

func (r *thriftReader) int64(id int16) int64 {
	r.field(id, thriftI64)
	return r.zigzag()
}

func (r *thriftReader) bool(id int16) bool {
	kind, ok := r.peek(id)
	if !ok || kind != thriftTrue && kind != thriftFalse {
		r.fail()
		return false
	}
	r.field(id, kind)
	return kind == thriftTrue
}

// bytes are part of what is read.
func (r *thriftReader) bytes(id int16) []byte {
	r.field(id, thriftBinary)
	return r.bytesElement()
}

func (r *thriftReader) bytesElement() []byte {
	n := r.uvarint()
	if n > uint64(len(r.buf)) {
		r.fail()
		return nil
	}
	v := r.buf[:n:n]
	r.buf = r.buf[n:]
	return v
}

// list reads the head of the list that is field id and returns how many elements follow.
func (r *thriftReader) list(id int16, kind byte) int {
	r.field(id, thriftList)
	if len(r.buf) == 0 || r.buf[0]&15 != kind {
		r.fail()
		return 0
	}
	n := uint64(r.buf[0] >> 4)
	r.buf = r.buf[1:]
	if n == 15 {
		n = r.uvarint()
	}
	// Every element takes a byte at least.
	if n > uint64(len(r.buf)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *thriftReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.buf)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.buf = r.buf[n:]
	return v
}

func (r *thriftReader) zigzag() int64 {
	v, n := binary.Varint(r.buf)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.buf = r.buf[n:]
	return v
}
