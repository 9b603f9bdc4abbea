package pipeline

import (
	"context"

	"golang.org/x/sync/errgroup"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/limits"
)

// Bounds are what a store allows for the parts of an object.
type Bounds struct {
	// PartBytesMin is the least size of every part but the last, CopyBytesMax the most that one part copy may cover.
	PartBytesMin int64
	CopyBytesMax int64
}

func (b Bounds) orLimits() Bounds {
	if b.PartBytesMin == 0 {
		b.PartBytesMin = limits.StorePartBytesMin
	}
	if b.CopyBytesMax == 0 {
		b.CopyBytesMax = limits.StoreCopyBytesMax
	}
	return b
}

// assembly makes one object of many inside the store: one part copy per staged object; only runs smaller than the
// store's part minimum pass through memory, merged, with a bound.
type assembly struct {
	store  Store
	held   *Held
	object NewObject
	want   Object
	bounds Bounds
}

// step is one part of the object: bytes copied inside the store, or bytes gathered in memory from slices and a literal.
type step struct {
	number  int64
	copied  Slice
	slices  []Slice
	literal []byte
}

func (s step) bytes() int64 {
	size := int64(len(s.literal))
	for _, slice := range s.slices {
		size += slice.To - slice.From
	}
	return size + s.copied.To - s.copied.From
}

func (a assembly) run(ctx context.Context, of filed) (Object, error) {
	steps := layOut(of, a.bounds)
	if len(steps) > limits.StorePartsMax {
		return Object{}, job.Errorf(job.Permanent, "artifact_too_large", "the file needs %d parts; one object can have %d: ask for a shorter span", len(steps), limits.StorePartsMax)
	}
	if len(steps) == 1 && steps[0].copied.Key == "" {
		data, err := a.gather(ctx, steps[0])
		if err != nil {
			return Object{}, err
		}
		return a.store.Put(ctx, a.object, data)
	}
	upload, done, err := a.upload(ctx)
	if err != nil {
		return Object{}, err
	}
	parts := make([]job.Part, len(steps))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(limits.CopyParallel)
	for i, s := range steps {
		if part, ok := done[s.number]; ok && part.Bytes == s.bytes() {
			// Written by an earlier attempt: the sources never change, so neither does the part. The whole
			// object's checksum is proven at the end in any case.
			parts[i] = part
			continue
		}
		group.Go(func() error {
			var err error
			if parts[i], err = a.part(groupCtx, upload, s); err != nil {
				return err
			}
			a.held.Advance()
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Object{}, err
	}
	return a.store.CompleteUpload(ctx, upload, parts, a.want)
}

// upload goes on with the multipart upload that an earlier attempt recorded, or makes and records one.
func (a assembly) upload(ctx context.Context) (job.Upload, map[int64]job.Part, error) {
	unit := a.held.Unit()
	if unit.Upload.Open() && unit.Upload.Key == a.object.Key {
		parts, err := a.store.Parts(ctx, unit.Upload)
		if err != nil {
			return job.Upload{}, nil, err
		}
		done := make(map[int64]job.Part, len(parts))
		for _, part := range parts {
			done[part.Number] = part
		}
		return unit.Upload, done, nil
	}
	id, err := a.store.CreateUpload(ctx, a.object)
	if err != nil {
		return job.Upload{}, nil, err
	}
	opened, change := unit.OpenUpload(a.object.Key, id)
	if unit.Upload.Open() {
		opened, change = unit.FollowUpload(a.object.Key, id)
	}
	if err := a.held.Commit(ctx, opened, change); err != nil {
		return job.Upload{}, nil, err
	}
	return opened.Upload, nil, nil
}

func (a assembly) part(ctx context.Context, upload job.Upload, s step) (job.Part, error) {
	if s.copied.Key != "" {
		return a.store.CopyPart(ctx, upload, s.number, s.copied)
	}
	data, err := a.gather(ctx, s)
	if err != nil {
		return job.Part{}, err
	}
	crc := uint64(checksum.Sum64(data))
	etag, err := a.store.PutPart(ctx, upload, s.number, data, crc)
	if err != nil {
		return job.Part{}, err
	}
	return job.Part{Number: s.number, ETag: etag, Bytes: int64(len(data)), CRC64: crc}, nil
}

func (a assembly) gather(ctx context.Context, s step) ([]byte, error) {
	data := make([]byte, 0, s.bytes())
	for _, slice := range s.slices {
		piece, err := a.store.Read(ctx, slice)
		if err != nil {
			return nil, err
		}
		data = append(data, piece...)
	}
	return append(data, s.literal...), nil
}

// layOut turns the pieces and the suffix into steps. Every step but the last has at least the store's part minimum. A
// run of small pieces before a large one borrows the bytes it lacks from the large one's beginning.
func layOut(of filed, bounds Bounds) []step {
	l := layout{bounds: bounds}
	for _, p := range of.pieces {
		l.add(Slice{Key: p.object.Key, ETag: p.object.ETag, To: p.object.Bytes})
	}
	l.small.literal = of.suffix
	if l.small.bytes() > 0 || len(l.steps) == 0 {
		l.push(l.small)
	}
	return l.steps
}

// layout gathers a run of small slices until it is large enough to be a part.
type layout struct {
	bounds Bounds
	steps  []step
	small  step
}

func (l *layout) push(s step) {
	s.number = int64(len(l.steps) + 1)
	l.steps = append(l.steps, s)
}

func (l *layout) add(slice Slice) {
	if slice.To == 0 {
		return
	}
	if pending := l.small.bytes(); pending > 0 {
		lack := l.bounds.PartBytesMin - pending
		take := slice.To
		if slice.To-lack >= l.bounds.PartBytesMin {
			take = lack
		}
		head := slice
		head.To = take
		l.small.slices = append(l.small.slices, head)
		slice.From = take
		if l.small.bytes() < l.bounds.PartBytesMin {
			return
		}
		l.push(l.small)
		l.small = step{}
	}
	l.copy(slice)
}

// copy covers a slice with part copies of nearly equal size, none above the limit; what is too small to be a part
// begins a new run.
func (l *layout) copy(slice Slice) {
	size := slice.To - slice.From
	if size == 0 {
		return
	}
	if size < l.bounds.PartBytesMin {
		l.small.slices = append(l.small.slices, slice)
		return
	}
	count := (size + l.bounds.CopyBytesMax - 1) / l.bounds.CopyBytesMax
	from := slice.From
	for i := range count {
		part := slice
		part.From = from
		part.To = slice.From + size*(i+1)/count
		from = part.To
		l.push(step{copied: part})
	}
}
