package pipeline

import (
	"context"
	"strconv"
	"time"

	"sealift/shared/audit"
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
	NewID  func() string
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
// count, and whether the object is still the one that was bound. The link is recorded before it is given out.
func (s Signer) Sign(ctx context.Context, who policy.Principal, id string) (Download, error) {
	for range limits.ConflictTries {
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
		if err := s.intact(ctx, j); err != nil {
			return Download{}, err
		}
		change, err := j.Sign(job.Act{ID: s.NewID(), Actor: who.Subject, Now: s.Ledger.Now()})
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
		return s.link(ctx, j, snap, d, format.ContentType(FileSpec(snap, 0)))
	}
	return Download{}, job.Errorf(job.Transient, "ledger_contended", "the export is moving too fast; ask again")
}

func (s Signer) deliverable(j job.Job) error {
	if err := deliverable(j); err != nil {
		return err
	}
	if !s.Ledger.Now().Before(j.ExpiresAt) {
		return &job.Error{Kind: job.NotFound, Code: "export_expired", Detail: "the export's file has expired; ask for the export again"}
	}
	if j.DownloadsMax > 0 && j.Downloads >= j.DownloadsMax {
		return job.Errorf(job.Limited, "downloads_exceeded", "the export has been downloaded %d times, which is all that its definition allows; ask for the export again", j.DownloadsMax)
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

// intact refuses a download whose object is gone or is not the one that was bound.
func (s Signer) intact(ctx context.Context, j job.Job) error {
	object, ok, err := s.Store.Stat(ctx, j.Artifact.Key)
	if err != nil {
		return err
	}
	if !ok || object.Bytes != j.Artifact.Bytes || object.CRC64 != j.Artifact.CRC64 {
		return &job.Error{Kind: job.Permanent, Code: "artifact_damaged",
			Detail: "the file in the store is missing or is not the one that was published; an operator has to look, or ask for the export again"}
	}
	return nil
}

func (s Signer) link(ctx context.Context, j job.Job, snap snapshot.Snapshot, d definition.Definition, contentType string) (Download, error) {
	now := s.Ledger.Now()
	lifetime := min(time.Duration(d.Limits.LinkSecondsMax)*time.Second, j.ExpiresAt.Sub(now))
	url, expires, err := s.Store.Sign(ctx, Link{
		Key: j.Artifact.Key, FileName: snap.FileName, ContentType: contentType, Lifetime: lifetime, Now: now,
	})
	if err != nil {
		return Download{}, err
	}
	return Download{URL: url, Expires: expires, FileName: snap.FileName, Bytes: j.Artifact.Bytes, CRC64: j.Artifact.CRC64}, nil
}
