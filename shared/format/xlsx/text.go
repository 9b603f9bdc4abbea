package xlsx

import (
	"bytes"
	"unicode/utf8"

	"sealift/shared/format/field"
)

// class is what a byte may mean inside text.
type class uint8

const (
	// markup bytes are written as entities.
	markup class = 1 << iota
	// control bytes are what XML can't hold, and CR, which XML readers turn into LF.
	control
	// under may begin a literal _xHHHH_, and nonchar U+FFFE or U+FFFF, which XML can't hold.
	under
	nonchar
	// high bytes call for a check of the encoding.
	high
	// space bytes at either end of a text are lost unless they are preserved.
	space
	// lead bytes may start a formula.
	lead
)

// classTable classifies bytes; guard is whether leads of formulas matter.
func classTable(guard bool) (table [256]class) {
	for ch := range 256 {
		switch {
		case ch == '&' || ch == '<' || ch == '>':
			table[ch] |= markup
		case ch == '_':
			table[ch] |= under
		case ch == '\t' || ch == '\n' || ch == ' ':
			table[ch] |= space
		case ch < ' ':
			table[ch] |= control
		case ch == nonchar0:
			table[ch] |= nonchar | high
		case ch >= utf8.RuneSelf:
			table[ch] |= high
		}
	}
	if guard {
		for _, ch := range []byte(field.FormulaLeads) {
			table[ch] |= lead
		}
	}
	return table
}

// nonchar0 is the first byte of U+FFFE and U+FFFF in UTF-8.
const nonchar0 = 0xef

// appendText appends text between tags: entities for & < >, and ST_Xstring's _xHHHH_ (ECMA-376, part 1, section
// 22.9.2.19) for what XML can't hold and for CR. What a reader would take for the form has its first underscore escaped, so
// that readers which undo the form give back what there was: Excel, LibreOffice, excelize. openpyxl undoes no escapes, and
// its users see them. seen is what the text's bytes are; invalid sequences become U+FFFD when
// invalid is true. escaped tells that the form was used.
func (e *encoder) appendText(dst, text []byte, seen class, invalid bool) (_ []byte, escaped bool) {
	if seen&(markup|control|under|nonchar) == 0 && !invalid {
		return append(dst, text...), false
	}
	from := 0
	for i := 0; i < len(text); {
		ch := text[i]
		found := e.class[ch]
		if found&(markup|control|under|nonchar) == 0 && (!invalid || found&high == 0) {
			i++
			continue
		}
		size, instead, escape := e.replace(text[i:], invalid)
		if instead != "" || escape != 0 {
			dst = append(dst, text[from:i]...)
			from = i + size
		}
		i += size
		switch {
		case instead != "":
			dst = append(dst, instead...)
		case escape != 0:
			dst, escaped = appendEscape(dst, escape), true
		}
	}
	return append(dst, text[from:]...), escaped
}

// escapeNUL stands for U+0000 in replace's answer.
const escapeNUL = -1

// replace says what is written for the size bytes that text begins with: instead when it isn't empty, the escaped form of
// escape when that isn't 0, else the bytes themselves.
func (e *encoder) replace(text []byte, invalid bool) (size int, instead string, escape rune) {
	switch ch := text[0]; {
	case ch == '&':
		return 1, "&amp;", 0
	case ch == '<':
		return 1, "&lt;", 0
	case ch == '>':
		return 1, "&gt;", 0
	case ch == '_':
		if e.literalEscape(text) {
			return 1, "", '_'
		}
		return 1, "", 0
	case ch == 0:
		return 1, "", escapeNUL
	case ch < ' ':
		return 1, "", rune(ch)
	}
	if invalid {
		if n := field.Invalid(text); n > 0 {
			return n, field.Replacement, 0
		}
	}
	r, size := utf8.DecodeRune(text)
	if r == 0xFFFE || r == 0xFFFF {
		return size, "", r
	}
	return size, "", 0
}

