package parquet

import (
	"context"
	"slices"
	"sync"

	"sealift/shared/format/part"
	"sealift/shared/job"
	"sealift/shared/limits"
)

// Joiner is the part.Joiner of Parquet: it reads the footers at the ends of the parts and makes one of them. It keeps
// encoded row groups only, so its memory is what it returns, at most limits.FooterBytesMax, twice while it is put
// together.
type Joiner struct {
	schema *schema

	mu     sync.Mutex
	joined []joined
	bytes  int
}

// joined are the row groups of a piece with their places in the file.
type joined struct {
	number int
	rows   int64
	count  int
	groups []byte
}

// NewJoiner returns what computes the footer of a file that config describes.
func NewJoiner(config Config) *Joiner {
	return &Joiner{schema: newSchema(config)}
}

// tailBytes is how much of a part's end is read at first; most footers are smaller.
const tailBytes = 64 << 10

// Add is that of part.Joiner. Its errors are Permanent: footer_too_large when there are too many row groups, and
// part_damaged when a part doesn't end as this version writes it.
func (j *Joiner) Add(ctx context.Context, piece part.Piece) error {
	p := joined{number: piece.Number}
	var buf []byte
	from := int64(0)
	for i, size := range piece.Parts {
		footer, err := readFooterOf(ctx, piece, from, from+size)
		if err != nil {
			return err
		}
		out, rows, count, err := j.schema.shift(buf, footer, piece.Offset+from)
		if err != nil {
			return job.Errorf(job.Permanent, codeDamaged, "part %d of shard %d: %w", i+1, piece.Number, err)
		}
		if buf = out; len(buf) > limits.FooterBytesMax {
			return footerTooLarge()
		}
		p.rows += rows
		p.count += count
		from += size
	}
	if p.rows != piece.Rows {
		return job.Errorf(job.Permanent, codeDamaged, "the parts of shard %d hold %d rows, and it counted %d", piece.Number, p.rows, piece.Rows)
	}
	p.groups = slices.Clip(slices.Clone(buf))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.joined = append(j.joined, p)
	if j.bytes += len(p.groups); j.bytes > limits.FooterBytesMax-len(j.schema.head)-len(j.schema.tail) {
		return footerTooLarge()
	}
	return nil
}

// codeDamaged is the code of a part whose end can't be read.
const codeDamaged = "part_damaged"

func footerTooLarge() error {
	return job.Errorf(job.Permanent, "footer_too_large", "the file has too many row groups and columns for one parquet footer of at most %d MiB; "+
		"export fewer columns or rows in one file, or choose csv or jsonl", limits.FooterBytesMax>>20)
}

// readFooterOf returns the footer of the part that is bytes [from, to) of the piece.
func readFooterOf(ctx context.Context, piece part.Piece, from, to int64) ([]byte, error) {
	end, err := piece.Read(ctx, max(from, to-tailBytes), to)
	if err != nil {
		return nil, err
	}
	n, ok := footerLength(end)
	if !ok || n > limits.FooterBytesMax || n > to-from-int64(endBytes) {
		return nil, job.Errorf(job.Permanent, codeDamaged, "shard %d doesn't end with a parquet footer at byte %d", piece.Number, to)
	}
	if n <= int64(len(end)-endBytes) {
		return end[int64(len(end)-endBytes)-n : len(end)-endBytes], nil
	}
	return piece.Read(ctx, to-int64(endBytes)-n, to-int64(endBytes))
}

// shift appends the row groups of a footer with their offsets moved by so many bytes.
func (s *schema) shift(dst, footer []byte, by int64) (out []byte, rows int64, count int, err error) {
	r, rows, count, err := s.readFooter(footer)
	if err != nil {
		return dst, 0, 0, err
	}
	for range count {
		g := s.readGroup(r)
		if r.err != nil {
			return dst, 0, 0, r.err
		}
		g.offset += by
		dst = s.appendGroup(dst, g)
	}
	if string(r.buf) != string(s.tail) {
		return dst, 0, 0, errForeign
	}
	return dst, rows, count, nil
}

// Suffix is that of part.Joiner: the footer of the file.
func (j *Joiner) Suffix() ([]byte, error) {
	slices.SortFunc(j.joined, func(a, b joined) int { return a.number - b.number })
	rows, count := int64(0), 0
	groups := make([][]byte, len(j.joined))
	for i, p := range j.joined {
		rows += p.rows
		count += p.count
		groups[i] = p.groups
	}
	size := len(j.schema.head) + j.bytes + len(j.schema.tail) + suffixRoom
	return j.schema.appendFooter(make([]byte, 0, size), rows, count, groups...), nil
}

// suffixRoom is for the numbers in a footer and what follows it.
const suffixRoom = 64
