package pipelinetest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// Store runs the suite of pipeline.Store. newStore is called once for each test and may return the same store, whose
// least part is limits.StorePartBytesMin.
func Store(t *testing.T, newStore func(t *testing.T) pipeline.Store) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(s *shelf)
	}{
		{"a small object reads back and is never overwritten", putOnce},
		{"what is not there is told apart from what failed", absentObject},
		{"a read names its bytes and its version", readSlice},
		{"an upload becomes the object of exactly the listed parts", uploadListedParts},
		{"a part whose bytes do not have its checksum is refused", partChecksum},
		{"a part may be written again; the old one is then refused", partRewritten},
		{"a small part is refused before another", smallPart},
		{"a whole that does not have its checksum is refused", wholeChecksum},
		{"an existing object survives the completion of another upload", completeOverExisting},
		{"of two completions of one key one wins", completionRace},
		{"parts are copied from a version of an object", copiedParts},
		{"an upload that does not exist is said to be missing", missingUpload},
		{"an aborted upload is gone, and aborting again succeeds", abortTwice},
		{"a delete takes only the version it names", deleteVersion},
		{"objects are listed in order, page by page", listObjects},
		{"uploads are listed in order, page by page", listUploads},
		{"a link gives one object under its name until it ends", signedLink},
		{"a caller that has gone gets Cancelled", cancelledStoreCaller},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(&shelf{t: t, ctx: t.Context(), store: newStore(t), prefix: "staging/suite-" + unique() + "/"})
		})
	}
}

// shelf is a test's own corner of a store.
type shelf struct {
	t      *testing.T
	ctx    context.Context
	store  pipeline.Store
	prefix string
}

// noise makes bytes that differ by seed.
func noise(seed uint64, size int) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{0: byte(seed), 1: byte(seed >> 8)})
	_, _ = source.Read(data) // It never fails.
	return data
}

func sum(data []byte) uint64 { return uint64(checksum.Sum64(data)) }

func (s *shelf) new(name string) pipeline.NewObject {
	return pipeline.NewObject{Key: s.prefix + name, ContentType: "text/csv; charset=utf-8"}
}

func (s *shelf) put(name string, data []byte) pipeline.Object {
	s.t.Helper()
	object, err := s.store.Put(s.ctx, s.new(name), data)
	if err != nil {
		s.t.Fatalf("put %s: %v", name, err)
	}
	return object
}

func (s *shelf) create(name string) job.Upload {
	s.t.Helper()
	id, err := s.store.CreateUpload(s.ctx, s.new(name))
	if err != nil || id == "" {
		s.t.Fatalf("create upload %s: %q, %v", name, id, err)
	}
	return job.Upload{Key: s.prefix + name, ID: id, PartNumber: 1}
}

func (s *shelf) part(upload job.Upload, number int64, data []byte) job.Part {
	s.t.Helper()
	etag, err := s.store.PutPart(s.ctx, upload, number, data, sum(data))
	if err != nil || etag == "" {
		s.t.Fatalf("put part %d: %q, %v", number, etag, err)
	}
	return job.Part{Number: number, ETag: etag, Bytes: int64(len(data)), CRC64: sum(data)}
}

func (s *shelf) complete(upload job.Upload, whole []byte, parts ...job.Part) (pipeline.Object, error) {
	want := pipeline.Object{Key: upload.Key, Bytes: int64(len(whole)), CRC64: sum(whole)}
	return s.store.CompleteUpload(s.ctx, upload, parts, want)
}

// holds checks that the store has exactly these bytes under the name.
func (s *shelf) holds(name string, data []byte) pipeline.Object {
	s.t.Helper()
	object, ok, err := s.store.Stat(s.ctx, s.prefix+name)
	if err != nil || !ok {
		s.t.Fatalf("stat %s: %v, %v", name, ok, err)
	}
	want := pipeline.Object{Key: s.prefix + name, ETag: object.ETag, Bytes: int64(len(data)), CRC64: sum(data)}
	diff(s.t, "description of "+name, object, want)
	if object.ETag == "" {
		s.t.Errorf("%s has no ETag", name)
	}
	if len(data) == 0 {
		return object
	}
	have, err := s.store.Read(s.ctx, pipeline.Slice{Key: object.Key, ETag: object.ETag, To: object.Bytes})
	if err != nil || !bytes.Equal(have, data) {
		s.t.Errorf("%s reads back as %d other bytes, %v", name, len(have), err)
	}
	return object
}

func (s *shelf) missing(name string) {
	s.t.Helper()
	if _, ok, err := s.store.Stat(s.ctx, s.prefix+name); ok || err != nil {
		s.t.Errorf("stat %s: %v, %v; want no object", name, ok, err)
	}
}

// code checks an error's kind and code.
func (s *shelf) code(what string, err error, code string) {
	s.t.Helper()
	if job.KindOf(err) != job.Permanent || code != "" && job.CodeOf(err) != code {
		s.t.Errorf("%s: got %v, want permanent %s", what, err, code)
	}
}

