package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// linearizable checks what the ledger has been asked about every export, and what it answered whom, against one export that
// does one thing at a time. A history is each export's own: no write spans two.
func linearizable(t *testing.T, entries []entry) {
	t.Helper()
	begin, operations, unknown := time.Now(), 0, 0
	histories := historiesOf(t, entries)
	for id, history := range histories {
		operations += len(history)
		for _, op := range history {
			if op.Output.(verdict).unknown {
				unknown++
			}
		}
		if result := judged(history); result != porcupine.Ok {
			t.Errorf("the history of export %s, %d operations, is %s:\n%s", id, len(history), result, tell(history))
		}
	}
	t.Logf("%d operations of %d exports have an order that explains them, %d of unknown outcome; checked in %s",
		operations, len(histories), unknown, time.Since(begin).Round(time.Millisecond))
}

func judged(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return rowsOfOne{} },
		Step: func(state, input, output any) (bool, any) {
			return state.(rowsOfOne).step(input.(move), output.(verdict))
		},
	}, history, time.Minute)
}

// move is one write of an export's rows, all or nothing.
type move struct {
	process string
	// heldMS is the ledger's time when it was done: no lease that ends later is dead.
	heldMS int64
	writes []write
}

// verdict is what the ledger answered: accepted, or refused because of some rows; unknown when nobody heard.
type verdict struct {
	unknown  bool
	accepted bool
	refused  [rowsMax]bool
}

// historiesOf gathers the writes of each export. A transaction that is repeated with its token is one.
func historiesOf(t *testing.T, entries []entry) map[string][]porcupine.Operation {
	t.Helper()
	histories := map[string][]porcupine.Operation{}
	tokens := map[string]int{}
	for _, e := range entries {
		id, m, token := moveOf(t, e)
		if id == "" {
			continue
		}
		v, judged := verdictOf(t, e, m)
		if !judged {
			continue
		}
		op := porcupine.Operation{Input: m, Call: e.Begin, Output: v, Return: e.End}
		if v.unknown {
			op.Return = math.MaxInt64
		}
		if at, again := tokens[id+token]; again && token != "" && v.accepted {
			op.Call = histories[id][at].Call
			histories[id][at] = op
			continue
		}
		if token != "" {
			tokens[id+token] = len(histories[id])
		}
		histories[id] = append(histories[id], op)
	}
	return histories
}

// request is what the ledger's writes look like on the wire.
type request struct {
	action

	ClientRequestToken string
	TransactItems      []struct{ Put, Update, ConditionCheck *action }
}

type action struct {
	Key, Item                 map[string]value
	ConditionExpression       string
	UpdateExpression          string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]value
}

// value is a text or a number of the wire, as text.
type value string

func (v *value) UnmarshalJSON(text []byte) error {
	var typed map[string]any
	if err := json.Unmarshal(text, &typed); err != nil {
		return err
	}
	for _, inner := range typed {
		*v = value(fmt.Sprint(inner))
	}
	return nil
}

// moveOf reads an entry of the journal; id is empty when it is about no export.
func moveOf(t *testing.T, e entry) (id string, m move, token string) {
	t.Helper()
	if e.Service != "dynamodb" || !strings.Contains(e.Subject, "JOB#") {
		return "", move{}, ""
	}
	var r request
	if err := json.Unmarshal(e.Request, &r); err != nil {
		t.Fatalf("entry %+v: %v", e, err)
	}
	m = move{process: e.Process, heldMS: e.LedgerMS}
	actions := []action{r.action}
	if len(r.TransactItems) > 0 {
		actions = nil
		for _, item := range r.TransactItems {
			for _, one := range []*action{item.Put, item.Update, item.ConditionCheck} {
				if one != nil {
					actions = append(actions, *one)
				}
			}
		}
	}
	for _, one := range actions {
		w := one.read()
		if job, found := strings.CutPrefix(w.pk, "JOB#"); found {
			id = job
		}
		m.writes = append(m.writes, w)
	}
	return id, m, r.ClientRequestToken
}

// verdictOf reads what was answered; judged is false for what was refused for other reasons than the rows.
func verdictOf(t *testing.T, e entry, m move) (v verdict, judged bool) {
	t.Helper()
	var answer struct {
		Type                string `json:"__type"`
		CancellationReasons []struct{ Code string }
	}
	switch {
	case e.Lost:
		return verdict{unknown: true}, true
	case e.Status == 200:
		return verdict{accepted: true}, true
	case len(m.writes) > rowsMax:
		return v, false
	}
	if err := json.Unmarshal([]byte(e.Answer), &answer); err != nil {
		t.Fatalf("entry %+v: %v", e, err)
	}
	if strings.HasSuffix(answer.Type, "ConditionalCheckFailedException") {
		v.refused[0] = true
		return v, true
	}
	for i, reason := range answer.CancellationReasons {
		if reason.Code != "None" && reason.Code != "ConditionalCheckFailed" {
			return v, false
		}
		v.refused[i] = reason.Code != "None"
	}
	return v, len(answer.CancellationReasons) > 0
}

// tell lists a history for the message of a failure.
func tell(history []porcupine.Operation) string {
	ordered := slices.Clone(history)
	slices.SortFunc(ordered, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, op := range ordered {
		_, _ = fmt.Fprintf(&text, "%d-%d %+v → %+v\n", op.Call, op.Return, op.Input, op.Output)
	}
	return text.String()
}
