package parquet_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/limits"
	"sealift/shared/row"
)

func TestEveryPartIsAFileByItself(t *testing.T) {
	t.Parallel()
	config, rows := orders(parquet.Zstd), table(2, 500)
	parts := write(t, config, part.Options{First: true, Cut: small()}, rows)
	if len(parts) < 5 {
		t.Fatalf("only %d parts", len(parts))
	}
	for _, p := range parts {
		// The joiner's footer behind one part says the same as the part's own.
		file, hash := join(t, config, []part.Part{p})
		got, gotHash, err := read(file, config)
		if err != nil || hash != gotHash {
			t.Fatalf("part %d: hash %x, want %x, %v", p.Index, gotHash, hash, err)
		}
		if diff := cmp.Diff(rows[:p.Rows], got); diff != "" {
			t.Fatalf("part %d: written (-) and read (+) rows differ:\n%.1000s", p.Index, diff)
		}
		rows = rows[p.Rows:]
	}
}

func TestRowGroupsEndByRowsByBytesAndByWhatIsStored(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("0123456789abcdef"), 4<<20/16)
	many := func(n int, text string) [][]string {
		rows := make([][]string, n)
		for i := range rows {
			rows[i] = []string{text}
		}
		return rows
	}
	cases := []struct {
		name  string
		codec parquet.Codec
		cut   part.Cut
		rows  [][]string
		want  []int64
	}{
		{"by rows", parquet.Zstd, part.Cut{GroupRows: 100}, many(250, "x"), []int64{100, 100, 50}},
		{"by bytes", parquet.Zstd, part.Cut{}, many(20, string(large)), []int64{8, 8, 4}},
		{"by what is stored", parquet.Uncompressed, part.Cut{PartBytes: 10 << 20, BlockBytes: 1}, many(7, string(large)), []int64{3, 3, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := one(row.Column{Kind: row.String})
			config.Codec = c.codec
			file, _ := export(t, config, c.cut, c.rows)
			got, offsets, err := parquet.Groups(config, file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), row groups have (+) rows:\n%s", diff)
			}
			if offsets[0] != 4 {
				t.Errorf("the first row group begins at %d, want behind the magic", offsets[0])
			}
		})
	}
}

func TestPiecesMayBeAddedInAnyOrderAndAtOnce(t *testing.T) {
	t.Parallel()
	config := orders(parquet.Zstd)
	var pieces []part.Piece
	offset := int64(0)
	for i := range 20 {
		pieces = append(pieces, pieceOf(i+1, offset, write(t, config, part.Options{First: i == 0, Cut: small()}, table(uint64(i), i*10))))
		offset += pieces[i].Bytes
	}
	suffix := func(add func(j *parquet.Joiner)) []byte {
		j := parquet.NewJoiner(config)
		add(j)
		out, err := j.Suffix()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := suffix(func(j *parquet.Joiner) {
		for _, p := range pieces {
			if err := j.Add(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	})
	got := suffix(func(j *parquet.Joiner) {
		group, ctx := errgroup.WithContext(t.Context())
		for i := range pieces {
			group.Go(func() error { return j.Add(ctx, pieces[len(pieces)-1-i]) })
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	})
	if !bytes.Equal(want, got) {
		t.Error("the footer depends on the order")
	}
}

func TestAFooterLargerThanTheFirstReadIsReadWhole(t *testing.T) {
	t.Parallel()
	config, rows := orders(parquet.Zstd), table(8, 300)
	cut := part.Cut{GroupRows: 1}
	file, _ := export(t, config, cut, rows)
	got, _, err := read(file, config)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("written (-) and read (+) rows differ:\n%.1000s", diff)
	}
}

func TestAPartThatIsntAsItWasCommittedIsRefused(t *testing.T) {
	t.Parallel()
	config := orders(parquet.Zstd)
	parts := write(t, config, part.Options{First: true}, table(1, 30))
	foreign := orders(parquet.Zstd)
	foreign.Columns[3].Scale = 3
	lost := errors.New("the store is away")
	cases := []struct {
		name   string
		config parquet.Config
		change func(p *part.Piece)
		text   string
	}{
		{"other columns", foreign, func(*part.Piece) {}, "part 1 of shard 1"},
		{"fewer rows", config, func(p *part.Piece) { p.Rows++ }, "hold 30 rows, and it counted 31"},
		{"another end", config, func(p *part.Piece) { p.Parts[0]-- }, "doesn't end with a parquet footer"},
		{"too short", config, func(p *part.Piece) { p.Parts[0] = 3 }, "doesn't end with a parquet footer"},
		{"a changed footer", config, func(p *part.Piece) {
			inner := p.Read
			p.Read = func(ctx context.Context, from, to int64) ([]byte, error) {
				data, err := inner(ctx, from, to)
				for i := range data[:len(data)-400] {
					data[i] = 0xff
				}
				return data, err
			}
		}, "part 1 of shard 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := pieceOf(1, 0, parts)
			c.change(&p)
			wantError(t, parquet.NewJoiner(c.config).Add(t.Context(), p), "part_damaged", c.text)
		})
	}
	p := pieceOf(1, 0, parts)
	p.Read = func(context.Context, int64, int64) ([]byte, error) { return nil, lost }
	if err := parquet.NewJoiner(config).Add(t.Context(), p); !errors.Is(err, lost) {
		t.Errorf("a failed read is %v", err)
	}
}

func TestTenThousandShardsJoinInLittleMemoryAndTooManyGroupsAreRefused(t *testing.T) {
	// Not parallel: it looks at the memory of the whole process.
	config := orders(parquet.Zstd)
	parts := write(t, config, part.Options{Cut: part.Cut{GroupRows: 20}}, table(1, 40))
	// The largest file that fits, and more.
	for _, c := range []struct {
		shards int
		code   string
	}{{10_000, ""}, {20_000, "footer_too_large"}} {
		j := parquet.NewJoiner(config)
		p := pieceOf(1, 1<<40, parts)
		before := heapBytes()
		var err error
		for i := 0; i < c.shards && err == nil; i++ {
			p.Number = i + 1
			err = j.Add(t.Context(), p)
			p.Offset += p.Bytes
		}
		if c.code != "" {
			wantError(t, err, c.code, "24 MiB", "fewer columns or rows", "csv")
			continue
		}
		suffix, err := j.Suffix()
		if err != nil {
			t.Fatal(err)
		}
		if after := heapBytes(); len(suffix) > limits.FooterBytesMax || after-before > 2*limits.FooterBytesMax {
			t.Errorf("%d shards: a footer of %d bytes takes %d MiB", c.shards, len(suffix), (after-before)>>20)
		}
		runtime.KeepAlive(j)
	}
}
