package parquet

import (
	"bytes"
)

// column gathers the values of one column of the open row group: finished pages, and one that is open.
type column struct {
	storage storage
	reading reading
	scale   int
	utf8    bool
	// pageBytesMax is the size at which a page ends.
	pageBytesMax int
	// dictionary is nil for a column that never has one; plain tells that the open chunk has given it up.
	dictionary *dictionary
	plain      bool

	// rows and nulls count the rows of the open page, and valid has a bit for each that isn't NULL.
	rows, nulls int
	valid       []byte
	// values are those of the open page in PLAIN encoding, behind room for the definition levels. bools counts those of
	// a BOOLEAN column, which are bits. numbers are values as entries of the dictionary.
	values  []byte
	bools   int
	numbers []uint16

	// pages are the finished pages; storedPages is their size and rawPages that before compression.
	pages       chain
	storedPages int
	rawPages    int64
	statistics  statistics
}

// levelsRoom is what most pages need before their values; it saves a copy of them.
const levelsRoom = 64

// add appends a value. A page that must end before it is finished with k and goes to f.
func (c *column) add(v *cell, f *finished, k *compressor) {
	if v.null {
		c.mark(0)
		c.nulls++
		c.statistics.nulls++
		return
	}
	if c.storage == storedBytes && !c.plain {
		number, added, ok := c.dictionary.number(v.text)
		if ok {
			if added {
				c.statistics.add(c.storage, v)
			}
			c.numbers = append(c.numbers, number)
			c.mark(1)
			return
		}
		if len(c.numbers) > 0 {
			c.endPage(f, k)
		}
		c.plain = true
	}
	c.statistics.add(c.storage, v)
	c.mark(1)
	if len(c.values) == 0 {
		c.values = append(c.values, make([]byte, levelsRoom)...)
	}
	if c.storage != storedBool {
		c.values = v.appendPlain(c.values, c.storage)
		return
	}
	if c.bools%8 == 0 {
		c.values = append(c.values, 0)
	}
	c.values[len(c.values)-1] |= byte(v.low) << (c.bools % 8)
	c.bools++
}

// mark appends a row to the page's rows.
func (c *column) mark(valid byte) {
	if c.rows%8 == 0 {
		c.valid = append(c.valid, 0)
	}
	c.valid[len(c.valid)-1] |= valid << (c.rows % 8)
	c.rows++
}

// pageBytes is about the size of the open page.
func (c *column) pageBytes() int { return len(c.values) + 2*len(c.numbers) }

// chunkBytes is about what the chunk will take in the part: what is open takes as much of its size as the finished pages.
func (c *column) chunkBytes() int {
	open := len(c.values) + len(c.valid) + levelsRoom
	if c.dictionary != nil {
		open += len(c.dictionary.values) + len(c.numbers)*numberWidth(len(c.dictionary.starts))/8
	}
	if c.rawPages > 0 {
		open = open * c.storedPages / int(c.rawPages)
	}
	return c.storedPages + open
}

// endPage moves the open page to the finished ones.
func (c *column) endPage(f *finished, k *compressor) {
	from := len(f.data)
	f.data = c.appendOpen(f.data, k)
	f.add(&c.pages, from)
	c.storedPages += len(f.data) - from
}

// appendOpen appends the open page, if there is one, to dst and opens the next.
func (c *column) appendOpen(dst []byte, k *compressor) []byte {
	if c.rows == 0 {
		return dst
	}
	h := pageHeader{kind: pageData, values: c.rows, dictionary: len(c.numbers) > 0}
	var room [levelsRoom]byte
	levels := appendLevels(room[:0], c.valid, c.rows, c.nulls)
	var body []byte
	switch {
	case h.dictionary:
		body = appendNumbers(levels, c.numbers, len(c.dictionary.starts))
	case len(c.values) == 0:
		body = levels
	case len(levels) <= levelsRoom:
		body = c.values[levelsRoom-len(levels):]
		copy(body, levels)
	default:
		body = append(levels, c.values[levelsRoom:]...)
	}
	dst, raw := k.appendPage(dst, h, body)
	c.rawPages += raw
	c.rows, c.nulls, c.bools = 0, 0, 0
	c.valid, c.numbers = c.valid[:0], c.numbers[:0]
	if c.values = c.values[:0]; cap(c.values) > c.pageBytesMax*3/2 {
		c.values = nil
	}
	return dst
}

// keptBytesMax is the size of a buffer from which it is given back after a large value.
const keptBytesMax = 1 << 20

// appendChunk appends the pages of the chunk to dst, returns what the footer says of it, and begins the next. f has the
// finished ones.
func (c *column) appendChunk(dst []byte, f *finished, k *compressor) ([]byte, chunk) {
	start := len(dst)
	m := chunk{nulls: c.statistics.nulls}
	if c.dictionary != nil && len(c.dictionary.starts) > 0 {
		h := pageHeader{kind: pageDictionary, values: len(c.dictionary.starts)}
		var raw int64
		dst, raw = k.appendPage(dst, h, c.dictionary.values)
		m.dictionary, m.raw = int64(len(dst)-start), raw
	}
	dst = f.appendTo(dst, c.pages)
	dst = c.appendOpen(dst, k)
	m.raw += c.rawPages
	m.stored = int64(len(dst) - start)
	m.bounds = c.statistics.bounds(c.storage, c.utf8)
	c.pages, c.storedPages, c.rawPages, c.plain = chain{}, 0, 0, false
	c.statistics = statistics{}
	if c.dictionary != nil {
		c.dictionary.reset()
	}
	return dst, m
}

func (b bounds) equal(o bounds) bool {
	return b.known == o.known && (!b.known || bytes.Equal(b.low, o.low) && bytes.Equal(b.high, o.high) &&
		b.lowExact == o.lowExact && b.highExact == o.highExact)
}
