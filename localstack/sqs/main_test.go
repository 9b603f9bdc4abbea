package sqs_test

import (
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const arnPrefix = "arn:aws:sqs:us-east-1:000000000000:"

func (b *bench) queue(name string, attributes map[string]string) string {
	b.t.Helper()
	out, err := b.CreateQueue(b.t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		b.t.Fatalf("create queue %s: %v", name, err)
	}
	b.made(*out.QueueUrl)
	return *out.QueueUrl
}

func (b *bench) send(url, body string) string {
	b.t.Helper()
	out, err := b.SendMessage(b.t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
	if err != nil {
		b.t.Fatalf("send %q: %v", body, err)
	}
	return *out.MessageId
}

// receive takes up to n messages with all they carry, waiting up to wait seconds.
func (b *bench) receive(url string, n, wait int32) []types.Message {
	b.t.Helper()
	out, err := b.ReceiveMessage(b.t.Context(), &awssqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: n, WaitTimeSeconds: wait, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		b.t.Fatalf("receive: %v", err)
	}
	return out.Messages
}

// one takes exactly one message.
func (b *bench) one(url string, wait int32) types.Message {
	b.t.Helper()
	messages := b.receive(url, 1, wait)
	if len(messages) != 1 {
		b.t.Fatalf("received %d messages, want 1", len(messages))
	}
	return messages[0]
}

func (b *bench) none(url string) {
	b.t.Helper()
	if messages := b.receive(url, 10, 0); len(messages) != 0 {
		b.t.Fatalf("received %d messages, first %q, want none", len(messages), *messages[0].Body)
	}
}

func (b *bench) discard(url string, handle *string) {
	b.t.Helper()
	if _, err := b.DeleteMessage(b.t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: handle}); err != nil {
		b.t.Fatalf("delete: %v", err)
	}
}

func (b *bench) hide(url string, handle *string, seconds int32) {
	b.t.Helper()
	_, err := b.ChangeMessageVisibility(b.t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: handle, VisibilityTimeout: seconds})
	if err != nil {
		b.t.Fatalf("change visibility: %v", err)
	}
}

// counts is visible, in flight, delayed, as the queue's attributes say.
func (b *bench) counts(url string) [3]string {
	b.t.Helper()
	out, err := b.GetQueueAttributes(b.t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		b.t.Fatalf("get attributes: %v", err)
	}
	return [3]string{
		out.Attributes["ApproximateNumberOfMessages"], out.Attributes["ApproximateNumberOfMessagesNotVisible"], out.Attributes["ApproximateNumberOfMessagesDelayed"],
	}
}

func redriveTo(name, receives string) map[string]string {
	return map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arnPrefix + name + `","maxReceiveCount":` + receives + `}`}
}
