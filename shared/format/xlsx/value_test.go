package xlsx_test

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/job"
	"sealift/shared/row"
)

// entryText is what a ZIP reader sees of one entry.
func entryText(t testing.TB, file []byte, name string) string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := archive.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = entry.Close() }()
	text, err := io.ReadAll(entry)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return string(text)
}

// rowText is the XML of the row behind the header.
func rowText(t testing.TB, file []byte) string {
	t.Helper()
	_, text, _ := strings.Cut(entryText(t, file, "xl/worksheets/sheet1001.xml"), `<row r="2">`)
	text, _, found := strings.Cut(text, "</row>")
	if !found {
		t.Fatal("the worksheet has no second row")
	}
	return text
}

func TestTheKindDecidesWhatACellIs(t *testing.T) {
	t.Parallel()
	text := func(inside string) string { return `<c r="A2" t="inlineStr"><is><t>` + inside + `</t></is></c>` }
	styled := func(style, inside string) string { return `<c r="A2" s="` + style + `"><v>` + inside + `</v></c>` }
	number := job.Counters{NumbersAsText: 1}
	clock := job.Counters{TimesAsText: 1}
	cases := []struct {
		name  string
		kind  row.Kind
		value string
		want  string
		count job.Counters
	}{
		{"15 digits are a number", row.Int64, "123456789012345", styled("4", "123456789012345"), job.Counters{}},
		{"16 digits are text", row.Int64, "9007199254740993", text("9007199254740993"), number},
		{"18 digits are text", row.Int64, "352776136104522888", text("352776136104522888"), number},
		{"a sign is no digit", row.Int64, "-123456789012345", styled("4", "-123456789012345"), job.Counters{}},
		{"16 digits below zero are text", row.Int64, "-1234567890123456", text("-1234567890123456"), number},
		{"leading zeros are kept as text", row.Int64, "007", text("007"), number},
		{"zero", row.Int64, "0", styled("4", "0"), job.Counters{}},
		{"text that looks like a number", row.String, "00123", text("00123"), job.Counters{}},
		{"text that looks like a float", row.String, "1E5", text("1E5"), job.Counters{}},
		{"text that looks like a Boolean", row.String, "TRUE", text("TRUE"), job.Counters{}},
		{"a negative decimal is no formula", row.Decimal, "-1.5", styled("5", "-1.5"), job.Counters{}},
		{"eight decimals show", row.Decimal, "0.00000035", styled("12", "0.00000035"), job.Counters{}},
		{"29 digits are text", row.Decimal, "12345678901234567890.123456789", text("12345678901234567890.123456789"), number},
		{"zeros behind are no digits but show", row.Decimal, "1.10", styled("6", "1.10"), job.Counters{}},
		{"15 digits and zeros", row.Decimal, "1234567890123.4500", styled("8", "1234567890123.4500"), job.Counters{}},
		{"30 decimals are the most", row.Decimal, "0.000000000000000000000000000001", styled("34", "0.000000000000000000000000000001"), job.Counters{}},
		{"31 decimals are text", row.Decimal, "0.0000000000000000000000000000001", text("0.0000000000000000000000000000001"), number},
		{"yen", row.Decimal, "1980", styled("4", "1980"), job.Counters{}},
		{"dinar", row.Decimal, "12.345", styled("7", "12.345"), job.Counters{}},
		{"a float", row.Float64, "0.1", `<c r="A2"><v>0.1</v></c>`, job.Counters{}},
		{"17 digits of a float are exact", row.Float64, "0.30000000000000004", `<c r="A2"><v>0.30000000000000004</v></c>`, job.Counters{}},
		{"a large float", row.Float64, "1e+21", `<c r="A2"><v>1e+21</v></c>`, job.Counters{}},
		{"not a number", row.Float64, "NaN", text("NaN"), number},
		{"infinity", row.Float64, "-Infinity", text("-Infinity"), number},
		{"the smallest float", row.Float64, "5e-324", text("5e-324"), number},
		{"the largest float", row.Float64, "1.7976931348623157e+308", text("1.7976931348623157e+308"), number},
		{"true", row.Bool, "true", `<c r="A2" t="b"><v>1</v></c>`, job.Counters{}},
		{"false", row.Bool, "false", `<c r="A2" t="b"><v>0</v></c>`, job.Counters{}},
		{"a date", row.Date, "2026-03-29", styled("35", "46110"), job.Counters{}},
		{"the first date that all agree on", row.Date, "1900-03-01", styled("35", "61"), job.Counters{}},
		{"the day before", row.Date, "1900-02-28", text("1900-02-28"), clock},
		{"year 1", row.Date, "0001-01-01", text("0001-01-01"), clock},
		{"the last date", row.Date, "9999-12-31", styled("35", "2958465"), job.Counters{}},
		{"no such day", row.Date, "2026-02-30", text("2026-02-30"), clock},
		{"noon", row.DateTime, "2026-03-29T12:00:00", styled("36", "46110.5"), job.Counters{}},
		{"a second", row.DateTime, "2026-03-29T00:00:01", styled("36", "46110.000011574074"), job.Counters{}},
		{"seven seconds are rounded up", row.DateTime, "2026-03-29T00:00:07", styled("36", "46110.000081018519"), job.Counters{}},
		{"milliseconds", row.DateTime, "2026-03-29T03:00:00.123", styled("39", "46110.125001423611"), job.Counters{}},
		{"zeros of a fraction are kept", row.DateTime, "2026-03-29T03:00:00.00", styled("38", "46110.125"), job.Counters{}},
		{"microseconds are text", row.DateTime, "2026-03-29T03:00:00.123456", text("2026-03-29T03:00:00.123456"), clock},
		{"a leap second is text", row.DateTime, "2016-12-31T23:59:60", text("2016-12-31T23:59:60"), clock},
		{"an instant in Shanghai", row.Timestamp, "2026-03-29T03:00:00+08:00", styled("204", "46110.125"), job.Counters{}},
		{"an instant in Nepal", row.Timestamp, "2026-03-29T03:00:00.5+05:45", styled("257", "46110.125005787037"), job.Counters{}},
		{"an instant in UTC", row.Timestamp, "2026-03-29T03:00:00Z", styled("40", "46110.125"), job.Counters{}},
		{"the clock before the change", row.Timestamp, "2026-03-08T01:59:59-05:00", styled("100", "46089.083321759259"), job.Counters{}},
		{"the clock after the change", row.Timestamp, "2026-03-08T03:00:00-04:00", styled("108", "46089.125"), job.Counters{}},
		{"microseconds of an instant are text", row.Timestamp, "2026-03-29T03:00:00.123456+08:00", text("2026-03-29T03:00:00.123456+08:00"), clock},
		{"local mean time is text", row.Timestamp, "1900-12-31T00:00:00+08:05", text("1900-12-31T00:00:00+08:05"), clock},
		{"minutes of an offset end at 59", row.Timestamp, "2026-03-29T03:00:00+04:90", text("2026-03-29T03:00:00+04:90"), clock},
		{"a document", row.JSON, `{"a": "<b>"}`, text(`{"a": "&lt;b&gt;"}`), job.Counters{}},
		{"bytes", row.Bytes, "\x00\xff\x01", text("AP8B"), job.Counters{}},
		{"no bytes", row.Bytes, "", text(""), job.Counters{}},
		{"empty text", row.String, "", text(""), job.Counters{}},
		{"no text", row.String, null, "<c/>", job.Counters{Nulls: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config, b := configOf(c.kind), batchOf([]string{c.value})
			written := write(t, config, part.Options{First: true, Shard: 1}, b, 0, 1)
			file := join(t, config, written)
			if got := rowText(t, file); got != c.want {
				t.Errorf("%q is written as %s, want %s", c.value, got, c.want)
			}
			if diff := cmp.Diff(c.count, written.counters); diff != "" {
				t.Errorf("counted:\n%s", diff)
			}
			rows, hash, err := scan(config, file)
			if err != nil || hash != written.hash || len(rows) != 1 || rows[0][0] != c.value {
				t.Errorf("%q is read as %q, hash %x, %v; want hash %x", c.value, rows, hash, err, written.hash)
			}
		})
	}
}

