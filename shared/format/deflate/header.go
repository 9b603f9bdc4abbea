package deflate

// headerBytesMax is more than the header, the end and the flush of a block take.
const headerBytesMax = 512

// run is a code length symbol and its extra bits (RFC 1951, section 3.2.7).
type run struct{ symbol, extra, width uint8 }

const (
	repeatZeros, repeatZerosLong       = 17, 18
	repeatZerosLeast, repeatZerosShort = 3, 10
	repeatZerosLongLeast               = 11
	repeatZerosMost                    = 138
)

// header writes what a block with dynamic codes begins with.
func (c *coder) header(w *bitWriter) {
	copy(c.sizes[:literalMax], c.literal.sizes[:])
	copy(c.sizes[literalMax:], c.distance.sizes[:distanceMax])
	runs := c.runs[:0]
	var counts [codeLengthsMax]uint32
	for i := 0; i < len(c.sizes); {
		n := 1
		for c.sizes[i] == 0 && i+n < len(c.sizes) && c.sizes[i+n] == 0 && n < repeatZerosMost {
			n++
		}
		one := run{symbol: c.sizes[i]}
		switch {
		case n > repeatZerosShort:
			one = run{repeatZerosLong, uint8(n - repeatZerosLongLeast), 7}
		case n >= repeatZerosLeast:
			one = run{repeatZeros, uint8(n - repeatZerosLeast), 3}
		default:
			n = 1
		}
		runs = append(runs, one)
		counts[one.symbol]++
		i += n
	}
	c.lengths.build(counts[:], codeLengthBits)
	const dynamic = 2
	w.put(dynamic<<1, 3)
	w.put(literalMax-lengthBase, 5)
	w.put(distanceMax-1, 5)
	w.put(codeLengthsMax-4, 4)
	for _, symbol := range [codeLengthsMax]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		w.put(uint64(c.lengths.sizes[symbol]), 3)
	}
	for _, one := range runs {
		w.put(uint64(c.lengths.bits[one.symbol]), uint(c.lengths.sizes[one.symbol]))
		w.put(uint64(one.extra), uint(one.width))
	}
}

// bitWriter appends bits, the first in the lowest bit of a byte.
type bitWriter struct {
	dst []byte
	// acc holds n bits, fewer than eight, that don't fill a byte yet.
	acc uint64
	n   uint
}

// put appends the n bits of v, at most 48.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v << w.n
	w.n += n
	for w.n >= 8 {
		w.dst = append(w.dst, byte(w.acc))
		w.acc >>= 8
		w.n -= 8
	}
}

// flush ends at a byte boundary with an empty stored block and returns what was written.
func (w *bitWriter) flush() []byte {
	const stored, boundary = 0, 7
	w.put(stored, 3)
	w.put(0, (8-w.n)&boundary)
	return append(w.dst, 0, 0, 0xff, 0xff)
}
