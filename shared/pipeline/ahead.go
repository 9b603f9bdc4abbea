package pipeline

import (
	"context"

	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

// ahead reads a shard's range batch by batch, one ahead of the writer, so that the database and the encoder work at the
// same time. Batches come in order and each is the writer's until it gives it back.
type ahead struct {
	shard *shard
	from  source.Source

	filled chan batch
	spare  chan *row.Batch
}

// batch is one read: rows, or the error that ended the reading. Neither rows nor error means that the range holds no
// more.
type batch struct {
	rows *row.Batch
	err  error
}

func readAhead(s *shard, from source.Source) *ahead {
	a := &ahead{shard: s, from: from, filled: make(chan batch), spare: make(chan *row.Batch, limits.BatchesAhead)}
	for range limits.BatchesAhead {
		a.spare <- s.Memory.batch()
	}
	return a
}

// run reads from the cursor on until the range's end, an error or the context's end, with which it ends by itself. An
// error of the source goes the way of the rows, so that what was read before it is written; that nobody wants the rows any
// more is run's own error and stops the writer at once.
func (a *ahead) run(ctx context.Context, cursor row.Key) error {
	for {
		var into *row.Batch
		select {
		case into = <-a.spare:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := a.shard.alive(ctx, a.shard.job.ID); err != nil {
			return err
		}
		next := batch{err: a.read(ctx, cursor, into)}
		if rows := into.Rows(); next.err == nil && rows > 0 {
			next.rows, cursor = into, into.Key(rows-1, a.shard.spec.Keys)
		} else {
			a.done(into)
		}
		select {
		case a.filled <- next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if next.rows == nil {
			return nil
		}
	}
}

// read fills one batch with what is behind the cursor.
func (a *ahead) read(ctx context.Context, cursor row.Key, into *row.Batch) error {
	s := a.shard
	width := len(s.query.Columns) + len(s.query.Key)
	into.Reset(width)
	if s.query.Ceiling == nil {
		// The set was empty when it was frozen; what has arrived since is not part of it.
		return nil
	}
	limit := source.Limit{Rows: min(limits.BatchRows, max(1, limits.BatchValues/width)), Bytes: limits.BatchBytes}
	if err := a.from.Read(ctx, s.query, s.held.Unit().Range, cursor, limit, into); err != nil {
		return err
	}
	if into.Rows() > 0 {
		return nil
	}
	// Asked again at the end: what was replaced while it was read is no better.
	return sameSource(ctx, a.from, s.query, s.job.SourceIdentity)
}

// next waits for the next batch; nil is the range's end.
func (a *ahead) next(ctx context.Context) (*row.Batch, error) {
	select {
	case got := <-a.filled:
		return got.rows, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// done gives a batch back.
func (a *ahead) done(b *row.Batch) { a.spare <- b }

// keep leaves the batches to the next shard, when both sides have ended.
func (a *ahead) keep() {
	for {
		select {
		case b := <-a.spare:
			a.shard.Memory.keepBatch(b)
		default:
			return
		}
	}
}
