package xlsx_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

func TestTextIsWrittenSoThatReadersGiveItBack(t *testing.T) {
	t.Parallel()
	const keep = ` xml:space="preserve"`
	cases := []struct {
		name, value, attribute, want string
		counters                     job.Counters
	}{
		{"markup", `a & <b> ]]> "c"`, "", `a &amp; &lt;b&gt; ]]&gt; "c"`, job.Counters{}},
		{"line feed and tab stay", "a\n\tb", "", "a\n\tb", job.Counters{}},
		{"carriage return", "a\rb\r\nc", "", "a_x000D_b_x000D_\nc", job.Counters{Escaped: 1}},
		{"control characters", "\x01\x0b\x1f\x00\x7f", "", "_x0001__x000B__x001F__x0000_\x7f", job.Counters{Escaped: 1, Neutralised: 0}},
		{"noncharacters of XML", "\ufffe\uffff\ufffd", "", "_xFFFE__xFFFF_\ufffd", job.Counters{Escaped: 1}},
		{"noncharacters that XML holds", "\ufdd0\U0001ffff", "", "\ufdd0\U0001ffff", job.Counters{}},
		{"a literal escape", "_x000D_", "", "_x005F_x000D_", job.Counters{Escaped: 1}},
		{"literal escapes that share an underscore", "_x000d_x000d_", "", "_x005F_x000d_x005F_x000d_", job.Counters{Escaped: 1}},
		{"fewer digits, which LibreOffice undoes", "mean_x1_sd _xA__x01f_", "", "mean_x005F_x1_sd _x005F_xA__x005F_x01f_", job.Counters{Escaped: 1}},
		{"fewer digits that share an underscore", "_x0_x5f_x5F_x10_", "", "_x005F_x0_x005F_x5f_x005F_x5F_x005F_x10_", job.Counters{Escaped: 1}},
		{"fewer digits of other characters", "a_x20_b _x123_ _xFFF_ _x60_", "", "a_x005F_x20_b _x005F_x123_ _x005F_xFFF_ _x005F_x60_", job.Counters{Escaped: 1}},
		{"fewer digits before what is escaped", "win_x64\r\nlinux _x64_x000D_ a_xab\ufffe", "", "win_x005F_x64_x000D_\nlinux _x005F_x64_x005F_x000D_ a_x005F_xab_xFFFE_", job.Counters{Escaped: 1}},
		{"a start that an escape would complete", "_x0041\x0b_xA\r_x20\x01_x0041\uffff", "", "_x005F_x0041_x000B__x005F_xA_x000D__x005F_x20_x0001__x005F_x0041_xFFFF_", job.Counters{Escaped: 1}},
		{"what only looks like an escape", "_x_ _X0_ _x00001_ _X000D_ _x000G_ _x1", "", "_x_ _X0_ _x00001_ _X000D_ _x000G_ _x1", job.Counters{}},
		{"outer spaces", " a ", keep, " a ", job.Counters{}},
		{"an outer line feed", "a\n", keep, "a\n", job.Counters{}},
		{"a space alone", " ", keep, " ", job.Counters{}},
		{"inner spaces", "a  b", "", "a  b", job.Counters{}},
		{"other scripts", "名字 𠮷 👩‍👩‍👧 e\u0301", "", "名字 𠮷 👩‍👩‍👧 e\u0301", job.Counters{}},
		{"invalid UTF-8", "caf\xe9 \xff\xfe_x000D_\r", "", "caf\ufffd \ufffd\ufffd_x005F_x000D__x000D_", job.Counters{InvalidUTF8: 1, Escaped: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := configOf(row.String)
			written := write(t, config, part.Options{First: true, Shard: 1}, batchOf([]string{c.value}), 0, 1)
			file := join(t, config, written)
			if got, want := rowText(t, file), `<c r="A2" t="inlineStr"><is><t`+c.attribute+`>`+c.want+`</t></is></c>`; got != want {
				t.Errorf("%q is written as\n%s, want\n%s", c.value, got, want)
			}
			if diff := cmp.Diff(c.counters, written.counters); diff != "" {
				t.Errorf("counted:\n%s", diff)
			}
			rows, hash, err := scan(config, file)
			want := strings.NewReplacer("\xff", "\ufffd", "\xfe", "\ufffd", "\xe9", "\ufffd").Replace(c.value)
			if c.counters.InvalidUTF8 == 0 {
				want = c.value
			}
			if err != nil || hash != written.hash || rows[0][0] != want {
				t.Errorf("%q is read as %q, %v", want, rows, err)
			}
		})
	}
}

