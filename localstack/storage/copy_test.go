package storage

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// copied puts every kind of copied part into objects and reads those.
func copied(t *testing.T, st live, bucket string) {
	for _, kind := range []func(*testing.T, live, string){
		copiedSpans, copiedBesideUploaded, copiedAndGone, copiedAgain, copiedOfOtherSums, copiedIf, copiedWhileWritten,
	} {
		kind(t, st, bucket)
	}
}

func copiedSpans(t *testing.T, st live, bucket string) {
	data := payload(11 * mib)
	u := begin(t, st, bucket, "staging/whole", types.ChecksumAlgorithmCrc64nvme)
	_, err := u.complete([]types.CompletedPart{u.part(1, data[:6*mib]), u.part(2, data[6*mib:])}, nil)
	ok(t, err)
	for _, algorithm := range []types.ChecksumAlgorithm{"", types.ChecksumAlgorithmCrc64nvme} {
		key := "artifacts/" + string(algorithm) + "file"
		u := begin(t, st, bucket, key, algorithm)
		var parts []types.CompletedPart
		for i, span := range []string{"", "bytes=0-5242879", "bytes=5242880-11534335"} {
			part, err := u.copy(int32(i+1), "staging/whole", span)
			ok(t, err)
			parts = append(parts, part)
		}
		want := slices.Concat(data, data)
		done, err := u.complete(parts, func(in *s3.CompleteMultipartUploadInput) {
			in.IfNoneMatch = aws.String("*")
			in.MpuObjectSize = aws.Int64(int64(len(want)))
		})
		ok(t, err)
		equal(t, "completed checksum", aws.ToString(done.ChecksumCRC64NVME), nvmeOf(want))
		check(t, st, bucket, key, want)
		if algorithm != "" {
			equal(t, "checksum of copied range", aws.ToString(parts[1].ChecksumCRC64NVME), nvmeOf(data[:5*mib]))
		}
	}
}

// put stores an object whose checksum is of the algorithm, CRC64NVME when it is empty.
func put(t *testing.T, st live, bucket, key string, data []byte, algorithm types.ChecksumAlgorithm) string {
	t.Helper()
	if algorithm == "" {
		algorithm = types.ChecksumAlgorithmCrc64nvme
	}
	out, err := st.function.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(data),
		ContentType: aws.String("text/csv"), ChecksumAlgorithm: algorithm})
	ok(t, err)
	return aws.ToString(out.ETag)
}

// whole copies a whole source, which must succeed.
func (u upload) whole(number int32, source string) types.CompletedPart {
	u.t.Helper()
	part, err := u.copy(number, source, "")
	ok(u.t, err)
	return part
}

// finish completes the upload as one that holds the bytes and reads them.
func (u upload) finish(want []byte, parts ...types.CompletedPart) {
	u.t.Helper()
	done, err := u.complete(parts, func(in *s3.CompleteMultipartUploadInput) {
		in.ChecksumCRC64NVME, in.MpuObjectSize = aws.String(nvmeOf(want)), aws.Int64(int64(len(want)))
	})
	ok(u.t, err)
	equal(u.t, "completed checksum", aws.ToString(done.ChecksumCRC64NVME), nvmeOf(want))
	check(u.t, u.st, u.bucket, u.key, want)
}

