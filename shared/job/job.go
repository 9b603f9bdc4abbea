// Package job owns what a job is and every legal move: Job and Unit are values read from the ledger, a move is a method
// that returns a Change, and a Change is the only thing a ledger applies. There is no I/O, no clock and no randomness
// here; now, identifiers and jitter are arguments. Start reading at Job, Unit and Change. It imports row, limits and
// audit.
package job

import (
	"time"

	"sealift/shared/row"
)

// State is where a job stands.
type State string

// The states of a job. Completed, failed, cancelled and expired are terminal; only completed may still expire.
const (
	StateQueued     State = "queued"
	StateRunning    State = "running"
	StatePublishing State = "publishing"
	StateCompleted  State = "completed"
	StateFailed     State = "failed"
	StateCancelled  State = "cancelled"
	StateExpired    State = "expired"
)

// States lists every state in the order of a job's life.
func States() []State {
	return []State{StateQueued, StateRunning, StatePublishing, StateCompleted, StateFailed, StateCancelled, StateExpired}
}

// Terminal reports whether no work is left but clean-up.
func (s State) Terminal() bool {
	switch s {
	case StateCompleted, StateFailed, StateCancelled, StateExpired:
		return true
	case StateQueued, StateRunning, StatePublishing:
		return false
	}
	return false
}

// Lane is an isolation class with its own queue.
type Lane string

// The lanes.
const (
	Realtime Lane = "realtime"
	Bulk     Lane = "bulk"
)

// Line is where a message waits: in its lane, in turn with those of other tenants.
type Line struct {
	Lane   Lane
	Tenant string
}

// Line is where the job's messages wait.
func (j Job) Line() Line { return Line{Lane: j.Lane, Tenant: j.Tenant} }

// Line is where the unit's messages wait.
func (u Unit) Line() Line { return Line{Lane: u.Lane, Tenant: u.Tenant} }

// Job is one business intent as the ledger holds it.
type Job struct {
	ID                string
	Tenant            string
	Applicant         string
	Definition        string
	DefinitionVersion int64
	Lane              Lane
	State             State
	// Version grows by one at every transition and names the audit event of that transition.
	Version int64
	// Snapshot is the frozen intent in canonical JSON and SnapshotDigest its SHA-256 in hex; RequestDigest is that of
	// the normalised request before the server's own choices, which an Idempotency-Key is bound to.
	Snapshot       string
	SnapshotDigest string
	RequestDigest  string
	CreatedAt      time.Time
	// UpdatedAt is when the last event happened: events never go back in time, whoever's clock wrote them.
	UpdatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time

	// Shards, PlanGeneration and Ceiling are fixed by the plan's one commit.
	Shards         int64
	PlanGeneration int64
	Ceiling        row.Key
	// SourceIdentity tells whether the source is still the very thing that was planned; opaque.
	SourceIdentity string
	// RowsEstimated is -1 when the source can't tell.
	RowsEstimated int64

	// ShardsDone, Rows and Bytes are the sums over the shards that are done.
	ShardsDone int64
	Rows       int64
	Bytes      int64

	// Publish is the publish record: the one key under which this job's artifact may ever exist.
	Publish Publication
	// Artifact is bound by completing.
	Artifact Artifact
	Failure  Failure

	ExpiresAt    time.Time
	Retention    time.Duration
	DownloadsMax int64
	Downloads    int64
	// RowsMax fails a job that turns out larger than its definition allows; 0 is no limit.
	RowsMax int64
	DueAt   time.Time
	Nudges  int64
}

// Publication is where the artifact and its receipt go, chosen once.
type Publication struct {
	ArtifactKey string
	ReceiptKey  string
	Generation  int64
	At          time.Time
}

// Artifact is what a completed job delivers: its one file, or the manifest of many.
type Artifact struct {
	Key           string
	ReceiptKey    string
	ReceiptSHA256 string
	// ReceiptSignature is a JWS of the receipt's bytes with detached payload; empty in jobs of releases that signed none.
	ReceiptSignature string
	ETag             string
	Bytes            int64
	Rows             int64
	// CRC64 is the CRC-64/NVME of the whole object.
	CRC64 uint64
	// Files is how many files the manifest lists, and 0 for one file without a manifest. FilesBytes is the size of all
	// files together, without a manifest.
	Files      int64
	FilesBytes int64
	// Counters are what the encoders did to values.
	Counters Counters
}

// LinksMax is how many download links the job may give out: as many downloads as the definition allows, each of which
// is one link for a single file, or one for the manifest and one for each file. 0 is no limit.
func (j Job) LinksMax() int64 { return j.DownloadsMax * (j.Artifact.Files + 1) }

// Revoked is when a person ended the job's delivery before its time, and zero for every other job. The end of a delivery is
// one state however it came about; only a person ends one while it still had time left.
func (j Job) Revoked() time.Time {
	if j.State != StateExpired || !j.ExpiresAt.Before(j.FinishedAt.Add(j.Retention)) {
		return time.Time{}
	}
	return j.ExpiresAt
}

// Failure says why a job or unit failed and what to do.
type Failure struct {
	Kind   Kind   `json:"kind"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Unit   string `json:"unit,omitempty"`
}

// AllShardsDone reports whether a running job waits for nothing but its finalize unit.
func (j Job) AllShardsDone() bool { return j.Shards > 0 && j.ShardsDone >= j.Shards }
