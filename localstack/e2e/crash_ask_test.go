package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestCrashMatrixOfAsking strikes create and cancel at every call that they make, one at a time. Whoever got no good answer
// asks again with the same Idempotency-Key and gets exactly one export, or cancels again and it is cancelled once; a message
// comes again by itself.
func TestCrashMatrixOfAsking(t *testing.T) {
	t.Parallel()
	plain := "plain"
	list := orders(31, 1_500, func(int) *string { return &plain })
	w := calmly(t, "--param", "Upstreams="+fmt.Sprintf(`{"sqs:000000000000": {"subject": "billing", "tenants": [%q]}}`, tenant))
	m := matrix{world: w, plan: planned(t), outcomes: outcomes{}, ana: w.user(t, tenant, "ana")}
	m.connect(t, "small", sqlite(t, list))
	m.define(t, definition("small", "small", map[string]any{"shard_rows": 1_000, "active_jobs_max": 1000}))
	made := w.made(t)
	id := m.ana.create(t, whole("small", "csv", "none"), "undisturbed")
	m.ana.completed(t, id)
	calm := id
	m.want = truthOf(t, list, m.ana.download(t, id))
	at := points(w.callsSince(t, made), "", "create")
	m.faults(t, http.MethodPut, standstill())
	id = m.ana.create(t, whole("small", "csv", "none"), "cancelled")
	made = w.made(t)
	m.ana.do(t, http.MethodPost, "/v1/exports/"+id+"/cancel", nil).want(t, http.StatusOK)
	at = append(at, points(w.callsSince(t, made), "", "cancel")...)
	made = w.made(t)
	m.faults(t, http.MethodDelete, nil)
	m.byMessage(t, "undisturbed by message")
	for _, at1 := range points(w.callsSince(t, made), "", "create") {
		at1.about = "by message"
		at = append(at, at1)
	}
	// They are few, and struck one after the other in a moment, so all of them are always.
	m.all = true
	strikes := m.strikes(at)
	t.Logf("create and cancel make %d calls; %d strikes", len(at), len(strikes))
	ids, struck, broken := make([]string, len(strikes)), make([]bool, len(strikes)), make([][]string, len(strikes))
	for i, s := range strikes {
		switch {
		case s.about == "by message":
			ids[i], struck[i], broken[i] = m.messageStruck(t, s, itoa(i))
		case s.function == "create":
			ids[i], struck[i], broken[i] = m.createStruck(t, s, itoa(i))
		default:
			ids[i], struck[i], broken[i] = m.cancelStruck(t, s, itoa(i))
		}
	}
	m.over(t, ids)
	stored := m.stored(t)
	for i, s := range strikes {
		all := m.rows(t, "JOB#"+ids[i])
		wrong := append(broken[i], leavings(all, ids[i], stored)...)
		if s.function == "create" {
			wrong = append(wrong, m.conserved(t, ids[i], m.want)...)
		}
		m.saw(t, s, struck[i], wrong)
	}
	m.print(t)
	entries := w.balance(t, tenant)
	linearizable(t, entries)
	planted(t, entries, calm)
}

// set replaces all faults by one at the function's next call, and returns whether it has struck when asked.
func (m matrix) set(t *testing.T, s strike) (struck func() bool) {
	t.Helper()
	m.faults(t, http.MethodPut, rule{"match": rule{"function": stack + "-" + s.function, "service": s.service, "operation": s.operation, "nth": s.nth}, "action": s.way})
	return func() bool { return m.faults(t, http.MethodGet, nil)[0]["struck"] != 0.0 }
}

// again asks until the answer is no failure of the service.
func (m matrix) again(t *testing.T, path string, body []byte, headers ...string) answer {
	t.Helper()
	const most = 10
	var a answer
	for range most {
		a = m.ana.do(t, http.MethodPost, path, body, headers...)
		if a.status < http.StatusInternalServerError {
			return a
		}
	}
	t.Fatalf("after %d tries %s still answers %d %s", most, path, a.status, a.body)
	return a
}

func (m matrix) createStruck(t *testing.T, s strike, key string) (id string, struck bool, broken []string) {
	t.Helper()
	has := m.set(t, s)
	purpose := "create struck " + key
	body := whole("small", "csv", "none").with("purpose", purpose).json(t)
	first := m.again(t, "/v1/exports", body, "Idempotency-Key", `"`+key+`"`).want(t, http.StatusAccepted).object(t)["id"].(string)
	struck = has()
	m.faults(t, http.MethodDelete, nil)
	if second := m.again(t, "/v1/exports", body, "Idempotency-Key", `"`+key+`"`).want(t, http.StatusAccepted).object(t)["id"]; second != first {
		broken = append(broken, "the same key gave two exports")
	}
	if n := len(m.intended(t, purpose)); n != 1 {
		broken = append(broken, "there are "+itoa(n)+" exports of one intent")
	}
	return first, struck, broken
}

// intended are the tenant's exports of a purpose.
func (m matrix) intended(t *testing.T, purpose string) (ids []string) {
	t.Helper()
	boss := m.user(t, tenant, "boss", "sealift:tenant-exports")
	for _, item := range boss.do(t, http.MethodGet, "/v1/exports?limit=100", nil).want(t, http.StatusOK).object(t)["exports"].([]any) {
		if e := item.(map[string]any); e["purpose"] == purpose {
			ids = append(ids, e["id"].(string))
		}
	}
	return ids
}

// byMessage asks through the intake queue until there is an export: a message whose function died comes again when its
// time of hiding is over, which the queues' clock says.
func (m matrix) byMessage(t *testing.T, purpose string) (ids []string) {
	t.Helper()
	const hiddenMS = 61_000
	m.send(t, "intake", intent(t, tenant, purpose, whole("small", "csv", "none").with("purpose", purpose)))
	await(t, patience, "no export for "+purpose, func() (string, bool) {
		m.rest(t)
		if m.depth(t, "intake") == [3]int{} {
			ids = m.intended(t, purpose)
			return "", true
		}
		m.forward(t, "sqs", hiddenMS)
		return "", false
	})
	return ids
}

func (m matrix) messageStruck(t *testing.T, s strike, key string) (id string, struck bool, broken []string) {
	t.Helper()
	has := m.set(t, s)
	ids := m.byMessage(t, "message struck "+key)
	if len(ids) != 1 {
		t.Fatalf("%s: there are %d exports of one message", s, len(ids))
	}
	struck = has()
	m.faults(t, http.MethodDelete, nil)
	return ids[0], struck, nil
}

func (m matrix) cancelStruck(t *testing.T, s strike, key string) (id string, struck bool, broken []string) {
	t.Helper()
	m.faults(t, http.MethodPut, standstill())
	id = m.ana.create(t, whole("small", "csv", "none"), "cancel struck "+key)
	has := m.set(t, s)
	m.again(t, "/v1/exports/"+id+"/cancel", nil).want(t, http.StatusOK)
	struck = has()
	m.faults(t, http.MethodDelete, nil)
	if state := m.ana.show(t, id).State; state != "cancelled" {
		broken = append(broken, "the export is "+state)
	}
	events := string(m.ana.do(t, http.MethodGet, "/v1/exports/"+id+"/events", nil).body)
	if n := strings.Count(events, `"to":"cancelled"`); n != 1 {
		broken = append(broken, "the audit has "+itoa(n)+" cancels")
	}
	return id, struck, broken
}
