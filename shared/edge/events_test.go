package edge_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
)

// sample is one line of the tables in events/README.md.
type sample struct{ file, given, answer string }

func TestEverySampleGetsItsDocumentedAnswer(t *testing.T) {
	t.Parallel()
	samples := readSamples(t)
	for _, s := range samples {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			h := given(t, s.given)
			payload := mustRead(t, "events/"+s.file)
			if got := h.answer(s.file, payload); got != s.answer {
				t.Errorf("the answer is %q, but events/README.md says %q\n%s", got, s.answer, h.log.String())
			}
		})
	}
}

func TestEverySampleIsDocumented(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "events/*/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, s := range readSamples(t) {
		documented[s.file] = true
	}
	for _, file := range files {
		name, _ := filepath.Rel(filepath.Join(root, "events"), file)
		if !documented[filepath.ToSlash(name)] {
			t.Errorf("events/README.md lacks %s", name)
		}
		delete(documented, filepath.ToSlash(name))
	}
	if len(documented) > 0 {
		t.Errorf("events/README.md names files that aren't there: %v", slices.Sorted(maps.Keys(documented)))
	}
}

func TestEveryRouteHasASample(t *testing.T) {
	t.Parallel()
	sampled := map[string]bool{}
	for _, s := range readSamples(t) {
		if strings.HasPrefix(s.file, "http/") && !strings.Contains(s.file, "refused") {
			var event events.APIGatewayV2HTTPRequest
			decode(t, mustRead(t, "events/"+s.file), &event)
			sampled[event.RouteKey] = true
		}
	}
	for path, item := range description(t).model.Paths.PathItems.FromOldest() {
		for method := range item.GetOperations().FromOldest() {
			if route := strings.ToUpper(method) + " " + path; !sampled[route] {
				t.Errorf("the route %s has no sample", route)
			}
		}
	}
}

func readSamples(t *testing.T) []sample {
	t.Helper()
	var found []sample
	for line := range strings.Lines(string(mustRead(t, "events/README.md"))) {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.Contains(cells[1], ".json") {
			found = append(found, sample{strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])})
		}
	}
	if len(found) == 0 {
		t.Fatal("events/README.md has no table of samples")
	}
	return found
}

// sampleJob is the export that the samples are about.
const sampleJob = "exp_06bq3v1zkm5e8w2yx7t9c4hr0g"

// given is a house in which the samples' export is in a state.
func given(t *testing.T, state string) *house {
	t.Helper()
	h := opened(t)
	if state == "nothing" {
		return h
	}
	h.newID = func() string { return sampleJob }
	var asked events.APIGatewayV2HTTPRequest
	request := map[bool]string{false: "create.json", true: "create-files.json"}[state == "completed as files"]
	decode(t, mustRead(t, "events/http/"+request), &asked)
	h.must(202, h.hand(asked))
	h.newID = edge.NewJobID
	switch state {
	case "queued":
	case "running":
		message := h.world.Queue.Ready()[0]
		h.world.Queue.Take(message.Number)
		if err := h.deliver(t.Context(), message.Pointer); err != nil {
			t.Fatal(err)
		}
	case "completed", "completed as files", "revoked":
		h.run()
		if state == "revoked" {
			h.must(200, h.end(ana(), sampleJob, "revoke"))
		}
	default:
		t.Fatalf("events/README.md gives the state %q, which this test can't make", state)
	}
	return h
}

// answer hands a sample to the function that it wakes, and puts the answer into the words of events/README.md.
func (h *house) answer(file string, payload []byte) string {
	h.t.Helper()
	kind, _, _ := strings.Cut(file, "/")
	switch kind {
	case "http":
		var event events.APIGatewayV2HTTPRequest
		decode(h.t, payload, &event)
		if ok, faults := description(h.t).accepts(event); !ok && !strings.Contains(file, "refused") {
			report(h.t, file, faults)
		}
		return httpWords(h.t, h.hand(event))
	case "queue":
		var event events.SQSEvent
		decode(h.t, payload, &event)
		response, err := edge.Queue(h.logger(), h.showAgain, h.deliver)(h.t.Context(), event)
		return h.queueWords(response, err)
	case "intake":
		response, err := h.createFunction()(payload)
		batch, ok := response.(events.SQSEventResponse)
		if !ok {
			h.t.Fatalf("the answer is a %T", response)
		}
		return h.queueWords(batch, err)
	case "bus":
		if _, err := h.createFunction()(payload); err != nil {
			return "refused " + job.CodeOf(err)
		}
		return "taken"
	case "timer":
		sweeper := pipeline.Sweeper{OrphanAge: limits.OrphanAge, Cleaner: pipeline.Cleaner{
			Worker: edge.Worker(h.world.Ledger, h.world.Queue, h.logger()), Store: h.world.Store, Keys: artifact.Keys{},
		}}
		if _, err := edge.Sweep(h.logger(), sweeper.Sweep)(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
		return "swept"
	}
	h.t.Fatalf("no function is woken by %s", file)
	return ""
}

// createFunction is the whole handler of create, as its main wires it.
func (h *house) createFunction() func(text json.RawMessage) (any, error) {
	handle := edge.CreateHandler(h.api("POST /v1/exports"), h.intake())
	return func(text json.RawMessage) (any, error) { return handle(h.t.Context(), text) }
}

func httpWords(t *testing.T, answer events.APIGatewayV2HTTPResponse) string {
	t.Helper()
	words := fmt.Sprint(answer.StatusCode)
	if answer.StatusCode >= 400 {
		words += " " + strings.TrimPrefix(object(t, answer.Body)["type"].(string), "/problems/")
	}
	return words
}

// queueWords says what becomes of the messages, and with which code when they come again.
func (h *house) queueWords(response events.SQSEventResponse, err error) string {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("the whole batch failed, which takes good messages with it: %v", err)
	}
	if len(response.BatchItemFailures) == 0 {
		return "acknowledged"
	}
	var code string
	for line := range strings.Lines(h.log.String()) {
		var entry struct{ Msg, Code string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "message not handled" {
			code = entry.Code
		}
	}
	return "again " + code
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
