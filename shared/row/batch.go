package row

// Batch is a bounded run of rows in key order, held as one arena so that filling it allocates nothing per row once it
// has grown. A row has Width values: the query's output columns first, then its key columns (canonical text, UTC), so
// that a reader may stop after any row and knows the cursor. Values are appended in that order.
//
// A Batch belongs to one goroutine at a time; what Value and AppendKey return is valid until the next Reset.
type Batch struct {
	width int
	data  []byte
	// ends holds, per value, the end of its bytes in data; a NULL is held as the complement of that end.
	ends []int
}

// Reset empties the batch for rows of width values and keeps its memory.
func (b *Batch) Reset(width int) {
	b.width = width
	b.data = b.data[:0]
	b.ends = b.ends[:0]
}

// Width is the number of values of a row, key columns included.
func (b *Batch) Width() int { return b.width }

// Rows is the number of complete rows.
func (b *Batch) Rows() int {
	if b.width == 0 {
		return 0
	}
	return len(b.ends) / b.width
}

// Bytes is the size of all values together.
func (b *Batch) Bytes() int { return len(b.data) }

// Capacity is the size of the memory that the batch keeps for values, in bytes.
func (b *Batch) Capacity() int { return cap(b.data) }

// Append adds the next value.
func (b *Batch) Append(value []byte) {
	b.data = append(b.data, value...)
	b.ends = append(b.ends, len(b.data))
}

// AppendString adds the next value from a string.
func (b *Batch) AppendString(value string) {
	b.data = append(b.data, value...)
	b.ends = append(b.ends, len(b.data))
}

// AppendFunc adds the next value as what write appends to the arena, for values that are formatted in place.
func (b *Batch) AppendFunc(write func(dst []byte) []byte) {
	b.data = write(b.data)
	b.ends = append(b.ends, len(b.data))
}

// AppendNull adds a NULL as the next value.
func (b *Batch) AppendNull() {
	b.ends = append(b.ends, ^len(b.data))
}

// Lend gives the arena away, so that a source can append the values of whole rows without a call for each: every value's
// bytes to data, and to ends the length of data behind it, as its complement for a NULL. Return takes both back.
func (b *Batch) Lend() (data []byte, ends []int) { return b.data, b.ends }

// Return takes the arena back after Lend.
func (b *Batch) Return(data []byte, ends []int) { b.data, b.ends = data, ends }

// Row returns the values of a row without a call for each: they follow one another in data from start, ends holds where
// each ends, and a NULL's end is the complement of where it would stand. It is for reading only.
func (b *Batch) Row(row int) (data []byte, start int, ends []int) {
	i := row * b.width
	return b.data, b.start(i), b.ends[i : i+b.width : i+b.width]
}

// Value returns value col of row; ok is false for NULL. An empty value is not NULL.
func (b *Batch) Value(row, col int) (value []byte, ok bool) {
	i := row*b.width + col
	end := b.ends[i]
	if end < 0 {
		return nil, false
	}
	return b.data[b.start(i):end], true
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

func (b *Batch) start(i int) int {
	if i == 0 {
		return 0
	}
	end := b.ends[i-1]
	if end < 0 {
		return ^end
	}
	return end
}
