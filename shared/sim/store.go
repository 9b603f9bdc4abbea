package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// Store is the bucket.
type Store struct {
	*bucket

	world *World
	actor string
}

// bucket is the store's content.
type bucket struct {
	partBytesMin   int64
	credentialsEnd time.Time

	objects map[string]*blob
	uploads map[string]*upload
	// written remembers the content of every key that ever had an object, as keys are never reused.
	written map[string]uint64
	// artifacts remembers the one key of each job below each root that delivers.
	artifacts map[string]string
	counts    UploadCounts
}

var _ pipeline.Store = (*Store)(nil)

// UploadCounts add up: every upload that was created is completed, aborted or open.
type UploadCounts struct {
	Created   int
	Completed int
	Aborted   int
}

// Counts are those of all uploads so far. It is no call of the port.
func (s *Store) Counts() UploadCounts {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return s.counts
}

// Made counts the keys below prefix that ever had an object. It is no call of the port.
func (s *Store) Made(prefix string) int {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	made := 0
	for key := range s.written {
		if strings.HasPrefix(key, prefix) {
			made++
		}
	}
	return made
}

// blob is an object's content and description.
type blob struct {
	pipeline.Object
	contentType string
	data        []byte
	modified    time.Time
}

// upload is an unfinished multipart upload.
type upload struct {
	id          string
	key         string
	contentType string
	started     time.Time
	parts       map[int64]part
}

type part struct {
	job.Part
	data []byte
}

func newStore(w *World, opt Options) *Store {
	least := opt.PartBytesMin
	if least == 0 {
		least = limits.StorePartBytesMin
	}
	return &Store{world: w, bucket: &bucket{
		partBytesMin: least, credentialsEnd: opt.CredentialsEnd,
		objects: map[string]*blob{}, uploads: map[string]*upload{}, written: map[string]uint64{},
		artifacts: map[string]string{},
	}}
}

func (s *Store) call(method, subject string) Call {
	return Call{Port: PortStore, Method: method, Actor: s.actor, Subject: subject}
}

func (s *Store) partCall(method, key string, number int64) Call {
	return Call{Port: PortStore, Method: method, Actor: s.actor, Subject: key, Part: number}
}

func refusal(code, format string, args ...any) error {
	return job.Errorf(job.Permanent, code, format, args...)
}

// Put creates a small object in one call.
func (s *Store) Put(ctx context.Context, object pipeline.NewObject, data []byte) (made pipeline.Object, err error) {
	data = slices.Clone(data)
	err = s.world.write(ctx, s.call("Put", object.Key), func() error {
		if err := s.checkFree("put", object.Key); err != nil {
			return err
		}
		made = s.keep(object.Key, object.ContentType, data)
		return nil
	})
	return or(made, err)
}

// CreateUpload begins a multipart upload.
func (s *Store) CreateUpload(ctx context.Context, object pipeline.NewObject) (id string, err error) {
	err = s.world.write(ctx, s.call("CreateUpload", object.Key), func() error {
		if object.Key == "" {
			return refusal("store_refused", "create upload: the key is empty")
		}
		s.counts.Created++
		id = fmt.Sprintf("upload-%06d", s.counts.Created)
		s.uploads[id] = &upload{
			id: id, key: object.Key, contentType: object.ContentType, started: s.world.Clock.Now(), parts: map[int64]part{},
		}
		return nil
	})
	return or(id, err)
}

// PutPart writes one part.
func (s *Store) PutPart(ctx context.Context, to job.Upload, number int64, data []byte, crc64 uint64) (string, error) {
	data = slices.Clone(data)
	var made job.Part
	err := s.world.write(ctx, s.partCall("PutPart", to.Key, number), func() error {
		u, err := s.open("put part", to)
		if err != nil {
			return err
		}
		if sum := uint64(checksum.Sum64(data)); sum != crc64 {
			return refusal("checksum_mismatch", "put part %d of %s: the bytes have checksum %016x, not %016x", number, to.Key, sum, crc64)
		}
		policePart(s.world, u, number)
		made, err = u.put(number, data, crc64)
		return err
	})
	return or(made.ETag, err)
}

// CopyPart writes one part from bytes of another object.
func (s *Store) CopyPart(ctx context.Context, to job.Upload, number int64, from pipeline.Slice) (made job.Part, err error) {
	err = s.world.write(ctx, s.partCall("CopyPart", to.Key, number), func() error {
		u, err := s.open("copy part", to)
		if err != nil {
			return err
		}
		data, err := s.slice("copy part", from)
		if err != nil {
			return err
		}
		made, err = u.put(number, data, uint64(checksum.Sum64(data)))
		return err
	})
	return or(made, err)
}

func (s *Store) open(operation string, at job.Upload) (*upload, error) {
	u, ok := s.uploads[at.ID]
	if !ok || u.key != at.Key {
		return nil, refusal("upload_missing", "%s: upload %s of %s does not exist", operation, at.ID, at.Key)
	}
	return u, nil
}

