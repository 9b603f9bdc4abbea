package sqs_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestMessageComesBackWithItsAttributesAndChecksums(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	// The SDK client itself refuses wrong body and attribute checksums.
	_, err := b.SendMessage(t.Context(), &awssqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("héllo\n订单 𠮷"), MessageGroupId: aws.String("tenant-1"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"kind":   {DataType: aws.String("String.unit"), StringValue: aws.String("shard")},
			"number": {DataType: aws.String("Number"), StringValue: aws.String("9007199254740993")},
			"raw":    {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 255}},
		},
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := b.one(url, 0)
	if *m.Body != "héllo\n订单 𠮷" {
		t.Errorf("body %q", *m.Body)
	}
	if diff := cmp.Diff([]byte{0, 1, 255}, m.MessageAttributes["raw"].BinaryValue); diff != "" {
		t.Error(diff)
	}
	if got := *m.MessageAttributes["number"].StringValue; got != "9007199254740993" {
		t.Errorf("number %s", got)
	}
	got := m.Attributes
	sent, err := strconv.ParseInt(got["SentTimestamp"], 10, 64)
	if err != nil || time.Since(time.UnixMilli(sent)).Abs() > time.Minute {
		t.Errorf("SentTimestamp %q", got["SentTimestamp"])
	}
	delete(got, "SentTimestamp")
	delete(got, "ApproximateFirstReceiveTimestamp")
	if got["SenderId"] == "" { // which is the account, a user or a role's session
		t.Error("the sender is not told")
	}
	delete(got, "SenderId")
	want := map[string]string{
		"ApproximateReceiveCount": "1", "MessageGroupId": "tenant-1", "AWSTraceHeader": "Root=1-5759e988-bd862e3fe1be46a994272793",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReceiveReturnsOnlyTheAttributesAskedFor(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	_, err := b.SendMessage(t.Context(), &awssqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: map[string]types.MessageAttributeValue{
			"a.one": {DataType: aws.String("String"), StringValue: aws.String("1")},
			"a.two": {DataType: aws.String("String"), StringValue: aws.String("2")},
			"b":     {DataType: aws.String("String"), StringValue: aws.String("3")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name  string
		asked []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"one name", []string{"b"}, []string{"b"}},
		{"a prefix", []string{"a.*"}, []string{"a.one", "a.two"}},
		{"all", []string{"All"}, []string{"a.one", "a.two", "b"}},
		{"all by pattern", []string{".*"}, []string{"a.one", "a.two", "b"}},
	}
	for _, c := range cases {
		out, err := b.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &url, MessageAttributeNames: c.asked})
		if err != nil || len(out.Messages) != 1 {
			t.Fatalf("%s: %v, %d messages", c.name, err, len(out.Messages))
		}
		m := out.Messages[0]
		if len(m.MessageAttributes) != len(c.want) || len(m.Attributes) != 0 {
			t.Errorf("%s: got %d attributes and %d system attributes", c.name, len(m.MessageAttributes), len(m.Attributes))
		}
		for _, name := range c.want {
			if _, found := m.MessageAttributes[name]; !found {
				t.Errorf("%s: %s is missing", c.name, name)
			}
		}
		b.hide(url, m.ReceiptHandle, 0)
	}
}

func TestVisibilityTimeoutOverMakesTheMessageVisibleWithACountAndANewHandle(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", map[string]string{"VisibilityTimeout": "1"})
	id := b.send(url, "x")
	first := b.one(url, 0)
	b.none(url)
	if got := b.counts(url); got != [3]string{"0", "1", "0"} {
		t.Errorf("counts while in flight %v", got)
	}
	began := time.Now()
	second := b.one(url, 5)
	if waited := time.Since(began); waited > 1500*time.Millisecond {
		t.Errorf("woke %v after the receive, want at the timeout of 1 s", waited)
	}
	if *second.MessageId != id || second.Attributes["ApproximateReceiveCount"] != "2" || *second.ReceiptHandle == *first.ReceiptHandle {
		t.Errorf("second receive: id %s, count %s", *second.MessageId, second.Attributes["ApproximateReceiveCount"])
	}
	if second.Attributes["ApproximateFirstReceiveTimestamp"] != first.Attributes["ApproximateFirstReceiveTimestamp"] {
		t.Error("time of the first receive changed")
	}
}

func TestStaleReceiptHandleDeletesNothing(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	b.send(url, "x")
	first := b.one(url, 0)
	b.hide(url, first.ReceiptHandle, 0)
	second := b.one(url, 0)
	b.discard(url, first.ReceiptHandle)
	if got := b.counts(url); got != [3]string{"0", "1", "0"} {
		t.Errorf("after the stale delete: %v", got)
	}
	_, err := b.ChangeMessageVisibility(t.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: first.ReceiptHandle, VisibilityTimeout: 60})
	wantCode(t, err, "InvalidParameterValue")
	b.discard(url, second.ReceiptHandle)
	b.discard(url, second.ReceiptHandle)
	if got := b.counts(url); got != [3]string{"0", "0", "0"} {
		t.Errorf("after the delete: %v", got)
	}
}

func TestBatchAnswersEachEntry(t *testing.T) {
	t.Parallel()
	b := start(t)
	url := b.queue("q", nil)
	sent, err := b.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: []types.SendMessageBatchRequestEntry{
		{Id: aws.String("good"), MessageBody: aws.String("1")},
		{Id: aws.String("late"), MessageBody: aws.String("2"), DelaySeconds: 901},
		{Id: aws.String("bad"), MessageBody: aws.String("\x00")},
		{Id: aws.String("also-good"), MessageBody: aws.String("3")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(sent.Successful) != 2 || len(sent.Failed) != 2 {
		t.Fatalf("sent %d, failed %d", len(sent.Successful), len(sent.Failed))
	}
	failed := map[string]string{}
	for _, f := range sent.Failed {
		failed[*f.Id] = *f.Code
		if !f.SenderFault {
			t.Errorf("%s is not called the sender's fault", *f.Id)
		}
	}
	if diff := cmp.Diff(map[string]string{"late": "InvalidParameterValue", "bad": "InvalidMessageContents"}, failed); diff != "" {
		t.Error(diff)
	}
	got := b.receive(url, 10, 0)
	if len(got) != 2 {
		t.Fatalf("received %d", len(got))
	}
	hidden, err := b.ChangeMessageVisibilityBatch(t.Context(), &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 0},
		{Id: aws.String("b"), ReceiptHandle: aws.String("nonsense"), VisibilityTimeout: 0},
	}})
	if err != nil || len(hidden.Successful) != 1 || len(hidden.Failed) != 1 || *hidden.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("visibility batch: %v, %+v", err, hidden)
	}
	deleted, err := b.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle},
		{Id: aws.String("b"), ReceiptHandle: got[1].ReceiptHandle},
		{Id: aws.String("c"), ReceiptHandle: aws.String("nonsense")},
	}})
	if err != nil || len(deleted.Successful) != 2 || len(deleted.Failed) != 1 || *deleted.Failed[0].Id != "c" {
		t.Errorf("delete batch: %v, %+v", err, deleted)
	}
	if got := b.counts(url); got != [3]string{"0", "0", "0"} {
		t.Errorf("counts %v", got)
	}
}
