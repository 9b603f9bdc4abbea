package sqldb

import (
	"context"
	"slices"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/source"
)

const (
	// walkRows is how many index entries a planner counts one by one: a set up to this size is planned exactly, a
	// larger one from statistics.
	walkRows = 1 << 16
	// walkRowsBlind replaces it for a relation that has neither statistics nor an index to sample.
	walkRowsBlind = 5_000_000
	// cutsMax bounds the places at which a plan considers to start a shard, cutKeyHolds how often the keys of these may take what
	// those between the shards may; both leave several for every shard.
	cutsMax     = 4 * limits.ShardsPerJobMax
	cutKeyHolds = 8
)

// cut is a real key at which a shard may start and the rows expected from it up to the next cut.
type cut struct {
	key  row.Key
	rows int64
}

// checkPlan fills in missing options and refuses impossible ones.
func checkPlan(q *row.Query, opt source.PlanOptions) (source.PlanOptions, error) {
	if err := validate(q); err != nil {
		return opt, err
	}
	if opt.ShardRows == 0 {
		opt.ShardRows = limits.ShardRows
	}
	if opt.ShardsMax == 0 {
		opt.ShardsMax = limits.ShardsPerJobMax
	}
	if opt.KeyBytes == 0 {
		opt.KeyBytes = limits.PlanKeyBytes
	}
	if opt.ShardRows < 0 || opt.ShardsMax < 0 || opt.ShardsMax > limits.ShardsPerJobMax || opt.KeyBytes < 0 {
		return opt, queryInvalid("a plan of table %s asks for %d rows a shard, at most %d shards and %d bytes of keys", q.Table, opt.ShardRows,
			opt.ShardsMax, opt.KeyBytes)
	}
	return opt, nil
}

// cutBytesMax is how much memory the keys of all cuts may take.
func cutBytesMax(opt source.PlanOptions) int { return cutKeyHolds * opt.KeyBytes }

// heldBytes is how much memory a key takes.
func heldBytes(key row.Key) int {
	const header = 16 // of a text
	held := 0
	for _, text := range key {
		held += len(text) + header
	}
	return held
}

// emptyPlan is the plan of a set without rows.
func emptyPlan() source.Plan {
	return source.Plan{Shards: []source.Shard{{}}}
}

// assemble merges neighbouring cuts into shards of about opt.ShardRows rows, larger where opt.ShardsMax asks for it.
// The cuts are in key order and the first is the set's first key, which the first shard leaves open.
func assemble(cuts []cut, opt source.PlanOptions) []source.Shard {
	var total int64
	for _, c := range cuts {
		total += c.rows
	}
	target := max(opt.ShardRows, (total+int64(opt.ShardsMax)-1)/int64(opt.ShardsMax))
	for {
		shards := group(cuts, target)
		if len(shards) <= opt.ShardsMax {
			return shards
		}
		target += target/8 + 1
	}
}

// group closes a shard where that brings its size nearest to target, and leaves no small rest behind the last.
func group(cuts []cut, target int64) []source.Shard {
	shards := []source.Shard{{}}
	for _, c := range cuts {
		open := &shards[len(shards)-1]
		if open.RowsEstimated > 0 && open.RowsEstimated+c.rows/2 >= target {
			open.Range.To = c.key
			shards = append(shards, source.Shard{Range: row.Range{From: c.key}})
			open = &shards[len(shards)-1]
		}
		open.RowsEstimated += c.rows
	}
	if n := len(shards); n > 1 && shards[n-1].RowsEstimated < target/4 {
		shards[n-2].RowsEstimated += shards[n-1].RowsEstimated
		shards[n-2].Range.To = nil
		shards = shards[:n-1]
	}
	return shards
}

// prober finds the first or last key of a scope, nil when it is empty.
type prober interface {
	keyAt(ctx context.Context, q *row.Query, s scope, last bool) (row.Key, error)
}

