package xlsx_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/job"
	"sealift/shared/row"
)

// numbered is n rows of a number and a text.
func numbered(n int) *row.Batch {
	rows := make([][]string, n)
	for i := range rows {
		rows[i] = []string{strconv.Itoa(i + 1), fmt.Sprintf("row %d", i+1)}
	}
	if n == 0 {
		rows = [][]string{{"", ""}}
	}
	return batchOf(rows...)
}

// sheetRows are the numbers of rows of the workbook's sheets, headers included, in their order.
func sheetRows(t testing.TB, file []byte) []int {
	t.Helper()
	var counts []int
	rels := entryText(t, file, "xl/_rels/workbook.xml.rels")
	for rest, found := rels, true; found; {
		var target string
		if _, rest, found = strings.Cut(rest, `/worksheet" Target="`); found {
			target, rest, _ = strings.Cut(rest, `"`)
			text := entryText(t, file, "xl/"+target)
			counts = append(counts, strings.Count(text, "<row "))
			if strings.Count(text, ">row 1<")+strings.Count(text, ">string b<") < 1 || !strings.HasSuffix(text, "</row></sheetData></worksheet>") {
				t.Errorf("%s has no header or no end", target)
			}
		}
	}
	if names := strings.Count(entryText(t, file, "xl/workbook.xml"), `<sheet name="Sheet`); names != len(counts) {
		t.Errorf("%d names for %d sheets", names, len(counts))
	}
	return counts
}

func TestASheetThatIsFullGoesOnInAnother(t *testing.T) {
	t.Parallel()
	const full = 10
	config := configOf(row.Int64, row.String)
	for rows, want := range map[int][]int{1: {2}, full - 1: {full}, full: {full + 1}, full + 1: {full + 1, 2}, 2*full + 1: {full + 1, full + 1, 2}} {
		b := numbered(rows)
		written := write(t, config, part.Options{First: true, Shard: 1, Cut: part.Cut{SheetRows: full}}, b, 0, rows)
		file := join(t, config, written)
		if diff := cmp.Diff(want, sheetRows(t, file)); diff != "" {
			t.Errorf("%d rows:\n%s", rows, diff)
		}
		got, hash, err := scan(config, file)
		if err != nil || hash != written.hash || len(got) != rows {
			t.Fatalf("%d rows: %d are read, %v", rows, len(got), err)
		}
		for i, values := range got {
			if values[0] != strconv.Itoa(i+1) {
				t.Fatalf("%d rows: row %d is %v", rows, i+1, values)
			}
		}
	}
}

func TestASheetEndsBeforeItsTextIsTooLong(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.String)
	b := numbered(50)
	text := len(entryText(t, whole(t, config, b), "xl/worksheets/sheet1001.xml"))
	for less, want := range map[int][]int{0: {51}, 1: {50, 2}} {
		config.Bounds.SheetBytes = int64(text - less)
		file := whole(t, config, b)
		if diff := cmp.Diff(want, sheetRows(t, file)); diff != "" {
			t.Errorf("%d bytes less than needed:\n%s", less, diff)
		}
		if rows, _, err := scan(config, file); err != nil || len(rows) != 50 || rows[49][0] != "50" {
			t.Errorf("%d bytes less than needed: %d rows, %v", less, len(rows), err)
		}
	}
	// A bound that not even one row keeps makes a sheet of every row, and never an empty one.
	config.Bounds.SheetBytes = 1
	if got := sheetRows(t, whole(t, config, numbered(3))); !cmp.Equal(got, []int{2, 2, 2}) {
		t.Errorf("sheets have %v rows, want 2 each", got)
	}
}

func TestAShardWithMoreSheetsThanItsFragmentListsFails(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.String)
	w, err := xlsx.NewWriter(config, part.Options{Shard: 1, Cut: part.Cut{SheetRows: 1}})
	if err != nil {
		t.Fatal(err)
	}
	b := numbered(2000)
	for r := 0; r < b.Rows() && err == nil; r++ {
		_, err = w.Append(b, r)
	}
	var fault *job.Error
	if !errors.As(err, &fault) || fault.Code != "shard_too_large" || !strings.Contains(err.Error(), "worksheets, the most allowed") {
		t.Errorf("the error is %v", err)
	}
}

func TestAWorkbookWithoutRowsHasOneSheetWithItsHeader(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.String)
	for _, shards := range []int{1, 3} {
		var written []shardOf
		for i := range shards {
			written = append(written, write(t, config, part.Options{First: i == 0, Shard: i + 1}, numbered(0), 0, 0))
		}
		for i, s := range written[1:] {
			if len(s.data) > 0 {
				t.Errorf("shard %d without rows has %d bytes", i+2, len(s.data))
			}
		}
		file := join(t, config, written...)
		if got := sheetRows(t, file); !cmp.Equal(got, []int{1}) {
			t.Errorf("sheets have %v rows, want one with the header", got)
		}
		if rows, _, err := scan(config, file); err != nil || len(rows) != 0 {
			t.Errorf("%d rows are read, %v", len(rows), err)
		}
	}
}

func TestShardsWithoutRowsLeaveNoSheet(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.String)
	b := numbered(30)
	var written []shardOf
	for i, bounds := range [][2]int{{0, 0}, {0, 5}, {5, 5}, {5, 30}, {30, 30}} {
		written = append(written, write(t, config, part.Options{First: i == 0, Shard: i + 1}, b, bounds[0], bounds[1]))
	}
	file := join(t, config, written...)
	if got := sheetRows(t, file); !cmp.Equal(got, []int{6, 26}) {
		t.Errorf("sheets have %v rows", got)
	}
	rows, _, err := scan(config, file)
	if err != nil || len(rows) != 30 {
		t.Errorf("%d rows are read, %v", len(rows), err)
	}
}

func TestColumnsHaveTheWidthOfTheirKindUnlessOneIsAskedFor(t *testing.T) {
	t.Parallel()
	config := configOf(row.Bool, row.Date, row.String)
	config.Columns[0].Name = "名字名字名字"
	config.Widths = []float64{0, 33.5}
	text := entryText(t, whole(t, config, batchOf([]string{"true", "2026-01-02", "x"})), "xl/worksheets/sheet1001.xml")
	for _, want := range []string{
		`<col min="1" max="1" width="14" customWidth="1"/>`, `<col min="2" max="2" width="33.5" customWidth="1"/>`,
		`<col min="3" max="3" width="24" customWidth="1"/>`, `<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the sheet doesn't have %s", want)
		}
	}
}

func TestManySheetsHaveNamesOfTheirOwnInTheOrderOfRows(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.String)
	b := numbered(40)
	var written []shardOf
	for i := range 4 {
		written = append(written, write(t, config, part.Options{First: i == 0, Shard: i + 1, Cut: part.Cut{SheetRows: 4}}, b, i*10, i*10+10))
	}
	file := join(t, config, written...)
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range archive.File {
		if strings.HasPrefix(entry.Name, "xl/worksheets/") {
			names = append(names, strings.TrimPrefix(entry.Name, "xl/worksheets/"))
		}
	}
	want := []string{
		"sheet1001.xml", "sheet1002.xml", "sheet1003.xml", "sheet2001.xml", "sheet2002.xml", "sheet2003.xml",
		"sheet3001.xml", "sheet3002.xml", "sheet3003.xml", "sheet4001.xml", "sheet4002.xml", "sheet4003.xml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(entryText(t, file, "xl/workbook.xml"), `<sheet name="Sheet12" sheetId="12" r:id="rId12"/></sheets>`) {
		t.Error("the last sheet isn't Sheet12")
	}
}
