package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Error is an answer that the caller can act on.
type Error struct {
	// Kind is the exception's name in the service's API reference.
	Kind   string
	Text   string
	Status int
}

// Error implements error.
func (e *Error) Error() string { return e.Kind + ": " + e.Text }

// Refuse is an Error with status 400.
func Refuse(kind, format string, args ...any) error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

// Body reads the body of a request of at most so many bytes.
func Body(w http.ResponseWriter, r *http.Request, bytesMax int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bytesMax))
	if err != nil {
		return nil, Refuse("ValidationException", "The request body could not be read, or is longer than %d bytes: %v.", bytesMax, err)
	}
	return body, nil
}

// Failure is the answer for any error. What isn't the caller's doing is logged, and becomes an exception called internal,
// which SDKs repeat.
func (o Options) Failure(r *http.Request, name, internal string, err error) *Error {
	var failure *Error
	if errors.As(err, &failure) {
		return failure
	}
	o.Logger.ErrorContext(r.Context(), "request failed", "service", name, "method", r.Method, "path", r.URL.Path,
		"target", r.Header.Get("X-Amz-Target"), "error", err)
	return &Error{Kind: internal, Text: "The " + name + " failed: " + err.Error(), Status: http.StatusInternalServerError}
}

// Send answers in JSON, with the headers that every service of the cloud sends.
func (o Options) Send(w http.ResponseWriter, r *http.Request, contentType string, status int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		o.Logger.ErrorContext(r.Context(), "answer has no JSON form", "path", r.URL.Path, "target", r.Header.Get("X-Amz-Target"), "error", err)
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Date", o.Now().UTC().Format(http.TimeFormat))
	header.Set("x-amzn-RequestId", o.NewID())
	w.WriteHeader(status)
	// A client that has gone away is the only reason this write fails.
	_, _ = w.Write(text)
}
