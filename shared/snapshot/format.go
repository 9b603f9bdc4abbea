package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"sealift/shared/definition"
	"sealift/shared/format/csv"
	"sealift/shared/format/csv/gb18030"
	"sealift/shared/format/field"
	"sealift/shared/job"
)

func (f *freezer) format(s *Snapshot) {
	asked, d := f.request.Format, f.definition
	s.Format = Format{Type: asked.Type, Compression: asked.Compression, InvalidUTF8: d.InvalidUTF8}
	if !f.known || f.gone("/format/type") {
		f.options(s)
		return
	}
	if s.Format.Type == "" {
		s.Format.Type = d.Formats[0]
	}
	if !slices.Contains(d.Formats, s.Format.Type) {
		f.refuse("format_not_allowed", "/format/type", "/format/type is %q; definition %s allows %s", job.Clip(s.Format.Type), d.Name, quoted(d.Formats))
		return
	}
	allowed := d.CompressionsFor(s.Format.Type)
	if s.Format.Compression == "" {
		s.Format.Compression = allowed[0]
	}
	if !slices.Contains(allowed, s.Format.Compression) {
		f.compressionRefused(s.Format, allowed)
	}
	f.look(s)
	f.options(s)
}

// options judges the options of the format that is asked for; which one it is must be known.
func (f *freezer) options(s *Snapshot) {
	switch {
	case s.Format.Type == "csv":
		f.csv(s)
	case len(definition.CompressionsOf(s.Format.Type)) > 0:
		f.withoutCSVOptions(s.Format.Type)
	}
}

func (f *freezer) compressionRefused(format Format, allowed []string) {
	if can := definition.CompressionsOf(format.Type); len(can) == 1 {
		f.refuse("format_not_allowed", "/format/compression", "/format/compression is %q; %s allows only %s, for it is compressed inside", job.Clip(format.Compression), format.Type, can[0])
		return
	}
	f.refuse("format_not_allowed", "/format/compression", "/format/compression is %q; definition %s allows %s for %s", job.Clip(format.Compression), f.definition.Name, quoted(allowed), format.Type)
}

// look freezes what only typed formats and spreadsheets use. Text formats don't, and their snapshots stay as they always
// were.
func (f *freezer) look(s *Snapshot) {
	sheet := s.Format.Type == "xlsx"
	if sheet {
		s.Format.Guard, s.Format.LongText = !f.definition.KeepFormulas, f.definition.LongText.Named()
	}
	if !sheet && s.Format.Type != "parquet" {
		return
	}
	for i := range s.Columns {
		column, _ := f.definition.Column(s.Columns[i].Name)
		s.Columns[i].Scale = column.Scale
		if sheet {
			s.Columns[i].Width, s.Columns[i].AsText = column.Width, column.AsText
		}
	}
}

func (f *freezer) layout(s *Snapshot) {
	switch asked := Layout(f.request.Layout); asked {
	case "":
	case LayoutFile, LayoutFiles:
		s.Layout = asked
	default:
		f.refuse("layout", "/layout", "/layout is %q; allowed are %s (one file) and %s (many files and a manifest)", job.Clip(f.request.Layout), LayoutFile, LayoutFiles)
	}
}

// withoutCSVOptions refuses options that the format would ignore.
func (f *freezer) withoutCSVOptions(format string) {
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
		{"encoding", asked.Encoding != ""},
	}
	for _, option := range given {
		if option.given {
			f.refuse("format_option", "/format/"+option.name, "/format/%s is for csv; %s has no such option", option.name, format)
		}
	}
}

func (f *freezer) csv(s *Snapshot) {
	asked, before := f.request.Format, len(f.faults)
	s.Format.Delimiter, s.Format.Quote, s.Format.LineEnd = cmp.Or(asked.Delimiter, ","), cmp.Or(asked.Quote, `"`), "\r\n"
	s.Format.Header, s.Format.BOM, s.Format.Guard = true, asked.BOM, !f.definition.KeepFormulas
	if !slices.Contains([]string{",", ";", "\t", "|"}, s.Format.Delimiter) {
		f.refuse("format_option", "/format/delimiter", "/format/delimiter is %q; allowed are a comma, semicolon, tab or vertical bar", job.Clip(s.Format.Delimiter))
	}
	if s.Format.Quote != `"` && s.Format.Quote != "'" {
		f.refuse("format_option", "/format/quote", "/format/quote is %q; allowed are \" and '", job.Clip(s.Format.Quote))
	}
	switch asked.LineEnd {
	case "", "crlf":
	case "lf":
		s.Format.LineEnd = "\n"
	default:
		f.refuse("format_option", "/format/line_end", "/format/line_end is %q; allowed are crlf and lf", job.Clip(asked.LineEnd))
	}
	if asked.Header != nil {
		s.Format.Header = *asked.Header
	}
	if asked.Null != nil {
		s.Format.Null = *asked.Null
	}
	f.encoding(s)
	if len(s.Format.Null) > nullBytesMax {
		f.refuse("format_option", "/format/null", "/format/null has %d bytes; at most %d are allowed", len(s.Format.Null), nullBytesMax)
	}
	if len(f.faults) > before || !f.known || f.earlier.Within("/format") {
		return // what the null text may be depends on all of these
	}
	if faults := s.Format.CSV().Faults(s.Format.Guard); len(faults) > 0 || strings.ContainsAny(s.Format.Null, "\"'") {
		f.refuse("format_option", "/format/null", "/format/null is %q; use text without quotes, delimiters, control characters and spaces at its ends, that no spreadsheet takes for a formula and the encoding has: \"\" and \\N are usual", s.Format.Null)
	}
}

func (f *freezer) encoding(s *Snapshot) {
	switch f.request.Format.Encoding {
	case "", "utf-8":
		return
	case string(csv.GB18030):
	default:
		f.refuse("format_option", "/format/encoding", "/format/encoding is %q; allowed are utf-8 and %s", job.Clip(f.request.Format.Encoding), csv.GB18030)
		return
	}
	s.Format.Encoding, s.Format.Unencodable = string(csv.GB18030), f.definition.Unencodable.Named()
	if s.Format.BOM {
		f.refuse("format_option", "/format/bom", "/format/bom is true; a byte order mark is for utf-8, and /format/encoding is %s", csv.GB18030)
	}
	if s.Format.Delimiter == "|" {
		f.refuse("format_option", "/format/delimiter", "/format/delimiter is a vertical bar, which is part of characters in %s; allowed with it are a comma, semicolon or tab", csv.GB18030)
	}
	if f.earlier.Within("/columns") {
		return // which columns are asked for isn't known
	}
	for _, column := range s.Columns {
		if s.Format.Header && !gb18030.AllEncodable([]byte(column.Name)) {
			f.refuse("format_option", "/format/encoding", "/format/encoding is %s, which has no sure code for a character in the name of column %q; leave the column or the header out, or use utf-8", csv.GB18030, column.Name)
			return
		}
	}
}

// CSV are the options of a CSV file. A snapshot that was changed may say anything; what is missing then is a fault that
// the options' own check names.
func (f Format) CSV() csv.Options {
	options := csv.Options{
		LineEnd: f.LineEnd, Header: f.Header, BOM: f.BOM, NullText: f.Null,
		Encoding: csv.Encoding(f.Encoding), Unencodable: field.InvalidRule(f.Unencodable),
	}
	if len(f.Delimiter) == 1 {
		options.Delimiter = f.Delimiter[0]
	}
	if len(f.Quote) == 1 {
		options.Quote = f.Quote[0]
	}
	return options
}

const nullBytesMax = 16
