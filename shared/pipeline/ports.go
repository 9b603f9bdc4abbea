package pipeline

import (
	"context"
	"crypto/sha256"
	"time"

	"sealift/shared/job"
	"sealift/shared/signature"
	"sealift/shared/source"
)

// Ledger is the only authority on state. Reads see every write that was answered before them.
//
// Errors are *job.Error: Overload when the ledger throttles, Transient when it certainly did nothing, Unknown when a
// write may or may not have happened; and *job.Refused when a guard failed.
type Ledger interface {
	// Apply makes the change happen, wholly or not at all. A change that has happened before (its writes say how to
	// tell) succeeds again, so every Apply may be repeated.
	Apply(ctx context.Context, change job.Change) error
	// Row reads one row, or only those of its fields that are named; an absent one is empty.
	Row(ctx context.Context, key job.RowKey, only ...string) (job.Fields, error)
	// Rows reads up to span.Limit rows of one partition in the order of their sort keys.
	Rows(ctx context.Context, span Span) ([]job.Fields, error)
	// Due reads up to span.Limit rows of one bucket that are due at or before a time, earliest first. It may lag behind
	// writes by moments.
	Due(ctx context.Context, span DueSpan) ([]DueRow, error)
	// Recent reads up to limit of a tenant's job rows, newest first, that are older than the created key before
	// (empty: from the newest). It may lag behind writes by moments.
	Recent(ctx context.Context, tenantKey, before string, limit int) ([]job.Fields, error)
	// Now is the ledger's clock as its last response told it, carried forward. It never runs ahead of the ledger.
	Now() time.Time
}

// Span is a run of rows of one partition: sort keys From <= key <= To, after After (exclusive) when it is set.
type Span struct {
	PK    string
	From  string
	To    string
	After string
	Limit int
}

// DueSpan is a run of the due rows of one bucket: those due at or before At, after After (exclusive) when it is set, which
// need not be there any more.
type DueSpan struct {
	Bucket string
	At     time.Time
	After  DueRow
	Limit  int
}

// DueRow is a row as the due index shows it.
type DueRow struct {
	Key   job.RowKey
	DueAt time.Time
}

// Queue wakes functions. A send that was answered is delivered at least once, not before the delay is over; the messages of
// one tenant, however many, keep none of another's waiting.
type Queue interface {
	Send(ctx context.Context, line job.Line, pointer job.Pointer, delay time.Duration) error
}

// Store keeps bytes. Keys are never reused. Every write is checked by the store against the checksum given.
//
// Errors are *job.Error: Transient, Overload, Unknown as for the ledger; Permanent with code object_missing,
// upload_missing (the multipart upload does not exist, any more), object_exists (a write that must create found an
// object), object_changed (a read or copy that names an ETag found another) or checksum_mismatch.
type Store interface {
	// Put creates a small object in one call.
	Put(ctx context.Context, object NewObject, data []byte) (Object, error)
	// CreateUpload begins a multipart upload whose checksum is the CRC-64/NVME of the whole object.
	CreateUpload(ctx context.Context, object NewObject) (uploadID string, err error)
	// PutPart writes one part; the same number may be written again until the upload is completed.
	PutPart(ctx context.Context, upload job.Upload, number int64, data []byte, crc64 uint64) (etag string, err error)
	// CopyPart writes one part from bytes [From, To) of another object, inside the store.
	CopyPart(ctx context.Context, upload job.Upload, number int64, from Slice) (job.Part, error)
	// CompleteUpload makes the object of exactly these parts, if no object has the key. want is checked by the store.
	CompleteUpload(ctx context.Context, upload job.Upload, parts []job.Part, want Object) (Object, error)
	// Parts lists the parts an upload holds now, by number.
	Parts(ctx context.Context, upload job.Upload) ([]job.Part, error)
	// Stat describes an object; ok is false when there is none.
	Stat(ctx context.Context, key string) (object Object, ok bool, err error)
	// Read reads bytes of an object into memory.
	Read(ctx context.Context, from Slice) ([]byte, error)
	// AbortUpload drops an upload and its parts; one that does not exist is a success.
	AbortUpload(ctx context.Context, key, uploadID string) error
	// Delete removes an object; one that does not exist is a success. With an ETag, another version is
	// object_changed and left alone.
	Delete(ctx context.Context, key, etag string) error
	// Objects lists up to limit objects below prefix with keys after the given one, in order.
	Objects(ctx context.Context, prefix, after string, limit int) ([]StoredObject, error)
	// Uploads lists up to limit unfinished multipart uploads below prefix after the given (key, id), in order.
	Uploads(ctx context.Context, prefix string, after StoredUpload, limit int) ([]StoredUpload, error)
	// Sign makes a link that reads one object for at most the given time, and says when it really ends: earlier when
	// the credentials that sign it do.
	Sign(ctx context.Context, link Link) (url string, expires time.Time, err error)
}

// Seal signs with a key whose private half never leaves the service that keeps it. Signing leaves nothing behind.
//
// Errors are *job.Error: Transient and Overload as for the store; Permanent when the key can't be used as things are.
type Seal interface {
	// Key is the public half of the key.
	Key(ctx context.Context) (signature.Key, error)
	// Sign signs a SHA-256 digest: 64 bytes, which may differ from one time to the next.
	Sign(ctx context.Context, digest [sha256.Size]byte) ([]byte, error)
}

// NewObject names an object to be written.
type NewObject struct {
	Key         string
	ContentType string
}

// Object describes stored bytes.
type Object struct {
	Key   string
	ETag  string
	Bytes int64
	CRC64 uint64
}

// Slice is bytes [From, To) of one version of an object.
type Slice struct {
	Key  string
	ETag string
	From int64
	To   int64
}

// StoredObject and StoredUpload are what a listing shows.
type StoredObject struct {
	Key      string
	ETag     string
	Bytes    int64
	Modified time.Time
}

// StoredUpload is an unfinished multipart upload.
type StoredUpload struct {
	Key     string
	ID      string
	Started time.Time
}

// Link says what a download link gives.
type Link struct {
	Key         string
	FileName    string
	ContentType string
	Lifetime    time.Duration
	// Now is the time from which Lifetime counts.
	Now time.Time
}

// Sources opens the source that a definition's connection names.
type Sources interface {
	Open(ctx context.Context, connection string) (source.Source, error)
}
