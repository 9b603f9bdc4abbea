package storage

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc64"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const mib = 1 << 20

// payload is n bytes that differ from place to place.
func payload(n int) []byte {
	data := make([]byte, n)
	x := uint32(2463534242)
	for i := range data {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		data[i] = byte(x)
	}
	return data
}

// nvmeOf is the checksum that S3 reports, computed here on its own.
func nvmeOf(data []byte) string {
	table := crc64.MakeTable(bits.Reverse64(0xad93d23594c93659))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, crc64.Checksum(data, table)))
}

type upload struct {
	t      *testing.T
	st     live
	bucket string
	key    string
	id     string

	algorithm types.ChecksumAlgorithm // of the upload; a part must not come with another, which the SDK would choose
}

func begin(t *testing.T, st live, bucket, key string, algorithm types.ChecksumAlgorithm) upload {
	t.Helper()
	in := &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key, ContentType: aws.String("text/csv"), ChecksumAlgorithm: algorithm}
	if algorithm != "" {
		in.ChecksumType = types.ChecksumTypeFullObject
	}
	out, err := st.function.CreateMultipartUpload(t.Context(), in)
	ok(t, err)
	return upload{t: t, st: st, bucket: bucket, key: key, id: *out.UploadId, algorithm: algorithm}
}

func (u upload) part(number int32, data []byte) types.CompletedPart {
	u.t.Helper()
	out, err := u.st.function.UploadPart(u.t.Context(), &s3.UploadPartInput{Bucket: &u.bucket, Key: &u.key, UploadId: &u.id,
		PartNumber: &number, Body: bytes.NewReader(data), ChecksumAlgorithm: u.algorithm})
	ok(u.t, err)
	return types.CompletedPart{PartNumber: &number, ETag: out.ETag, ChecksumCRC64NVME: out.ChecksumCRC64NVME}
}

func (u upload) copy(number int32, source, span string) (types.CompletedPart, error) {
	in := &s3.UploadPartCopyInput{Bucket: &u.bucket, Key: &u.key, UploadId: &u.id, PartNumber: &number,
		CopySource: aws.String(u.bucket + "/" + source)}
	if span != "" {
		in.CopySourceRange = &span
	}
	out, err := u.st.function.UploadPartCopy(u.t.Context(), in)
	if err != nil {
		return types.CompletedPart{}, err
	}
	return types.CompletedPart{PartNumber: &number, ETag: out.CopyPartResult.ETag, ChecksumCRC64NVME: out.CopyPartResult.ChecksumCRC64NVME}, nil
}

func (u upload) complete(parts []types.CompletedPart, change func(*s3.CompleteMultipartUploadInput)) (*s3.CompleteMultipartUploadOutput, error) {
	in := &s3.CompleteMultipartUploadInput{Bucket: &u.bucket, Key: &u.key, UploadId: &u.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}}
	if change != nil {
		change(in)
	}
	return u.st.function.CompleteMultipartUpload(u.t.Context(), in)
}

func multipart(t *testing.T, st live, bucket string) {
	data := payload(12*mib + 17)
	for _, algorithm := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmCrc64nvme} {
		key := "out/" + string(algorithm) + "file"
		u := begin(t, st, bucket, key, algorithm)
		parts := []types.CompletedPart{u.part(2, data[:6*mib]), u.part(3, data[6*mib:12*mib]), u.part(7, data[12*mib:])}
		if algorithm == "" {
			for i := range parts {
				parts[i].ChecksumCRC64NVME = nil
			}
		}
		done, err := u.complete(parts, func(in *s3.CompleteMultipartUploadInput) {
			in.IfNoneMatch = aws.String("*")
			in.MpuObjectSize = aws.Int64(int64(len(data)))
			if algorithm != "" {
				in.ChecksumCRC64NVME = aws.String(nvmeOf(data))
			}
		})
		ok(t, err)
		equal(t, "completed checksum", aws.ToString(done.ChecksumCRC64NVME), nvmeOf(data))
		equal(t, "completed checksum type", done.ChecksumType, types.ChecksumTypeFullObject)
		check(t, st, bucket, key, data)
	}
}

// check reads an object's size, checksum and bytes.
func check(t *testing.T, st live, bucket, key string, want []byte) {
	t.Helper()
	head, err := st.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	ok(t, err)
	equal(t, "size", aws.ToInt64(head.ContentLength), int64(len(want)))
	equal(t, "checksum", aws.ToString(head.ChecksumCRC64NVME), nvmeOf(want))
	equal(t, "content type", aws.ToString(head.ContentType), "text/csv")
	got, err := st.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	ok(t, err)
	if !bytes.Equal(read(t, got.Body), want) {
		t.Error("bytes differ")
	}
}

