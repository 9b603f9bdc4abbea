package row

// Batch is a bounded run of rows in key order, held as one arena so that filling it allocates nothing per row once it
// has grown. A row has Width values: the query's output columns first, then its key columns (canonical text, UTC), so
// that a reader may stop after any row and knows the cursor. Values are appended in that order.
//
// A Batch belongs to one goroutine at a time; what Value and Row return is valid until the next Reset.
type Batch struct {
	width int
	data  []byte
	spans []Span
	bytes int
}

// Span is where a value stands in the arena of its Batch: one more than its first byte in the lower half, one more than
// the byte behind its last in the upper. Two values may stand in the same place. The zero Span is NULL.
type Span uint64

const spanHalf = 32

// At is the span of the bytes from, included, to to, not included, of an arena of less than 4 GiB.
func At(from, to int) Span { return Span(from+1) | Span(to+1)<<spanHalf }

// Shift is the span of the same bytes when their arena stands at in a larger one. The value must not be NULL.
func (s Span) Shift(at int) Span { return s + (Span(at) | Span(at)<<spanHalf) }

// Null reports whether the value is NULL. An empty value is not.
func (s Span) Null() bool { return s == 0 }

// Len is the number of the value's bytes.
func (s Span) Len() int { return int(s>>spanHalf) - int(uint32(s)) }

// Of is the value's bytes in its arena. The value must not be NULL.
func (s Span) Of(arena []byte) []byte { return arena[uint32(s)-1 : s>>spanHalf-1] }

// Reset empties the batch for rows of width values and keeps its memory.
func (b *Batch) Reset(width int) {
	b.width = width
	b.data = b.data[:0]
	b.spans = b.spans[:0]
	b.bytes = 0
}

// Width is the number of values of a row, key columns included.
func (b *Batch) Width() int { return b.width }

// Rows is the number of complete rows.
func (b *Batch) Rows() int {
	if b.width == 0 {
		return 0
	}
	return len(b.spans) / b.width
}

// Bytes is the size of all values together.
func (b *Batch) Bytes() int { return b.bytes }

// Capacity is the size of the memory that the batch keeps for values, in bytes.
func (b *Batch) Capacity() int { return cap(b.data) }

// Append adds the next value.
func (b *Batch) Append(value []byte) {
	from := len(b.data)
	b.data = append(b.data, value...)
	b.add(from)
}

// AppendString adds the next value from a string.
func (b *Batch) AppendString(value string) {
	from := len(b.data)
	b.data = append(b.data, value...)
	b.add(from)
}

// AppendFunc adds the next value as what write appends to the arena, for values that are formatted in place.
func (b *Batch) AppendFunc(write func(dst []byte) []byte) {
	from := len(b.data)
	b.data = write(b.data)
	b.add(from)
}

// AppendNull adds a NULL as the next value.
func (b *Batch) AppendNull() {
	b.spans = append(b.spans, 0)
}

func (b *Batch) add(from int) {
	b.spans = append(b.spans, At(from, len(b.data)))
	b.bytes += len(b.data) - from
}

// Lend gives the arena away, so that a source can put in whole rows without a call for each value: bytes behind data, in
// any order and with others between them, and behind spans where each value stands. Return takes both back.
func (b *Batch) Lend() (data []byte, spans []Span) { return b.data, b.spans }

// Return takes the arena back after Lend, with rows whose values have bytes bytes together.
func (b *Batch) Return(data []byte, spans []Span, bytes int) {
	b.data, b.spans = data, spans
	b.bytes += bytes
}

// Row returns the values of a row without a call for each: where they stand in arena. It is for reading only.
func (b *Batch) Row(row int) (arena []byte, spans []Span) {
	i := row * b.width
	return b.data, b.spans[i : i+b.width : i+b.width]
}

// Value returns value col of row; ok is false for NULL. An empty value is not NULL.
func (b *Batch) Value(row, col int) (value []byte, ok bool) {
	span := b.spans[row*b.width+col]
	if span.Null() {
		return nil, false
	}
	return span.Of(b.data), true
}

// Key copies the key of row, whose columns are the last keys values. It is safe to keep.
func (b *Batch) Key(row, keys int) Key {
	key := make(Key, keys)
	for k := range keys {
		value, _ := b.Value(row, b.width-keys+k)
		key[k] = string(value)
	}
	return key
}
