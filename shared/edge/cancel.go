package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
)

// CancelAPI answers the routes that end an export or its delivery.
func CancelAPI(c pipeline.Canceller, claims Claims, log *slog.Logger) API {
	h := cancelRoutes{canceller: c}
	return api{claims: claims, log: log, routes: map[string]route{
		"POST /v1/exports/{id}/cancel": {answer: h.cancel},
		"POST /v1/exports/{id}/revoke": {answer: h.revoke},
	}}.handle
}

type cancelRoutes struct{ canceller pipeline.Canceller }

func (h cancelRoutes) cancel(ctx context.Context, r request) (response, error) {
	return h.end(ctx, r, h.canceller.Cancel)
}

func (h cancelRoutes) revoke(ctx context.Context, r request) (response, error) {
	return h.end(ctx, r, h.canceller.Revoke)
}

const reasonBytesMax = 500

func (h cancelRoutes) end(ctx context.Context, r request, end ending) (response, error) {
	reason, err := readReason(r.body)
	if err != nil {
		return response{}, err
	}
	j, err := end(ctx, r.who, r.path["id"], reason)
	if err != nil {
		if job.KindOf(err) == job.Fenced {
			err = &stateConflict{state: j.State, err: err}
		}
		return response{}, err
	}
	shown, err := show(pipeline.Status{Job: j, RowsWritten: j.Rows})
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: shown}, nil
}

// readReason reads the optional body. A misspelt reason is refused rather than lost: it belongs into the audit.
func readReason(body []byte) (string, error) {
	if len(body) > limits.RequestBytesMax {
		return "", job.Errorf(job.Invalid, "request_too_large", "the body has %d bytes; at most %d are allowed", len(body), limits.RequestBytesMax)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return "", nil
	}
	var asked struct {
		Reason string `json:"reason"`
	}
	if err := decodeOnly(body, &asked, "reason"); err != nil || !utf8.Valid(body) || len(asked.Reason) > reasonBytesMax {
		return "", &job.Error{Kind: job.Invalid, Code: "request_malformed", Field: "/reason", Err: err,
			Detail: `the body must be empty or a JSON object in UTF-8 with nothing but a reason of at most ` + strconv.Itoa(reasonBytesMax) +
				` bytes, as in {"reason": "not needed any more"}`}
	}
	return asked.Reason, nil
}

// decodeOnly reads one JSON value without unknown fields and nothing after it. No field of an object stands there twice,
// and where names are given, each is one of them to the letter; the decoder by itself takes the last of several, in any
// case.
func decodeOnly(text []byte, into any, names ...string) error {
	if err := distinct(text, names); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the JSON value")
	}
	return nil
}

// distinct refuses an object with a field twice or, when there are names, with one that isn't among them.
func distinct(text []byte, names []string) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return err
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] || (len(names) > 0 && !slices.Contains(names, name)) {
			return fmt.Errorf("the field %q is there twice or unknown", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

type ending func(ctx context.Context, who policy.Principal, id, reason string) (job.Job, error)
