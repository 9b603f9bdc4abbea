package deflate

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"testing"
)

// used is how much of the space of codes the sizes take, of 1<<limit.
func used(sizes []uint8, limit int) (space int) {
	for _, size := range sizes {
		if size > 0 {
			space += 1 << (limit - int(size))
		}
	}
	return space
}

func TestCodesAreCompleteAndNotLongerThanAllowed(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	fibonacci := make([]uint32, 40)
	for i := range fibonacci {
		fibonacci[i] = 1
		if i > 1 {
			fibonacci[i] = fibonacci[i-1] + fibonacci[i-2]
		}
	}
	sets := [][]uint32{fibonacci, {1, 1}, {1, 1 << 30}, {0, 5, 0, 5, 5}}
	for range 2000 {
		counts := make([]uint32, 2+r.IntN(literalMax-1))
		for i := range counts {
			if i < 2 || r.IntN(3) > 0 {
				counts[i] = 1 + uint32(r.Uint64()>>(33+r.IntN(31)))
			}
		}
		sets = append(sets, counts)
	}
	var c code
	for _, counts := range sets {
		limit := codeBitsMax
		if len(counts) <= codeLengthsMax {
			limit = codeLengthBits
		}
		c.build(counts, limit)
		if space := used(c.sizes[:], limit); space != 1<<limit {
			t.Fatalf("counts %v: sizes %v take %d of %d", counts, c.sizes[:len(counts)], space, 1<<limit)
		}
		for a := range counts {
			if (counts[a] > 0) != (c.sizes[a] > 0) {
				t.Fatalf("symbol %d occurs %d times and has %d bits", a, counts[a], c.sizes[a])
			}
			for b := range counts {
				if counts[a] > counts[b] && counts[b] > 0 && c.sizes[a] > c.sizes[b] {
					t.Fatalf("symbol %d occurs %d times and has %d bits, and symbol %d %d times and %d", a, counts[a], c.sizes[a], b, counts[b], c.sizes[b])
				}
			}
		}
	}
	c.build([]uint32{0, 7}, codeBitsMax)
	if c.sizes[1] != 1 || c.bits[1] != 0 {
		t.Errorf("a lone symbol has code %b of %d bits, want 0 of one", c.bits[1], c.sizes[1])
	}
}

// TestEveryLengthAndDistance writes a match of every distance that deflate has, with every length in turn.
func TestEveryLengthAndDistance(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	want := make([]byte, window)
	ops := make([]op, 0, 4*window)
	for i := range want {
		want[i] = byte(r.Uint32())
		ops = append(ops, op(want[i]))
	}
	for distance := 1; distance <= window; distance++ {
		n := matchMin + distance%(matchMax-matchMin+1)
		ops = append(ops, lengthOp(n), distanceOp(distance))
		for range n {
			want = append(want, want[len(want)-distance])
		}
	}
	var c coder
	w := bitWriter{}
	c.append(&w, ops)
	file := append(w.flush(), End...)
	got, err := io.ReadAll(flate.NewReader(bytes.NewReader(file)))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back, want %d (%v)", len(got), len(want), err)
	}
}
