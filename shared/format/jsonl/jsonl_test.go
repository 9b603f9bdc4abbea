package jsonl_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sealift/shared/format/field"
	"sealift/shared/format/jsonl"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// config has columns named a, b, … of these kinds and one key value.
func config(kinds ...row.Kind) jsonl.Config {
	c := jsonl.Config{Keys: 1, InvalidUTF8: field.Fail}
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

func encode(t *testing.T, c jsonl.Config, values ...string) (string, field.Counters) {
	t.Helper()
	var counters field.Counters
	line, err := jsonl.New(c).AppendRow(nil, nil, batch(values...), 0, &counters)
	if err != nil {
		t.Fatalf("encode %q: %v", values, err)
	}
	if !json.Valid(line) || strings.Count(string(line), "\n") != 1 {
		t.Fatalf("%q isn't one line of JSON", line)
	}
	return string(line), counters
}

func TestValuesSurviveInJSONLines(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		kind  row.Kind
		value string
		want  string
	}{
		{"64-bit integer", row.Int64, "9007199254740993", `"9007199254740993"`},
		{"64-bit integer of 18 digits", row.Int64, "352776136104522888", `"352776136104522888"`},
		{"small integers are strings too, for the column has one type", row.Int64, "1", `"1"`},
		{"tiny decimal", row.Decimal, "0.00000035", `"0.00000035"`},
		{"long decimal", row.Decimal, "12345678901234567890.123456789", `"12345678901234567890.123456789"`},
		{"0.1+0.2 as numeric", row.Decimal, "0.3", `"0.3"`},
		{"negative decimal", row.Decimal, "-1.5", `"-1.5"`},
		{"money without decimals", row.Decimal, "1200", `"1200"`},
		{"money with three decimals", row.Decimal, "12.000", `"12.000"`},
		{"leading zeros", row.String, "00123", `"00123"`},
		{"text that looks like a float", row.String, "1E5", `"1E5"`},
		{"text that looks like a boolean", row.String, "TRUE", `"TRUE"`},
		{"no spreadsheet reads this: formulas stay", row.String, "=1+2", `"=1+2"`},
		{"float", row.Float64, "1e+21", `1e+21`},
		{"negative float", row.Float64, "-0.1", `-0.1`},
		{"not a number", row.Float64, "NaN", `"NaN"`},
		{"infinity", row.Float64, "Infinity", `"Infinity"`},
		{"negative infinity", row.Float64, "-Infinity", `"-Infinity"`},
		{"true", row.Bool, "true", `true`},
		{"false", row.Bool, "false", `false`},
		{"date", row.Date, "2026-03-08", `"2026-03-08"`},
		{"timestamp", row.Timestamp, "2026-03-08T01:59:59.999999-05:00", `"2026-03-08T01:59:59.999999-05:00"`},
		{"wall-clock time", row.DateTime, "2026-03-08T02:30:00.5", `"2026-03-08T02:30:00.5"`},
		{"empty text", row.String, "", `""`},
		{"NULL", row.String, null, `null`},
		{"NULL integer", row.Int64, null, `null`},
		{"quote, backslash and slash", row.String, `a"b\c/d`, `"a\"b\\c/d"`},
		{"line ends", row.String, "a\rb\nc", `"a\rb\nc"`},
		{"control characters", row.String, "\x00\x01\x08\x09\x0b\x0c\x1f\x7f", `"\u0000\u0001\b\t\u000b\f\u001f` + "\x7f\""},
		{"no escapes for HTML", row.String, "<a>&", `"<a>&"`},
		{"line separator", row.String, "\u2028", "\"\u2028\""},
		{"noncharacter", row.String, "\uFFFF", "\"\uFFFF\""},
		{"any script", row.String, "名字 𠮷 👩‍👩‍👧 e\u0301", "\"名字 𠮷 👩‍👩‍👧 e\u0301\""},
		{"bytes", row.Bytes, "\x00\xff", `"AP8="`},
		{"no bytes", row.Bytes, "", `""`},
		{"JSON without white space between tokens", row.JSON, "{ \"a b\" : [ 1.50 , -0e9,\ttrue ],\r\n\"c\\\"\\\\\" : \" x \" }", `{"a b":[1.50,-0e9,true],"c\"\\":" x "}`},
		{"JSON numbers keep their digits", row.JSON, "12345678901234567890.1234567890", "12345678901234567890.1234567890"},
		{"JSON null", row.JSON, "null", "null"},
		{"JSON null between white space", row.JSON, " null\n", "null"},
		{"JSON null in a document", row.JSON, "[null]", "[null]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, counters := encode(t, config(c.kind, row.String), c.value, "z")
			if want := `{"a":` + c.want + `,"b":"z"}` + "\n"; got != want {
				t.Errorf("row is %q, want %q", got, want)
			}
			want := int64(0)
			if c.want == "null" {
				want = 1
			}
			if counters != (field.Counters{Nulls: want}) {
				t.Errorf("counted %+v, want %d NULLs, as a reader of the file sees them", counters, want)
			}
			values, nulls, err := jsonl.NewReader(strings.NewReader(got), config(c.kind, row.String).Columns).Read()
			if err != nil {
				t.Fatalf("read back: %v", err)
			}
			if c.kind == row.JSON {
				return
			}
			if nulls[0] != (c.value == null) || !nulls[0] && string(values[0]) != c.value {
				t.Errorf("reads back as %q, null %v", values[0], nulls[0])
			}
		})
	}
}

