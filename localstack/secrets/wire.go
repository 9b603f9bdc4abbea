package secrets

import (
	"net/http"

	"sealift/localstack/service"
)

func invalidParameter(format string, args ...any) error {
	return service.Refuse("InvalidParameterException", format, args...)
}

// typed adapts an operation on values to one on bytes, done under the lock of
// an engine that is open.
func typed[In, Out any](e *Engine, run func(*In) (Out, error)) service.Operation {
	return func(body []byte) (any, error) {
		in, err := service.Decode[In]("Secrets Manager", body)
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.closed {
			return nil, &service.Error{Kind: "ServiceUnavailableException", Text: "The secrets are closing. Repeat the request after they have started again.", Status: http.StatusServiceUnavailable}
		}
		if err := e.eraseDue(); err != nil {
			return nil, err
		}
		return run(in)
	}
}

func (e *Engine) operations() map[string]service.Operation {
	return map[string]service.Operation{
		"CreateSecret":   typed(e, e.createSecret),
		"PutSecretValue": typed(e, e.putSecretValue),
		"UpdateSecret":   typed(e, e.updateSecret),
		"GetSecretValue": typed(e, e.getSecretValue),
		"DescribeSecret": typed(e, e.describeSecret),
		"ListSecrets":    typed(e, e.listSecrets),
		"DeleteSecret":   typed(e, e.deleteSecret),
	}
}

// protocol is how the secrets are spoken to.
func (e *Engine) protocol() *service.JSON {
	return &service.JSON{
		Options: e.opt, Name: "store of secrets", Prefix: "secretsmanager.", Operations: e.operations(),
		RequestBytesMax: requestBytesMax, Internal: "InternalServiceError", Message: "Message",
	}
}

// ServeHTTP answers one request of the Secrets Manager JSON protocol.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.json.ServeHTTP(w, r) }
