package deflate

import (
	"encoding/binary"
	"math/bits"
)

const (
	// opsSegment is from how many ops on a deflate block ends: its codes fit what is in it. opsTurn is the most that one
	// turn of the search appends behind it.
	opsSegment = 64 << 10
	opsTurn    = 1 << 10
	opsMax     = opsSegment + 2*opsTurn

	tableBits = 12
	// hashFactor is 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, section 6.4).
	hashFactor = 0x9E3779B97F4A7C15

	wordBytes = 8
	// matchLeast is the shortest match that is taken. One byte less rarely takes fewer bits than the bytes themselves.
	matchLeast = 4
	window     = 32 << 10
)

// finder turns a block into ops. A value is likely to be the one above it or one that its column had before, or to begin
// like it, or to follow a value that ends like that one's predecessor. So every value is compared with two places, the
// value above and the last one of its column that began with the same bytes, to both sides of where they begin. Nothing
// else is looked for, which is why it is fast: where values repeat inside of others, the library finds more.
type finder struct {
	// ops has n ops, and behind them room for a turn.
	ops     []op
	n       int
	lengths [matchMax + 1]op

	block Block
	// done is where the bytes end that ops were appended for, or will be: left more as at distance.
	done, left int
	distance   op
	// value is the next of block.Values to look at, and column that of the one before it, from 1; 0 at the start.
	value, column int
	// begun are where values began, by their first bytes and columns.
	begun [1 << tableBits]int32
}

// start begins a block.
func (f *finder) start(block Block) {
	f.block, f.done, f.left, f.value, f.column = block, 0, 0, 0, 0
	for i := range f.begun {
		f.begun[i] = -window
	}
}

// next fills ops with the next piece of the block; false says that there is none.
func (f *finder) next() bool {
	f.n = 0
	if f.repeat(); f.full() {
		return true
	}
	b, marks, width, column, k := f.block.Text, f.block.Values, f.block.Width, f.column, f.value
	last := len(b) - wordBytes
	for ; k < len(marks); k++ {
		at := int(marks[k])
		if at > last {
			k = len(marks)
			break
		}
		if f.literalsBefore(at); f.full() {
			break
		}
		if column++; column > width {
			column = 1
		}
		if at < f.done {
			continue
		}
		x := binary.LittleEndian.Uint64(b[at:])
		size := wordBytes
		if k+1 < len(marks) {
			size = min(int(marks[k+1])-at, wordBytes)
		}
		slot := &f.begun[(x<<(uint(wordBytes-size)*8&63)+uint64(column))*hashFactor>>(64-tableBits)]
		before := int(*slot)
		*slot = int32(at)
		origin, ahead := at, 0
		if k >= width {
			if above := int(marks[k-width]); at-above < window {
				origin, ahead = above, bits.TrailingZeros64(x^binary.LittleEndian.Uint64(b[above:]))/8
			}
		}
		if ahead < wordBytes && at-before < window {
			if n := bits.TrailingZeros64(x^binary.LittleEndian.Uint64(b[before:])) / 8; n > ahead {
				origin, ahead = before, n
			}
		}
		if origin < at {
			f.widen(at, origin, ahead)
		}
	}
	f.value, f.column = k, column
	if k == len(marks) && !f.full() {
		if f.literalsBefore(len(b)); !f.full() {
			f.literals(len(b))
		}
	}
	return f.n > 0
}

// full reports whether the piece is as large as it may become.
func (f *finder) full() bool { return f.n >= opsSegment }

// widen appends a match, if it is long enough, of what stands at with what stood at origin. The ahead bytes from there are
// known to be the same, as many as a word has at most.
func (f *finder) widen(at, origin, ahead int) {
	b, room := f.block.Text, at-f.done
	behind := 0
	if origin >= wordBytes {
		x := binary.LittleEndian.Uint64(b[at-wordBytes:]) ^ binary.LittleEndian.Uint64(b[origin-wordBytes:])
		behind = min(bits.LeadingZeros64(x)/8, room)
	}
	if ahead+behind < matchLeast {
		return
	}
	if ahead == wordBytes {
		ahead += same(b[origin+wordBytes:], b[at+wordBytes:])
	}
	if behind == wordBytes {
		for behind < room && behind < origin && b[at-behind-1] == b[origin-behind-1] {
			behind++
		}
	}
	f.literals(at - behind)
	f.done = at + ahead
	f.left, f.distance = behind+ahead, distanceOp(at-origin)
	f.repeat()
}

// same is how many bytes a and b have in common at their beginnings; b is not longer than a.
func same(a, b []byte) int {
	n := 0
	for n+wordBytes <= len(b) {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += wordBytes
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// repeat appends what is left of a match, as far as the piece has room.
func (f *finder) repeat() {
	for f.left > 0 && !f.full() {
		size := f.left
		if size > matchMax {
			size = min(matchMax, size-matchMin)
		}
		pair := f.ops[f.n : f.n+2 : f.n+2]
		pair[0], pair[1] = f.lengths[size], f.distance
		f.n += 2
		f.left -= size
	}
}

// literalsBefore appends bytes as they are, as far as the piece has room, until at most a turn of them is left before end.
func (f *finder) literalsBefore(end int) {
	for end-f.done > opsTurn && !f.full() {
		f.literals(f.done + opsTurn)
	}
}

// literals appends the bytes up to end as they are, at most a turn of them.
func (f *finder) literals(end int) {
	text := f.block.Text[f.done:]
	ops := f.ops[f.n : f.n+opsTurn+wordBytes]
	count := end - f.done
	f.done = end
	f.n += count
	if len(text) < count+wordBytes {
		for i, ch := range text[:count] {
			ops[i] = op(ch)
		}
		return
	}
	// A word at a time, which may be more than are wanted, takes no branch that can't be foreseen.
	for i := 0; i < count; i += wordBytes {
		x := binary.LittleEndian.Uint64(text[i:])
		to := ops[i : i+wordBytes : i+wordBytes]
		to[0], to[1], to[2], to[3] = op(x&0xff), op(x>>8&0xff), op(x>>16&0xff), op(x>>24&0xff)
		to[4], to[5], to[6], to[7] = op(x>>32&0xff), op(x>>40&0xff), op(x>>48&0xff), op(x>>56)
	}
}
