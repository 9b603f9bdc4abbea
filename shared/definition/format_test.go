package definition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/definition"
)

// offering is the valid definition with these lists of formats and compressions.
func offering(formats, compressions string) string {
	return strings.Replace(valid, `{"name": "orders",`, `{"formats": [`+formats+`], "compressions": [`+compressions+`], "name": "orders",`, 1)
}

func TestACompressionIsTheFirstThatTheFormatCanHave(t *testing.T) {
	t.Parallel()
	const all = `"csv", "jsonl", "xlsx", "parquet"`
	for _, c := range []struct {
		name, formats, compressions, format string
		want                                []string
	}{
		{"as listed", all, `"zstd", "gzip"`, "csv", []string{"zstd", "gzip"}},
		{"nothing that only another format has", all, `"snappy", "gzip", "none"`, "jsonl", []string{"gzip", "none"}},
		{"a workbook has none", all, `"gzip", "zstd"`, "xlsx", []string{"none"}},
		{"parquet as listed", all, `"gzip", "snappy", "zstd"`, "parquet", []string{"snappy", "zstd"}},
		{"none comes last for parquet", all, `"gzip", "none", "zstd"`, "parquet", []string{"zstd", "none"}},
		{"and may be all", all, `"none"`, "parquet", []string{"none"}},
		{"parquet when nothing listed fits", all, `"gzip"`, "parquet", []string{"zstd"}},
		{"once each", all, `"gzip", "gzip"`, "csv", []string{"gzip"}},
		{"a format that isn't offered", `"csv"`, `"gzip"`, "parquet", nil},
	} {
		d, err := definition.Decode([]byte(offering(c.formats, c.compressions)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, d.CompressionsFor(c.format)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestFaultsOfFormatsNameTheirPlaceAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	text := func(from, to string) string { return strings.Replace(valid, from, to, 1) }
	for _, c := range []struct{ name, text, pointer, says string }{
		{"an unknown format", offering(`"csv", "xls"`, `"gzip"`), "/formats/1", `is "xls"; allowed are csv, jsonl, xlsx, parquet`},
		{"an unknown compression", offering(`"csv"`, `"gzip", "brotli"`), "/compressions/1", `is "brotli"; allowed are none, gzip, zstd, snappy`},
		{"snappy without parquet", offering(`"csv"`, `"gzip", "snappy"`), "/compressions/1", "only parquet can have; add parquet to formats"},
		{"nothing for csv", offering(`"csv", "parquet"`, `"snappy"`), "/compressions", "has nothing that csv can have; add one of gzip, none, zstd"},
		{"an unknown rule for long text", text(`{"name": "orders",`, `{"long_text": "cut", "name": "orders",`), "/long_text", `is "cut"; allowed are fail and truncate`},
		{"a rule of another field", text(`{"name": "orders",`, `{"unencodable": "truncate", "name": "orders",`), "/unencodable", "allowed are fail and replace"},
		{"a width that no sheet has", text(`"scale": 2}`, `"width": 256}`), "/columns/1/width", "is 256; allowed are 1 to 255"},
		{"a negative width", text(`"scale": 2}`, `"width": -1}`), "/columns/1/width", "is -1"},
		{"a width that is text", text(`"scale": 2}`, `"width": "wide"}`), "/columns/1/width", "is text, must be a whole number"},
		{"text as text", text(`"kind": "decimal", "scale": 2}`, `"kind": "string", "as_text": true}`), "/columns/1/as_text", "for int64, decimal and float64"},
		{"a day as text", text(`"kind": "decimal", "scale": 2}`, `"kind": "date", "as_text": true}`), "/columns/1/as_text", "for a date column"},
		{"as_text that is none", text(`"scale": 2}`, `"as_text": "yes"}`), "/columns/1/as_text", "must be true or false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.text == valid {
				t.Fatal("the case changes nothing")
			}
			_, err := definition.Decode([]byte(c.text))
			var faults definition.Faults
			if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Pointer != c.pointer || !strings.Contains(faults[0].Detail, c.says) {
				t.Errorf("faults %v, want one at %s that says %q", err, c.pointer, c.says)
			}
		})
	}
}

func TestARuleThatIsTheDefaultMakesNoOtherDefinition(t *testing.T) {
	t.Parallel()
	plain, err := definition.Decode([]byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"long_text", "unencodable", "width", "as_text"} {
		if strings.Contains(plain.Encode(), field) {
			t.Errorf("a definition without %s is written with it: %s", field, plain.Encode())
		}
	}
	spelled := strings.Replace(valid, `{"name": "orders",`, `{"long_text": "fail", "unencodable": "fail", "name": "orders",`, 1)
	spelled = strings.Replace(spelled, `"scale": 2`, `"scale": 2, "width": 0, "as_text": false`, 1)
	same, err := definition.Decode([]byte(spelled))
	if err != nil || same.Encode() != plain.Encode() {
		t.Errorf("spelled out it is another definition (%v):\n%s\n%s", err, same.Encode(), plain.Encode())
	}
	ruled := strings.Replace(valid, `{"name": "orders",`, `{"long_text": "truncate", "unencodable": "replace", "name": "orders",`, 1)
	d, err := definition.Decode([]byte(strings.Replace(ruled, `"scale": 2`, `"scale": 2, "width": 14, "as_text": true`, 1)))
	if err != nil || d.LongText != definition.RuleTruncate || d.Unencodable != definition.RuleReplace || d.Columns[1].Width != 14 || !d.Columns[1].AsText {
		t.Errorf("read as %+v (%v)", d, err)
	}
	if again, err := definition.Decode([]byte(d.Encode())); err != nil || again.Encode() != d.Encode() {
		t.Errorf("read back: %v", err)
	}
}
