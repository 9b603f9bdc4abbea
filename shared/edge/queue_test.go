package edge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/pipeline"
)

// planner is the function that splits jobs, with nothing but its ledger and its queue behind it.
func (h *house) planner() func(ctx context.Context, pointer job.Pointer) error {
	return pipeline.Planner{Worker: edge.Worker(h.ledger, h.world.Queue, h.logger()), Sources: h}.Plan
}

func batch(bodies ...string) events.SQSEvent {
	var event events.SQSEvent
	for i, body := range bodies {
		event.Records = append(event.Records, events.SQSMessage{MessageId: string(rune('a' + i)), Body: body})
	}
	return event
}

// away is a ledger that can't be reached.
type away struct{ pipeline.Ledger }

func (away) Row(context.Context, job.RowKey, ...string) (job.Fields, error) {
	return nil, job.Errorf(job.Transient, "ledger_unavailable", "no answer")
}

// TestWhatNoRepetitionCuresDoesNotWaitForOne gives the planner messages that are refused, each with a good one behind it.
func TestWhatNoRepetitionCuresDoesNotWaitForOne(t *testing.T) {
	t.Parallel()
	const good = `{"schema": 1, "job": "` + sampleJob + `", "unit": "plan"}`
	for name, c := range map[string]struct {
		body, code string
		ledger     func(pipeline.Ledger) pipeline.Ledger
		atOnce     bool
	}{
		"no JSON":                     {body: "no JSON", code: "message_malformed", atOnce: true},
		"other fields":                {body: `{"order": 7}`, code: "message_malformed", atOnce: true},
		"a schema yet to come":        {body: `{"schema": 99, "job": "` + sampleJob + `", "unit": "plan"}`, code: "message_schema"},
		"no identifier":               {body: `{"schema": 1, "job": "7", "unit": "plan"}`, code: "message_malformed", atOnce: true},
		"another function's unit":     {body: `{"schema": 1, "job": "` + sampleJob + `", "unit": "finalize"}`, code: "message_misrouted", atOnce: true},
		"a job that is not there":     {body: `{"schema": 1, "job": "` + job.NewID([16]byte{9}) + `", "unit": "plan"}`, code: "job_not_found", atOnce: true},
		"a ledger that is not there":  {body: good, code: "ledger_unavailable", ledger: func(l pipeline.Ledger) pipeline.Ledger { return away{l} }},
		"a good message, and another": {body: good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := given(t, "queued")
			if c.ledger != nil {
				h.ledger = c.ledger(h.ledger)
			}
			response, err := edge.Queue(h.logger(), h.showAgain, h.planner())(t.Context(), batch(c.body, good))
			if err != nil {
				t.Fatal(err)
			}
			failed := slices.ContainsFunc(response.BatchItemFailures, func(f events.SQSBatchItemFailure) bool { return f.ItemIdentifier == "a" })
			if want := c.code != ""; failed != want {
				t.Errorf("kept is %t, want %t: %+v", failed, want, response.BatchItemFailures)
			}
			if want := map[bool][]string{true: {"a"}}[c.atOnce]; !slices.Equal(h.shown, want) {
				t.Errorf("shown again at once: %q, want %q", h.shown, want)
			}
			if c.code != "" && !strings.Contains(h.log.String(), `"code":"`+c.code+`"`) {
				t.Errorf("the log lacks the code %s:\n%s", c.code, h.log.String())
			}
		})
	}
}

// TestAMessageThatCanNotBeShownIsKept has the queue refuse to show a message again: it is kept, and the log says why it
// comes later.
func TestAMessageThatCanNotBeShownIsKept(t *testing.T) {
	t.Parallel()
	h := opened(t)
	h.showErr = errors.New("the queue is away")
	response, err := edge.Queue(h.logger(), h.showAgain, h.planner())(t.Context(), batch("no JSON"))
	if err != nil || len(response.BatchItemFailures) != 1 || response.BatchItemFailures[0].ItemIdentifier != "a" {
		t.Errorf("kept are %+v, %v, want message a", response.BatchItemFailures, err)
	}
	if log := h.log.String(); !strings.Contains(log, `"visible_error":"the queue is away"`) || !strings.Contains(log, `"code":"message_malformed"`) {
		t.Errorf("the log lacks what is wrong with the message, or with the queue:\n%s", log)
	}
}
