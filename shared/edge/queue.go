package edge

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/job"
)

// Again makes a message visible at once. One for which it fails becomes so after its queue's visibility timeout.
type Again func(ctx context.Context, message events.SQSMessage) error

// Queue answers an SQS event: every message is decoded and handled by itself, and those that must come again are named
// in the answer, so that one bad message never takes others with it. What no repetition can cure is made visible again at
// once: it uses up its receives within moments and is among the dead letters while whoever sent it is still looking.
func Queue(log *slog.Logger, again Again, handle func(ctx context.Context, pointer job.Pointer) error) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		return eachMessage(ctx, log, event, again, func(ctx context.Context, message events.SQSMessage) (string, error) {
			pointer, err := job.DecodePointer([]byte(message.Body))
			if err != nil {
				return "", err
			}
			return pointer.Job + "/" + pointer.Unit, handle(ctx, pointer)
		})
	}
}

// afterVisibility leaves a message to its queue's visibility timeout, where that is short.
func afterVisibility(context.Context, events.SQSMessage) error { return nil }

// eachMessage handles messages one after the other and logs each once. handle says what the message was about.
func eachMessage(ctx context.Context, log *slog.Logger, event events.SQSEvent, again Again, handle func(context.Context, events.SQSMessage) (string, error)) (events.SQSEventResponse, error) {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, message := range event.Records {
		subject, err := handle(ctx, message)
		verdict := answer(job.KindOf(err), job.CodeOf(err))
		attributes := []any{
			"message_id", message.MessageId, "subject", subject, "received", message.Attributes["ApproximateReceiveCount"], "verdict", string(verdict),
		}
		if err == nil {
			log.InfoContext(ctx, "message handled", attributes...)
			continue
		}
		attributes = append(attributes, "kind", string(job.KindOf(err)), "code", job.CodeOf(err), "error", err.Error())
		if verdict == reject {
			if failure := again(ctx, message); failure != nil {
				attributes = append(attributes, "visible_error", failure.Error())
			}
		}
		log.WarnContext(ctx, "message not handled", attributes...)
		if verdict != acknowledge {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: message.MessageId})
		}
	}
	return response, nil
}
