package sim_test

import (
	"fmt"
	"strings"
	"time"

	"sealift/shared/job"
	"sealift/shared/sim"
)

// deed is what is done to one call.
type deed int

const (
	letItBe deed = iota
	refuse
	throttle
	loseCall
	loseAnswer
	comeLate
	repeat
	dieBefore
	dieAfter
	stall
	freeze
	suspend
	tellToStop
	refuseForGood
	answerLate
	deeds
)

func (d deed) String() string {
	return [deeds]string{
		"let be", "refused", "throttled or met by another transaction", "lost on its way", "done, answer lost", "reported lost, done later", "done, answer lost, sent again", "worker dies before",
		"worker dies after", "held up past a lease", "worker frozen past its lease", "worker and its clock frozen", "worker told to stop", "refused for good", "done at once, answered late",
	}[d]
}

// Held-up calls and frozen workers come back when every lease has run out.
const (
	holdUp = 70 * time.Second
	frozen = 200 * time.Second
	// slowAnswer is how long an answer is under way that comes while the lease before it can still be proven.
	slowAnswer = 16 * time.Second
)

// answer lets a call go on, or does to it what was decided. The deed is decided once; a call that was held up is let be
// afterwards.
func (l *life) answer(p *parked) {
	d := letItBe
	if !p.asked {
		p.asked = true
		l.answers++
		d = l.disturb(p)
	}
	l.tally.deeds[d]++
	entry := l.note(p.actor.name, "")
	entry.call, entry.deed, entry.number = &p.call, d, l.answers
	switch d {
	case stall:
		if held := l.now().Add(holdUp); p.until.Before(held) { // whoever chose the deed may have asked for more
			p.until = held
		}
		return
	case answerLate:
		if p.late != nil {
			p.late()
		}
		p.until = l.now().Add(slowAnswer)
		return
	case freeze:
		p.actor.until = l.now().Add(frozen)
		return
	case suspend:
		p.actor.until = l.now().Add(frozen)
		p.actor.ports.Ledger.Halt(frozen)
		return
	case tellToStop:
		p.actor.stop()
		return
	case dieBefore, dieAfter:
		if d == dieAfter && p.late != nil {
			p.late()
		}
		p.late = nil
		l.kill(p.actor)
		return
	case repeat:
		if p.late != nil {
			p.late() // an adapter, or the client that it uses, tries again by itself
		}
	case letItBe, refuse, throttle, loseCall, loseAnswer, comeLate, refuseForGood, deeds:
	}
	l.forget(p)
	if d == comeLate && p.late != nil {
		l.send(p)
	}
	p.grant <- d.fault().Seen(&entry.err)
}

func (d deed) fault() sim.Fault {
	switch d {
	case refuse:
		return sim.Refuse(job.Transient)
	case refuseForGood:
		return sim.Refuse(job.Permanent)
	case throttle:
		return sim.Throttle()
	case loseCall, comeLate:
		return sim.Refuse(job.Unknown)
	case loseAnswer:
		return sim.LoseAnswer()
	case letItBe, repeat, dieBefore, dieAfter, stall, freeze, suspend, tellToStop, answerLate, deeds:
	}
	return sim.Fault{}
}

// forget takes a call out of the gate.
func (l *life) forget(p *parked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range l.parked {
		if other == p {
			l.parked = append(l.parked[:i], l.parked[i+1:]...)
			return
		}
	}
}

// arrive lets something happen that was sent by somebody who waits no longer.
func (l *life) arrive(p *parked) {
	for i, other := range l.late {
		if other == p {
			l.late = append(l.late[:i], l.late[i+1:]...)
			break
		}
	}
	l.tally.events[arrivedLate]++
	l.note(p.actor.name, "what it sent arrives late").call = &p.call
	p.late()
}

// trace is what happened, to be written down only if somebody wants to read it.
type trace struct {
	full [][]line
	last []line
}

// line is one thing that happened.
type line struct {
	at     time.Time
	who    string
	what   string
	call   *sim.Call
	deed   deed
	number int
	err    error
}

func (l *life) note(who, what string) *line {
	const block = 128
	t := &l.trace
	if len(t.last) == cap(t.last) {
		if len(t.last) > 0 {
			t.full = append(t.full, t.last)
		}
		t.last = make([]line, 0, block)
	}
	t.last = append(t.last, line{at: l.at, who: who, what: what})
	return &t.last[len(t.last)-1]
}

// String is the line for people.
func (e *line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%9.3fs  %-12s ", e.at.Sub(simStart()).Seconds(), e.who)
	if e.what != "" {
		b.WriteString(e.what + " ")
	}
	if e.call != nil {
		fmt.Fprintf(&b, "%d %s.%s %s", e.number, e.call.Port, e.call.Method, e.call.About())
	}
	if e.deed != letItBe {
		b.WriteString("  <- " + e.deed.String())
	}
	if e.err != nil {
		fmt.Fprintf(&b, "  = %s %s", job.KindOf(e.err), job.CodeOf(e.err))
	}
	return b.String()
}

// story is the whole trace.
func (l *life) story() string {
	var b strings.Builder
	for _, block := range append(l.trace.full, l.trace.last) {
		for i := range block {
			b.WriteString(block[i].String())
			b.WriteByte('\n')
		}
	}
	return b.String()
}
