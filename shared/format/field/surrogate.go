package field

import (
	"bytes"
	"strconv"

	"sealift/shared/job"
)

// ReplacementEscape is U+FFFD as an escape of JSON. It is as long as the escape that it stands for.
const ReplacementEscape = `\ufffd`

// escapeBytes is the size of an escape with four digits, and pairBytes that of two of them, which are one character beyond
// U+FFFF.
const (
	escapeBytes = len(`\ud800`)
	pairBytes   = 2 * escapeBytes
)

// Unpaired reports whether a JSON document has an escape of half a surrogate pair without the other half. The grammar of
// JSON has room for it, but no text has (RFC 8259, section 8.2), and one such document makes a whole file unreadable to
// strict programs. A document without a backslash costs one look for it.
func Unpaired(document []byte) bool {
	for {
		at := bytes.IndexByte(document, '\\')
		if at < 0 {
			return false
		}
		size, unpaired := Escape(document[at:])
		if unpaired {
			return true
		}
		document = document[at+size:]
	}
}

// MendEscapes writes ReplacementEscape over each such half, in place.
func MendEscapes(document []byte) {
	for {
		at := bytes.IndexByte(document, '\\')
		if at < 0 {
			return
		}
		size, unpaired := Escape(document[at:])
		if unpaired {
			copy(document[at:], ReplacementEscape)
		}
		document = document[at+size:]
	}
}

// Escape is the size of the escape that text begins with, a pair of surrogates being one, and whether it is half a pair. Of
// an escape that JSON doesn't have it is one byte or two.
func Escape(text []byte) (size int, unpaired bool) {
	first, ok := unit(text)
	switch {
	case !ok:
		return min(len(text), len(`\n`)), false
	case first < 0xD800 || first > 0xDFFF:
		return escapeBytes, false
	case first > 0xDBFF:
		return escapeBytes, true
	}
	if second, ok := unit(text[escapeBytes:]); !ok || second < 0xDC00 || second > 0xDFFF {
		return escapeBytes, true
	}
	return pairBytes, false
}

// unit is the unit of UTF-16 in the escape with four digits that text begins with; ok is false when it begins otherwise.
func unit(text []byte) (n uint16, ok bool) {
	if len(text) < escapeBytes || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	digits, err := strconv.ParseUint(string(text[2:escapeBytes]), 16, 16)
	return uint16(digits), err == nil
}

// UnpairedSurrogate is the error for a JSON document at p with half a surrogate pair under the rule Fail.
func UnpairedSurrogate(p Place) *job.Error {
	return Errorf(p, CodeInvalidUTF8, `the JSON document has half of a surrogate pair (an escape from \ud800 to \udfff without its other half), `+
		"which is no character, and strict programs read no file with it; repair it at the source, let the definition say "+
		"invalid_utf8: %s to write %s for each, or declare the column as string to export the document as text", Replace, ReplacementEscape)
}
