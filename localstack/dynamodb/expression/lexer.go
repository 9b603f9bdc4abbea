package expression

import (
	_ "embed" // The list of reserved words is data.
	"strings"
)

type tokenKind uint8

const (
	endToken tokenKind = iota
	wordToken
	nameToken
	valueToken
	digitsToken
	markToken
	badToken
)

type token struct {
	kind tokenKind
	text string
}

// is tells whether the token is the given mark or, in any letter case, the given keyword.
func (t token) is(text string) bool {
	switch t.kind {
	case markToken:
		return t.text == text
	case wordToken:
		return strings.EqualFold(t.text, text)
	default:
		return false
	}
}

func (t token) shown() string {
	if t.kind == endToken {
		return "<EOF>"
	}
	return t.text
}

// lex cuts an expression into tokens; the last one is always endToken. What belongs to no
// token becomes a badToken, which no rule of the grammar accepts.
func lex(text string) []token {
	var tokens []token
	for at := 0; at < len(text); {
		c := text[at]
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			at++
			continue
		}
		t := next(text[at:])
		tokens = append(tokens, t)
		at += len(t.text)
	}
	return append(tokens, token{kind: endToken})
}

func next(rest string) token {
	c := rest[0]
	switch {
	case letter(c):
		return token{wordToken, rest[:span(rest, 1, wordByte)]}
	case digit(c):
		return token{digitsToken, rest[:span(rest, 1, wordByte)]}
	case c == '#' || c == ':':
		end := span(rest, 1, wordByte)
		switch {
		case end == 1:
			return token{badToken, rest[:1]}
		case c == '#':
			return token{nameToken, rest[:end]}
		default:
			return token{valueToken, rest[:end]}
		}
	case strings.HasPrefix(rest, "<>"), strings.HasPrefix(rest, "<="), strings.HasPrefix(rest, ">="):
		return token{markToken, rest[:2]}
	case strings.IndexByte("()[],.+-=<>", c) >= 0:
		return token{markToken, rest[:1]}
	default:
		for i := range rest {
			if i > 0 {
				return token{badToken, rest[:i]}
			}
		}
		return token{badToken, rest}
	}
}

func span(s string, from int, accept func(byte) bool) int {
	for from < len(s) && accept(s[from]) {
		from++
	}
	return from
}

func letter(c byte) bool   { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool    { return c >= '0' && c <= '9' }
func wordByte(c byte) bool { return letter(c) || digit(c) || c == '_' }

//go:embed reserved.txt
var reservedWords string

// reserved tells whether a bare attribute name is one of the words that DynamoDB reserves.
// The list is one upper-case word a line.
func reserved(word string) bool {
	return strings.Contains("\n"+reservedWords, "\n"+strings.ToUpper(word)+"\n")
}
