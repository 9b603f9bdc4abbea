package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// ServeHTTP answers /_localstack/faults, /_localstack/calls, /_localstack/journal and /_localstack/clock.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/_localstack/faults":
		b.serveFaults(w, r)
	case "/_localstack/calls":
		b.serveCalls(w, r)
	case "/_localstack/journal":
		b.journal.serve(w, r)
	case "/_localstack/clock":
		b.opt.Clocks.serve(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (b *Board) serveFaults(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodPut, http.MethodPost:
		rules, err := readRules(w, r)
		if err == nil {
			err = b.set(rules, r.Method == http.MethodPut)
		}
		if err != nil {
			reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
	case http.MethodDelete:
		b.remove(r.URL.Query().Get("id"))
	default:
		w.Header().Set("Allow", "GET, PUT, POST, DELETE")
		reply(w, http.StatusMethodNotAllowed, map[string]string{"error": "faults take GET, PUT (a list), POST (one) and DELETE"})
		return
	}
	reply(w, http.StatusOK, b.Rules())
}

// readRules takes a list of rules or a single one.
func readRules(w http.ResponseWriter, r *http.Request) ([]*Rule, error) {
	body, err := bodyOf(w, r)
	if err != nil {
		return nil, err
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '{' {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	var rules []*Rule
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&rules); err != nil {
		return nil, fmt.Errorf("a fault is {match: {function, service, operation, key, subject, nth}, action, times, delay_ms, code, status, message}: %w", err)
	}
	for i, rule := range rules {
		if rule == nil {
			return nil, fmt.Errorf("fault %d is null", i+1)
		}
		if err := rule.check(); err != nil {
			return nil, fmt.Errorf("fault %d: %w", i+1, err)
		}
		rule.Fitted, rule.Struck = 0, 0
	}
	return rules, nil
}

func (b *Board) set(rules []*Rule, replace bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.rules
	if replace {
		kept = nil
	}
	if len(kept)+len(rules) > rulesMax {
		return fmt.Errorf("there can be %d faults at a time; remove some with DELETE", rulesMax)
	}
	for _, rule := range rules {
		if rule.ID == "" {
			rule.ID = b.opt.NewID()
		}
	}
	b.rules = append(slices.Clone(kept), rules...)
	return nil
}

func (b *Board) remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id == "" {
		b.rules = nil
		clear(b.again)
		return
	}
	b.rules = slices.DeleteFunc(slices.Clone(b.rules), func(r *Rule) bool { return r.ID == id })
}

// Rules are the rules as they stand.
func (b *Board) Rules() []Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Rule, len(b.rules))
	for i, r := range b.rules {
		out[i] = *r
	}
	return out
}

func (b *Board) serveCalls(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		b.mu.Lock()
		clear(b.counts)
		b.recent, b.made = nil, 0
		b.mu.Unlock()
	}
	out := map[string]any{"counts": b.Counts()}
	b.mu.Lock()
	out["made"] = b.made
	if from := after(r); from >= 0 {
		// Those that are no longer remembered are told apart from none.
		calls := slices.DeleteFunc(slices.Clone(b.recent), func(m Made) bool { return m.Number <= from })
		out["calls"] = calls
		out["complete"] = len(calls) == b.made-min(from, b.made)
	}
	b.mu.Unlock()
	reply(w, http.StatusOK, out)
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
