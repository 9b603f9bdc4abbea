package format_test

import (
	"strings"
	"testing"

	"sealift/shared/format"
	"sealift/shared/row"
)

func TestExtensionAndContentTypeSayWhatTheFileIs(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name        format.Name
		compression format.Compression
		extension   string
		contentType string
	}{
		{format.CSV, format.None, "csv", "text/csv; charset=utf-8; header=present"},
		{format.CSV, format.Gzip, "csv.gz", "application/gzip"},
		{format.CSV, format.Zstd, "csv.zst", "application/zstd"},
		{format.JSONL, format.None, "jsonl", "application/x-ndjson"},
		{format.JSONL, format.Gzip, "jsonl.gz", "application/gzip"},
		{format.JSONL, format.Zstd, "jsonl.zst", "application/zstd"},
		{format.Parquet, format.Zstd, "parquet", "application/vnd.apache.parquet"},
		{format.Parquet, format.None, "parquet", "application/vnd.apache.parquet"},
		{format.XLSX, format.None, "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	}
	for _, c := range cases {
		spec := orders(c.name, c.compression)
		if got := format.Extension(spec); got != c.extension {
			t.Errorf("%s %s: extension is %q, want %q", c.name, c.compression, got, c.extension)
		}
		if got := format.ContentType(spec); got != c.contentType {
			t.Errorf("%s %s: content type is %q, want %q", c.name, c.compression, got, c.contentType)
		}
	}
	spec := orders(format.CSV, format.None)
	spec.CSV.Header = false
	if got := format.ContentType(spec); got != "text/csv; charset=utf-8; header=absent" {
		t.Errorf("without a header the content type is %q", got)
	}
}

func TestASpecThatCantBeWrittenIsRefusedWithEveryFault(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(*format.Spec)
		text   string
	}{
		{"format", func(s *format.Spec) { s.Format = "xls" }, `format "xls" must be one of csv, jsonl, xlsx, parquet`},
		{"compression", func(s *format.Spec) { s.Compression = "" }, "must be one of none, gzip, zstd"},
		{"rule", func(s *format.Spec) { s.InvalidUTF8 = "" }, "must be fail or replace"},
		{"keys", func(s *format.Spec) { s.Keys = -1 }, "must not be negative"},
		{"options", func(s *format.Spec) { s.CSV.Delimiter = 'x' }, "delimiter"},
		{"guard", func(s *format.Spec) { s.Format = format.JSONL }, "formula guard is for csv and xlsx"},
		{"compressed workbook", func(s *format.Spec) { s.Format, s.Compression = format.XLSX, format.Gzip },
			`compression "gzip" must be none for xlsx, whose sheets are compressed inside the file`},
		{"guarded parquet", func(s *format.Spec) { s.Format = format.Parquet }, "switch it off for parquet"},
		{"zipped parquet", func(s *format.Spec) { s.Format, s.Compression = format.Parquet, format.Gzip },
			`compression "gzip" must be one of zstd, snappy, none for parquet`},
		{"snappy text", func(s *format.Spec) { s.Compression = format.Snappy }, `compression "snappy" must be one of none, gzip, zstd`},
		{"scale", func(s *format.Spec) { s.Format, s.Columns[3].Scale = format.Parquet, 39 }, `scale 39 of column "amount" must be at most 38`},
		{"widths", func(s *format.Spec) { s.Format, s.XLSX.Widths = format.XLSX, []float64{0, -1} }, "width -1 of column 2"},
		{"too many widths", func(s *format.Spec) { s.Format, s.XLSX.Widths = format.XLSX, make([]float64, 13) }, "widths for 13"},
		{"long text", func(s *format.Spec) { s.Format, s.XLSX.LongText = format.XLSX, "cut" }, "must be fail or truncate"},
		{"long name", func(s *format.Spec) { s.Format, s.Columns[2].Name = format.XLSX, strings.Repeat("n", 32768) }, "name of column 3"},
		{"no columns", func(s *format.Spec) { s.Columns = nil }, "1 to 1024 columns, not 0"},
		{"too many columns", func(s *format.Spec) { s.Columns = make([]row.Column, 1025) }, "not 1025"},
		{"no name", func(s *format.Spec) { s.Columns[2].Name = "" }, "column 3 needs a name"},
		{"bad name", func(s *format.Spec) { s.Columns[2].Name = "\xff" }, "must be UTF-8"},
		{"doubled name", func(s *format.Spec) { s.Columns[2].Name = "id" }, `"id" must not appear twice`},
		{"kind", func(s *format.Spec) { s.Columns[2].Kind = "money" }, `kind "money" of column "note"`},
	}
	for _, c := range cases {
		spec := orders(format.CSV, format.None)
		c.change(&spec)
		_, err := format.NewPartWriter(spec, format.PartOptions{})
		wantError(t, err, "invalid", "format_invalid", c.text)
	}
	err := format.Spec{}.Validate()
	wantError(t, err, "invalid", "format_invalid", "format", "compression", "UTF-8", "columns")
	if strings.Count(err.Error(), ";") < 3 {
		t.Errorf("not every fault is reported: %v", err)
	}
}
