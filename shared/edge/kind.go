package edge

import (
	"net/http"

	"sealift/shared/job"
)

// codeTooLarge is the code of a body that is too large to be looked at.
const codeTooLarge = "request_too_large"

// status is the one place that turns an error into an HTTP status: by its kind, and by its code where HTTP has a more
// exact word.
func status(kind job.Kind, code string) int {
	switch code {
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge
	case "idempotency_key_reused":
		return http.StatusUnprocessableEntity
	case "idempotency_key_in_use":
		return http.StatusConflict
	case "export_expired", "export_revoked":
		return http.StatusGone
	case "rights_shrank", "downloads_exceeded", "token_incomplete":
		// No wait cures them, so they are no 429.
		return http.StatusForbidden
	case "media_type":
		return http.StatusUnsupportedMediaType
	}
	switch kind {
	case job.Invalid:
		return http.StatusBadRequest
	case job.NotFound:
		return http.StatusNotFound
	case job.Fenced:
		return http.StatusConflict
	case job.Limited:
		return http.StatusTooManyRequests
	case job.Transient, job.Overload, job.Unknown, job.Resource, job.Cancelled:
		return http.StatusServiceUnavailable
	case job.Permanent:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

// verdict is what happens to a queue's message.
type verdict string

const (
	// acknowledge deletes the message: its work is done, or somebody else's.
	acknowledge verdict = "acknowledge"
	// retry leaves the message to become visible again; when it has come too often, the queue moves it to its dead
	// letters, where it is kept for people.
	retry verdict = "retry"
	// reject is a retry that waits for nothing: the message can't be understood by this function, ever, and is to come to
	// its queue's dead letters within moments and not after hours. One of a newer release is not of that kind: in the middle
	// of a deployment it only has to wait.
	reject verdict = "reject"
)

// answer is the one place that turns an error into what happens to the message. A message that can't be understood or
// whose job isn't there is never swallowed: it comes again and ends among the dead letters.
func answer(kind job.Kind, code string) verdict {
	switch code {
	case "message_malformed", "message_misrouted":
		return reject
	}
	switch kind {
	case "", job.Fenced:
		return acknowledge
	case job.NotFound:
		// The row is there before its message is sent, so there is no such job or unit.
		return reject
	case job.Invalid, job.Permanent, job.Transient, job.Overload, job.Unknown, job.Resource, job.Cancelled, job.Limited:
		return retry
	}
	return retry
}
