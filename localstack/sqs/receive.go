package sqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

type receiveMessageInput struct {
	QueueUrl                    string //nolint:revive // The protocol's own spelling.
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	ReceiveRequestAttemptId     string //nolint:revive // The protocol's own spelling.
}

type receiveMessageOutput struct {
	Messages []receivedMessage `json:",omitempty"`
}

type receivedMessage struct {
	MessageId              string //nolint:revive // The protocol's own spelling.
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string           `json:",omitempty"`
	MD5OfMessageAttributes string                      `json:",omitempty"`
	MessageAttributes      map[string]messageAttribute `json:",omitempty"`
}

// receiveMessage takes what is visible, waiting for it as long as asked.
func (e *Engine) receiveMessage(ctx context.Context, _ call, in *receiveMessageInput) (*receiveMessageOutput, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	var until time.Time
	for first := true; ; first = false {
		out, wait, err := e.tryReceive(ctx, in)
		if err != nil || len(out.Messages) > 0 {
			return out, err
		}
		if first {
			until = time.Now().Add(wait.patience)
		}
		left := time.Until(until)
		if left <= 0 {
			return out, nil
		}
		if wait.next > 0 {
			left = min(left, wait.next)
		}
		timer := time.NewTimer(left)
		over := false
		select {
		case <-wait.wake:
		case <-timer.C:
		case <-ctx.Done():
			over = true
		case <-e.done:
			over = true
		}
		timer.Stop()
		if over {
			return &receiveMessageOutput{}, nil
		}
	}
}

// waiting is how a receive that found nothing may wait.
type waiting struct {
	patience time.Duration   // how long in all
	next     time.Duration   // until the next message becomes visible, or 0
	wake     <-chan struct{} // closed when there is reason to look again
}

func (e *Engine) tryReceive(ctx context.Context, in *receiveMessageInput) (*receiveMessageOutput, waiting, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := &receiveMessageOutput{}
	q, err := e.locate(in.QueueUrl)
	if err != nil {
		return out, waiting{}, err
	}
	now := e.opt.Now()
	if _, err := e.expire(q, now); err != nil {
		return out, waiting{}, err
	}
	q.promote(now)
	wait := waiting{patience: q.settings.wait, wake: q.wake}
	if in.WaitTimeSeconds != nil {
		wait.patience = time.Duration(*in.WaitTimeSeconds) * time.Second
	}
	full := q.inFlight >= inFlightMax
	if full && wait.patience == 0 {
		return out, wait, refuse("OverLimit", "OverLimit",
			"Queue %s has %d messages in flight, the most a standard queue may have. Delete what is done, or shorten the visibility timeout.", q.record.Name, q.inFlight)
	}
	// A client that has gone away must not take messages with it.
	if !full && ctx.Err() == nil {
		if out.Messages, err = e.take(q, in, now); err != nil {
			return &receiveMessageOutput{}, wait, err
		}
	}
	if len(q.due) > 0 {
		wait.next = max(q.due[0].visibleAt.Sub(now), time.Millisecond)
	}
	wait.wake = q.wake
	return out, wait, nil
}