func copiedBesideUploaded(t *testing.T, st live, bucket string) {
	data := payload(18*mib + 5)
	etag := put(t, st, bucket, "mixed/source", data[6*mib:12*mib], "")
	u := begin(t, st, bucket, "mixed/file", types.ChecksumAlgorithmCrc64nvme)
	parts := []types.CompletedPart{u.part(1, data[:6*mib]), u.whole(2, "mixed/source"), u.part(4, data[12*mib:18*mib])}
	put(t, st, bucket, "mixed/end", data[18*mib:], "")
	parts = append(parts, u.whole(9, "mixed/end"))
	equal(t, "etag of a part copied from an object put whole", aws.ToString(parts[1].ETag), etag)
	listed, err := st.ListParts(t.Context(), &s3.ListPartsInput{Bucket: &bucket, Key: &u.key, UploadId: &u.id})
	ok(t, err)
	sizes := []int64{6 * mib, 6 * mib, 6 * mib, 5}
	equal(t, "parts listed", len(listed.Parts), len(parts))
	for i, part := range listed.Parts {
		equal(t, "number", aws.ToInt32(part.PartNumber), aws.ToInt32(parts[i].PartNumber))
		equal(t, "size", aws.ToInt64(part.Size), sizes[i])
		equal(t, "etag", aws.ToString(part.ETag), aws.ToString(parts[i].ETag))
		equal(t, "checksum", aws.ToString(part.ChecksumCRC64NVME), aws.ToString(parts[i].ChecksumCRC64NVME))
	}
	for _, wrong := range []struct {
		name, code string
		change     func(*s3.CompleteMultipartUploadInput)
	}{
		{"checksum of the whole", "BadDigest", func(in *s3.CompleteMultipartUploadInput) { in.ChecksumCRC64NVME = aws.String("AAAAAAAAAAA=") }},
		{"size of the whole", "InvalidRequest", func(in *s3.CompleteMultipartUploadInput) { in.MpuObjectSize = aws.Int64(5) }},
		{"checksum of a copied part", "InvalidPart", func(in *s3.CompleteMultipartUploadInput) {
			changed := slices.Clone(parts)
			changed[1].ChecksumCRC64NVME = aws.String("AAAAAAAAAAA=")
			in.MultipartUpload = &types.CompletedMultipartUpload{Parts: changed}
		}},
	} {
		if _, err := u.complete(parts, wrong.change); codeOf(err) != wrong.code {
			t.Errorf("wrong %s: got %v, want %s", wrong.name, err, wrong.code)
		}
	}
	u.finish(data, parts...)
}

// A part keeps the bytes that its source had when it was copied.
func copiedAndGone(t *testing.T, st live, bucket string) {
	data := payload(11 * mib)
	put(t, st, bucket, "gone/overwritten", data[:6*mib], "")
	put(t, st, bucket, "gone/deleted", data[6*mib:], "")
	u := begin(t, st, bucket, "gone/file", types.ChecksumAlgorithmCrc64nvme)
	parts := []types.CompletedPart{u.whole(1, "gone/overwritten"), u.whole(2, "gone/deleted")}
	put(t, st, bucket, "gone/overwritten", []byte("another"), "")
	_, err := st.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("gone/deleted")})
	ok(t, err)
	u.finish(data, parts...)
	check(t, st, bucket, "gone/overwritten", []byte("another"))
}

// A part written again is the last one written, and its source is left as it was.
func copiedAgain(t *testing.T, st live, bucket string) {
	one, two := payload(5*mib), payload(5*mib + 1)[1:]
	put(t, st, bucket, "again/one", one, "")
	put(t, st, bucket, "again/two", two, "")
	for name, write := range map[string]func(upload) (stale, current types.CompletedPart){
		"the same source": func(u upload) (stale, current types.CompletedPart) {
			first := u.whole(1, "again/two")
			equal(t, "etag of the same copy", aws.ToString(u.whole(1, "again/two").ETag), aws.ToString(first.ETag))
			return types.CompletedPart{}, first
		},
		"another source": func(u upload) (stale, current types.CompletedPart) {
			return u.whole(1, "again/one"), u.whole(1, "again/two")
		},
		"uploaded":      func(u upload) (stale, current types.CompletedPart) { return u.whole(1, "again/one"), u.part(1, two) },
		"over uploaded": func(u upload) (stale, current types.CompletedPart) { return u.part(1, one), u.whole(1, "again/two") },
	} {
		u := begin(t, st, bucket, "again/file", types.ChecksumAlgorithmCrc64nvme)
		stale, current := write(u)
		put(t, st, bucket, "again/end", []byte("end"), "")
		last := u.whole(2, "again/end")
		if stale.ETag != nil {
			if _, err := u.complete([]types.CompletedPart{stale, last}, nil); codeOf(err) != "InvalidPart" {
				t.Errorf("%s: completing with the part before: got %v, want InvalidPart", name, err)
			}
		}
		u.finish(append(slices.Clone(two), "end"...), current, last)
		check(t, st, bucket, "again/one", one)
		check(t, st, bucket, "again/two", two)
	}
}

