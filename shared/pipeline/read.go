package pipeline

import (
	"context"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/snapshot"
)

// errNoJob is what a reader gets for a job that does not exist.
func errNoJob() error {
	return &job.Error{Kind: job.NotFound, Code: "job_not_found", Detail: "there is no such export"}
}

func errNoDefinition(name string) error {
	return job.Errorf(job.NotFound, "definition_not_found",
		"there is no definition %q, or not in that version; the listing of definitions names what there is", name)
}

func readJob(ctx context.Context, ledger Ledger, id string) (job.Job, error) {
	fields, err := ledger.Row(ctx, job.JobKey(id))
	if err != nil {
		return job.Job{}, err
	}
	if len(fields) == 0 {
		return job.Job{}, errNoJob()
	}
	return job.DecodeJob(fields)
}

func readUnit(ctx context.Context, ledger Ledger, jobID, unitID string) (job.Unit, error) {
	fields, err := ledger.Row(ctx, job.UnitKey(jobID, unitID))
	if err != nil {
		return job.Unit{}, err
	}
	if len(fields) == 0 {
		return job.Unit{}, job.Errorf(job.NotFound, "unit_not_found", "job %s has no unit %s", jobID, unitID)
	}
	return job.DecodeUnit(fields)
}

// Unread is a record that is there and that this release can't read, and why. Record is what names it to whoever asks: an
// export's identifier, a unit, a definition's name, an event's number.
type Unread struct {
	Record string
	Err    error
}

// eachUnit reads the rows of a span of units page by page, so that memory does not grow with their number. It ends at the
// first that can't be read.
func eachUnit(ctx context.Context, ledger Ledger, jobID, from, to string, visit func(job.Unit) error) error {
	return eachRow(ctx, ledger, jobID, from, to, func(fields job.Fields) error {
		unit, err := job.DecodeUnit(fields)
		if err != nil {
			return err
		}
		return visit(unit)
	})
}

// eachReadable is eachUnit for those whom one unit that can't be read keeps from no other: it visits those that can be, and
// returns the rest.
func eachReadable(ctx context.Context, ledger Ledger, jobID, from, to string, visit func(job.Unit) error) (unread []Unread, err error) {
	err = eachRow(ctx, ledger, jobID, from, to, func(fields job.Fields) error {
		unit, err := job.DecodeUnit(fields)
		switch {
		case job.Unreadable(err):
			_, id, _ := job.ParseRowKey(keyOf(fields))
			unread = append(unread, Unread{Record: id, Err: err})
			return nil
		case err != nil:
			return err
		}
		return visit(unit)
	})
	return unread, err
}

func eachRow(ctx context.Context, ledger Ledger, jobID, from, to string, visit func(job.Fields) error) error {
	span := Span{PK: job.JobKey(jobID).PK, From: from, To: to, Limit: limits.UnitPage}
	for {
		rows, err := ledger.Rows(ctx, span)
		if err != nil {
			return err
		}
		for _, fields := range rows {
			if err := visit(fields); err != nil {
				return err
			}
		}
		if len(rows) < span.Limit {
			return nil
		}
		span.After = keyOf(rows[len(rows)-1]).SK
	}
}

// keyOf is where a row is; every row that was read says so, whatever else of it can't be read.
func keyOf(fields job.Fields) job.RowKey {
	pk, _ := fields[job.FieldPK].(string)
	sk, _ := fields[job.FieldSK].(string)
	return job.RowKey{PK: pk, SK: sk}
}

// readDefinition reads one applied version; version 0 is the newest.
func readDefinition(ctx context.Context, ledger Ledger, name string, version int64) (job.DefinitionRecord, definition.Definition, error) {
	if !definition.ValidName(name) {
		// The ledger refuses keys beyond its length; no definition has such a name.
		return job.DefinitionRecord{}, definition.Definition{}, job.Errorf(job.NotFound, "definition_not_found",
			"there is no definition of that name; names are 1 to 64 of a-z, 0-9, - and _")
	}
	key := job.DefinitionKey(name, version)
	if version == 0 {
		key = job.DefinitionHeadKey(name)
	}
	fields, err := ledger.Row(ctx, key)
	if err != nil {
		return job.DefinitionRecord{}, definition.Definition{}, err
	}
	if len(fields) == 0 {
		return job.DefinitionRecord{}, definition.Definition{}, errNoDefinition(name)
	}
	return decodeDefinition(fields)
}

func decodeDefinition(fields job.Fields) (job.DefinitionRecord, definition.Definition, error) {
	record, err := job.DecodeDefinitionRecord(fields)
	if err != nil {
		return job.DefinitionRecord{}, definition.Definition{}, err
	}
	d, err := definition.Decode([]byte(record.Body))
	if err != nil {
		return job.DefinitionRecord{}, definition.Definition{}, job.Errorf(job.Permanent, "definition_unreadable",
			"definition %s version %d can't be read by this release: %w", record.Name, record.Version, err)
	}
	return record, d, nil
}

// frozen reads the snapshot of a job and the definition version that it is pinned to.
func frozen(ctx context.Context, ledger Ledger, j job.Job) (snapshot.Snapshot, definition.Definition, error) {
	snap, err := snapshot.Parse(j.Snapshot)
	if err != nil {
		return snapshot.Snapshot{}, definition.Definition{}, err
	}
	_, d, err := readDefinition(ctx, ledger, j.Definition, j.DefinitionVersion)
	if job.KindOf(err) == job.NotFound {
		err = job.Errorf(job.Permanent, "definition_lost", "definition %s version %d, to which the export is pinned, is gone; have it restored from the table's point-in-time recovery, or ask for the export again by the newest version", j.Definition, j.DefinitionVersion)
	}
	return snap, d, err
}