func TestFormulaLikeTextIsMarkedAndNotChanged(t *testing.T) {
	t.Parallel()
	const marked = `<c r="A2" s="3" t="inlineStr">`
	config := configOf(row.String)
	for value, want := range map[string]bool{
		"=1+2": true, "+1": true, "-2+3": true, "@SUM(1)": true, "\t1": true, "\r1": true, "\n1": true, "\x00": true,
		"＝1": true, " =1": true, "-": true, "a=1": false, "1": false, "": false, "'=1": false, "’": false,
	} {
		written := write(t, config, part.Options{First: true, Shard: 1}, batchOf([]string{value}), 0, 1)
		file := join(t, config, written)
		if got := strings.HasPrefix(rowText(t, file), marked); got != want || (written.counters.Neutralised == 1) != want {
			t.Errorf("%q is marked: %v, and counted %d times; want %v", value, got, written.counters.Neutralised, want)
		}
		if rows, _, err := scan(config, file); err != nil || rows[0][0] != value {
			t.Errorf("%q is read as %q, %v", value, rows, err)
		}
	}
	numbers := configOf(row.JSON, row.JSON, row.Decimal, row.JSON)
	written := write(t, numbers, part.Options{First: true, Shard: 1}, batchOf([]string{"-1.5", "\t-1 ", "-1.5", "-x"}), 0, 1)
	if written.counters.Neutralised != 1 {
		t.Errorf("%d values are marked, want the text alone and no number", written.counters.Neutralised)
	}
	config.Guard = false
	written = write(t, config, part.Options{First: true, Shard: 1}, batchOf([]string{"=1+2"}), 0, 1)
	if got := rowText(t, join(t, config, written)); strings.HasPrefix(got, marked) || written.counters.Neutralised != 0 {
		t.Errorf("without the guard the cell is %s", got)
	}
}

func TestNamesOfColumnsAreTextLikeAnyOther(t *testing.T) {
	t.Parallel()
	config := configOf(row.String, row.String, row.String)
	config.Columns[0].Name, config.Columns[1].Name, config.Columns[2].Name = "=cmd", "名字 <&>", " \x01_x0001_"
	file := whole(t, config, batchOf([]string{"a", "b", "c"}))
	want := `<row r="1"><c r="A1" s="2" t="inlineStr"><is><t>=cmd</t></is></c>` +
		`<c r="B1" s="1" t="inlineStr"><is><t>名字 &lt;&amp;&gt;</t></is></c>` +
		`<c r="C1" s="1" t="inlineStr"><is><t xml:space="preserve"> _x0001__x005F_x0001_</t></is></c></row>`
	if text := entryText(t, file, "xl/worksheets/sheet1001.xml"); !strings.Contains(text, want) {
		t.Errorf("the header isn't\n%s\nin\n%.2000s", want, text)
	}
	if _, _, err := scan(config, file); err != nil {
		t.Error(err)
	}
}

func TestACellHolds32767UnitsOfUTF16(t *testing.T) {
	t.Parallel()
	units := func(text string) int { return len(utf16.Encode([]rune(text))) }
	long := strings.Repeat("x", xlsx.CellUnitsMax)
	pairs := strings.Repeat("𠮷", xlsx.CellUnitsMax/2)
	cases := []struct {
		name, value, cut string
	}{
		{"as many as fit", long, ""},
		{"one more", long + "y", long},
		{"as many wide characters as fit", strings.Repeat("名", xlsx.CellUnitsMax), ""},
		{"pairs and one", pairs + "y", ""},
		{"a pair that fits half", pairs + "𠮷", pairs},
		{"escapes count as what they stand for", strings.Repeat("\x01", xlsx.CellUnitsMax), ""},
		{"replacements count as one", strings.Repeat("\xff", xlsx.CellUnitsMax), ""},
		{"one replacement more", strings.Repeat("a", xlsx.CellUnitsMax) + "\xff", strings.Repeat("a", xlsx.CellUnitsMax)},
		{"markup", strings.Repeat("&", xlsx.CellUnitsMax+5), strings.Repeat("&", xlsx.CellUnitsMax)},
		{"30 MB", strings.Repeat("0123456789", 3_000_000), strings.Repeat("0123456789", 3277)[:xlsx.CellUnitsMax]},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := configOf(row.String)
			b := batchOf([]string{c.value})
			w, err := xlsx.NewWriter(config, part.Options{First: true, Shard: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Append(b, 0)
			var fault *job.Error
			switch {
			case c.cut == "" && err != nil:
				t.Fatalf("text of %d units fails: %v", units(c.value), err)
			case c.cut != "" && (!errors.As(err, &fault) || fault.Kind != job.Permanent || fault.Code != "value_too_long"):
				t.Fatalf("the error is %v, want permanent value_too_long", err)
			case c.cut != "":
				for _, part := range []string{`column "string a"`, `key k1`, "32767 characters", "long_text: truncate"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q doesn't say %s", err, part)
					}
				}
			}
			config.LongText = xlsx.LongTruncate
			written := write(t, config, part.Options{First: true, Shard: 1}, b, 0, 1)
			want, count := c.cut, int64(1)
			if want == "" {
				want, count = strings.ToValidUTF8(c.value, ""), 0
			}
			rows, _, err := scan(config, join(t, config, written))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(rows[0][0], "\ufffd", ""); got != want || written.counters.Truncated != count {
				t.Errorf("%d units are kept and %d counted, want %d and %d", units(rows[0][0]), written.counters.Truncated, units(want), count)
			}
		})
	}
}

