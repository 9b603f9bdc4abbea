package artifact_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"sealift/shared/artifact"
	"sealift/shared/checksum"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/pipeline/cloudtest"
	"sealift/shared/pipeline/pipelinetest"
)

// live is a store on the embedded cloud and a job of its own there.
type live struct {
	*artifact.Store
	t      *testing.T
	client *s3.Client
	bucket string
	tenant string
	job    string
}

func TestTheStoreOnTheEmbeddedCloud(t *testing.T) {
	t.Parallel()
	cloud := cloudtest.Start(t)
	client := s3.NewFromConfig(cloud.Config, func(o *s3.Options) { o.UsePathStyle = true })
	store := artifact.New(client, cloud.Bucket, artifact.Options{})
	pipelinetest.Store(t, func(*testing.T) pipeline.Store { return store })
	for _, test := range []struct {
		name string
		run  func(t *testing.T, l live)
	}{
		{"put creates once and keeps the checksum", putCreatesOnceAndKeepsTheChecksum},
		{"what is not there is said so", whatIsNotThereIsSaidSo},
		{"a spoilt part is refused", aSpoiltPartIsRefused},
		{"an artifact is assembled from shards without their bytes", anArtifactIsAssembledFromShardsWithoutTheirBytes},
		{"completing proves what is in the file", completingProvesWhatIsInTheFile},
		{"reads and deletes name the version", readsAndDeletesNameTheVersion},
		{"even the smallest source is copied", evenTheSmallestSourceIsCopied},
		{"copy names the version", copyNamesTheVersion},
		{"listings go on where they stopped", listingsGoOnWhereTheyStopped},
		{"parts are listed beyond one page", partsAreListedBeyondOnePage},
		{"a link downloads under its name until its end", aLinkDownloadsUnderItsNameUntilItsEnd},
		{"a cancelled call says so", aCancelledCallSaysSo},
		{"a missing bucket is named", aMissingBucketIsNamed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, live{Store: store, t: t, client: client, bucket: cloud.Bucket, tenant: "acme " + test.name, job: newJob()})
		})
	}
}

func newJob() string {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return job.NewID(random)
}

func (l live) staging(shard int) string {
	return artifact.Keys{}.Staging(l.tenant, l.job, job.ShardID(shard), 1)
}

func (l live) begin(name string) job.Upload {
	l.t.Helper()
	id, err := l.CreateUpload(l.t.Context(), pipeline.NewObject{Key: name, ContentType: "text/csv"})
	must(l.t, err)
	return job.Upload{Key: name, ID: id}
}

func (l live) part(upload job.Upload, number int64, data []byte) job.Part {
	l.t.Helper()
	sum := uint64(checksum.Sum64(data))
	etag, err := l.PutPart(l.t.Context(), upload, number, data, sum)
	must(l.t, err)
	return job.Part{Number: number, ETag: etag, Bytes: int64(len(data)), CRC64: sum}
}

// sample is n bytes that differ from place to place.
func sample(n int, seed uint64) []byte {
	data := make([]byte, n)
	source := mathrand.NewChaCha8([32]byte{byte(seed)})
	_, _ = source.Read(data)
	return data
}

func putCreatesOnceAndKeepsTheChecksum(t *testing.T, l live) {
	name, data := l.staging(1), sample(1000, 1)
	made, err := l.Put(t.Context(), pipeline.NewObject{Key: name, ContentType: "text/csv"}, data)
	must(t, err)
	stat, ok, err := l.Stat(t.Context(), name)
	must(t, err)
	want := pipeline.Object{Key: name, ETag: made.ETag, Bytes: 1000, CRC64: uint64(checksum.Sum64(data))}
	if diff := cmp.Diff(want, stat); diff != "" || !ok || made != want {
		t.Errorf("ok %v, made %+v, stat differs:\n%s", ok, made, diff)
	}
	_, err = l.Put(t.Context(), pipeline.NewObject{Key: name}, []byte("other"))
	wantCode(t, err, job.Permanent, "object_exists")

	empty := l.staging(2)
	_, err = l.Put(t.Context(), pipeline.NewObject{Key: empty}, nil)
	must(t, err)
	if stat, ok, err := l.Stat(t.Context(), empty); err != nil || !ok || stat.Bytes != 0 {
		t.Errorf("an empty object: %+v, %v, %v", stat, ok, err)
	}
}

