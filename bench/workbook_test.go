package main

import (
	"bytes"
	"context"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"sealift/shared/format"
	"sealift/shared/row"
)

func TestExcelizeReadsSealiftsWorkbooks(t *testing.T) {
	t.Parallel()
	const nothing = "\x00"
	spec := format.Spec{
		Format: format.XLSX, Compression: format.None, InvalidUTF8: format.Fail, Guard: true, Zone: "Asia/Shanghai",
		Columns: []row.Column{
			{Name: "id", Kind: row.Int64}, {Name: "text", Kind: row.String}, {Name: "amount", Kind: row.Decimal, Scale: 2},
			{Name: "weight", Kind: row.Float64}, {Name: "paid", Kind: row.Bool}, {Name: "day", Kind: row.Date},
			{Name: "at", Kind: row.Timestamp}, {Name: "extra", Kind: row.JSON},
		},
	}
	// Each value as it comes from the source, and each cell as it must be found: raw, and as it shows.
	rows := [][][3]string{
		{{"7", "7", "7"}, {"00123", "00123", "00123"}, {"1.5", "1.5", "1.50"}, {"0.25", "0.25", "0.25"}, {"true", "1", "TRUE"},
			{"2026-03-29", "46110", "2026-03-29"}, {"2026-03-29T03:00:00+08:00", "46110.125", "2026-03-29 03:00:00+08:00"}, {"{}", "{}", "{}"}},
		{{"9007199254740993", "9007199254740993", "9007199254740993"}, {"=1+2", "=1+2", "=1+2"}, {"-42", "-42", "-42.00"},
			{"NaN", "NaN", "NaN"}, {"false", "0", "FALSE"}, {"1900-02-28", "1900-02-28", "1900-02-28"},
			{"2026-03-29T03:00:00.123456+08:00", "2026-03-29T03:00:00.123456+08:00", "2026-03-29T03:00:00.123456+08:00"}, {"[]", "[]", "[]"}},
		{{nothing, "", ""}, {"", "", ""}, {nothing, "", ""}, {"1e+21", "1e+21", "1E+21"}, {nothing, "", ""}, {nothing, "", ""},
			{"2026-03-29T03:00:00-03:30", "46110.125", "2026-03-29 03:00:00-03:30"}, {`"last"`, `"last"`, `"last"`}},
		{{"123456789012345", "123456789012345", "123456789012345"}, {"a\rb\n\x01_x000D_ 𠮷", "a\rb\n\x01_x000D_ 𠮷", "a\rb\n\x01_x000D_ 𠮷"},
			{"0.00000035", "0.00000035", "0.00000035"}, {"-0.5", "-0.5", "-0.5"}, {"true", "1", "TRUE"}, {"9999-12-31", "2958465", "9999-12-31"},
			{"2026-03-29T23:59:59+05:45", "46110.999988425926", "2026-03-29 23:59:59+05:45"}, {"1", "1", "1"}},
	}
	b := &row.Batch{}
	b.Reset(len(spec.Columns))
	for _, cells := range rows {
		for _, cell := range cells {
			if cell[0] == nothing {
				b.AppendNull()
			} else {
				b.AppendString(cell[0])
			}
		}
	}
	file := workbook(t, spec, b)
	for of, raw := range map[int]bool{1: true, 2: false} {
		// A book of its own for each way: excelize rounds the numbers it keeps when it first shows them.
		book, err := excelize.OpenReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		for r, cells := range rows {
			var got, want []string
			for i, cell := range cells {
				at, _ := excelize.CoordinatesToCellName(i+1, r%2+2)
				value, err := book.GetCellValue("Sheet"+strconv.Itoa(r/2+1), at, excelize.Options{RawCellValue: raw})
				if err != nil {
					t.Fatal(err)
				}
				got, want = append(got, value), append(want, cell[of])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("row %d, raw %v:\n%s", r, raw, diff)
			}
		}
	}
}

// workbook writes the rows of b, two to a sheet, in two shards.
func workbook(t *testing.T, spec format.Spec, b *row.Batch) []byte {
	t.Helper()
	var file []byte
	joiner := format.NewJoiner(spec)
	for shard := 1; shard <= 2; shard++ {
		w, err := format.NewPartWriter(spec, format.PartOptions{First: shard == 1, Shard: shard})
		if err != nil {
			t.Fatal(err)
		}
		for r := (shard - 1) * 2; r < shard*2; r++ {
			if _, err := w.Append(b, r); err != nil {
				t.Fatal(err)
			}
		}
		last, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		piece := format.Piece{Number: shard, Offset: int64(len(file)), Bytes: int64(len(last.Data)), Rows: last.Rows, Fragment: last.Fragment}
		if err := joiner.Add(context.Background(), piece); err != nil {
			t.Fatal(err)
		}
		file = append(file, last.Data...)
	}
	suffix, err := joiner.Suffix()
	if err != nil {
		t.Fatal(err)
	}
	return append(file, suffix...)
}
