package pipeline

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sealift/shared/audit"
	"sealift/shared/checksum"
	"sealift/shared/definition"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
	"sealift/shared/snapshot"
)

// Signer gives out download links.
type Signer struct {
	Ledger Ledger
	Store  Store
	Keys   Keys
	NewID  func() string
	// Jitter returns a random duration in [0, most), for full jitter between tries; without one there is no pause.
	Jitter func(most time.Duration) time.Duration
}

// Download is one link. URL is a secret until Expires and must not be logged.
type Download struct {
	URL      string
	Expires  time.Time
	FileName string
	Bytes    int64
	CRC64    uint64
}

// Sign decides anew on current facts: who asks, what the newest definition lets them see, the job's state, expiry and
// count, and whether the object is still the one that was bound. The link is made before it is counted, so that one that
// can't be made uses up nothing, and recorded before it is given out. It is for the file that the manifest lists under the
// number, or for what the export delivers first when that is 0: its one file or the manifest. When the job moves in
// between, all is decided anew from a fresh read, after a pause; Transient with code ledger_contended means that the tries
// or the time for that were used up and no link was recorded.
func (s Signer) Sign(ctx context.Context, who policy.Principal, id string, number int64) (Download, error) {
	for try := range limits.LinkTries {
		if !pause(ctx, s.Jitter, try) {
			break
		}
		j, err := visibleJob(ctx, s.Ledger, who, id)
		if err != nil {
			return Download{}, err
		}
		if err := s.deliverable(j); err != nil {
			return Download{}, err
		}
		snap, d, err := s.current(ctx, who, j)
		if err != nil {
			return Download{}, err
		}
		wanted, err := s.choose(ctx, j, snap, number)
		if job.CodeOf(err) == codeDamaged {
			return Download{}, lost(ctx, s.Ledger, who, id, err)
		}
		if err != nil {
			return Download{}, err
		}
		download, err := s.link(ctx, j, d, wanted)
		if err != nil {
			return Download{}, err
		}
		if try > 0 {
			// Many are at this row. What was decided holds for a completed job, whose snapshot and file never change; its
			// version is read last, so that the others have little time to be ahead of this write.
			if j, err = visibleJob(ctx, s.Ledger, who, id); err != nil {
				return Download{}, err
			}
			if err := s.deliverable(j); err != nil {
				return Download{}, err
			}
		}
		change, err := j.Sign(job.Act{ID: s.NewID(), Actor: who.Subject, Now: s.Ledger.Now()}, number)
		if err != nil {
			return Download{}, err
		}
		err = s.Ledger.Apply(ctx, change)
		if job.KindOf(err) == job.Fenced {
			continue
		}
		if err != nil {
			return Download{}, err
		}
		return download, nil
	}
	return Download{}, contended("the export", "no link was given out")
}

func (s Signer) deliverable(j job.Job) error {
	if err := deliverable(j); err != nil {
		return err
	}
	if err := timely(j, s.Ledger.Now()); err != nil {
		return err
	}
	if j.DownloadsMax > 0 && j.Downloads >= j.LinksMax() {
		times := "once"
		if j.DownloadsMax > 1 {
			times = strconv.FormatInt(j.DownloadsMax, 10) + " times"
		}
		return job.Errorf(job.Limited, "downloads_exceeded", "the export has been downloaded %s, which is all that its definition allows; ask for the export again", times)
	}
	return nil
}

// current refuses when the newest definition no longer lets the principal have what the file holds.
func (s Signer) current(ctx context.Context, who policy.Principal, j job.Job) (snapshot.Snapshot, definition.Definition, error) {
	snap, err := snapshot.Parse(j.Snapshot)
	if err != nil {
		return snapshot.Snapshot{}, definition.Definition{}, err
	}
	_, d, err := readDefinition(ctx, s.Ledger, j.Definition, 0)
	if err != nil && job.KindOf(err) != job.NotFound {
		return snapshot.Snapshot{}, definition.Definition{}, err
	}
	if err == nil && policy.MayRequest(who, d) && policy.MayReceive(who, d, snap.Masks()) {
		return snap, d, nil
	}
	now := s.Ledger.Now()
	note := job.Note(audit.Event{
		Job: j.ID, Tenant: j.Tenant, Action: audit.Denied, Actor: who.Subject, AtMilli: now.UnixMilli(), Version: j.Version,
		Reason: "rights_shrank",
	}, strconv.FormatInt(now.UnixMilli(), 10)+"#"+s.NewID())
	if err := s.Ledger.Apply(ctx, note); err != nil {
		return snapshot.Snapshot{}, definition.Definition{}, err
	}
	return snapshot.Snapshot{}, definition.Definition{}, &job.Error{Kind: job.Permanent, Code: "rights_shrank",
		Detail: "the file holds more than you may see now; ask for the export again with the columns that you may see"}
}