func putOnce(s *shelf) {
	data := []byte("id,名字\r\n1,ana\r\n")
	made := s.put("small.csv", data)
	diff(s.t, "what put answers", made, s.holds("small.csv", data))
	_, err := s.store.Put(s.ctx, s.new("small.csv"), []byte("other"))
	s.code("a second put", err, "object_exists")
	s.holds("small.csv", data)
	s.put("empty", nil)
	s.holds("empty", nil)
	binary := noise(1, 300_000)
	s.put("binary", binary)
	s.holds("binary", binary)
}

func absentObject(s *shelf) {
	s.missing("nothing")
	_, err := s.store.Read(s.ctx, pipeline.Slice{Key: s.prefix + "nothing", To: 1})
	s.code("a read", err, "object_missing")
	if err := s.store.Delete(s.ctx, s.prefix+"nothing", ""); err != nil {
		s.t.Errorf("a delete: %v", err)
	}
	if err := s.store.Delete(s.ctx, s.prefix+"nothing", "0123456789abcdef0123456789abcdef"); err != nil {
		s.t.Errorf("a delete of a version: %v", err)
	}
}

func readSlice(s *shelf) {
	data := noise(2, 1000)
	object := s.put("slices", data)
	for _, slice := range [][2]int64{{0, 1}, {0, 1000}, {999, 1000}, {10, 500}} {
		for _, etag := range []string{"", object.ETag} {
			have, err := s.store.Read(s.ctx, pipeline.Slice{Key: object.Key, ETag: etag, From: slice[0], To: slice[1]})
			if err != nil || !bytes.Equal(have, data[slice[0]:slice[1]]) {
				s.t.Errorf("bytes %v: %d bytes, %v", slice, len(have), err)
			}
		}
	}
	_, err := s.store.Read(s.ctx, pipeline.Slice{Key: object.Key, ETag: "0123456789abcdef0123456789abcdef", To: 10})
	s.code("another version", err, "object_changed")
	for _, slice := range [][2]int64{{500, 1001}, {1000, 1001}, {5, 5}, {7, 5}} {
		_, err := s.store.Read(s.ctx, pipeline.Slice{Key: object.Key, From: slice[0], To: slice[1]})
		if err == nil {
			s.t.Errorf("bytes %v of 1000 were read", slice)
		}
	}
}

func uploadListedParts(s *shelf) {
	one, two, never := noise(3, limits.StorePartBytesMin), noise(4, limits.StorePartBytesMin+17), noise(5, 99)
	last := []byte("the end")
	upload := s.create("whole")
	s.missing("whole")
	parts := []job.Part{s.part(upload, 1, one), s.part(upload, 4, two)}
	stray := s.part(upload, 6, never)
	parts = append(parts, s.part(upload, 9, last))

	listed, err := s.store.Parts(s.ctx, upload)
	if err != nil {
		s.t.Fatal(err)
	}
	diff(s.t, "parts of the upload", listed, []job.Part{parts[0], parts[1], stray, parts[2]})

	whole := slices.Concat(one, two, last)
	made, err := s.complete(upload, whole, parts...)
	if err != nil {
		s.t.Fatalf("complete: %v", err)
	}
	diff(s.t, "what completing answers", made, s.holds("whole", whole))
	uploads, err := s.store.Uploads(s.ctx, s.prefix, pipeline.StoredUpload{}, 10)
	if err != nil || len(uploads) != 0 {
		s.t.Errorf("uploads after completing: %v, %v", uploads, err)
	}
	_, err = s.store.PutPart(s.ctx, upload, 9, last, sum(last))
	s.code("a part after completing", err, "upload_missing")
	s.holds("whole", whole)
}

func partChecksum(s *shelf) {
	upload := s.create("damaged")
	data := noise(6, 1000)
	_, err := s.store.PutPart(s.ctx, upload, 1, data, sum(data)+1)
	s.code("a damaged part", err, "checksum_mismatch")
	parts, err := s.store.Parts(s.ctx, upload)
	if err != nil || len(parts) != 0 {
		s.t.Errorf("the damaged part was kept: %v, %v", parts, err)
	}
}

func partRewritten(s *shelf) {
	upload := s.create("rewritten")
	old, newer := noise(7, 900), noise(8, 950)
	stale := s.part(upload, 1, old)
	fresh := s.part(upload, 1, newer)
	again := s.part(upload, 1, newer)
	diff(s.t, "the same part written again", again, fresh)
	_, err := s.complete(upload, old, stale)
	s.code("completing with the stale part", err, "")
	s.missing("rewritten")
	if _, err := s.complete(upload, newer, fresh); err != nil {
		s.t.Fatalf("complete: %v", err)
	}
	s.holds("rewritten", newer)
}

func smallPart(s *shelf) {
	upload := s.create("small-parts")
	one, two := noise(9, limits.StorePartBytesMin-1), noise(10, 10)
	_, err := s.complete(upload, slices.Concat(one, two), s.part(upload, 1, one), s.part(upload, 2, two))
	s.code("completing with a small first part", err, "")
	s.missing("small-parts")
	_, err = s.complete(upload, nil)
	s.code("completing with no part", err, "")
	s.missing("small-parts")
}

