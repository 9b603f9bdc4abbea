package answer_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"sealift/shared/answer"
)

// response is an error that came with a status.
func response(status int, err error) error {
	return fmt.Errorf("call: %w", &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err})
}

func TestAnErrorSaysWhatTheServiceAnswered(t *testing.T) {
	t.Parallel()
	code := func(code string) error { return &smithy.GenericAPIError{Code: code} }
	unread := &smithy.DeserializationError{Err: errors.New("unexpected EOF")}
	for _, c := range []struct {
		name               string
		err                error
		want               answer.Answer
		throttled, refused bool
	}{
		{"no error", nil, answer.Answer{}, false, false},
		{"no answer", errors.New("connection refused"), answer.Answer{}, false, false},
		{"a refusal", response(404, code("NoSuchKey")), answer.Answer{Status: 404, Code: "NoSuchKey"}, false, false},
		{"a code with the service's name", response(400, code("com.amazonaws.sqs#QueueDoesNotExist")), answer.Answer{Status: 400, Code: "QueueDoesNotExist"}, false, false},
		{"a refusal that was lost", response(403, unread), answer.Answer{}, false, true},
		{"a success that was lost", response(200, unread), answer.Answer{}, false, false},
		{"a redirection that was lost", response(301, unread), answer.Answer{}, false, false},
		{"a failure that was lost", response(500, unread), answer.Answer{Status: 500}, false, false},
		{"an error in a success", response(200, code("InternalError")), answer.Answer{Code: "InternalError"}, false, false},
		{"slow down", response(503, code("SlowDown")), answer.Answer{Status: 503, Code: "SlowDown"}, true, false},
		{"too many", response(429, code("")), answer.Answer{Status: 429}, true, false},
		{"throttled by code", response(400, code("ThrottlingException")), answer.Answer{Status: 400, Code: "ThrottlingException"}, true, false},
		{"unavailable by code", response(500, code("ServiceUnavailable")), answer.Answer{Status: 500, Code: "ServiceUnavailable"}, true, false},
	} {
		got := answer.Of(c.err)
		if got != c.want || got.Throttled() != c.throttled || answer.Refused(c.err) != c.refused {
			t.Errorf("%s: %+v, throttled %v, refused %v; want %+v, %v, %v", c.name, got, got.Throttled(), answer.Refused(c.err), c.want, c.throttled, c.refused)
		}
	}
}