func whatIsNotThereIsSaidSo(t *testing.T, l live) {
	name := l.staging(1)
	gone := job.Upload{Key: name, ID: "4f1c1ea0-6a3d-4a6f-9d1c-1d0f5a8b2f11"}
	if _, ok, err := l.Stat(t.Context(), name); ok || err != nil {
		t.Errorf("stat: %v, %v", ok, err)
	}
	_, err := l.Read(t.Context(), pipeline.Slice{Key: name, To: 1})
	wantCode(t, err, job.Permanent, "object_missing")
	must(t, l.Delete(t.Context(), name, ""))
	must(t, l.Delete(t.Context(), name, "d41d8cd98f00b204e9800998ecf8427e"))
	must(t, l.AbortUpload(t.Context(), name, gone.ID))
	_, err = l.Parts(t.Context(), gone)
	wantCode(t, err, job.Permanent, "upload_missing")
	_, err = l.PutPart(t.Context(), gone, 1, []byte("x"), uint64(checksum.Sum64([]byte("x"))))
	wantCode(t, err, job.Permanent, "upload_missing")
	_, err = l.CompleteUpload(t.Context(), gone,
		[]job.Part{{Number: 1, ETag: "d41d8cd98f00b204e9800998ecf8427e", Bytes: 1, CRC64: 7}}, pipeline.Object{Bytes: 1, CRC64: 7})
	wantCode(t, err, job.Permanent, "upload_missing")
	upload := l.begin(l.staging(2))
	_, err = l.CopyPart(t.Context(), upload, 1, pipeline.Slice{Key: name, ETag: "x", To: 10})
	wantCode(t, err, job.Permanent, "object_missing")
}

func aSpoiltPartIsRefused(t *testing.T, l live) {
	upload := l.begin(l.staging(1))
	_, err := l.PutPart(t.Context(), upload, 1, []byte("spoilt"), uint64(checksum.Sum64([]byte("intact"))))
	wantCode(t, err, job.Permanent, "checksum_mismatch")
	parts, err := l.Parts(t.Context(), upload)
	must(t, err)
	if len(parts) != 0 {
		t.Errorf("the refused part is there: %+v", parts)
	}
}

func anArtifactIsAssembledFromShardsWithoutTheirBytes(t *testing.T, l live) {
	var whole []byte
	var staged []pipeline.Object
	for shard := 1; shard <= 2; shard++ {
		upload := l.begin(l.staging(shard))
		first, second := sample(5*limits.MiB, uint64(shard)), sample(100_000, uint64(shard+10))
		// A takeover skips numbers; the gap must not matter.
		parts := []job.Part{l.part(upload, 1, first), l.part(upload, 4, second)}
		data := append(first, second...)
		object, err := l.CompleteUpload(t.Context(), upload, parts, pipeline.Object{Bytes: int64(len(data)), CRC64: uint64(checksum.Sum64(data))})
		must(t, err)
		staged = append(staged, object)
		whole = append(whole, data...)
	}
	tail := []byte("tail\n")
	whole = append(whole, tail...)
	target := artifact.Keys{}.Artifact(l.tenant, l.job, 1, "r1", "orders.csv")
	upload := l.begin(target)
	var parts []job.Part
	for i, object := range staged {
		// The first is copied in two ranges, the second whole.
		cut := object.Bytes
		if i == 0 {
			cut = 5 * limits.MiB
		}
		for from := int64(0); from < object.Bytes; from, cut = cut, object.Bytes {
			part, err := l.CopyPart(t.Context(), upload, int64(len(parts)+1), pipeline.Slice{Key: object.Key, ETag: object.ETag, From: from, To: cut})
			must(t, err)
			parts = append(parts, part)
		}
	}
	// The short end of the first shard may not stand in the middle of a file, so the store refuses the list.
	last := l.part(upload, 4, tail)
	want := pipeline.Object{Key: target, Bytes: int64(len(whole)), CRC64: uint64(checksum.Sum64(whole))}
	_, err := l.CompleteUpload(t.Context(), upload, append(parts, last), want)
	wantCode(t, err, job.Permanent, "part_invalid")

	copied, err := l.CopyPart(t.Context(), upload, 1, pipeline.Slice{Key: staged[0].Key, ETag: staged[0].ETag, To: staged[0].Bytes})
	must(t, err)
	listed, err := l.Parts(t.Context(), upload)
	must(t, err)
	parts = []job.Part{copied, parts[2], last}
	if diff := cmp.Diff([]job.Part{copied, parts[1], last}, []job.Part{listed[0], listed[2], listed[3]}); diff != "" {
		t.Errorf("the listing differs from what was written:\n%s", diff)
	}
	made, err := l.CompleteUpload(t.Context(), upload, parts, want)
	must(t, err)
	if made.CRC64 != want.CRC64 || made.Bytes != want.Bytes || made.ETag == "" {
		t.Errorf("made %+v, want %+v", made, want)
	}
	stat, _, err := l.Stat(t.Context(), target)
	must(t, err)
	if diff := cmp.Diff(made, stat); diff != "" {
		t.Errorf("stat differs from what was made:\n%s", diff)
	}
	data, err := l.Read(t.Context(), pipeline.Slice{Key: target, ETag: made.ETag, To: made.Bytes})
	must(t, err)
	if !bytes.Equal(data, whole) {
		t.Error("the artifact is not the shards and the tail in order")
	}
}

