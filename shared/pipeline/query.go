package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
	"sealift/shared/signature"
)

// Querier answers what stands in the ledger. What the principal may not see is the same error as what doesn't exist.
type Querier struct {
	Ledger Ledger
	Store  Store
	// Seal is what receipts are signed by, of which only the public half is asked for.
	Seal Seal
}

// Status is a job and what its unfinished shards have durably written so far.
type Status struct {
	Job job.Job
	// RowsWritten is exact: the rows behind a committed checkpoint.
	RowsWritten int64
	// Waiting says what keeps the job from going on just now, when a unit waits to be tried again.
	Waiting *Waiting
	// Unread are the units whose records can't be read. What they have written is not in RowsWritten.
	Unread []Unread
}

// Waiting is the last failure of a unit that will be tried again, and when.
type Waiting struct {
	job.Failure

	Until time.Time
}

// Get reads one job.
func (q Querier) Get(ctx context.Context, who policy.Principal, id string) (Status, error) {
	j, err := visibleJob(ctx, q.Ledger, who, id)
	if err != nil {
		return Status{}, err
	}
	status := Status{Job: j, RowsWritten: j.Rows}
	if j.State.Terminal() {
		return status, nil
	}
	if j.State == job.StateRunning && !j.AllShardsDone() {
		return q.live(ctx, status)
	}
	unitID := job.PlanID
	if j.State != job.StateQueued {
		unitID = job.FinalizeID
	}
	unit, err := readUnit(ctx, q.Ledger, j.ID, unitID)
	if job.Unreadable(err) {
		status.Unread, err = []Unread{{Record: unitID, Err: err}}, nil
	}
	status.Waiting = waitingFor(unit, status.Waiting)
	return status, err
}

// live adds up what the shards have written so far; of a job with very many, what those that are done have.
func (q Querier) live(ctx context.Context, status Status) (Status, error) {
	j := status.Job
	if j.Shards > limits.LiveShardsMax {
		return status, nil
	}
	status.RowsWritten = 0
	from, to := job.ShardSpan()
	unread, err := eachReadable(ctx, q.Ledger, j.ID, from, to, func(unit job.Unit) error {
		if unit.PlanGeneration == j.PlanGeneration {
			status.RowsWritten += unit.Progress.Rows
			status.Waiting = waitingFor(unit, status.Waiting)
		}
		return nil
	})
	status.Unread = unread
	return status, err
}

// waitingFor keeps the wait that ends first.
func waitingFor(unit job.Unit, first *Waiting) *Waiting {
	if unit.State != job.UnitWaiting || unit.Failure.Code == "" || (first != nil && !unit.DueAt.Before(first.Until)) {
		return first
	}
	waiting := &Waiting{Failure: unit.Failure, Until: unit.DueAt}
	waiting.Unit = unit.ID
	return waiting
}

// visibleJob reads a job that the principal may see. One that can't be read is an error only for whom its row says that they may.
func visibleJob(ctx context.Context, ledger Ledger, who policy.Principal, id string) (job.Job, error) {
	if !job.ValidID(id) {
		return job.Job{}, errNoJob()
	}
	fields, err := ledger.Row(ctx, job.JobKey(id))
	if err != nil {
		return job.Job{}, err
	}
	j, err := job.DecodeJob(fields)
	if err != nil {
		tenant, _ := fields["tenant"].(string)
		applicant, _ := fields["applicant"].(string)
		j = job.Job{Tenant: tenant, Applicant: applicant}
	}
	if len(fields) == 0 || !policy.MaySee(who, j) {
		return job.Job{}, errNoJob()
	}
	return j, err
}

// Receipt reads the receipt of a job that has an artifact, with its signature.
func (q Querier) Receipt(ctx context.Context, who policy.Principal, id string) ([]byte, error) {
	j, err := visibleJob(ctx, q.Ledger, who, id)
	if err != nil {
		return nil, err
	}
	if err := deliverable(j); err != nil {
		return nil, err
	}
	object, ok, err := q.Store.Stat(ctx, j.Artifact.ReceiptKey)
	if err != nil {
		return nil, err
	}
	missing := &job.Error{Kind: job.Permanent, Code: "receipt_missing", Detail: "the receipt is not in the store; an operator has to look"}
	if !ok {
		return nil, lost(ctx, q.Ledger, who, id, missing)
	}
	text, err := q.Store.Read(ctx, Slice{Key: object.Key, ETag: object.ETag, To: object.Bytes})
	if isGone(err) {
		return nil, lost(ctx, q.Ledger, who, id, missing)
	}
	if err != nil {
		return nil, err
	}
	if digest := sha256.Sum256(text); hex.EncodeToString(digest[:]) != j.Artifact.ReceiptSHA256 {
		return nil, &job.Error{Kind: job.Permanent, Code: "receipt_changed", Detail: "the receipt in the store is not the one that was published; an operator has to look"}
	}
	return signedText(text, j.Artifact.ReceiptSignature), nil
}

// ReceiptKeys is the JWK Set that receipts are verified with.
func (q Querier) ReceiptKeys(ctx context.Context) ([]byte, error) {
	key, err := q.Seal.Key(ctx)
	if err != nil {
		return nil, err
	}
	return signature.Set{key}.Encode(), nil
}

// lost judges what isn't in the store of an export that was deliverable when it was read. The end of its delivery deletes
// its objects, so the job is read again: only while it can still be delivered is it damaged.
func lost(ctx context.Context, ledger Ledger, who policy.Principal, id string, damage error) error {
	j, err := visibleJob(ctx, ledger, who, id)
	if err != nil {
		return err
	}
	if err := deliverable(j); err != nil {
		return err
	}
	if err := timely(j, ledger.Now()); err != nil {
		return err
	}
	return damage
}

// isGone reports whether a store's error says that the object, or the version of it that was named, isn't there.
func isGone(err error) bool {
	code := job.CodeOf(err)
	return err != nil && (code == codeMissing || code == codeChanged)
}

// timely refuses an export whose time is over, which no sweep may have seen yet.
func timely(j job.Job, now time.Time) error {
	if now.Before(j.ExpiresAt) {
		return nil
	}
	return &job.Error{Kind: job.NotFound, Code: "export_expired", Detail: "the export's file has expired; ask for the export again"}
}

// deliverable reports why a job has nothing to deliver: not ready, ended without a file, expired or revoked.
func deliverable(j job.Job) error {
	switch j.State {
	case job.StateCompleted:
		return nil
	case job.StateExpired:
		if at := j.Revoked(); !at.IsZero() {
			return job.Errorf(job.NotFound, "export_revoked", "the export was revoked at %s and its file is no longer available; its events say by whom and why", at.UTC().Format(time.RFC3339))
		}
		return &job.Error{Kind: job.NotFound, Code: "export_expired", Detail: "the export's file has expired and is no longer available; ask for the export again"}
	case job.StateFailed, job.StateCancelled:
		return job.Errorf(job.Fenced, "export_without_file", "the export is %s and has no file", j.State)
	case job.StateQueued, job.StateRunning, job.StatePublishing:
		return job.Errorf(job.Fenced, "export_not_ready", "the export is %s; its file is ready when it is completed", j.State)
	}
	return job.Errorf(job.Permanent, "job_state", "the export has a state that this release doesn't know")
}
