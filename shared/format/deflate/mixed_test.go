package deflate_test

import (
	"bytes"
	"runtime"
	"testing"

	"sealift/shared/format/deflate"
)

func TestRowsAndTextMayTakeTurns(t *testing.T) {
	t.Parallel()
	text, other := deflate.Block{Text: []byte(prose(2000))}, deflate.Block{Text: []byte(noise(500) + prose(2000))}
	for name, blocks := range map[string][]deflate.Block{
		"text first": {text, orders(300), text, orders(200), text},
		"rows first": {orders(300), text, orders(200), other, text, orders(100), text},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []byte
			for _, block := range blocks {
				want = append(want, block.Text...)
			}
			if got := inflated(t, packed(t, blocks...)); !bytes.Equal(got, want) {
				t.Errorf("%d bytes came back of %d, and not the same", len(got), len(want))
			}
		})
	}
}

func TestALargeRowIsTriedByItsEndsAlone(t *testing.T) {
	const large, others = 16 << 20, 4 << 20
	text := noise(large)
	block, room := table(2, 2, func(int, int) string { return text[:large/4] }), make([]byte, 0, 2*large)
	p, err := deflate.New()
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := p.Pack(room, block); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > others {
		t.Errorf("a row of %d bytes took %d bytes beside the room for it, want at most %d", large/2, took, others)
	}
}
