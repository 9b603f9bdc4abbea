package queue

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"sealift/shared/answer"
	"sealift/shared/job"
)

// failed turns an error of the SDK into one of the pipeline's. Which queue or schedule it is about stands in the cause.
func failed(what, where string, err error) error {
	a := answer.Of(err)
	err = job.At(where, err)
	status, code := a.Status, a.Code
	switch {
	case status == 0 && errors.Is(err, context.Canceled):
		return job.Errorf(job.Cancelled, "queue_cancelled", "%s: stopped by the caller: %w", what, err)
	case status == 0:
		return job.Errorf(job.Transient, "queue_unavailable", "%s: no answer, send again; check the endpoint and the network: %w", what, err)
	case a.Throttled() || code == "OverLimit":
		return job.Errorf(job.Overload, "queue_overloaded", "%s: asked to slow down: %w", what, err)
	case strings.Contains(code, "QueueDoesNotExist") || strings.Contains(code, "NonExistentQueue") || code == "ResourceNotFoundException" || status == http.StatusNotFound:
		return job.Errorf(job.Permanent, "queue_missing", "%s: it does not exist; deploy template.yaml or correct the function's environment: %w", what, err)
	case strings.HasPrefix(code, "ExpiredToken"):
		return job.Errorf(job.Transient, "credentials_expired", "%s: the credentials have ended; a new start gets fresh ones: %w", what, err)
	case strings.HasPrefix(code, "AccessDenied") || status == http.StatusForbidden || status == http.StatusUnauthorized:
		return job.Errorf(job.Permanent, "queue_denied", "%s: not allowed; add the permission to the function's role in template.yaml: %w", what, err)
	case code == "ServiceQuotaExceededException":
		return job.Errorf(job.Overload, "queue_overloaded", "%s: too many schedules exist; raise the quota: %w", what, err)
	case status >= http.StatusInternalServerError:
		return job.Errorf(job.Transient, "queue_unavailable", "%s: the service failed, send again: %w", what, err)
	}
	return job.Errorf(job.Permanent, "queue_refused", "%s: refused as it stands: %w", what, err)
}
