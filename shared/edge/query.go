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

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// QueryAPI answers the readers' routes.
func QueryAPI(q pipeline.Querier, claims Claims, log *slog.Logger) API {
	h := queryRoutes{querier: q}
	return api{claims: claims, log: log, routes: map[string]route{
		"GET /v1/exports":              {answer: h.list, query: []string{"state", "definition", "limit", "cursor"}},
		"GET /v1/exports/{id}":         {answer: h.get},
		"GET /v1/exports/{id}/receipt": {answer: h.receipt},
		"GET /v1/exports/{id}/events":  {answer: h.events, query: []string{"limit", "cursor"}},
		"GET /v1/receipt-keys":         {answer: h.receiptKeys},
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
	answer.unread = len(status.Unread)
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

func (h queryRoutes) receipt(ctx context.Context, r request) (response, error) {
	text, err := h.querier.Receipt(ctx, r.who, r.path["id"])
	if err != nil {
		return response{}, err
	}
	return packed(text, r.header("accept-encoding"))
}

// keysFresh is how long a caller may keep the set of keys without asking again. A key is never changed, only others may
// come to it.
const keysFresh = "private, max-age=3600"

func (h queryRoutes) receiptKeys(ctx context.Context, _ request) (response, error) {
	text, err := h.querier.ReceiptKeys(ctx)
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, raw: text, headers: map[string]string{"content-type": "application/jwk-set+json", "cache-control": keysFresh}}, nil
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

// acceptsGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3) as far as gzip is concerned: the asterisk stands
// for it only where it isn't named.
func acceptsGzip(header string) bool {
	accepted := map[string]bool{}
	for coding := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		_, q, weighted := strings.Cut(weight, "=")
		value, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		accepted[strings.ToLower(strings.TrimSpace(name))] = !weighted || (err == nil && value > 0)
	}
	if gzip, named := accepted["gzip"]; named {
		return gzip
	}
	return accepted["*"]
}
