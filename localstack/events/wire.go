package events

import (
	"net/http"

	"sealift/localstack/service"
)

func invalid(format string, args ...any) error {
	return service.Refuse("ValidationException", format, args...)
}

func closedError() error {
	return &service.Error{Kind: "ServiceUnavailableException", Text: "The event bus is closing. Repeat the request after it has started again.", Status: http.StatusServiceUnavailable}
}

type empty struct{}

// typed adapts an operation on values to one on bytes, done under the lock of
// an engine that is open.
func typed[In, Out any](e *Engine, run func(*In) (Out, error)) service.Operation {
	return func(body []byte) (any, error) {
		in, err := service.Decode[In]("EventBridge", body)
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.closed {
			return nil, closedError()
		}
		return run(in)
	}
}

func (e *Engine) operations() map[string]service.Operation {
	return map[string]service.Operation{
		"PutEvents":         typed(e, e.putEvents),
		"PutRule":           typed(e, e.putRule),
		"DescribeRule":      typed(e, e.describeRule),
		"ListRules":         typed(e, e.listRules),
		"DeleteRule":        typed(e, e.deleteRule),
		"PutTargets":        typed(e, e.putTargets),
		"RemoveTargets":     typed(e, e.removeTargets),
		"ListTargetsByRule": typed(e, e.listTargetsByRule),
	}
}

// protocol is how the bus is spoken to.
func (e *Engine) protocol() *service.JSON {
	return &service.JSON{
		Options: e.opt.Options, Name: "event bus", Prefix: "AWSEvents.", Operations: e.operations(),
		RequestBytesMax: requestBytesMax, Internal: "InternalException", Message: "message",
	}
}

// ServeHTTP answers one request of the EventBridge JSON protocol.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.json.ServeHTTP(w, r) }
