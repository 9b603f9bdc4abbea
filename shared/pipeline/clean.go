package pipeline

import (
	"context"
	"strconv"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// Cleaner removes what a job that has ended leaves behind. Removing is a unit like any other: claimed, fenced, retried,
// and left to a person when it can't be done.
type Cleaner struct {
	Worker

	Store Store
	Keys  Keys
}

// Clean runs a job's clean unit.
func (c Cleaner) Clean(ctx context.Context, pointer job.Pointer) error {
	return c.Run(ctx, pointer, isUnit(job.CleanID), c.work)
}

func (c Cleaner) work(ctx context.Context, j job.Job, held *Held) error {
	if !j.State.Terminal() {
		return job.Errorf(job.Permanent, "clean_early", "the job is %s; only a job that has ended is cleaned", j.State)
	}
	quiet, err := c.retire(ctx, j, held)
	if err != nil {
		return err
	}
	now := c.Ledger.Now()
	if quiet.After(now) {
		// A worker may still be sure of its lease and write; it can't commit any more, and it stops before this.
		return c.Ledger.Apply(ctx, held.Unit().Postpone(now, quiet.Add(time.Second)))
	}
	removed := removal{store: c.Store, advance: held.Advance, keep: c.kept(j, held.Unit().Scope), bound: j.Artifact}
	for _, prefix := range c.Keys.Prefixes(j.Tenant, j.ID) {
		if err := removed.uploads(ctx, prefix); err != nil {
			return err
		}
		if err := removed.objects(ctx, prefix); err != nil {
			return err
		}
	}
	if err := removed.err(); err != nil {
		// The first kind is the one that err stands for.
		return job.At(removed.kinds[0].where(), err)
	}
	return c.Ledger.Apply(ctx, j.Cleaned(held.Unit(), map[string]string{
		"scope":   string(held.Unit().Scope),
		"objects": strconv.Itoa(removed.objectCount),
		"uploads": strconv.Itoa(removed.uploadCount),
	}, c.Ledger.Now()))
}

// retire fences every unit that is not over and returns when the last lease among them ends.
func (c Cleaner) retire(ctx context.Context, j job.Job, held *Held) (quiet time.Time, err error) {
	from, to := job.UnitSpan()
	err = eachUnit(ctx, c.Ledger, j.ID, from, to, func(unit job.Unit) error {
		if unit.ID == job.CleanID {
			return nil
		}
		if (unit.State == job.UnitLeased || unit.State == job.UnitRetired) && unit.LeaseUntil.After(quiet) {
			quiet = unit.LeaseUntil
		}
		if unit.State.Over() {
			return nil
		}
		// Refused means that it moved in this moment: the retry of this clean-up looks again.
		if err := c.Ledger.Apply(ctx, unit.Retire()); err != nil {
			return err
		}
		held.Advance()
		return nil
	})
	if job.KindOf(err) == job.Fenced {
		err = job.Errorf(job.Transient, "unit_moved", "a unit moved while it was retired: %w", err)
	}
	return quiet, err
}

// kept tells which objects a clean-up of this scope leaves alone: the bound files and their receipt, and what conflicts
// with what the job would have published, which is evidence.
func (c Cleaner) kept(j job.Job, scope job.CleanScope) func(key string) bool {
	return func(key string) bool {
		bound := c.Keys.Beside(j.Artifact.Key, key) || key == j.Artifact.ReceiptKey
		conflicting := c.Keys.Beside(j.Publish.ArtifactKey, key)
		return scope == job.CleanStaging && bound || j.Failure.Code == codeConflict && conflicting
	}
}

// The store's codes for an object that isn't there, and for a version that is not the one named.
const (
	codeMissing = "object_missing"
	codeChanged = "object_changed"
)

// removal deletes below prefixes and counts. It deletes the version that it has seen: the one that was bound, for what was,
// and for everything else the one that the listing shows. Keys are never reused, so another version is a stop. What can't
// be removed for another reason keeps nothing else from it.
type removal struct {
	troubles

	store       Store
	advance     func()
	keep        func(key string) bool
	bound       job.Artifact
	objectCount int
	uploadCount int
}

func (r *removal) uploads(ctx context.Context, prefix string) error {
	after := StoredUpload{}
	for {
		page, err := r.store.Uploads(ctx, prefix, after, limits.CleanPage)
		if err != nil {
			return r.tried(ctx, "uploads of "+prefix, err)
		}
		for _, upload := range page {
			after = upload
			err := r.store.AbortUpload(ctx, upload.Key, upload.ID)
			if stop := r.tried(ctx, upload.Key, err); stop != nil {
				return stop
			}
			if err == nil {
				r.uploadCount++
				r.advance()
			}
		}
		if len(page) < limits.CleanPage {
			return nil
		}
	}
}

func (r *removal) objects(ctx context.Context, prefix string) error {
	after := ""
	for {
		page, err := r.store.Objects(ctx, prefix, after, limits.CleanPage)
		if err != nil {
			return r.tried(ctx, "objects of "+prefix, err)
		}
		for _, object := range page {
			after = object.Key
			if r.keep(object.Key) {
				continue
			}
			etag := object.ETag
			if object.Key == r.bound.Key {
				etag = r.bound.ETag
			}
			err := r.store.Delete(ctx, object.Key, etag)
			if stop := r.tried(ctx, object.Key, err); stop != nil {
				return stop
			}
			if err == nil {
				r.objectCount++
				r.advance()
			}
		}
		if len(page) < limits.CleanPage {
			return nil
		}
	}
}

// tried notes how a call went, and returns why that ends the attempt, if it does: there is no time left, the store does not
// answer, or somebody else has written what was to be removed.
func (r *removal) tried(ctx context.Context, what string, err error) error {
	r.met(what, err, 1)
	if err != nil && (ctx.Err() != nil || r.pushing() || job.CodeOf(err) == codeChanged) {
		return err
	}
	return nil
}
