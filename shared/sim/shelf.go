package sim

import (
	"context"
	"fmt"
	"maps"
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
	fault, unlock, err := s.begin(ctx, "AbortUpload", key)
	if err != nil {
		return err
	}
	defer unlock()
	if u, ok := s.uploads[uploadID]; ok && u.key == key {
		delete(s.uploads, uploadID)
	}
	return fault.written(PortStore, "AbortUpload")
}

// Delete removes an object; one that does not exist is a success.
func (s *Store) Delete(ctx context.Context, key, etag string) error {
	fault, unlock, err := s.begin(ctx, "Delete", key)
	if err != nil {
		return err
	}
	defer unlock()
	object, ok := s.objects[key]
	if ok && etag != "" && object.ETag != etag {
		return refusal("object_changed", "delete: %s is not the version that was named", key)
	}
	if owner, bound := s.world.Ledger.state.bound[key]; ok && bound {
		s.world.violate("%s was deleted while %s delivers it", key, owner)
	}
	delete(s.objects, key)
	return fault.written(PortStore, "Delete")
}

// Objects lists up to limit objects below prefix with keys after the given one, in order.
func (s *Store) Objects(ctx context.Context, prefix, after string, limit int) ([]pipeline.StoredObject, error) {
	fault, unlock, err := s.begin(ctx, "Objects", prefix)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var found []pipeline.StoredObject
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if len(found) < limit && strings.HasPrefix(key, prefix) && key > after {
			object := s.objects[key]
			found = append(found, pipeline.StoredObject{Key: key, ETag: object.ETag, Bytes: object.Bytes, Modified: object.modified})
		}
	}
	return found, fault.read(PortStore, "Objects")
}

// Uploads lists up to limit unfinished multipart uploads below prefix after the given (key, id), in order.
func (s *Store) Uploads(
	ctx context.Context, prefix string, after pipeline.StoredUpload, limit int,
) ([]pipeline.StoredUpload, error) {
	fault, unlock, err := s.begin(ctx, "Uploads", prefix)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var found []pipeline.StoredUpload
	for _, u := range s.uploads {
		if strings.HasPrefix(u.key, prefix) && (u.key > after.Key || u.key == after.Key && after.ID != "" && u.id > after.ID) {
			found = append(found, pipeline.StoredUpload{Key: u.key, ID: u.id, Started: u.started})
		}
	}
	slices.SortFunc(found, func(a, b pipeline.StoredUpload) int {
		return strings.Compare(a.Key+"\x00"+a.ID, b.Key+"\x00"+b.ID)
	})
	return found[:min(limit, len(found))], fault.read(PortStore, "Uploads")
}

// signingMargin is how long before the end of its credentials a link ends.
const signingMargin = 10 * time.Second

// Sign makes a link that Fetch follows.
func (s *Store) Sign(ctx context.Context, link pipeline.Link) (string, time.Time, error) {
	fault, unlock, err := s.begin(ctx, "Sign", link.Key)
	if err != nil {
		return "", time.Time{}, err
	}
	defer unlock()
	if err := fault.read(PortStore, "Sign"); err != nil {
		return "", time.Time{}, err
	}
	if link.Lifetime <= 0 {
		return "", time.Time{}, refusal("store_refused", "sign %s: the lifetime is %s", link.Key, link.Lifetime)
	}
	expires := link.Now.Add(link.Lifetime)
	if end := s.credentialsEnd; !end.IsZero() && end.Add(-signingMargin).Before(expires) {
		expires = end.Add(-signingMargin)
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
