package parquet_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"sealift/shared/format/field"
	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// wide is a table of so many columns of one kind, whose row i has value in column c.
type wide struct {
	name    string
	columns int
	kind    row.Kind
	rows    int
	value   func(random *rand.Rand, i, c int) string
}

func wideTables() []wide {
	number := func(random *rand.Rand, _, _ int) string { return strconv.FormatInt(int64(random.Uint64()>>1), 10) }
	noise := func(random *rand.Rand, n int) string {
		text := make([]byte, n/2)
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		return hex.EncodeToString(text)
	}
	return []wide{
		{"numbers", 20, row.Int64, 1000, number},
		{"numbers", 100, row.Int64, 1000, number},
		{"numbers", 1024, row.Int64, 300, number},
		{"texts that dictionaries take", 1024, row.String, 300, func(random *rand.Rand, _, _ int) string { return strconv.Itoa(random.IntN(300)) }},
		{"distinct texts", 1024, row.String, 300, func(random *rand.Rand, _, _ int) string { return noise(random, 32) }},
		{"long texts", 300, row.String, 10, func(random *rand.Rand, _, _ int) string { return noise(random, 4800) }},
		{"columns that take turns to be long", 100, row.String, 100, func(random *rand.Rand, i, c int) string {
			if i%100 == c {
				return noise(random, 300_000)
			}
			return "short"
		}},
		{"hardly any values", 1024, row.Bool, 300, func(_ *rand.Rand, i, c int) string {
			if i%7 == c%7 {
				return "true"
			}
			return null
		}},
	}
}

// batch holds rows of the table, and size is what the largest takes.
func (w wide) batch() (config parquet.Config, b *row.Batch, size int) {
	config = parquet.Config{Keys: 1, InvalidUTF8: field.Fail}
	for c := range w.columns {
		config.Columns = append(config.Columns, row.Column{Name: "c" + strconv.Itoa(c), Kind: w.kind})
	}
	random := rand.New(rand.NewPCG(3, 14))
	b = &row.Batch{}
	b.Reset(w.columns + 1)
	for i := range w.rows {
		before := b.Bytes()
		for c := range w.columns {
			if value := w.value(random, i, c); value == null {
				b.AppendNull()
			} else {
				b.AppendString(value)
			}
		}
		b.AppendString(strconv.Itoa(i))
		size = max(size, b.Bytes()-before)
	}
	return config, b, size
}

func TestATableOfAnyWidthTakesNoMoreMemoryThanTheBounds(t *testing.T) {
	t.Parallel()
	for _, table := range wideTables() {
		for name, codec := range codecs() {
			t.Run(fmt.Sprintf("%s %d %s", name, table.columns, table.name), func(t *testing.T) {
				t.Parallel()
				config, b, size := table.batch()
				config.Codec = codec
				w := parquet.NewWriter(config, part.Options{First: true, Buffer: make([]byte, 0, limits.PartBytes+limits.BlockBytes)})
				var parts []part.Part
				most, mostGroup, raw := 0, 0, 0
				for i := 0; len(parts) < 2 && raw < 40*limits.MiB; i++ {
					full, err := w.Append(b, i%b.Rows())
					if err != nil {
						t.Fatal(err)
					}
					raw += max(size, 8*table.columns)
					held, group := parquet.Held(w)
					most, mostGroup = max(most, held), max(mostGroup, group)
					if !full {
						continue
					}
					p, err := w.Take(make([]byte, 0, limits.PartBytes+limits.BlockBytes))
					if err != nil {
						t.Fatal(err)
					}
					most = max(most, cap(p.Data))
					parts = append(parts, p)
				}
				if most > limits.ColumnarPartBytes+size {
					t.Errorf("a part's buffer takes %.1f MiB", float64(most)/limits.MiB)
				}
				if mostGroup > limits.ColumnarGroupBytes+2*size {
					t.Errorf("the buffers of a row group take %.1f MiB", float64(mostGroup)/limits.MiB)
				}
				for _, p := range parts {
					rows, _, err := parquet.Groups(config, p.Data)
					if err != nil || len(p.Data) < limits.PartBytes || len(rows) > 1+len(p.Data)/limits.MiB {
						t.Errorf("part %d has %d bytes in %d row groups, %v", p.Index, len(p.Data), len(rows), err)
					}
				}
			})
		}
	}
}

func TestAWideFileReadsBackAsItsRows(t *testing.T) {
	t.Parallel()
	for _, table := range wideTables() {
		if table.columns < 1000 {
			continue
		}
		t.Run(table.name, func(t *testing.T) {
			t.Parallel()
			config, b, _ := table.batch()
			config.Codec = parquet.Zstd
			w := parquet.NewWriter(config, part.Options{First: true})
			var parts []part.Part
			for i := range 2000 {
				full, err := w.Append(b, i%b.Rows())
				if err != nil {
					t.Fatal(err)
				}
				if full {
					p, err := w.Take(nil)
					if err != nil {
						t.Fatal(err)
					}
					parts = append(parts, p)
				}
			}
			last, err := w.End()
			if err != nil {
				t.Fatal(err)
			}
			file, hash := join(t, config, append(parts, last))
			got, gotHash, err := read(file, config)
			if err != nil || gotHash != hash || len(got) != 2000 {
				t.Fatalf("%d rows with hash %x, want 2000 with %x, %v", len(got), gotHash, hash, err)
			}
			for c, text := range got[1999] {
				want, ok := b.Value(1999%b.Rows(), c)
				if text != string(want) && (ok || text != null) {
					t.Fatalf("column %d of the last row is %q, want %q", c, text, want)
				}
			}
		})
	}
}
