package job

import (
	"errors"
	"fmt"
	"strings"

	"sealift/shared/limits"
)

// Kind is the closed set of error classes. Each has exactly one path: what a caller does next depends on the kind and
// on nothing else.
type Kind string

// The kinds of error.
const (
	// Invalid is a request that can't be granted as it stands; the caller must change it.
	Invalid Kind = "invalid"
	// NotFound is a thing that doesn't exist, or that the caller may not know of.
	NotFound Kind = "not_found"
	// Permanent is a fault that no retry cures: a column is gone, a permission is missing.
	Permanent Kind = "permanent"
	// Transient is a fault that a later try may not meet: network, restart, lock.
	Transient Kind = "transient"
	// Overload means the other side asked to slow down.
	Overload Kind = "overload"
	// Unknown means the effect may or may not have happened; the caller must look before it acts.
	Unknown Kind = "unknown"
	// Resource means this process ran short of memory, disk or time.
	Resource Kind = "resource"
	// Cancelled means the job was cancelled or the process is shutting down.
	Cancelled Kind = "cancelled"
	// Fenced means that a guard refused the write: somebody else owns the row or it moved on.
	Fenced Kind = "fenced"
	// Limited means a quota of the caller is used up; the same request is fine later.
	Limited Kind = "limited"
)

// Error is the one error type that crosses rooms. Code is stable and for machines, Detail is for people and says what,
// where and how to mend it; it never holds row data, secrets or signed links, nor what the deployment calls its parts, which At is for.
type Error struct {
	Kind   Kind
	Code   string
	Detail string
	// Field is the request or definition field that is at fault, as a JSON pointer, when there is one.
	Field string
	Err   error
}

// Error renders kind, code, detail and cause.
func (e *Error) Error() string {
	text := string(e.Kind) + ": " + e.Code
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf builds an Error whose detail is formatted; a %w operand becomes its cause.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	cause := errors.Unwrap(wrapped)
	e := &Error{Kind: kind, Code: code, Err: cause}
	if cause == nil {
		e.Detail = wrapped.Error()
		return e
	}
	// The cause is rendered by Error; the detail is the text in front of it.
	e.Detail = trimCause(wrapped.Error(), cause.Error())
	return e
}

// At is a cause that says where something happened in the service's own names: the key of an object, a queue, an operation of
// the ledger. Logs have it and details have not, because details are shown to whoever asked for the export. Of the cause
// itself there may be none.
func At(place string, cause error) error { return &located{place: place, cause: cause} }

// PlaceOf is where err happened, or empty.
func PlaceOf(err error) string {
	var l *located
	if errors.As(err, &l) {
		return l.place
	}
	return ""
}

type located struct {
	place string
	cause error
}

func (l *located) Error() string {
	if l.cause == nil {
		return l.place
	}
	return l.place + ": " + l.cause.Error()
}

func (l *located) Unwrap() error { return l.cause }

// KindOf returns the kind of err: that of the outermost Error in its chain, Fenced for a Refused, Unknown for any other
// error and "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	var refused *Refused
	if errors.As(err, &refused) {
		return Fenced
	}
	return Unknown
}

// CodeOf returns the code of the outermost Error in err's chain, that of a Refused, or "internal".
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var refused *Refused
	if errors.As(err, &refused) {
		return codeRefused
	}
	return "internal"
}

// codeRefused is the code of a Refused.
const codeRefused = "change_refused"

func trimCause(text, cause string) string {
	if len(text) >= len(cause) && text[len(text)-len(cause):] == cause {
		text = text[:len(text)-len(cause)]
	}
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == ':') {
		text = text[:len(text)-1]
	}
	return text
}

// Clip bounds how much of a caller's own text a message repeats.
func Clip(text string) string {
	if len(text) > limits.EchoBytesMax {
		return strings.ToValidUTF8(text[:limits.EchoBytesMax], "") + "…"
	}
	return text
}