func completingProvesWhatIsInTheFile(t *testing.T, l live) {
	name := l.staging(1)
	upload := l.begin(name)
	data := sample(1000, 3)
	old := l.part(upload, 1, []byte("an older attempt"))
	part := l.part(upload, 1, data)
	want := pipeline.Object{Bytes: 1000, CRC64: part.CRC64}

	stale := part
	stale.ETag = old.ETag
	_, err := l.CompleteUpload(t.Context(), upload, []job.Part{stale}, want)
	wantCode(t, err, job.Permanent, "part_invalid")
	_, err = l.CompleteUpload(t.Context(), upload, []job.Part{part}, pipeline.Object{Bytes: 1000, CRC64: 1})
	wantCode(t, err, job.Permanent, "checksum_mismatch")
	_, err = l.CompleteUpload(t.Context(), upload, []job.Part{part}, pipeline.Object{Bytes: 999, CRC64: part.CRC64})
	wantCode(t, err, job.Permanent, "checksum_mismatch")
	_, err = l.CompleteUpload(t.Context(), upload, nil, pipeline.Object{})
	wantCode(t, err, job.Permanent, "part_invalid")
	_, err = l.CompleteUpload(t.Context(), upload, []job.Part{part, part}, want)
	wantCode(t, err, job.Permanent, "part_invalid")

	other := l.begin(name)
	otherPart := l.part(other, 1, data)
	made, err := l.CompleteUpload(t.Context(), upload, []job.Part{part}, want)
	must(t, err)
	_, err = l.CompleteUpload(t.Context(), other, []job.Part{otherPart}, want)
	wantCode(t, err, job.Permanent, "object_exists")
	must(t, l.AbortUpload(t.Context(), name, other.ID))
	if stat, ok, err := l.Stat(t.Context(), name); err != nil || !ok || stat.ETag != made.ETag {
		t.Errorf("the loser changed the object: %+v, %v, %v", stat, ok, err)
	}
}

func readsAndDeletesNameTheVersion(t *testing.T, l live) {
	name := l.staging(1)
	made, err := l.Put(t.Context(), pipeline.NewObject{Key: name}, []byte("0123456789"))
	must(t, err)
	data, err := l.Read(t.Context(), pipeline.Slice{Key: name, ETag: made.ETag, From: 3, To: 6})
	must(t, err)
	if string(data) != "345" {
		t.Errorf("read %q, want 345", data)
	}
	_, err = l.Read(t.Context(), pipeline.Slice{Key: name, From: 4, To: 4})
	wantCode(t, err, job.Permanent, "range_invalid")
	_, err = l.Read(t.Context(), pipeline.Slice{Key: name, ETag: "00000000000000000000000000000000", To: 1})
	wantCode(t, err, job.Permanent, "object_changed")
	_, err = l.Read(t.Context(), pipeline.Slice{Key: name, From: 5, To: 20})
	wantCode(t, err, job.Permanent, "range_invalid")
	_, err = l.Read(t.Context(), pipeline.Slice{Key: name, From: 50, To: 60})
	wantCode(t, err, job.Permanent, "range_invalid")
	_, err = l.Read(t.Context(), pipeline.Slice{Key: name, From: 5, To: 2})
	wantCode(t, err, job.Permanent, "range_invalid")
	wantCode(t, l.Delete(t.Context(), name, "00000000000000000000000000000000"), job.Permanent, "object_changed")
	if _, ok, err := l.Stat(t.Context(), name); !ok || err != nil {
		t.Errorf("the other version was removed: %v, %v", ok, err)
	}
	must(t, l.Delete(t.Context(), name, made.ETag))
	if _, ok, err := l.Stat(t.Context(), name); ok || err != nil {
		t.Errorf("still there: %v, %v", ok, err)
	}
}

