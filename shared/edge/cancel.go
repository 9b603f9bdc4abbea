package edge

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"

	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
)

// CancelAPI answers the routes that end an export or its delivery.
func CancelAPI(c pipeline.Canceller, claims Claims, log *slog.Logger) API {
	h := cancelRoutes{canceller: c}
	return api{claims: claims, log: log, routes: map[string]route{
		"POST /v1/exports/{id}/cancel": h.cancel,
		"POST /v1/exports/{id}/revoke": h.revoke,
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
	var body struct {
		Reason string `json:"reason"`
	}
	if len(r.body) > 0 {
		if err := json.Unmarshal(r.body, &body); err != nil || len(body.Reason) > reasonBytesMax {
			return response{}, &job.Error{Kind: job.Invalid, Code: "request_malformed", Field: "/reason",
				Detail: `the body must be empty or a JSON object with a reason of at most ` + strconv.Itoa(reasonBytesMax) + ` bytes, as in {"reason": "not needed any more"}`}
		}
	}
	j, err := end(ctx, r.who, r.path["id"], body.Reason)
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

type ending func(ctx context.Context, who policy.Principal, id, reason string) (job.Job, error)
