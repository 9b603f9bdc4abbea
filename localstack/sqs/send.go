package sqs

import (
	"context"
	"fmt"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// sendEntry is one message to send, alone or in a batch.
type sendEntry struct {
	Id                      string //nolint:revive // The protocol's own spelling.
	MessageBody             *string
	DelaySeconds            *int
	MessageAttributes       map[string]messageAttribute
	MessageSystemAttributes map[string]messageAttribute
	MessageGroupId          string //nolint:revive // The protocol's own spelling.
	MessageDeduplicationId  string //nolint:revive // The protocol's own spelling.
}

type sendMessageInput struct {
	sendEntry
	QueueUrl string //nolint:revive // The protocol's own spelling.
}

type sendMessageOutput struct {
	Id                           string `json:",omitempty"` //nolint:revive // The protocol's own spelling.
	MessageId                    string //nolint:revive // The protocol's own spelling.
	MD5OfMessageBody             string
	MD5OfMessageAttributes       string `json:",omitempty"`
	MD5OfMessageSystemAttributes string `json:",omitempty"`
}

// draft is a checked message that is not yet in its queue.
type draft struct {
	message   *message
	group     string
	delay     time.Duration
	content   contentRecord
	systemMD5 string
}

func (d *draft) output(entryID string) sendMessageOutput {
	return sendMessageOutput{
		Id: entryID, MessageId: d.message.id, MD5OfMessageBody: md5Text(d.content.Body),
		MD5OfMessageAttributes: md5Attributes(d.content.Attributes), MD5OfMessageSystemAttributes: d.systemMD5,
	}
}

func (e *Engine) sendMessage(_ context.Context, c call, in *sendMessageInput) (*sendMessageOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	d, err := q.draft(&in.sendEntry, c.caller)
	if err != nil {
		return nil, err
	}
	if err := e.add(q, []*draft{d}); err != nil {
		return nil, err
	}
	out := d.output("")
	return &out, nil
}

type sendMessageBatchInput struct {
	QueueUrl string //nolint:revive // The protocol's own spelling.
	Entries  []sendEntry
}

type sendMessageBatchOutput struct {
	Successful []sendMessageOutput
	Failed     []batchFailure
}

func (e *Engine) sendMessageBatch(_ context.Context, c call, in *sendMessageBatchInput) (*sendMessageBatchOutput, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if err := checkBatch(in.Entries, func(entry *sendEntry) string { return entry.Id }); err != nil {
		return nil, err
	}
	out := &sendMessageBatchOutput{Successful: []sendMessageOutput{}, Failed: []batchFailure{}}
	var drafts []*draft
	total := 0
	for i := range in.Entries {
		entry := &in.Entries[i]
		if entry.MessageBody != nil {
			total += contentBytes(*entry.MessageBody, entry.MessageAttributes)
		}
		d, err := q.draft(entry, c.caller)
		if err != nil {
			out.Failed = append(out.Failed, failedEntry(entry.Id, err))
			continue
		}
		drafts = append(drafts, d)
		out.Successful = append(out.Successful, d.output(entry.Id))
	}
	if total > messageBytesMax {
		return nil, refuse("BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong",
			"Batch requests cannot be longer than %d bytes. You have sent %d bytes. Send fewer messages at once.", messageBytesMax, total)
	}
	if err := e.add(q, drafts); err != nil {
		return nil, err
	}
	for i, d := range drafts {
		out.Successful[i].MessageId = d.message.id
	}
	return out, nil
}

// draft checks an entry against the rules of a standard queue.
func (q *queue) draft(entry *sendEntry, sender string) (*draft, error) {
	if entry.MessageBody == nil || *entry.MessageBody == "" {
		return nil, missingParameter("MessageBody")
	}
	body := *entry.MessageBody
	if err := checkText(body, "message body"); err != nil {
		return nil, err
	}
	if err := checkMessageAttributes(entry.MessageAttributes); err != nil {
		return nil, err
	}
	size := contentBytes(body, entry.MessageAttributes)
	if size > q.settings.messageBytesMax {
		return nil, invalidValue("MessageBody", fmt.Sprintf("of %d bytes", size),
			"One or more parameters are invalid. Message must be shorter than %d bytes, attributes included. Store the content elsewhere and send its address.", q.settings.messageBytesMax)
	}
	if entry.MessageDeduplicationId != "" {
		return nil, invalidValue("MessageDeduplicationId", entry.MessageDeduplicationId, "The request include parameter that is not valid for this queue type: it belongs to FIFO queues. Leave it out.")
	}
	if err := checkGroupID(entry.MessageGroupId); err != nil {
		return nil, err
	}
	d := &draft{
		message: &message{sender: sender}, group: entry.MessageGroupId, delay: q.settings.delay,
		content: contentRecord{Body: body, Attributes: entry.MessageAttributes},
	}
	for name, a := range entry.MessageSystemAttributes {
		if name != "AWSTraceHeader" || a.DataType != "String" || a.StringValue == nil {
			return nil, invalidValue("MessageSystemAttributes", name, "Only AWSTraceHeader of type String is allowed.")
		}
		d.content.Trace = *a.StringValue
	}
	d.systemMD5 = md5Attributes(entry.MessageSystemAttributes)
	if entry.DelaySeconds != nil {
		d.delay = time.Duration(*entry.DelaySeconds) * time.Second
		if d.delay < 0 || d.delay > delayMax {
			return nil, invalidValue("DelaySeconds", *entry.DelaySeconds, "DelaySeconds must be >= 0 and <= %d.", int(delayMax/time.Second))
		}
	}
	return d, nil
}

func checkGroupID(id string) error {
	const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	if len(id) > groupIDCharsMax || strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(punctuation, r))
	}) {
		return invalidValue("MessageGroupId", id, "MessageGroupId can only include alphanumeric and punctuation characters. 1 to %d in length.", groupIDCharsMax)
	}
	return nil
}

// add gives drafts their identities and puts them into the queue, all or none.
func (e *Engine) add(q *queue, drafts []*draft) error {
	if len(drafts) == 0 {
		return nil
	}
	now := e.opt.Now().Truncate(time.Millisecond)
	for _, d := range drafts {
		m := d.message
		m.id, m.sent, m.visibleAt = e.opt.NewID(), now, now.Add(d.delay)
		if d.delay > 0 {
			m.state = stateDelayed
		}
	}
	err := e.db.Update(func(tx *bolt.Tx) error {
		for _, d := range drafts {
			if err := putMessage(tx, q, d.message, d.group, d.content); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("send to queue %s: %w", q.record.Name, err)
	}
	for _, d := range drafts {
		q.insert(d.message, d.group)
	}
	return nil
}
