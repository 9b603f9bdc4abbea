// Package gb18030 owns text in GB 18030: which characters every reader of it understands alike, and the strict way there
// and back. It is pure and imports golang.org/x/text only; start reading at Encodable.
package gb18030

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/transform"
)

// Encodable reports whether r has a code that all readers take for r. Those that have none are
//   - U+E000 to U+E864, private use: the two-byte codes that the standard gives to most of them aren't in x/text's tables,
//     and the four-byte codes that x/text would write belong to other characters;
//   - U+1E3F, U+9FB4 to U+9FBB and U+FE10 to U+FE19: the editions of 2000, 2005 and 2022 give them different codes, so
//     that what one reader shows as one of them is another character, or an error, to the next.
//
// The tests hold the rest, a million characters, to x/text, to iconv and to Python.
func Encodable(r rune) bool {
	switch {
	case r >= 0xe000 && r <= 0xe864, r == 0x1e3f, r >= 0x9fb4 && r <= 0x9fbb, r >= 0xfe10 && r <= 0xfe19:
		return false
	}
	return true
}

// AllEncodable reports whether every character of text is encodable. Bytes that aren't UTF-8 count as U+FFFD, which is.
func AllEncodable(text []byte) bool {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if !Encodable(r) {
			return false
		}
		i += size
	}
	return true
}

// Encoder turns UTF-8 into GB 18030. It holds no state between calls and may be shared by goroutines.
type Encoder struct{ to transform.Transformer }

// NewEncoder returns an encoder.
func NewEncoder() *Encoder {
	return &Encoder{to: simplifiedchinese.GB18030.NewEncoder().Transformer}
}

// growBytes is how much room is made at a time for a text that doesn't fit.
const growBytes = 64 << 10

// Append appends text in GB 18030: one, two or four bytes a character, at most twice the bytes of text. Text must be
// encodable; bytes that aren't UTF-8 become U+FFFD each. It allocates only when dst has no room. No byte of a character
// beyond ASCII is a quote, comma, semicolon, tab, CR or LF; its second byte may be a vertical bar.
func (e *Encoder) Append(dst, text []byte) []byte {
	for len(text) > 0 {
		written, read, err := e.to.Transform(dst[len(dst):cap(dst)], text, true)
		dst, text = dst[:len(dst)+written], text[read:]
		if err != nil {
			// Every character has a code, so the only error is that there is no room.
			dst = slices.Grow(dst, min(2*len(text)+utf8.UTFMax, growBytes))
		}
	}
	return dst
}

// Size is the number of bytes that Append appends.
func (e *Encoder) Size(text []byte) int {
	room := make([]byte, 4<<10)
	size := 0
	for len(text) > 0 {
		written, read, _ := e.to.Transform(room, text, true)
		size, text = size+written, text[read:]
	}
	return size
}

// Decoder turns GB 18030 back into UTF-8. It belongs to one goroutine.
type Decoder struct {
	to   transform.Transformer
	back *Encoder
	// again is what was decoded, encoded again.
	again []byte
}

// NewDecoder returns a decoder.
func NewDecoder() *Decoder {
	return &Decoder{to: simplifiedchinese.GB18030.NewDecoder().Transformer, back: NewEncoder()}
}

// errMalformed is text that Encoder never writes: bytes that are no code, or a code of a character that isn't encodable.
var errMalformed = errors.New("the text isn't GB 18030 as it is written here")

// Append appends text in UTF-8. It is strict: what Encoder doesn't write, byte for byte, is an error.
func (d *Decoder) Append(dst, text []byte) ([]byte, error) {
	start, rest := len(dst), text
	for len(rest) > 0 {
		written, read, err := d.to.Transform(dst[len(dst):cap(dst)], rest, true)
		dst, rest = dst[:len(dst)+written], rest[read:]
		if err != nil {
			// What is no code becomes U+FFFD, so the only error is that there is no room.
			dst = slices.Grow(dst, min(2*len(rest)+utf8.UTFMax, growBytes))
		}
	}
	d.again = d.back.Append(d.again[:0], dst[start:])
	if !bytes.Equal(d.again, text) || !AllEncodable(dst[start:]) {
		return dst, errMalformed
	}
	return dst, nil
}