func TestBytesAreCutToWholeGroupsAndNumbersNever(t *testing.T) {
	t.Parallel()
	config := configOf(row.Bytes)
	config.LongText = xlsx.LongTruncate
	value := strings.Repeat("ab\x00", 10_000)
	written := write(t, config, part.Options{First: true, Shard: 1}, batchOf([]string{value}), 0, 1)
	rows, _, err := scan(config, join(t, config, written))
	if err != nil || rows[0][0] != value[:24_573] || written.counters.Truncated != 1 {
		t.Errorf("%d bytes are kept, %v; want 24573", len(rows[0][0]), err)
	}
	config.Columns[0].Kind = row.Decimal
	w, err := xlsx.NewWriter(config, part.Options{First: true, Shard: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Append(batchOf([]string{strings.Repeat("9", 40_000)}), 0)
	var fault *job.Error
	if !errors.As(err, &fault) || fault.Code != "value_too_long" {
		t.Errorf("a number of 40,000 digits gives %v", err)
	}
}

func TestARowThatCantBeWrittenIsNamed(t *testing.T) {
	t.Parallel()
	wide := configOf(row.String)
	values := []string{"x"}
	for range limits.ColumnsMax - 1 {
		wide.Columns = append(wide.Columns, row.Column{Name: "more", Kind: row.String})
		values = append(values, strings.Repeat("\x01", xlsx.CellUnitsMax))
	}
	strict := configOf(row.String)
	strict.InvalidUTF8 = "fail"
	cases := []struct {
		name   string
		config xlsx.Config
		values []string
		code   string
	}{
		{"invalid UTF-8", strict, []string{"\xff"}, "value_invalid_utf8"},
		{"not a number", configOf(row.Int64), []string{"1e5"}, "value_not_canonical"},
		{"not a date", configOf(row.Date), []string{"infinity"}, "value_not_canonical"},
		{"not a time", configOf(row.Timestamp), []string{"2026-03-29T03:00:00"}, "value_not_canonical"},
		{"a time that the zone can't show", configOf(row.Timestamp), []string{"9999-12-31T23:30:00-00:00"}, "value_out_of_range"},
		{"too large", wide, values, "row_too_large"},
	}
	for _, c := range cases {
		w, err := xlsx.NewWriter(c.config, part.Options{Shard: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Append(batchOf(c.values), 0)
		var fault *job.Error
		if !errors.As(err, &fault) || fault.Kind != job.Permanent || fault.Code != c.code || !strings.Contains(err.Error(), `key k1`) {
			t.Errorf("%s: the error is %v, want %s with the key", c.name, err, c.code)
		}
	}
}

func TestAnyTextComesBack(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	pieces := []string{"_", "x", "0", "00", "_x1", "_x5F_", "5", "F", "d", "_x005F_", "\r", "\n", "\t", " ", "\x00", "\x1f", "&", "amp;", "<", ">", ";", "#", "é", "𠮷", "\ufffe", "\uffff", "\ufffd", "=", "'"}
	random := rand.New(rand.NewPCG(1, 2))
	values := make([][]string, rows)
	for i := range values {
		text := ""
		for range random.IntN(12) {
			text += pieces[random.IntN(len(pieces))]
		}
		values[i] = []string{text, null, text}
	}
	config := configOf(row.String, row.String, row.JSON)
	got, _, err := scan(config, whole(t, config, batchOf(values...)))
	if diff := cmp.Diff(values, got); err != nil || diff != "" {
		t.Errorf("%v\n%.1000s", err, diff)
	}
}