// literalEscape reports whether text would be written so that a reader takes its beginning for the escaped form of a
// character: _x, digits, and an underscore or what is written with one in front. LibreOffice undoes the form with fewer
// than four digits as well, for control characters and the underscore, and takes every one for a form whose end can't be
// the beginning of the next.
func (e *encoder) literalEscape(text []byte) bool {
	digits, _ := escapeDigits(text)
	if digits == 0 {
		return false
	}
	rest := text[len("_x")+digits:]
	if len(rest) == 0 {
		return false
	}
	switch found := e.class[rest[0]]; {
	case found&(under|control) != 0:
		return true
	case found&nonchar != 0:
		next, _ := utf8.DecodeRune(rest)
		return next == 0xFFFE || next == 0xFFFF
	}
	return false
}

// escapeDigitsMax is how many digits the escaped form of a character has.
const escapeDigitsMax = 4

// escapeBytes is the size of the escaped form.
const escapeBytes = len("_xHHHH_")

// escapeDigits is how many hexadecimal digits follow the _x that text begins with, up to four, and the character that they
// stand for. There are none where text begins otherwise.
func escapeDigits(text []byte) (digits int, r rune) {
	if !bytes.HasPrefix(text, []byte("_x")) {
		return 0, 0
	}
	for _, ch := range text[len("_x"):min(len(text), len("_x")+escapeDigitsMax)] {
		switch {
		case ch >= '0' && ch <= '9':
			r = r<<4 | rune(ch-'0')
		case ch|0x20 >= 'a' && ch|0x20 <= 'f':
			r = r<<4 | rune(ch|0x20-'a'+10)
		default:
			return digits, r
		}
		digits++
	}
	return digits, r
}

func appendEscape(dst []byte, r rune) []byte {
	const digits = "0123456789ABCDEF"
	if r == escapeNUL {
		r = 0
	}
	return append(dst, '_', 'x', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15], '_')
}

// fit is how many bytes of text a cell holds: CellUnitsMax UTF-16 units, an invalid sequence being the one unit of
// U+FFFD. It never ends inside a character.
func fit(text []byte) int {
	if len(text) <= CellUnitsMax {
		return len(text)
	}
	units := 0
	for i := 0; i < len(text); {
		size, more := 1, 1
		if text[i] >= utf8.RuneSelf {
			if size = field.Invalid(text[i:]); size == 0 {
				if _, size = utf8.DecodeRune(text[i:]); size == 4 {
					more = 2
				}
			}
		}
		if units += more; units > CellUnitsMax {
			return i
		}
		i += size
	}
	return len(text)
}

// classesOf is the union of the classes of text's bytes.
func (e *encoder) classesOf(text []byte) class {
	var seen class
	for _, ch := range text {
		seen |= e.class[ch]
	}
	return seen
}

// escapeAttribute is text as a value between double quotes. It must not hold what XML can't.
func escapeAttribute(text string) string {
	out := make([]byte, 0, len(text))
	for _, ch := range []byte(text) {
		switch ch {
		case '&':
			out = append(out, "&amp;"...)
		case '<':
			out = append(out, "&lt;"...)
		case '"':
			out = append(out, "&quot;"...)
		default:
			out = append(out, ch)
		}
	}
	return string(out)
}

// unescape undoes appendText in place; ok is false for what appendText never writes.
func unescape(text []byte) (_ []byte, ok bool) {
	if bytes.IndexByte(text, '&') < 0 && bytes.IndexByte(text, '_') < 0 {
		return text, true
	}
	out := text[:0]
	for i := 0; i < len(text); {
		switch text[i] {
		case '&':
			end := bytes.IndexByte(text[i:min(len(text), i+5)], ';')
			if end < 0 {
				return nil, false
			}
			switch string(text[i+1 : i+end]) {
			case "amp":
				out = append(out, '&')
			case "lt":
				out = append(out, '<')
			case "gt":
				out = append(out, '>')
			default:
				return nil, false
			}
			i += end + 1
		case '_':
			digits, r := escapeDigits(text[i:])
			size := escapeBytes
			if digits < escapeDigitsMax || !bytes.HasPrefix(text[i+escapeBytes-1:], []byte("_")) {
				size, r = 1, '_'
			}
			out = utf8.AppendRune(out, r)
			i += size
		default:
			out = append(out, text[i])
			i++
		}
	}
	return out, true
}
