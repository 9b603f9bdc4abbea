package format_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/row"
)

func TestJoinedShardsAreTheStraightFile(t *testing.T) {
	t.Parallel()
	for _, name := range []format.Name{format.CSV, format.JSONL} {
		for _, compression := range compressions() {
			t.Run(fmt.Sprintf("%s %s", name, compression), func(t *testing.T) {
				t.Parallel()
				const rows = 700
				b := table(1, rows)
				straight, _ := join(orders(name, format.None),
					write(t, newWriter(t, orders(name, format.None), format.PartOptions{First: true}), b, 0, rows))
				random := rand.New(rand.NewPCG(3, 4))
				for range 5 {
					spec := orders(name, compression)
					var shards [][]format.Part
					for from := 0; from < rows; {
						to := min(rows, from+random.IntN(300))
						w := newWriter(t, spec, format.PartOptions{First: shards == nil, Shard: len(shards) + 1, Cut: small()})
						shards = append(shards, write(t, w, b, from, to))
						from = to
					}
					file, totals := join(spec, shards...)
					scanned, err := format.Scan(spec, bytesReader(file), nil)
					if err != nil {
						t.Fatalf("scan: %v", err)
					}
					if diff := cmp.Diff(totals, scanned); diff != "" {
						t.Errorf("the parts promise (-) another file than there is (+):\n%s", diff)
					}
					sameBytes(t, "uncompressed", unpacked(t, compression, file), straight)
				}
			})
		}
	}
}

// stretch copies the rows [from, to) of b.
func stretch(b *row.Batch, from, to int) *row.Batch {
	copied := &row.Batch{}
	copied.Reset(b.Width())
	for r := from; r < to; r++ {
		for i := range b.Width() {
			if value, ok := b.Value(r, i); ok {
				copied.Append(value)
			} else {
				copied.AppendNull()
			}
		}
	}
	return copied
}

func TestAShardWithTooManyPartsFailsAndSaysHowToMendIt(t *testing.T) {
	t.Parallel()
	cut := small()
	cut.PartsMax = 2
	w := newWriter(t, orders(format.JSONL, format.None), format.PartOptions{Cut: cut, Index: 1})
	b := table(9, 500)
	var err error
	for r := 0; r < b.Rows() && err == nil; r++ {
		var full bool
		if full, err = w.Append(b, r); full {
			take(t, w)
		}
	}
	wantError(t, err, "permanent", "shard_too_large", "2 parts", "fewer rows per shard")
}

func TestAppendRefusesAFullPartAndAForeignBatch(t *testing.T) {
	t.Parallel()
	w := newWriter(t, orders(format.JSONL, format.None), format.PartOptions{Cut: small()})
	b := table(9, 500)
	for r := range b.Rows() {
		full, err := w.Append(b, r)
		if err != nil {
			t.Fatal(err)
		}
		if full {
			_, err := w.Append(b, r+1)
			wantError(t, err, "permanent", "part_full")
			break
		}
	}
	foreign := &row.Batch{}
	foreign.Reset(3)
	_, err := w.Append(foreign, 0)
	wantError(t, err, "permanent", "row_width", "3 values", "12 columns and 2 key values")
}

func TestARefusedRowLeavesThePartAsItWas(t *testing.T) {
	t.Parallel()
	spec := orders(format.CSV, format.Gzip)
	spec.InvalidUTF8 = format.Fail
	good := table(2, 0)
	for i := range 14 {
		if i == 9 {
			good.AppendNull()
			continue
		}
		good.AppendString([]string{"1", "a", "b", "1.0", "1", "true", "2026-01-02", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05", "", "x", "y", "k", "7"}[i])
	}
	bad := stretch(good, 0, 1)
	bad.Reset(14)
	for i := range 14 {
		value, ok := good.Value(0, i)
		switch {
		case i == 11:
			bad.AppendString("\xff")
		case !ok:
			bad.AppendNull()
		default:
			bad.Append(value)
		}
	}
	want := write(t, newWriter(t, spec, format.PartOptions{First: true}), good, 0, 1)
	w := newWriter(t, spec, format.PartOptions{First: true})
	_, err := w.Append(bad, 0)
	wantError(t, err, "permanent", "value_invalid_utf8", `column "never"`, `key k/7`)
	if diff := cmp.Diff(want, write(t, w, good, 0, 1), cmp.Comparer(bytes.Equal)); diff != "" {
		t.Errorf("the refused row left traces:\n%s", diff)
	}
}

func TestAShardWithoutRowsHasNoPartUnlessItBeginsTheFile(t *testing.T) {
	t.Parallel()
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		if part := end(t, newWriter(t, spec, format.PartOptions{Shard: 2})); len(part.Data) > 0 {
			t.Errorf("an empty later shard has a part of %d bytes", len(part.Data))
		}
		w := newWriter(t, spec, format.PartOptions{First: true, Shard: 1})
		part := take(t, w)
		if again := end(t, w); len(again.Data) > 0 {
			t.Errorf("a second take gives %d bytes", len(again.Data))
		}
		file, totals := join(spec, []format.Part{part})
		scanned, err := format.Scan(spec, bytesReader(file), nil)
		if err != nil || scanned != totals || scanned.Rows != 0 {
			t.Errorf("the file without rows scans to %+v, %v; want %+v", scanned, err, totals)
		}
		if spec.Format == format.CSV && scanned.RawBytes == 0 {
			t.Error("the file without rows has no header")
		}
	})
}

