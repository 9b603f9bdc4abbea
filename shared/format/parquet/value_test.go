package parquet_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/field"
	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// one is a file with a single column, without keys.
func one(column row.Column) parquet.Config {
	column.Name = "value"
	return parquet.Config{Columns: []row.Column{column}, Keys: 1, Codec: parquet.Zstd, InvalidUTF8: field.Fail, Zone: "Asia/Shanghai"}
}

func lines(values ...string) [][]string {
	rows := make([][]string, len(values))
	for i, value := range values {
		rows[i] = []string{value}
	}
	return rows
}

func TestValuesAreHeldExactly(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		column row.Column
		values []string
	}{
		{"integers keep all digits", row.Column{Kind: row.Int64}, []string{
			"9007199254740993", "352776136104522888", "0", "-1", "9223372036854775807", "-9223372036854775808", null,
		}},
		{"text stays text", row.Column{Kind: row.String}, []string{
			"00123", "1E5", "TRUE", "0912", "=1+2", "+1", "-2+3", "@SUM(1)", "\tx", "\rx", "＝1", "", null,
			"a\rb", "a\nb", `a"b`, "a,b", " lead", "trail ", "𠮷", "👩‍👩‍👧", "e\u0301", "\x01\x0b\x1f", "\uffff", "\x00",
			strings.Repeat("x", 32_768), strings.Repeat("谢", 40), strings.Repeat("\U0010ffff", 20),
		}},
		{"money of no decimals", row.Column{Kind: row.Decimal, Scale: 0}, []string{"1500", "-3", "0", null}},
		{"money of two decimals", row.Column{Kind: row.Decimal, Scale: 2}, []string{"-42.00", "-1.50", "0.30", "1234567890123456789012345678901234.56", "0.00", null}},
		{"money of three decimals", row.Column{Kind: row.Decimal, Scale: 3}, []string{"0.001", "-0.999", "12.345"}},
		{"small and long decimals", row.Column{Kind: row.Decimal, Scale: 9}, []string{"0.000000350", "12345678901234567890.123456789"}},
		{"as many digits as there may be", row.Column{Kind: row.Decimal, Scale: 38}, []string{
			"0.99999999999999999999999999999999999999", "-0.99999999999999999999999999999999999999", "0.00000000000000000000000000000000000001",
		}},
		{"decimals without a scale", row.Column{Kind: row.Decimal, Scale: -1}, []string{
			"0.00000035", "12345678901234567890.123456789", "0.3", "-12.50", "7", strings.Repeat("9", 60), null,
		}},
		{"floats", row.Column{Kind: row.Float64}, []string{
			"0", "-0", "0.1", "1e+21", "1e-07", "NaN", "Infinity", "-Infinity", "5e-324", "1.7976931348623157e+308", "0.30000000000000004", null,
		}},
		{"booleans", row.Column{Kind: row.Bool}, []string{"true", "false", null, "true", "true", "false", "true", "true", "true", "true", "false"}},
		{"dates never shift", row.Column{Kind: row.Date}, []string{"0001-01-01", "9999-12-31", "1969-12-31", "1970-01-01", "2000-02-29", "2026-03-29", null}},
		{"wall clocks", row.Column{Kind: row.DateTime}, []string{
			"0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "2026-03-08T02:30:00", "1969-12-31T23:59:59.5", null,
		}},
		{"instants around the changes of America/New_York", row.Column{Kind: row.Timestamp}, []string{
			"2026-03-08T14:59:59.999999+08:00", "2026-03-08T15:00:00+08:00", "2026-11-01T13:59:59+08:00", "2026-11-01T14:00:00.000001+08:00",
			"0001-01-01T00:00:00+08:05", "9999-12-31T23:59:59.999999+08:00", "9999-12-31T16:00:00-00:00", "9999-12-31T23:59:59.999999-00:00", null,
		}},
		{"counted milliseconds", row.Column{Kind: row.Timestamp, Unit: row.Milliseconds}, []string{"2026-03-08T15:00:00.000+08:00", "2026-03-08T15:00:00.120+08:00"}},
		{"counted seconds", row.Column{Kind: row.DateTime, Unit: row.Seconds}, []string{"2026-03-08T15:00:00"}},
		{"documents as the source renders them", row.Column{Kind: row.JSON}, []string{`{ "a": [1, 2.50, "谢"] }`, "null", `"x"`, "12345678901234567890.10", null}},
		{"bytes", row.Column{Kind: row.Bytes}, []string{"\x00\xff", "", "\xff\xfe", strings.Repeat("\xff", 50), null}},
		{"nothing", row.Column{Kind: row.Int64}, []string{null, null}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config, rows := one(c.column), lines(c.values...)
			for what, cut := range map[string]part.Cut{"one page": {}, "many pages": {BlockBytes: 1}, "many groups": {GroupRows: 1}} {
				file, _ := export(t, config, cut, rows)
				got, _, err := read(file, config)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if diff := cmp.Diff(rows, got); diff != "" {
					t.Errorf("%s: written (-) and read (+) values differ:\n%.2000s", what, diff)
				}
			}
		})
	}
}

