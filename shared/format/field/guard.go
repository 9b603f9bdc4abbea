package field

import "unicode/utf8"

// FormulaLeads holds the first byte of everything that Formula looks for; text that begins with another byte is
// harmless. They are those of the signs, of the ASCII controls and the blank, and of what unseen knows beyond them.
const FormulaLeads = "=+-@ \x7f\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f" +
	"\xc2\xcd\xd8\xdb\xdc\xe0\xe1\xe2\xe3\xef\xf0\xf3"

// Formula reports whether a spreadsheet might run value as a formula. The rule is OWASP's (CSV Injection; ASVS 5.0,
// 1.2.10): text that begins with = + - @, a tab, CR, LF or NUL, and the full-width forms ＝ ＋ － ＠ that some locales
// fold. Since some programs trim what they import, or drop what can't be shown, nothing that isn't seen makes those signs
// harmless that stand behind it.
func Formula(value []byte) bool {
	for i := 0; i < len(value); {
		switch ch := value[i]; {
		case ch == '=' || ch == '+' || ch == '-' || ch == '@':
			return true
		case i == 0 && (ch == '\t' || ch == '\r' || ch == '\n' || ch == 0):
			return true
		case ch <= ' ' || ch == 0x7f:
			i++
			continue
		case ch < utf8.RuneSelf:
			return false
		}
		r, size := utf8.DecodeRune(value[i:])
		switch r {
		case '＝', '＋', '－', '＠':
			return true
		}
		if !unseen(r) {
			return false
		}
		i += size
	}
	return false
}

// unseen reports whether a character beyond ASCII shows nothing by itself: it has the property White_Space, is a control or
// format character (general categories Cc and Cf), a variation selector, or one of the others that are
// Default_Ignorable_Code_Point (The Unicode Standard, chapters 4 and 5; UAX #44).
func unseen(r rune) bool {
	if r > 0x3000 && r < 0xfe00 {
		return r == 0x3164
	}
	switch {
	case r <= 0xa0, r == 0xad, r == 0x34f, r >= 0x600 && r <= 0x605, r == 0x61c, r == 0x6dd, r == 0x70f, r == 0x890, r == 0x891, r == 0x8e2,
		r == 0x115f, r == 0x1160, r == 0x1680, r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f,
		r >= 0x2000 && r <= 0x200f, r >= 0x2028 && r <= 0x202f, r >= 0x205f && r <= 0x206f, r == 0x3000,
		r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, r >= 0xfff0 && r <= 0xfffb,
		r == 0x110bd, r == 0x110cd, r >= 0x13430 && r <= 0x1343f, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}
