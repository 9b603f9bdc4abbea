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
// going or not yet cleaned, anything younger than the safe age, or a key that is not Sealift's. One that can't be removed
// is passed over until the scan comes by again.
func (s Sweeper) orphans(ctx context.Context, round *round) {
	roots := s.Keys.Roots()
	for n, root := range roots {
		scans := 2 * (len(roots) - n)
		s.scan(ctx, "object", root, share(ctx, 100/scans), round, s.objects)
		s.scan(ctx, "upload", root, share(ctx, 100/(scans-1)), round, s.uploads)
	}
}

// stored is a thing that a scan comes by: what it is called, the position right behind it, and what is done about it.
type stored struct {
	name, position string
	look           func() (class string, err error)
}

// scan runs one page from the remembered position and remembers the next: the beginning again after the last page.
func (s Sweeper) scan(
	ctx context.Context, kind, root string, until time.Time, round *round, page func(ctx context.Context, root, position string) ([]stored, error),
) {
	name := kind + "s:" + root
	if past(ctx, until) {
		round.unreached(name)
		return
	}
	fields, err := s.Ledger.Row(ctx, job.SweepKey(name))
	was := job.SweepPosition(fields)
	var things []stored
	if err == nil {
		things, err = page(ctx, root, was)
	}
	if err != nil {
		round.met(name, err, 1)
		round.unreached(name)
		return
	}
	next, more := was, len(things) == limits.OrphanPage
	round.streak = 0
	for _, thing := range things {
		if past(ctx, until) || round.pushing() {
			more = true
			break
		}
		class, err := thing.look()
		if err != nil {
			class = "failed"
		}
		round.report.Stored[kind+"_"+class]++
		round.met(thing.name, err, 1)
		next = thing.position
	}
	if more {
		round.unreached(name + " after " + next)
	} else {
		next = ""
	}
	if next != was {
		round.met("position of "+name, ignoreFenced(s.Ledger.Apply(ctx, job.SaveSweep(name, was, next))), 1)
	}
}

func (s Sweeper) objects(ctx context.Context, root, position string) (things []stored, err error) {
	objects, err := s.Store.Objects(ctx, root, position, limits.OrphanPage)
	for _, object := range objects {
		things = append(things, stored{name: object.Key, position: object.Key, look: func() (string, error) {
			class, err := s.classify(ctx, object.Key, object.Modified)
			if err != nil || class != classOrphan {
				return class, err
			}
			return class, s.Store.Delete(ctx, object.Key, object.ETag)
		}})
	}
	return things, err
}

func (s Sweeper) uploads(ctx context.Context, root, position string) (things []stored, err error) {
	key, id, _ := strings.Cut(position, "\x00")
	uploads, err := s.Store.Uploads(ctx, root, StoredUpload{Key: key, ID: id}, limits.OrphanPage)
	for _, upload := range uploads {
		things = append(things, stored{name: upload.Key, position: upload.Key + "\x00" + upload.ID, look: func() (string, error) {
			class, err := s.classify(ctx, upload.Key, upload.Started)
			if class == classBound {
				// An upload is never what is bound, even when an object of its key is.
				class = classOrphan
			}
			if err != nil || class != classOrphan {
				return class, err
			}
			return class, s.Store.AbortUpload(ctx, upload.Key, upload.ID)
		}})
	}
	return things, err
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