func copyRefused(t *testing.T, st live, bucket string) {
	for key, size := range map[string]int{"small": 5 * mib, "large": 5*mib + 1} {
		_, err := st.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(payload(size))})
		ok(t, err)
	}
	for _, algorithm := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmCrc64nvme} {
		u := begin(t, st, bucket, "target", algorithm)
		for _, c := range []struct{ name, source, span, code string }{
			{"missing source", "missing", "", "NoSuchKey"},
			{"missing source with range", "missing", "bytes=0-9", "NoSuchKey"},
			{"range of a small source", "small", "bytes=0-9", "InvalidRequest"},
			{"range past the end", "large", "bytes=0-5242881", "InvalidArgument"},
			{"range without an end", "large", "bytes=5-", "InvalidArgument"},
			{"range backwards", "large", "bytes=9-5", "InvalidArgument"},
		} {
			if _, err := u.copy(1, c.source, c.span); codeOf(err) != c.code {
				t.Errorf("%s (%s): got %v, want %s", c.name, algorithm, err, c.code)
			}
		}
		_, err := u.copy(1, "small", "")
		ok(t, err)
		u.id = "unknown"
		_, err = u.copy(1, "small", "")
		refused(t, err, "NoSuchUpload")
	}
}

func completeRefused(t *testing.T, st live, bucket string) {
	for _, algorithm := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmCrc64nvme} {
		u := begin(t, st, bucket, "file"+string(algorithm), algorithm)
		stale := u.part(1, payload(5*mib))
		current := u.part(1, payload(5*mib + 1)[1:])
		small := u.part(2, []byte("small"))
		last := u.part(3, []byte("last"))
		large := u.part(4, payload(5*mib))
		for _, c := range []struct {
			name, code string
			parts      []types.CompletedPart
		}{
			{"stale etag", "InvalidPart", []types.CompletedPart{stale, last}},
			{"part never uploaded", "InvalidPart", []types.CompletedPart{current, {PartNumber: aws.Int32(9), ETag: current.ETag, ChecksumCRC64NVME: current.ChecksumCRC64NVME}}},
			{"small part before the last", "EntityTooSmall", []types.CompletedPart{current, small, last}},
			{"wrong order", "InvalidPartOrder", []types.CompletedPart{large, current}},
			{"same part twice", "InvalidPartOrder", []types.CompletedPart{current, current}},
			{"no parts", "MalformedXML", nil},
		} {
			if _, err := u.complete(c.parts, nil); codeOf(err) != c.code {
				t.Errorf("%s (%s): got %v, want %s", c.name, algorithm, err, c.code)
			}
		}
		_, err := u.complete([]types.CompletedPart{current, last}, nil)
		ok(t, err)
		check(t, st, bucket, u.key, append(payload(5*mib + 1)[1:], "last"...))
		u.id = "unknown"
		_, err = u.complete([]types.CompletedPart{current}, nil)
		refused(t, err, "NoSuchUpload")
	}
}

func completeIfAbsent(t *testing.T, st live, bucket string) {
	first, second := begin(t, st, bucket, "file", types.ChecksumAlgorithmCrc64nvme), begin(t, st, bucket, "file", types.ChecksumAlgorithmCrc64nvme)
	absent := func(in *s3.CompleteMultipartUploadInput) { in.IfNoneMatch = aws.String("*") }
	one, two := first.part(1, []byte("one")), second.part(1, []byte("two"))
	_, err := first.complete([]types.CompletedPart{one}, absent)
	ok(t, err)
	_, err = second.complete([]types.CompletedPart{two}, absent)
	refused(t, err, "PreconditionFailed")
	check(t, st, bucket, "file", []byte("one"))
}

func completeChecks(t *testing.T, st live, bucket string) {
	u := begin(t, st, bucket, "file", types.ChecksumAlgorithmCrc64nvme)
	data := payload(5*mib + 3)
	parts := []types.CompletedPart{u.part(1, data[:5*mib]), u.part(2, data[5*mib:])}
	for _, c := range []struct {
		name, code string
		change     func(*s3.CompleteMultipartUploadInput)
	}{
		{"wrong size", "InvalidRequest", func(in *s3.CompleteMultipartUploadInput) { in.MpuObjectSize = aws.Int64(5) }},
		{"wrong checksum", "BadDigest", func(in *s3.CompleteMultipartUploadInput) { in.ChecksumCRC64NVME = aws.String("AAAAAAAAAAA=") }},
		{"wrong part checksum", "InvalidPart", func(in *s3.CompleteMultipartUploadInput) {
			wrong := slices.Clone(in.MultipartUpload.Parts)
			wrong[0].ChecksumCRC64NVME = aws.String("AAAAAAAAAAA=")
			in.MultipartUpload = &types.CompletedMultipartUpload{Parts: wrong}
		}},
	} {
		if _, err := u.complete(parts, c.change); codeOf(err) != c.code {
			t.Errorf("%s: got %v, want %s", c.name, err, c.code)
		}
	}
	_, err := u.complete(parts, nil)
	ok(t, err)
	check(t, st, bucket, "file", data)
}

