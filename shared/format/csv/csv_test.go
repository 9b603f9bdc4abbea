package csv_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/csv"
	"sealift/shared/format/field"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// rfc are the RFC's own options.
func rfc() csv.Options {
	return csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\r\n"}
}

// config has columns named a, b, … of these kinds and one key value.
func config(kinds ...row.Kind) csv.Config {
	c := csv.Config{Options: rfc(), Keys: 1, Guard: true, InvalidUTF8: field.Fail}
	for i, kind := range kinds {
		c.Columns = append(c.Columns, row.Column{Name: string(rune('a' + i)), Kind: kind})
	}
	return c
}

// null stands for NULL among the values of a test.
const null = "\x00NULL"

// batch is one row of these values and the key k-7.
func batch(values ...string) *row.Batch {
	b := &row.Batch{}
	b.Reset(len(values) + 1)
	for _, value := range values {
		if value == null {
			b.AppendNull()
		} else {
			b.AppendString(value)
		}
	}
	b.AppendString("k-7")
	return b
}

func encode(t *testing.T, c csv.Config, values ...string) (string, field.Counters) {
	t.Helper()
	if faults := c.Faults(c.Guard); len(faults) > 0 {
		t.Fatalf("options: %v", faults)
	}
	var counters field.Counters
	line, err := csv.New(c).AppendRow(nil, nil, batch(values...), 0, &counters)
	if err != nil {
		t.Fatalf("encode %q: %v", values, err)
	}
	return string(line), counters
}

func TestValuesSurviveInCSV(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		kind   row.Kind
		values []string
		want   []string
	}{
		{"64-bit integers have all digits", row.Int64,
			[]string{"9007199254740993", "352776136104522888", "-9223372036854775808"},
			[]string{"9007199254740993", "352776136104522888", "-9223372036854775808"}},
		{"text that looks like something else stays text", row.String,
			[]string{"00123", "1E5", "TRUE", "0912"}, []string{"00123", "1E5", "TRUE", "0912"}},
		{"decimals are exact and plain", row.Decimal,
			[]string{"0.00000035", "12345678901234567890.123456789", "0.3", "-42", "-1.5"},
			[]string{"0.00000035", "12345678901234567890.123456789", "0.3", "-42", "-1.5"}},
		{"money keeps the scale of its currency", row.Decimal,
			[]string{"1200", "12.00", "12.000", "-0.50"}, []string{"1200", "12.00", "12.000", "-0.50"}},
		{"floats keep their spelling", row.Float64,
			[]string{"1e+21", "-0.1", "NaN", "Infinity", "-Infinity"}, []string{"1e+21", "-0.1", "NaN", "Infinity", "-Infinity"}},
		{"booleans", row.Bool, []string{"true", "false"}, []string{"true", "false"}},
		{"times keep offset and precision", row.Timestamp,
			[]string{"2026-03-08T01:59:59.999999-05:00", "2026-03-08T03:00:00-04:00", "2026-11-01T01:30:00+08:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"},
			[]string{"2026-03-08T01:59:59.999999-05:00", "2026-03-08T03:00:00-04:00", "2026-11-01T01:30:00+08:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"}},
		{"dates never shift", row.Date, []string{"2026-03-08"}, []string{"2026-03-08"}},
		{"wall-clock times", row.DateTime, []string{"2026-03-08T02:30:00.5"}, []string{"2026-03-08T02:30:00.5"}},
		{"NULL isn't the empty string", row.String, []string{null, "", "x"}, []string{"", `""`, "x"}},
		{"what needs quotes is quoted", row.String,
			[]string{"a\rb", "a\nb", `a"b`, "a,b", " lead", "trail ", "\x01", "a;b", "a|b", "a'b", "a b", "end\t"},
			[]string{"\"a\rb\"", "\"a\nb\"", `"a""b"`, `"a,b"`, `" lead"`, `"trail "`, "\"\x01\"", "a;b", "a|b", "a'b", "a b", "\"end\t\""}},
		{"text in any script is intact", row.String,
			[]string{"名字", "𠮷", "👩‍👩‍👧", "e\u0301", "\u2028"}, []string{"名字", "𠮷", "👩‍👩‍👧", "e\u0301", "\u2028"}},
		{"control characters and noncharacters are kept", row.String,
			[]string{"a\x01b", "a\x0bb", "a\x1fb", "\uFFFF", "a\x00b"}, []string{"a\x01b", "a\x0bb", "a\x1fb", "\uFFFF", "a\x00b"}},
		{"bytes are base64", row.Bytes, []string{"", "\x00\xff", "\xfb\xef"}, []string{`""`, "AP8=", "++8="}},
		{"JSON is the source's text", row.JSON, []string{`{"a": 1}`, "-5", "[]"}, []string{`"{""a"": 1}"`, "-5", "[]"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kinds := make([]row.Kind, len(c.values))
			for i := range kinds {
				kinds[i] = c.kind
			}
			got, counters := encode(t, config(kinds...), c.values...)
			if want := strings.Join(c.want, ",") + "\r\n"; got != want {
				t.Errorf("row is %q, want %q", got, want)
			}
			if nulls := int64(strings.Count(strings.Join(c.values, ","), null)); counters.Nulls != nulls || counters.Neutralised != 0 {
				t.Errorf("counted %+v, want %d NULLs and nothing neutralised", counters, nulls)
			}
		})
	}
}

