package sim_test

import (
	"fmt"
	"strings"
)

// tally counts what happened to messages, which deeds were done and what else went on.
type tally struct {
	// acked, lost and buried messages are gone; those taken again have another number.
	acked, lost, buried, again int
	deeds                      [deeds]int
	events                     [events]int
}

// event is something that happens to a life beside what is done to its calls.
type event int

const (
	delivered event = iota
	doubled
	forged
	swept
	cancelAsked
	revokeAsked
	linkAsked
	askedAgain
	timeLimit
	arrivedLate
	newerRow
	olderRow
	laterField
	sourceReplaced
	vandalised
	fileExpired
	events
)

func (e event) String() string {
	return [events]string{
		"deliveries", "messages doubled", "messages forged", "sweeps", "cancels", "revocations", "links asked for", "exports asked for again",
		"functions ended at their time limit", "requests that arrived late", "rows of a newer release", "rows of an older release",
		"fields of a later release", "sources replaced", "wrong objects under the artifact's key", "files expired",
	}[e]
}

func (t *tally) add(other tally) {
	t.acked += other.acked
	t.lost += other.lost
	t.buried += other.buried
	t.again += other.again
	for i, n := range other.deeds {
		t.deeds[i] += n
	}
	for i, n := range other.events {
		t.events[i] += n
	}
}

// String counts by kind.
func (t *tally) String() string {
	text := fmt.Sprintf("messages acknowledged %d, lost %d, come again %d, dead letters %d; calls", t.acked, t.lost, t.again, t.buried)
	for d, n := range t.deeds {
		text += fmt.Sprintf(" %s %d,", deed(d), n)
	}
	text = strings.TrimSuffix(text, ",") + ";"
	for e, n := range t.events {
		text += fmt.Sprintf(" %s %d,", event(e), n)
	}
	return strings.TrimSuffix(text, ",")
}
