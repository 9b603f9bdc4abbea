package checksum

import "fmt"

// nvme is the polynomial of CRC-64/NVME, bits reflected (NVM Express NVM Command Set Specification 1.0, section 5.2.1).
const nvme = 0x9a6c9329ac4bc9b5

// reflected is arithmetic on polynomials over GF(2) modulo a CRC's polynomial, the most significant bit standing for
// x^0 as reflected CRCs have it.
type reflected struct {
	polynomial uint64
	// one is the polynomial x^0.
	one uint64
}

// multiply returns a(x)·b(x) modulo the polynomial.
func (r reflected) multiply(a, b uint64) uint64 {
	product := uint64(0)
	for bit := r.one; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= r.polynomial
		}
	}
	return product
}

// combine returns the checksum of A followed by B from those of A and B and the length of B in bytes: appending B
// multiplies A's remainder by x^(8·length), and the initial and final inversions cancel out. The method is that of
// crc32_combine in zlib by Mark Adler (crc32.c since 1.2.12); here the powers are squared on the way.
func combine(r reflected, a, b uint64, length int64) uint64 {
	if length < 0 {
		panic(fmt.Sprintf("checksum: combine with a negative length %d", length))
	}
	factor := r.one
	for square := r.one >> 8; length > 0; length >>= 1 {
		if length&1 != 0 {
			factor = r.multiply(square, factor)
		}
		square = r.multiply(square, square)
	}
	return r.multiply(factor, a) ^ b
}
