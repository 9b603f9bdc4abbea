package artifact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fileNameBytesMax is the longest name that common file systems hold, less room for a browser's " (1)".
const fileNameBytesMax = 240

const fileNameDefault = "export"

// Disposition is the Content-Disposition that makes a browser save a file under a name (RFC 6266): the name in UTF-8
// (RFC 8187), and one of plain ASCII for what can't read that. Any text is safe: what could end the header, leave the
// folder or mislead about the file's type becomes "_".
func Disposition(fileName string) string {
	name := savable(fileName)
	return `attachment; filename="` + asciiName(name) + `"; filename*=UTF-8''` + extended(name)
}

// savable is the name without what no file name should have: control and formatting characters (but for the joiners that
// emoji and some scripts need), path separators, dots and spaces
// at its ends, and more bytes than a file system holds.
func savable(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '\u200c' || r == '\u200d':
			return r
		case r == '/' || r == '\\' || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return '_'
		}
		return r
	}, name)
	name = shorten(strings.TrimRight(strings.TrimLeft(name, ". "), ". "))
	if strings.Trim(name, "._ ") == "" {
		return fileNameDefault
	}
	return name
}

// shorten cuts a name at a character and keeps its ending.
func shorten(name string) string {
	if len(name) <= fileNameBytesMax {
		return name
	}
	ending := ""
	if dot := strings.IndexByte(name[len(name)-20:], '.'); dot >= 0 {
		ending = name[len(name)-20+dot:]
	}
	end := fileNameBytesMax - len(ending)
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + ending
}

// asciiName replaces what a quoted string can't hold everywhere: characters beyond ASCII, quotes, and the percent sign,
// which some browsers decode.
func asciiName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '%' {
			return '_'
		}
		return r
	}, name)
}

// extended is the name in the percent coding of RFC 8187, where only attr-char stand for themselves.
func extended(name string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}
