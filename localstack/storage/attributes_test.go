package storage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/versity/versitygw/backend"
)

// An object may have 10,000 parts, and a file has no room for where they all begin.
func TestAnObjectOfManyPartsKeepsItsUpload(t *testing.T) {
	bucket := t.TempDir()
	f, err := os.Create(filepath.Join(bucket, "object"))
	ok(t, err)
	defer func() { _ = f.Close() }()
	s := &store{keeper: attributes{}}
	for _, parts := range []int{1, 500, 10_000} {
		made := backend.MpUploadMetadata{UploadID: "6f1c3f6e-9d0b-4f0e-8a58-6f6d5a9f3d10"}
		at := int64(0)
		for i := range parts {
			at += 8<<20 + int64(i)*7919%100_003
			made.Parts = append(made.Parts, at)
		}
		value, err := backend.MarshalMpUploadMetadata(made, false)
		ok(t, err)
		if err := s.keeper.StoreAttribute(f, bucket, "object", uploadAttribute, value); err != nil {
			t.Fatalf("%d parts: %v", parts, err)
		}
		if got := s.uploadOf(bucket, "object"); got != made.UploadID {
			t.Errorf("%d parts: the object's upload is %q, want %q", parts, got, made.UploadID)
		}
	}
}
