package pipeline

import (
	"context"

	"sealift/shared/format"
	"sealift/shared/format/xlsx"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/snapshot"
)

// Processor writes shards.
type Processor struct {
	Worker

	Sources Sources
	Store   Store
	Keys    Keys
	// Cut says where parts end; the zero value stands for the bounds in limits.
	Cut format.Cut
	// Memory keeps buffers from shard to shard; nil makes them anew.
	Memory *Memory
}

// Keys names what is stored; the one implementation owns every path.
type Keys interface {
	// Staging is the key of a shard's object made by one generation.
	Staging(tenant, jobID, unitID string, generation int64) string
	// Artifact and Receipt are the keys of one publication; random makes them unguessable.
	Artifact(tenant, jobID string, generation int64, random, fileName string) string
	Receipt(tenant, jobID string, generation int64, random string) string
	// File is the key of one of many files beside the artifact's, which is then their manifest.
	File(artifactKey string, number int, extension string) string
	// Beside tells whether two keys belong to the files of one publication.
	Beside(a, b string) bool
	// Prefixes are those below which everything of a job is stored: staging, artifacts, receipts.
	Prefixes(tenant, jobID string) []string
	// Roots are the prefixes below which everything of every job is stored.
	Roots() []string
	// JobOf tells which job a key belongs to; ok is false for a foreign key.
	JobOf(key string) (jobID string, ok bool)
}

// Process runs a shard's unit: read, encode, upload, commit, part by part; then complete the shard's object and count it
// into the job, and wake finalize after the last one.
func (p Processor) Process(ctx context.Context, pointer job.Pointer) error {
	return p.Run(ctx, pointer, isShard, p.work)
}

func (p Processor) work(ctx context.Context, j job.Job, held *Held) error {
	snap, d, err := frozen(ctx, p.Ledger, j)
	if err != nil {
		return err
	}
	query, err := snap.Query(d, j.Ceiling)
	if err != nil {
		return err
	}
	number, ok := job.ShardNumber(held.Unit().ID)
	if !ok {
		return job.Errorf(job.Permanent, "unit_unknown", "unit %s is not a shard", held.Unit().ID)
	}
	s := &shard{
		Processor: p, job: j, held: held, query: query, masks: maskOf(snap),
		spec: FileSpec(snap, len(query.Key)), number: number, first: number == 1 || snap.Layout == snapshot.LayoutFiles,
	}
	object, err := s.write(ctx, d.Source.Connection)
	if err != nil {
		return err
	}
	return p.finish(ctx, j, held.Unit(), object)
}

// finish commits the shard and wakes finalize if it was the last.
func (p Processor) finish(ctx context.Context, j job.Job, unit job.Unit, object job.StagedObject) error {
	err := p.Ledger.Apply(ctx, j.FinishShard(unit, object, p.Ledger.Now()))
	if err != nil {
		return err
	}
	// From here on the shard is done whatever happens; only the message may be lost, and that is made up for.
	ctx = context.WithoutCancel(ctx)
	fresh, err := readJob(ctx, p.Ledger, j.ID)
	if err != nil {
		return err
	}
	if fresh.State != job.StateRunning || !fresh.AllShardsDone() {
		return nil
	}
	return p.Queue.Send(ctx, j.Line(), job.Pointer{Job: j.ID, Unit: job.FinalizeID}, 0)
}

// FileSpec says how the snapshot's file is written. A snapshot from a receipt may say anything; what is wrong with it is a
// fault that Validate names.
func FileSpec(s snapshot.Snapshot, keys int) format.Spec {
	spec := format.Spec{
		Format: format.Name(s.Format.Type), Compression: format.Compression(s.Format.Compression), Keys: keys,
		Guard: s.Format.Guard, InvalidUTF8: format.InvalidRule(s.Format.InvalidUTF8), Zone: s.Zone,
	}
	switch spec.Format {
	case format.CSV:
		spec.CSV = s.Format.CSV()
	case format.XLSX:
		spec.XLSX.LongText = xlsx.LongRule(s.Format.LongText)
		for _, column := range s.Columns {
			spec.XLSX.Widths = append(spec.XLSX.Widths, float64(column.Width))
			spec.XLSX.AsText = append(spec.XLSX.AsText, column.AsText)
		}
	case format.JSONL, format.Parquet:
	}
	for _, column := range s.Columns {
		typed := rowColumn(column)
		if column.Scale != nil {
			typed.Scale = *column.Scale
		}
		spec.Columns = append(spec.Columns, typed)
	}
	return spec
}

// alive asks whether the job still wants the work. It is asked before every batch, so a cancel stops the reading within
// one.
func (p Processor) alive(ctx context.Context, jobID string) error {
	fields, err := p.Ledger.Row(ctx, job.JobKey(jobID), job.LifeFields()...)
	if err != nil {
		return err
	}
	if len(fields) == 0 {
		return errNoJob()
	}
	life, err := job.DecodeLife(fields)
	if err != nil {
		return err
	}
	if life.State != job.StateRunning {
		return job.Errorf(job.Cancelled, "job_over", "the export is %s", life.State)
	}
	if life.RowsMax > 0 && life.Rows > life.RowsMax {
		return rowsMaxExceeded("more than ", life.Rows, life.RowsMax)
	}
	return nil
}

// partLimit refuses a part that the unit's row or the store could not hold.
func partLimit(progress job.Progress, number int64) error {
	if progress.PartCount < limits.PartsPerShardMax && number <= limits.StorePartsMax {
		return nil
	}
	return job.Errorf(job.Permanent, "shard_too_large",
		"the shard needs more than %d parts; lower limits.shard_rows in the definition, apply it and ask for the export again", limits.PartsPerShardMax)
}