// A source's own checksum may be of another kind than its upload's.
func copiedOfOtherSums(t *testing.T, st live, bucket string) {
	data := payload(10*mib + 9)
	put(t, st, bucket, "sums/crc32", data[:5*mib], types.ChecksumAlgorithmCrc32)
	put(t, st, bucket, "sums/sha256", data[5*mib:10*mib], types.ChecksumAlgorithmSha256)
	source := begin(t, st, bucket, "sums/parts", "")
	part := source.part(1, data[10*mib:])
	part.ChecksumCRC64NVME = nil
	_, err := source.complete([]types.CompletedPart{part}, nil)
	ok(t, err)
	u := begin(t, st, bucket, "sums/file", types.ChecksumAlgorithmCrc64nvme)
	u.finish(data, u.whole(1, "sums/crc32"), u.whole(2, "sums/sha256"), u.whole(3, "sums/parts"))
	put(t, st, bucket, "sums/empty", nil, "")
	u = begin(t, st, bucket, "sums/nothing", types.ChecksumAlgorithmCrc64nvme)
	u.finish(nil, u.whole(1, "sums/empty"))
}

func copiedIf(t *testing.T, st live, bucket string) {
	data := payload(6 * mib)
	etag := put(t, st, bucket, "if/source", data, "")
	u := begin(t, st, bucket, "if/file", types.ChecksumAlgorithmCrc64nvme)
	copyIf := func(change func(*s3.UploadPartCopyInput)) (types.CompletedPart, error) {
		in := &s3.UploadPartCopyInput{Bucket: &bucket, Key: &u.key, UploadId: &u.id, PartNumber: aws.Int32(1), CopySource: aws.String(bucket + "/if/source")}
		change(in)
		out, err := st.function.UploadPartCopy(t.Context(), in)
		if err != nil {
			return types.CompletedPart{}, err
		}
		return types.CompletedPart{PartNumber: aws.Int32(1), ETag: out.CopyPartResult.ETag, ChecksumCRC64NVME: out.CopyPartResult.ChecksumCRC64NVME}, nil
	}
	head, err := st.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: aws.String("if/source")})
	ok(t, err)
	before, after := head.LastModified.AddDate(0, 0, -1), head.LastModified.AddDate(0, 0, 1)
	other := aws.String(`"` + strings.Repeat("0", 32) + `"`)
	for name, change := range map[string]func(*s3.UploadPartCopyInput){
		"another etag":       func(in *s3.UploadPartCopyInput) { in.CopySourceIfMatch = other },
		"not this etag":      func(in *s3.UploadPartCopyInput) { in.CopySourceIfNoneMatch = &etag },
		"unmodified too old": func(in *s3.UploadPartCopyInput) { in.CopySourceIfUnmodifiedSince = &before },
	} {
		if _, err := copyIf(change); err == nil {
			t.Errorf("%s: the part was copied", name)
		}
	}
	parts, err := st.ListParts(t.Context(), &s3.ListPartsInput{Bucket: &bucket, Key: &u.key, UploadId: &u.id})
	ok(t, err)
	equal(t, "parts after refused copies", len(parts.Parts), 0)
	part, err := copyIf(func(in *s3.UploadPartCopyInput) {
		in.CopySourceIfMatch, in.CopySourceIfUnmodifiedSince, in.CopySourceRange = &etag, &after, aws.String("bytes=0-6291455")
	})
	ok(t, err)
	u.finish(data, part)
}

// A source overwritten while it is copied gives one of its versions, with that one's checksum.
func copiedWhileWritten(t *testing.T, st live, bucket string) {
	versions := [][]byte{[]byte("one"), []byte("a longer two"), []byte("and another three")}
	put(t, st, bucket, "written/source", versions[0], "")
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for _, version := range versions {
		writers.Go(func() {
			for ctx.Err() == nil {
				_, err := st.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("written/source"), Body: bytes.NewReader(version)})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer writers.Wait()
	defer stop()
	for range 100 {
		u := begin(t, st, bucket, "written/file", types.ChecksumAlgorithmCrc64nvme)
		part := u.whole(1, "written/source")
		version := slices.IndexFunc(versions, func(v []byte) bool { return nvmeOf(v) == aws.ToString(part.ChecksumCRC64NVME) })
		if version < 0 {
			t.Fatalf("checksum %s is that of no version", aws.ToString(part.ChecksumCRC64NVME))
		}
		u.finish(versions[version], part)
	}
}
