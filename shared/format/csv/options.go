package csv

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"sealift/shared/format/csv/gb18030"
	"sealift/shared/format/field"
)

// Options are RFC 4180's variables.
type Options struct {
	Delimiter byte   // one of , ; tab |
	Quote     byte   // " or '
	LineEnd   string // "\r\n" (the RFC's) or "\n"
	Header    bool
	BOM       bool
	// NullText is written unquoted for NULL; a value equal to it, and the empty string, are quoted, so that
	// NULL and text stay distinct.
	NullText string
	// Encoding is how the text is coded; the zero value is UTF-8.
	Encoding Encoding
	// Unencodable is what becomes of a character that the encoding doesn't have; for GB18030 only. Where it is replaced
	// a question mark stands for each.
	Unencodable field.InvalidRule
}

// Encoding is how characters become bytes.
type Encoding string

// The encodings.
const (
	UTF8    Encoding = ""
	GB18030 Encoding = "gb18030"
)

// CodeUnencodable is text with a character that GB 18030 has no sure code for, under the rule Fail.
const CodeUnencodable = "value_unencodable"

// BOM is the byte order mark that makes some spreadsheets read UTF-8.
const BOM = "\uFEFF"

// Faults lists what is wrong with the options, each as a sentence part that says how to mend it; none means they are
// usable. guard is whether the file is guarded against formulas.
func (o Options) Faults(guard bool) []string {
	var faults []string
	if o.Delimiter == 0 || strings.IndexByte(",;\t|", o.Delimiter) < 0 {
		faults = append(faults, fmt.Sprintf("delimiter %q must be one of , ; tab |", string(rune(o.Delimiter))))
	}
	if o.Quote != '"' && o.Quote != '\'' {
		faults = append(faults, fmt.Sprintf("quote %q must be \" or '", string(rune(o.Quote))))
	}
	if o.LineEnd != "\r\n" && o.LineEnd != "\n" {
		faults = append(faults, fmt.Sprintf("line end %q must be CR LF or LF", o.LineEnd))
	}
	if !utf8.ValidString(o.NullText) || strings.ContainsFunc(o.NullText, func(r rune) bool {
		return r < ' ' || r == rune(o.Delimiter) || r == rune(o.Quote)
	}) || strings.TrimSpace(o.NullText) != o.NullText {
		faults = append(faults, fmt.Sprintf("null text %q must be UTF-8 without delimiter, quote, control character "+
			`or outer space; "" and \N are usual`, o.NullText))
	} else if guard && o.NullText != "-" && formula([]byte(o.NullText)) {
		faults = append(faults, fmt.Sprintf("null text %q looks like a formula to a spreadsheet; choose another "+
			"such as \\N, or switch the formula guard off", o.NullText))
	}
	return append(faults, o.encodingFaults()...)
}

func (o Options) encodingFaults() []string {
	var faults []string
	switch o.Encoding {
	case UTF8:
		if o.Unencodable != "" {
			faults = append(faults, "UTF-8 has every character; a rule for unencodable ones is for gb18030")
		}
		return faults
	case GB18030:
	default:
		return append(faults, fmt.Sprintf("encoding %q must be gb18030, or empty for UTF-8", o.Encoding))
	}
	if o.BOM {
		faults = append(faults, "a byte order mark is for UTF-8; leave it out of gb18030")
	}
	if o.Delimiter == '|' {
		faults = append(faults, "delimiter '|' is part of characters in gb18030; choose , ; or tab")
	}
	if o.Unencodable != field.Fail && o.Unencodable != field.Replace {
		faults = append(faults, fmt.Sprintf("the rule for unencodable characters %q must be %s or %s", o.Unencodable, field.Fail, field.Replace))
	}
	if !gb18030.AllEncodable([]byte(o.NullText)) {
		faults = append(faults, fmt.Sprintf("null text %q has a character that gb18030 has no sure code for", o.NullText))
	}
	return faults
}
