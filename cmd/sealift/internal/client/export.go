package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/snapshot"
)

// Export is a job as the API shows it.
type Export struct {
	ID                string    `json:"id"`
	State             job.State `json:"state"`
	Definition        string    `json:"definition"`
	DefinitionVersion int64     `json:"definition_version"`
	Purpose           string    `json:"purpose"`
	// Request asks for the same again; a listing leaves its columns and filters out.
	Request        snapshot.Request `json:"request"`
	Lane           job.Lane         `json:"lane"`
	SnapshotSHA256 string           `json:"snapshot_sha256"`
	CreatedAt      string           `json:"created_at"`
	StartedAt      *string          `json:"started_at"`
	FinishedAt     *string          `json:"finished_at"`
	ExpiresAt      *string          `json:"expires_at"`
	// RevokedAt is when somebody ended the delivery; nil when nobody did.
	RevokedAt     *string  `json:"revoked_at"`
	RowsWritten   int64    `json:"rows_written"`
	RowsEstimated *int64   `json:"rows_estimated"`
	ShardsDone    int64    `json:"shards_done"`
	Shards        *int64   `json:"shards"`
	Downloads     int64    `json:"downloads"`
	File          *File    `json:"file"`
	Failure       *Failure `json:"failure"`
	// Waiting is why an unfinished export does not go on just now; nil when it does.
	Waiting *Waiting `json:"waiting"`
	// Unreadable are its units that the service can't read.
	Unreadable []Unreadable `json:"unreadable"`
}

// Unreadable is a record that is there and that the service can't read, and why: an export, an event, a unit, a definition.
type Unreadable struct {
	Record string `json:"record"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

// Revoked is how an export stands whose delivery somebody ended.
const Revoked = "revoked"

// Stands is where the export stands, in one word: its state, but revoked for what was ended before its time.
func (e Export) Stands() string {
	if e.RevokedAt != nil {
		return Revoked
	}
	return string(e.State)
}

// Waiting is the last failure of a unit that will be tried again, and when, in RFC 3339.
type Waiting struct {
	Unit   string `json:"unit"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Until  string `json:"until"`
}

// File is what a completed export delivers first: its one file, or the manifest of many. Rows and Fidelity are those of
// the whole export.
type File struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	CRC64 string `json:"crc64nvme"`
	// Fidelity is nil when the service didn't count.
	Fidelity Fidelity `json:"fidelity"`
	// Files are those that the manifest lists; nil for one file.
	Files *Files `json:"files"`
}

// Files are how many there are, and their size together.
type Files struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Fidelity counts, by what was done to them, the values that the file does not hold as the source does, and NULLs.
type Fidelity map[string]int64

// Failure is why an export failed.
type Failure struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Unit   string `json:"unit"`
}

// Seen is an export with the representation that it was read from.
type Seen struct {
	Export Export
	// Body is the JSON as it came.
	Body json.RawMessage
	// Tag is its entity tag; Changed is false when the tag that was asked with still stands, and then Export is empty.
	Tag     string
	Changed bool
	// RetryAfter is when the service wants to be asked again; 0 when it does not say.
	RetryAfter time.Duration
	// Replayed says that the export was asked for before with the same key.
	Replayed bool
}

// Create asks for an export. The key makes repetitions of the same request one job and must not be empty.
func (c *Client) Create(ctx context.Context, request []byte, key string) (Seen, error) {
	k := call{
		method: http.MethodPost, path: "/v1/exports", body: request, repeatable: true,
		header: http.Header{"Idempotency-Key": {quoted(key)}},
	}
	return c.seen(ctx, k)
}

// quoted renders a key as the string of RFC 8941.
func quoted(key string) string {
	text := []byte{'"'}
	for i := range len(key) {
		if key[i] == '"' || key[i] == '\\' {
			text = append(text, '\\')
		}
		text = append(text, key[i])
	}
	return string(append(text, '"'))
}

// Validate asks whether a request would be granted, and as what; nothing is created.
func (c *Client) Validate(ctx context.Context, request []byte) (json.RawMessage, error) {
	got, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/exports:validate", body: request, repeatable: true})
	return got.body, err
}

// Get reads an export. With the tag of a representation that still stands the answer is not Changed.
func (c *Client) Get(ctx context.Context, id, tag string) (Seen, error) {
	k := call{method: http.MethodGet, path: path(id), repeatable: true, header: http.Header{}}
	if tag != "" {
		k.header.Set("If-None-Match", tag)
	}
	return c.seen(ctx, k)
}

