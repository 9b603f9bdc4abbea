package xlsx_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/limits"
	"sealift/shared/row"
)

func TestASheetHoldsAsManyRowsAsASpreadsheetAndNoRowIsLost(t *testing.T) {
	t.Parallel()
	const spreadsheet = 1 << 20
	config, b := configOf(row.Bool), batchOf([]string{"true"})
	w, err := xlsx.NewWriter(config, part.Options{First: true, Shard: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range spreadsheet + 1 {
		if full, err := w.Append(b, 0); err != nil || full {
			t.Fatalf("full is %v, %v", full, err)
		}
	}
	last, err := w.End()
	if err != nil {
		t.Fatal(err)
	}
	file := join(t, config, shardOf{data: last.Data, rows: last.Rows, fragment: last.Fragment})
	for name, want := range map[string]int{"sheet1001.xml": spreadsheet, "sheet1002.xml": 1 + 2} {
		text := entryText(t, file, "xl/worksheets/"+name)
		if got := bytes.Count([]byte(text), []byte("<row ")); got != want {
			t.Errorf("%s has %d rows, want %d", name, got, want)
		}
	}
	reader, rows := xlsx.NewReader(config, bytes.NewReader(file)), 0
	for ; err == nil; rows++ {
		_, _, err = reader.Read()
	}
	if !errors.Is(err, io.EOF) || rows-1 != spreadsheet+1 || limits.SheetRowsMax != spreadsheet-1 {
		t.Errorf("%d rows are read, %v", rows-1, err)
	}
}
