package xlsx

import (
	"context"
	"slices"
	"sync"

	"sealift/shared/format/part"
	"sealift/shared/job"
	"sealift/shared/limits"
)

// Joiner is the part.Joiner of workbooks: the list of the worksheets and the directory of the container, which follow
// from the fragments alone.
type Joiner struct {
	config Config

	mu     sync.Mutex
	pieces []piece
}

type piece struct {
	number int
	end    int64
	sheets []entry
}

// NewJoiner returns what computes the end of a file as config describes it.
func NewJoiner(config Config) *Joiner { return &Joiner{config: config} }

// Add is that of part.Joiner. Its error is Permanent: the fragment and the counts of the piece disagree.
func (j *Joiner) Add(_ context.Context, p part.Piece) error {
	f, err := decodeFragment(p.Fragment)
	if err != nil {
		return err
	}
	taken := piece{number: p.Number, end: p.Offset + p.Bytes}
	var rows int64
	for i, s := range f.Done {
		rows += s.Rows
		taken.sheets = append(taken.sheets, s.entry(p.Number, i+1, p.Offset, j.config.Bounds.orReal()))
	}
	if f.Open != nil || rows != p.Rows || f.At != p.Bytes {
		return job.Errorf(job.Permanent, "fragment_invalid", "shard %d has %d rows in %d bytes, and worksheets of %d rows that end at byte %d",
			p.Number, p.Rows, p.Bytes, rows, f.At)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pieces = append(j.pieces, taken)
	return nil
}

// Suffix is that of part.Joiner.
func (j *Joiner) Suffix() ([]byte, error) {
	slices.SortFunc(j.pieces, func(a, b piece) int { return a.number - b.number })
	var sheets []entry
	var end int64
	for _, p := range j.pieces {
		sheets = append(sheets, p.sheets...)
		end = max(end, p.end)
	}
	suffix := j.config.suffix(sheets, end)
	if len(suffix) > limits.FooterBytesMax {
		return nil, job.Errorf(job.Permanent, "footer_too_large", "the list of %d worksheets takes more than %d MiB; "+
			"choose more rows per shard in the definition", len(sheets), limits.FooterBytesMax>>20)
	}
	return suffix, nil
}
