package field_test

import (
	"bytes"
	"strings"
	"testing"

	"sealift/shared/format/field"
	"sealift/shared/job"
	"sealift/shared/row"
)

func TestCheckKnowsTheCanonicalTextOfEveryKind(t *testing.T) {
	t.Parallel()
	cases := []struct {
		kind row.Kind
		good []string
		bad  []string
	}{
		{row.Int64, []string{"0", "-1", "9007199254740993", "-9223372036854775808"}, []string{"", "-", "+1", "1.0", "1e5", " 1", "=1", "1\n"}},
		{row.Decimal, []string{"0.00000035", "12345678901234567890.123456789", "-12.50", "7"}, []string{"", ".5", "5.", "1e5", "NaN", "1,5", "-.5"}},
		{row.Float64, []string{"0", "-0", "0.1", "1e+21", "1E-7", "NaN", "Infinity", "-Infinity"}, []string{"", "inf", "+1", "01", "1.", ".1", "-NaN", "1e", "0x1p3"}},
		{row.Bool, []string{"true", "false"}, []string{"", "TRUE", "t", "1", "true "}},
		{row.Date, []string{"2026-03-29", "0001-01-01", "9999-12-31"}, []string{"", "2026-3-29", "2026-03-29T", "infinity", "12026-03-29"}},
		{row.DateTime, []string{"2026-03-29T03:00:00", "2026-03-29T03:00:00.123456"}, []string{"", "2026-03-29 03:00:00", "2026-03-29T03:00", "2026-03-29T03:00:00.", "2026-03-29T03:00:00Z"}},
		{row.Timestamp, []string{"2026-03-29T03:00:00Z", "2026-03-29T03:00:00.123456+02:00", "0001-01-01T00:00:00-05:00"}, []string{"", "2026-03-29T03:00:00", "2026-03-29T03:00:00+02", "2026-03-29T03:00:00.+02:00", "infinity", "9999-12-31T23:30:00-00:00"}},
		{row.String, []string{"", "=1", "\xff"}, nil},
		{row.JSON, []string{"", "{}"}, nil},
		{row.Bytes, []string{"", "\x00\xff"}, nil},
		{row.Kind("money"), nil, []string{"1"}},
	}
	for _, c := range cases {
		for _, value := range c.good {
			if !field.Check(c.kind, []byte(value)) {
				t.Errorf("%s refuses %q", c.kind, value)
			}
		}
		for _, value := range c.bad {
			if field.Check(c.kind, []byte(value)) {
				t.Errorf("%s accepts %q", c.kind, value)
			}
		}
	}
}

func TestInvalidSequencesAreMaximalSubparts(t *testing.T) {
	t.Parallel()
	// The first four are the examples of The Unicode Standard, section 3.9, tables 3-8 to 3-11.
	cases := []struct{ name, in, want string }{
		{"non-shortest forms", "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "????????A"},
		{"surrogates", "\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "????????A"},
		{"beyond the last plane", "\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "?????A??B"},
		{"truncated sequences", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "????A"},
		{"truncated at the end", "a\xf0\x9f\x98", "a?"},
		{"U+FFFD itself is text", "a\uFFFDb", "a\uFFFDb"},
		{"latin1", "caf\xe9", "caf?"},
	}
	for _, c := range cases {
		var got []byte
		for rest := []byte(c.in); len(rest) > 0; {
			if n := field.Invalid(rest); n > 0 {
				got, rest = append(got, '?'), rest[n:]
				continue
			}
			n := 1
			for n < len(rest) && rest[n]&0xc0 == 0x80 && field.Invalid(rest[:n]) > 0 {
				n++
			}
			got, rest = append(got, rest[:n]...), rest[n:]
		}
		if string(got) != c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.name, c.in, got, c.want)
		}
		if count := field.InvalidCount([]byte(c.in)); count != strings.Count(c.want, "?") {
			t.Errorf("%s: %d sequences counted in %q, want %d", c.name, count, c.in, strings.Count(c.want, "?"))
		}
	}
}

func TestErrorsNameColumnAndKeyNeverTheValue(t *testing.T) {
	t.Parallel()
	var b row.Batch
	b.Reset(3)
	b.AppendString("secret\xff")
	b.AppendString("2026-01-02T00:00:00Z")
	b.Append(bytes.Repeat([]byte("k"), 5000))
	place := field.Place{Batch: &b, Row: 0, Keys: 2, Column: "buyer_note"}
	for _, err := range []*job.Error{
		field.InvalidUTF8(place), field.NotCanonical(place, row.Int64, []byte("secret")), field.TooLarge(place, 64<<20),
	} {
		if err.Kind != job.Permanent {
			t.Errorf("%v isn't permanent", err)
		}
		for _, want := range []string{`"buyer_note"`, `key 2026-01-02T00:00:00Z/kkk`} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q doesn't hold %q", err, want)
			}
		}
		if strings.Contains(err.Error(), "secret") || len(err.Error()) > 600 {
			t.Errorf("%q shows the value or is too long", err)
		}
	}
}