func TestFormulasInTextAreNeutralisedAndCounted(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"=1+2", "+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\x00=1", "＝1", "＋1", "－1", "＠1", " =1", "\u00a0=1", "\u3000＝1",
		"\u200b=1", "\ufeff=1", "\v=1", "-", "-1.5", "+86 21 5555", "\tno formula, but a tab leads", `=HYPERLINK("http://x","y")`,
		"=cmd|'/c calc'!A1",
	} {
		got, counters := encode(t, config(row.String, row.String), value, "x")
		want := `"'` + strings.ReplaceAll(value, `"`, `""`) + `",x` + "\r\n"
		if got != want || counters.Neutralised != 1 {
			t.Errorf("%q becomes %q with %d neutralised, want %q and 1", value, got, counters.Neutralised, want)
		}
	}
	for _, value := range []string{"1=2", "a-b", "a@b.cn", "'=1", "“=1”", "éa", "ー1", "カ", " x", "。=1", "‐1"} {
		got, counters := encode(t, config(row.String, row.String), value, "x")
		if strings.HasPrefix(got, `"'`) || counters.Neutralised != 0 {
			t.Errorf("harmless %q becomes %q", value, got)
		}
	}
}

func TestTheKindDecidesWhatIsAFormula(t *testing.T) {
	t.Parallel()
	kinds := []row.Kind{row.Decimal, row.Decimal, row.Int64, row.Float64, row.Bytes, row.JSON, row.JSON, row.JSON, row.String}
	values := []string{"-42", "-1.5", "-3", "-Infinity", "\xfb\xef", "-7e2", " -1\n", "-7=1", "-1.5"}
	got, counters := encode(t, config(kinds...), values...)
	if want := "-42,-1.5,-3,-Infinity,++8=,-7e2,\" -1\n\",\"'-7=1\",\"'-1.5\"\r\n"; got != want || counters.Neutralised != 2 {
		t.Errorf("row is %q with %d neutralised, want %q with 2", got, counters.Neutralised, want)
	}
	off := config(row.String, row.String)
	off.Guard = false
	got, counters = encode(t, off, "=1+2", "\t-1")
	if want := "=1+2,\"\t-1\"\r\n"; got != want || counters.Neutralised != 0 {
		t.Errorf("without the guard the row is %q with %d neutralised, want %q", got, counters.Neutralised, want)
	}
}

