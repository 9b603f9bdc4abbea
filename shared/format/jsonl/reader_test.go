package jsonl_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"sealift/shared/format/field"
	"sealift/shared/format/jsonl"
	"sealift/shared/row"
)

func TestReaderRefusesWhatTheEncoderNeverWrites(t *testing.T) {
	t.Parallel()
	columns := config(row.String, row.Float64, row.JSON).Columns
	good := `{"a":"x","b":1,"c":{"d":[1,"}"]}}` + "\n"
	cases := []struct{ name, line, text string }{
		{"file cut inside a line", good[:20], "the file ends inside it"},
		{"file cut before the line end", good[:len(good)-1], "the file ends inside it"},
		{"an empty line", "\n", `key "a":`},
		{"white space", `{ "a":"x","b":1,"c":1}` + "\n", `key "a":`},
		{"keys in another order", `{"b":1,"a":"x","c":1}` + "\n", `key "a":`},
		{"a missing key", `{"a":"x","c":1}` + "\n", `key "b":`},
		{"a key too many", `{"a":"x","b":1,"c":1,"d":1}` + "\n", "doesn't end after the last column"},
		{"another object behind", `{"a":"x","b":1,"c":1}{}` + "\n", "doesn't end after the last column"},
		{"a number for text", `{"a":1,"b":1,"c":1}` + "\n", `"a" isn't a string`},
		{"an open string", `{"a":"x` + "\n", `"a" has a control character`},
		{"a foreign escape", `{"a":"\/","b":1,"c":1}` + "\n", "escape that the format doesn't use"},
		{"an escape for a plain letter", `{"a":"\u0041","b":1,"c":1}` + "\n", "escape that the format doesn't use"},
		{"invalid UTF-8", "{\"a\":\"\xff\",\"b\":1,\"c\":1}\n", `"a" isn't valid UTF-8`},
		{"a number in quotes", `{"a":"x","b":"1","c":1}` + "\n", `"b" is a number in quotes`},
		{"text for a float", `{"a":"x","b":"y","c":1}` + "\n", `"b" isn't a valid float64`},
		{"a bad number", `{"a":"x","b":01,"c":1}` + "\n", `"b" isn't a number`},
		{"a broken document", `{"a":"x","b":1,"c":{"d"}}` + "\n", `"c" isn't a JSON document`},
		{"no document", `{"a":"x","b":1,"c":}` + "\n", `"c" isn't a JSON document`},
		{"an open document", `{"a":"x","b":1,"c":[1}` + "\n", `"c" isn't`},
	}
	for _, c := range cases {
		reader := jsonl.NewReader(strings.NewReader(good+c.line), columns)
		if _, _, err := reader.Read(); err != nil {
			t.Fatalf("the good line: %v", err)
		}
		_, _, err := reader.Read()
		if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: error is %v, want one that says %q", c.name, err, c.text)
		}
	}
	broken := errors.New("connection lost")
	if _, _, err := jsonl.NewReader(iotest.ErrReader(broken), columns).Read(); !errors.Is(err, broken) {
		t.Errorf("a failing reader gives %v", err)
	}
	bytesColumn := config(row.Bytes).Columns
	for _, line := range []string{`{"a":"AP8"}`, `{"a":"AP8=\n"}`, `{"a":"AP9="}`} {
		if _, _, err := jsonl.NewReader(strings.NewReader(line+"\n"), bytesColumn).Read(); err == nil || !strings.Contains(err.Error(), "base64") {
			t.Errorf("%s: error is %v", line, err)
		}
	}
}

func TestReaderIsIndifferentToHowBytesArrive(t *testing.T) {
	t.Parallel()
	line := `{"a":"` + strings.Repeat(`long\n`, 50_000) + `"}` + "\n"
	reader := jsonl.NewReader(iotest.HalfReader(strings.NewReader(line+line)), config(row.String).Columns)
	for range 2 {
		values, nulls, err := reader.Read()
		if err != nil || nulls[0] || string(values[0]) != strings.Repeat("long\n", 50_000) || string(reader.Raw()) != line {
			t.Fatalf("read %.20q of %.20q: %v", values, reader.Raw(), err)
		}
	}
	if _, _, err := reader.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

// FuzzRoundTrip writes text, bytes and a JSON document and reads them back.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a\nb", "{}")
	f.Add("\xff\xc3\xa9\x80\"\\", `{"a": "\u0041 \" ", "b":[1, 2]}`)
	f.Add("", " null ")
	f.Fuzz(func(t *testing.T, text, document string) {
		c := config(row.String, row.Bytes, row.String, row.JSON)
		c.InvalidUTF8 = field.Replace
		var counters field.Counters
		line, err := jsonl.New(c).AppendRow(nil, nil, batch(text, text, null, document), 0, &counters)
		if err != nil {
			var without field.Counters
			if line, err = jsonl.New(c).AppendRow(nil, nil, batch(text, text, null, "{}"), 0, &without); err != nil {
				t.Fatal(err)
			}
		}
		reader := jsonl.NewReader(strings.NewReader(string(line)), c.Columns)
		values, nulls, err := reader.Read()
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if nulls[0] || nulls[1] || !nulls[2] || string(values[1]) != text {
			t.Fatalf("%q reads back as %q %v", line, values, nulls)
		}
		if utf8.ValidString(text) && string(values[0]) != text || !utf8.Valid(values[0]) {
			t.Fatalf("%q reads back as %q", text, values[0])
		}
		if string(reader.Raw()) != string(line) {
			t.Fatalf("raw line is %q, want %q", reader.Raw(), line)
		}
	})
}

// FuzzReader feeds anything; the reader may refuse it but not panic, and what it accepts of the text kinds is what the
// encoder writes.
func FuzzReader(f *testing.F) {
	f.Add(`{"a":"x\n","b":1e5,"c":"AP8=","d":true}` + "\n")
	f.Add(`{"a":null,"b":"NaN","c":"","d":null}` + "\n")
	f.Fuzz(func(t *testing.T, file string) {
		c := config(row.String, row.Float64, row.Bytes, row.Bool)
		reader := jsonl.NewReader(strings.NewReader(file), c.Columns)
		for {
			values, nulls, err := reader.Read()
			if err != nil {
				return
			}
			b := &row.Batch{}
			b.Reset(5)
			for i, value := range values {
				if nulls[i] {
					b.AppendNull()
				} else {
					b.Append(value)
				}
			}
			b.AppendString("k")
			var counters field.Counters
			line, err := jsonl.New(c).AppendRow(nil, nil, b, 0, &counters)
			if err != nil || string(line) != string(reader.Raw()) {
				t.Fatalf("%q is accepted but written as %q, %v", reader.Raw(), line, err)
			}
		}
	})
}
