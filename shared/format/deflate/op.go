package deflate

import "math/bits"

// op is one symbol of a compressed block and what follows it: the symbol in the lower half, the value of its extra bits
// in the upper. Symbols 0 to 255 are bytes, 256 ends a block, 257 to 285 are lengths of matches (RFC 1951, section
// 3.2.5); distances, whose codes are their own, are numbered from distanceBase on and follow their length.
type op uint32

const (
	symbols      = 512
	symbolMask   = symbols - 1
	extraShift   = 16
	endOfBlock   = 256
	lengthBase   = 257
	literalMax   = 286
	distanceBase = 288
	distanceMax  = 30

	matchMin = 3
	matchMax = 258
)

// lengthOp is the op of a match of n bytes.
func lengthOp(n int) op {
	if n < matchMin {
		return 0
	}
	if n == matchMax {
		return literalMax - 1
	}
	symbol, extra := split(uint32(n-matchMin), 2)
	return op(lengthBase+symbol) | op(extra)<<extraShift
}

// distanceOp is the op of a distance, from 1.
func distanceOp(distance int) op {
	symbol, extra := split(uint32(distance-1), 1)
	return op(distanceBase+symbol) | op(extra)<<extraShift
}

// split is how deflate spells a number, from 0: as one of its ranges, of which 1<<precision have the same size, and
// extra bits that say where in the range. Lengths have precision 2 and distances 1.
func split(n uint32, precision int) (symbol, extra uint32) {
	width := max(bits.Len32(n)-1-precision, 0)
	return uint32(width)<<precision + n>>width, n & (1<<width - 1)
}

// extraBits is how many extra bits a symbol has.
func extraBits(symbol int) int {
	switch {
	case symbol >= distanceBase:
		return max((symbol-distanceBase)/2-1, 0)
	case symbol >= lengthBase && symbol < literalMax-1:
		return max((symbol-lengthBase)/4-1, 0)
	}
	return 0
}
