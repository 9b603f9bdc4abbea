package edge

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sealift/shared/audit"
	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

func (h queryRoutes) list(ctx context.Context, r request) (response, error) {
	of, err := listing(r)
	if err != nil {
		return response{}, err
	}
	listed, next, err := h.querier.List(ctx, r.who, of)
	if err != nil {
		return response{}, err
	}
	exports := make([]export, 0, len(listed))
	var unread []unreadable
	for _, entry := range listed {
		if entry.Unread != nil {
			unread = append(unread, cantRead(*entry.Unread))
			continue
		}
		e, err := show(pipeline.Status{Job: entry.Job, RowsWritten: entry.Job.Rows})
		if err != nil {
			return response{}, err
		}
		// A hundred of them could be more than an answer holds.
		e.Request.Columns, e.Request.Filters = nil, nil
		exports = append(exports, e)
	}
	if next != "" {
		next += bound(of.Filter)
	}
	return page("exports", exports, unread, next), nil
}

func (h queryRoutes) events(ctx context.Context, r request) (response, error) {
	size, err := pageSize(r, limits.EventsPage)
	if err != nil {
		return response{}, err
	}
	after, err := cursor(r, job.IsEventSortKey)
	if err != nil {
		return response{}, err
	}
	found, next, err := h.querier.Events(ctx, r.who, r.path["id"], after, size)
	if err != nil {
		return response{}, err
	}
	shown := make([]event, 0, len(found))
	var unread []unreadable
	for _, entry := range found {
		if entry.Unread != nil {
			unread = append(unread, cantRead(*entry.Unread))
			continue
		}
		shown = append(shown, event{Event: entry.Event, At: timeText(time.UnixMilli(entry.Event.AtMilli))})
	}
	return page("events", shown, unread, next), nil
}

// event is a line of the audit with its time in words.
type event struct {
	audit.Event

	At string `json:"at"`
}

// unreadable names a record that is there and can't be read, with the type and detail of the problem that whoever asks for
// it alone is told.
type unreadable struct {
	Record string `json:"record"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

func cantRead(u pipeline.Unread) unreadable {
	named := unreadable{Record: u.Record, Type: problemType(job.CodeOf(u.Err))}
	var e *job.Error
	if errors.As(u.Err, &e) {
		named.Detail = e.Detail
	}
	return named
}

// page is one page of a listing; next_cursor is null on the last. unread are the entries of it that can't be read.
func page(name string, items any, unread []unreadable, next string) response {
	body := map[string]any{name: items, "next_cursor": nil}
	if len(unread) > 0 {
		body["unreadable"] = unread
	}
	if next != "" {
		body["next_cursor"] = opaque(next)
	}
	return response{status: http.StatusOK, body: body, unread: len(unread)}
}

// listing reads which exports are asked for.
func listing(r request) (pipeline.Listing, error) {
	states, err := statesOf(r)
	if err != nil {
		return pipeline.Listing{}, err
	}
	name, given := r.query["definition"]
	if given && !definition.ValidName(name) {
		return pipeline.Listing{}, &job.Error{Kind: job.Invalid, Code: "definition_malformed", Field: "definition",
			Detail: "the query parameter definition is " + strconv.Quote(job.Clip(name)) + "; send the name of one definition, 1 to 64 of a-z, 0-9, - and _, or leave it out"}
	}
	of := pipeline.Listing{Filter: pipeline.Filter{States: states, Definition: name}}
	if of.Size, err = pageSize(r, limits.JobsPage); err != nil {
		return pipeline.Listing{}, err
	}
	of.After, err = cursorOf(r, of.Filter)
	return of, err
}

// statesOf reads ?state=, a list with commas or, which is the same to the gateway, several times the parameter. The states
// are in the order of an export's life.
func statesOf(r request) ([]job.State, error) {
	text, given := r.query["state"]
	if !given {
		return nil, nil
	}
	refuse := func(fault, word, rest string) error {
		return &job.Error{Kind: job.Invalid, Code: "state_malformed", Field: "state",
			Detail: "the query parameter state " + fault + " " + strconv.Quote(job.Clip(word)) + "; " + rest}
	}
	var found []job.State
	known := job.States()
	for word := range strings.SplitSeq(text, ",") {
		state := job.State(word)
		if !slices.Contains(known, state) {
			return nil, refuse("is", word, "allowed are "+words(known)+", several with commas between; or leave it out")
		}
		if slices.Contains(found, state) {
			return nil, refuse("has twice", word, "name every state once")
		}
		found = append(found, state)
	}
	slices.SortFunc(found, func(a, b job.State) int { return slices.Index(known, a) - slices.Index(known, b) })
	return found, nil
}

func words(states []job.State) string {
	texts := make([]string, len(states))
	for i, state := range states {
		texts[i] = string(state)
	}
	return strings.Join(texts, ", ")
}

// bound is what a cursor of a filtered listing ends with, so that it goes on in no other; empty without a filter.
func bound(f pipeline.Filter) string {
	if len(f.States) == 0 && f.Definition == "" {
		return ""
	}
	return "?definition=" + f.Definition + "&state=" + words(f.States)
}

// cursorOf reads the cursor of a listing of exports, which goes on only in a listing of the same filter.
func cursorOf(r request, f pipeline.Filter) (string, error) {
	key := func(text string) string { return text[:strings.IndexByte(text+"?", '?')] }
	text, err := cursor(r, func(text string) bool { return job.IsCreatedKey(key(text)) })
	if err != nil || text == "" {
		return "", err
	}
	if text != key(text)+bound(f) {
		return "", &job.Error{Kind: job.Invalid, Code: codeCursor, Field: "cursor",
			Detail: "the query parameter cursor is the next_cursor of a listing with another state or definition; send it with those that it was given for, or begin without it"}
	}
	return key(text), nil
}

// pageSize reads ?limit=.
func pageSize(r request, most int) (int, error) {
	text := r.query["limit"]
	if text == "" {
		return 0, nil
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < 1 || size > most {
		return 0, &job.Error{Kind: job.Invalid, Code: "limit_malformed", Field: "limit",
			Detail: "the query parameter limit is " + strconv.Quote(job.Clip(text)) + "; allowed are 1 to " + strconv.Itoa(most)}
	}
	return size, nil
}

// codeCursor is the code of a cursor that goes on nowhere.
const codeCursor = "cursor_malformed"

// cursor reads ?cursor=, which is opaque to callers; fits tells whether it is one of this listing.
func cursor(r request, fits func(string) bool) (string, error) {
	given := r.query["cursor"]
	if given == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(given)
	if err != nil || !fits(string(text)) {
		return "", &job.Error{Kind: job.Invalid, Code: codeCursor, Field: "cursor",
			Detail: "the query parameter cursor is not a next_cursor of this listing; send it as it was given, or begin without it"}
	}
	return string(text), nil
}

func opaque(cursor string) string { return base64.RawURLEncoding.EncodeToString([]byte(cursor)) }
