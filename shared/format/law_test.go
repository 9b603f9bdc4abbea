package format_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format"
	"sealift/shared/row"
)

// everySpec is orders in every format and compression.
func everySpec() []format.Spec {
	specs := []format.Spec{orders(format.XLSX, format.None)}
	for _, name := range []format.Name{format.CSV, format.JSONL} {
		for _, compression := range compressions() {
			specs = append(specs, orders(name, compression))
		}
	}
	for _, compression := range []format.Compression{format.Zstd, format.Snappy, format.None} {
		specs = append(specs, orders(format.Parquet, compression))
	}
	return specs
}

// forEverySpec runs law for each of them.
func forEverySpec(t *testing.T, law func(t *testing.T, spec format.Spec)) {
	t.Helper()
	for _, spec := range everySpec() {
		t.Run(fmt.Sprintf("%s %s", spec.Format, spec.Compression), func(t *testing.T) {
			t.Parallel()
			law(t, spec)
		})
	}
}

func TestInterruptionsAndBatchesNeverChangeAByte(t *testing.T) {
	t.Parallel()
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		for seed := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, 5))
			rows := random.IntN(900)
			b := table(seed, rows)
			opt := format.PartOptions{First: seed%2 == 0, Shard: 3, Cut: small()}
			want := write(t, newWriter(t, spec, opt), b, 0, rows)
			got := interrupted(t, spec, opt, b, rows, random)
			if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); diff != "" {
				t.Fatalf("seed %d: undisturbed (-) and interrupted (+) parts differ:\n%.2000s", seed, diff)
			}
		}
	})
}

// interrupted writes the rows with copies of random stretches of them as batches, reusing part buffers, and starts over
// with a new PartWriter after the last committed part at random moments.
func interrupted(t *testing.T, spec format.Spec, opt format.PartOptions, b *row.Batch, rows int, random *rand.Rand) []format.Part {
	t.Helper()
	var parts []format.Part
	committed := 0
	w := newWriter(t, spec, opt)
	var spare []byte
	commit := func(next int, part format.Part, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if len(part.Data) == 0 {
			return
		}
		spare = part.Data
		part.Data = bytes.Clone(part.Data)
		parts = append(parts, part)
		committed = next
	}
	for next := 0; next < rows; {
		batch := stretch(b, next, min(rows, next+1+random.IntN(50)))
		for r := range batch.Rows() {
			full, err := w.Append(batch, r)
			if err != nil {
				t.Fatal(err)
			}
			next++
			if full {
				part, err := w.Take(spare)
				commit(next, part, err)
			}
		}
		if random.IntN(10) == 0 {
			next, spare = committed, nil
			again := opt
			if again.Index = len(parts); again.Index > 0 {
				again.Fragment = parts[again.Index-1].Fragment
			}
			w = newWriter(t, spec, again)
		}
	}
	part, err := w.End()
	commit(rows, part, err)
	return parts
}

func TestAShardGoesOnAfterAnyOfItsParts(t *testing.T) {
	t.Parallel()
	const rows = 900
	b := table(17, rows)
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		opt := format.PartOptions{First: true, Shard: 1, Cut: small()}
		want := write(t, newWriter(t, spec, opt), b, 0, rows)
		if len(want) < 5 {
			t.Fatalf("only %d parts", len(want))
		}
		done := 0
		for i, part := range want[:len(want)-1] {
			done += int(part.Rows)
			opt.Index, opt.Fragment = i+1, part.Fragment
			if diff := cmp.Diff(want[i+1:], write(t, newWriter(t, spec, opt), b, done, rows), cmp.Comparer(bytes.Equal)); diff != "" {
				t.Fatalf("undisturbed (-) and resumed after part %d (+) differ:\n%.2000s", i, diff)
			}
		}
	})
}

func TestShardsJoinToAFileOfAllTheirRows(t *testing.T) {
	t.Parallel()
	const rows = 700
	b := table(1, rows)
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		random := rand.New(rand.NewPCG(3, 4))
		var want []string
		straight, _ := join(spec, write(t, newWriter(t, spec, format.PartOptions{First: true, Shard: 1}), b, 0, rows))
		collect := func(into *[]string) func([][]byte, []bool) error {
			return func(values [][]byte, null []bool) error {
				*into = append(*into, fmt.Sprintf("%q %v", values, null))
				return nil
			}
		}
		if _, err := format.Scan(spec, bytesReader(straight), collect(&want)); err != nil || len(want) != rows {
			t.Fatalf("%d rows, %v", len(want), err)
		}
		for range 5 {
			var shards [][]format.Part
			for from := 0; from < rows; {
				// Some shards have no rows, also the first and the last.
				to := min(rows, from+max(0, random.IntN(300)-100))
				w := newWriter(t, spec, format.PartOptions{First: shards == nil, Shard: len(shards) + 1, Cut: small()})
				shards = append(shards, write(t, w, b, from, to))
				from = to
			}
			shards = append(shards, write(t, newWriter(t, spec, format.PartOptions{Shard: len(shards) + 1, Cut: small()}), b, rows, rows))
			file, totals := join(spec, shards...)
			var got []string
			scanned, err := format.Scan(spec, bytesReader(file), collect(&got))
			if err != nil {
				t.Fatalf("scan: %v", err)
			}
			if diff := cmp.Diff(totals, scanned); diff != "" {
				t.Errorf("the parts promise (-) another file than there is (+):\n%s", diff)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows of one shard (-) and of %d (+) differ:\n%.2000s", len(shards), diff)
			}
		}
	})
}

func TestPartsGrowAfterTheirNumberAndNeverEndEarly(t *testing.T) {
	t.Parallel()
	b := table(9, 2000)
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		parts := write(t, newWriter(t, spec, format.PartOptions{Shard: 1, Cut: small()}), b, 0, 2000)
		if len(parts) < 8 {
			t.Fatalf("only %d parts", len(parts))
		}
		for i, part := range parts[:len(parts)-1] {
			least := 6000 << min(i/3, 8)
			if part.Index != i || len(part.Data) < least || len(part.Data) > least+2000+30_000 {
				t.Errorf("part %d has index %d and %d bytes, want at least %d and little more", i, part.Index, len(part.Data), least)
			}
		}
	})
}

func TestARowIsHashedTheSameInEveryOrder(t *testing.T) {
	t.Parallel()
	const rows = 400
	b := table(4, rows)
	forEverySpec(t, func(t *testing.T, spec format.Spec) {
		var forward, backward uint64
		for _, part := range write(t, newWriter(t, spec, format.PartOptions{Shard: 1}), b, 0, rows) {
			forward += part.RowsHash
		}
		w := newWriter(t, spec, format.PartOptions{First: true, Shard: 1, Cut: small()})
		for r := rows - 1; r >= 0; r-- {
			if full, err := w.Append(b, r); err != nil {
				t.Fatal(err)
			} else if full {
				backward += take(t, w).RowsHash
			}
		}
		backward += end(t, w).RowsHash
		if forward != backward {
			t.Errorf("the rows hash to %x forward and %x backward", forward, backward)
		}
	})
}
