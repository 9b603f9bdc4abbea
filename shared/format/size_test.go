package format_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"sealift/shared/format"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// note is a spec of one id and one text, and line a batch of one such row.
func note(compression format.Compression) format.Spec {
	return format.Spec{
		Format: format.JSONL, Compression: compression, Keys: 1, InvalidUTF8: format.Fail,
		Columns: []row.Column{{Name: "id", Kind: row.Int64}, {Name: "note", Kind: row.String}},
	}
}

func line(text string) *row.Batch {
	b := &row.Batch{}
	b.Reset(3)
	b.AppendString("7")
	b.AppendString(text)
	b.AppendString("7")
	return b
}

func TestLargeRowsFitAndTheRestStaysInItsPart(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("some text, ", 30<<20/11)
	for _, compression := range compressions() {
		spec := note(compression)
		w := newWriter(t, spec, format.PartOptions{First: true})
		parts := write(t, w, line("before"), 0, 1)
		w = newWriter(t, spec, format.PartOptions{})
		parts = append(parts, write(t, w, line(text), 0, 1)...)
		file, want := join(spec, parts)
		long := 0
		got, err := format.Scan(spec, bytesReader(file), func(values [][]byte, _ []bool) error {
			if string(values[1]) == text {
				long++
			}
			return nil
		})
		if err != nil || got != want || long != 1 {
			t.Errorf("%s: scanned %+v with %d long rows, %v; want %+v", compression, got, long, err, want)
		}
	}
	w := newWriter(t, note(format.Gzip), format.PartOptions{})
	_, err := w.Append(line(strings.Repeat("x", limits.RowBytesMax)), 0)
	wantError(t, err, "permanent", "row_too_large", `column "note"`, `key 7`, "32 MiB")
}

func TestManyLargeRowsNeedNoMoreMemoryThanTheBounds(t *testing.T) {
	// Not parallel: it looks at the memory of the whole process.
	b := line(strings.Repeat("0123456789abcdef", 3<<20/16))
	for compression, rows := range map[format.Compression]int{format.None: 100, format.Gzip: 20, format.Zstd: 20} {
		w := newWriter(t, note(compression), format.PartOptions{})
		var buffers [2][]byte
		turn, peak := 0, uint64(0)
		for r := range rows {
			full, err := w.Append(b, 0)
			if err != nil {
				t.Fatal(err)
			}
			if full {
				part, err := w.Take(buffers[turn])
				if err != nil {
					t.Fatal(err)
				}
				turn = 1 - turn
				buffers[turn] = part.Data
			}
			if r%10 == 0 {
				peak = max(peak, heapBytes())
			}
		}
		if peak > 64*limits.MiB {
			t.Errorf("%s: %d MiB are in use for rows of 3 MiB", compression, peak>>20)
		}
	}
}

// heapBytes is how much memory the process really uses.
func heapBytes() uint64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

func TestNoRowAllocatesOnItsWayIntoAPart(t *testing.T) {
	b := table(31, 2000)
	for _, spec := range everySpec() {
		w := newWriter(t, spec, format.PartOptions{First: true, Shard: 1})
		spare := [2][]byte{}
		r, turn := 0, 0
		one := func() {
			full, err := w.Append(b, r%2000)
			if err != nil {
				t.Fatal(err)
			}
			if full {
				part, err := w.Take(spare[turn])
				if err != nil {
					t.Fatal(err)
				}
				turn = 1 - turn
				spare[turn] = part.Data
			}
			r++
		}
		for range 5000 {
			one()
		}
		if n := testing.AllocsPerRun(20_000, one); n != 0 {
			t.Errorf("%s %s: a row allocates %v times", spec.Format, spec.Compression, n)
		}
	}
}

// ordinary is n rows for orders as most tables hold them: short text, few quotes, no faults.
func ordinary(n int) *row.Batch {
	b := &row.Batch{}
	b.Reset(14)
	for i := range n {
		id, at := strconv.Itoa(3527761361045+i*7919), fmt.Sprintf("2026-03-%02dT%02d:%02d:%02d.%06d", 1+i%28, i%24, i%60, i%59, i*7919%1e6)
		for _, value := range []string{
			id, fmt.Sprintf("SKU-%05d", i*31%1e5), "leave at the door, 谢谢", fmt.Sprintf("%d.%02d", i*17%9000, i%100),
			"0.35", strconv.FormatBool(i%3 == 0), at[:10], at + "+08:00", at, `{"gift":false}`, "\x01\x02\x03\x04", "paid", at + "Z", id,
		} {
			b.AppendString(value)
		}
	}
	return b
}

func BenchmarkRows(b *testing.B) {
	rows := ordinary(5000)
	for _, spec := range everySpec() {
		b.Run(string(spec.Format)+" "+string(spec.Compression), func(b *testing.B) {
			w := newWriter(b, spec, format.PartOptions{Shard: 1})
			stored, r, index := int64(0), 0, 0
			var spare [2][]byte
			b.ReportAllocs()
			for b.Loop() {
				full, err := w.Append(rows, r)
				if err != nil {
					b.Fatal(err)
				}
				if r++; r == rows.Rows() {
					r = 0
				}
				if !full {
					continue
				}
				part, err := w.Take(spare[index&1])
				if err != nil {
					b.Fatal(err)
				}
				index++
				spare[index&1] = part.Data
				stored += int64(len(part.Data))
				if index%1000 == 0 {
					w = newWriter(b, spec, format.PartOptions{Shard: 1})
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(stored)/float64(b.N), "stored-B/row")
		})
	}
}
