package storage

import (
	"context"
	"net/http"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/uuid"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// The backend makes paths of keys and of ids of uploads. What is here keeps it to
// those that a path leaves as they are: any other would name another object than
// the one that rights were checked for, or none at all.

// unholdable says why the store can't hold an object of the key; empty when it can.
func unholdable(key string) string {
	whole := strings.TrimSuffix(key, "/")
	switch {
	case whole == "":
		return ""
	case path.Clean("/"+whole) != "/"+whole:
		return "The key has an empty segment or one that is . or .., which this store can't keep; name the object otherwise."
	case whole == posix.MetaTmpDir || strings.HasPrefix(whole, posix.MetaTmpDir+"/"):
		return "Keys that begin with " + posix.MetaTmpDir + "/ are this store's own; name the object otherwise."
	}
	return ""
}

// refusedKey is unholdable for the keys that a request names outside its body.
func refusedKey(r *http.Request) string {
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if why := unholdable(key); why != "" {
		return why
	}
	source := r.Header.Get("X-Amz-Copy-Source")
	if source == "" {
		return ""
	}
	_, key, _, err := backend.ParseCopySource(source)
	if err != nil {
		return "" // the gateway says what is wrong with it
	}
	return unholdable(key)
}

// DeleteObjects deletes what can be there; a key that can't be held is an error of
// its own in the answer.
func (s *store) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	var kept []types.ObjectIdentifier
	var refused []types.Error
	for _, object := range in.Delete.Objects {
		if why := unholdable(aws.ToString(object.Key)); why != "" {
			refused = append(refused, types.Error{Code: aws.String("NotImplemented"), Key: object.Key, Message: &why})
			continue
		}
		kept = append(kept, object)
	}
	in.Delete.Objects = kept
	result, err := s.Posix.DeleteObjects(ctx, in)
	result.Error = append(result.Error, refused...)
	return result, err
}

// checkID refuses an id that no upload has: the backend's ids are UUIDs in their
// usual spelling, and any other is a path to something else.
func checkID(id *string) error {
	text := aws.ToString(id)
	if known, err := uuid.Parse(text); err != nil || known.String() != text {
		return s3err.GetNoSuchUploadErr(text)
	}
	return nil
}

// ListParts is the backend's.
func (s *store) ListParts(ctx context.Context, in *s3.ListPartsInput) (s3response.ListPartsResult, error) {
	if err := checkID(in.UploadId); err != nil {
		return s3response.ListPartsResult{}, err
	}
	return s.Posix.ListParts(ctx, in)
}

// AbortMultipartUpload is the backend's.
func (s *store) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput) error {
	if err := checkID(in.UploadId); err != nil {
		return err
	}
	return s.Posix.AbortMultipartUpload(ctx, in)
}
