package dynamodb

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"sealift/localstack/dynamodb/expression"
	"sealift/localstack/dynamodb/value"
)

const (
	coralValidate = "com.amazon.coral.validate#"
	coralService  = "com.amazon.coral.service#"
	serviceErrors = "com.amazonaws.dynamodb.v20120810#"
)

// fault is an error answer of the service.
type fault struct {
	Type    string     `json:"__type"`
	Message string     `json:"message"`
	Item    value.Item `json:"Item,omitempty"`
	Reasons []reason   `json:"CancellationReasons,omitempty"`

	status int
}

func (f *fault) Error() string { return f.Message }

// reason tells why one action of a cancelled transaction was, or was not, refused.
type reason struct {
	Code    string
	Message string     `json:",omitempty"`
	Item    value.Item `json:",omitempty"`
}

func newFault(kind, format string, args ...any) *fault {
	return &fault{Type: kind, Message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

func invalid(format string, args ...any) *fault {
	return newFault(coralValidate+"ValidationException", format, args...)
}

func invalidParameter(format string, args ...any) *fault {
	return invalid("One or more parameter values were invalid: "+format, args...)
}

// constraint is the refusal of a member that breaks a rule of the request's shape.
func constraint(shown, member, rule string) *fault {
	return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s", shown, member, rule)
}

func notFound() *fault {
	return newFault(serviceErrors+"ResourceNotFoundException", "Requested resource not found")
}

func tableNotFound(name string) *fault {
	return newFault(serviceErrors+"ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
}

func conditionFailed(item value.Item) *fault {
	f := newFault(serviceErrors+"ConditionalCheckFailedException", "The conditional request failed")
	f.Item = item
	return f
}

// asFault gives any error its answer. Refusals of values and expressions are the client's to
// repair; everything unknown is ours.
func asFault(err error) *fault {
	var (
		own     *fault
		badText *expression.Error
		badVal  *value.InvalidError
		shape   *value.ShapeError
		typed   *json.UnmarshalTypeError
		syntax  *json.SyntaxError
		tooBig  *http.MaxBytesError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &badText):
		return invalid("%s", badText.Message)
	case errors.As(err, &badVal):
		return invalid("%s", badVal.Message)
	case errors.As(err, &shape):
		return newFault(coralService+"SerializationException", "%s", shape.Message)
	case errors.As(err, &typed):
		return newFault(coralService+"SerializationException", "a JSON %s can not be converted to the type of the member %s", typed.Value, typed.Field)
	case errors.As(err, &syntax):
		return newFault(coralService+"SerializationException", "the request body is not well-formed JSON at byte %d: %v", syntax.Offset, syntax)
	case errors.As(err, &tooBig):
		f := newFault(coralService+"RequestEntityTooLargeException", "the request body exceeds the maximum of %d bytes", tooBig.Limit)
		f.status = http.StatusRequestEntityTooLarge
		return f
	default:
		f := newFault(serviceErrors+"InternalServerError", "The embedded DynamoDB failed: %v", err)
		f.status = http.StatusInternalServerError
		return f
	}
}
