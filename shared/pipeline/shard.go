package pipeline

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"sealift/shared/checksum"
	"sealift/shared/definition"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// shard is one attempt at one shard.
type shard struct {
	Processor

	job   job.Job
	held  *Held
	query row.Query
	masks []definition.MaskKind
	spec  format.Spec
	// number is the shard's, from 1; first is whether it begins a file.
	number int
	first  bool
}

// segment is a part on its way to the store, and the progress that its confirmation makes true.
type segment struct {
	part     format.Part
	progress job.Progress
}

// write brings the shard to its complete staging object. The order is always: bytes, the store's confirmation, the
// checkpoint; a crash between any two of them costs the parts in flight and nothing else.
func (s *shard) write(ctx context.Context, connection string) (job.StagedObject, error) {
	if !s.held.Unit().Progress.Exhausted {
		last, err := s.read(ctx, connection)
		if err != nil {
			return job.StagedObject{}, err
		}
		if last != nil {
			return s.putSmall(ctx, *last)
		}
	}
	return s.complete(ctx)
}

// read streams the rest of the range into parts. Reading the next batch overlaps the encoding of the one before, and
// encoding the next part the upload of the one before; commits stay in order. It returns the only part of a shard that is
// too small for a multipart upload, or nil when every part is committed.
func (s *shard) read(ctx context.Context, connection string) (*segment, error) {
	from, err := openPlanned(ctx, s.Sources, connection, s.query, s.job.SourceIdentity)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	progress := s.held.Unit().Progress
	writer, err := format.NewPartWriter(s.spec, format.PartOptions{
		First: s.first, Shard: s.number, Index: int(progress.PartCount), Fragment: progress.Fragment, Cut: s.Cut, Buffer: s.Memory.part(),
	})
	if err != nil {
		return nil, err
	}
	// One buffer is being filled while the others are on their way.
	buffers := make(chan []byte, limits.PartsInFlight)
	for range limits.PartsInFlight - 1 {
		buffers <- s.Memory.part()
	}
	ready := make(chan segment)
	batches := readAhead(s, from)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return batches.run(groupCtx, progress.Cursor) })
	group.Go(func() error { return s.upload(groupCtx, ready, buffers) })
	var small *segment
	group.Go(func() error {
		defer close(ready)
		var err error
		small, err = s.fill(groupCtx, batches, writer, ready, buffers)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	// After an error a call that was given up may still hold a buffer.
	batches.keep()
	for range len(buffers) {
		s.Memory.keepPart(<-buffers)
	}
	return small, nil
}

// fill encodes batches and cuts parts.
func (s *shard) fill(ctx context.Context, batches *ahead, writer format.PartWriter, ready chan<- segment, buffers <-chan []byte) (*segment, error) {
	var masked row.Batch
	open := s.held.Unit().Progress
	for {
		raw, err := batches.next(ctx)
		if err != nil {
			return nil, err
		}
		if raw == nil {
			return s.end(ctx, writer, open, ready)
		}
		batch := raw
		if s.masks != nil {
			applyMasks(s.masks, raw, &masked)
			batch = &masked
		}
		rows := batch.Rows()
		for r := range rows {
			if open.First == nil {
				open.First = batch.Key(r, s.spec.Keys)
			}
			full, err := writer.Append(batch, r)
			if err != nil {
				return nil, err
			}
			open.Counters.Masked += maskedIn(s.masks, raw, r)
			if !full {
				continue
			}
			open.Cursor = batch.Key(r, s.spec.Keys)
			if err := s.cut(ctx, writer, &open, ready, buffers); err != nil {
				return nil, err
			}
		}
		open.Cursor = batch.Key(rows-1, s.spec.Keys)
		batches.done(raw)
	}
}

// cut hands a full part to the uploader and waits for a buffer for the next one.
func (s *shard) cut(ctx context.Context, writer format.PartWriter, open *job.Progress, ready chan<- segment, buffers <-chan []byte) error {
	var next []byte
	select {
	case next = <-buffers:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	part, err := writer.Take(next)
	if err != nil {
		return err
	}
	if err := addPart(open, part); err != nil {
		return err
	}
	if err := errors.Join(storable(open.First), storable(open.Cursor)); err != nil {
		return err
	}
	return send(ctx, ready, segment{part: part, progress: *open})
}

// end takes what is left when the range holds nothing more.
func (s *shard) end(ctx context.Context, writer format.PartWriter, open job.Progress, ready chan<- segment) (*segment, error) {
	part, err := writer.End()
	if err != nil {
		return nil, err
	}
	if err := addPart(&open, part); err != nil {
		return nil, err
	}
	if err := errors.Join(storable(open.First), storable(open.Cursor)); err != nil {
		return nil, err
	}
	open.Exhausted = true
	last := segment{part: part, progress: open}
	if part.Index == 0 {
		return &last, nil
	}
	if len(part.Data) == 0 {
		return nil, nil //nolint:nilnil // the range ended where a part did; there is nothing more to commit
	}
	return nil, send(ctx, ready, last)
}

func send(ctx context.Context, ready chan<- segment, next segment) error {
	select {
	case ready <- next:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// upload stores and commits parts in their order.
func (s *shard) upload(ctx context.Context, ready <-chan segment, buffers chan<- []byte) error {
	for next := range ready {
		if err := s.store(ctx, next); err != nil {
			return err
		}
		// Never blocks: there are as many places as buffers.
		buffers <- next.part.Data
	}
	return nil
}

func (s *shard) store(ctx context.Context, next segment) error {
	if err := s.openUpload(ctx); err != nil {
		return err
	}
	unit := s.held.Unit()
	if err := partLimit(unit.Progress, unit.Upload.PartNumber); err != nil {
		return err
	}
	part := job.Part{Number: unit.Upload.PartNumber, Bytes: int64(len(next.part.Data)), CRC64: next.part.CRC64}
	etag, err := s.Store.PutPart(ctx, unit.Upload, part.Number, next.part.Data, part.CRC64)
	if err != nil {
		return err
	}
	part.ETag = etag
	committed, change := unit.Checkpoint(part, next.progress)
	return s.held.Commit(ctx, committed, change)
}

// openUpload makes the shard's multipart upload and records it. One that is made but not recorded is found and aborted
// by the clean-up.
func (s *shard) openUpload(ctx context.Context) error {
	unit := s.held.Unit()
	if unit.Upload.Open() {
		return nil
	}
	key := s.Keys.Staging(unit.Tenant, unit.Job, unit.ID, unit.Generation)
	id, err := s.Store.CreateUpload(ctx, NewObject{Key: key, ContentType: stagingType})
	if err != nil {
		return err
	}
	opened, change := unit.OpenUpload(key, id)
	return s.held.Commit(ctx, opened, change)
}

const stagingType = "application/octet-stream"

// putSmall stores a shard that is one part in one call; no row of its own has been committed before.
func (s *shard) putSmall(ctx context.Context, last segment) (job.StagedObject, error) {
	unit := s.held.Unit()
	unit.Progress = last.progress
	s.held.mu.Lock()
	s.held.unit = unit
	s.held.mu.Unlock()
	if len(last.part.Data) == 0 {
		return job.StagedObject{}, nil
	}
	key := s.Keys.Staging(unit.Tenant, unit.Job, unit.ID, unit.Generation)
	object, err := s.Store.Put(ctx, NewObject{Key: key, ContentType: stagingType}, last.part.Data)
	if err == nil {
		// After an error a call that was given up may still hold the buffer.
		s.Memory.keepPart(last.part.Data)
	} else {
		object, err = adopt(ctx, s.Store, err, Object{Key: key, Bytes: int64(len(last.part.Data)), CRC64: last.part.CRC64})
	}
	if err != nil {
		return job.StagedObject{}, err
	}
	return job.StagedObject{Key: object.Key, ETag: object.ETag, Bytes: object.Bytes}, nil
}

// complete makes the object of the committed parts.
func (s *shard) complete(ctx context.Context) (job.StagedObject, error) {
	unit := s.held.Unit()
	want := Object{Key: unit.Upload.Key, Bytes: unit.Progress.Bytes, CRC64: unit.Progress.CRC64}
	object, err := s.Store.CompleteUpload(ctx, unit.Upload, unit.Progress.Parts, want)
	if err != nil {
		object, err = adopt(ctx, s.Store, err, want)
	}
	if err != nil {
		return job.StagedObject{}, err
	}
	return job.StagedObject{Key: object.Key, ETag: object.ETag, Bytes: object.Bytes}, nil
}

// adopt decides after a write that may have happened before: ask the store by the key. The same size and checksum is
// this very object; a different one is a conflict that no retry cures; none means that the first error stands.
func adopt(ctx context.Context, store Store, cause error, want Object) (Object, error) {
	var e *job.Error
	if !errors.As(cause, &e) || (e.Kind != job.Unknown && e.Code != "object_exists" && e.Code != "upload_missing") {
		return Object{}, cause
	}
	have, ok, err := store.Stat(ctx, want.Key)
	if err != nil {
		return Object{}, err
	}
	if !ok {
		if e.Kind == job.Unknown {
			return Object{}, cause
		}
		return Object{}, job.Errorf(job.Permanent, e.Code, "the object's upload is gone and there is no object in its place, as when somebody or a rule of the bucket removes unfinished uploads; end that and ask for the export again: %w", cause)
	}
	if have.Bytes != want.Bytes || have.CRC64 != want.CRC64 {
		return Object{}, job.Errorf(job.Permanent, codeConflict, "under the export's own key there is an object of %d bytes that is not the one to be written (%d bytes); it is kept, so find out who wrote it, then ask for the export again", have.Bytes, want.Bytes)
	}
	return have, nil
}

// codeConflict is the code of an object that has the right key and the wrong bytes. It is left where it is, for people.
const codeConflict = "object_conflict"

// addPart moves progress behind a part.
func addPart(progress *job.Progress, part format.Part) error {
	if len(part.Fragment) > limits.FragmentBytesMax {
		return job.Errorf(job.Permanent, "fragment_too_large",
			"the format has more to remember of one shard than its row holds; lower limits.shard_rows in the definition, apply it and ask for the export again")
	}
	size := int64(len(part.Data))
	progress.Rows += part.Rows
	progress.Bytes += size
	progress.RawCRC32 = uint32(checksum.CRC32(progress.RawCRC32).Combine(checksum.CRC32(part.RawCRC32), part.RawBytes))
	progress.RawBytes += part.RawBytes
	progress.CRC64 = uint64(checksum.CRC64(progress.CRC64).Combine(checksum.CRC64(part.CRC64), size))
	progress.RowsHash += part.RowsHash
	progress.Counters.Add(part.Counters)
	progress.Fragment = part.Fragment
	return nil
}
