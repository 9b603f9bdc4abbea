package deflate

import (
	"math/bits"
	"slices"
)

const (
	codeBitsMax      = 15
	codeLengthsMax   = 19
	codeLengthBits   = 7
	sortedSymbolBits = 16
)

// code is the prefix code of one alphabet.
type code struct {
	// bits are the symbols' codes as they are written, low bit first; sizes are how many bits each has, 0 for a symbol
	// that doesn't occur.
	bits  [literalMax]uint16
	sizes [literalMax]uint8

	sorted [literalMax]uint64
	// weights and parents are those of the tree's leaves, by weight, and of its inner nodes behind them.
	weights [2 * literalMax]uint64
	parents [2 * literalMax]uint16
}

// build makes the code for symbols that occur counts times, of at most limit bits: Huffman's, and where that is longer,
// shortened until it fits (the way of zlib's gen_bitlen: two leaves go below one that is not so deep). A lone symbol
// has one bit.
func (c *code) build(counts []uint32, limit int) {
	clear(c.sizes[:])
	leaves := c.sorted[:0]
	for symbol, count := range counts {
		if count > 0 {
			leaves = append(leaves, uint64(count)<<sortedSymbolBits|uint64(symbol))
		}
	}
	switch len(leaves) {
	case 0:
		return
	case 1:
		c.sizes[uint16(leaves[0])] = 1
	default:
		slices.Sort(leaves)
		depths := c.depths(leaves)
		fit(&depths, limit)
		i := 0
		for size := limit; size > 0; size-- {
			for range depths[size] {
				c.sizes[uint16(leaves[i])] = uint8(size)
				i++
			}
		}
	}
	c.assign(limit)
}

// treeDepthMax is more than the depth of any tree of 32-bit counts of so many symbols.
const treeDepthMax = 64

// depths counts the leaves of Huffman's tree by their depth.
func (c *code) depths(leaves []uint64) (count [treeDepthMax]int) {
	n := len(leaves)
	for i, leaf := range leaves {
		c.weights[i] = leaf >> sortedSymbolBits
	}
	leaf, inner := 0, n
	for next := n; next < 2*n-1; next++ {
		weight := uint64(0)
		for range 2 {
			if leaf < n && (inner == next || c.weights[leaf] <= c.weights[inner]) {
				weight += c.weights[leaf]
				c.parents[leaf] = uint16(next)
				leaf++
			} else {
				weight += c.weights[inner]
				c.parents[inner] = uint16(next)
				inner++
			}
		}
		c.weights[next] = weight
	}
	// From the root down, a node's weight makes room for its depth.
	c.weights[2*n-2] = 0
	for i := 2*n - 3; i >= 0; i-- {
		c.weights[i] = c.weights[c.parents[i]] + 1
		if i < n {
			count[c.weights[i]]++
		}
	}
	return count
}

// fit moves leaves up until none is deeper than limit.
func fit(count *[treeDepthMax]int, limit int) {
	used := 0
	for depth := range count {
		if depth > limit {
			count[limit] += count[depth]
			count[depth] = 0
		}
	}
	for depth := 1; depth <= limit; depth++ {
		used += count[depth] << (limit - depth)
	}
	for ; used > 1<<limit; used-- {
		depth := limit - 1
		for count[depth] == 0 {
			depth--
		}
		count[depth]--
		count[depth+1] += 2
		count[limit]--
	}
}

// assign gives the codes of the sizes (RFC 1951, section 3.2.2).
func (c *code) assign(limit int) {
	var count, next [codeBitsMax + 1]uint16
	for _, size := range c.sizes {
		count[size]++
	}
	count[0] = 0
	for size := 1; size <= limit; size++ {
		next[size] = (next[size-1] + count[size-1]) << 1
	}
	for symbol, size := range c.sizes {
		if size > 0 {
			c.bits[symbol] = bits.Reverse16(next[size]) >> (16 - size)
			next[size]++
		}
	}
}
