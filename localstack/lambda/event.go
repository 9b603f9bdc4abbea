package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// throttlePause is the wait before a throttled event is tried again. Lambda's own grows up to five minutes; here the machine is one's own.
const throttlePause = time.Second

// InvokeEvent runs a function for an event as Lambda's asynchronous invocation does, and waits for the end of it: a failure is repeated as often as the
// function's template allows, throttling does not count as a failure, and an event that failed for good goes to the function's OnFailure destination. It
// returns nil once the event needs no more care. A caller that keeps its events until then loses none.
func (h *Host) InvokeEvent(ctx context.Context, name string, payload []byte) error {
	f, err := h.admit(name, payload, eventPayloadBytesMax)
	if err != nil {
		return err
	}
	oldest := h.opt.Now().Add(f.Async.EventAgeMax)
	delay := h.opt.RetryDelay
	var last Response
	for attempts := 0; ; {
		response, err := h.Invoke(ctx, name, payload)
		wait := throttlePause
		switch {
		case errors.Is(err, ErrThrottled):
		case err != nil:
			return err
		case response.FunctionError == "":
			return nil
		default:
			attempts++
			last = response
			wait, delay = delay, 2*delay
			if attempts > f.Async.RetriesMax {
				return h.giveUp(ctx, f, payload, "RetriesExhausted", attempts, last)
			}
		}
		if h.opt.Now().Add(wait).After(oldest) {
			return h.giveUp(ctx, f, payload, "EventAgeExceeded", attempts, last)
		}
		if err := h.pause(ctx, wait); err != nil {
			return err
		}
	}
}

func (h *Host) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-h.stopped:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveUp sends the record of a failed event to the function's destination, in the shape that Lambda destinations have.
func (h *Host) giveUp(ctx context.Context, f *function, payload []byte, condition string, attempts int, last Response) error {
	destination := f.Async.OnFailureARN
	if destination == "" || h.opt.OnFailure == nil {
		h.opt.Logger.WarnContext(ctx, "event dropped", "function", f.Name, "condition", condition, "attempts", attempts)
		return nil
	}
	record := map[string]any{
		"version":   "1.0",
		"timestamp": h.opt.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"requestContext": map[string]any{
			"requestId": last.RequestID, "functionArn": f.ARN + ":$LATEST", "condition": condition, "approximateInvokeCount": attempts,
		},
		"requestPayload": json.RawMessage(payload),
	}
	if attempts > 0 {
		record["responseContext"] = map[string]any{"statusCode": 200, "executedVersion": "$LATEST", "functionError": last.FunctionError}
		record["responsePayload"] = responseValue(last.Payload)
	}
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("write failure record of function %s: %w", f.Name, err)
	}
	if err := h.opt.OnFailure(ctx, destination, text); err != nil {
		return fmt.Errorf("send failure record of function %s to %s: %w", f.Name, destination, err)
	}
	return nil
}

func responseValue(payload []byte) any {
	if json.Valid(payload) {
		return json.RawMessage(payload)
	}
	return string(payload)
}

// enqueue starts an event without waiting for it. It is not kept across a restart of the host; a caller that needs that uses InvokeEvent.
func (h *Host) enqueue(ctx context.Context, name string, payload []byte) error {
	f, err := h.admit(name, payload, eventPayloadBytesMax)
	if err != nil {
		return err
	}
	select {
	case h.events <- struct{}{}:
	default:
		return fmt.Errorf("%w: %d events are waiting, which is all the host keeps; try again later", ErrThrottled, cap(h.events))
	}
	if !h.begin() {
		<-h.events
		return ErrClosed
	}
	go func() {
		defer h.work.Done()
		defer func() { <-h.events }()
		ctx := context.WithoutCancel(ctx) // the caller does not wait
		if err := h.InvokeEvent(ctx, f.Name, payload); err != nil {
			h.opt.Logger.ErrorContext(ctx, "event lost", "function", f.Name, "error", err.Error())
		}
	}()
	return nil
}
