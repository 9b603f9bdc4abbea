package field_test

import (
	"strings"
	"testing"
	"unicode"

	"sealift/shared/format/field"
)

func TestNothingUnseenMakesAFormulaHarmless(t *testing.T) {
	t.Parallel()
	for r := range unicode.MaxRune + 1 {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		lead := string(r)
		unseen := unicode.In(r, unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
		sign := strings.ContainsRune("=+-@＝＋－＠", r)
		for _, c := range []struct {
			text string
			want bool
		}{
			{lead, sign || strings.ContainsRune("\t\r\n\x00", r)},
			{lead + "=1", unseen || sign},
			{lead + "\u200b ＠x", unseen || sign},
			{lead + "a=1", sign || strings.ContainsRune("\t\r\n\x00", r)},
		} {
			if got := field.Formula([]byte(c.text)); got != c.want {
				t.Fatalf("%q is a formula: %t, want %t", c.text, got, c.want)
			}
			if c.want && !strings.Contains(field.FormulaLeads, c.text[:1]) {
				t.Fatalf("%q is a formula, and its first byte isn't among FormulaLeads", c.text)
			}
		}
	}
}

func TestSignsBehindTextAreNoFormula(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "a", "'=1", "1=1", "名=1", "\xff=1", "\u200b", "\u200b\u2028 ", "\xe2\x80", "\xe2\x80=1", "\u2212 1", "é=1", "👍=1"} {
		if field.Formula([]byte(text)) {
			t.Errorf("%q is taken for a formula", text)
		}
	}
	for _, text := range []string{"\u0085=1", "\u2028=1", "\u2060=1", "\u180e=1", "\u00ad=1", "\u202e=1", "\x01=1", "\x1f\x7f\u009f+1", "\ufeff\u200d\u2066@x", " \t-1"} {
		if !field.Formula([]byte(text)) {
			t.Errorf("%q is not taken for a formula", text)
		}
	}
}

func BenchmarkFormula(b *testing.B) {
	for name, text := range map[string]string{"dash": "-1", "kana": "カタカナ", "arabic": "طلب", "emoji": "👍", "blank": " x"} {
		value := []byte(text)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = field.Formula(value)
			}
		})
	}
}
