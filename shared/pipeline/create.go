package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"sealift/shared/audit"
	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
	"sealift/shared/snapshot"
)

// Creator turns requests into jobs.
type Creator struct {
	Ledger Ledger
	Queue  Queue
	NewID  func() string
}

// Ask is one request with what its transport says about it.
type Ask struct {
	Who     policy.Principal
	Request snapshot.Request
	// Key is the Idempotency-Key as given; empty derives one.
	Key string
	// Faults are those that are known already, of the key and of the request's shape. An ask that has any is refused with all
	// that is wrong with it beside.
	Faults snapshot.Faults
}

// Answer is the job that an ask led to. Replayed means that it was there already.
type Answer struct {
	Job      job.Job
	Replayed bool
}

// Validate does everything of Create but the writing: the snapshot that would be frozen, or the refusal.
func (c Creator) Validate(ctx context.Context, ask Ask) (snapshot.Snapshot, error) {
	record, d, err := c.permitted(ctx, ask)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	return c.freeze(ask, record, d)
}

// Create checks the ask, freezes it and makes the job in one conditional write; it never reads the data. The same
// tenant, key and request give the same job again, also when an earlier answer was lost or the definition has become another
// one since. The same key with another request is Invalid with code idempotency_key_reused, and recorded. A refusal tells
// everything that is known to be wrong with the ask, as snapshot.Faults.
func (c Creator) Create(ctx context.Context, ask Ask) (Answer, error) {
	record, d, err := c.permitted(ctx, ask)
	if err != nil {
		return Answer{}, err
	}
	if d.RequireKey && ask.Key == "" && !ask.Faults.Cover(keyHeader) {
		ask.Faults = append(ask.Faults, snapshot.Fault{Code: "idempotency_key_missing", Field: keyHeader,
			Detail: "definition " + d.Name + ` asks for a header Idempotency-Key with a quoted string, new for every intent, as in Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"`})
	}
	snap, err := c.freeze(ask, record, d)
	if err != nil && len(ask.Faults) > 0 {
		return Answer{}, err // no definition would have granted it
	}
	if err != nil {
		return c.grantedBefore(ctx, ask, err)
	}
	j := job.Job{
		ID: c.NewID(), Tenant: ask.Who.Tenant, Applicant: ask.Who.Subject, Definition: d.Name, DefinitionVersion: record.Version,
		Lane: d.Lane, Snapshot: snap.Encode(), SnapshotDigest: snap.Digest(), RequestDigest: snap.RequestDigest(ask.Request),
		Retention: d.Retention(), DownloadsMax: d.Limits.DownloadsMax, RowsMax: d.Limits.RowsMax,
	}
	intent := job.Intent{
		Job: j, KeyDigest: c.keyDigest(ask, j.RequestDigest), AskedDigest: ask.Request.AskedDigest(ask.Who),
		KeyMemory: limits.KeyMemory, ActiveMax: d.Limits.ActiveJobsMax,
	}
	for range limits.ConflictTries {
		err = c.Ledger.Apply(ctx, job.Create(intent, c.Ledger.Now()))
		var refused *job.Refused
		if err == nil {
			return c.point(ctx, j.ID, false)
		}
		if !errors.As(err, &refused) {
			return Answer{}, err
		}
		answer, again, err := c.refusedBy(ctx, ask, intent, refused)
		if !again {
			return answer, err
		}
	}
	return Answer{}, &job.Error{Kind: job.Transient, Code: "idempotency_key_in_use",
		Detail: "another request with this Idempotency-Key is being created; ask again in a second"}
}

// keyHeader is the header that brings an Idempotency-Key.
const keyHeader = "Idempotency-Key"

// permitted is the newest version of the definition that the ask names, if the asker may export from it at all. One that
// isn't for the asker is told like one that isn't there, and so is what else is wrong with the ask.
func (c Creator) permitted(ctx context.Context, ask Ask) (job.DefinitionRecord, definition.Definition, error) {
	is := "missing; name a definition that you may export from"
	if ask.Request.Definition != "" {
		record, d, err := readDefinition(ctx, c.Ledger, ask.Request.Definition, 0)
		switch {
		case err == nil && policy.MayRequest(ask.Who, d):
			return record, d, nil
		case err != nil && job.KindOf(err) != job.NotFound:
			return record, d, err
		}
		is = strconv.Quote(job.Clip(ask.Request.Definition)) + "; there is none of this name that you may export from"
	}
	known := ask.Faults
	if !known.Cover("/definition") {
		known = append(known, snapshot.Fault{Code: "definition_unknown", Field: "/definition", Detail: "/definition is " + is})
	}
	_, err := snapshot.Case{Request: ask.Request, Earlier: known, Who: ask.Who, Now: c.Ledger.Now()}.Freeze()
	return job.DefinitionRecord{}, definition.Definition{}, err
}

