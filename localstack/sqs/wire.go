package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

const (
	contentType  = "application/x-amz-json-1.0"
	targetPrefix = "AmazonSQS."
)

// call is what an operation needs to know about its request.
type call struct {
	host   string
	caller string
}

type operation func(ctx context.Context, c call, body []byte) (any, error)

// typed adapts an operation on values to one on bytes.
func typed[In, Out any](run func(context.Context, call, *In) (Out, error)) operation {
	return func(ctx context.Context, c call, body []byte) (any, error) {
		in := new(In)
		if err := json.Unmarshal(body, in); err != nil {
			return nil, &apiError{
				shape: "com.amazon.coral.service#SerializationException", query: "SerializationException",
				text:   "The request body is not the JSON that this operation takes: " + err.Error() + ". Compare it with the SQS API reference.",
				status: http.StatusBadRequest,
			}
		}
		return run(ctx, c, in)
	}
}

func (e *Engine) operations() map[string]operation {
	return map[string]operation{
		"CreateQueue":                  typed(e.createQueue),
		"DeleteQueue":                  typed(e.deleteQueue),
		"GetQueueUrl":                  typed(e.getQueueURL),
		"ListQueues":                   typed(e.listQueues),
		"GetQueueAttributes":           typed(e.getQueueAttributes),
		"SetQueueAttributes":           typed(e.setQueueAttributes),
		"PurgeQueue":                   typed(e.purgeQueue),
		"TagQueue":                     typed(e.tagQueue),
		"UntagQueue":                   typed(e.untagQueue),
		"ListQueueTags":                typed(e.listQueueTags),
		"ListDeadLetterSourceQueues":   typed(e.listDeadLetterSourceQueues),
		"SendMessage":                  typed(e.sendMessage),
		"SendMessageBatch":             typed(e.sendMessageBatch),
		"ReceiveMessage":               typed(e.receiveMessage),
		"DeleteMessage":                typed(e.deleteMessage),
		"DeleteMessageBatch":           typed(e.deleteMessageBatch),
		"ChangeMessageVisibility":      typed(e.changeMessageVisibility),
		"ChangeMessageVisibilityBatch": typed(e.changeMessageVisibilityBatch),
		"StartMessageMoveTask":         typed(e.startMessageMoveTask),
		"ListMessageMoveTasks":         typed(e.listMessageMoveTasks),
	}
}

// ServeHTTP answers one request of the SQS JSON protocol.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := e.serve(w, r)
	status := http.StatusOK
	if err != nil {
		failure, expected := asAPIError(err)
		if !expected {
			e.opt.Logger.ErrorContext(r.Context(), "sqs request failed", "target", r.Header.Get("X-Amz-Target"), "error", err)
		}
		fault := "Sender"
		if failure.status >= http.StatusInternalServerError {
			fault = "Receiver"
		}
		w.Header().Set("x-amzn-query-error", failure.query+";"+fault)
		status = failure.status
		answer = map[string]string{"__type": failure.shape, "message": failure.text}
	}
	e.opt.Send(w, r, contentType, status, answer)
}

func (e *Engine) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	target := r.Header.Get("X-Amz-Target")
	name, known := strings.CutPrefix(target, targetPrefix)
	if r.Method != http.MethodPost || !known {
		return nil, unknownOperation("This endpoint takes POST requests with the header X-Amz-Target: " + targetPrefix +
			"<operation> (the JSON protocol of SQS); got " + r.Method + " with target \"" + target + "\". Use a current AWS SDK or CLI.")
	}
	run, known := e.ops[name]
	if !known {
		return nil, unknownOperation("The operation SQS " + name + " is not provided by the embedded queues. Use one that is, or a real endpoint.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestBytesMax))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, refuse("BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong",
				"The request is longer than %d bytes. Send fewer or smaller messages.", tooLarge.Limit)
		}
		return nil, &apiError{
			shape: "com.amazon.coral.service#SerializationException", query: "SerializationException",
			text: "The request body could not be read: " + err.Error(), status: http.StatusBadRequest,
		}
	}
	return run(r.Context(), call{host: r.Host, caller: e.opt.Caller(r)}, body)
}

func unknownOperation(text string) *apiError {
	return &apiError{
		shape: "com.amazon.coral.service#UnknownOperationException", query: "InvalidAction",
		text: text, status: http.StatusBadRequest,
	}
}
