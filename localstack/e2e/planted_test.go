package e2e

import (
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// planted takes the history of an export that went well and plants one thing in it that must not be: the checker refuses
// each, or it would prove nothing.
func planted(t *testing.T, entries []entry, id string) {
	t.Helper()
	history := historiesOf(t, entries)[id]
	if len(history) == 0 || judged(history) != porcupine.Ok {
		t.Fatalf("the history of export %s, %d operations, is not one that can be", id, len(history))
	}
	claim := find(t, history, "UNIT#s00001", "owner", "")
	lease := claim.Input.(move).of("UNIT#s00001").value("lease_until_ms")
	steal := write{pk: "JOB#" + id, sk: "UNIT#s00001",
		guards: []guard{{field: "state", values: []string{"leased"}}, {field: "generation", values: []string{"1"}}, {field: "lease_until_ms", values: []string{lease}}},
		set:    [][2]string{{"state", "leased"}, {"owner", "thief"}, {"generation", "2"}, {"lease_until_ms", itoa(int(whole64(lease) + 1))}},
	}
	publish := find(t, history, "JOB", "state", "publishing")
	version := publish.Input.(move).of("JOB").value("version")
	cancel := write{pk: "JOB#" + id, sk: "JOB", guards: []guard{{field: "state", values: []string{"publishing"}}, {field: "version", values: []string{version}}},
		set: [][2]string{{"state", "cancelled"}, {"version", itoa(int(whole64(version) + 1))}}}
	for name, wrong := range map[string]porcupine.Operation{
		"two claims of one generation":                by(claim, "another"),
		"a shard finished by another than its holder": by(find(t, history, "UNIT#s00001", "state", "done"), "another"),
		"two plans":                                     find(t, history, "JOB", "state", "running"),
		"two publications":                              publish,
		"two bindings":                                  find(t, history, "JOB", "state", "completed"),
		"a claim of a lease that lives":                 after(claim, move{process: "thief", heldMS: whole64(lease) - 1, writes: []write{steal}}, verdict{accepted: true}),
		"a cancel after the decision to publish":        after(publish, move{process: "user", writes: []write{cancel}}, verdict{accepted: true}),
		"a claim that is refused though the unit waits": after(find(t, history, "UNIT#plan", "state", "pending"), find(t, history, "UNIT#plan", "owner", "").Input.(move), verdict{refused: [rowsMax]bool{true}}),
	} {
		if judged(append(slices.Clone(history), wrong)) != porcupine.Illegal {
			t.Errorf("the checker takes a history with %s", name)
		}
	}
	dead := move{process: "heir", heldMS: whole64(lease) + 1, writes: []write{steal}}
	if judged([]porcupine.Operation{find(t, history, "UNIT#s00001", "generation", "0"), claim, after(claim, dead, verdict{accepted: true})}) != porcupine.Ok {
		t.Error("the checker does not take the claim of a lease that has ended")
	}
}

// find is the first operation that sets a field of a row, to a value or to any.
func find(t *testing.T, history []porcupine.Operation, sk, field, to string) porcupine.Operation {
	t.Helper()
	for _, op := range history {
		if got := op.Input.(move).of(sk).value(field); op.Output.(verdict).accepted && got != "" && (to == "" || got == to) {
			return op
		}
	}
	t.Fatalf("the history has no move of %s to %s %s", sk, field, to)
	return porcupine.Operation{}
}

// by is the same operation by somebody else, after it.
func by(op porcupine.Operation, process string) porcupine.Operation {
	m := op.Input.(move)
	m.process = process
	return after(op, m, op.Output.(verdict))
}

// after is a move just after an operation.
func after(op porcupine.Operation, m move, v verdict) porcupine.Operation {
	return porcupine.Operation{Input: m, Output: v, Call: op.Return + 1, Return: op.Return + 2}
}

// of is a move's write of a row.
func (m move) of(sk string) write {
	for _, w := range m.writes {
		if w.sk == sk {
			return w
		}
	}
	return write{}
}

// value is what a write sets a field to.
func (w write) value(field string) string {
	for _, s := range w.set {
		if s[0] == field {
			return s[1]
		}
	}
	return ""
}
