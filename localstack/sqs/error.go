package sqs

import (
	"errors"
	"fmt"
	"net/http"
)

// apiError is an answer that the caller can act on. Shape is the exception of
// the JSON protocol, query the older code that SDKs still report.
type apiError struct {
	shape  string
	query  string
	text   string
	status int
}

func (e *apiError) Error() string { return e.query + ": " + e.text }

func refuse(shape, query, format string, args ...any) *apiError {
	return &apiError{shape: "com.amazonaws.sqs#" + shape, query: query, text: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

func invalidValue(parameter string, value any, reason string, args ...any) *apiError {
	text := fmt.Sprintf("Value %v for parameter %s is invalid. Reason: %s", value, parameter, fmt.Sprintf(reason, args...))
	return &apiError{shape: "com.amazon.coral.service#InvalidParameterValueException", query: "InvalidParameterValue", text: text, status: http.StatusBadRequest}
}

func missingParameter(parameter string) *apiError {
	return &apiError{
		shape: "com.amazon.coral.service#MissingRequiredParameterException", query: "MissingParameter",
		text: fmt.Sprintf("The request must contain the parameter %s.", parameter), status: http.StatusBadRequest,
	}
}

func invalidAttributeName(name, reason string) *apiError {
	return refuse("InvalidAttributeName", "InvalidAttributeName", "Unknown Attribute %s. %s", name, reason)
}

func invalidAttributeValue(name, value, reason string, args ...any) *apiError {
	return refuse("InvalidAttributeValue", "InvalidAttributeValue", "Invalid value %q for the parameter %s. Reason: %s", value, name, fmt.Sprintf(reason, args...))
}

func (e *Engine) noQueue(name string) *apiError {
	return refuse("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue",
		"The specified queue does not exist: no queue %q in account %s, region %s. Create it, or correct the queue URL.", name, e.opt.AccountID, e.opt.Region)
}

func invalidReceipt(reason string) *apiError {
	return refuse("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid",
		"The input receipt handle is invalid: %s. Use the handle of the latest ReceiveMessage of this queue.", reason)
}

func closedError() *apiError {
	return &apiError{
		shape: "com.amazon.coral.service#ServiceUnavailableException", query: "ServiceUnavailable",
		text: "The queue engine is closing. Repeat the request after it has started again.", status: http.StatusServiceUnavailable,
	}
}

// asAPIError turns every error into an answer; what is not the caller's doing
// becomes an internal failure that SDKs repeat.
func asAPIError(err error) (answer *apiError, expected bool) {
	if errors.As(err, &answer) {
		return answer, true
	}
	return &apiError{
		shape: "com.amazon.coral.service#InternalFailure", query: "InternalFailure",
		text: "The queue engine failed: " + err.Error(), status: http.StatusInternalServerError,
	}, false
}