func (u *upload) put(number int64, data []byte, crc64 uint64) (job.Part, error) {
	if number < 1 || number > limits.StorePartsMax {
		return job.Part{}, refusal("part_invalid", "part %d of %s: numbers are 1 to %d", number, u.key, limits.StorePartsMax)
	}
	made := job.Part{Number: number, ETag: etag(crc64, len(data)), Bytes: int64(len(data)), CRC64: crc64}
	u.parts[number] = part{Part: made, data: data}
	return made, nil
}

// etag depends on the content alone, as the store's does.
func etag(crc64 uint64, size int) string { return fmt.Sprintf("%016x%x", crc64, size) }

// CompleteUpload makes the object of exactly these parts, if no object has the key.
func (s *Store) CompleteUpload(
	ctx context.Context, at job.Upload, parts []job.Part, want pipeline.Object,
) (made pipeline.Object, err error) {
	err = s.world.write(ctx, s.call("CompleteUpload", at.Key), func() error {
		u, err := s.open("complete upload", at)
		if err != nil {
			return err
		}
		data, err := s.assemble(u, parts)
		if err != nil {
			return err
		}
		if sum := uint64(checksum.Sum64(data)); sum != want.CRC64 || int64(len(data)) != want.Bytes {
			return refusal("checksum_mismatch",
				"complete upload %s: the parts have %d bytes and checksum %016x, not %d and %016x", at.Key, len(data), sum, want.Bytes, want.CRC64)
		}
		if err := s.checkFree("complete upload", at.Key); err != nil {
			return err
		}
		delete(s.uploads, at.ID)
		s.counts.Completed++
		made = s.keep(at.Key, u.contentType, data)
		return nil
	})
	return or(made, err)
}

func (s *Store) assemble(u *upload, parts []job.Part) ([]byte, error) {
	if len(parts) == 0 {
		return nil, refusal("part_invalid", "complete upload %s: no parts are listed", u.key)
	}
	var data []byte
	last := int64(0)
	for i, listed := range parts {
		have, ok := u.parts[listed.Number]
		switch {
		case listed.Number <= last:
			return nil, refusal("part_invalid", "complete upload %s: part %d follows part %d", u.key, listed.Number, last)
		case !ok || have.ETag != listed.ETag:
			return nil, refusal("part_invalid", "complete upload %s: part %d is not the one that is listed", u.key, listed.Number)
		case i < len(parts)-1 && have.Bytes < s.partBytesMin:
			return nil, refusal("part_invalid",
				"complete upload %s: part %d has %d bytes; all but the last need %d", u.key, listed.Number, have.Bytes, s.partBytesMin)
		}
		data, last = append(data, have.data...), listed.Number
	}
	return data, nil
}

func (s *Store) checkFree(operation, key string) error {
	if key == "" {
		return refusal("store_refused", "%s: the key is empty", operation)
	}
	if _, exists := s.objects[key]; exists {
		return refusal("object_exists", "%s: %s exists already", operation, key)
	}
	return nil
}

func (s *Store) keep(key, contentType string, data []byte) pipeline.Object {
	sum := uint64(checksum.Sum64(data))
	if was, reused := s.written[key]; reused && was != sum {
		s.world.violate("key %s was used again for another content", key)
	}
	s.written[key] = sum
	policeObject(s.world, key)
	made := pipeline.Object{Key: key, ETag: etag(sum, len(data)), Bytes: int64(len(data)), CRC64: sum}
	s.objects[key] = &blob{Object: made, contentType: contentType, data: data, modified: s.world.Clock.Now()}
	return made
}

// Parts lists the parts an upload holds now, by number.
func (s *Store) Parts(ctx context.Context, at job.Upload) (parts []job.Part, err error) {
	err = s.world.read(ctx, s.call("Parts", at.Key), func() error {
		u, err := s.open("list parts", at)
		if err != nil {
			return err
		}
		for _, number := range slices.Sorted(maps.Keys(u.parts)) {
			parts = append(parts, u.parts[number].Part)
		}
		return nil
	})
	return or(parts, err)
}

// Stat describes an object.
func (s *Store) Stat(ctx context.Context, key string) (pipeline.Object, bool, error) {
	var found *blob
	err := s.world.read(ctx, s.call("Stat", key), func() error {
		found = s.objects[key]
		return nil
	})
	if err != nil || found == nil {
		return pipeline.Object{}, false, err
	}
	return found.Object, true, nil
}

// Read reads bytes of an object into memory.
func (s *Store) Read(ctx context.Context, from pipeline.Slice) (data []byte, err error) {
	err = s.world.read(ctx, s.call("Read", from.Key), func() error {
		data, err = s.slice("read", from)
		return err
	})
	return or(data, err)
}

func (s *Store) slice(operation string, from pipeline.Slice) ([]byte, error) {
	object, ok := s.objects[from.Key]
	switch {
	case !ok:
		return nil, refusal("object_missing", "%s: %s does not exist", operation, from.Key)
	case from.ETag != "" && from.ETag != object.ETag:
		return nil, refusal("object_changed", "%s: %s is not the version that was named", operation, from.Key)
	case from.From < 0 || from.From >= from.To || from.To > object.Bytes:
		return nil, refusal("range_invalid", "%s: bytes %d to %d of %s, which has %d", operation, from.From, from.To, from.Key, object.Bytes)
	}
	return slices.Clone(object.data[from.From:from.To]), nil
}
