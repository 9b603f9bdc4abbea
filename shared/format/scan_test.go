package format_test

import (
	"errors"
	"strings"
	"testing"

	"sealift/shared/format"
	"sealift/shared/row"
)

func TestScanGivesBackEveryValue(t *testing.T) {
	t.Parallel()
	b := table(21, 200)
	for name, compression := range map[format.Name]format.Compression{
		format.CSV: format.Zstd, format.JSONL: format.Zstd, format.XLSX: format.None, format.Parquet: format.Zstd,
	} {
		spec := orders(name, compression)
		spec.Guard = name == format.XLSX
		file, _ := join(spec, write(t, newWriter(t, spec, format.PartOptions{First: true, Shard: 1, Cut: small()}), b, 0, 200))
		r := 0
		_, err := format.Scan(spec, bytesReader(file), func(values [][]byte, null []bool) error {
			for i, column := range spec.Columns {
				want, ok := b.Value(r, i)
				if null[i] == ok {
					t.Fatalf("%s: row %d, %s: null is %v", name, r, column.Name, null[i])
				}
				got := string(values[i])
				switch {
				case ok && name == format.Parquet && column.Kind.Timed():
					// Microseconds are held as a number, so zeros at the end of a fraction are gone.
					if want := trimmed(string(want)); got != want {
						t.Fatalf("row %d, %s: %q, want %q", r, column.Name, got, want)
					}
				case !ok || string(want) == "\xff\xfe" && got == "\ufffd\ufffd":
				case name == format.JSONL && column.Kind == row.JSON:
					if got != strings.NewReplacer(`{ `, `{`, `: `, `:`, `, `, `,`, ` }`, `}`).Replace(string(want)) {
						t.Fatalf("row %d: document is %q, want %q", r, got, want)
					}
				case strings.ToValidUTF8(string(want), "") != string(want) && column.Kind == row.String:
				case got != string(want):
					t.Fatalf("%s: row %d, %s: %q, want %q", name, r, column.Name, got, want)
				}
			}
			r++
			return nil
		})
		if err != nil || r != 200 {
			t.Errorf("%s: %d rows, %v", name, r, err)
		}
	}
}

// What a receipt says of NULLs must be what a reader of the file counts, or a good file looks changed.
func TestScanCountsTheNULLsThatWereCounted(t *testing.T) {
	t.Parallel()
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		spec.Columns = []row.Column{
			{Name: "text", Kind: row.String}, {Name: "document", Kind: row.JSON}, {Name: "number", Kind: row.Float64}, {Name: "bytes", Kind: row.Bytes},
		}
		spec.Keys = 1
		var b row.Batch
		b.Reset(5)
		texts, documents := []string{"", "null", "NULL", "\\N", " ", "\x00"}, []string{"null", " null", "\"null\"", "[null]", "{}", "0"}
		for r, text := range texts {
			b.AppendString(text)
			b.AppendString(documents[r])
			b.AppendString([]string{"NaN", "0", "-0", "Infinity", "1", "-1"}[r])
			b.AppendString(text)
			b.AppendString(string(rune('a' + r)))
		}
		for range 4 {
			b.AppendNull()
		}
		b.AppendString("z")
		parts := write(t, newWriter(t, spec, format.PartOptions{First: true, Shard: 1}), &b, 0, b.Rows())
		counted := int64(0)
		for _, part := range parts {
			counted += part.Counters.Nulls
		}
		file, _ := join(spec, parts)
		seen := int64(0)
		if _, err := format.Scan(spec, bytesReader(file), func(_ [][]byte, null []bool) error {
			for _, is := range null {
				if is {
					seen++
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if seen != counted || counted < 4 {
			t.Errorf("a reader sees %d NULLs, and %d were counted", seen, counted)
		}
	})
}

// trimmed is a time with six digits after the dot as its number of microseconds is written again: without zeros at the
// end.
func trimmed(text string) string {
	const seconds = len("2006-01-02T15:04:05")
	return strings.TrimSuffix(strings.TrimRight(text[:seconds+7], "0"), ".") + text[seconds+7:]
}

func TestScanNoticesEveryCutAndEveryChangedByte(t *testing.T) {
	t.Parallel()
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		spec.Zone = "UTC"
		file, want := join(spec, write(t, newWriter(t, spec, format.PartOptions{First: true, Shard: 1}), ordinary(2), 0, 2))
		for at := range file {
			got, err := format.Scan(spec, bytesReader(file[:at]), nil)
			if err == nil && (got == want || spec.Compression == format.Gzip || spec.Format == format.XLSX || spec.Format == format.Parquet) {
				t.Fatalf("%d of %d bytes pass", at, len(file))
			}
			file[at] ^= 0x20
			if got, err := format.Scan(spec, bytesReader(file), nil); err == nil && got == want {
				t.Fatalf("a change at byte %d passes", at)
			}
			file[at] ^= 0x20
		}
		if err := scan(spec, append(file, "junk"...)); err == nil {
			t.Error("bytes behind the end pass")
		}
	})
}

func TestScanRefusesAnotherFile(t *testing.T) {
	t.Parallel()
	spec := orders(format.CSV, format.None)
	b := table(5, 3)
	file, _ := join(spec, write(t, newWriter(t, spec, format.PartOptions{First: true}), b, 0, 3))
	other := orders(format.CSV, format.None)
	other.Columns[3].Name = "total"
	wantText(t, scan(other, file), "the header isn't that of the columns")
	other = orders(format.CSV, format.None)
	other.Columns[1].Kind = row.Date
	wantText(t, scan(other, file), `row 1: the value of "sku" isn't a valid date`)
	other = orders(format.CSV, format.None)
	other.Columns[1].Kind = row.Bytes
	wantText(t, scan(other, file), `the value of "sku" isn't base64`)
	wantText(t, scan(orders(format.CSV, format.Gzip), file), "isn't gzip")
	wantText(t, scan(orders(format.CSV, format.Gzip), nil), "isn't gzip")
	wantText(t, scan(orders(format.CSV, format.Zstd), nil), "isn't zstd")
	wantText(t, scan(spec, nil), "byte order mark")
	wantText(t, scan(spec, []byte("\ufeff")), "read the header")
	zipped, _ := join(orders(format.CSV, format.Gzip),
		write(t, newWriter(t, orders(format.CSV, format.Gzip), format.PartOptions{First: true}), b, 0, 3))
	wantText(t, scan(orders(format.CSV, format.Gzip), append(zipped, zipped...)), "bytes follow")
	wantError(t, scan(format.Spec{}, nil), "invalid", "format_invalid")

	stop := errors.New("enough")
	if _, err := format.Scan(spec, bytesReader(file), func([][]byte, []bool) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the callback's error becomes %v", err)
	}
}

func scan(spec format.Spec, file []byte) error {
	_, err := format.Scan(spec, bytesReader(file), nil)
	return err
}

func wantText(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v, want one that says %q", err, text)
	}
}