func TestEveryOptionShowsInTheFile(t *testing.T) {
	t.Parallel()
	names := []string{"名字", "a;b", "=x", "it's"}
	values := []string{null, "", "a;b", "it's"}
	cases := []struct {
		name    string
		options csv.Options
		guard   bool
		want    string
	}{
		{"RFC 4180", csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\r\n", Header: true}, true,
			"名字,a;b,\"'=x\",it's\r\n,\"\",a;b,it's\r\n"},
		{"semicolon, LF, BOM", csv.Options{Delimiter: ';', Quote: '"', LineEnd: "\n", Header: true, BOM: true}, false,
			"\ufeff名字;\"a;b\";=x;it's\n;\"\";\"a;b\";it's\n"},
		{"tab and null text", csv.Options{Delimiter: '\t', Quote: '"', LineEnd: "\n", NullText: `\N`}, false,
			"\\N\t\"\"\ta;b\tit's\n"},
		{"bar and single quote", csv.Options{Delimiter: '|', Quote: '\'', LineEnd: "\r\n", Header: true}, true,
			"名字|a;b|'''=x'|'it''s'\r\n|''|a;b|'it''s'\r\n"},
		{"BOM without header", csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\n", BOM: true}, false,
			"\ufeff,\"\",a;b,it's\n"},
	}
	for _, c := range cases {
		config := config(row.String, row.String, row.String, row.String)
		config.Options, config.Guard = c.options, c.guard
		for i := range names {
			config.Columns[i].Name = names[i]
		}
		var counters field.Counters
		encoder := csv.New(config)
		got, err := encoder.AppendRow(encoder.AppendHeader(nil), nil, batch(values...), 0, &counters)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestTheNullTextAsAValueIsQuoted(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text  string
		kind  row.Kind
		value string
		want  string
	}{
		{"NULL", row.String, "NULL", `"NULL"`}, {"NULL", row.Bytes, "\x35\x42\xcb", `"NULL"`}, {"0", row.Int64, "0", `"0"`},
		{"NaN", row.Float64, "NaN", `"NaN"`}, {"AP8=", row.Bytes, "\x00\xff", `"AP8="`}, {"true", row.JSON, "true", `"true"`},
		{"-", row.String, "-", `"'-"`}, {"NULL", row.String, "", `""`}, {"NULL", row.String, "null", "null"},
	}
	for _, c := range cases {
		config := config(c.kind, c.kind)
		config.NullText = c.text
		got, _ := encode(t, config, c.value, null)
		if want := c.want + "," + c.text + "\r\n"; got != want {
			t.Errorf("null text %q: %s %q gives %q, want %q", c.text, c.kind, c.value, got, want)
		}
	}
}

func TestAHeaderThatSpreadsheetsMistakeIsQuoted(t *testing.T) {
	t.Parallel()
	config := config(row.Int64, row.Int64)
	config.Header = true
	config.Columns[0].Name, config.Columns[1].Name = "ID", "IDX"
	if got := string(csv.New(config).AppendHeader(nil)); got != "\"ID\",IDX\r\n" {
		t.Errorf("header is %q", got)
	}
}

func TestInvalidUTF8IsRefusedOrReplacedAndCounted(t *testing.T) {
	t.Parallel()
	for _, kind := range []row.Kind{row.String, row.JSON} {
		var counters field.Counters
		_, err := csv.New(config(kind, kind)).AppendRow(nil, nil, batch("ok", "caf\xe9, ol\xc3"), 0, &counters)
		wantError(t, err, "value_invalid_utf8", `column "b"`, `key k-7`, "invalid_utf8: replace")
		replacing := config(kind, kind)
		replacing.InvalidUTF8 = field.Replace
		got, counters := encode(t, replacing, "ok", "caf\xe9, \"ol\xc3")
		if want := "ok,\"caf\ufffd, \"\"ol\ufffd\"\r\n"; got != want || counters.InvalidUTF8 != 1 {
			t.Errorf("%s: %q with %d counted, want %q with 1", kind, got, counters.InvalidUTF8, want)
		}
	}
}

func TestValuesOfAnotherKindAreRefused(t *testing.T) {
	t.Parallel()
	for kind, value := range map[row.Kind]string{
		row.Int64: "=1", row.Decimal: "1,5", row.Float64: "", row.Bool: "yes", row.Date: "infinity",
		row.Timestamp: "2026-03-08 01:00:00", row.DateTime: "\r\n",
	} {
		var counters field.Counters
		_, err := csv.New(config(kind)).AppendRow(nil, nil, batch(value), 0, &counters)
		wantError(t, err, "value_not_canonical", `column "a"`, `key k-7`, string(kind))
	}
}

func TestANullThatReadersWouldDropIsRefused(t *testing.T) {
	t.Parallel()
	var counters field.Counters
	_, err := csv.New(config(row.String)).AppendRow(nil, nil, batch(null), 0, &counters)
	wantError(t, err, "value_null_unwritable", "empty line", "null text")
	named := config(row.String)
	named.NullText = `\N`
	if got, _ := encode(t, named, null); got != "\\N\r\n" {
		t.Errorf("row is %q", got)
	}
}

func TestLargeRowsAreWrittenUpToTheLimit(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 30<<20)
	got, _ := encode(t, config(row.String, row.String), text, "y")
	if len(got) != len(text)+len(",y\r\n") {
		t.Errorf("30 MiB of text make %d bytes", len(got))
	}
	half := strings.Repeat(`"`, limits.RowBytesMax/2)
	for name, values := range map[string][]string{
		"one value": {strings.Repeat("x", limits.RowBytesMax+1), ""}, "two values": {half, half}, "quotes doubled": {half, "x"},
	} {
		var counters field.Counters
		_, err := csv.New(config(row.String, row.String)).AppendRow(nil, nil, batch(values...), 0, &counters)
		if err == nil {
			t.Errorf("%s: a row above the limit is written", name)
			continue
		}
		wantError(t, err, "row_too_large", "32 MiB", `key k-7`)
	}
	var counters field.Counters
	_, err := csv.New(config(row.Bytes)).AppendRow(nil, nil, batch(strings.Repeat("\xff", limits.RowBytesMax*3/4)), 0, &counters)
	if err != nil {
		t.Errorf("bytes that fit are refused: %v", err)
	}
	_, err = csv.New(config(row.Bytes)).AppendRow(nil, nil, batch(strings.Repeat("\xff", limits.RowBytesMax*3/4+3)), 0, &counters)
	wantError(t, err, "row_too_large")
}