// finishPlan is the plan of cuts that hold about their rows, or an unknown number where known is false.
func finishPlan(ctx context.Context, p prober, q *row.Query, ceiling row.Key, cuts []cut, known bool, opt source.PlanOptions) (source.Plan, error) {
	var shards []source.Shard
	for fits := false; !fits; {
		all := assemble(cuts, opt)
		var err error
		if shards, fits, err = settle(ctx, p, q, all, opt.KeyBytes); err != nil {
			return source.Plan{}, err
		}
		// As many shards as their keys let there be, and fewer, since not all keys are of one length. Where the longest come first,
		// few have fitted and there is room for more: no step is wider than a half.
		opt.ShardsMax = max(1, len(shards)*3/4, len(all)/2)
	}
	plan := source.Plan{Ceiling: ceiling, Shards: shards}
	for i := range plan.Shards {
		if known {
			plan.RowsEstimated += plan.Shards[i].RowsEstimated
		} else {
			plan.Shards[i].RowsEstimated = -1
		}
	}
	if !known {
		plan.RowsEstimated = -1
	}
	return plan, nil
}

// settle makes every bound between shards a real key of the set, above the one before it in the database's own order,
// and merges shards where that can't be: whatever the cuts were taken from, the shards tile the key space. fits is false when
// their keys take more than they may; then kept are those that fit.
func settle(ctx context.Context, p prober, q *row.Query, shards []source.Shard, keyBytes int) (kept []source.Shard, fits bool, err error) {
	kept = shards[:1]
	for _, shard := range shards[1:] {
		last := &kept[len(kept)-1]
		from := shard.Range.From
		if len(from) < len(q.Key) {
			// A sampled index may hold only the first key columns.
			whole, err := p.keyAt(ctx, q, scope{lower: &keyBound{key: from}}, false)
			if err != nil {
				return nil, false, err
			}
			from = whole
		}
		above := scope{upper: &keyBound{key: from}}
		if last.Range.From != nil {
			above.lower = &keyBound{key: last.Range.From, strict: true}
		}
		var found row.Key
		if from != nil {
			if found, err = p.keyAt(ctx, q, above, true); err != nil {
				return nil, false, err
			}
		}
		if found == nil || !slices.Equal(found, from) {
			last.RowsEstimated += shard.RowsEstimated
			continue
		}
		if keyBytes -= job.KeyBytes(from); keyBytes < 0 {
			return kept, false, nil
		}
		last.Range.To = from
		shard.Range.From = from
		kept = append(kept, shard)
	}
	kept[len(kept)-1].Range.To = nil
	return kept, true, nil
}

// walk gathers cuts at even distances from keys that come one by one, without holding more than cutsMax of them or bytesMax of
// their keys.
type walk struct {
	step, rows      int64
	cuts            []cut
	bytes, bytesMax int
}

func newWalk(opt source.PlanOptions) *walk {
	return &walk{step: max(1, opt.ShardRows/8), bytesMax: cutBytesMax(opt)}
}

// next counts one row and reports whether its key is wanted.
func (w *walk) next() bool {
	w.rows++
	return (w.rows-1)%w.step == 0
}

// take adds the key that next wanted.
func (w *walk) take(key row.Key) {
	w.cuts = append(w.cuts, cut{key: key})
	w.bytes += heldBytes(key)
	for len(w.cuts) > 1 && (len(w.cuts) > cutsMax || w.bytes > w.bytesMax) {
		w.halve()
	}
}

// halve keeps every other cut.
func (w *walk) halve() {
	kept := w.cuts[:0]
	w.bytes = 0
	for i := 0; i < len(w.cuts); i += 2 {
		kept = append(kept, w.cuts[i])
		w.bytes += heldBytes(w.cuts[i].key)
	}
	clear(w.cuts[len(kept):])
	w.cuts = kept
	w.step *= 2
}

// finish gives every cut its rows.
func (w *walk) finish() []cut {
	for i := range w.cuts {
		w.cuts[i].rows = min(w.step, w.rows-int64(i)*w.step)
	}
	return w.cuts
}

// timeLeads reports whether the business time is the key's first column, so that an index on the key serves its bounds.
func timeLeads(q *row.Query) bool {
	return q.TimeColumn.Source == q.Key[0].Source && q.TimeColumn.Kind == q.Key[0].Kind
}

// planScope is the part of the set that index pages alone can tell: filters need the rows themselves, and so does a
// business time that doesn't lead the key. What it leaves out makes the planned set larger, never smaller.
func planScope(q *row.Query) scope { return scope{times: timeLeads(q)} }

// estimable reports whether planScope covers the whole condition, so that counts of it are counts of the set.
func estimable(q *row.Query) bool {
	return len(q.Filters) == 0 && (timeLeads(q) || q.Since == "" && q.Until == "")
}
