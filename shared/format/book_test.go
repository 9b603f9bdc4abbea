package format_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format"
	"sealift/shared/row"
)

// corners are rows for orders with the values that spreadsheets are bad at, and then as many of table.
func corners(more int) *row.Batch {
	b := table(29, 0)
	add := func(values ...string) {
		for _, value := range values {
			b.AppendString(value)
		}
		b.AppendNull() // the column that is never set
		b.AppendString("2026-01-02T03:04:05Z")
		b.AppendString("1")
	}
	add("9007199254740993", "00123", "=1+2", "0.00000035", "0.1", "true", "2026-03-29", "2026-03-29T03:00:00+08:00", "2026-03-29T03:00:00", "{}", "")
	add("352776136104522888", "1E5", "+1", "12345678901234567890.123456789", "NaN", "false", "1900-03-01", "2026-03-08T01:59:59.999-05:00", "1999-12-31T23:59:59.999", "-1.5", "\x00\xff")
	add("-42", "TRUE", "-2+3", "-1.5", "1e+21", "true", "1900-02-28", "2026-03-08T03:00:00-04:00", "2026-03-29T03:00:00.123456", "[]", "a")
	add("123456789012345", "0912", "@SUM(1)", "-42", "-Infinity", "true", "0001-01-01", "2026-11-01T01:30:00.5Z", "0001-01-01T00:00:00", `"=x"`, "b")
	add("0", "", "a\rb\nc\td", "1980", "5e-324", "true", "9999-12-31", "2026-10-25T02:30:00+05:45", "9999-12-31T23:59:59.999", "1", "c")
	add("1", " a ", "\x01\x0b\x1f\uffff", "12.345", "0.30000000000000004", "true", "2000-02-29", "1900-12-31T00:00:00+08:05", "2026-12-31T00:00:00.001", "1", "d")
	add("2", "_x000D_", "名字 𠮷 👩‍👩‍👧 e\u0301", "0.10", "-0.5", "true", "2024-02-29", "2026-03-29T03:00:00.250+00:00", "2026-03-29T12:00:01", "1", "e")
	add("3", "a & <b> ]]>", `say "hi", you`, "100000000000.00", "123456.789", "true", "2026-12-31", "2026-03-29T03:00:00-03:30", "2026-03-29T23:59:59", "1", "f")
	add("4", "mean_x1_sd", "_x0__xA_x10_ _x5f_x01_ _x0041\x0b_xA\x01", "1", "1", "true", "2026-12-31", "2026-03-29T03:00:00Z", "2026-03-29T23:59:59", "1", "g")
	add("5", "res_x20_y", "_x123_ _x_ _X1_ _x00001_ _x1", "1", "1", "true", "2026-12-31", "2026-03-29T03:00:00Z", "2026-03-29T23:59:59", "1", "h")
	add("6", "win_x64\r\nlinux", "_x64_x000D_ a_xab\ufffe", "1", "1", "true", "2026-12-31", "2026-03-29T03:00:00Z", "2026-03-29T23:59:59", "1", "i")
	rest := table(29, more)
	for r := range more {
		for i := range rest.Width() {
			if value, ok := rest.Value(r, i); ok {
				b.Append(value)
			} else {
				b.AppendNull()
			}
		}
	}
	return b
}

// bookOf writes rows as a workbook of three shards, one without rows, and several sheets.
func bookOf(t *testing.T, b *row.Batch) string {
	t.Helper()
	spec := orders(format.XLSX, format.None)
	var shards [][]format.Part
	for i, bounds := range [][2]int{{0, 200}, {200, 200}, {200, b.Rows()}} {
		w := newWriter(t, spec, format.PartOptions{First: i == 0, Shard: i + 1, Cut: small()})
		shards = append(shards, write(t, w, b, bounds[0], bounds[1]))
	}
	file, _ := join(spec, shards...)
	path := filepath.Join(t.TempDir(), "book.xlsx")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shown is what a spreadsheet is to make of a value of orders: its type, a colon, and the value.
func shown(kind row.Kind, value string) string {
	stays := "text:" + string([]rune(value))
	switch kind {
	case row.Int64, row.Decimal, row.Float64:
		float, err := strconv.ParseFloat(value, 64)
		if kind != row.Float64 {
			if digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(value), "0"); len(digits) > 15 {
				return stays
			}
		} else if err != nil || math.IsNaN(float) || math.IsInf(float, 0) || strings.Contains(value, "e-3") {
			return stays
		}
		return fmt.Sprintf("number:%d", math.Float64bits(float))
	case row.Bool:
		return "bool:" + value
	case row.Date:
		if value < "1900-03-01" {
			return stays
		}
		return "time:" + value + "T00:00:00.000"
	case row.DateTime, row.Timestamp:
		clock, suffix := value, ""
		if kind == row.Timestamp {
			at := strings.LastIndexAny(value, "Z+-")
			clock, suffix = value[:at], value[at:]
		}
		if value < "1900-03-01" || len(clock) > len("2026-03-29T03:00:00.000") || suffix == "+08:05" {
			return stays
		}
		if len(clock) == len("2026-03-29T03:00:00") {
			clock += "."
		}
		return "time:" + (clock + "000")[:len("2026-03-29T03:00:00.000")] + suffix
	case row.Bytes, row.JSON, row.String:
	}
	return stays
}

