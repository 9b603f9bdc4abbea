// The function that the mappings' tests run: a message body says what becomes of it.
package main

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(handle) }

func handle(_ context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	var out events.SQSEventResponse
	for _, m := range event.Records {
		switch m.Body {
		case "fail":
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		case "explode":
			return out, errors.New("as asked")
		case "crash":
			panic("as asked")
		}
	}
	return out, nil
}
