package sim

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// AbortUpload drops an upload and its parts; one that does not exist is a success.
func (s *Store) AbortUpload(ctx context.Context, key, uploadID string) error {
	return s.world.write(ctx, s.call("AbortUpload", key), func() error {
		if u, ok := s.uploads[uploadID]; ok && u.key == key {
			policeAbort(s.world, u)
			delete(s.uploads, uploadID)
			s.counts.Aborted++
		}
		return nil
	})
}

// Delete removes an object; one that does not exist is a success.
func (s *Store) Delete(ctx context.Context, key, etag string) error {
	return s.world.write(ctx, s.call("Delete", key), func() error {
		object, ok := s.objects[key]
		if ok && etag != "" && object.ETag != etag {
			return refusal("object_changed", "delete: %s is not the version that was named", key)
		}
		if ok {
			policeDelete(s.world, key)
		}
		delete(s.objects, key)
		return nil
	})
}

// Objects lists up to limit objects below prefix with keys after the given one, in order.
func (s *Store) Objects(ctx context.Context, prefix, after string, limit int) (found []pipeline.StoredObject, err error) {
	err = s.world.read(ctx, s.call("Objects", prefix), func() error {
		for key, object := range s.objects {
			if strings.HasPrefix(key, prefix) && key > after {
				found = append(found, pipeline.StoredObject{Key: key, ETag: object.ETag, Bytes: object.Bytes, Modified: object.modified})
			}
		}
		slices.SortFunc(found, func(a, b pipeline.StoredObject) int { return strings.Compare(a.Key, b.Key) })
		found = found[:min(limit, len(found))]
		return nil
	})
	return or(found, err)
}

// Uploads lists up to limit unfinished multipart uploads below prefix after the given (key, id), in order.
func (s *Store) Uploads(
	ctx context.Context, prefix string, after pipeline.StoredUpload, limit int,
) (found []pipeline.StoredUpload, err error) {
	err = s.world.read(ctx, s.call("Uploads", prefix), func() error {
		for _, u := range s.uploads {
			if strings.HasPrefix(u.key, prefix) && (u.key > after.Key || u.key == after.Key && after.ID != "" && u.id > after.ID) {
				found = append(found, pipeline.StoredUpload{Key: u.key, ID: u.id, Started: u.started})
			}
		}
		slices.SortFunc(found, func(a, b pipeline.StoredUpload) int {
			return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.ID, b.ID))
		})
		found = found[:min(limit, len(found))]
		return nil
	})
	return or(found, err)
}

// signingMargin is how long before the end of its credentials a link ends.
const signingMargin = 10 * time.Second

// Sign makes a link that Fetch follows.
func (s *Store) Sign(ctx context.Context, link pipeline.Link) (string, time.Time, error) {
	var expires time.Time
	err := s.world.read(ctx, s.call("Sign", link.Key), func() error {
		if link.Lifetime <= 0 {
			return refusal("store_refused", "sign %s: the lifetime is %s", link.Key, link.Lifetime)
		}
		expires = link.Now.Add(link.Lifetime)
		if end := s.credentialsEnd; !end.IsZero() && end.Add(-signingMargin).Before(expires) {
			expires = end.Add(-signingMargin)
		}
		return nil
	})
	if err != nil {
		return "", time.Time{}, err
	}
	query := url.Values{"expires": {strconv.FormatInt(expires.UnixMilli(), 10)}, "name": {link.FileName}, "type": {link.ContentType}}
	return "sim://bucket/" + url.PathEscape(link.Key) + "?" + query.Encode(), expires, nil
}

// Fetch follows a link of Sign as a browser would. It is no call of the port.
func (s *Store) Fetch(link string) ([]byte, error) {
	parsed, err := url.Parse(link)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	millis, err := strconv.ParseInt(parsed.Query().Get("expires"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("fetch: the link has no end: %w", err)
	}
	if !s.world.Clock.Now().Before(time.UnixMilli(millis)) {
		return nil, job.Errorf(job.Permanent, "link_expired", "fetch: the link ended")
	}
	key := strings.TrimPrefix(parsed.Path, "/")
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	object, ok := s.objects[key]
	if !ok {
		return nil, refusal("object_missing", "fetch: %s does not exist", key)
	}
	return slices.Clone(object.data), nil
}

// Damage overwrites an object behind the pipeline's back, as a person with too many rights would. It is no call of the
// port.
func (s *Store) Damage(key string, data []byte) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	delete(s.written, key)
	s.keep(key, "application/octet-stream", slices.Clone(data))
}
