package pipelinetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

func deleteVersion(s *shelf) {
	data := []byte("kept")
	object := s.put("versioned", data)
	s.code("deleting another version", s.store.Delete(s.ctx, object.Key, "0123456789abcdef0123456789abcdef"), "object_changed")
	s.holds("versioned", data)
	for range 2 {
		if err := s.store.Delete(s.ctx, object.Key, object.ETag); err != nil {
			s.t.Errorf("delete: %v", err)
		}
	}
	s.missing("versioned")
}

func listObjects(s *shelf) {
	var want []string
	for _, name := range []string{"a/1", "a/2", "b", "b0", "c/x/y", "z"} {
		s.put(name, []byte(name))
		want = append(want, s.prefix+name)
	}
	for _, limit := range []int{1, 2, 4, 6, 100} {
		var have []string
		after := ""
		for range len(want) + 1 {
			page, err := s.store.Objects(s.ctx, s.prefix, after, limit)
			if err != nil || len(page) > limit {
				s.t.Fatalf("limit %d: %d objects, %v", limit, len(page), err)
			}
			for _, object := range page {
				have = append(have, object.Key)
				if object.ETag == "" || object.Bytes != int64(len(object.Key)-len(s.prefix)) || object.Modified.IsZero() {
					s.t.Errorf("listed as %+v", object)
				}
				after = object.Key
			}
			if len(page) == 0 {
				break
			}
		}
		diff(s.t, fmt.Sprintf("objects by pages of %d", limit), have, want)
	}
	page, err := s.store.Objects(s.ctx, s.prefix+"a/", "", 10)
	if err != nil || len(page) != 2 {
		s.t.Errorf("objects below a/: %v, %v", page, err)
	}
	listed := page[0]
	if object := s.holds("a/1", []byte("a/1")); object.ETag != listed.ETag {
		s.t.Errorf("a listing shows ETag %q, the object has %q", listed.ETag, object.ETag)
	}
}

func listUploads(s *shelf) {
	type id struct{ key, id string }
	want := map[id]bool{}
	for _, name := range []string{"c", "a", "b", "b", "d/e"} {
		upload := s.create(name)
		want[id{upload.Key, upload.ID}] = true
	}
	for _, limit := range []int{1, 2, 100} {
		have := map[id]bool{}
		var keys []string
		var after pipeline.StoredUpload
		for range len(want) + 1 {
			page, err := s.store.Uploads(s.ctx, s.prefix, after, limit)
			if err != nil || len(page) > limit {
				s.t.Fatalf("limit %d: %d uploads, %v", limit, len(page), err)
			}
			for _, upload := range page {
				have[id{upload.Key, upload.ID}] = true
				keys = append(keys, strings.TrimPrefix(upload.Key, s.prefix))
				if upload.Started.IsZero() {
					s.t.Errorf("listed as %+v", upload)
				}
				after = upload
			}
			if len(page) == 0 {
				break
			}
		}
		diff(s.t, fmt.Sprintf("keys by pages of %d", limit), keys, []string{"a", "b", "b", "c", "d/e"})
		if len(have) != len(want) {
			s.t.Errorf("pages of %d show %d uploads, want %d", limit, len(have), len(want))
		}
	}
}

func signedLink(s *shelf) {
	data := noise(13, 5000)
	object := s.put("delivered.csv", data)
	now := time.Now()
	link, expires, err := s.store.Sign(s.ctx, pipeline.Link{
		Key: object.Key, FileName: `订单,导出 "Q3".csv`, ContentType: "text/csv; charset=utf-8", Lifetime: 5 * time.Minute, Now: now,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if expires.After(now.Add(5*time.Minute)) || !expires.After(now) {
		s.t.Errorf("the link ends at %s, asked at %s for 5 minutes", expires, now)
	}
	if !strings.HasPrefix(link, "http") {
		return // A fake's link is followed by the fake.
	}
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, link, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	have, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !bytes.Equal(have, data) {
		s.t.Errorf("following the link: status %d, %d bytes, %v", response.StatusCode, len(have), err)
	}
	disposition := response.Header.Get("Content-Disposition")
	if !strings.HasPrefix(disposition, "attachment;") || !strings.Contains(disposition, "filename*=UTF-8''") {
		s.t.Errorf("the file arrives with disposition %q", disposition)
	}
	diff(s.t, "content type", response.Header.Get("Content-Type"), "text/csv; charset=utf-8")
}

func cancelledStoreCaller(s *shelf) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.store.Put(ctx, s.new("cancelled"), []byte("x")); job.KindOf(err) != job.Cancelled {
		s.t.Errorf("put: got %v, want Cancelled", err)
	}
	if _, _, err := s.store.Stat(ctx, s.prefix+"cancelled"); job.KindOf(err) != job.Cancelled {
		s.t.Errorf("stat: got %v, want Cancelled", err)
	}
	s.missing("cancelled")
}
