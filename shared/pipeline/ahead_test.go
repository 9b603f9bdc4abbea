package pipeline

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

// wide is a source of single-valued batches and a ledger with one running job, whose batches are counted.
type wide struct {
	source.Source
	Ledger

	batches, reads int
	fails          error
	limit          source.Limit
	job            job.State
}

func (w *wide) Read(_ context.Context, q row.Query, _ row.Range, _ row.Key, limit source.Limit, b *row.Batch) error {
	w.limit = limit
	w.reads++
	if w.reads > w.batches {
		return w.fails
	}
	for range len(q.Columns) + len(q.Key) {
		b.AppendString("1")
	}
	return nil
}

func (w *wide) Identity(context.Context, row.Query) (string, error) { return "", nil }

func (w *wide) Row(context.Context, job.RowKey, ...string) (job.Fields, error) {
	return job.Fields{"schema": int64(job.Schema), "job": "1", "state": string(w.job)}, nil
}

// readWide takes batches until one fails the reader or the range ends.
func readWide(t *testing.T, w *wide, columns int, memory *Memory) (rows int, err error) {
	t.Helper()
	query := row.Query{Columns: make([]row.Column, columns), Key: make([]row.Column, 1), Ceiling: row.Key{"9"}}
	s := &shard{Processor: Processor{Worker: Worker{Ledger: w}, Memory: memory}, held: &Held{}, query: query}
	s.spec.Keys = 1
	a := readAhead(s, w)
	group, ctx := errgroup.WithContext(t.Context())
	group.Go(func() error { return a.run(ctx, nil) })
	group.Go(func() error {
		for {
			b, err := a.next(ctx)
			if b == nil {
				return err
			}
			rows += b.Rows()
			a.done(b)
		}
	})
	err = group.Wait()
	a.keep()
	return rows, err
}

func TestABatchIsReadAheadAndTheMemoryKeepsBoth(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	for name, c := range map[string]struct {
		batches int
		fails   error
	}{"empty": {}, "one batch": {batches: 1}, "many": {batches: 9}, "fails at once": {fails: lost}, "fails late": {batches: 4, fails: lost}} {
		memory := NewMemory()
		rows, err := readWide(t, &wide{batches: c.batches, fails: c.fails, job: job.StateRunning}, 3, memory)
		if rows != c.batches || !errors.Is(err, c.fails) {
			t.Errorf("%s: %d rows and %v, want %d and %v", name, rows, err, c.batches, c.fails)
		}
		if kept := len(memory.batches); kept != limits.BatchesAhead {
			t.Errorf("%s: the memory keeps %d batches, want %d", name, kept, limits.BatchesAhead)
		}
	}
}

func TestACancelStopsTheReadingBeforeItsNextBatch(t *testing.T) {
	t.Parallel()
	w := &wide{batches: 9, job: job.StateCancelled}
	if rows, err := readWide(t, w, 3, nil); rows != 0 || w.reads != 0 || job.KindOf(err) != job.Cancelled {
		t.Errorf("%d rows in %d reads and %v, want none and cancelled", rows, w.reads, err)
	}
}

func TestABatchOfAWideTableHasFewerRows(t *testing.T) {
	t.Parallel()
	for columns, most := range map[int]int{1: limits.BatchRows, limits.ColumnsMax: 1023} {
		w := &wide{batches: 1, job: job.StateRunning}
		if _, err := readWide(t, w, columns, nil); err != nil || w.limit.Rows != most || w.limit.Bytes != limits.BatchBytes {
			t.Errorf("%d columns are read %d rows at a time (%v), want %d", columns, w.limit.Rows, err, most)
		}
	}
}
