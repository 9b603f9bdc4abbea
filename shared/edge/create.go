package edge

import (
	"context"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/snapshot"
)

// CreateAPI answers POST /v1/exports and POST /v1/exports:validate.
func CreateAPI(c pipeline.Creator, claims Claims, log *slog.Logger) API {
	h := createRoutes{creator: c}
	return api{claims: claims, log: log, routes: map[string]route{
		"POST /v1/exports":          {answer: h.create},
		"POST /v1/exports:validate": {answer: h.validate},
	}}.handle
}

type createRoutes struct{ creator pipeline.Creator }

func (h createRoutes) create(ctx context.Context, r request) (response, error) {
	ask, err := readAsk(r)
	if err != nil {
		return response{}, err
	}
	answer, err := h.creator.Create(ctx, ask)
	if err != nil {
		return response{}, err
	}
	body, err := show(pipeline.Status{Job: answer.Job, RowsWritten: answer.Job.Rows})
	if err != nil {
		return response{}, err
	}
	headers := map[string]string{
		"location":    "/v1/exports/" + answer.Job.ID,
		"retry-after": retryAfter(answer.Job, h.creator.Ledger.Now()),
	}
	if answer.Replayed {
		headers["idempotent-replayed"] = "true"
	}
	return response{status: http.StatusAccepted, headers: headers, body: body}, nil
}

func (h createRoutes) validate(ctx context.Context, r request) (response, error) {
	ask, err := readAsk(r)
	if err != nil {
		return response{}, err
	}
	snap, err := h.creator.Validate(ctx, ask)
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: map[string]any{
		"valid": true, "snapshot": snap, "snapshot_sha256": snap.Digest(),
	}}, nil
}

func readAsk(r request) (pipeline.Ask, error) {
	if mediaType, _, err := mime.ParseMediaType(r.header("content-type")); err != nil || mediaType != "application/json" {
		return pipeline.Ask{}, &job.Error{Kind: job.Invalid, Code: "media_type",
			Detail: "the content type is " + strconv.Quote(job.Clip(r.header("content-type"))) + "; send the request as application/json"}
	}
	key, err := idempotencyKey(r.header("idempotency-key"))
	faults := snapshot.FaultsOf(err)
	asked, err := snapshot.Decode(r.body)
	if job.CodeOf(err) == codeTooLarge {
		return pipeline.Ask{}, err
	}
	faults = append(faults, snapshot.FaultsOf(err)...)
	if faults.Whole() {
		return pipeline.Ask{}, faults.Refusal()
	}
	return pipeline.Ask{Who: r.who, Request: asked, Key: key, Faults: faults}, nil
}

// idempotencyKey reads the header as the quoted string of RFC 8941 that the Idempotency-Key draft asks for.
func idempotencyKey(header string) (string, error) {
	header = strings.TrimSpace(header)
	if header == "" {
		return "", nil
	}
	malformed := &job.Error{Kind: job.Invalid, Code: "idempotency_key_malformed", Field: "Idempotency-Key",
		Detail: `the header Idempotency-Key must be one quoted string of 1 to ` + strconv.Itoa(limits.IdempotencyKeyBytesMax) +
			` printable ASCII characters, as in Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"`}
	if len(header) < 3 || header[0] != '"' || header[len(header)-1] != '"' {
		return "", malformed
	}
	var key strings.Builder
	for i := 1; i < len(header)-1; i++ {
		c := header[i]
		if c == '\\' {
			i++
			if i == len(header)-1 || (header[i] != '"' && header[i] != '\\') {
				return "", malformed
			}
			c = header[i]
		} else if c == '"' || c < ' ' || c > '~' {
			return "", malformed
		}
		key.WriteByte(c)
	}
	if key.Len() > limits.IdempotencyKeyBytesMax {
		return "", malformed
	}
	return key.String(), nil
}
