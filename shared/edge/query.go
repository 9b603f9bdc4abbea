package edge

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sealift/shared/audit"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// QueryAPI answers the readers' routes.
func QueryAPI(q pipeline.Querier, claims Claims, log *slog.Logger) API {
	h := queryRoutes{querier: q}
	return api{claims: claims, log: log, routes: map[string]route{
		"GET /v1/exports":              {answer: h.list, query: []string{"limit", "cursor"}},
		"GET /v1/exports/{id}":         {answer: h.get},
		"GET /v1/exports/{id}/receipt": {answer: h.receipt},
		"GET /v1/exports/{id}/events":  {answer: h.events, query: []string{"limit", "cursor"}},
	}}.handle
}

type queryRoutes struct{ querier pipeline.Querier }

func (h queryRoutes) get(ctx context.Context, r request) (response, error) {
	status, err := h.querier.Get(ctx, r.who, r.path["id"])
	if err != nil {
		return response{}, err
	}
	body, err := show(status)
	if err != nil {
		return response{}, err
	}
	answer, err := tagged(r, body)
	if err == nil && !status.Job.State.Terminal() {
		answer.headers["retry-after"] = retryAfter(status.Job, h.querier.Ledger.Now())
	}
	return answer, err
}

// tagged answers 304 when the caller has this very representation (RFC 9110, 13.1.2).
func tagged(r request, body any) (response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return response{}, err
	}
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	answer := response{status: http.StatusOK, headers: map[string]string{"etag": tag, "cache-control": "private, no-cache"}, raw: text}
	for candidate := range strings.SplitSeq(r.header("if-none-match"), ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == tag || candidate == "*" {
			answer.status, answer.raw = http.StatusNotModified, nil
		}
	}
	return answer, nil
}

func (h queryRoutes) list(ctx context.Context, r request) (response, error) {
	size, err := pageSize(r, limits.JobsPage)
	if err != nil {
		return response{}, err
	}
	after, err := cursor(r, job.IsCreatedKey)
	if err != nil {
		return response{}, err
	}
	jobs, next, err := h.querier.List(ctx, r.who, after, size)
	if err != nil {
		return response{}, err
	}
	exports := make([]export, 0, len(jobs))
	for _, j := range jobs {
		e, err := show(pipeline.Status{Job: j, RowsWritten: j.Rows})
		if err != nil {
			return response{}, err
		}
		// A hundred of them could be more than an answer holds.
		e.Request.Columns, e.Request.Filters = nil, nil
		exports = append(exports, e)
	}
	return response{status: http.StatusOK, body: page("exports", exports, next)}, nil
}

// page is one page of a listing; next_cursor is null on the last.
func page(name string, items any, next string) map[string]any {
	body := map[string]any{name: items, "next_cursor": nil}
	if next != "" {
		body["next_cursor"] = opaque(next)
	}
	return body
}

func (h queryRoutes) receipt(ctx context.Context, r request) (response, error) {
	text, err := h.querier.Receipt(ctx, r.who, r.path["id"])
	if err != nil {
		return response{}, err
	}
	return packed(text, r.header("accept-encoding"))
}

// packed answers with a large text in gzip where the caller takes that: what a function may answer with is bounded, and a
// receipt of ten thousand files is larger than that.
func packed(text []byte, accepts string) (response, error) {
	if len(text) <= limits.PlainAnswerBytesMax {
		return response{status: http.StatusOK, raw: text}, nil
	}
	if !acceptsGzip(accepts) {
		if len(text) > limits.AnswerBytesMax {
			return response{}, job.Errorf(job.Invalid, "receipt_too_large",
				"the receipt has %d bytes, more than one plain answer holds; ask with the header Accept-Encoding: gzip", len(text))
		}
		return response{status: http.StatusOK, raw: text}, nil
	}
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	if _, err := w.Write(text); err != nil {
		return response{}, fmt.Errorf("pack the receipt: %w", err)
	}
	if err := w.Close(); err != nil {
		return response{}, fmt.Errorf("pack the receipt: %w", err)
	}
	return response{
		status: http.StatusOK, raw: body.Bytes(), binary: true,
		headers: map[string]string{"content-encoding": "gzip", "vary": "accept-encoding"},
	}, nil
}

// acceptsGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3) as far as gzip is concerned.
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if name != "gzip" && name != "*" {
			continue
		}
		_, q, weighted := strings.Cut(weight, "=")
		value, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return !weighted || (err == nil && value > 0)
	}
	return false
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
	for _, e := range found {
		shown = append(shown, event{Event: e, At: timeText(time.UnixMilli(e.AtMilli))})
	}
	return response{status: http.StatusOK, body: page("events", shown, next)}, nil
}

// event is a line of the audit with its time in words.
type event struct {
	audit.Event

	At string `json:"at"`
}
