package csv

import (
	"unicode/utf8"

	"sealift/shared/format/csv/gb18030"
	"sealift/shared/format/field"
	"sealift/shared/job"
)

// mending is what must be replaced in a text: characters and invalid sequences, escapes of half a surrogate pair, or both.
type mending uint8

const (
	mendCharacters mending = 1 << iota
	mendEscapes
)

// mended is the size of the character, escape or invalid sequence that value begins with and, when it can't be written,
// what stands instead, in the file's encoding.
func (e *Encoder) mended(value []byte) (size int, instead string) {
	if value[0] == '\\' {
		size, unpaired := field.Escape(value)
		switch {
		case unpaired:
			return size, field.ReplacementEscape
		case size == len(`\"`) && value[1] != '\\':
			return 1, "" // for it may be a quote
		}
		return size, ""
	}
	if n := field.Invalid(value); n > 0 {
		if e.coder != nil {
			return n, "\x84\x31\xa4\x37"
		}
		return n, field.Replacement
	}
	r, size := utf8.DecodeRune(value)
	if e.coder != nil && !gb18030.Encodable(r) {
		return size, "?"
	}
	return size, ""
}

// unencodable is the error for text at p with a character that GB 18030 has no sure code for, under the rule Fail.
func unencodable(p field.Place) *job.Error {
	return field.Errorf(p, CodeUnencodable, "the text has a character that programs read differently in gb18030, or not at all "+
		"(private use, and a few on which its editions differ); ask for encoding utf-8, repair the text at the source, "+
		"or let the definition say unencodable: %s to write ? for each", field.Replace)
}
