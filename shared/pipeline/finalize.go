package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"golang.org/x/sync/errgroup"

	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// Finalizer publishes a job's one artifact.
type Finalizer struct {
	Worker

	Store Store
	Keys  Keys
	// NewRandom returns text that nobody can guess, for the artifact's key.
	NewRandom func() string
	// Bounds are the store's; the zero value stands for those in limits.
	Bounds Bounds
}

// Finalize runs a job's finalize unit: check the shards, decide to publish, assemble the object and its receipt under
// the keys of that decision, bind them. Every step may be repeated by another attempt, which takes the same keys.
func (f Finalizer) Finalize(ctx context.Context, pointer job.Pointer) error {
	return f.Run(ctx, pointer, isUnit(job.FinalizeID), f.work)
}

func (f Finalizer) work(ctx context.Context, j job.Job, held *Held) error {
	snap, err := snapshot.Parse(j.Snapshot)
	if err != nil {
		return err
	}
	spec := FileSpec(snap, 0)
	whole, err := f.gather(ctx, j)
	if err != nil {
		return err
	}
	if err := f.join(ctx, &whole, spec); err != nil {
		return err
	}
	if j.State == job.StateRunning {
		if j, err = f.decide(ctx, j, held.Unit(), snap); err != nil {
			return err
		}
	}
	object, err := f.publish(ctx, j, held, whole, format.ContentType(spec))
	if err != nil {
		return err
	}
	receipt, err := f.putReceipt(ctx, j, snap, whole)
	if err != nil {
		return err
	}
	change, err := j.Complete(held.Unit(), job.Artifact{
		Key: object.Key, ReceiptKey: j.Publish.ReceiptKey, ReceiptSHA256: receipt,
		ETag: object.ETag, Bytes: object.Bytes, Rows: whole.rows, CRC64: object.CRC64, Counters: whole.counters,
	}, job.Act{Actor: job.System, Now: f.Ledger.Now()})
	if err != nil {
		return err
	}
	return f.Ledger.Apply(ctx, change)
}