func evenTheSmallestSourceIsCopied(t *testing.T, l live) {
	data := sample(5*limits.MiB, 5)
	from, err := l.Put(t.Context(), pipeline.NewObject{Key: l.staging(1)}, data)
	must(t, err)
	upload := l.begin(l.staging(2))
	first, err := l.CopyPart(t.Context(), upload, 1, pipeline.Slice{Key: from.Key, ETag: from.ETag, To: from.Bytes})
	must(t, err)
	second, err := l.CopyPart(t.Context(), upload, 2, pipeline.Slice{Key: from.Key, ETag: from.ETag, From: 10, To: 20})
	must(t, err)
	whole := append(slices.Clone(data), data[10:20]...)
	want := pipeline.Object{Bytes: int64(len(whole)), CRC64: uint64(checksum.Sum64(whole))}
	_, err = l.CompleteUpload(t.Context(), upload, []job.Part{first, second}, want)
	must(t, err)
}

func copyNamesTheVersion(t *testing.T, l live) {
	from, err := l.Put(t.Context(), pipeline.NewObject{Key: l.staging(1)}, sample(6*limits.MiB, 4))
	must(t, err)
	upload := l.begin(l.staging(2))
	_, err = l.CopyPart(t.Context(), upload, 1, pipeline.Slice{Key: from.Key, ETag: "00000000000000000000000000000000", To: from.Bytes})
	wantCode(t, err, job.Permanent, "object_changed")
	_, err = l.CopyPart(t.Context(), upload, 0, pipeline.Slice{Key: from.Key, To: from.Bytes})
	wantCode(t, err, job.Permanent, "part_invalid")
	_, err = l.CopyPart(t.Context(), upload, 1, pipeline.Slice{Key: from.Key, To: 2 * limits.GiB})
	wantCode(t, err, job.Permanent, "range_invalid")
}

func listingsGoOnWhereTheyStopped(t *testing.T, l live) {
	prefix := artifact.Keys{}.Prefixes(l.tenant, l.job)[0]
	var keys, uploads []string
	for shard := 1; shard <= 5; shard++ {
		_, err := l.Put(t.Context(), pipeline.NewObject{Key: l.staging(shard)}, []byte("x"))
		must(t, err)
		keys = append(keys, l.staging(shard))
	}
	for shard := range 5 {
		upload := l.begin(l.staging(10 + shard/2))
		uploads = append(uploads, upload.Key+" "+upload.ID)
	}
	var gotKeys, gotUploads []string
	after := ""
	for range 4 {
		objects, err := l.Objects(t.Context(), prefix, after, 2)
		must(t, err)
		for _, object := range objects {
			gotKeys, after = append(gotKeys, object.Key), object.Key
			if object.ETag == "" || object.Bytes != 1 || time.Since(object.Modified).Abs() > time.Hour {
				t.Errorf("the listing shows %+v", object)
			}
		}
	}
	var last pipeline.StoredUpload
	for range 4 {
		page, err := l.Uploads(t.Context(), prefix, last, 2)
		must(t, err)
		for _, upload := range page {
			gotUploads, last = append(gotUploads, upload.Key+" "+upload.ID), upload
			if time.Since(upload.Started).Abs() > time.Hour {
				t.Errorf("the listing shows %+v", upload)
			}
		}
	}
	if diff := cmp.Diff(keys, gotKeys); diff != "" {
		t.Errorf("objects:\n%s", diff)
	}
	// Uploads of one key come in the order of their start on S3 and of their ids elsewhere; each comes once either way.
	slices.Sort(uploads)
	slices.Sort(gotUploads)
	if diff := cmp.Diff(uploads, gotUploads); diff != "" {
		t.Errorf("uploads:\n%s", diff)
	}
	if objects, err := l.Objects(t.Context(), prefix, "", 0); err != nil || len(objects) != 0 {
		t.Errorf("a limit of 0: %v, %v", objects, err)
	}
}