// grantedBefore answers an ask that the newest definition refuses. One that was granted under its key, by an earlier version
// or with other rights, is a repeat and gives its job; any other is refused as it was. Only here is a key read for itself:
// among asks that are granted the write decides.
func (c Creator) grantedBefore(ctx context.Context, ask Ask, refusal error) (Answer, error) {
	if ask.Key == "" {
		return Answer{}, refusal
	}
	row, err := c.Ledger.Row(ctx, job.IdempotencyKey(ask.Who.Tenant, c.keyDigest(ask, "")))
	if err != nil {
		return Answer{}, err
	}
	if len(row) == 0 {
		return Answer{}, refusal
	}
	bound, err := job.DecodeBoundKey(row)
	if err != nil {
		return Answer{}, err
	}
	if bound.AskedDigest != ask.Request.AskedDigest(ask.Who) || !bound.Remembers(c.Ledger.Now()) {
		return Answer{}, refusal
	}
	return c.point(ctx, bound.Job, true)
}

func (c Creator) freeze(ask Ask, record job.DefinitionRecord, d definition.Definition) (snapshot.Snapshot, error) {
	snap, err := snapshot.Case{
		Request: ask.Request, Earlier: ask.Faults, Definition: &d, Version: record.Version, Who: ask.Who, Now: c.Ledger.Now(),
	}.Freeze()
	faults := snapshot.FaultsOf(err)
	if faults.Whole() || faults.Within("/columns", "/zone", "/format") {
		return snapshot.Snapshot{}, err
	}
	// What no format can write is refused here and not by the first worker.
	if unfit := FileSpec(snap, 0).Validate(); unfit != nil {
		detail := unfit.Error()
		if known := new(job.Error); errors.As(unfit, &known) {
			detail = known.Detail
		}
		faults = append(faults, snapshot.Fault{Code: "format_option", Field: "/format", Detail: "/format: by definition " + d.Name + ", " + detail})
	}
	return snap, faults.Refusal()
}

// keyDigest is the digest of the key given, or of one derived from who asks for what in the current window.
func (c Creator) keyDigest(ask Ask, requestDigest string) string {
	text := "given\x00" + ask.Key
	if ask.Key == "" {
		window := c.Ledger.Now().Unix() / int64(limits.DerivedKeyWindow/time.Second)
		text = "derived\x00" + ask.Who.Subject + "\x00" + requestDigest + "\x00" + strconv.FormatInt(window, 10)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func unfinished(exports int64) string {
	if exports == 1 {
		return "1 unfinished export"
	}
	return strconv.FormatInt(exports, 10) + " unfinished exports"
}

// refusedBy reads what refused a create: the key is bound, or the quota is used up. again means that neither explains it
// any longer and the write may be tried again.
func (c Creator) refusedBy(ctx context.Context, ask Ask, intent job.Intent, refused *job.Refused) (answer Answer, again bool, err error) {
	row, byKey := refused.Old[job.CreateKeyWrite]
	if !byKey || len(row) == 0 {
		if _, byQuota := refused.Old[job.CreateQuotaWrite]; byQuota {
			return Answer{}, false, &job.Error{Kind: job.Limited, Code: "active_jobs_exceeded",
				Detail: "the tenant has " + unfinished(intent.ActiveMax) + ", which is all that definition " +
					intent.Job.Definition + " allows; wait for one to finish or cancel one"}
		}
		return Answer{}, true, nil
	}
	bound, err := job.DecodeBoundKey(row)
	if err != nil {
		return Answer{}, false, err
	}
	// The same words are the same request whatever the definition makes of them now, and other words are as well while it
	// makes the same of both. Keys of releases that kept no digest of the words have the second only.
	if bound.AskedDigest == intent.AskedDigest || bound.RequestDigest == intent.Job.RequestDigest {
		answer, err := c.point(ctx, bound.Job, true)
		return answer, false, err
	}
	// The audit belongs to the job that holds the key; the answer to a stranger's reuse does not name it.
	if err := c.note(ctx, ask, bound.Job, audit.Conflict); err != nil {
		return Answer{}, false, err
	}
	return Answer{}, false, &job.Error{Kind: job.Invalid, Code: "idempotency_key_reused",
		Detail: "this Idempotency-Key was used in your tenant for another request; send a new key, or the same request as before"}
}

// point wakes the planner and returns the job. A replay wakes it too while the job is queued: the first ask may have
// died between its write and its message.
func (c Creator) point(ctx context.Context, id string, replayed bool) (Answer, error) {
	j, err := readJob(ctx, c.Ledger, id)
	if err != nil {
		return Answer{}, err
	}
	if j.State == job.StateQueued {
		// The row is the outbox: should the message be lost, the sweeper wakes the job. An error here would only
		// invite another ask for a job that exists.
		_ = c.Queue.Send(ctx, j.Line(), job.Pointer{Job: j.ID, Unit: job.PlanID}, 0)
	}
	return Answer{Job: j, Replayed: replayed}, nil
}

func (c Creator) note(ctx context.Context, ask Ask, jobID string, action audit.Action) error {
	j, err := readJob(ctx, c.Ledger, jobID)
	if err != nil {
		return err
	}
	now := c.Ledger.Now()
	return c.Ledger.Apply(ctx, job.Note(audit.Event{
		Job: j.ID, Tenant: j.Tenant, Action: action, Actor: ask.Who.Subject, AtMilli: now.UnixMilli(), Version: j.Version,
	}, strconv.FormatInt(now.UnixMilli(), 10)+"#"+c.NewID()))
}