func TestOptionsThatMakeAFileAmbiguousAreRefused(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		options csv.Options
		text    string
	}{
		{"no delimiter", csv.Options{Quote: '"', LineEnd: "\n"}, "delimiter"},
		{"letter as delimiter", csv.Options{Delimiter: 'x', Quote: '"', LineEnd: "\n"}, "one of , ; tab |"},
		{"no quote", csv.Options{Delimiter: ',', LineEnd: "\n"}, "quote"},
		{"CR alone", csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\r"}, "CR LF or LF"},
		{"delimiter in null text", csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\n", NullText: "a,b"}, "null text"},
		{"quote in null text", csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\n", NullText: `"`}, "null text"},
		{"space round null text", csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\n", NullText: " "}, "null text"},
		{"null text isn't UTF-8", csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\n", NullText: "\xff"}, "null text"},
		{"null text is a formula", csv.Options{Delimiter: ',', Quote: '"', LineEnd: "\n", NullText: "=NA()"}, "formula"},
	}
	for _, c := range cases {
		faults := c.options.Faults(true)
		if len(faults) != 1 || !strings.Contains(faults[0], c.text) {
			t.Errorf("%s: faults are %q, want one about %q", c.name, faults, c.text)
		}
	}
	if faults := (csv.Options{}).Faults(true); len(faults) != 3 {
		t.Errorf("all faults are reported together, got %q", faults)
	}
}

func TestNoRowAllocates(t *testing.T) {
	replacing := config(row.String, row.Int64, row.Decimal, row.Float64, row.Bool, row.Timestamp, row.JSON, row.Bytes, row.String)
	replacing.InvalidUTF8 = field.Replace
	encoder := csv.New(replacing)
	b := batch("=1,\xff\"", "1", "2.50", "0.1", "true", "2026-03-08T03:00:00-04:00", `{"a": [1]}`, "\x00\xff", null)
	var counters field.Counters
	dst := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := encoder.AppendRow(dst[:0], nil, b, 0, &counters); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("a row allocates %v times", n)
	}
}

func wantError(t *testing.T, err error, code string, texts ...string) {
	t.Helper()
	var fault *job.Error
	if !errors.As(err, &fault) || fault.Kind != job.Permanent || fault.Code != code {
		t.Fatalf("error is %v, want permanent %s", err, code)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q doesn't say %q", err, text)
		}
	}
}

func TestReadersGetBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	rows := [][]string{
		{"a\rb", "a\nb", `a"b`, "a,b"}, {" lead", "trail ", null, ""}, {"NULL", "名字", "\r\n", `"`},
		{null, null, null, null}, {strings.Repeat("long \"text\",\r\n", 20_000), "", "", "x"}, {",", "\"\"", "'", "\x00"},
	}
	for _, options := range []csv.Options{
		rfc(), {Delimiter: '\t', Quote: '\'', LineEnd: "\n", NullText: "NULL", BOM: true},
		{Delimiter: ';', Quote: '"', LineEnd: "\n", Header: true, NullText: `\N`},
	} {
		config := config(row.String, row.String, row.String, row.String)
		config.Options, config.Guard = options, false
		encoder := csv.New(config)
		file := encoder.AppendHeader(nil)
		var lines []string
		for _, values := range rows {
			var counters field.Counters
			start := len(file)
			var err error
			if file, err = encoder.AppendRow(file, nil, batch(values...), 0, &counters); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(file[start:]))
		}
		reader := csv.NewReader(bytes.NewReader(file), options, 4)
		if options.Header {
			if _, _, err := reader.Read(); err != nil {
				t.Fatal(err)
			}
		}
		var got [][]string
		for i := 0; ; i++ {
			values, nulls, err := reader.Read()
			if err != nil {
				break
			}
			if string(reader.Raw()) != lines[i] {
				t.Errorf("raw record %d is %.40q, want %.40q", i, reader.Raw(), lines[i])
			}
			got = append(got, texts(values, nulls))
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Errorf("%s: written (-) and read (+) differ:\n%.500s", fmt.Sprintf("%+v", options), diff)
		}
	}
}

func texts(values [][]byte, nulls []bool) []string {
	row := make([]string, len(values))
	for i, value := range values {
		row[i] = string(value)
		if nulls[i] {
			row[i] = null
		}
	}
	return row
}

func TestEveryByteAtEveryPlaceIsQuotedAsItMust(t *testing.T) {
	t.Parallel()
	e := csv.New(csv.Config{Options: csv.Options{Delimiter: ';', Quote: '"', LineEnd: "\n", NullText: "none"}, Columns: []row.Column{{Name: "v", Kind: row.String}}})
	for _, size := range []int{1, 3, 7, 8, 9, 15, 16, 17, 24, 31} {
		for at := range size {
			for ch := range 128 {
				value := []byte(strings.Repeat("x", size))
				value[at] = byte(ch)
				var b row.Batch
				b.Reset(1)
				b.Append(value)
				var c field.Counters
				got, err := e.AppendRow(nil, nil, &b, 0, &c)
				if err != nil {
					t.Fatal(err)
				}
				want := string(value)
				if strings.ContainsAny(want, ";\"\r\n") || want[0] <= ' ' || want[size-1] <= ' ' {
					want = `"` + strings.ReplaceAll(want, `"`, `""`) + `"`
				}
				if string(got) != want+"\n" {
					t.Fatalf("%q becomes %q, want %q", value, got, want+"\n")
				}
			}
		}
	}
}
