package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/snapshot"
)

// Finalizer publishes a job's one artifact: its file, or the manifest of its files.
type Finalizer struct {
	Worker

	Store Store
	Keys  Keys
	// Seal signs receipts.
	Seal Seal
	// NewRandom returns text that nobody can guess, for the artifact's key.
	NewRandom func() string
	// Bounds are the store's; the zero value stands for those in limits.
	Bounds Bounds
}

// Finalize runs a job's finalize unit: check the shards, decide to publish, assemble the object and its receipt under
// the keys of that decision, sign the receipt, bind them. Every step may be repeated by another attempt, which takes the
// same keys; it makes another signature of the same bytes, and the one that is bound with the artifact counts.
func (f Finalizer) Finalize(ctx context.Context, pointer job.Pointer) error {
	return f.Run(ctx, pointer, isUnit(job.FinalizeID), f.work)
}

func (f Finalizer) work(ctx context.Context, j job.Job, held *Held) error {
	snap, err := snapshot.Parse(j.Snapshot)
	if err != nil {
		return err
	}
	spec := FileSpec(snap, 0)
	whole, err := f.gather(ctx, j, snap.Layout)
	if err != nil {
		return err
	}
	files := layFiles(whole, snap.Layout)
	if err := f.joinAll(ctx, files, spec); err != nil {
		return err
	}
	if j.State == job.StateRunning {
		if j, err = f.decide(ctx, j, held.Unit(), snap); err != nil {
			return err
		}
	}
	artifact, err := f.bring(ctx, j, held, snap, files)
	if err != nil {
		return err
	}
	artifact.Rows, artifact.Counters = whole.rows, whole.counters
	text := newReceipt(j, snap, whole, files).Encode()
	if _, err := f.put(ctx, j.Publish.ReceiptKey, text); err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	artifact.ReceiptKey, artifact.ReceiptSHA256 = j.Publish.ReceiptKey, hex.EncodeToString(digest[:])
	if artifact.ReceiptSignature, err = sealed(ctx, f.Seal, text); err != nil {
		return err
	}
	change, err := j.Complete(held.Unit(), artifact, job.Act{Actor: job.System, Now: f.Ledger.Now()})
	if err != nil {
		return err
	}
	return f.Ledger.Apply(ctx, change)
}

// bring publishes the files, and with many of them the manifest that lists them, and describes what is to be bound.
func (f Finalizer) bring(ctx context.Context, j job.Job, held *Held, snap snapshot.Snapshot, files []filed) (job.Artifact, error) {
	spec := FileSpec(snap, 0)
	artifact := job.Artifact{}
	var object Object
	for i := range files {
		of := &files[i]
		of.name, of.key = snap.FileName, j.Publish.ArtifactKey
		if of.number > 0 {
			of.name = numberedName(snap.FileName, format.Extension(spec), of.number)
			of.key = f.Keys.File(j.Publish.ArtifactKey, of.number, format.Extension(spec))
		}
		var err error
		if object, err = f.publish(ctx, held, *of, format.ContentType(spec)); err != nil {
			return job.Artifact{}, err
		}
		artifact.FilesBytes += object.Bytes
	}
	if snap.Layout == snapshot.LayoutFiles {
		var err error
		if object, err = f.put(ctx, j.Publish.ArtifactKey, newManifest(j, files).encode()); err != nil {
			return job.Artifact{}, err
		}
		artifact.Files = int64(len(files))
	}
	artifact.Key, artifact.ETag, artifact.Bytes, artifact.CRC64 = object.Key, object.ETag, object.Bytes, object.CRC64
	return artifact, nil
}

// decide moves the job to publishing. From then on a cancel is too late.
func (f Finalizer) decide(ctx context.Context, j job.Job, unit job.Unit, snap snapshot.Snapshot) (job.Job, error) {
	random := f.NewRandom()
	publish := job.Publication{
		ArtifactKey: f.Keys.Artifact(j.Tenant, j.ID, unit.Generation, random, ArtifactName(snap)),
		ReceiptKey:  f.Keys.Receipt(j.Tenant, j.ID, unit.Generation, random),
	}
	change, err := j.BeginPublish(unit, publish, job.Act{Actor: job.System, Now: f.Ledger.Now()})
	if err != nil {
		return job.Job{}, err
	}
	if err := f.Ledger.Apply(ctx, change); err != nil {
		return job.Job{}, err
	}
	return readJob(ctx, f.Ledger, j.ID)
}
