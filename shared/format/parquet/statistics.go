package parquet

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// boundBytesMax is how much of a long value a bound keeps.
const boundBytesMax = 32

// statistics gather the least and the greatest value of a chunk.
type statistics struct {
	nulls int64
	// some tells that a value was seen that has a place in the order. A NaN has none, and nan tells that one was seen.
	some, nan bool
	low, high cell
	// lowText and highText begin as the least and the greatest text do; whole tells that it ends there too.
	lowText, highText prefix
}

// prefix is the beginning of a text.
type prefix struct {
	text  [boundBytesMax]byte
	n     int
	whole bool
}

func (p *prefix) set(text []byte, whole bool) {
	p.n = copy(p.text[:], text)
	p.whole = whole
}

func (p *prefix) bytes() []byte { return p.text[:p.n] }

// add takes note of a value that isn't NULL.
func (s *statistics) add(stored storage, c *cell) {
	switch stored {
	case storedBytes:
		s.addText(c.text)
		return
	case storedDouble:
		if math.IsNaN(math.Float64frombits(c.low)) {
			s.nan = true
			return
		}
	case storedBool, storedInt32, storedInt64, storedFixed:
	}
	switch {
	case !s.some:
		s.some, s.low, s.high = true, *c, *c
	case less(stored, c, &s.low):
		s.low = *c
	case less(stored, &s.high, c):
		s.high = *c
	}
}

// less compares values that aren't bytes.
func less(stored storage, a, b *cell) bool {
	switch stored {
	case storedDouble:
		return math.Float64frombits(a.low) < math.Float64frombits(b.low)
	case storedFixed:
		if a.high != b.high {
			return int64(a.high) < int64(b.high)
		}
		return a.low < b.low
	case storedBool, storedInt32, storedInt64, storedBytes:
	}
	return int64(a.low) < int64(b.low)
}

func (s *statistics) addText(text []byte) {
	whole := len(text) <= boundBytesMax
	if !whole {
		text = text[:boundBytesMax]
	}
	if !s.some {
		s.some = true
		s.lowText.set(text, whole)
		s.highText.set(text, whole)
		return
	}
	// Of texts that begin alike, the one that ends there is the least.
	switch order := bytes.Compare(text, s.lowText.bytes()); {
	case order < 0:
		s.lowText.set(text, whole)
	case order == 0 && whole:
		s.lowText.whole = true
	}
	switch order := bytes.Compare(text, s.highText.bytes()); {
	case order > 0:
		s.highText.set(text, whole)
	case order == 0 && !whole:
		s.highText.whole = false
	}
}

// bounds are the least and the greatest value, or bounds of them, as a footer has them. utf8 tells that they must be
// text. A chunk of nothing but zeros has none, nor has one with a NaN: the format leaves NaN out of bounds, but some readers order it above every number
// and others take the bounds as true of every value, and both would pass over rows.
func (s *statistics) bounds(stored storage, utf8 bool) bounds {
	b := bounds{known: s.some && !s.nan, lowExact: true, highExact: true}
	if !b.known {
		return b
	}
	switch stored {
	case storedBytes:
		return s.textBounds(utf8)
	case storedDouble:
		// Zeros are equal but readers may compare their bits, so the bounds hold both. Between -0 and 0 nothing else lies,
		// and a reader that takes such bounds for one value passes over the other zero.
		low, high := math.Float64frombits(s.low.low), math.Float64frombits(s.high.low)
		if low == 0 && high == 0 {
			return bounds{lowExact: true, highExact: true}
		}
		if low == 0 {
			s.low.low = math.Float64bits(math.Copysign(0, -1))
		}
		if high == 0 {
			s.high.low = 0
		}
	case storedBool, storedInt32, storedInt64, storedFixed:
	}
	b.low, b.high = s.low.appendPlain(nil, stored), s.high.appendPlain(nil, stored)
	return b
}

func (s *statistics) textBounds(text bool) bounds {
	b := bounds{
		known: true, lowExact: s.lowText.whole, highExact: s.highText.whole,
		low: bytes.Clone(s.lowText.bytes()), high: bytes.Clone(s.highText.bytes()),
	}
	if !b.lowExact && text {
		b.low = wholeRunes(b.low)
	}
	if !b.highExact {
		if text {
			b.high = nextText(wholeRunes(b.high))
		} else {
			b.high = nextBytes(b.high)
		}
		b.known = b.high != nil
	}
	return b
}

// wholeRunes drops a character that was cut off at the end of text.
func wholeRunes(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// nextText is a text above all that begin with text, or nil when there is none.
func nextText(text []byte) []byte {
	const beforeSurrogates, afterSurrogates = 0xd7ff, 0xe000
	for len(text) > 0 {
		last, size := utf8.DecodeLastRune(text)
		text = text[:len(text)-size]
		switch {
		case last == beforeSurrogates:
			return utf8.AppendRune(text, afterSurrogates)
		case last < utf8.MaxRune:
			return utf8.AppendRune(text, last+1)
		}
	}
	return nil
}

// nextBytes is the same for bytes of any kind.
func nextBytes(value []byte) []byte {
	for n := len(value) - 1; n >= 0; n-- {
		if value[n] < 0xff {
			value[n]++
			return value[:n+1]
		}
	}
	return nil
}