// decide moves the job to publishing. From then on a cancel is too late.
func (f Finalizer) decide(ctx context.Context, j job.Job, unit job.Unit, snap snapshot.Snapshot) (job.Job, error) {
	random := f.NewRandom()
	publish := job.Publication{
		ArtifactKey: f.Keys.Artifact(j.Tenant, j.ID, unit.Generation, random, snap.FileName),
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

// whole is what the shards add up to.
type whole struct {
	pieces   []piece
	suffix   []byte
	rows     int64
	bytes    int64
	crc64    checksum.CRC64
	rowsHash uint64
	counters job.Counters
}

// piece is one shard's share of the file.
type piece struct {
	unit     string
	keys     row.Range
	first    row.Key
	last     row.Key
	object   job.StagedObject
	rows     int64
	offset   int64
	crc64    checksum.CRC64
	rowsHash uint64
	rawBytes int64
	rawCRC32 uint32
	fragment string
	// parts are the sizes of its parts; none for a piece that was stored in one call.
	parts []int64
}

// gather reads every shard in order and checks that together they are the job: all there and done by this plan, key
// ranges that tile the space, no key on both sides of a border, counts equal to what the job has counted.
func (f Finalizer) gather(ctx context.Context, j job.Job) (whole, error) {
	w := whole{}
	var lastKey row.Key
	from, to := job.ShardSpan()
	err := eachUnit(ctx, f.Ledger, j.ID, from, to, func(u job.Unit) error {
		if u.PlanGeneration != j.PlanGeneration || int64(len(w.pieces)) >= j.Shards {
			return nil // left by a plan that was not committed
		}
		p := piece{
			unit: u.ID, keys: u.Range, first: u.Progress.First, last: u.Progress.Cursor, object: u.Object, rows: u.Progress.Rows,
			offset: w.bytes, crc64: checksum.CRC64(u.Progress.CRC64), rowsHash: u.Progress.RowsHash,
			rawBytes: u.Progress.RawBytes, rawCRC32: u.Progress.RawCRC32, fragment: u.Progress.Fragment,
		}
		for _, part := range u.Progress.Parts {
			p.parts = append(p.parts, part.Bytes)
		}
		if err := checkPiece(w, p, u, lastKey); err != nil {
			return err
		}
		if p.rows > 0 {
			lastKey = p.last
		}
		w.pieces = append(w.pieces, p)
		w.rows += p.rows
		w.bytes += p.object.Bytes
		w.crc64 = w.crc64.Combine(p.crc64, p.object.Bytes)
		w.rowsHash += p.rowsHash
		w.counters = w.counters.Plus(u.Progress.Counters)
		return nil
	})
	if err != nil {
		return whole{}, err
	}
	if len(w.pieces) == 0 || int64(len(w.pieces)) != j.Shards || w.pieces[len(w.pieces)-1].keys.To != nil {
		return whole{}, job.Errorf(job.Permanent, "shards_incomplete", "%d shards of %d were found, or the last one is not the end of the key space", len(w.pieces), j.Shards)
	}
	if w.rows != j.Rows || w.bytes != j.Bytes {
		return whole{}, job.Errorf(job.Permanent, "counts_differ", "the shards have %d rows and %d bytes, the job counted %d and %d", w.rows, w.bytes, j.Rows, j.Bytes)
	}
	if j.RowsMax > 0 && w.rows > j.RowsMax {
		return whole{}, rowsMaxExceeded("", w.rows, j.RowsMax)
	}
	return w, nil
}

// join computes what ends the file, which for some formats takes a look at what the shards have stored.
func (f Finalizer) join(ctx context.Context, w *whole, spec format.Spec) error {
	joiner := format.NewJoiner(spec)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(limits.CopyParallel)
	for i, p := range w.pieces {
		group.Go(func() error { return joiner.Add(groupCtx, p.describe(f.Store, i+1)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var err error
	if w.suffix, err = joiner.Suffix(); err != nil {
		return err
	}
	w.bytes += int64(len(w.suffix))
	w.crc64 = w.crc64.Combine(checksum.Sum64(w.suffix), int64(len(w.suffix)))
	return nil
}

// describe tells a joiner of the piece.
func (p piece) describe(store Store, number int) format.Piece {
	d := format.Piece{
		Number: number, Offset: p.offset, Bytes: p.object.Bytes, Rows: p.rows, RawBytes: p.rawBytes, RawCRC32: p.rawCRC32,
		Fragment: p.fragment, Parts: p.parts,
		Read: func(ctx context.Context, from, to int64) ([]byte, error) {
			return store.Read(ctx, Slice{Key: p.object.Key, ETag: p.object.ETag, From: from, To: to})
		},
	}
	if len(d.Parts) == 0 && d.Bytes > 0 {
		d.Parts = []int64{d.Bytes}
	}
	return d
}

func checkPiece(w whole, p piece, u job.Unit, lastKey row.Key) error {
	number := len(w.pieces) + 1
	var end row.Key
	if number > 1 {
		end = w.pieces[number-2].keys.To
	}
	switch {
	case u.ID != job.ShardID(number) || u.State != job.UnitDone:
		return job.Errorf(job.Permanent, "shards_incomplete", "shard %d is missing or not done (found %s, %s)", number, u.ID, u.State)
	case (number == 1) != (p.keys.From == nil) || !slices.Equal(end, p.keys.From):
		return job.Errorf(job.Permanent, "shards_not_tiling", "shard %d does not begin where the one before it ends", number)
	case p.rows > 0 && lastKey != nil && slices.Equal(lastKey, p.first):
		return job.Errorf(job.Permanent, "key_twice", "the last key before shard %d is its first key too", number)
	case p.object.Bytes != u.Progress.Bytes:
		return job.Errorf(job.Permanent, "counts_differ", "shard %d stored %d bytes and committed %d", number, p.object.Bytes, u.Progress.Bytes)
	}
	return nil
}

// publish brings the artifact to its key, or finds it there already.
func (f Finalizer) publish(ctx context.Context, j job.Job, held *Held, w whole, contentType string) (Object, error) {
	want := Object{Key: j.Publish.ArtifactKey, Bytes: w.bytes, CRC64: uint64(w.crc64)}
	have, ok, err := f.Store.Stat(ctx, want.Key)
	if err != nil {
		return Object{}, err
	}
	if ok {
		return adopt(ctx, f.Store, &job.Error{Kind: job.Permanent, Code: "object_exists"}, Object{Key: have.Key, Bytes: want.Bytes, CRC64: want.CRC64})
	}
	a := assembly{store: f.Store, held: held, object: NewObject{Key: want.Key, ContentType: contentType}, want: want, bounds: f.Bounds.orLimits()}
	object, err := a.run(ctx, w)
	if err != nil {
		return adopt(ctx, f.Store, err, want)
	}
	return object, nil
}

// putReceipt stores the receipt and returns its SHA-256. The receipt is a function of the ledger, so another attempt
// writes the same bytes.
func (f Finalizer) putReceipt(ctx context.Context, j job.Job, snap snapshot.Snapshot, w whole) (string, error) {
	text := newReceipt(j, snap, w).Encode()
	sum := sha256.Sum256(text)
	want := Object{Key: j.Publish.ReceiptKey, Bytes: int64(len(text)), CRC64: uint64(checksum.Sum64(text))}
	if _, err := f.Store.Put(ctx, NewObject{Key: want.Key, ContentType: "application/json"}, text); err != nil {
		if _, err := adopt(ctx, f.Store, err, want); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum[:]), nil
}
