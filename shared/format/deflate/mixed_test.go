package deflate_test

import (
	"bytes"
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