// take moves up to the asked number of visible messages in flight, and those
// received too often to the dead-letter queue, in one transaction.
func (e *Engine) take(q *queue, in *receiveMessageInput, now time.Time) ([]receivedMessage, error) {
	want, visibility := 1, q.settings.visibility
	if in.MaxNumberOfMessages != nil {
		want = *in.MaxNumberOfMessages
	}
	if in.VisibilityTimeout != nil {
		visibility = time.Duration(*in.VisibilityTimeout) * time.Second
	}
	if len(q.ready) == 0 {
		return nil, nil
	}
	now = now.Truncate(time.Millisecond)
	var taken []receivedMessage
	var buried []*message
	var grave *queue
	err := e.db.Update(func(tx *bolt.Tx) error {
		for len(taken) < want && q.inFlight < inFlightMax {
			m := q.next()
			if m == nil {
				return nil
			}
			if p := q.settings.redrive; p != nil && m.receives-m.receivesBefore >= p.receivesMax {
				if grave = e.byARN(p.target); grave != nil {
					renewed := e.bury(q, m, now)
					if err := transfer(tx, q, grave, m, renewed); err != nil {
						return err
					}
					renewed.group = m.group
					q.remove(m)
					buried = append(buried, renewed)
					continue
				}
			}
			content, err := getContent(tx, q, m)
			if err != nil {
				return err
			}
			m.receives++
			m.receivedAt = now
			if m.firstReceived.IsZero() {
				m.firstReceived = now
			}
			q.move(m, stateInFlight, now.Add(visibility))
			if err := putState(tx, q, m, m.group.name); err != nil {
				return err
			}
			taken = append(taken, in.render(q, m, content))
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("receive from queue %s: %w", q.record.Name, err), e.reload(q))
	}
	for _, m := range buried {
		grave.insert(m, m.group.name)
	}
	return taken, nil
}

// bury is the message m as it enters the dead-letter queue: same id, same time
// of sending, its history and where it came from.
func (e *Engine) bury(q *queue, m *message, now time.Time) *message {
	return &message{
		id: m.id, sender: m.sender, source: e.arn(q.record.Name), sent: m.sent, visibleAt: now,
		receives: m.receives, receivesBefore: m.receives, firstReceived: m.firstReceived, receivedAt: m.receivedAt,
	}
}

// expire deletes up to expireBatch messages that are older than the queue keeps them.
func (e *Engine) expire(q *queue, now time.Time) (int, error) {
	horizon := now.Add(-q.settings.retention)
	if len(q.age) == 0 || q.age[0].sent.After(horizon) {
		return 0, nil
	}
	n := 0
	err := e.db.Update(func(tx *bolt.Tx) error {
		for ; n < expireBatch && len(q.age) > 0 && !q.age[0].sent.After(horizon); n++ {
			m := q.age[0]
			if err := deleteMessage(tx, q, m); err != nil {
				return err
			}
			q.remove(m)
		}
		return nil
	})
	if err != nil {
		return 0, errors.Join(fmt.Errorf("remove outdated messages of queue %s: %w", q.record.Name, err), e.reload(q))
	}
	e.opt.Logger.Info("sqs messages outlived their retention", "queue", q.record.Name, "messages", n, "retention", q.settings.retention)
	return n, nil
}

func (in *receiveMessageInput) check() error {
	if n := in.MaxNumberOfMessages; n != nil && (*n < 1 || *n > receiveMax) {
		return invalidValue("MaxNumberOfMessages", *n, "Must be between 1 and %d, if provided.", receiveMax)
	}
	if n := in.WaitTimeSeconds; n != nil && (*n < 0 || *n > int(waitMax/time.Second)) {
		return invalidValue("WaitTimeSeconds", *n, "Must be >= 0 and <= %d, if provided.", int(waitMax/time.Second))
	}
	if n := in.VisibilityTimeout; n != nil && (*n < 0 || *n > int(visibilityMax/time.Second)) {
		return invalidValue("VisibilityTimeout", *n, "Must be >= 0 and <= %d, if provided.", int(visibilityMax/time.Second))
	}
	if in.ReceiveRequestAttemptId != "" {
		return invalidValue("ReceiveRequestAttemptId", in.ReceiveRequestAttemptId, "The request include parameter that is not valid for this queue type: it belongs to FIFO queues. Leave it out.")
	}
	for _, name := range slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames) {
		switch name {
		case "All", "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "SequenceNumber",
			"MessageDeduplicationId", "MessageGroupId", "AWSTraceHeader", "DeadLetterQueueSourceArn":
		default:
			return invalidAttributeName(name, "Ask for All, or for message system attributes of the SQS API reference.")
		}
	}
	return nil
}

// render is a message as this receive asked to see it.
func (in *receiveMessageInput) render(q *queue, m *message, content contentRecord) receivedMessage {
	out := receivedMessage{
		MessageId: m.id, ReceiptHandle: receipt{queue: q.record.Number, seq: m.seq, receive: m.receives}.String(),
		Body: content.Body, MD5OfBody: md5Text(content.Body),
	}
	for name, a := range content.Attributes {
		if wantsAttribute(in.MessageAttributeNames, name) {
			if out.MessageAttributes == nil {
				out.MessageAttributes = map[string]messageAttribute{}
			}
			out.MessageAttributes[name] = a
		}
	}
	out.MD5OfMessageAttributes = md5Attributes(out.MessageAttributes)
	facts := map[string]string{
		"SenderId": m.sender, "SentTimestamp": strconv.FormatInt(toMS(m.sent), 10), "ApproximateReceiveCount": strconv.Itoa(m.receives),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(toMS(m.firstReceived), 10),
		"MessageGroupId":                   m.group.name, "AWSTraceHeader": content.Trace, "DeadLetterQueueSourceArn": m.source,
	}
	asked := slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames)
	for name, value := range facts {
		if value == "" || !slices.Contains(asked, name) && !slices.Contains(asked, "All") {
			continue
		}
		if out.Attributes == nil {
			out.Attributes = map[string]string{}
		}
		out.Attributes[name] = value
	}
	return out
}

func wantsAttribute(asked []string, name string) bool {
	for _, pattern := range asked {
		if pattern == "All" || pattern == ".*" || pattern == name {
			return true
		}
		if prefix, wild := strings.CutSuffix(pattern, ".*"); wild && strings.HasPrefix(name, prefix+".") {
			return true
		}
	}
	return false
}
