package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

const (
	// inProgress ends the name of an upload that is being completed.
	inProgress = ".inprogress"
	// uploadAttribute is the attribute of an object that names its upload.
	uploadAttribute = "mp-metadata"
	// keyAttribute is the attribute of a folder of uploads that names their key.
	keyAttribute = "objname"
)

// CompleteMultipartUpload makes the object. One key's completions take turns:
// the backend answers a second completion with success while the first still
// works and may yet fail. A completion of an upload that does not exist succeeds
// only when the object at its key is that upload's own, where the backend would
// be content with any object.
func (s *store) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	if err := checkID(in.UploadId); err != nil {
		return s3response.CompleteMultipartUploadResult{}, "", err
	}
	bucket, key, id := aws.ToString(in.Bucket), aws.ToString(in.Key), aws.ToString(in.UploadId)
	unlock := s.lock(bucket + "/" + key)
	defer unlock()
	_, err := os.Stat(filepath.Join(bucket, uploadFolder(key), id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s.uploadOf(bucket, key) != id {
			return s3response.CompleteMultipartUploadResult{}, "", s3err.GetNoSuchUploadErr(id)
		}
	case err != nil:
		return s3response.CompleteMultipartUploadResult{}, "", fmt.Errorf("complete upload %s of %s/%s: %w", id, bucket, key, err)
	default:
		if err := s.checkAlgorithm(in); err != nil {
			return s3response.CompleteMultipartUploadResult{}, "", err
		}
	}
	return s.Posix.CompleteMultipartUpload(ctx, in)
}

// checkAlgorithm refuses a checksum of the whole object that would go unchecked
// because the upload was created without naming its algorithm.
func (s *store) checkAlgorithm(in *s3.CompleteMultipartUploadInput) error {
	if in.ChecksumCRC64NVME == nil && in.ChecksumCRC32 == nil && in.ChecksumCRC32C == nil && in.ChecksumSHA1 == nil && in.ChecksumSHA256 == nil {
		return nil
	}
	algorithm, err := s.algorithm(aws.ToString(in.Bucket), aws.ToString(in.Key), aws.ToString(in.UploadId))
	if err != nil || algorithm != "" {
		return err
	}
	return s3err.APIError{
		Code: "InvalidRequest",
		Description: "The upload was created without a checksum algorithm, so the checksum of the whole object cannot be checked here. " +
			"Name ChecksumAlgorithm and ChecksumType FULL_OBJECT when creating the upload.",
		HTTPStatusCode: http.StatusBadRequest,
	}
}

// ListMultipartUploads lists uploads by key and then by id, and goes on after
// the markers whether or not the upload they name still exists.
func (s *store) ListMultipartUploads(ctx context.Context, in *s3.ListMultipartUploadsInput) (s3response.ListMultipartUploadsResult, error) {
	if aws.ToString(in.Delimiter) != "" {
		return s3response.ListMultipartUploadsResult{}, s3err.APIError{
			Code: "NotImplemented", Description: "Listing uploads with a delimiter is not supported here; list by prefix.", HTTPStatusCode: http.StatusNotImplemented,
		}
	}
	all := *in
	all.KeyMarker, all.UploadIdMarker, all.MaxUploads = nil, nil, aws.Int32(math.MaxInt32)
	out, err := s.Posix.ListMultipartUploads(ctx, &all)
	if err != nil {
		return out, err
	}
	slices.SortFunc(out.Uploads, func(a, b s3response.Upload) int {
		if c := strings.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return strings.Compare(a.UploadID, b.UploadID)
	})
	key, id := aws.ToString(in.KeyMarker), aws.ToString(in.UploadIdMarker)
	uploads := slices.DeleteFunc(out.Uploads, func(u s3response.Upload) bool {
		return key != "" && (u.Key < key || u.Key == key && (id == "" || u.UploadID <= id))
	})
	most := int(aws.ToInt32(in.MaxUploads))
	out.KeyMarker, out.UploadIDMarker, out.MaxUploads = key, id, most
	out.NextKeyMarker, out.NextUploadIDMarker = "", ""
	if out.IsTruncated = len(uploads) > most && most > 0; out.IsTruncated {
		uploads = uploads[:most]
		out.NextKeyMarker, out.NextUploadIDMarker = uploads[most-1].Key, uploads[most-1].UploadID
	}
	out.Uploads = uploads
	return out, nil
}

// settle ends what a killed process left half done: an upload that was being
// completed becomes an upload again, or goes when its object is in place. It
// runs before the gateway does.
func (s *store) settle() error {
	found, err := filepath.Glob(filepath.Join("*", posix.MetaTmpMultipartDir, "*", "*"+inProgress))
	if err != nil {
		return fmt.Errorf("look for interrupted uploads: %w", err)
	}
	for _, path := range found {
		bucket, object, _ := strings.Cut(path, string(filepath.Separator))
		folder, name := filepath.Split(object)
		folder = filepath.Clean(folder)
		id, _, _ := strings.Cut(name, ".")
		key, err := s.keeper.RetrieveAttribute(nil, bucket, folder, keyAttribute)
		if err != nil {
			return fmt.Errorf("read the key of interrupted upload %s: %w; remove that folder to lose the upload and go on", path, err)
		}
		if s.uploadOf(bucket, string(key)) == id {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("remove parts of completed upload %s: %w", path, err)
			}
			continue
		}
		if err := s.keeper.RenameObject(bucket, object, filepath.Join(folder, id)); err != nil {
			return fmt.Errorf("restore attributes of interrupted upload %s: %w", path, err)
		}
		if err := os.Rename(path, filepath.Join(bucket, folder, id)); err != nil {
			return fmt.Errorf("restore interrupted upload %s: %w", path, err)
		}
	}
	return nil
}

// uploadOf is the id of the upload that made an object; empty when there is no
// such object or it was put whole.
func (s *store) uploadOf(bucket, key string) string {
	data, err := s.keeper.RetrieveAttribute(nil, bucket, key, uploadAttribute)
	if err != nil {
		return ""
	}
	made, err := backend.UnmarshalMpUploadMetadata(data, false)
	if err != nil {
		return ""
	}
	return made.UploadID
}

// uploadFolder is where the backend keeps the uploads of a key in its bucket.
func uploadFolder(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(posix.MetaTmpMultipartDir, hex.EncodeToString(sum[:]))
}

// lock takes a key's turn and returns what ends it.
func (s *store) lock(name string) func() {
	s.mu.Lock()
	turn := s.turns[name]
	if turn == nil {
		turn = &turnstile{}
		s.turns[name] = turn
	}
	turn.waiting++
	s.mu.Unlock()
	turn.mu.Lock()
	return func() {
		turn.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if turn.waiting--; turn.waiting == 0 {
			delete(s.turns, name)
		}
	}
}
