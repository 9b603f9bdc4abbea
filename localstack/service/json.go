package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Operation carries out one operation on the body of its request. What it returns is the answer, as JSON.
type Operation func(body []byte) (any, error)

// JSON answers the requests of a service that speaks the protocol AWS JSON 1.1: POST with the operation in X-Amz-Target.
type JSON struct {
	Options Options
	// Name is what messages call the service.
	Name string
	// Prefix stands before an operation's name in X-Amz-Target.
	Prefix string
	// Operations are those that are provided.
	Operations map[string]Operation
	// RequestBytesMax is the longest body.
	RequestBytesMax int64
	// Internal is the exception's name for what isn't the caller's doing.
	Internal string
	// Message is the name of the text in an error's answer.
	Message string
}

// Decode reads the body of a request to the service that is called title in the cloud. The error doesn't quote it, for it may be a secret.
func Decode[In any](title string, body []byte) (*In, error) {
	in := new(In)
	err := json.Unmarshal(body, in)
	if err == nil {
		return in, nil
	}
	where := ""
	var mistyped *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		where = " in " + mistyped.Field
	case errors.As(err, &syntax):
		where = fmt.Sprint(" at byte ", syntax.Offset)
	}
	return nil, Refuse("SerializationException", "The request body is not the JSON that this operation takes%s. Compare it with the %s API reference.", where, title)
}

// ServeHTTP answers one request.
func (s *JSON) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.serve(w, r)
	status := http.StatusOK
	if err != nil {
		failure := s.Options.Failure(r, s.Name, s.Internal, err)
		status, answer = failure.Status, map[string]string{"__type": failure.Kind, s.Message: failure.Text}
	}
	s.Options.Send(w, r, "application/x-amz-json-1.1", status, answer)
}

func (s *JSON) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	target := r.Header.Get("X-Amz-Target")
	name, known := strings.CutPrefix(target, s.Prefix)
	run := s.Operations[name]
	if r.Method != http.MethodPost || !known || run == nil {
		return nil, Refuse("UnknownOperationException", "The operation %q is not provided by the embedded %s, which takes POST requests with the header "+
			"X-Amz-Target: %s<operation>. Use one that is, or a real endpoint.", target, s.Name, s.Prefix)
	}
	body, err := Body(w, r, s.RequestBytesMax)
	if err != nil {
		return nil, err
	}
	return run(body)
}
