package sim

import (
	"context"
	"slices"
	"time"

	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// Queue holds messages until a test delivers them by hand.
type Queue struct {
	*mail

	world *World
	actor string
}

// mail is what is under way.
type mail struct {
	sent     int
	messages []Message
}

var _ pipeline.Queue = (*Queue)(nil)

// Message is one message under way.
type Message struct {
	// Number identifies the message and counts from 1; a duplicate has a number of its own.
	Number  int
	Lane    job.Lane
	Pointer job.Pointer
	// Receives counts the deliveries that were not acknowledged.
	Receives int
	// Due is the earliest time of a delivery.
	Due time.Time
}

// Send puts a message under way. Clean-up has no queue.
func (q *Queue) Send(ctx context.Context, line job.Line, pointer job.Pointer, delay time.Duration) error {
	call := Call{Port: PortQueue, Method: "Send", Actor: q.actor, Subject: pointer.Unit, Of: pointer.Job}
	return q.world.write(ctx, call, func() error {
		decoded, err := job.DecodePointer(pointer.Encode())
		if err != nil {
			return job.Errorf(job.Permanent, "queue_refused", "send: the receiver would refuse the pointer: %w", err)
		}
		if pointer.Unit == job.CleanID {
			return job.Errorf(job.Permanent, "queue_refused", "send: clean-up has no queue; the sweep does it")
		}
		q.sent++
		q.messages = append(q.messages, Message{
			Number: q.sent, Lane: line.Lane, Pointer: decoded, Due: q.world.Clock.Now().Add(max(delay, 0)),
		})
		return nil
	})
}

// Sent counts the messages that were ever put under way, those that were copied or returned too.
func (q *Queue) Sent() int {
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	return q.sent
}

// Messages are all messages under way, in the order in which they were sent.
func (q *Queue) Messages() []Message {
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	return slices.Clone(q.messages)
}

// Len is how many messages are under way.
func (q *Queue) Len() int {
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	return len(q.messages)
}

// Ready are the messages that may be delivered now, in the order in which they were sent.
func (q *Queue) Ready() []Message { return q.AppendReady(nil) }

// AppendReady appends the messages that may be delivered now, in the order in which they were sent.
func (q *Queue) AppendReady(ready []Message) []Message {
	now := q.world.Clock.Now()
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	for i := range q.messages {
		if !q.messages[i].Due.After(now) {
			ready = append(ready, q.messages[i])
		}
	}
	return ready
}

// Next is the time at which the next message becomes ready; ok is false when there is none.
func (q *Queue) Next() (at time.Time, ok bool) {
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	for i := range q.messages {
		if due := q.messages[i].Due; !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// Take removes a message, to deliver it or to lose it; ok is false when it is not under way.
func (q *Queue) Take(number int) (message Message, ok bool) {
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	at := q.find(number)
	if at < 0 {
		return Message{}, false
	}
	message = q.messages[at]
	q.messages = slices.Delete(q.messages, at, at+1)
	return message, true
}

// Duplicate puts a copy of a message under way.
func (q *Queue) Duplicate(number int) bool {
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	at := q.find(number)
	if at < 0 {
		return false
	}
	q.again(q.messages[at], q.messages[at].Due)
	return true
}

// Return puts a taken message back, as a visibility timeout does when its receiver did not acknowledge it.
func (q *Queue) Return(message Message, after time.Duration) {
	q.world.mu.Lock()
	defer q.world.mu.Unlock()
	q.again(message, q.world.Clock.Now().Add(after))
}

func (q *Queue) again(message Message, due time.Time) {
	q.sent++
	message.Number, message.Due = q.sent, due
	q.messages = append(q.messages, message)
}

func (q *Queue) find(number int) int {
	return slices.IndexFunc(q.messages, func(m Message) bool { return m.Number == number })
}
