package fault

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"sealift/localstack/role"
)

// forwardMSMax bounds one move of a clock to ninety days.
const forwardMSMax = 90 * 24 * 3_600_000

// Clocks are the clocks of the services whose time can be moved forward while the cloud runs: the tables', by which leases
// are judged, and the queues', by which messages that were received come back. A clock never goes back. The zero value is
// of no use; NewClocks makes them.
type Clocks struct {
	now func() time.Time

	mu      sync.Mutex
	forward map[role.Service]time.Duration
}

// NewClocks makes clocks that show what now does until they are moved.
func NewClocks(now func() time.Time) *Clocks {
	return &Clocks{now: now, forward: map[role.Service]time.Duration{role.DynamoDB: 0, role.SQS: 0}}
}

// Of is the clock of a service.
func (c *Clocks) Of(service role.Service) func() time.Time {
	return func() time.Time {
		now := c.now()
		c.mu.Lock()
		defer c.mu.Unlock()
		return now.Add(c.forward[service])
	}
}

// serve answers /_localstack/clock.
func (c *Clocks) serve(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodPost:
		body, err := bodyOf(w, r)
		var in struct {
			Service   role.Service `json:"service"`
			ForwardMS int64        `json:"forward_ms"`
		}
		if err != nil || json.Unmarshal(body, &in) != nil || !c.move(in.Service, in.ForwardMS) {
			reply(w, http.StatusBadRequest, map[string]string{
				"error": `a clock is moved by {"service": "dynamodb" or "sqs", "forward_ms": 1 to 7776000000}`})
			return
		}
	default:
		w.Header().Set("Allow", "GET, POST")
		reply(w, http.StatusMethodNotAllowed, map[string]string{"error": "the clocks take GET and POST"})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int64{}
	for service, forward := range c.forward {
		out[string(service)+"_forward_ms"] = forward.Milliseconds()
	}
	reply(w, http.StatusOK, out)
}

func (c *Clocks) move(service role.Service, forwardMS int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.forward[service]; !known || forwardMS < 1 || forwardMS > forwardMSMax {
		return false
	}
	c.forward[service] += time.Duration(forwardMS) * time.Millisecond
	return true
}
