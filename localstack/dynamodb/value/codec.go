package value

import (
	"encoding/binary"
)

// AppendItem appends the stored form of an item: a count, then names and values, each with
// its length or an end of its own. The order of the attributes is not defined.
func AppendItem(dst []byte, it Item) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(it)))
	for name, attr := range it {
		dst = appendText(dst, name)
		dst = appendValue(dst, attr)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendValue(dst []byte, v Value) []byte {
	dst = append(dst, byte(v.kind))
	switch v.kind {
	case String, Binary:
		return appendText(dst, v.text)
	case Number:
		return v.number.appendOrdered(dst)
	case Bool:
		if v.truth {
			return append(dst, 1)
		}
		return append(dst, 0)
	case StringSet, NumberSet, BinarySet, List:
		dst = binary.AppendUvarint(dst, uint64(len(v.elems)))
		for _, elem := range v.elems {
			dst = appendValue(dst, elem)
		}
		return dst
	case Map:
		return AppendItem(dst, v.attrs)
	default:
		return dst
	}
}

// ReadItem reads a stored item. It copies, so that src may change afterwards.
func ReadItem(src []byte) (Item, error) {
	it, rest, err := readItem(src, 0)
	if err == nil && len(rest) != 0 {
		err = errCorrupt
	}
	return it, err
}

func readItem(src []byte, depth int) (Item, []byte, error) {
	count, src, err := readCount(src)
	if err != nil {
		return nil, nil, err
	}
	it := make(Item, count)
	for range count {
		var name string
		if name, src, err = readText(src); err != nil {
			return nil, nil, err
		}
		var attr Value
		if attr, src, err = readValue(src, depth+1); err != nil {
			return nil, nil, err
		}
		it[name] = attr
	}
	return it, src, nil
}

// readCount reads a length; it can never exceed the bytes that follow.
func readCount(src []byte) (int, []byte, error) {
	n, width := binary.Uvarint(src)
	if width <= 0 || n > uint64(len(src)-width) {
		return 0, nil, errCorrupt
	}
	return int(n), src[width:], nil
}

func readText(src []byte) (string, []byte, error) {
	n, src, err := readCount(src)
	if err != nil {
		return "", nil, err
	}
	return string(src[:n]), src[n:], nil
}

func readValue(src []byte, depth int) (Value, []byte, error) {
	if len(src) == 0 || depth > levelsMax {
		return Value{}, nil, errCorrupt
	}
	v := Value{kind: Kind(src[0])}
	src = src[1:]
	var err error
	switch v.kind {
	case String, Binary:
		v.text, src, err = readText(src)
	case Number:
		v.number, src, err = readOrdered(src)
	case Bool:
		if len(src) == 0 {
			return Value{}, nil, errCorrupt
		}
		v.truth, src = src[0] == 1, src[1:]
	case Null:
	case StringSet, NumberSet, BinarySet, List:
		v.elems, src, err = readElems(src, depth)
	case Map:
		v.attrs, src, err = readItem(src, depth)
	default:
		err = errCorrupt
	}
	return v, src, err
}

func readElems(src []byte, depth int) ([]Value, []byte, error) {
	count, src, err := readCount(src)
	if err != nil {
		return nil, nil, err
	}
	elems := make([]Value, count)
	for i := range elems {
		if elems[i], src, err = readValue(src, depth+1); err != nil {
			return nil, nil, err
		}
	}
	return elems, src, nil
}
