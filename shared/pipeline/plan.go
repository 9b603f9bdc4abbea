package pipeline

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"sealift/shared/definition"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/snapshot"
	"sealift/shared/source"
)

// Planner splits a job into shards, once.
type Planner struct {
	Worker

	Sources Sources
}

// Plan runs a job's plan unit: ask the source for ranges, stage a unit for each, commit them with the job's move to
// running, then wake them. A redelivered message whose plan is committed wakes the shards that nobody has begun.
func (p Planner) Plan(ctx context.Context, pointer job.Pointer) error {
	return p.Run(ctx, pointer, isUnit(job.PlanID), p.work)
}

func (p Planner) work(ctx context.Context, j job.Job, held *Held) error {
	snap, d, err := frozen(ctx, p.Ledger, j)
	if err != nil {
		return err
	}
	query, err := snap.Query(d, nil)
	if err != nil {
		return err
	}
	from, err := p.Sources.Open(ctx, d.Source.Connection)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if err := from.Check(ctx, query); err != nil {
		return err
	}
	identity, err := from.Identity(ctx, query)
	if err != nil {
		return err
	}
	plan, err := from.Plan(ctx, query, source.PlanOptions{ShardRows: shardRows(snap, d), ShardsMax: limits.ShardsPerJobMax, KeyBytes: limits.PlanKeyBytes})
	if err != nil {
		return err
	}
	if err := sameSource(ctx, from, query, identity); err != nil {
		return err
	}
	if err := checkTiling(plan.Shards); err != nil {
		return err
	}
	if err := checkKeys(plan); err != nil {
		return err
	}
	if spec := FileSpec(snap, len(query.Key)); snap.Layout != snapshot.LayoutFiles && !format.FooterFits(spec, plan.RowsEstimated, len(plan.Shards)) {
		return job.Errorf(job.Permanent, "footer_too_large", "by the database's statistics there are about %d rows; in %d shards with %d columns they are more than the "+
			"footer of one %s file takes: ask for the layout files, fewer columns or a shorter span, or have the statistics renewed (ANALYZE) if there are fewer rows", plan.RowsEstimated, len(plan.Shards), len(spec.Columns), spec.Format)
	}
	unit := held.Unit()
	if err := p.stage(ctx, j, unit, plan); err != nil {
		return err
	}
	change, err := j.Plan(unit, job.Planned{
		Shards: int64(len(plan.Shards)), RowsEstimated: plan.RowsEstimated, Ceiling: plan.Ceiling, SourceIdentity: identity,
	}, job.Act{Actor: job.System, Now: p.Ledger.Now()})
	if err != nil {
		return err
	}
	if err := p.Ledger.Apply(ctx, change); err != nil {
		return err
	}
	j.PlanGeneration = unit.Generation
	return wakeShards(context.WithoutCancel(ctx), p.Ledger, p.Queue, j)
}

// shardRows is how many rows a shard should have. In one workbook the shards are its worksheets: fewer are better than
// many. In many workbooks a shard is one of them, with one worksheet.
func shardRows(snap snapshot.Snapshot, d definition.Definition) int64 {
	switch {
	case format.Name(snap.Format.Type) != format.XLSX:
		return d.Limits.ShardRows
	case snap.Layout == snapshot.LayoutFiles:
		return min(d.Limits.ShardRows, limits.SheetShardRows)
	}
	return limits.SheetShardRows
}

// sameSource refuses to go on when the table or a column of it is not the very thing any more that was planned: a job
// never mixes two sources.
func sameSource(ctx context.Context, from source.Source, query row.Query, planned string) error {
	identity, err := from.Identity(ctx, query)
	if err != nil {
		return err
	}
	if planned != "" && !source.Same(planned, identity) {
		return source.Replaced(query.Table)
	}
	return nil
}

func rowsMaxExceeded(about string, rows, most int64) error {
	return job.Errorf(job.Permanent, "rows_max_exceeded", "the export has %s%d rows; the definition allows %d: ask for a shorter span or more filters", about, rows, most)
}

// stage writes the shards' units, many at a time. A newer plan's are left alone: then the commit that follows is
// refused too.
func (p Planner) stage(ctx context.Context, j job.Job, unit job.Unit, plan source.Plan) error {
	units := make([]job.Unit, len(plan.Shards))
	for i, shard := range plan.Shards {
		units[i] = job.Unit{
			Job: j.ID, ID: job.ShardID(i + 1), Tenant: j.Tenant, Lane: j.Lane, State: job.UnitPending,
			PlanGeneration: unit.Generation, Range: shard.Range, RowsEstimated: shard.RowsEstimated,
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limits.StageParallel)
	for some := range slices.Chunk(units, limits.StagePerWrite) {
		group.Go(func() error { return p.Ledger.Apply(ctx, job.StageAll(some, p.Ledger.Now())) })
	}
	return group.Wait()
}

// checkKeys refuses keys that the ledger would change or has no room for, and more of them than a planner may hold and a receipt
// list; a source that gives these has a bug.
func checkKeys(plan source.Plan) error {
	if err := storable(plan.Ceiling); err != nil {
		return err
	}
	size := 0
	for _, shard := range plan.Shards {
		if err := storable(shard.Range.From); err != nil {
			return err
		}
		if shard.Range.From != nil {
			size += job.KeyBytes(shard.Range.From)
		}
	}
	if size > limits.PlanKeyBytes {
		return job.Errorf(job.Permanent, "plan_malformed", "the keys between the %d shards that the source planned take %d bytes, and %d are allowed; "+
			"report it, and until it is mended choose shorter key columns or a larger shard_rows", len(plan.Shards), size, limits.PlanKeyBytes)
	}
	return nil
}

func storable(key row.Key) error {
	if size := job.KeyBytes(key); size > limits.KeyBytesMax {
		return job.Errorf(job.Permanent, "key_too_long", "a row's key takes %d bytes where it is stored, escapes included (it begins with %q); "+
			"at most %d are allowed: choose other key columns, or shorten this one in a view", size, job.Clip(key.String()), limits.KeyBytesMax)
	}
	if key.Storable() {
		return nil
	}
	return job.Errorf(job.Permanent, "key_invalid_utf8",
		"a key column holds bytes that are not UTF-8 (near %s); a key must be text that can be written down exactly: mend the rows or choose another key", job.Clip(key.String()))
}

// checkTiling refuses a plan that would lose or double keys; a source that gives one has a bug.
func checkTiling(shards []source.Shard) error {
	if len(shards) == 0 || len(shards) > limits.ShardsPerJobMax {
		return job.Errorf(job.Permanent, "plan_malformed", "the source planned %d shards; 1 to %d are allowed; %s", len(shards), limits.ShardsPerJobMax, serviceFault)
	}
	var end row.Key
	for i, shard := range shards {
		if (i == 0) != (shard.Range.From == nil) || !slices.Equal(end, shard.Range.From) {
			return job.Errorf(job.Permanent, "plan_malformed", "shard %d does not begin where the one before it ends; %s", i+1, serviceFault)
		}
		end = shard.Range.To
		if (i == len(shards)-1) != (end == nil) {
			return job.Errorf(job.Permanent, "plan_malformed", "shard %d of %d ends where only the last one may; %s", i+1, len(shards), serviceFault)
		}
	}
	return nil
}
