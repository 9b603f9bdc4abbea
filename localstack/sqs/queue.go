package sqs

import (
	"container/heap"
	"container/list"
	"time"
)

// state is where a message stands. A message leaves the queue by deletion only.
type state int

const (
	stateVisible state = iota
	stateDelayed
	stateInFlight
)

// message is the part of a message that decides its fate; its body stays in the file.
type message struct {
	seq    uint64
	id     string
	group  *group
	sender string
	source string // ARN of the queue it was dead-lettered from, or empty.
	sent   time.Time

	state state
	// visibleAt ends a delay or a visibility timeout.
	visibleAt time.Time
	// receives counts all receives; receivesBefore those in an earlier queue.
	receives, receivesBefore  int
	firstReceived, receivedAt time.Time

	place    *list.Element // in group.visible, while visible
	turn     uint64        // when it last became visible, by the queue's own count
	dueIndex int           // in queue.due, while not visible
	ageIndex int           // in queue.age
}

// group is the visible messages that share a MessageGroupId, oldest first. A
// message without one is a group of its own, with an empty name.
type group struct {
	name     string
	visible  *list.List
	messages int // in any state
	inFlight int
	served   uint64 // when it was last served, by the queue's own count
	index    int    // in queue.ready, or -1
}

// queue is one queue in memory. Engine.mu guards all of it. Its methods change
// memory only; the engine writes the file first.
type queue struct {
	record   queueRecord
	settings settings

	messages map[uint64]*message
	groups   map[string]*group
	ready    groupHeap // groups with visible messages, next to serve first
	due      dueHeap   // delayed and in-flight messages, next to become visible first
	age      ageHeap   // all messages, oldest first

	served, turns     uint64
	delayed, inFlight int
	// wake is closed and replaced whenever a waiting receive should look again.
	wake chan struct{}
}

func newQueue(record queueRecord, s settings) *queue {
	return &queue{
		record: record, settings: s,
		messages: map[uint64]*message{}, groups: map[string]*group{}, wake: make(chan struct{}),
	}
}

// turn is that of the oldest visible message; there must be one.
func (g *group) turn() uint64 { return g.visible.Front().Value.(*message).turn }

func (q *queue) notify() {
	close(q.wake)
	q.wake = make(chan struct{})
}

func (q *queue) group(name string) *group {
	g := q.groups[name]
	if g == nil {
		g = &group{name: name, visible: list.New(), index: -1}
		if name != "" {
			q.groups[name] = g
		}
	}
	return g
}

// insert takes up a message whose state fields are set.
func (q *queue) insert(m *message, groupName string) {
	m.group = q.group(groupName)
	m.group.messages++
	m.dueIndex = -1
	q.messages[m.seq] = m
	heap.Push(&q.age, m)
	q.enter(m)
}

// remove forgets a message.
func (q *queue) remove(m *message) {
	q.leave(m)
	heap.Remove(&q.age, m.ageIndex)
	delete(q.messages, m.seq)
	m.group.messages--
	if m.group.messages == 0 {
		delete(q.groups, m.group.name)
	}
}

// move changes a message's state.
func (q *queue) move(m *message, to state, visibleAt time.Time) {
	q.leave(m)
	m.state, m.visibleAt = to, visibleAt
	q.enter(m)
}

func (q *queue) enter(m *message) {
	g := m.group
	switch m.state {
	case stateVisible:
		q.turns++
		m.turn = q.turns
		m.place = g.visible.PushBack(m)
		if g.name == "" {
			// It waits behind the groups whose last service is longer ago.
			g.served = q.served
		}
		if g.index < 0 {
			heap.Push(&q.ready, g)
		}
		q.notify()
		return
	case stateDelayed:
		q.delayed++
	case stateInFlight:
		q.inFlight++
		g.inFlight++
		if g.index >= 0 {
			heap.Fix(&q.ready, g.index)
		}
	}
	heap.Push(&q.due, m)
	if m.dueIndex == 0 {
		// It is the next one to become visible: waiting receives must set their timers anew.
		q.notify()
	}
}

func (q *queue) leave(m *message) {
	g := m.group
	switch m.state {
	case stateVisible:
		g.visible.Remove(m.place)
		m.place = nil
		if g.visible.Len() == 0 {
			heap.Remove(&q.ready, g.index)
		} else {
			heap.Fix(&q.ready, g.index)
		}
		return
	case stateDelayed:
		q.delayed--
	case stateInFlight:
		q.inFlight--
		g.inFlight--
		if g.index >= 0 {
			heap.Fix(&q.ready, g.index)
		}
	}
	heap.Remove(&q.due, m.dueIndex)
}

// promote makes visible what is due by now.
func (q *queue) promote(now time.Time) {
	for len(q.due) > 0 && !q.due[0].visibleAt.After(now) {
		q.move(q.due[0], stateVisible, q.due[0].visibleAt)
	}
}

// next is the message to serve next, or nil.
func (q *queue) next() *message {
	if len(q.ready) == 0 {
		return nil
	}
	g := q.ready[0]
	q.served++
	g.served = q.served
	heap.Fix(&q.ready, 0)
	return g.visible.Front().Value.(*message)
}

func (q *queue) clear() {
	q.messages, q.groups = map[uint64]*message{}, map[string]*group{}
	q.ready, q.due, q.age = nil, nil, nil
	q.delayed, q.inFlight = 0, 0
}

// groupHeap orders groups with visible messages by fewest in flight, then longest
// unserved, then by the message that has been visible longest.
type groupHeap []*group

func (h groupHeap) Len() int { return len(h) }
func (h groupHeap) Less(i, j int) bool {
	if h[i].inFlight != h[j].inFlight {
		return h[i].inFlight < h[j].inFlight
	}
	if h[i].served != h[j].served {
		return h[i].served < h[j].served
	}
	return h[i].turn() < h[j].turn()
}
func (h groupHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *groupHeap) Push(x any) {
	g := x.(*group)
	g.index = len(*h)
	*h = append(*h, g)
}
func (h *groupHeap) Pop() any {
	old := *h
	g := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	g.index = -1
	return g
}

// dueHeap orders messages by the time they become visible, then by arrival.
type dueHeap []*message

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if !h[i].visibleAt.Equal(h[j].visibleAt) {
		return h[i].visibleAt.Before(h[j].visibleAt)
	}
	return h[i].seq < h[j].seq
}
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].dueIndex, h[j].dueIndex = i, j
}
func (h *dueHeap) Push(x any) {
	m := x.(*message)
	m.dueIndex = len(*h)
	*h = append(*h, m)
}
func (h *dueHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	m.dueIndex = -1
	return m
}

// ageHeap orders messages by the time they were sent.
type ageHeap []*message

func (h ageHeap) Len() int           { return len(h) }
func (h ageHeap) Less(i, j int) bool { return h[i].sent.Before(h[j].sent) }
func (h ageHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].ageIndex, h[j].ageIndex = i, j
}
func (h *ageHeap) Push(x any) {
	m := x.(*message)
	m.ageIndex = len(*h)
	*h = append(*h, m)
}
func (h *ageHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	m.ageIndex = -1
	return m
}
