package job

import (
	"time"

	"sealift/shared/limits"
	"sealift/shared/row"
)

// UnitState is where a unit stands.
type UnitState string

// The states of a unit. Waiting is a retry that is not due yet; retired means that its job ended before it did.
const (
	UnitPending UnitState = "pending"
	UnitLeased  UnitState = "leased"
	UnitWaiting UnitState = "waiting"
	UnitDone    UnitState = "done"
	UnitFailed  UnitState = "failed"
	UnitRetired UnitState = "retired"
)

// UnitStates lists every state of a unit.
func UnitStates() []UnitState {
	return []UnitState{UnitPending, UnitLeased, UnitWaiting, UnitDone, UnitFailed, UnitRetired}
}

// Over reports whether nobody will work on the unit any more.
func (s UnitState) Over() bool { return s == UnitDone || s == UnitFailed || s == UnitRetired }

// Unit is a piece of a job that one worker runs under a lease.
type Unit struct {
	Job    string
	ID     string
	Tenant string
	Lane   Lane
	State  UnitState
	// Generation is the fencing token: +1 at every claim, and every write of a worker carries it.
	Generation int64
	// Owner identifies the attempt that holds or last held the lease; it is unique per attempt, not per worker.
	Owner      string
	LeaseUntil time.Time
	DueAt      time.Time
	Nudges     int64
	// Crashes counts leases that ended without a word, Faults failures that were reported. Releases cost neither.
	Crashes int64
	Faults  int64
	// PlanGeneration ties a shard to the plan that staged it.
	PlanGeneration int64

	// Range and RowsEstimated are a shard's share of the key space.
	Range         row.Range
	RowsEstimated int64

	Progress Progress
	// Upload is the multipart upload that holds the shard's parts, if there is one.
	Upload Upload
	// Object is the shard's complete staging object, once there is one.
	Object StagedObject
	// Scope is what a clean unit has to remove.
	Scope   CleanScope
	History []Attempt
	// Failure is why the unit waits to be tried again.
	Failure Failure
}

// Progress is what a shard has durably written: everything up to and including Cursor.
type Progress struct {
	Cursor    row.Key
	First     row.Key
	Rows      int64
	Bytes     int64
	RawBytes  int64
	RawCRC32  uint32
	CRC64     uint64
	RowsHash  uint64
	Counters  Counters
	PartCount int64
	Parts     []Part
	// Fragment is what the format must know of the shard's bytes beyond their sizes and checksums, in its own text.
	Fragment string
	// Exhausted means that the range holds nothing after Cursor.
	Exhausted bool
}

// Counters are what the encoder did to values: how many values each.
type Counters struct {
	// Nulls were NULL.
	Nulls int64 `json:"nulls"`
	// Neutralised are texts that were changed so that no spreadsheet takes them for a formula.
	Neutralised int64 `json:"neutralised"`
	// InvalidUTF8 had sequences that aren't UTF-8 replaced by U+FFFD.
	InvalidUTF8 int64 `json:"invalid_utf8"`
	// Masked were masked.
	Masked int64 `json:"masked"`
	// NumbersAsText are numbers that a spreadsheet would round and that were written as text with every digit.
	NumbersAsText int64 `json:"numbers_as_text,omitempty"`
	// TimesAsText are dates and times that a spreadsheet can't hold exactly and that were written as text.
	TimesAsText int64 `json:"times_as_text,omitempty"`
	// Escaped are texts with characters that the format can only hold in an escaped form, which its readers undo.
	Escaped int64 `json:"escaped,omitempty"`
	// Replaced had characters replaced that the file's encoding doesn't have; Truncated were cut to what a cell holds.
	// Both only where the definition allows it.
	Replaced  int64 `json:"replaced,omitempty"`
	Truncated int64 `json:"truncated,omitempty"`
}

// Add adds what another stretch of rows counted.
func (c *Counters) Add(d Counters) {
	c.Nulls += d.Nulls
	c.Neutralised += d.Neutralised
	c.InvalidUTF8 += d.InvalidUTF8
	c.Masked += d.Masked
	c.NumbersAsText += d.NumbersAsText
	c.TimesAsText += d.TimesAsText
	c.Escaped += d.Escaped
	c.Replaced += d.Replaced
	c.Truncated += d.Truncated
}

// Part is one durable part of a shard's multipart upload.
type Part struct {
	Number int64
	ETag   string
	Bytes  int64
	CRC64  uint64
}

// Upload is a multipart upload and the next part number that this generation may use. A takeover skips as many numbers
// as its predecessor may have had in flight, so that a late writer only writes numbers nobody lists.
type Upload struct {
	Key        string
	ID         string
	PartNumber int64
}

// Open reports whether there is an upload.
func (u Upload) Open() bool { return u.ID != "" }

// StagedObject is a complete object in the staging area.
type StagedObject struct {
	Key   string
	ETag  string
	Bytes int64
}

// CleanScope is what clean-up removes.
type CleanScope string

// The scopes: staging leaves the bound artifact alone, everything removes it as well.
const (
	CleanStaging    CleanScope = "staging"
	CleanEverything CleanScope = "everything"
)

// Attempt is one claim of a unit, kept for people.
type Attempt struct {
	Generation int64  `json:"generation"`
	Owner      string `json:"owner"`
	FromMillis int64  `json:"from_ms"`
	ToMillis   int64  `json:"to_ms"`
	// Ended is how: done, released, failed, crashed.
	Ended string `json:"ended"`
	Kind  Kind   `json:"kind,omitempty"`
	Code  string `json:"code,omitempty"`
}

// Claimable reports whether a worker may claim the unit at now, and if not, when it may be.
func (u Unit) Claimable(now time.Time) (ok bool, at time.Time) {
	switch u.State {
	case UnitPending:
		return true, now
	case UnitWaiting:
		return !u.DueAt.After(now), u.DueAt
	case UnitLeased:
		return u.LeaseUntil.Before(now), u.LeaseUntil
	case UnitDone, UnitFailed, UnitRetired:
		return false, time.Time{}
	}
	return false, time.Time{}
}

// CrashesExceeded reports whether the next claim of a dead lease would go past the budget.
func (u Unit) CrashesExceeded() bool {
	return u.State == UnitLeased && u.Crashes >= limits.CrashesMax
}
