package ledger

import (
	"testing"
	"time"
)

// localClock is a local clock that a test moves by hand.
type localClock struct{ reading time.Time }

func (l *localClock) now() time.Time { return l.reading }

func TestTheClockFollowsTheServiceFromBelow(t *testing.T) {
	t.Parallel()
	local := &localClock{reading: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
	service := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	c := &clock{local: local.now}
	if have := c.now(); !have.Equal(local.reading) {
		t.Errorf("before the first response the clock is %s, want the local one", have)
	}
	at := func(elapsed time.Duration) time.Time { return local.reading.Add(elapsed) }
	start := local.reading
	for _, step := range []struct {
		name    string
		elapsed time.Duration
		date    time.Duration
		seen    bool
		want    time.Duration
	}{
		{"the first response sets it, however wrong the local clock is", 0, 0, true, 0},
		{"it is carried forward", 700 * time.Millisecond, 0, false, 700 * time.Millisecond},
		{"a response of the same second proves nothing new", 800 * time.Millisecond, 0, true, 800 * time.Millisecond},
		{"a later second moves it on", 900 * time.Millisecond, time.Second, true, time.Second},
		{"and is kept while later responses agree with it", 2200 * time.Millisecond, 2 * time.Second, true, 2300 * time.Millisecond},
		{"a service that is slower than the local clock holds it back", 5 * time.Second, 3 * time.Second, true, 3 * time.Second},
		{"it waits rather than going backwards", 5100 * time.Millisecond, 2 * time.Second, true, 3 * time.Second},
		{"and goes on when the service has caught up", 6500 * time.Millisecond, 2 * time.Second, false, 3400 * time.Millisecond},
	} {
		local.reading = start.Add(step.elapsed)
		if step.seen {
			c.observe(service.Add(step.date), at(0))
		}
		if have := c.now().Sub(service); have != step.want {
			t.Errorf("%s: it reads %s after the start, want %s", step.name, have, step.want)
		}
	}
}

func TestTheClockNeverRunsAheadOrBackwards(t *testing.T) {
	t.Parallel()
	local := &localClock{reading: time.Unix(1_000_000, 0)}
	service := time.Date(2026, 3, 29, 1, 0, 0, 250_000_000, time.UTC)
	c := &clock{local: local.now}
	var last time.Time
	for n := range 5000 {
		// Steps that share no factor with a second meet every part of it.
		step := time.Duration(37+n%91) * time.Millisecond
		service = service.Add(step)
		local.reading = local.reading.Add(step)
		if n%3 == 0 {
			answered := service
			delay := time.Duration(n%23) * time.Millisecond
			service, local.reading = service.Add(delay), local.reading.Add(delay)
			c.observe(answered.Truncate(time.Second), local.reading)
		}
		if n == 0 {
			last = c.now()
			continue
		}
		have := c.now()
		if have.After(service) || have.Before(last) || service.Sub(have) > 1100*time.Millisecond {
			t.Fatalf("step %d: the service has %s, the clock %s, before it %s", n, service, have, last)
		}
		last = have
	}
}
