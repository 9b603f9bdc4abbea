package kms

import (
	"net/http"

	"sealift/localstack/service"
)

// requestBytesMax bounds a request, of which a message and a policy are most.
const requestBytesMax = 128 << 10

func invalid(format string, args ...any) error {
	return service.Refuse("ValidationException", format, args...)
}

// typed adapts an operation on values to one on bytes, done under the lock of
// an engine that is open.
func typed[In, Out any](e *Engine, run func(*In) (Out, error)) service.Operation {
	return func(body []byte) (any, error) {
		in, err := service.Decode[In]("KMS", body)
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.closed {
			return nil, &service.Error{Kind: "KMSInternalException", Text: "The keys are closing. Repeat the request after they have started again.", Status: http.StatusInternalServerError}
		}
		return run(in)
	}
}

// protocol is how the keys are spoken to.
func (e *Engine) protocol() *service.JSON {
	return &service.JSON{
		Options: e.opt, Name: "store of keys", Prefix: "TrentService.", Operations: map[string]service.Operation{
			"CreateKey":    typed(e, e.createKey),
			"DescribeKey":  typed(e, e.describeKey),
			"CreateAlias":  typed(e, e.createAlias),
			"GetPublicKey": typed(e, e.getPublicKey),
			"Sign":         typed(e, e.sign),
		},
		RequestBytesMax: requestBytesMax, Internal: "KMSInternalException", Message: "message",
	}
}

// ServeHTTP answers one request of the KMS JSON protocol.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.json.ServeHTTP(w, r) }
