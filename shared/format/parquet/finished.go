package parquet

import "sealift/shared/limits"

// finished are the finished pages of the open row group, of all columns in the order in which they ended: one buffer
// takes what they take, while one for each column would take what each ever had.
type finished struct {
	data  []byte
	spans []span
}

// span is where a page stands in the buffer, and next the number of its column's next span, 0 for none.
type span struct{ from, to, next int }

// chain are the numbers of a column's first and last span, from 1; 0 when it has none.
type chain struct{ first, last int }

// add takes note that what stands in the buffer from a byte on is the next page of the column.
func (f *finished) add(c *chain, from int) {
	f.spans = append(f.spans, span{from: from, to: len(f.data)})
	number := len(f.spans)
	if c.last > 0 {
		f.spans[c.last-1].next = number
	} else {
		c.first = number
	}
	c.last = number
}

// appendTo appends the pages of one column to dst.
func (f *finished) appendTo(dst []byte, c chain) []byte {
	for number := c.first; number > 0; number = f.spans[number-1].next {
		s := f.spans[number-1]
		dst = append(dst, f.data[s.from:s.to]...)
	}
	return dst
}

// reset forgets all pages and gives back what a large row took.
func (f *finished) reset() {
	f.data, f.spans = f.data[:0], f.spans[:0]
	if cap(f.data) > limits.GroupHeldBytes*5/4 {
		f.data = nil
	}
}
