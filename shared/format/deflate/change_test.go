package deflate_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sealift/shared/format/deflate"
)

// items is a document as a column holds it that was added to a table later: much in it repeats, nothing where it begins.
func items(r int) string {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, `{""sku"":""A%d"",""qty"":%d,""currency"":""EUR"",""status"":""delivered""},`, (r*31+i*7)%1000, i%5)
	}
	return text.String()
}

// blocks are so many rows as a part is packed: at a mebibyte a block ends.
func blocks(rows int, value func(r int) string) []deflate.Block {
	const blockBytes = 1 << 20
	var all []deflate.Block
	for b := (deflate.Block{Width: 2}); rows > 0; b = (deflate.Block{Width: 2}) {
		for ; rows > 0 && len(b.Text) < blockBytes; rows-- {
			starts := b.Row()
			starts[0] = uint32(len(b.Text))
			b.Text = fmt.Appendf(b.Text, "%d,", 1_000_000+rows)
			starts[1] = uint32(len(b.Text))
			b.Text = append(append(b.Text, value(rows)...), '\n')
		}
		all = append(all, b)
	}
	return all
}

func TestRowsThatChangeOnTheWayStaySmall(t *testing.T) {
	t.Parallel()
	empty, docs := func(int) string { return "" }, items
	from := func(first int) func(int) string {
		return func(r int) string {
			if r > first {
				return ""
			}
			return items(r)
		}
	}
	for name, list := range map[string][]deflate.Block{
		"empty, then documents":               append(blocks(200_000, empty), blocks(5000, docs)...),
		"empty, then documents, in one block": blocks(12_000, from(4000)),
		"documents, then empty":               append(blocks(3000, docs), blocks(400_000, empty)...),
		"in turns":                            append(append(blocks(200_000, empty), blocks(2000, docs)...), append(blocks(200_000, empty), blocks(2000, docs)...)...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := packed(t, list...)
			theirs := 0
			var text []byte
			for _, block := range list {
				theirs += byLibrary(t, block)
				text = append(text, block.Text...)
			}
			if got := inflated(t, file); !bytes.Equal(got, text) {
				t.Fatalf("%d bytes came back of %d, and not the same", len(got), len(text))
			}
			if most := theirs*2 + theirs/5; len(file) > most {
				t.Errorf("%d bytes became %d, and %d by the library alone; want at most %d", len(text), len(file), theirs, most)
			}
		})
	}
}