// readBook prints what openpyxl finds in every cell of a workbook, sheet by sheet, as shown says it.
const readBook = `
import base64, datetime, json, re, struct, sys, warnings
warnings.simplefilter("error")
import openpyxl

def decoded(text):
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m.group(1), 16)), text)

def shown(cell, column):
    v = cell.value
    if v is None:
        return None
    if isinstance(v, bool):
        return "bool:" + str(v).lower()
    if isinstance(v, datetime.datetime):
        literal = "".join(re.findall(r"\\(.)", cell.number_format))
        return "time:" + v.isoformat(timespec="milliseconds") + literal
    if isinstance(v, (int, float)):
        return "number:%d" % struct.unpack("<Q", struct.pack("<d", float(v)))[0]
    if column == 10 and cell.row > 1:
        return "text:" + base64.b64decode(v, validate=True).decode("latin1")
    return "text:" + decoded(v)

book = openpyxl.load_workbook(sys.argv[1])
print(json.dumps([{
    "name": sheet.title, "frozen": sheet.freeze_panes, "bold": all(c.font.b for c in sheet[1]),
    "rows": [[shown(c, i) for i, c in enumerate(row)] for row in sheet.iter_rows()],
    "quoted": sum(c.quotePrefix for row in sheet.iter_rows() for c in row),
} for sheet in book]))
`

type bookSheet struct {
	Name   string      `json:"name"`
	Frozen string      `json:"frozen"`
	Bold   bool        `json:"bold"`
	Rows   [][]*string `json:"rows"`
	Quoted int         `json:"quoted"`
}

func TestOpenpyxlReadsEveryCellAsItIsMeant(t *testing.T) {
	t.Parallel()
	const python = "../../.tools/openpyxl/bin/python"
	if _, err := exec.LookPath(python); err != nil {
		t.Fatalf("install openpyxl to run this test (make setup): %v", err)
	}
	spec, b := orders(format.XLSX, format.None), corners(500)
	var sheets []bookSheet
	unmarshal(t, pipe(t, nil, python, "-c", readBook, bookOf(t, b)), &sheets)
	var names []string
	r, quoted := 0, 0
	for _, sheet := range sheets {
		names = append(names, sheet.Name)
		quoted += sheet.Quoted
		if sheet.Frozen != "A2" || !sheet.Bold {
			t.Errorf("%s: frozen at %q, bold %v", sheet.Name, sheet.Frozen, sheet.Bold)
		}
		for i, column := range spec.Columns {
			if got := sheet.Rows[0][i]; got == nil || *got != "text:"+column.Name {
				t.Errorf("%s: header %d isn't %s", sheet.Name, i, column.Name)
			}
		}
		for _, cells := range sheet.Rows[1:] {
			for i, column := range spec.Columns {
				value, ok := b.Value(r, i)
				if (cells[i] == nil) == ok {
					t.Fatalf("row %d, %s: NULL is %v", r, column.Name, !ok)
				}
				if !ok {
					continue
				}
				want := shown(column.Kind, string(value))
				if column.Kind == row.Bytes {
					want = "text:" + latin1(value)
				}
				if *cells[i] != want {
					t.Errorf("row %d, %s: %q is %q, want %q", r, column.Name, value, *cells[i], want)
				}
			}
			r++
		}
	}
	if diff := cmp.Diff([]string{"Sheet1", "Sheet2", "Sheet3", "Sheet4", "Sheet5"}, names); diff != "" || r != b.Rows() || quoted == 0 {
		t.Errorf("%d rows of %d, %d marked cells, sheets:\n%s", r, b.Rows(), quoted, diff)
	}
}

