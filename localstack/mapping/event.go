package mapping

import (
	"bytes"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// event is what a function gets for messages of a queue (AWS Lambda developer guide, "Using Lambda with Amazon SQS").
type event struct {
	Records []record `json:"Records"`
}

type record struct {
	MessageID              string               `json:"messageId"`
	ReceiptHandle          string               `json:"receiptHandle"`
	Body                   string               `json:"body"`
	Attributes             map[string]string    `json:"attributes"`
	MessageAttributes      map[string]attribute `json:"messageAttributes"`
	MD5OfBody              string               `json:"md5OfBody"`
	MD5OfMessageAttributes string               `json:"md5OfMessageAttributes,omitempty"`
	EventSource            string               `json:"eventSource"`
	EventSourceARN         string               `json:"eventSourceARN"`
	AWSRegion              string               `json:"awsRegion"`
}

type attribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      []byte   `json:"binaryValue,omitempty"` // base64 in JSON
	StringListValues []string `json:"stringListValues"`
	BinaryListValues [][]byte `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

func (p *poller) record(m types.Message) record {
	out := record{
		MessageID: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
		Attributes: m.Attributes, MessageAttributes: map[string]attribute{},
		MD5OfBody: aws.ToString(m.MD5OfBody), MD5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes),
		EventSource: "aws:sqs", EventSourceARN: p.QueueARN, AWSRegion: p.opt.Region,
	}
	if out.Attributes == nil {
		out.Attributes = map[string]string{}
	}
	for name, value := range m.MessageAttributes {
		out.MessageAttributes[name] = attribute{
			StringValue: value.StringValue, BinaryValue: value.BinaryValue, DataType: aws.ToString(value.DataType),
			StringListValues: []string{}, BinaryListValues: [][]byte{},
		}
	}
	return out
}

// pack builds the event of as many of the messages as fit into one invocation, at least one.
func (p *poller) pack(messages []types.Message) (count int, payload []byte) {
	for count = len(messages); ; count = max(count/2, 1) {
		e := event{Records: make([]record, count)}
		for i, m := range messages[:count] {
			e.Records[i] = p.record(m)
		}
		payload = encode(e)
		if len(payload) <= payloadBytesMax || count == 1 {
			return count, payload
		}
	}
}

// encode writes JSON without the escapes for HTML, which would make bodies that hold JSON longer.
func encode(e event) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		panic(err) // texts, maps of texts and bytes always marshal
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// failures reads a partial batch response. The second result is true when the whole batch counts as failed, which is how Lambda takes an answer that it cannot
// understand: malformed, with an identifier that is empty, missing or not of this batch.
func failures(payload []byte, batch []types.Message) (failed map[string]bool, all bool) {
	if trimmed := bytes.TrimSpace(payload); len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) {
		return nil, false
	}
	var answer struct {
		BatchItemFailures []map[string]json.RawMessage `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		return nil, true
	}
	ours := map[string]bool{}
	for _, m := range batch {
		ours[aws.ToString(m.MessageId)] = true
	}
	failed = map[string]bool{}
	for _, item := range answer.BatchItemFailures {
		var id string
		if err := json.Unmarshal(item["itemIdentifier"], &id); err != nil || !ours[id] {
			return nil, true
		}
		failed[id] = true
	}
	return failed, false
}