func TestTextIsReadInTheZoneThatTheDefinitionNames(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{
		"UTC": "2026-03-08T07:00:00.5Z", "": "2026-03-08T07:00:00.5Z", "America/New_York": "2026-03-08T03:00:00.5-04:00",
		"Etc/UTC": "2026-03-08T07:00:00.5+00:00", "Asia/Kolkata": "2026-03-08T12:30:00.5+05:30",
	} {
		config := one(row.Column{Kind: row.Timestamp})
		config.Zone = zone
		file, _ := export(t, config, part.Cut{}, lines("2026-03-08T15:00:00.500000000+08:00"))
		got, _, err := read(file, config)
		if err != nil || got[0][0] != want {
			t.Errorf("in zone %q the value reads %q, %v; want %q", zone, got, err, want)
		}
	}
}

func TestAValueThatItsTypeCantHoldFailsAndIsNeverRounded(t *testing.T) {
	t.Parallel()
	cases := []struct {
		column row.Column
		value  string
		code   string
		text   string
	}{
		{row.Column{Kind: row.Int64}, "9223372036854775808", field.CodeOutOfRange, "outside the range of int64"},
		{row.Column{Kind: row.Int64}, "-9223372036854775809", field.CodeOutOfRange, "decimal"},
		{row.Column{Kind: row.Int64}, "99999999999999999999999", field.CodeOutOfRange, ""},
		{row.Column{Kind: row.Int64}, "", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Int64}, "1.0", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Decimal, Scale: 2}, "0.125", field.CodeOutOfRange, "declared scale 2"},
		{row.Column{Kind: row.Decimal, Scale: 2}, "1234567890123456789012345678901234567.00", field.CodeOutOfRange, "38 digits"},
		{row.Column{Kind: row.Decimal, Scale: 0}, strings.Repeat("9", 39), field.CodeOutOfRange, ""},
		{row.Column{Kind: row.Decimal, Scale: 0}, strings.Repeat("9", 500), field.CodeOutOfRange, ""},
		{row.Column{Kind: row.Decimal, Scale: 2}, "NaN", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Decimal, Scale: 2}, "1.", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Decimal, Scale: 2}, ".5", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Decimal, Scale: 2}, "1.2.3", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Decimal, Scale: 2}, "-", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Decimal, Scale: -1}, "1e5", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Float64}, "1e400", field.CodeOutOfRange, ""},
		{row.Column{Kind: row.Float64}, "inf", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Bool}, "1", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Date}, "infinity", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Date}, "2026-02-29", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Date}, "0000-01-01", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Date}, "2026-01-01T", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Date}, "2026-1-011", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.DateTime}, "2026-01-01T00:00:00Z", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.DateTime}, "2026-01-01T00:00:60", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.DateTime}, "2026-01-01T00:00:00.", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.DateTime}, "2026-01-01T00:00:00.0000001", field.CodeOutOfRange, "microseconds"},
		{row.Column{Kind: row.Timestamp}, "2026-01-01T00:00:00.123456789Z", field.CodeOutOfRange, "microseconds"},
		{row.Column{Kind: row.Timestamp}, "2026-01-01T00:00:00", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Timestamp}, "2026-01-01T00:00:00+0800", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.Timestamp}, "infinity", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.JSON}, "{", field.CodeNotCanonical, ""},
		{row.Column{Kind: row.String}, "caf\xe9", field.CodeInvalidUTF8, "invalid_utf8"},
		{row.Column{Kind: row.JSON}, "\"\xff\"", field.CodeInvalidUTF8, "invalid_utf8"},
	}
	for _, c := range cases {
		w := parquet.NewWriter(one(c.column), part.Options{First: true})
		_, err := w.Append(batch(lines(c.value), 1), 0)
		t.Run(fmt.Sprintf("%s %.20q", c.column.Kind, c.value), func(t *testing.T) {
			t.Parallel()
			wantError(t, err, c.code, `column "value"`, `key 0`, c.text)
			if len(c.value) > 8 && strings.Contains(err.Error(), c.value) {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
}

func TestInvalidTextIsReplacedAndCountedWhereTheRuleSaysSo(t *testing.T) {
	t.Parallel()
	config := orders(parquet.Zstd)
	rows := table(3, 2)
	rows[0][1], rows[0][2], rows[1][10], rows[1][11] = "caf\xe9", "\xff\xff谢", "[\"\xc0\"]", "\xff"
	parts := write(t, config, part.Options{First: true}, rows)
	if got := parts[0].Counters; got != (job.Counters{Nulls: 4, InvalidUTF8: 3}) {
		t.Errorf("counters are %+v, want 4 NULLs and 3 repaired texts", got)
	}
	file, _ := join(t, config, parts)
	got, _, err := read(file, config)
	if err != nil {
		t.Fatal(err)
	}
	rows[0][1], rows[0][2], rows[1][10] = "caf\uFFFD", "\uFFFD\uFFFD谢", "[\"\uFFFD\"]"
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("want (-), read (+):\n%s", diff)
	}
}

func TestARefusedRowLeavesNoTrace(t *testing.T) {
	t.Parallel()
	config, rows := orders(parquet.Zstd), table(5, 3)
	want := write(t, config, part.Options{First: true}, rows)
	w, b := parquet.NewWriter(config, part.Options{First: true}), batch(rows, config.Keys)
	bad := table(6, 1)
	bad[0][13] = "x"
	for r := range b.Rows() {
		if _, err := w.Append(batch(bad, config.Keys), 0); err == nil {
			t.Fatal("the bad row is accepted")
		}
		if _, err := w.Append(b, r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.End()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[0], got, cmp.Comparer(bytes.Equal)); diff != "" {
		t.Errorf("the refused rows changed the part:\n%.1000s", diff)
	}
}

func TestALargeRowIsOneRowAndATooLargeOneIsRefused(t *testing.T) {
	t.Parallel()
	config := one(row.Column{Kind: row.String})
	rows := lines("a", strings.Repeat("0123456789", 3_000_000), "b")
	file, _ := export(t, config, part.Cut{}, rows)
	got, _, err := read(file, config)
	if err != nil || len(got) != 3 || got[1][0] != rows[1][0] {
		t.Errorf("a text of 30 MB reads back as %d rows, %v", len(got), err)
	}
	w := parquet.NewWriter(config, part.Options{})
	_, err = w.Append(batch(lines(strings.Repeat("x", limits.RowBytesMax)), 1), 0)
	wantError(t, err, field.CodeTooLarge, `column "value"`, "32 MiB")
}

func TestManyDistinctOrLargeTextsNeedNoMoreMemoryThanTheBounds(t *testing.T) {
	// Not parallel: it looks at the memory of the whole process.
	cases := []struct {
		name string
		rows int
		text func(i int) string
	}{
		{"a million distinct strings", 1_000_000, func(i int) string { return fmt.Sprintf("order number %09d", i*7919) }},
		{"rows of 3 MB", 60, func(int) string { return threeMB }},
	}
	for _, c := range cases {
		w, b := parquet.NewWriter(one(row.Column{Kind: row.String}), part.Options{First: true}), &row.Batch{}
		var buffers [2][]byte
		peak, parts := uint64(0), 0
		for i := range c.rows {
			b.Reset(2)
			b.AppendString(c.text(i))
			b.AppendString("key")
			full, err := w.Append(b, 0)
			if err != nil {
				t.Fatal(err)
			}
			if full {
				p, err := w.Take(buffers[parts%2])
				if err != nil {
					t.Fatal(err)
				}
				buffers[parts%2] = p.Data
				parts++
			}
			if i%(c.rows/30) == 0 {
				peak = max(peak, heapBytes())
			}
		}
		if peak > 80*limits.MiB {
			t.Errorf("%s: %d MiB are in use", c.name, peak>>20)
		}
	}
}

// threeMB is a text that doesn't compress to nothing.
var threeMB = func() string {
	var text strings.Builder
	for i := 0; text.Len() < 3<<20; i++ {
		fmt.Fprintf(&text, "%x ", i*i*7919)
	}
	return text.String()
}()

func heapBytes() uint64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}
