package deflate_test

import (
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	library "github.com/klauspost/compress/flate"

	"sealift/shared/format/deflate"
)

// inflated is what the standard library reads from packed blocks.
func inflated(t *testing.T, packed []byte) []byte {
	t.Helper()
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(append(bytes.Clone(packed), deflate.End...))))
	if err != nil {
		t.Fatalf("inflate: %v", err)
	}
	return text
}

func packed(t *testing.T, blocks ...deflate.Block) []byte {
	t.Helper()
	p, err := deflate.New()
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	for _, block := range blocks {
		if file, err = p.Pack(file, block); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// byLibrary is how large the compression library makes the block.
func byLibrary(t *testing.T, block deflate.Block) int {
	t.Helper()
	var file bytes.Buffer
	w, err := library.NewWriter(&file, library.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(block.Text); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return file.Len()
}

// table is a block of rows, each of which value makes of the columns in turn.
func table(width, rows int, value func(r, c int) string) deflate.Block {
	b := deflate.Block{Width: width, Text: []byte("what comes before\n")}
	for r := range rows {
		for c, starts := 0, b.Row(); c < width; c++ {
			starts[c] = uint32(len(b.Text))
			b.Text = append(b.Text, value(r, c)...)
			b.Text = append(b.Text, ',')
		}
		b.Text = append(b.Text, '\n')
	}
	b.Text = append(b.Text, "what comes behind"...)
	return b
}

func random() *rand.Rand { return rand.New(rand.NewPCG(7, 11)) }

// orders are rows as shops have them: numbers that count, states, times, amounts.
func orders(rows int) deflate.Block {
	r := random()
	states := []string{"paid", "shipped", "delivered", "returned"}
	return table(7, rows, func(i, c int) string {
		switch c {
		case 0:
			return fmt.Sprint(1_000_000 + i)
		case 1:
			return "acme"
		case 2:
			return fmt.Sprintf("SO%d", 700_000_000+i)
		case 3:
			return fmt.Sprintf("2026-01-%02dT%02d:%02d:%02dZ", 1+i/2000%28, i/100%24, i%60, r.IntN(60))
		case 4:
			return states[r.IntN(len(states))]
		case 5:
			return fmt.Sprintf("customer%d@mail.example.com", r.IntN(900_000))
		}
		return fmt.Sprintf("%d.%02d", r.IntN(9000), r.IntN(100))
	})
}

func prose(words int) string {
	r, text := random(), strings.Builder{}
	vocabulary := strings.Fields("parcel customs late damaged refund please deliver address missing warehouse the of and to in")
	for range words {
		text.WriteString(vocabulary[r.IntN(len(vocabulary))] + " ")
	}
	return text.String()
}

func noise(n int) string {
	r, text := random(), make([]byte, n)
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	return string(text)
}

func TestPackedBlocksInflateToTheirText(t *testing.T) {
	t.Parallel()
	long, static := strings.Repeat("0123456789abcdef", 20_000), noise(100_000)
	for name, block := range map[string]deflate.Block{
		"nothing":                      {},
		"one byte":                     {Text: []byte("x"), Values: []uint32{0}, Width: 1},
		"shorter than a word":          {Text: []byte("a,b\n"), Values: []uint32{0, 2}, Width: 2},
		"no values":                    {Text: []byte(prose(50_000))},
		"orders":                       orders(20_000),
		"one value over and over":      table(1, 200_000, func(int, int) string { return "" }),
		"many empty values":            table(300, 900, func(int, int) string { return "" }),
		"two values at one place":      {Text: []byte(strings.Repeat("abcdefgh", 9)), Values: []uint32{0, 0, 8, 8, 8, 16}, Width: 2},
		"values larger than a match":   table(2, 9, func(_, c int) string { return long[:c*259+258] }),
		"values larger than a segment": table(2, 5, func(int, int) string { return long }),
		"values larger than a window":  table(1, 4, func(r, _ int) string { return long[r:40_000] }),
		"noise":                        table(3, 4, func(_, c int) string { return static[c : 30_000*(c+1)] }),
		"rows of noise in a window":    table(1, 30, func(int, int) string { return static[:32_764] }),
		"rows of noise at its edge":    table(1, 30, func(int, int) string { return static[:32_766] }),
		"rows of noise beyond it":      table(1, 30, func(int, int) string { return static[:32_767] }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := packed(t, block, block)
			if got := inflated(t, file); !bytes.Equal(got, append(bytes.Clone(block.Text), block.Text...)) {
				t.Errorf("%d bytes came back of twice %d, and not the same", len(got), len(block.Text))
			}
			if again := packed(t, block, block); !bytes.Equal(again, file) {
				t.Error("the same blocks gave other bytes")
			}
		})
	}
}

func TestAnyTextAndValuesInflateToTheText(t *testing.T) {
	t.Parallel()
	r := random()
	for range 3000 {
		block := deflate.Block{Text: make([]byte, r.IntN(4000)), Width: 1 + r.IntN(5)}
		letters := 1 + r.IntN(256)
		for i := range block.Text {
			block.Text[i] = byte(r.IntN(letters))
		}
		for at := r.IntN(9); at < len(block.Text); at += r.IntN(60) {
			if starts := block.Row(); at+block.Width*10 < len(block.Text) {
				for c := range starts {
					starts[c] = uint32(at)
					at += r.IntN(10)
				}
			} else {
				block.DropRow()
				break
			}
		}
		// What came before in the text comes again here and there.
		for range r.IntN(20) {
			from, to := r.IntN(len(block.Text)+1), r.IntN(len(block.Text)+1)
			copy(block.Text[to:], block.Text[from:min(from+r.IntN(400), len(block.Text))])
		}
		if got := inflated(t, packed(t, block)); !bytes.Equal(got, block.Text) {
			t.Fatalf("%d bytes came back, and not the same, of %+v", len(got), block)
		}
	}
}

func numbers(rows int) deflate.Block {
	r := random()
	return table(2, rows, func(i, c int) string { return fmt.Sprint(1_000_000 + i + c*r.IntN(1000)) })
}

func uuids(rows int) deflate.Block {
	r := random()
	return table(2, rows, func(int, int) string {
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Int64N(1<<48))
	})
}

func TestRowsBecomeSmallerThanTheLibraryMakesThem(t *testing.T) {
	t.Parallel()
	r := random()
	for name, c := range map[string]struct {
		block deflate.Block
		// most is the most that is allowed, in hundredths of what the library makes.
		most int
	}{
		"orders":            {orders(20_000), 95},
		"numbers":           {numbers(60_000), 95},
		"UUIDs":             {uuids(20_000), 65},
		"prose":             {table(3, 400, func(i, c int) string { return prose(40 + i + c) }), 101},
		"prose of one cell": {deflate.Block{Text: []byte(prose(50_000))}, 100},
		"noise":             {table(2, 300, func(int, int) string { return noise(2000)[r.IntN(1000):] }), 104},
	} {
		t.Run(name, func(t *testing.T) {
			got, theirs := len(packed(t, c.block)), byLibrary(t, c.block)
			if got*100 > theirs*c.most {
				t.Errorf("%d bytes became %d, and %d by the library alone; want at most %d %% of it", len(c.block.Text), got, theirs, c.most)
			}
		})
	}
}

// A change of these bytes is a change of files that are half written when it is deployed.
func TestPackedBytesStayTheSame(t *testing.T) {
	t.Parallel()
	file := packed(t, orders(5000))
	const want, wantBytes = "6b6fc959", 85478
	if got := fmt.Sprintf("%08x", crc32.ChecksumIEEE(file)); got != want || len(file) != wantBytes {
		t.Errorf("the file has %d bytes with CRC-32 %s, want %d and %s", len(file), got, wantBytes, want)
	}
}

func TestRowsArePackedWithoutAllocation(t *testing.T) {
	block, room := orders(5000), make([]byte, 0, 1<<20)
	p, err := deflate.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Pack(room, block); err != nil {
		t.Fatal(err)
	}
	if allocations := testing.AllocsPerRun(10, func() { _, _ = p.Pack(room, block) }); allocations != 0 {
		t.Errorf("%g allocations a block, want none", allocations)
	}
}

// BenchmarkPack packs rows in turns with the library at the level that a Packer uses it at.
func BenchmarkPack(b *testing.B) {
	for name, block := range map[string]deflate.Block{
		"orders": orders(20_000), "numbers": numbers(60_000), "UUIDs": uuids(20_000), "prose": {Text: []byte(prose(200_000))},
	} {
		room := make([]byte, 0, 4<<20)
		b.Run(name+"/packer", func(b *testing.B) {
			p, err := deflate.New()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(block.Text)))
			for b.Loop() {
				file, err := p.Pack(room, block)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(block.Text))/float64(len(file)), "ratio")
			}
		})
		b.Run(name+"/library", func(b *testing.B) {
			file := bytes.NewBuffer(room)
			w, err := library.NewWriter(file, library.BestSpeed)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(block.Text)))
			for b.Loop() {
				file.Reset()
				if _, err := w.Write(block.Text); err != nil {
					b.Fatal(err)
				}
				if err := w.Flush(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(block.Text))/float64(file.Len()), "ratio")
			}
		})
	}
}
