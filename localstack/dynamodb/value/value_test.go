package value_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/localstack/dynamodb/value"
)

func TestDecimalHasOneSpelling(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"1": "1", "1.0": "1", "1e0": "1", "+1": "1", "01": "1", "100e-2": "1", "-0": "0", "0.000": "0", "0e999": "0",
		"1E+20": "100000000000000000000", "123.4500": "123.45", ".5": "0.5", "5.": "5", "-1.5E-3": "-0.0015",
		"9007199254740993":                             "9007199254740993",
		"0.00000035":                                   "0.00000035",
		"12345678901234567890.123456789":               "12345678901234567890.123456789",
		"99999999999999999999999999999999999999":       "99999999999999999999999999999999999999",
		"1E-130":                                       "0." + strings.Repeat("0", 129) + "1",
		"9.9999999999999999999999999999999999999E+125": strings.Repeat("9", 38) + strings.Repeat("0", 88),
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d, err := value.ParseDecimal(text)
			if err != nil || d.String() != want {
				t.Fatalf("ParseDecimal(%q) = %q, %v; want %q", text, d, err, want)
			}
		})
	}
}

func TestDecimalOutsideItsBoundsIsRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"": "cannot be converted", "abc": "cannot be converted to a numeric value: abc", "1e": "cannot be converted", "1e+-2": "cannot be converted",
		"--1": "cannot be converted", "1 ": "cannot be converted", ".": "cannot be converted", "1.2.3": "cannot be converted", "0x10": "cannot be converted",
		"NaN": "cannot be converted", "Infinity": "cannot be converted",
		"1E126": "Number overflow", "1e99999999999999999999": "Number overflow", "-1E126": "Number overflow",
		"1E-131": "Number underflow", "1e-99999999999999999999": "Number underflow",
		"123456789012345678901234567890123456789": "more than 38 significant digits",
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d, err := value.ParseDecimal(text)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("ParseDecimal(%q) = %q, %v; want an error with %q", text, d, err, want)
			}
		})
	}
}

func TestArithmeticIsExact(t *testing.T) {
	t.Parallel()
	cases := []struct{ a, b, sum, difference string }{
		{"0.1", "0.2", "0.3", "-0.1"},
		{"9007199254740993", "1", "9007199254740994", "9007199254740992"},
		{"-5", "5", "0", "-10"},
		{"99999999999999999999999999999999999999", "1", "100000000000000000000000000000000000000", "99999999999999999999999999999999999998"},
		{"1E+125", "-1E+125", "0", "2" + strings.Repeat("0", 125)},
		{"0", "7", "7", "-7"},
	}
	for _, c := range cases {
		t.Run(c.a+" and "+c.b, func(t *testing.T) {
			t.Parallel()
			a, b := decimal(t, c.a), decimal(t, c.b)
			sum, err := a.Add(b)
			if err != nil || sum.String() != c.sum {
				t.Errorf("sum %s, %v; want %s", sum, err, c.sum)
			}
			difference, err := a.Sub(b)
			if err != nil || difference.String() != c.difference {
				t.Errorf("difference %s, %v; want %s", difference, err, c.difference)
			}
		})
	}
	if _, err := decimal(t, "1E+125").Add(decimal(t, "1")); err == nil {
		t.Error("a sum of more than 38 digits must be refused, not rounded")
	}
}

func TestOrderedBytesSortAsNumbersDo(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{"0", "1", "-1", "1.5", "-1.5", "10", "-10", "1E-130", "-1E-130", "9.99E125", "-9.99E125", "100", "99", "101", "0.1"}
	for range 300 {
		mantissa := rng.Int64N(2_000_000) - 1_000_000
		texts = append(texts, value.OfInt(mantissa).Decimal().String()+"e"+value.OfInt(rng.Int64N(120)-60).Decimal().String())
	}
	for _, x := range texts {
		for _, y := range texts {
			a, b := value.OfNumber(decimal(t, x)), value.OfNumber(decimal(t, y))
			order, _ := a.Compare(b)
			if got := bytes.Compare(a.AppendOrdered(nil), b.AppendOrdered(nil)); got != order {
				t.Fatalf("bytes of %s and %s compare %d, numbers %d", x, y, got, order)
			}
		}
	}
}

