package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
)

// leaseMS is a little more than a lease, in milliseconds: what waits for one to end waits no longer.
const leaseMS = 62_000

// calmly starts a cloud for struck exports: its sweeper runs only when it is asked to, so that its calls can be counted,
// and everything that changes something is in the journal.
func calmly(t *testing.T, args ...string) *world {
	t.Helper()
	w := start(t, args...)
	_, err := scheduler.NewFromConfig(w.aws).DeleteSchedule(t.Context(), &scheduler.DeleteScheduleInput{Name: aws.String(stack + "-sweep")})
	ok(t, err)
	w.record(t)
	return w
}

// forward moves a service's clock: the ledger's, by which leases are judged, or the queues'.
func (w *world) forward(t *testing.T, service string, ms int64) {
	t.Helper()
	w.ask(t, http.MethodPost, "/_localstack/clock", fmt.Sprintf(`{"service": %q, "forward_ms": %d}`, service, ms))
}

// figures are what the cloud counts of its functions, by name without the stack's.
func (w *world) figures(t *testing.T) map[string]figure {
	t.Helper()
	var list []figure
	ok(t, json.Unmarshal(get(t, w.Endpoint+"/_localstack/functions").want(t, http.StatusOK).body, &list))
	figures := map[string]figure{}
	for _, f := range list {
		figures[f.Name[len(stack)+1:]] = f
	}
	return figures
}

// warnings are what the functions have logged beyond the ordinary, those of their libraries among them.
func (w *world) warnings(t *testing.T) []string {
	t.Helper()
	log, err := os.ReadFile(w.log)
	ok(t, err)
	return regexp.MustCompile(`(?m)^.*(?:"level":"(?:WARN|ERROR)"| (?:WARN|ERROR) |panic:).*$`).FindAllString(string(log), -1)
}

type figure struct {
	Name       string `json:"name"`
	Errors     int    `json:"errors"`
	ColdStarts int    `json:"cold_starts"`
	InFlight   int    `json:"in_flight"`
}

// moving reports whether a function is at work or a message will wake one.
func (w *world) moving(t *testing.T) bool {
	t.Helper()
	for _, name := range []string{"plan", "lane-bulk", "lane-realtime", "finalize", "intake"} {
		if depth := w.depth(t, name); depth[0]+depth[1] > 0 {
			return true
		}
	}
	for _, f := range w.figures(t) {
		if f.InFlight > 0 {
			return true
		}
	}
	return false
}

// rest waits until nothing moves, seen twice: a message is in nobody's hands for a moment between its queue and its
// function.
func (w *world) rest(t *testing.T) {
	t.Helper()
	still := 0
	await(t, slowWait, "the functions do not come to rest", func() (string, bool) {
		still++
		if w.moving(t) {
			still = 0
		}
		return fmt.Sprint(w.figures(t)), still == 2
	})
}

// calm lets everything happen until over says that it has. Whenever nothing moves any more, only a dead lease or the row
// of a lost message can be what is waited for: nobody holds a live lease then, and the ledger's clock is moved instead.
func (w *world) calm(t *testing.T, what string, over func() (seen string, over bool)) {
	t.Helper()
	begin, moved := time.Now(), 0
	await(t, calmWait, what, func() (string, bool) {
		w.rest(t)
		seen, done := over()
		if done {
			return seen, true
		}
		w.sweep(t)
		if !w.moving(t) {
			w.forward(t, "dynamodb", leaseMS)
			moved++
		}
		return seen, false
	})
	t.Logf("calm after %s; the ledger's clock was moved %d times", time.Since(begin).Round(time.Second), moved)
}

// calmWait bounds how long many exports at once may take.
const calmWait = 20 * time.Minute
