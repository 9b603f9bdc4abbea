package ledger

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// dateGrain is the precision of the Date header, which is rounded down to it.
const dateGrain = time.Second

// clock estimates the service's time from below. A response with Date d that was received at local reading m proves that
// the service's time was at least d when the local clock read m. The estimate is anchored to the response that proves
// most and carried forward from there; it is anchored anew as soon as a response contradicts it.
type clock struct {
	local func() time.Time

	mu       sync.Mutex
	date     time.Time
	received time.Time
	latest   time.Time
}

// observe takes one response into account.
func (c *clock) observe(date, received time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.date.IsZero() {
		estimate := c.date.Add(received.Sub(c.received))
		if !estimate.Before(date) && !estimate.After(date.Add(dateGrain)) {
			return
		}
	}
	c.date, c.received = date, received
}

func (c *clock) now() time.Time {
	reading := c.local()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.date.IsZero() {
		return reading.UTC().Round(0)
	}
	if estimate := c.date.Add(reading.Sub(c.received)); estimate.After(c.latest) {
		c.latest = estimate
	}
	return c.latest
}

// step stands next to the transport: it notes that a request is sent and reads the date of its response, also of a
// refusal.
func (c *clock) step(sent *bool) middleware.DeserializeMiddleware {
	return middleware.DeserializeMiddlewareFunc("SealiftLedgerClock", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		*sent = true
		out, metadata, err := next.HandleDeserialize(ctx, in)
		received := c.local()
		if response, ok := out.RawResponse.(*smithyhttp.Response); ok && response != nil && response.Response != nil {
			if date, parseErr := http.ParseTime(response.Header.Get("Date")); parseErr == nil {
				c.observe(date.UTC(), received)
			}
		}
		return out, metadata, err
	})
}
