package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// pace is when to cancel after a create: it moves towards where cancel and finish win equally often.
type pace struct {
	mu    sync.Mutex
	delay time.Duration
	won   []string
	lost  []string
}

func (p *pace) next() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

func (p *pace) saw(id string, won bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if won {
		p.won = append(p.won, id)
		p.delay = min(p.delay*5/4, 5*time.Second)
		return
	}
	p.lost = append(p.lost, id)
	p.delay = max(p.delay*4/5, time.Millisecond)
}

func proveRace(t *testing.T, s *shared) {
	const races = 100
	s.connect(t, "small", sqlite(t, orders(11, 40, awkward)))
	s.define(t, definition("small", "small", map[string]any{"active_jobs_max": 50}))
	rae := s.user(t, foreign, "rae")
	p := &pace{delay: 100 * time.Millisecond}
	t.Run("races", func(t *testing.T) {
		for number := range races {
			t.Run(itoa(number), func(t *testing.T) {
				t.Parallel()
				rae.race(t, p, number)
			})
		}
	})
	t.Logf("cancel won %d times, finish %d times", len(p.won), len(p.lost))
	if len(p.won) == 0 || len(p.lost) == 0 || len(p.won)+len(p.lost) != races {
		t.Errorf("cancel won %d times and finish %d times; want both, %d in all", len(p.won), len(p.lost), races)
	}
	if active := s.active(t, foreign); active != "0" {
		t.Errorf("the ledger counts %s unfinished exports after the end of all", active)
	}
	s.settle(t, append(p.won, p.lost...))
}

// race asks for an export and cancels it about when it finishes.
func (u user) race(t *testing.T, p *pace, number int) {
	t.Helper()
	id := u.create(t, whole("small", "csv", "gzip"), "race "+itoa(number))
	time.Sleep(p.next())
	cancel := func() answer {
		return u.do(t, http.MethodPost, "/v1/exports/"+id+"/cancel", []byte(`{"reason": "changed my mind"}`))
	}
	first := cancel()
	won := first.status == http.StatusOK
	p.saw(id, won)
	end, want := u.ended(t, id, patience), "completed"
	if won {
		want = "cancelled"
	}
	again := cancel()
	state, _ := first.object(t)["state"].(string)
	switch {
	case !won && first.status != http.StatusConflict:
		t.Fatalf("export %s: the cancel got %d %s", id, first.status, first.body)
	case won && state != "cancelled", !won && state != "publishing" && state != "completed":
		t.Fatalf("export %s: the cancel got %d and state %s", id, first.status, state)
	case end.State != want:
		t.Fatalf("export %s is %s after its cancel got %d", id, end.State, first.status)
	case again.status != first.status || again.object(t)["state"] != want:
		t.Fatalf("export %s: the repeated cancel got %d %s after %d", id, again.status, again.body, first.status)
	}
	events := string(u.do(t, http.MethodGet, "/v1/exports/"+id+"/events", nil).body)
	ends := strings.Count(events, `"to":"completed"`) + strings.Count(events, `"to":"cancelled"`)
	if ends != 1 || !strings.Contains(events, `"to":"`+want+`"`) {
		t.Fatalf("export %s: the audit has %d ends, want one, %s: %s", id, ends, want, events)
	}
	if link := u.link(t, id); won == (link.status == http.StatusCreated) {
		t.Fatalf("export %s, %s: asking for a link got %d", id, want, link.status)
	}
}
