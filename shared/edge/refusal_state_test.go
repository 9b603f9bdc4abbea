package edge_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// reshaped is the shipped definition with some text replaced, in canonical JSON.
func (h *house) reshaped(pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(ordersJSON(h.t))
}

func get(who person, target string) func(*house) events.APIGatewayV2HTTPResponse {
	return func(h *house) events.APIGatewayV2HTTPResponse { return h.ask(who, "GET", target) }
}

func put(body string) func(*house) events.APIGatewayV2HTTPResponse {
	return func(h *house) events.APIGatewayV2HTTPResponse {
		return h.ask(operator(), "PUT", "/v1/definitions/orders", withBody(body))
	}
}

// link asks for a download link.
func (h *house) link(who person, id string) events.APIGatewayV2HTTPResponse {
	h.t.Helper()
	return h.ask(who, "POST", "/v1/exports/"+id+"/download-links")
}

func (h *house) end(who person, id, how string) events.APIGatewayV2HTTPResponse {
	h.t.Helper()
	return h.ask(who, "POST", "/v1/exports/"+id+"/"+how, withBody(`{"reason": "asked for the wrong month"}`))
}

// noJob is an identifier that no job has.
const noJob = "exp_00000000000000000000000000"

// listingRefusals are readers' and operators' requests that are malformed or ask for what isn't there.
func listingRefusals() []refusal {
	const bad = http.StatusBadRequest
	cursor := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return []refusal{
		{"limit 0", "limit-malformed", bad, "limit", []string{`"0"`, "1 to 100"}, true, get(ana(), "/v1/exports?limit=0")},
		{"limit 101", "limit-malformed", bad, "limit", []string{"1 to 100"}, true, get(ana(), "/v1/exports?limit=101")},
		{"limit abc", "limit-malformed", bad, "limit", []string{`"abc"`}, true, get(ana(), "/v1/exports?limit=abc")},
		{"a cursor that is no base64", "cursor-malformed", bad, "cursor", []string{"begin without it"}, false, get(ana(), "/v1/exports?cursor=%25%25")},
		{"a cursor that holds garbage", "cursor-malformed", bad, "cursor", []string{"begin without it"}, false, get(ana(), "/v1/exports?cursor="+cursor("\x00\xff"))},
		{"a cursor without end", "cursor-malformed", bad, "cursor", []string{"begin without it"}, false, get(ana(), "/v1/exports?cursor="+cursor(strings.Repeat("9", 4000)))},
		{"a cursor of the audit for the exports", "cursor-malformed", bad, "cursor", []string{"of this listing"}, false, get(ana(), "/v1/exports?cursor="+cursor("EVENT#0000000001"))},
		{"a cursor of the exports for the definitions", "cursor-malformed", bad, "cursor", []string{"of this listing"}, false, get(operator(), "/v1/definitions?cursor="+cursor("20260329T010000.000#"+noJob))},
		{"a cursor of the exports for the audit", "cursor-malformed", bad, "cursor", []string{"of this listing"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(ana(), "GET", "/v1/exports/"+h.created(ana())+"/events?cursor="+cursor("20260329T010000.000#"+noJob))
		}},
		{"a parameter that no listing has", "parameter-unknown", bad, "stat", []string{`"stat"`, "allowed are state, definition, limit, cursor"}, false, get(ana(), "/v1/exports?stat=completed")},
		{"a state of another listing", "parameter-unknown", bad, "state", []string{`"state"`, "allowed are cursor"}, false, get(operator(), "/v1/definitions?state=completed")},
		{"a state that there isn't", "state-malformed", bad, "state", []string{`is "done"; allowed are queued, running, publishing, completed, failed, cancelled, expired, several with commas between`}, true, get(ana(), "/v1/exports?state=failed,done")},
		{"a state as the command line has it", "state-malformed", bad, "state", []string{`is "revoked"; allowed are `}, true, get(ana(), "/v1/exports?state=revoked")},
		{"a state in capitals", "state-malformed", bad, "state", []string{`is "Failed"; allowed are `}, true, get(ana(), "/v1/exports?state=Failed")},
		{"no state", "state-malformed", bad, "state", []string{`is ""; allowed are `, "leave it out"}, true, get(ana(), "/v1/exports?state=")},
		{"a state and none", "state-malformed", bad, "state", []string{`is ""; allowed are `}, true, get(ana(), "/v1/exports?state=failed,")},
		{"a state without end", "state-malformed", bad, "state", []string{`x…"; allowed are `}, true, get(ana(), "/v1/exports?state="+strings.Repeat("x", 3000))},
		{"a state twice", "state-malformed", bad, "state", []string{`has twice "failed"; name every state once`}, true, get(ana(), "/v1/exports?state=failed,queued,failed")},
		{"a state in two parameters", "state-malformed", bad, "state", []string{`has twice "failed"`}, false, get(ana(), "/v1/exports?state=failed&state=failed")},
		{"a definition to list that has no such name", "definition-malformed", bad, "definition", []string{`is "No pe"; send the name of one definition, 1 to 64 of a-z`}, true, get(ana(), "/v1/exports?definition=No%20pe")},
		{"no definition to list", "definition-malformed", bad, "definition", []string{`is ""; send the name`, "leave it out"}, true, get(ana(), "/v1/exports?definition=")},
		{"two definitions to list", "definition-malformed", bad, "definition", []string{`is "orders,stock"; send the name of one`}, false, get(ana(), "/v1/exports?definition=orders&definition=stock")},
		{"a cursor of all exports for those that failed", "cursor-malformed", bad, "cursor", []string{"is the next_cursor of a listing with another state or definition; send it with those that it was given for"}, false,
			get(ana(), "/v1/exports?state=failed&cursor="+cursor("20260329T010000.000#"+noJob))},
		{"a cursor of those that failed for all exports", "cursor-malformed", bad, "cursor", []string{"another state or definition"}, false,
			get(ana(), "/v1/exports?cursor="+cursor("20260329T010000.000#"+noJob+"?definition=&state=failed"))},
		{"a filter's cursor that holds garbage", "cursor-malformed", bad, "cursor", []string{"of this listing"}, false,
			get(ana(), "/v1/exports?state=failed&cursor="+cursor("?definition=&state=failed"))},
		{"version 0", "version-malformed", bad, "version", []string{`"0"`, "from 1"}, true, get(operator(), "/v1/definitions/orders?version=0")},
		{"version abc", "version-malformed", bad, "version", []string{`"abc"`}, true, get(operator(), "/v1/definitions/orders?version=abc")},
		{"a version that isn't there", "definition-not-found", 404, "", []string{"or not in that version"}, false, get(operator(), "/v1/definitions/orders?version=9")},
		{"a definition that isn't there", "definition-not-found", 404, "", []string{"the listing of definitions"}, false, get(operator(), "/v1/definitions/odrers")},
		{"a definition of a name without end", "definition-not-found", 404, "", []string{"1 to 64"}, false, get(operator(), "/v1/definitions/"+strings.Repeat("o", 3000))},
		{"a definition that is not for the caller", "definition-not-found", 404, "", []string{"there is no definition"}, false, get(chief(), "/v1/definitions/nosuch")},
		{"a definition applied by one who is no operator", "not-found", 404, "", []string{"no such resource"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(chief(), "PUT", "/v1/definitions/orders", withBody(ordersJSON(h.t)))
		}},
		{"a definition with faults", "definition-invalid", bad, "/name", []string{"has faults"}, true, put(`{"name": "Orders", "columns": [{"name": "a", "kind": "text"}]}`)},
		{"a definition that is no JSON", "definition-invalid", bad, "", []string{"has faults"}, true, put(`name: orders`)},
		{"a definition and more", "definition-invalid", bad, "", []string{"has faults"}, true, func(h *house) events.APIGatewayV2HTTPResponse { return put(ordersJSON(h.t) + "}")(h) }},
		{"a definition under another's name", "definition-invalid", bad, "/name", []string{"is applied as orders"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			return put(h.reshaped(`"name":"orders"`, `"name":"others"`, `"name": "orders"`, `"name": "others"`))(h)
		}},
		{"a definition of 2 MB", "request-too-large", 413, "", []string{"at most 262144"}, true, put(strings.Repeat(" ", 2<<20))},
		{"an export of no shape", "job-not-found", 404, "", []string{"no such export"}, false, get(ana(), "/v1/exports/1")},
		{"an export that isn't there", "job-not-found", 404, "", []string{"no such export"}, false, get(ana(), "/v1/exports/"+noJob)},
	}
}