func TestOrderedBytesOfStringsEndByThemselves(t *testing.T) {
	t.Parallel()
	texts := []string{"", "\x00", "\x00\x00", "\x00\x01", "\x00\xff", "a", "a\x00", "a\x00b", "ab", "b", "é", "\U00020bb7"}
	for i, x := range texts {
		for j, y := range texts {
			a, b := value.OfString(x).AppendOrdered(nil), value.OfString(y).AppendOrdered(nil)
			if got, want := bytes.Compare(a, b), strings.Compare(x, y); got != want {
				t.Errorf("%q and %q compare %d, want %d", x, y, got, want)
			}
			if i != j && bytes.HasPrefix(a, b) {
				t.Errorf("the bytes of %q begin with those of %q", x, y)
			}
		}
	}
}

func TestValuesSurviveJSONAndStorage(t *testing.T) {
	t.Parallel()
	const text = `{"b":{"B":"AAEC/w=="},"bs":{"BS":["AQ==","Ag=="]},"e":{"S":""},"f":{"BOOL":false},"l":{"L":[{"N":"1"},{"L":[]},{"M":{}}]},` +
		`"m":{"M":{"x\"y":{"S":"𠮷\n"},"z":{"NULL":true}}},"n":{"N":"-12345678901234567890.5"},"ns":{"NS":["-2","1","10"]},"ss":{"SS":["a","b"]},"t":{"BOOL":true}}`
	var item value.Item
	if err := json.Unmarshal([]byte(text), &item); err != nil {
		t.Fatal(err)
	}
	stored, err := value.ReadItem(value.AppendItem(nil, item))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestValuesAgainstTheRulesAreRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		`{"S":"a","N":"1"}`:  "more than one datatypes",
		`{}`:                 "is empty",
		`{"X":"a"}`:          "unknown datatype X",
		`{"SS":[]}`:          "An string set  may not be empty",
		`{"NS":[]}`:          "An number set  may not be empty",
		`{"BS":[]}`:          "Binary sets should not be empty",
		`{"SS":["a","a"]}`:   "Input collection [a, a] contains duplicates.",
		`{"NS":["1","1.0"]}`: "contains duplicates",
		`{"SS":["a",""]}`:    "empty string as a member",
		`{"BS":[""]}`:        "null or empty values",
		`{"NULL":false}`:     "must have the value of true",
		`{"N":1}`:            "NUMBER_VALUE can not be converted to String",
		`{"S":true}`:         "TRUE_VALUE can not be converted to String",
		`{"L":{}}`:           "Start of structure or map found",
		`{"M":[]}`:           "Start of list found",
		`{"B":"*"}`:          "can not be converted to a Blob",
		`"text"`:             "STRING_VALUE can not be converted to AttributeValue",
		strings.Repeat(`{"L":[`, 40) + `{"N":"1"}` + strings.Repeat(`]}`, 40): "Nesting Levels",
	}
	for text, want := range cases {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			var v value.Value
			err := json.Unmarshal([]byte(text), &v)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%s: %v; want an error with %q", text, err, want)
			}
		})
	}
}

func FuzzReadItemNeverPanics(f *testing.F) {
	f.Add(value.AppendItem(nil, value.Item{"a": value.OfString("b"), "n": value.OfInt(-120)}))
	f.Fuzz(func(t *testing.T, src []byte) {
		item, err := value.ReadItem(src)
		if err != nil {
			return
		}
		again, err := value.ReadItem(value.AppendItem(nil, item))
		if err != nil || !again.Equal(item) {
			t.Fatalf("%x does not survive: %v", src, err)
		}
	})
}

func decimal(t *testing.T, text string) value.Decimal {
	t.Helper()
	d, err := value.ParseDecimal(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