func TestPartsOfUsualBlocksAreTheSameFromWhicheverWriter(t *testing.T) {
	t.Parallel()
	b := ordinary(5000)
	for _, compression := range compressions() {
		spec, cut := orders(format.CSV, compression), format.Cut{PartBytes: 1 << 20}
		w := newWriter(t, spec, format.PartOptions{First: true, Cut: cut})
		fresh := newWriter(t, spec, format.PartOptions{First: true, Cut: cut})
		for r, parts := 0, 0; parts < 4; r++ {
			full, err := w.Append(b, r%5000)
			if err != nil {
				t.Fatal(err)
			}
			again, err := fresh.Append(b, r%5000)
			if err != nil || again != full {
				t.Fatalf("%s: row %d: full is %v and %v, %v", compression, r, full, again, err)
			}
			if !full {
				continue
			}
			if diff := cmp.Diff(take(t, w), take(t, fresh), cmp.Comparer(bytes.Equal)); diff != "" {
				t.Fatalf("%s: part %d differs:\n%.500s", compression, parts, diff)
			}
			parts++
			fresh = newWriter(t, spec, format.PartOptions{First: true, Cut: cut, Index: parts})
		}
	}
}

func TestTheSuffixEndsTheGzipMember(t *testing.T) {
	t.Parallel()
	spec := orders(format.CSV, format.Gzip)
	got := suffixOf(spec, format.Piece{Number: 1, RawBytes: 5<<30 + 9, RawCRC32: 0xcbf43926})
	if want := []byte("\x03\x00\x26\x39\xf4\xcb\x09\x00\x00\x40"); !bytes.Equal(got, want) {
		t.Errorf("suffix is % x, want % x", got, want)
	}
	for _, compression := range []format.Compression{format.None, format.Zstd} {
		if got := suffixOf(orders(format.CSV, compression), format.Piece{Number: 1, RawBytes: 1, RawCRC32: 1}); len(got) > 0 {
			t.Errorf("%s has a suffix of %d bytes", compression, len(got))
		}
	}
}

func TestEveryRowHasEveryColumnWhateverIsNull(t *testing.T) {
	t.Parallel()
	b := &row.Batch{}
	b.Reset(3)
	for r := range 12 {
		if r < 10 {
			b.AppendNull()
		} else {
			b.AppendString("late")
		}
		b.AppendNull()
		b.AppendString("k")
	}
	spec := format.Spec{
		Format: format.CSV, Compression: format.None, Keys: 1, InvalidUTF8: format.Fail,
		Columns: []row.Column{{Name: "first", Kind: row.String}, {Name: "last", Kind: row.Int64}},
		CSV:     format.CSVOptions{Delimiter: ',', Quote: '"', LineEnd: "\n", Header: true},
	}
	parts := write(t, newWriter(t, spec, format.PartOptions{First: true}), b, 0, 12)
	if got, want := string(parts[0].Data), "first,last\n"+strings.Repeat(",\n", 10)+"late,\nlate,\n"; got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
	if parts[0].Counters.Nulls != 22 {
		t.Errorf("%d NULLs are counted, want 22", parts[0].Counters.Nulls)
	}
	spec.Format, spec.CSV = format.JSONL, format.CSVOptions{}
	parts = write(t, newWriter(t, spec, format.PartOptions{First: true}), b, 0, 12)
	want := strings.Repeat(`{"first":null,"last":null}`+"\n", 10) + strings.Repeat(`{"first":"late","last":null}`+"\n", 2)
	if got := string(parts[0].Data); got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
}

func TestPiecesAreJoinedInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	spec := orders(format.CSV, format.Gzip)
	pieces := []format.Piece{
		{Number: 1, RawBytes: 5, RawCRC32: uint32(checksum.Sum32([]byte("12345")))},
		{Number: 2, RawBytes: 4, RawCRC32: uint32(checksum.Sum32([]byte("6789")))},
	}
	want := []byte("\x03\x00\x26\x39\xf4\xcb\x09\x00\x00\x00")
	for _, order := range [][]format.Piece{{pieces[0], pieces[1]}, {pieces[1], pieces[0]}} {
		if got := suffixOf(spec, order...); !bytes.Equal(got, want) {
			t.Errorf("suffix is % x, want % x", got, want)
		}
	}
}
