package value

// AppendOrdered appends an encoding of a key attribute whose byte order is DynamoDB's order
// of keys. It ends by itself (no encoding is a prefix of another), so that key attributes
// can be put one after the other. Only strings, numbers and binaries have one.
func (v Value) AppendOrdered(dst []byte) []byte {
	if v.kind == Number {
		return v.number.appendOrdered(dst)
	}
	dst = v.AppendOrderedPrefix(dst)
	return append(dst, 0x00, 0x00)
}

// AppendOrderedPrefix appends the encoding of a string or binary without its end, so that
// it is a prefix of the encoding of everything that begins with it.
func (v Value) AppendOrderedPrefix(dst []byte) []byte {
	for i := range len(v.text) {
		dst = append(dst, v.text[i])
		if v.text[i] == 0x00 {
			dst = append(dst, 0xFF)
		}
	}
	return dst
}
