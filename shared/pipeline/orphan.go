package pipeline

import (
	"context"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/limits"
)

// orphans looks at one page of stored objects and of unfinished uploads below every root, from where the last sweep
// stopped, and removes those that belong to nothing. It never touches a bound artifact, anything of a job that is still
// going or not yet cleaned, anything younger than the safe age, or a key that is not Sealift's.
func (s Sweeper) orphans(ctx context.Context, report *Report) error {
	for _, root := range s.Keys.Roots() {
		if nearlyOver(ctx) {
			report.Unreached = append(report.Unreached, root)
			continue
		}
		if err := s.scan(ctx, "objects:"+root, report, func(position string) (string, bool, error) {
			return s.orphanObjects(ctx, root, position, report)
		}); err != nil {
			return err
		}
		if err := s.scan(ctx, "uploads:"+root, report, func(position string) (string, bool, error) {
			return s.orphanUploads(ctx, root, position, report)
		}); err != nil {
			return err
		}
	}
	return nil
}

// scan runs one page from the remembered position and remembers the next: the beginning again after the last page.
func (s Sweeper) scan(ctx context.Context, name string, report *Report, page func(position string) (next string, more bool, err error)) error {
	fields, err := s.Ledger.Row(ctx, job.SweepKey(name))
	if err != nil {
		return err
	}
	was := job.SweepPosition(fields)
	next, more, err := page(was)
	if err != nil {
		return err
	}
	if more {
		report.Unreached = append(report.Unreached, name+" after "+next)
	} else {
		next = ""
	}
	if next == was {
		return nil
	}
	return ignoreFenced(s.Ledger.Apply(ctx, job.SaveSweep(name, was, next)))
}

func (s Sweeper) orphanObjects(ctx context.Context, root, position string, report *Report) (string, bool, error) {
	objects, err := s.Store.Objects(ctx, root, position, limits.OrphanPage)
	if err != nil {
		return "", false, err
	}
	for _, object := range objects {
		class, err := s.classify(ctx, object.Key, object.Modified)
		if err != nil {
			return "", false, err
		}
		report.Stored["object_"+class]++
		if class == classOrphan {
			if err := s.Store.Delete(ctx, object.Key, object.ETag); err != nil {
				return "", false, err
			}
		}
		position = object.Key
	}
	return position, len(objects) == limits.OrphanPage, nil
}

func (s Sweeper) orphanUploads(ctx context.Context, root, position string, report *Report) (string, bool, error) {
	key, id, _ := strings.Cut(position, "\x00")
	uploads, err := s.Store.Uploads(ctx, root, StoredUpload{Key: key, ID: id}, limits.OrphanPage)
	if err != nil {
		return "", false, err
	}
	for _, upload := range uploads {
		class, err := s.classify(ctx, upload.Key, upload.Started)
		if err != nil {
			return "", false, err
		}
		if class == classBound {
			// An upload is never what is bound, even when an object of its key is.
			class = classOrphan
		}
		report.Stored["upload_"+class]++
		if class == classOrphan {
			if err := s.Store.AbortUpload(ctx, upload.Key, upload.ID); err != nil {
				return "", false, err
			}
		}
		position = upload.Key + "\x00" + upload.ID
	}
	return position, len(uploads) == limits.OrphanPage, nil
}

// The classes of stored things; every one falls into exactly one.
const (
	classBound   = "bound"    // the artifact or receipt of a completed job
	classInWork  = "in_work"  // of a job that has not ended, or that its own clean-up will still look at
	classYoung   = "young"    // would be an orphan but for its age
	classForeign = "foreign"  // not Sealift's key
	classKept    = "evidence" // conflicts with what its job would have published
	classUnread  = "unread"   // of a job whose row this release can't decode; left alone, and no reason to stop
	classOrphan  = "orphan"
)

func (s Sweeper) classify(ctx context.Context, key string, since time.Time) (string, error) {
	jobID, ok := s.Keys.JobOf(key)
	if !ok {
		return classForeign, nil
	}
	j, err := readJob(ctx, s.Ledger, jobID)
	switch {
	case job.KindOf(err) == job.NotFound:
		return s.byAge(since), nil
	case job.Unreadable(err):
		return classUnread, nil
	case err != nil:
		return "", err
	}
	switch {
	case !j.State.Terminal():
		return classInWork, nil
	case j.State == job.StateCompleted && (s.Keys.Beside(j.Artifact.Key, key) || key == j.Artifact.ReceiptKey):
		return classBound, nil
	case j.Failure.Code == codeConflict && s.Keys.Beside(j.Publish.ArtifactKey, key):
		return classKept, nil
	}
	clean, err := readUnit(ctx, s.Ledger, jobID, job.CleanID)
	if job.Unreadable(err) {
		return classUnread, nil
	}
	if err != nil {
		return "", err
	}
	if !clean.State.Over() {
		return classInWork, nil
	}
	return s.byAge(since), nil
}

func (s Sweeper) byAge(since time.Time) string {
	if s.Ledger.Now().Sub(since) < s.OrphanAge {
		return classYoung
	}
	return classOrphan
}