func (c *Client) seen(ctx context.Context, k call) (Seen, error) {
	got, err := c.do(ctx, k)
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Body: got.body, Tag: got.header.Get("ETag"), Changed: true, Replayed: got.header.Get("Idempotent-Replayed") == "true"}
	seen.RetryAfter, _ = retryAfter(got.header)
	if got.status == http.StatusNotModified {
		seen.Changed, seen.Body = false, nil
		return seen, nil
	}
	seen.Export, err = decode[Export](k, got)
	return seen, err
}

// ExportPage is one page of exports, newest first; Next is nil on the last. It may be short, or empty, and have a next one.
type ExportPage struct {
	Exports    []json.RawMessage `json:"exports"`
	Unreadable []Unreadable      `json:"unreadable,omitempty"`
	Next       *string           `json:"next_cursor"`
}

// Listing is which exports to list: those in one of the states, or any when there are none, and of one definition, or any
// when it is empty.
type Listing struct {
	States     []string
	Definition string
}

// List reads a page of at most size exports after the cursor, which is one of the same listing.
func (c *Client) List(ctx context.Context, of Listing, cursor string, size int) (ExportPage, error) {
	query := url.Values{}
	if len(of.States) > 0 {
		query.Set("state", strings.Join(of.States, ","))
	}
	if of.Definition != "" {
		query.Set("definition", of.Definition)
	}
	return getPage[ExportPage](ctx, c, call{path: "/v1/exports", query: query}, cursor, size)
}

// Event is a line of an export's audit.
type Event struct {
	At      string            `json:"at"`
	Action  string            `json:"action"`
	Actor   string            `json:"actor"`
	Version int64             `json:"version"`
	From    string            `json:"from"`
	To      string            `json:"to"`
	Reason  string            `json:"reason"`
	Detail  map[string]string `json:"detail"`
}

// EventPage is one page of an audit in order; Next is nil on the last.
type EventPage struct {
	Events     []json.RawMessage `json:"events"`
	Unreadable []Unreadable      `json:"unreadable,omitempty"`
	Next       *string           `json:"next_cursor"`
}

// Events reads a page of an export's audit after the cursor.
func (c *Client) Events(ctx context.Context, id, cursor string) (EventPage, error) {
	return getPage[EventPage](ctx, c, call{path: path(id) + "/events"}, cursor, 0)
}

func getPage[P any](ctx context.Context, c *Client, k call, cursor string, size int) (P, error) {
	k.method, k.repeatable = http.MethodGet, true
	if k.query == nil {
		k.query = url.Values{}
	}
	if cursor != "" {
		k.query.Set("cursor", cursor)
	}
	if size > 0 {
		k.query.Set("limit", strconv.Itoa(size))
	}
	got, err := c.do(ctx, k)
	if err != nil {
		var none P
		return none, err
	}
	return decode[P](k, got)
}

// Cancel asks to stop an export; asking again is the same answer.
func (c *Client) Cancel(ctx context.Context, id, reason string) (Seen, error) {
	return c.end(ctx, path(id)+"/cancel", reason)
}

// Revoke ends the delivery of a completed export; asking again is safe.
func (c *Client) Revoke(ctx context.Context, id, reason string) (Seen, error) {
	return c.end(ctx, path(id)+"/revoke", reason)
}

func (c *Client) end(ctx context.Context, path, reason string) (Seen, error) {
	// Text always marshals.
	body, _ := json.Marshal(map[string]string{"reason": reason})
	return c.seen(ctx, call{method: http.MethodPost, path: path, body: body, repeatable: true})
}

// Receipt reads the receipt of a completed export, byte for byte.
func (c *Client) Receipt(ctx context.Context, id string) ([]byte, error) {
	got, err := c.do(ctx, call{method: http.MethodGet, path: path(id) + "/receipt", repeatable: true})
	return got.body, err
}

// ReceiptKeys reads the JWK Set that receipts are verified with.
func (c *Client) ReceiptKeys(ctx context.Context) ([]byte, error) {
	got, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/receipt-keys", repeatable: true})
	return got.body, err
}

// Link is a short-lived permission to download. URL is a secret and must not be logged.
type Link struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
	FileName  string    `json:"file_name"`
	Bytes     int64     `json:"bytes"`
	CRC64     string    `json:"crc64nvme"`
}

// Link asks for a download link: for the file of that number when the export has many, or for what it delivers first
// when the number is 0. Each one counts, so a request whose answer was lost is not sent again.
func (c *Client) Link(ctx context.Context, id string, number int) (Link, error) {
	k := call{method: http.MethodPost, path: path(id) + "/download-links"}
	if number > 0 {
		// Numbers always marshal.
		k.body, _ = json.Marshal(map[string]int{"file": number})
	}
	got, err := c.do(ctx, k)
	if err != nil {
		return Link{}, err
	}
	return decode[Link](k, got)
}

func path(id string) string { return "/v1/exports/" + url.PathEscape(id) }
