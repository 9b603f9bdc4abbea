package storage

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
)

const (
	// linking ends the name of a link that is not a part yet.
	linking = ".linking"
	// etagAttribute is the attribute of an object or a part that holds its ETag.
	etagAttribute = "etag"
)

// linkSource makes a part of a whole source by a link to the source's file, so
// that nothing is read or written. The backend replaces objects and never changes
// their bytes, so the part keeps those that its source had. When ok is false
// nothing has changed: the source does not serve, or something is in the way, and
// copying the bytes either does the same or tells what is wrong.
func (s *store) linkSource(in *s3.UploadPartCopyInput) (part s3response.CopyPartResult, ok bool) {
	// Attributes beside the files would not come with a link.
	if _, ok := s.keeper.(attributes); !ok {
		return part, false
	}
	bucket, key, version, err := backend.ParseCopySource(aws.ToString(in.CopySource))
	if err != nil || version != "" || strings.HasSuffix(key, "/") {
		return part, false
	}
	number := strconv.Itoa(int(aws.ToInt32(in.PartNumber)))
	folder := filepath.Join(aws.ToString(in.Bucket), uploadFolder(aws.ToString(in.Key)), aws.ToString(in.UploadId))
	link := filepath.Join(folder, number+"."+rand.Text()+linking)
	if err := os.Link(filepath.Join(bucket, key), link); err != nil {
		return part, false
	}
	// Renaming leaves the link when the part is one to the same file already.
	defer func() { _ = os.Remove(link) }()
	source, ok := s.linked(link)
	if !ok || !source.serves(in) {
		return part, false
	}
	if err := os.Rename(link, filepath.Join(folder, number)); err != nil {
		return part, false
	}
	return s3response.CopyPartResult{ETag: &source.etag, LastModified: s.now().UTC(), ChecksumCRC64NVME: &source.crc64nvme}, true
}

// linkedSource is what a copy must know of its source, all of one file.
type linkedSource struct {
	size      int64
	modified  time.Time
	etag      string
	crc64nvme string
}

// linked reads a source through a link of its own, under which no other file can
// come to be. Ok is false when it is no file or its checksum is of another kind.
func (s *store) linked(link string) (source linkedSource, ok bool) {
	info, err := os.Lstat(link)
	if err != nil || !info.Mode().IsRegular() {
		return source, false
	}
	etag, err := s.keeper.RetrieveAttribute(nil, link, "", etagAttribute)
	if err != nil {
		return source, false
	}
	sums, err := s.checksums(link, "")
	if err != nil || sums.Type != types.ChecksumTypeFullObject || sums.Algorithm != types.ChecksumAlgorithmCrc64nvme || aws.ToString(sums.CRC64NVME) == "" {
		return source, false
	}
	return linkedSource{size: info.Size(), modified: info.ModTime(), etag: string(etag), crc64nvme: *sums.CRC64NVME}, true
}

// serves reports whether the request takes the source whole, as it is.
func (source linkedSource) serves(in *s3.UploadPartCopyInput) bool {
	start, length, err := backend.ParseCopySourceRange(source.size, aws.ToString(in.CopySourceRange))
	if err != nil || start != 0 || length != source.size || length > copyBytesMax {
		return false
	}
	return backend.EvaluatePreconditions(source.etag, source.modified, backend.PreConditions{
		IfMatch: in.CopySourceIfMatch, IfNoneMatch: in.CopySourceIfNoneMatch,
		IfModSince: in.CopySourceIfModifiedSince, IfUnmodeSince: in.CopySourceIfUnmodifiedSince,
	}) == nil
}