func partsAreListedBeyondOnePage(t *testing.T, l live) {
	upload := l.begin(l.staging(1))
	const count = 1003
	var want []int64
	for number := int64(1); number <= count; number++ {
		l.part(upload, number, []byte("x"))
		want = append(want, number)
	}
	parts, err := l.Parts(t.Context(), upload)
	must(t, err)
	var got []int64
	for _, part := range parts {
		got = append(got, part.Number)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts:\n%s", diff)
	}
}

func aLinkDownloadsUnderItsNameUntilItsEnd(t *testing.T, l live) {
	const fileName = `订单,导出 "Q3".csv`
	name := artifact.Keys{}.Artifact(l.tenant, l.job, 1, "r9", fileName)
	_, err := l.Put(t.Context(), pipeline.NewObject{Key: name, ContentType: "text/csv"}, []byte("0123456789"))
	must(t, err)
	link := pipeline.Link{Key: name, FileName: fileName, ContentType: "text/csv; charset=utf-8", Lifetime: 5 * time.Minute, Now: time.Now()}
	address, expires, err := l.Sign(t.Context(), link)
	must(t, err)
	if want := link.Now.UTC().Truncate(time.Second).Add(5 * time.Minute); !expires.Equal(want) {
		t.Errorf("expires %s, want %s", expires, want)
	}
	status, header, body := get(t, address, "bytes=2-4")
	if status != http.StatusPartialContent || body != "234" {
		t.Errorf("range: %d %q", status, body)
	}
	_, params, err := mime.ParseMediaType(header.Get("Content-Disposition"))
	if err != nil || params["filename"] != fileName || header.Get("Content-Type") != link.ContentType {
		t.Errorf("headers %v: %v", header, err)
	}
	for title, change := range map[string]func(url.Values){
		"a longer life":   func(q url.Values) { q.Set("X-Amz-Expires", "3600") },
		"another name":    func(q url.Values) { q.Set("response-content-disposition", "inline") },
		"without signing": func(q url.Values) { q.Del("X-Amz-Signature") },
	} {
		parsed, _ := url.Parse(address)
		query := parsed.Query()
		change(query)
		parsed.RawQuery = query.Encode()
		if status, _, _ := get(t, parsed.String(), ""); status < 400 || status > 403 {
			t.Errorf("%s: status %d", title, status)
		}
	}
	link.Now = link.Now.Add(-6 * time.Minute)
	address, _, err = l.Sign(t.Context(), link)
	must(t, err)
	if status, _, _ := get(t, address, ""); status != http.StatusForbidden {
		t.Errorf("an ended link: status %d", status)
	}
}

func get(t *testing.T, address, byteRange string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	must(t, err)
	if byteRange != "" {
		request.Header.Set("Range", byteRange)
	}
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, response.Header, string(body)
}

func aCancelledCallSaysSo(t *testing.T, l live) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := l.Stat(ctx, l.staging(1))
	wantCode(t, err, job.Cancelled, "store_cancelled")
	_, err = l.Put(ctx, pipeline.NewObject{Key: l.staging(1)}, []byte("x"))
	wantCode(t, err, job.Cancelled, "store_cancelled")
}

func aMissingBucketIsNamed(t *testing.T, l live) {
	store := artifact.New(l.client, "no-such-bucket", artifact.Options{})
	_, err := store.Put(t.Context(), pipeline.NewObject{Key: l.staging(1)}, []byte("x"))
	if job.KindOf(err) != job.Permanent || !strings.Contains(fmt.Sprint(err), "no-such-bucket") {
		t.Errorf("got %v", err)
	}
}
