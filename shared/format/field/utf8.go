package field

import "unicode/utf8"

// Replacement is U+FFFD in UTF-8.
const Replacement = "\uFFFD"

// Invalid returns the length of the invalid sequence that value starts with, or 0 when value starts with a character.
// A sequence is a maximal subpart of an ill-formed subsequence (The Unicode Standard, section 3.9, definition D93b), so
// that U+FFFD stands where other careful programs put it.
func Invalid(value []byte) int {
	if r, size := utf8.DecodeRune(value); r != utf8.RuneError || size != 1 {
		return 0
	}
	// The ranges of the second byte are those of table 3-7; third and fourth bytes are 80..BF.
	low, high := byte(0x80), byte(0xbf)
	var length int
	switch lead := value[0]; {
	case lead >= 0xc2 && lead <= 0xdf:
		length = 2
	case lead >= 0xe0 && lead <= 0xef:
		length = 3
		if lead == 0xe0 {
			low = 0xa0
		}
		if lead == 0xed {
			high = 0x9f
		}
	case lead >= 0xf0 && lead <= 0xf4:
		length = 4
		if lead == 0xf0 {
			low = 0x90
		}
		if lead == 0xf4 {
			high = 0x8f
		}
	default:
		return 1
	}
	n := 1
	for n < length && n < len(value) && value[n] >= low && value[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

// InvalidCount is the number of invalid sequences in value.
func InvalidCount(value []byte) int {
	count := 0
	for len(value) > 0 {
		if n := Invalid(value); n > 0 {
			count++
			value = value[n:]
			continue
		}
		_, size := utf8.DecodeRune(value)
		value = value[size:]
	}
	return count
}
