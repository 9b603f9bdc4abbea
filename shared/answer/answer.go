// Package answer owns what an error of the AWS SDK says of a service's answer: whether there was one, with which status
// and code. What an answer means is decided by the adapter of each service. It imports the SDK's error types only. Start
// reading at Of.
package answer

import (
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

// Answer is how a service refused a call or failed in it. The zero Answer is none: the call didn't reach the service, or
// its answer was lost.
type Answer struct {
	// Status is that of HTTP, from 300 on. S3 can answer 200 and put an error in the body; the SDK presents it as 500 with
	// the code of the body.
	Status int
	// Code is the service's own, without the name that some put in front (com.amazonaws.sqs#QueueDoesNotExist). It can be
	// known where the status isn't.
	Code string
}

// Of reads an error of a call. A refusal whose reason was lost on its way may be any, and so is no answer.
func Of(err error) Answer {
	var a Answer
	if status := statusOf(err); status >= http.StatusMultipleChoices && (status >= http.StatusInternalServerError || !unread(err)) {
		a.Status = status
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		a.Code = api.ErrorCode()[strings.LastIndexByte(api.ErrorCode(), '#')+1:]
	}
	return a
}

// Throttled reports whether the service asks to slow down.
func (a Answer) Throttled() bool {
	_, listed := retry.DefaultThrottleErrorCodes[a.Code]
	return listed || strings.Contains(a.Code, "Throttl") || a.Code == "ServiceUnavailable" ||
		a.Status == http.StatusServiceUnavailable || a.Status == http.StatusTooManyRequests
}

// Refused reports whether a service refused a call, which leaves nothing behind, and its reason could not be read. The SDK
// itself can lose one: it closes a request as soon as there is a response, and Go ends a connection whose request ends
// before it was looked at for more.
func Refused(err error) bool {
	status := statusOf(err)
	return unread(err) && status >= http.StatusBadRequest && status < http.StatusInternalServerError
}

func statusOf(err error) int {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

func unread(err error) bool {
	var unread *smithy.DeserializationError
	return errors.As(err, &unread)
}