func latin1(value []byte) string {
	text := make([]rune, len(value))
	for i, ch := range value {
		text[i] = rune(ch)
	}
	return string(text)
}

func TestLibreOfficeShowsEveryCellAsItIsMeant(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("soffice"); err != nil {
		t.Fatalf("install LibreOffice to run this test (make setup): %v", err)
	}
	spec, b := orders(format.XLSX, format.None), corners(300)
	folder := t.TempDir()
	// Comma, quotes, UTF-8, quoted text, content as shown, and every sheet in a file of its own.
	pipe(t, nil, "soffice", "-env:UserInstallation=file://"+filepath.Join(folder, "profile"), "--headless",
		"--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,true,true,true,false,false,-1", "--outdir", folder, bookOf(t, b))
	r := 0
	for _, name := range []string{"Sheet1", "Sheet2", "Sheet3"} {
		text, err := os.ReadFile(filepath.Join(folder, "book-"+name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		for line, cells := range quotedFields(string(text)) {
			if len(cells) != len(spec.Columns) {
				t.Fatalf("%s: line %d has %d fields", name, line+1, len(cells))
			}
			if line == 0 {
				continue
			}
			for i, column := range spec.Columns {
				value, ok := b.Value(r, i)
				if got, want := cells[i], office(column, string(value), ok); !alike(got, want, column.Kind) {
					t.Errorf("%s, row %d, %s: %q is %q, want %q", name, r, column.Name, value, got, want)
				}
			}
			r++
		}
	}
	if r != b.Rows() {
		t.Errorf("%d rows of %d", r, b.Rows())
	}
}

// office is what LibreOffice writes for a value: text in quotes, the empty text like no value.
func office(column row.Column, value string, ok bool) string {
	if column.Kind == row.Bytes {
		encoded, _ := json.Marshal([]byte(value))
		return strings.ReplaceAll(string(encoded), `""`, "")
	}
	if !ok || value == "" {
		return ""
	}
	what, _, _ := strings.Cut(shown(column.Kind, value), ":")
	switch what {
	case "bool":
		return strings.ToUpper(value)
	case "time":
		return strings.Replace(value, "T", " ", 1)
	case "number":
		if whole, fraction, _ := strings.Cut(value, "."); column.Kind == row.Decimal {
			return whole + "." + fraction + strings.Repeat("0", max(0, column.Scale-len(fraction)))
		}
		return value
	}
	return `"` + string([]rune(value)) + `"`
}

// alike allows for what LibreOffice shows in its own way: floats with fewer digits, a fraction of a second always with
// three, and CR as a line feed.
func alike(got, want string, kind row.Kind) bool {
	switch kind {
	case row.Float64:
		a, errA := strconv.ParseFloat(got, 64)
		b, errB := strconv.ParseFloat(want, 64)
		return errA == nil && errB == nil && math.Abs(a-b) <= 1e-9*math.Abs(b) || got == want
	case row.Timestamp, row.DateTime:
		if at := strings.IndexByte(want, '.'); at == len("2026-03-29 03:00:00") && strings.IndexByte(got, '.') == at && got[0] != '"' {
			end := at + 1
			for end < len(want) && want[end] >= '0' && want[end] <= '9' {
				end++
			}
			want = want[:at] + (want[at:end] + "000")[:4] + want[end:]
		}
	case row.String:
		return got == strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(want)
	case row.Int64, row.Decimal, row.Bool, row.Date, row.JSON, row.Bytes:
	}
	return got == want
}

// quotedFields parses CSV and leaves the outer quotes where there are some.
func quotedFields(text string) [][]string {
	var lines [][]string
	var line []string
	for len(text) > 0 {
		end, quoted := 0, false
		for ; end < len(text); end++ {
			if text[end] == '"' {
				quoted = !quoted
			} else if !quoted && (text[end] == ',' || text[end] == '\n') {
				break
			}
		}
		value := text[:end]
		if strings.HasPrefix(value, `"`) {
			value = `"` + strings.ReplaceAll(value[1:len(value)-1], `""`, `"`) + `"`
		}
		line = append(line, value)
		if end == len(text) || text[end] == '\n' {
			lines, line = append(lines, line), nil
		}
		text = text[min(len(text), end+1):]
	}
	return lines
}
