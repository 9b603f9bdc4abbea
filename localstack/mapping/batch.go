package mapping

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sealift/localstack/lambda"
)

// handle invokes the function for received messages, in as many invocations as the size limit of an event needs, and deletes what was handled.
func (p *poller) handle(ctx context.Context, messages []types.Message) {
	received := time.Now()
	for len(messages) > 0 {
		n, payload := p.pack(messages)
		p.invoke(ctx, received, messages[:n], payload)
		messages = messages[n:]
	}
}

// invoke runs one batch to its end. What is not deleted here comes back when its visibility timeout ends.
func (p *poller) invoke(ctx context.Context, received time.Time, batch []types.Message, payload []byte) {
	response, err := p.patiently(ctx, received, payload)
	switch {
	case ctx.Err() != nil || errors.Is(err, lambda.ErrClosed):
		return
	case err != nil:
		p.opt.Logger.WarnContext(ctx, "batch not handed over", "mapping", p.LogicalID, "function", p.Function, "messages", len(batch), "error", err.Error())
		return
	case response.FunctionError != "":
		return // the host has reported it
	}
	done := batch
	if p.ReportBatchItemFailures {
		failed, all := failures(response.Payload, batch)
		if all {
			p.opt.Logger.WarnContext(ctx, "batch answer not understood, the whole batch counts as failed", "mapping", p.LogicalID, "function", p.Function, "messages", len(batch))
			return
		}
		done = slices.DeleteFunc(slices.Clone(batch), func(m types.Message) bool { return failed[aws.ToString(m.MessageId)] })
	}
	p.delete(ctx, done)
}

// patiently waits for throttling to end, for as long as the messages stay invisible with time left for the function.
func (p *poller) patiently(ctx context.Context, received time.Time, payload []byte) (lambda.Response, error) {
	var until time.Time
	for pause := retryPauseMin; ; pause = min(2*pause, retryPauseMax) {
		response, err := p.opt.Invoker.Invoke(ctx, p.Function, payload)
		if !errors.Is(err, lambda.ErrThrottled) {
			return response, err
		}
		if until.IsZero() {
			until = received.Add(p.visibility(ctx) / 2)
		}
		if time.Now().Add(pause).After(until) {
			return response, err
		}
		wait(ctx, pause)
	}
}

// visibility is the queue's own timeout; the service's default when it can't be read.
func (p *poller) visibility(ctx context.Context) time.Duration {
	const name = types.QueueAttributeNameVisibilityTimeout
	seconds := 30
	out, err := p.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &p.url, AttributeNames: []types.QueueAttributeName{name}})
	if err == nil {
		if value, err := strconv.Atoi(out.Attributes[string(name)]); err == nil {
			seconds = value
		}
	}
	return time.Duration(seconds) * time.Second
}

// delete removes handled messages. It goes on when polling stops: they were handled, and a message left behind is only handled once more.
func (p *poller) delete(ctx context.Context, messages []types.Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	for chunk := range slices.Chunk(messages, receiveMax) {
		entries := make([]types.DeleteMessageBatchRequestEntry, len(chunk))
		for i, m := range chunk {
			entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle}
		}
		out, err := p.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &p.url, Entries: entries})
		if err != nil {
			p.opt.Logger.WarnContext(ctx, "handled messages not deleted", "mapping", p.LogicalID, "messages", len(chunk), "error", err.Error())
			continue
		}
		for _, f := range out.Failed {
			p.opt.Logger.WarnContext(ctx, "handled message not deleted", "mapping", p.LogicalID, "code", aws.ToString(f.Code), "error", aws.ToString(f.Message))
		}
	}
}
