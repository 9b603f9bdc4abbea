// Package audit owns the vocabulary of the append-only audit: what can happen to a job, and the event that records it.
// Events never hold row data, secrets or links. It imports nothing of the project; start reading at Event.
package audit

// Action is what happened.
type Action string

// The actions. The first group are transitions of a job, one event each; the second are acts that change no state.
const (
	Created    Action = "created"
	Planned    Action = "planned"
	Publishing Action = "publishing"
	Completed  Action = "completed"
	Failed     Action = "failed"
	Cancelled  Action = "cancelled"
	Revoked    Action = "revoked"
	Expired    Action = "expired"
	Signed     Action = "link_signed"
	Cleaned    Action = "cleaned"

	Replayed Action = "idempotent_replay"
	Conflict Action = "idempotency_conflict"
	Denied   Action = "download_denied"
)

// Event is one line of a job's audit.
type Event struct {
	Job     string `json:"job"`
	Tenant  string `json:"-"`
	Action  Action `json:"action"`
	Actor   string `json:"actor"`
	AtMilli int64  `json:"at_ms"`
	// Version is the job's version that the event made, or at which it happened.
	Version int64  `json:"version"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	// Act tells acts that may happen twice at one version apart; empty for those that can't.
	Act string `json:"-"`
	// Reason is a stable code or a person's own words for an act; Detail holds counts and identifiers.
	Reason string            `json:"reason,omitempty"`
	Detail map[string]string `json:"detail,omitempty"`
}
