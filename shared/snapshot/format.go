package snapshot

import (
	"slices"
	"strings"
)

func (f *freezer) format(s *Snapshot) error {
	asked, d := f.request.Format, f.definition
	s.Format = Format{Type: asked.Type, Compression: asked.Compression, InvalidUTF8: d.InvalidUTF8}
	if s.Format.Type == "" {
		s.Format.Type = d.Formats[0]
	}
	if s.Format.Compression == "" {
		s.Format.Compression = d.Compressions[0]
	}
	if !slices.Contains(d.Formats, s.Format.Type) {
		return refuse("format_not_allowed", "/format/type", "/format/type is %q; definition %s allows %s", clip(s.Format.Type), d.Name, quoted(d.Formats))
	}
	if !slices.Contains(d.Compressions, s.Format.Compression) {
		return refuse("format_not_allowed", "/format/compression", "/format/compression is %q; definition %s allows %s", clip(s.Format.Compression), d.Name, quoted(d.Compressions))
	}
	if s.Format.Type != "csv" {
		return f.withoutCSVOptions()
	}
	return f.csv(s)
}

// withoutCSVOptions refuses options that the format would ignore.
func (f *freezer) withoutCSVOptions() error {
	asked := f.request.Format
	given := []struct {
		name  string
		given bool
	}{
		{"delimiter", asked.Delimiter != ""},
		{"quote", asked.Quote != ""},
		{"line_end", asked.LineEnd != ""},
		{"header", asked.Header != nil},
		{"bom", asked.BOM},
		{"null", asked.Null != nil},
	}
	for _, option := range given {
		if option.given {
			return refuse("format_option", "/format/"+option.name, "/format/%s is for csv; %s has no such option", option.name, f.request.Format.Type)
		}
	}
	return nil
}

func (f *freezer) csv(s *Snapshot) error {
	asked := f.request.Format
	s.Format.Delimiter, s.Format.Quote, s.Format.LineEnd = ",", `"`, "\r\n"
	s.Format.Header, s.Format.BOM, s.Format.Guard = true, asked.BOM, !f.definition.KeepFormulas
	if asked.Delimiter != "" {
		s.Format.Delimiter = asked.Delimiter
	}
	if asked.Quote != "" {
		s.Format.Quote = asked.Quote
	}
	switch asked.LineEnd {
	case "":
	case "crlf":
		s.Format.LineEnd = "\r\n"
	case "lf":
		s.Format.LineEnd = "\n"
	default:
		return refuse("format_option", "/format/line_end", "/format/line_end is %q; allowed are crlf and lf", clip(asked.LineEnd))
	}
	if asked.Header != nil {
		s.Format.Header = *asked.Header
	}
	if asked.Null != nil {
		s.Format.Null = *asked.Null
	}
	if !slices.Contains([]string{",", ";", "\t", "|"}, s.Format.Delimiter) {
		return refuse("format_option", "/format/delimiter", "/format/delimiter is %q; allowed are a comma, semicolon, tab or vertical bar", clip(s.Format.Delimiter))
	}
	if s.Format.Quote != `"` && s.Format.Quote != "'" {
		return refuse("format_option", "/format/quote", "/format/quote is %q; allowed are \" and '", clip(s.Format.Quote))
	}
	if len(s.Format.Null) > nullBytesMax || strings.ContainsAny(s.Format.Null, "\r\n\"'"+s.Format.Delimiter) {
		return refuse("format_option", "/format/null", "/format/null is %q; use up to %d characters without quotes, delimiters and line ends", clip(s.Format.Null), nullBytesMax)
	}
	return nil
}

const nullBytesMax = 16
