package csv_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"sealift/shared/format/csv"
	"sealift/shared/format/csv/gb18030"
	"sealift/shared/format/field"
	"sealift/shared/row"
)

func TestReaderRefusesWhatTheEncoderNeverWrites(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, file, text string }{
		{"file cut inside a field", "a,b\r\nc,d", "record 2: the file ends inside it"},
		{"file cut inside quotes", "a,\"b\r\n", "record 1: the file ends inside it"},
		{"file cut inside the line end", "a,b\r", "ends inside it"},
		{"file cut after a closing quote", `a,"b"`, "ends inside it"},
		{"too few fields", "a\r\n", "it has 1 fields where the columns are 2"},
		{"an empty line", "a,b\r\n\r\n", "record 2: it has 1 fields"},
		{"too many fields", "a,b,c\r\n", "more than the 2 fields"},
		{"a quote inside a bare field", "a\"b,c\r\n", "quote stands inside"},
		{"text after a closing quote", "\"a\"b,c\r\n", "text follows"},
		{"LF alone", "a,b\n", `doesn't end in "\r\n"`},
		{"CR alone", "a,b\rc,d\r\n", `doesn't end in "\r\n"`},
	}
	for _, c := range cases {
		reader := csv.NewReader(strings.NewReader(c.file), rfc(), 2)
		var err error
		for err == nil {
			_, _, err = reader.Read()
		}
		if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error is %v, want one that says %q", c.name, err, c.text)
		}
	}
	options := rfc()
	options.BOM = true
	if _, _, err := csv.NewReader(strings.NewReader("a,b\r\n"), options, 2).Read(); err == nil || !strings.Contains(err.Error(), "byte order mark") {
		t.Errorf("a missing BOM gives %v", err)
	}
	broken := errors.New("connection lost")
	if _, _, err := csv.NewReader(iotest.ErrReader(broken), rfc(), 2).Read(); !errors.Is(err, broken) {
		t.Errorf("a failing reader gives %v", err)
	}
}

func TestReaderIsIndifferentToHowBytesArrive(t *testing.T) {
	t.Parallel()
	file := strings.Repeat("a,\"b\r\n\"\"c\"\r\n", 3)
	reader := csv.NewReader(iotest.OneByteReader(strings.NewReader(file)), rfc(), 2)
	for range 3 {
		values, nulls, err := reader.Read()
		if err != nil || string(values[1]) != "b\r\n\"c" || nulls[1] || string(reader.Raw()) != "a,\"b\r\n\"\"c\"\r\n" {
			t.Fatalf("read %q %v %v from %q", values, nulls, err, reader.Raw())
		}
	}
	if _, _, err := reader.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

// FuzzRoundTrip writes two values and NULL in every dialect and reads them back.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a\rb", `a"b`, uint8(0))
	f.Add("", " ", uint8(1))
	f.Add("=1", "\xff\xc3", uint8(2))
	f.Add("\\N", "名字", uint8(7))
	f.Add("名\"亅", "\ue000ñ\xe5", uint8(34))
	f.Fuzz(func(t *testing.T, one, two string, dialect uint8) {
		c := config(row.String, row.String, row.String)
		c.Guard, c.InvalidUTF8 = false, field.Replace
		c.Delimiter = ",;\t|"[dialect&3]
		if dialect&4 != 0 {
			c.NullText = `\N`
		}
		if dialect&8 != 0 {
			c.LineEnd = "\n"
		}
		if dialect&16 != 0 {
			c.Quote = '\''
		}
		if dialect&32 != 0 && c.Delimiter != '|' {
			c.Encoding, c.Unencodable = csv.GB18030, field.Replace
		}
		var counters field.Counters
		encoder := csv.New(c)
		file, err := encoder.AppendRow(nil, nil, batch(one, null, two), 0, &counters)
		if err != nil {
			t.Fatal(err)
		}
		if file, err = encoder.AppendRow(file, nil, batch(two, one, null), 0, &counters); err != nil {
			t.Fatal(err)
		}
		reader := csv.NewReader(strings.NewReader(string(file)), c.Options, 3)
		for _, want := range [][]string{{one, null, two}, {two, one, null}} {
			values, nulls, err := reader.Read()
			if err != nil {
				t.Fatalf("%q: %v", file, err)
			}
			for i, value := range texts(values, nulls) {
				if value != replaced(want[i], c.Encoding) {
					t.Fatalf("%q reads back as %q in %q", want[i], value, file)
				}
			}
		}
		if _, _, err := reader.Read(); !errors.Is(err, io.EOF) {
			t.Fatalf("%q doesn't end: %v", file, err)
		}
	})
}

// FuzzReader feeds anything; the reader may refuse it but not panic, and what it accepts it accounts for byte by byte.
func FuzzReader(f *testing.F) {
	f.Add("a,b\r\n\"c\"\"\",\r\n")
	f.Add("\"a\r\n")
	f.Fuzz(func(t *testing.T, file string) {
		reader := csv.NewReader(strings.NewReader(file), rfc(), 2)
		raw := ""
		for {
			_, _, err := reader.Read()
			if errors.Is(err, io.EOF) {
				if raw != file {
					t.Fatalf("read %q of %q", raw, file)
				}
				return
			}
			if err != nil {
				return
			}
			raw += string(reader.Raw())
		}
	})
}

// replaced is text as the rules Replace write it, worked out rune by rune.
func replaced(text string, encoding csv.Encoding) string {
	var b strings.Builder
	for rest := []byte(text); len(rest) > 0; {
		if n := field.Invalid(rest); n > 0 {
			b.WriteString(field.Replacement)
			rest = rest[n:]
			continue
		}
		b.WriteByte(rest[0])
		n := 1
		for n < len(rest) && rest[n]&0xc0 == 0x80 && field.Invalid(rest[:n]) > 0 {
			b.WriteByte(rest[n])
			n++
		}
		rest = rest[n:]
	}
	if encoding == csv.UTF8 {
		return b.String()
	}
	return strings.Map(func(r rune) rune {
		if !gb18030.Encodable(r) {
			return '?'
		}
		return r
	}, b.String())
}
