package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	contentType  = "application/x-amz-json-1.1"
	targetPrefix = "AWSEvents."
)

// apiError is an answer that the caller can act on.
type apiError struct {
	kind   string
	text   string
	status int
}

func (e *apiError) Error() string { return e.kind + ": " + e.text }

func refuse(kind, format string, args ...any) error {
	return &apiError{kind: kind, text: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

func invalid(format string, args ...any) error { return refuse("ValidationException", format, args...) }

func closedError() error {
	return &apiError{kind: "ServiceUnavailableException", text: "The event bus is closing. Repeat the request after it has started again.", status: http.StatusServiceUnavailable}
}

type empty struct{}

type operation func(body []byte) (any, error)

// typed adapts an operation on values to one on bytes, done under the lock of
// an engine that is open.
func typed[In, Out any](e *Engine, run func(*In) (Out, error)) operation {
	return func(body []byte) (any, error) {
		in := new(In)
		if err := json.Unmarshal(body, in); err != nil {
			return nil, refuse("SerializationException", "The request body is not the JSON that this operation takes: %v. Compare it with the EventBridge API reference.", err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.closed {
			return nil, closedError()
		}
		return run(in)
	}
}

func (e *Engine) operations() map[string]operation {
	return map[string]operation{
		"PutEvents":         typed(e, e.putEvents),
		"PutRule":           typed(e, e.putRule),
		"DescribeRule":      typed(e, e.describeRule),
		"ListRules":         typed(e, e.listRules),
		"DeleteRule":        typed(e, e.deleteRule),
		"PutTargets":        typed(e, e.putTargets),
		"RemoveTargets":     typed(e, e.removeTargets),
		"ListTargetsByRule": typed(e, e.listTargetsByRule),
	}
}

// ServeHTTP answers one request of the EventBridge JSON protocol.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := e.serve(w, r)
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Date", e.opt.Now().UTC().Format(http.TimeFormat))
	header.Set("x-amzn-RequestId", e.opt.NewID())
	status := http.StatusOK
	if err != nil {
		var failure *apiError
		if !errors.As(err, &failure) {
			e.opt.Logger.ErrorContext(r.Context(), "event bus request failed", "target", r.Header.Get("X-Amz-Target"), "error", err)
			failure = &apiError{kind: "InternalException", text: "The event bus failed: " + err.Error(), status: http.StatusInternalServerError}
		}
		status, answer = failure.status, map[string]string{"__type": failure.kind, "message": failure.text}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		e.opt.Logger.ErrorContext(r.Context(), "event bus answer not encodable", "target", r.Header.Get("X-Amz-Target"), "error", err)
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	w.WriteHeader(status)
	// A client that has gone away is the only reason this write fails.
	_, _ = w.Write(text)
}

func (e *Engine) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	target := r.Header.Get("X-Amz-Target")
	name, known := strings.CutPrefix(target, targetPrefix)
	run := e.ops[name]
	if r.Method != http.MethodPost || !known || run == nil {
		return nil, refuse("UnknownOperationException",
			"The operation %q is not provided by the embedded event bus (it takes POST requests with the header X-Amz-Target: %s<operation>). Use one that is, or a real endpoint.", target, targetPrefix)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestBytesMax))
	if err != nil {
		return nil, invalid("The request body could not be read, or is longer than %d bytes: %v.", requestBytesMax, err)
	}
	return run(body)
}
