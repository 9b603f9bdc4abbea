package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// span is bytes [from, to) of one piece, or the suffix when piece is -1.
type span struct {
	piece    int
	from, to int64
}

// TestLayOutCoversEveryByteOnceInOrder lays out random pieces and checks what the store and the receiver rely on: the
// steps joined are the pieces joined and the suffix, every step but the last is a legal part, copies are within the
// store's bound, and what passes through memory is bounded.
func TestLayOutCoversEveryByteOnceInOrder(t *testing.T) {
	t.Parallel()
	const least, most = limits.StorePartBytesMin, limits.StoreCopyBytesMax
	sizes := []int64{0, 1, 1000, least - 1, least, least + 1, 2*least - 1, 2 * least, 3 * least, most - 1, most, most + 1, 3*most + 7}
	random := rand.New(rand.NewPCG(7, 11))
	for round := range 2000 {
		w := filed{suffix: make([]byte, random.IntN(20))}
		var want []span
		for n := range random.IntN(9) {
			size := sizes[random.IntN(len(sizes))]
			w.pieces = append(w.pieces, placed{piece: piece{object: job.StagedObject{Key: fmt.Sprint(n), ETag: "e" + fmt.Sprint(n), Bytes: size}}})
			if size > 0 {
				want = append(want, span{n, 0, size})
			}
		}
		if len(w.suffix) > 0 {
			want = append(want, span{-1, 0, int64(len(w.suffix))})
		}
		steps := layOut(w, Bounds{}.orLimits())
		var have []span
		for i, s := range steps {
			if s.number != int64(i+1) {
				t.Fatalf("round %d: step %d has number %d", round, i, s.number)
			}
			if i < len(steps)-1 && s.bytes() < least {
				t.Fatalf("round %d: step %d of %d has %d bytes, less than a part may have", round, i, len(steps), s.bytes())
			}
			have = append(have, spans(t, s)...)
		}
		if got, wanted := fmt.Sprint(joined(have)), fmt.Sprint(joined(want)); got != wanted {
			t.Fatalf("round %d: the steps cover %s, the pieces are %s", round, got, wanted)
		}
	}
}

func spans(t *testing.T, s step) []span {
	t.Helper()
	if s.copied.Key != "" {
		if len(s.slices) > 0 || len(s.literal) > 0 {
			t.Fatalf("a step both copies and gathers: %+v", s)
		}
		if size := s.copied.To - s.copied.From; size > limits.StoreCopyBytesMax {
			t.Fatalf("a copy covers %d bytes", size)
		}
		s.slices = []Slice{s.copied}
	} else if s.bytes() >= 3*limits.StorePartBytesMin {
		t.Fatalf("%d bytes pass through memory in one step", s.bytes())
	}
	var list []span
	for _, slice := range s.slices {
		var n int
		if _, err := fmt.Sscan(slice.Key, &n); err != nil || slice.ETag != "e"+slice.Key {
			t.Fatalf("a slice of a foreign object: %+v", slice)
		}
		list = append(list, span{n, slice.From, slice.To})
	}
	if len(s.literal) > 0 {
		list = append(list, span{-1, 0, int64(len(s.literal))})
	}
	return list
}

// joined merges spans that continue each other.
func joined(list []span) []span {
	var out []span
	for _, s := range list {
		if last := len(out) - 1; last >= 0 && out[last].piece == s.piece && out[last].to == s.from {
			out[last].to = s.to
			continue
		}
		out = append(out, s)
	}
	return out
}