// wanted is the object that a link is asked for, as it was published.
type wanted struct {
	Object

	name        string
	contentType string
}

// choose finds the object and refuses one that is gone or is not the one that was published.
func (s Signer) choose(ctx context.Context, j job.Job, snap snapshot.Snapshot, number int64) (wanted, error) {
	if number < 0 || number > j.Artifact.Files {
		return wanted{}, &job.Error{Kind: job.Invalid, Code: "file_unknown", Field: "/file", Detail: filesText(number, j.Artifact.Files)}
	}
	spec := FileSpec(snap, 0)
	first := wanted{
		Object: Object{Key: j.Artifact.Key, ETag: j.Artifact.ETag, Bytes: j.Artifact.Bytes, CRC64: j.Artifact.CRC64},
		name:   ArtifactName(snap), contentType: format.ContentType(spec),
	}
	if j.Artifact.Files > 0 {
		first.contentType = manifestType
	}
	if err := s.intact(ctx, first.Object); err != nil || number == 0 {
		return first, err
	}
	text, err := s.Store.Read(ctx, Slice{Key: first.Key, ETag: first.ETag, To: first.Bytes})
	if isGone(err) {
		return wanted{}, damaged()
	}
	if err != nil {
		return wanted{}, err
	}
	listed, err := manifestEntry(text, number)
	if err != nil {
		return wanted{}, err
	}
	crc64, err := checksum.ParseCRC64(listed.CRC64)
	if err != nil {
		return wanted{}, damaged()
	}
	file := wanted{
		Object: Object{Key: s.Keys.File(j.Artifact.Key, listed.Number, format.Extension(spec)), Bytes: listed.Bytes, CRC64: uint64(crc64)},
		name:   listed.Name, contentType: format.ContentType(spec),
	}
	return file, s.intact(ctx, file.Object)
}

func filesText(number, files int64) string {
	if files == 0 {
		return fmt.Sprintf("/file is %d; the export has a single file: leave the field out", number)
	}
	return fmt.Sprintf("/file is %d; the export has files 1 to %d: leave the field out for their manifest", number, files)
}

func (s Signer) intact(ctx context.Context, want Object) error {
	object, ok, err := s.Store.Stat(ctx, want.Key)
	if err != nil {
		return err
	}
	if !ok || object.Bytes != want.Bytes || object.CRC64 != want.CRC64 {
		return damaged()
	}
	return nil
}

// codeDamaged is the code of an export whose objects are not what was published.
const codeDamaged = "artifact_damaged"

func damaged() error {
	return &job.Error{Kind: job.Permanent, Code: codeDamaged,
		Detail: "the file in the store is missing or is not the one that was published; an operator has to look, or ask for the export again"}
}

// link makes a link that ends no later than the delivery does, or refuses one that would end at once.
func (s Signer) link(ctx context.Context, j job.Job, d definition.Definition, of wanted) (Download, error) {
	now := s.Ledger.Now()
	left := j.ExpiresAt.Sub(now)
	if left < limits.LinkTimeMin {
		return Download{}, job.Errorf(job.NotFound, "export_expired",
			"the export's file expires at %s, too soon for a link to it; ask for the export again", j.ExpiresAt.UTC().Format(time.RFC3339))
	}
	lifetime := min(time.Duration(d.Limits.LinkSecondsMax)*time.Second, left)
	url, expires, err := s.Store.Sign(ctx, Link{
		Key: of.Key, FileName: of.name, ContentType: of.contentType, Lifetime: lifetime, Now: now,
	})
	if err != nil {
		return Download{}, err
	}
	return Download{URL: url, Expires: expires, FileName: of.name, Bytes: of.Bytes, CRC64: of.CRC64}, nil
}