func wholeChecksum(s *shelf) {
	upload := s.create("wrong-whole")
	data := noise(11, 2000)
	part := s.part(upload, 1, data)
	_, err := s.store.CompleteUpload(s.ctx, upload, []job.Part{part}, pipeline.Object{Key: upload.Key, Bytes: 2000, CRC64: sum(data) ^ 1})
	s.code("another checksum", err, "checksum_mismatch")
	_, err = s.store.CompleteUpload(s.ctx, upload, []job.Part{part}, pipeline.Object{Key: upload.Key, Bytes: 2001, CRC64: sum(data)})
	s.code("another size", err, "checksum_mismatch")
	s.missing("wrong-whole")
	if _, err := s.complete(upload, data, part); err != nil {
		s.t.Errorf("completing it rightly afterwards: %v", err)
	}
}

func completeOverExisting(s *shelf) {
	first := []byte("first")
	s.put("taken", first)
	upload := s.create("taken")
	second := []byte("second")
	_, err := s.complete(upload, second, s.part(upload, 1, second))
	s.code("completing over an object", err, "object_exists")
	s.holds("taken", first)
}

func completionRace(s *shelf) {
	const rivals = 4
	var wins atomic.Int32
	var winner atomic.Uint64
	var group sync.WaitGroup
	for n := range uint64(rivals) {
		upload := s.create("contested")
		data := noise(20+n, 500)
		part := s.part(upload, 1, data)
		group.Go(func() {
			switch _, err := s.complete(upload, data, part); {
			case err == nil:
				wins.Add(1)
				winner.Store(20 + n)
			case job.CodeOf(err) != "object_exists" && job.KindOf(err) != job.Overload:
				s.t.Errorf("the loser got %v, want object_exists", err)
			}
		})
	}
	group.Wait()
	if wins.Load() != 1 {
		s.t.Fatalf("%d completions won, want 1", wins.Load())
	}
	s.holds("contested", noise(winner.Load(), 500))
}

func copiedParts(s *shelf) {
	source := noise(12, limits.StorePartBytesMin+5000)
	object := s.put("source", source)
	upload := s.create("assembled")
	var parts []job.Part
	for i, slice := range [][2]int64{{0, limits.StorePartBytesMin + 100}, {limits.StorePartBytesMin + 100, int64(len(source))}} {
		part, err := s.store.CopyPart(s.ctx, upload, int64(i+1), pipeline.Slice{Key: object.Key, ETag: object.ETag, From: slice[0], To: slice[1]})
		if err != nil {
			s.t.Fatalf("copy part %d: %v", i+1, err)
		}
		diff(s.t, "copied part", part, job.Part{
			Number: int64(i + 1), ETag: part.ETag, Bytes: slice[1] - slice[0], CRC64: sum(source[slice[0]:slice[1]]),
		})
		parts = append(parts, part)
	}
	_, err := s.store.CopyPart(s.ctx, upload, 3, pipeline.Slice{Key: object.Key, ETag: "0123456789abcdef0123456789abcdef", To: 100})
	s.code("copying another version", err, "object_changed")
	_, err = s.store.CopyPart(s.ctx, upload, 3, pipeline.Slice{Key: s.prefix + "nothing", ETag: object.ETag, To: 100})
	s.code("copying nothing", err, "object_missing")
	if _, err := s.complete(upload, source, parts...); err != nil {
		s.t.Fatalf("complete: %v", err)
	}
	s.holds("assembled", source)
}

func missingUpload(s *shelf) {
	gone := s.create("gone")
	if err := s.store.AbortUpload(s.ctx, gone.Key, gone.ID); err != nil {
		s.t.Fatalf("abort: %v", err)
	}
	data := []byte("x")
	_, err := s.store.PutPart(s.ctx, gone, 1, data, sum(data))
	s.code("put part", err, "upload_missing")
	_, err = s.store.Parts(s.ctx, gone)
	s.code("list parts", err, "upload_missing")
	_, err = s.complete(gone, data, job.Part{Number: 1, ETag: "0123456789abcdef0123456789abcdef", Bytes: 1, CRC64: sum(data)})
	s.code("complete", err, "upload_missing")
	object := s.put("there", data)
	_, err = s.store.CopyPart(s.ctx, gone, 1, pipeline.Slice{Key: object.Key, ETag: object.ETag, To: 1})
	s.code("copy part", err, "upload_missing")
	s.missing("gone")
}

func abortTwice(s *shelf) {
	upload, other := s.create("aborted"), s.create("kept")
	s.part(upload, 1, []byte("x"))
	for range 2 {
		if err := s.store.AbortUpload(s.ctx, upload.Key, upload.ID); err != nil {
			s.t.Fatalf("abort: %v", err)
		}
	}
	uploads, err := s.store.Uploads(s.ctx, s.prefix, pipeline.StoredUpload{}, 10)
	if err != nil || len(uploads) != 1 || uploads[0].ID != other.ID {
		s.t.Errorf("uploads after the abort: %v, %v", uploads, err)
	}
}