// stateRefusals are asked at the wrong moment, or by the wrong one. Each has a house of its own.
func stateRefusals() []refusal {
	const conflict = http.StatusConflict
	return []refusal{
		{"a missing key where the definition wants one", "idempotency-key-missing", 400, "Idempotency-Key", []string{"quoted string"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			h.apply(h.reshaped(`"title":`, `"require_idempotency_key": true, "title":`))
			return post(march)(h)
		}},
		{"a purpose that the definition doesn't allow", "purpose-not-allowed", 400, "/purpose", []string{"audit, tax"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			h.apply(h.reshaped(`"title":`, `"purposes": ["audit", "tax"], "title":`))
			return post(march)(h)
		}},
		{"a definition that the roles hide", "definition-unknown", 400, "/definition", []string{`/definition is "orders"; there is none of this name that you may export from`}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			h.apply(h.reshaped(`"title":`, `"request_roles": ["finance"], "title":`))
			return post(march)(h)
		}},
		{"a key with another request", "idempotency-key-reused", 422, "", []string{"send a new key"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			h.created(ana(), withKey("k"))
			return post(strings.Replace(march, "settlement", "tax", 1), withKey("k"))(h)
		}},
		{"a create that meets another again and again", "idempotency-key-in-use", conflict, "", []string{"ask again in a second"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			h.ledger = contended{h.world.Ledger}
			return post(march, withKey("k"))(h)
		}},
		{"more unfinished exports than allowed", "active-jobs-exceeded", 429, "", []string{"has 1 unfinished export,", "cancel one"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			h.apply(h.reshaped(`"active_jobs_max":20`, `"active_jobs_max":1`, `"active_jobs_max": 20`, `"active_jobs_max": 1`))
			h.created(ana(), withKey("a"))
			return post(march, withKey("b"))(h)
		}},
		{"cancel of a completed export", "job-state", conflict, "", []string{"the export is completed and can't be cancelled any more"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.end(ana(), h.completed(ana()), "cancel")
		}},
		{"revoke of one that isn't completed", "job-state", conflict, "", []string{"the export is queued; only a completed export can be revoked"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.end(ana(), h.created(ana()), "revoke")
		}},
		{"a misspelt reason", "request-malformed", 400, "/reason", []string{`{"reason":`}, true, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(ana(), "POST", "/v1/exports/"+h.created(ana())+"/cancel", withBody(`{"raeson": "x"}`))
		}},
		{"a long reason", "request-malformed", 400, "/reason", []string{"at most 500 bytes"}, true, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(ana(), "POST", "/v1/exports/"+h.created(ana())+"/cancel", withBody(`{"reason": "`+strings.Repeat("r", 501)+`"}`))
		}},
		{"a reason of 2 MB", "request-too-large", 413, "", []string{"at most 262144"}, true, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(ana(), "POST", "/v1/exports/"+h.created(ana())+"/cancel", withBody(strings.Repeat(" ", 2<<20)))
		}},
		{"a link before there is a file", "export-not-ready", conflict, "", []string{"is queued", "when it is completed"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			return h.link(ana(), h.created(ana()))
		}},
		{"a receipt of a cancelled export", "export-without-file", conflict, "", []string{"is cancelled and has no file"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			id := h.created(ana())
			h.must(http.StatusOK, h.end(ana(), id, "cancel"))
			return h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt")
		}},
		{"a link of a revoked export", "export-revoked", http.StatusGone, "", []string{"the export was revoked at 20", "its events say by whom and why"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			id := h.completed(ana())
			h.must(http.StatusOK, h.end(ana(), id, "revoke"))
			return h.link(ana(), id)
		}},
		{"a link after the retention, before any sweep", "export-expired", http.StatusGone, "", []string{"ask for the export again"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			id := h.completed(ana())
			h.world.Clock.Advance(7 * 24 * time.Hour)
			return h.link(ana(), id)
		}},
		{"a link after the rights shrank", "rights-shrank", http.StatusForbidden, "", []string{"with the columns that you may see"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			id := h.completed(ana())
			h.apply(h.reshaped(`"note",`, `"note","roles":["finance"],`, `"name": "note", `, `"name": "note", "roles": ["finance"], `))
			return h.link(ana(), id)
		}},
		{"more links than allowed", "downloads-exceeded", http.StatusForbidden, "", []string{"has been downloaded once, which is all that its definition allows; ask for the export again"}, false, func(h *house) events.APIGatewayV2HTTPResponse {
			h.apply(h.reshaped(`"downloads_max":50`, `"downloads_max":1`, `"downloads_max": 50`, `"downloads_max": 1`))
			id := h.completed(ana())
			h.must(http.StatusCreated, h.link(ana(), id))
			return h.link(ana(), id)
		}},
	}
}
