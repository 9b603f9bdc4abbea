package deflate

import (
	"encoding/binary"
	"slices"
)

// coder writes ops as deflate blocks with codes of their own.
type coder struct {
	counts            [2][symbols]uint32
	literal, distance code
	lengths           code
	sizes             [literalMax + distanceMax]uint8
	runs              [literalMax + distanceMax]run
	words             [symbols]word
}

// word is how a symbol is written: its code, the number of the code's bits, and that of these and the extra bits.
type word struct {
	code        uint32
	size, total uint16
}

// append writes the ops as one block.
func (c *coder) append(w *bitWriter, ops []op) {
	c.count(ops)
	c.literal.build(c.counts[0][:literalMax], codeBitsMax)
	c.distance.build(c.counts[0][distanceBase:distanceBase+distanceMax], codeBitsMax)
	size := 0
	for symbol := range c.words {
		var from *code
		at := symbol
		switch {
		case symbol < literalMax:
			from = &c.literal
		case symbol >= distanceBase && symbol < distanceBase+distanceMax:
			from, at = &c.distance, symbol-distanceBase
		default:
			continue
		}
		n := uint16(from.sizes[at])
		total := n + uint16(extraBits(symbol))
		c.words[symbol] = word{uint32(from.bits[at]), n, total}
		size += int(c.counts[0][symbol]) * int(total)
	}
	w.dst = slices.Grow(w.dst, size/8+headerBytesMax)
	c.header(w)
	c.body(w, ops)
	end := c.words[endOfBlock]
	w.put(uint64(end.code), uint(end.total))
}

func (c *coder) count(ops []op) {
	c.counts = [2][symbols]uint32{}
	a, b := &c.counts[0], &c.counts[1]
	for len(ops) >= 4 {
		a[ops[0]&symbolMask]++
		b[ops[1]&symbolMask]++
		a[ops[2]&symbolMask]++
		b[ops[3]&symbolMask]++
		ops = ops[4:]
	}
	for _, o := range ops {
		a[o&symbolMask]++
	}
	for i, n := range b {
		a[i] += n
	}
	a[endOfBlock] = 1
}

// body writes the ops. Two in a row take at most 48 bits, because distances never follow each other.
func (c *coder) body(w *bitWriter, ops []op) {
	buf := w.dst[:cap(w.dst)]
	at, acc, n := len(w.dst), w.acc, w.n
	words := &c.words
	i := 0
	for ; i+1 < len(ops); i += 2 {
		o, p := ops[i], ops[i+1]
		first, second := &words[o&symbolMask], &words[p&symbolMask]
		acc |= (uint64(first.code) | uint64(o>>extraShift)<<(first.size&31)) << (n & 63)
		n += uint(first.total)
		acc |= (uint64(second.code) | uint64(p>>extraShift)<<(second.size&31)) << (n & 63)
		n += uint(second.total)
		binary.LittleEndian.PutUint64(buf[at:], acc)
		at += int(n >> 3)
		acc >>= n & 56
		n &= 7
	}
	w.dst, w.acc, w.n = buf[:at], acc, n
	for _, o := range ops[i:] {
		last := words[o&symbolMask]
		w.put(uint64(last.code)|uint64(o>>extraShift)<<(last.size&31), uint(last.total))
	}
}