func TestKeysAreEscapedAndInColumnOrder(t *testing.T) {
	t.Parallel()
	c := config(row.Bool, row.Bool, row.Bool)
	c.Columns[0].Name, c.Columns[1].Name, c.Columns[2].Name = `z"\`, "名字", "a\n"
	if got, _ := encode(t, c, "true", "false", null); got != `{"z\"\\":true,"名字":false,"a\n":null}`+"\n" {
		t.Errorf("row is %q", got)
	}
}

func TestInvalidUTF8IsRefusedOrReplacedAndCounted(t *testing.T) {
	t.Parallel()
	cases := []struct {
		kind        row.Kind
		value, want string
	}{
		{row.String, "caf\xe9 \xc3\xa9\x80\xff\n\xe2\x82", `"caf` + "\ufffd é\ufffd\ufffd" + `\n` + "\ufffd\""},
		{row.JSON, "{ \"caf\xe9\": \"\xc3\xa9\x80\" }", "{\"caf\ufffd\":\"é\ufffd\"}"},
	}
	for _, c := range cases {
		var counters field.Counters
		_, err := jsonl.New(config(c.kind)).AppendRow(nil, nil, batch(c.value), 0, &counters)
		wantError(t, err, "value_invalid_utf8", `column "a"`, `key k-7`, "invalid_utf8: replace")
		replacing := config(c.kind)
		replacing.InvalidUTF8 = field.Replace
		got, counters := encode(t, replacing, c.value)
		if want := `{"a":` + c.want + "}\n"; got != want || counters.InvalidUTF8 != 1 {
			t.Errorf("%s: %q with %d counted, want %q with 1", c.kind, got, counters.InvalidUTF8, want)
		}
	}
}

func TestValuesOfAnotherKindAreRefused(t *testing.T) {
	t.Parallel()
	for kind, values := range map[row.Kind][]string{
		row.Int64: {"1.0"}, row.Decimal: {"1e5"}, row.Float64: {"", "inf", "1,\"x\":2"}, row.Bool: {"t", "true,"},
		row.Date: {"infinity"}, row.Timestamp: {"\""}, row.DateTime: {""},
		row.JSON: {"", "{", "{} {}", "{'a':1}", "NaN", "\"\n\"", "nul"},
	} {
		for _, value := range values {
			var counters field.Counters
			_, err := jsonl.New(config(kind)).AppendRow(nil, nil, batch(value), 0, &counters)
			wantError(t, err, "value_not_canonical", `column "a"`, `key k-7`, string(kind))
		}
	}
}

func TestLargeRowsAreWrittenUpToTheLimit(t *testing.T) {
	t.Parallel()
	got, _ := encode(t, config(row.String), strings.Repeat("x", 30<<20))
	if len(got) != 30<<20+len(`{"a":""}`+"\n") {
		t.Errorf("30 MiB of text make %d bytes", len(got))
	}
	for name, values := range map[string][]string{
		"one value":  {strings.Repeat("x", limits.RowBytesMax), ""},
		"two values": {strings.Repeat("x", limits.RowBytesMax/2), strings.Repeat("x", limits.RowBytesMax/2)},
		"escapes":    {strings.Repeat("\x01", limits.RowBytesMax/6), ""},
	} {
		var counters field.Counters
		dst, err := jsonl.New(config(row.String, row.String)).AppendRow(nil, nil, batch(values...), 0, &counters)
		wantError(t, err, "row_too_large", "32 MiB", `key k-7`)
		if cap(dst) > limits.RowBytesMax+limits.MiB {
			t.Errorf("%s: %d bytes were held for a row that is refused", name, cap(dst))
		}
	}
}

func TestNoRowAllocates(t *testing.T) {
	c := config(row.String, row.Int64, row.Decimal, row.Float64, row.Bool, row.Timestamp, row.JSON, row.Bytes, row.String)
	c.InvalidUTF8 = field.Replace
	encoder := jsonl.New(c)
	b := batch("a\n\xff\"", "1", "2.50", "NaN", "true", "2026-03-08T03:00:00-04:00", `{"a": [1]}`, "\x00\xff", null)
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
