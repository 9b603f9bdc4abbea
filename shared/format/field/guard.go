package field

import "bytes"

// spaces are the characters that programs trim in front of a value.
const spaces = " \t\r\n\v\f\u00a0\u200b\u3000\ufeff"

// FormulaLeads holds the first byte of everything that Formula looks for; text that begins with another byte is
// harmless.
const FormulaLeads = "=+-@\x00\uff1d" + spaces

// Formula reports whether a spreadsheet might run value as a formula. The rule is OWASP's (CSV Injection; ASVS 5.0,
// 1.2.10): text that begins with = + - @, a tab, CR, LF or NUL, and the full-width forms ＝ ＋ － ＠ that some locales
// fold. Since some programs trim what they import, white space (also no-break, ideographic and zero-width) in front of
// those signs doesn't make them harmless.
func Formula(value []byte) bool {
	if len(value) > 0 {
		switch value[0] {
		case '\t', '\r', '\n', 0:
			return true
		}
	}
	value = bytes.TrimLeft(value, spaces)
	if len(value) == 0 {
		return false
	}
	switch value[0] {
	case '=', '+', '-', '@':
		return true
	}
	for _, sign := range []string{"\uff1d", "\uff0b", "\uff0d", "\uff20"} {
		if bytes.HasPrefix(value, []byte(sign)) {
			return true
		}
	}
	return false
}
