package secrets

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
	targetPrefix = "secretsmanager."
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

func invalidParameter(format string, args ...any) error {
	return refuse("InvalidParameterException", format, args...)
}

type operation func(body []byte) (any, error)

// typed adapts an operation on values to one on bytes, done under the lock of
// an engine that is open.
func typed[In, Out any](e *Engine, run func(*In) (Out, error)) operation {
	return func(body []byte) (any, error) {
		in := new(In)
		if err := json.Unmarshal(body, in); err != nil {
			// The error of the decoder could quote a secret.
			return nil, refuse("SerializationException", "The request body is not the JSON that this operation takes. Compare it with the Secrets Manager API reference.")
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.closed {
			return nil, &apiError{kind: "ServiceUnavailableException", text: "The secrets are closing. Repeat the request after they have started again.", status: http.StatusServiceUnavailable}
		}
		if err := e.eraseDue(); err != nil {
			return nil, err
		}
		return run(in)
	}
}

func (e *Engine) operations() map[string]operation {
	return map[string]operation{
		"CreateSecret":   typed(e, e.createSecret),
		"PutSecretValue": typed(e, e.putSecretValue),
		"UpdateSecret":   typed(e, e.updateSecret),
		"GetSecretValue": typed(e, e.getSecretValue),
		"DescribeSecret": typed(e, e.describeSecret),
		"ListSecrets":    typed(e, e.listSecrets),
		"DeleteSecret":   typed(e, e.deleteSecret),
	}
}

// ServeHTTP answers one request of the Secrets Manager JSON protocol.
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
			e.opt.Logger.ErrorContext(r.Context(), "secrets request failed", "target", r.Header.Get("X-Amz-Target"), "error", err)
			failure = &apiError{kind: "InternalServiceError", text: "The secrets engine failed: " + err.Error(), status: http.StatusInternalServerError}
		}
		status, answer = failure.status, map[string]string{"__type": failure.kind, "Message": failure.text}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		e.opt.Logger.ErrorContext(r.Context(), "secrets answer not encodable", "target", r.Header.Get("X-Amz-Target"), "error", err)
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
			"The operation %q is not provided by the embedded secrets (they take POST requests with the header X-Amz-Target: %s<operation>). Use one that is, or a real endpoint.", target, targetPrefix)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestBytesMax))
	if err != nil {
		return nil, refuse("ValidationException", "The request body could not be read, or is longer than %d bytes: %v.", requestBytesMax, err)
	}
	return run(body)
}
