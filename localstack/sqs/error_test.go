package sqs_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

func wantError[E error](t *testing.T, err error) {
	t.Helper()
	var want E
	if !errors.As(err, &want) {
		t.Errorf("got %v, want %T", err, want)
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var answer smithy.APIError
	if !errors.As(err, &answer) || answer.ErrorCode() != code {
		t.Errorf("got %v, want code %s", err, code)
	}
}

func TestRefusalsAreTypedErrors(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	other := b.queue("other", nil)
	missing := strings.TrimSuffix(url, "/q") + "/missing"
	send := func(in awssqs.SendMessageInput) func(*testing.T) error {
		if in.QueueUrl == nil {
			in.QueueUrl = &url
		}
		return func(t *testing.T) error { _, err := b.SendMessage(t.Context(), &in); return err }
	}
	create := func(name string, attributes map[string]string) func(*testing.T) error {
		return func(t *testing.T) error {
			_, err := b.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
			return err
		}
	}
	batch := func(ids ...string) func(*testing.T) error {
		entries := []types.SendMessageBatchRequestEntry{}
		for _, id := range ids {
			entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(id), MessageBody: aws.String("x")})
		}
		return func(t *testing.T) error {
			_, err := b.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries})
			return err
		}
	}
	eleven := []string{}
	for i := range 11 {
		eleven = append(eleven, strconv.Itoa(i))
	}
	text := func(n int) *string { return aws.String(strings.Repeat("x", n)) }
	attribute := func(name, kind, value string) map[string]types.MessageAttributeValue {
		return map[string]types.MessageAttributeValue{name: {DataType: &kind, StringValue: &value}}
	}
	cases := []struct {
		name string
		code string
		call func(*testing.T) error
	}{
		{"queue that is not there", "AWS.SimpleQueueService.NonExistentQueue", send(awssqs.SendMessageInput{QueueUrl: &missing, MessageBody: text(1)})},
		{"queue URL without account", "AWS.SimpleQueueService.NonExistentQueue", send(awssqs.SendMessageInput{QueueUrl: aws.String("q"), MessageBody: text(1)})},
		{"queue URL of another account", "AWS.SimpleQueueService.NonExistentQueue", send(awssqs.SendMessageInput{QueueUrl: aws.String("http://x/111111111111/q"), MessageBody: text(1)})},
		{"message over 1 MiB", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1<<20 + 1)})},
		{"message over 1 MiB with its attributes", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1 << 20), MessageAttributes: attribute("a", "String", "b")})},
		{"empty body", "MissingParameter", send(awssqs.SendMessageInput{MessageBody: text(0)})},
		{"control character in body", "InvalidMessageContents", send(awssqs.SendMessageInput{MessageBody: aws.String("a\x0bb")})},
		{"noncharacter in body", "InvalidMessageContents", send(awssqs.SendMessageInput{MessageBody: aws.String("a\uffff")})},
		{"delay over 900 s", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1), DelaySeconds: 901})},
		{"negative delay", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1), DelaySeconds: -1})},
		{"deduplication on a standard queue", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1), MessageDeduplicationId: text(3)})},
		{"group id with a space", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1), MessageGroupId: aws.String("a b")})},
		{"reserved attribute name", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1), MessageAttributes: attribute("AWS.x", "String", "b")})},
		{"unknown attribute type", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1), MessageAttributes: attribute("x", "Strange", "b")})},
		{"empty attribute value", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1), MessageAttributes: attribute("x", "String", "")})},
		{"number attribute that is none", "InvalidParameterValue", send(awssqs.SendMessageInput{MessageBody: text(1), MessageAttributes: attribute("x", "Number", "ten")})},
		{"empty batch", "AWS.SimpleQueueService.EmptyBatchRequest", batch()},
		{"batch of eleven", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", batch(eleven...)},
		{"batch with a repeated id", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", batch("a", "a")},
		{"batch with a bad id", "AWS.SimpleQueueService.InvalidBatchEntryId", batch("a b")},
		{"FIFO name", "InvalidParameterValue", create("x.fifo", nil)},
		{"bad queue name", "InvalidParameterValue", create("a/b", nil)},
		{"unknown queue attribute", "InvalidAttributeName", create("x", map[string]string{"Colour": "red"})},
		{"visibility out of range", "InvalidAttributeValue", create("x", map[string]string{"VisibilityTimeout": "43201"})},
		{"retention out of range", "InvalidAttributeValue", create("x", map[string]string{"MessageRetentionPeriod": "59"})},
		{"same name, other attributes", "QueueAlreadyExists", create("q", map[string]string{"VisibilityTimeout": "31"})},
		{"dead-letter queue that is not there", "InvalidParameterValue", create("x", redriveTo("missing", "3"))},
		{"redrive policy without count", "InvalidAttributeValue", create("x", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + arnPrefix + `q"}`})},
		{"redrive count of zero", "InvalidAttributeValue", create("x", redriveTo("q", "0"))},
		{"handle of another queue", "ReceiptHandleIsInvalid", func(t *testing.T) error {
			b.send(other, "x")
			_, err := b.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: b.one(other, 0).ReceiptHandle})
			return err
		}},
		{"handle that is no handle", "ReceiptHandleIsInvalid", func(t *testing.T) error {
			_, err := b.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: aws.String("abc")})
			return err
		}},
		{"eleven messages at once", "InvalidParameterValue", func(t *testing.T) error {
			_, err := b.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 11})
			return err
		}},
		{"wait over 20 s", "InvalidParameterValue", func(t *testing.T) error {
			_, err := b.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 21})
			return err
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantCode(t, c.call(t), c.code)
		})
	}
}

func TestMissingQueueIsTheSDKsOwnType(t *testing.T) {
	t.Parallel()
	b := start(t)
	_, err := b.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: aws.String("none")})
	wantError[*types.QueueDoesNotExist](t, err)
}

func TestLargestMessageAndBatchAreAccepted(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	largest := strings.Repeat("\"", 1<<20)
	b.send(url, largest)
	if m := b.one(url, 0); *m.Body != largest {
		t.Error("the largest message came back changed")
	}
	half := strings.Repeat("x", 1<<19)
	entries := []types.SendMessageBatchRequestEntry{{Id: aws.String("a"), MessageBody: &half}, {Id: aws.String("b"), MessageBody: &half}}
	if _, err := b.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries}); err != nil {
		t.Errorf("batch of exactly 1 MiB: %v", err)
	}
	entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String("c"), MessageBody: aws.String("x")})
	_, err := b.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries})
	wantError[*types.BatchRequestTooLong](t, err)
}
