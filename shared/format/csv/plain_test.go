package csv_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"sealift/shared/format/csv"
	"sealift/shared/format/field"
	"sealift/shared/row"
)

// naive writes one ASCII text as the rules say, byte by byte.
func naive(o csv.Options, guard bool, text string) string {
	quote := string(o.Quote)
	guarded := guard && field.Formula([]byte(text))
	if text != "" && text != o.NullText && !guarded && !strings.ContainsAny(text, string(o.Delimiter)+quote+"\r\n") &&
		text[0] > ' ' && text[len(text)-1] > ' ' {
		return text
	}
	if guarded {
		text = "'" + text
	}
	return quote + strings.ReplaceAll(text, quote, quote+quote) + quote
}

func TestTextIsWrittenAsANaiveEncoderDoes(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		o := csv.Options{Delimiter: ",;\t| ~"[rnd.IntN(6)], Quote: "\"'"[rnd.IntN(2)], LineEnd: "\n", NullText: []string{"", "NULL", `\N`, "eightlet", "nineletts"}[rnd.IntN(5)]}
		if rnd.IntN(2) == 0 {
			o.Encoding = csv.GB18030
		}
		guard := rnd.IntN(2) == 0
		e := csv.New(csv.Config{Options: o, Guard: guard, Columns: []row.Column{{Name: "v", Kind: row.String}}})
		for range 300 {
			value := make([]byte, rnd.IntN(27))
			for i := range value {
				value[i] = byte('!' + rnd.IntN('~'-'!'+1))
				switch rnd.IntN(30) {
				case 0:
					value[i] = byte(rnd.IntN(0x80))
				case 1:
					value[i] = []byte{o.Delimiter, o.Quote, ' ', '=', 0x7f}[rnd.IntN(5)]
				}
			}
			if rnd.IntN(20) == 0 {
				value = []byte(o.NullText)
			}
			var b row.Batch
			b.Reset(1)
			b.Append(value)
			var c field.Counters
			got, err := e.AppendRow(nil, nil, &b, 0, &c)
			if want := naive(o, guard, string(value)) + "\n"; err != nil || string(got) != want {
				t.Fatalf("%q becomes %q (%v), want %q with delimiter %q, quote %q, null text %q, guard %v", value, got, err, want, o.Delimiter, o.Quote, o.NullText, guard)
			}
		}
	}
}
