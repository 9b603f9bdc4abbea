package scheduler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// apiError is an answer that the caller can act on.
type apiError struct {
	kind   string
	text   string
	status int
}

func (e *apiError) Error() string { return e.kind + ": " + e.text }

func invalid(format string, args ...any) error {
	return &apiError{kind: "ValidationException", text: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

func conflict(format string, args ...any) error {
	return &apiError{kind: "ConflictException", text: fmt.Sprintf(format, args...), status: http.StatusConflict}
}

func notFound(format string, args ...any) error {
	return &apiError{kind: "ResourceNotFoundException", text: fmt.Sprintf(format, args...), status: http.StatusNotFound}
}

func closedError() error {
	return &apiError{kind: "ServiceUnavailableException", text: "The scheduler is closing. Repeat the request after it has started again.", status: http.StatusServiceUnavailable}
}

type empty struct{}

// routes maps the operations that are provided; every other request is refused.
func (e *Engine) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, run := range map[string]func(r *http.Request, body []byte) (any, error){
		"POST /schedules/{name}":         e.createSchedule,
		"GET /schedules/{name}":          e.getSchedule,
		"PUT /schedules/{name}":          e.updateSchedule,
		"DELETE /schedules/{name}":       e.deleteSchedule,
		"GET /schedules":                 e.listSchedules,
		"POST /schedule-groups/{name}":   e.createGroup,
		"GET /schedule-groups/{name}":    e.getGroup,
		"DELETE /schedule-groups/{name}": e.deleteGroup,
		"GET /schedule-groups":           e.listGroups,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { e.answer(w, r, run) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		e.answer(w, r, func(r *http.Request, _ []byte) (any, error) {
			return nil, &apiError{
				kind:   "UnknownOperationException",
				text:   "The operation " + r.Method + " " + r.URL.Path + " is not provided by the embedded scheduler. Use one that is, or a real endpoint.",
				status: http.StatusNotFound,
			}
		})
	})
	return mux
}

// ServeHTTP answers one request of the EventBridge Scheduler REST protocol.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.mux.ServeHTTP(w, r) }

func (e *Engine) answer(w http.ResponseWriter, r *http.Request, run func(*http.Request, []byte) (any, error)) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestBytesMax))
	var out any
	if err != nil {
		err = invalid("The request body could not be read, or is longer than %d bytes: %v.", requestBytesMax, err)
	} else {
		out, err = run(r, body)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Date", e.opt.Now().UTC().Format(http.TimeFormat))
	header.Set("x-amzn-RequestId", e.opt.NewID())
	status := http.StatusOK
	if err != nil {
		var failure *apiError
		if !errors.As(err, &failure) {
			e.opt.Logger.ErrorContext(r.Context(), "scheduler request failed", "method", r.Method, "path", r.URL.Path, "error", err)
			failure = &apiError{kind: "InternalServerException", text: "The scheduler failed: " + err.Error(), status: http.StatusInternalServerError}
		}
		header.Set("X-Amzn-ErrorType", failure.kind)
		status, out = failure.status, map[string]string{"Message": failure.text}
	}
	text, err := json.Marshal(out)
	if err != nil {
		e.opt.Logger.ErrorContext(r.Context(), "scheduler answer not encodable", "method", r.Method, "path", r.URL.Path, "error", err)
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	w.WriteHeader(status)
	// A client that has gone away is the only reason this write fails.
	_, _ = w.Write(text)
}

func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return invalid("The request body is not the JSON that this operation takes: %v. Compare it with the API reference.", err)
	}
	return nil
}

// page cuts what a listing found, in the order of its names, and returns the
// token of the next page. A token is the last name of the page before.
func page[T any](r *http.Request, found []T, name func(T) string) (out []T, next string, err error) {
	query := r.URL.Query()
	limit := listMax
	if text := query.Get("MaxResults"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > listMax {
			return nil, "", invalid("MaxResults must be 1 to %d, got %q.", listMax, text)
		}
	}
	out = []T{}
	for _, one := range found {
		if name(one) <= query.Get("NextToken") {
			continue
		}
		if len(out) == limit {
			return out, name(out[limit-1]), nil
		}
		out = append(out, one)
	}
	return out, "", nil
}