// Another upload's object at the key is no success of this one.
func completeForeign(t *testing.T, st live, bucket string) {
	first, second := begin(t, st, bucket, "file", ""), begin(t, st, bucket, "file", "")
	one, two := first.part(1, []byte("one")), second.part(1, []byte("two"))
	one.ChecksumCRC64NVME, two.ChecksumCRC64NVME = nil, nil
	_, err := first.complete([]types.CompletedPart{one}, nil)
	ok(t, err)
	_, err = st.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: &second.key, UploadId: &second.id})
	ok(t, err)
	_, err = second.complete([]types.CompletedPart{two}, nil)
	refused(t, err, "NoSuchUpload")
}

func completeAgain(t *testing.T, st live, bucket string) {
	u := begin(t, st, bucket, "file", types.ChecksumAlgorithmCrc64nvme)
	parts := []types.CompletedPart{u.part(1, []byte("one"))}
	first, err := u.complete(parts, nil)
	ok(t, err)
	again, err := u.complete(parts, nil)
	ok(t, err)
	equal(t, "etag", aws.ToString(again.ETag), aws.ToString(first.ETag))
}

func abort(t *testing.T, st live, bucket string) {
	u := begin(t, st, bucket, "file", "")
	part := u.part(1, []byte("one"))
	in := &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: &u.key, UploadId: &u.id}
	_, err := st.AbortMultipartUpload(t.Context(), in)
	ok(t, err)
	_, err = st.AbortMultipartUpload(t.Context(), in)
	refused(t, err, "NoSuchUpload")
	_, err = u.complete([]types.CompletedPart{part}, nil)
	refused(t, err, "NoSuchUpload")
	_, err = st.ListParts(t.Context(), &s3.ListPartsInput{Bucket: &bucket, Key: &u.key, UploadId: &u.id})
	refused(t, err, "NoSuchUpload")
	_, err = st.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &u.key})
	refused(t, err, "NotFound")
}

func listParts(t *testing.T, st live, bucket string) {
	u := begin(t, st, bucket, "file", types.ChecksumAlgorithmCrc64nvme)
	want := map[int32]types.CompletedPart{}
	for _, n := range []int32{1, 2, 5, 10, 200} {
		want[n] = u.part(n, payload(int(n)))
	}
	var got []int32
	pager := s3.NewListPartsPaginator(st.Client, &s3.ListPartsInput{Bucket: &bucket, Key: &u.key, UploadId: &u.id, MaxParts: aws.Int32(2)})
	for pager.HasMorePages() {
		page, err := pager.NextPage(t.Context())
		ok(t, err)
		for _, p := range page.Parts {
			n := aws.ToInt32(p.PartNumber)
			got = append(got, n)
			equal(t, "size", aws.ToInt64(p.Size), int64(n))
			equal(t, "etag", aws.ToString(p.ETag), aws.ToString(want[n].ETag))
			equal(t, "checksum", aws.ToString(p.ChecksumCRC64NVME), aws.ToString(want[n].ChecksumCRC64NVME))
		}
	}
	if !slices.Equal(got, []int32{1, 2, 5, 10, 200}) {
		t.Errorf("parts: got %v", got)
	}
}

func listUploads(t *testing.T, st live, bucket string) {
	want := map[string]string{}
	for _, key := range []string{"a/1", "a/1", "a/2", "a/3", "b/1"} {
		u := begin(t, st, bucket, key, "")
		if strings.HasPrefix(key, "a/") {
			want[u.id] = key
		}
	}
	got := map[string]string{}
	pager := s3.NewListMultipartUploadsPaginator(st.Client, &s3.ListMultipartUploadsInput{Bucket: &bucket, Prefix: aws.String("a/"), MaxUploads: aws.Int32(2)})
	pages := 0
	for pager.HasMorePages() && pages < 10 {
		page, err := pager.NextPage(t.Context())
		ok(t, err)
		pages++
		for _, u := range page.Uploads {
			if _, twice := got[*u.UploadId]; twice {
				t.Errorf("upload of %s listed twice", *u.Key)
			}
			got[*u.UploadId] = *u.Key
			if u.Initiated == nil {
				t.Error("upload without start time")
			}
		}
	}
	equal(t, "pages", pages, 2)
	for id, key := range want {
		equal(t, "upload "+id, got[id], key)
	}
	equal(t, "uploads", len(got), len(want))
}
