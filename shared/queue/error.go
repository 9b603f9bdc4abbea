package queue

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"

	"sealift/shared/job"
)

// failed turns an error of the SDK into one of the pipeline's.
func failed(what string, err error) error {
	status, code := 0, ""
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	var unread *smithy.DeserializationError
	if errors.As(err, &unread) && status < http.StatusInternalServerError {
		// A refusal whose reason was lost on its way may be any: it is no answer.
		status = 0
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		// Some services put their name in front: com.amazonaws.sqs#QueueDoesNotExist.
		code = api.ErrorCode()[strings.LastIndexByte(api.ErrorCode(), '#')+1:]
	}
	_, listed := retry.DefaultThrottleErrorCodes[code]
	switch {
	case status == 0 && errors.Is(err, context.Canceled):
		return job.Errorf(job.Cancelled, "queue_cancelled", "%s: stopped by the caller: %w", what, err)
	case status < http.StatusMultipleChoices:
		return job.Errorf(job.Transient, "queue_unavailable", "%s: no answer, send again; check the endpoint and the network: %w", what, err)
	case listed || strings.Contains(code, "Throttl") || code == "OverLimit" || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
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