func TestADeclaredScaleIsTheLeastThatShows(t *testing.T) {
	t.Parallel()
	config := configOf(row.Decimal)
	config.Columns[0].Scale = 2
	for value, style := range map[string]string{"7": "6", "7.5": "6", "7.25": "6", "7.125": "7", "-0.00": "6"} {
		if got, want := rowText(t, whole(t, config, batchOf([]string{value}))), `<c r="A2" s="`+style+`"><v>`+value+`</v></c>`; got != want {
			t.Errorf("%s is written as %s, want %s", value, got, want)
		}
	}
}

func TestAColumnIsTextWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	config := configOf(row.Int64, row.Decimal, row.Float64, row.Bool, row.Date, row.DateTime, row.Timestamp, row.Int64)
	config.Options = xlsx.Options{AsText: []bool{true, true, true, true, true, true, true}}
	values := []string{"7", "1.50", "0.1", "true", "2026-03-29", "2026-03-29T03:00:00", "2026-03-29T03:00:00+08:00", "7"}
	written := write(t, config, part.Options{First: true, Shard: 1}, batchOf(values), 0, 1)
	if diff := cmp.Diff(job.Counters{NumbersAsText: 3, TimesAsText: 3}, written.counters); diff != "" {
		t.Errorf("counted:\n%s", diff)
	}
	file := join(t, config, written)
	if got := strings.Count(rowText(t, file), `t="inlineStr"`); got != 7 {
		t.Errorf("%d cells are text, want 7", got)
	}
	rows, _, err := scan(config, file)
	if diff := cmp.Diff([][]string{values}, rows); err != nil || diff != "" {
		t.Errorf("read back: %v\n%s", err, diff)
	}
}

func TestEmptyCellsKeepTheirPlaceForEveryReader(t *testing.T) {
	t.Parallel()
	config := configOf(row.String, row.String, row.String, row.String, row.Bytes, row.String, row.String)
	file := whole(t, config, batchOf([]string{null, "b", "", "d", "", null, "g"}))
	const open, end = ` t="inlineStr"><is><t>`, `</t></is></c>`
	want := `<c/><c r="B2"` + open + `b` + end + `<c` + open + end + `<c r="D2"` + open + `d` + end + `<c` + open + end + `<c/><c r="G2"` + open + `g` + end
	if got := rowText(t, file); got != want {
		t.Errorf("the row is\n%s, want\n%s", got, want)
	}
}
