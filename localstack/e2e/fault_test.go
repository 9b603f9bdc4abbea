package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
)

// rule is a fault as the cloud takes it.
type rule map[string]any

func (w *world) faults(t *testing.T, method string, r rule) []rule {
	t.Helper()
	var body []byte
	if r != nil {
		list := []rule{r}
		var err error
		body, err = json.Marshal(list)
		ok(t, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, w.Endpoint+"/_localstack/faults", bytes.NewReader(body))
	ok(t, err)
	a, err := fetch(request)
	ok(t, err)
	var rules []rule
	ok(t, json.Unmarshal(a.want(t, http.StatusOK).body, &rules))
	return rules
}

// call is one that the cloud has answered.
type call struct {
	Function  string `json:"function"`
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Process   string `json:"process"`
	Subject   string `json:"subject"`
}

// calls reads the cloud's record of calls after a number.
func (w *world) calls(t *testing.T, after int) (made int, calls []call) {
	t.Helper()
	var record struct {
		Made  int    `json:"made"`
		Calls []call `json:"calls"`
	}
	a := get(t, w.Endpoint+"/_localstack/calls?after="+strconv.Itoa(after))
	ok(t, json.Unmarshal(a.want(t, http.StatusOK).body, &record))
	return record.Made, record.Calls
}

func (w *world) made(t *testing.T) int {
	t.Helper()
	made, _ := w.calls(t, 1<<40)
	return made
}

func (w *world) callsSince(t *testing.T, made int) []call {
	t.Helper()
	_, calls := w.calls(t, made)
	return calls
}
