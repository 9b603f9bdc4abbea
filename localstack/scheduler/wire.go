package scheduler

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"sealift/localstack/service"
)

func invalid(format string, args ...any) error {
	return service.Refuse("ValidationException", format, args...)
}

func conflict(format string, args ...any) error {
	return &service.Error{Kind: "ConflictException", Text: fmt.Sprintf(format, args...), Status: http.StatusConflict}
}

func notFound(format string, args ...any) error {
	return &service.Error{Kind: "ResourceNotFoundException", Text: fmt.Sprintf(format, args...), Status: http.StatusNotFound}
}

func closedError() error {
	return &service.Error{Kind: "ServiceUnavailableException", Text: "The scheduler is closing. Repeat the request after it has started again.", Status: http.StatusServiceUnavailable}
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
			return nil, &service.Error{
				Kind:   "UnknownOperationException",
				Text:   "The operation " + r.Method + " " + r.URL.Path + " is not provided by the embedded scheduler. Use one that is, or a real endpoint.",
				Status: http.StatusNotFound,
			}
		})
	})
	return mux
}

// ServeHTTP answers one request of the EventBridge Scheduler REST protocol.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.mux.ServeHTTP(w, r) }

func (e *Engine) answer(w http.ResponseWriter, r *http.Request, run func(*http.Request, []byte) (any, error)) {
	body, err := service.Body(w, r, requestBytesMax)
	var out any
	if err == nil {
		out, err = run(r, body)
	}
	status := http.StatusOK
	if err != nil {
		failure := e.opt.Failure(r, "scheduler", "InternalServerException", err)
		w.Header().Set("X-Amzn-ErrorType", failure.Kind)
		status, out = failure.Status, map[string]string{"Message": failure.Text}
	}
	e.opt.Send(w, r, "application/json", status, out)
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
