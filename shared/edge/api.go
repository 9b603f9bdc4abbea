package edge

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/job"
	"sealift/shared/policy"
)

// Claims name where a verified token says whose it is.
type Claims struct {
	Tenant string
	Roles  string
}

// request is one HTTP request after the gateway has verified its token.
type request struct {
	who     policy.Principal
	path    map[string]string
	query   map[string]string
	headers map[string]string
	body    []byte
}

// response is what a route answers: body is rendered as JSON unless it is raw.
type response struct {
	status  int
	headers map[string]string
	body    any
	raw     []byte
	// binary says that raw is no text, and so crosses the gateway in base64.
	binary bool
	// unread is how many records the answer names that can't be read; the log says it too.
	unread int
}

// route is one operation of the API.
type route struct {
	answer func(ctx context.Context, r request) (response, error)
	// query are the names of the query parameters that it takes, as infra/openapi.yaml has them.
	query []string
}

// api dispatches on the gateway's route key ("POST /v1/exports") and turns errors into problem documents (RFC 9457).
type api struct {
	claims Claims
	log    *slog.Logger
	routes map[string]route
}

func (a api) handle(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	answer, err := a.serve(ctx, event)
	attributes := []any{"route", event.RouteKey, "request_id", event.RequestContext.RequestID}
	// The export that the request is about, or has led to.
	if id := cmp.Or(event.PathParameters["id"], path.Base(answer.headers["location"])); job.ValidID(id) {
		attributes = append(attributes, "job", id)
	}
	if err != nil {
		answer = problem(err, event.RawPath)
		attributes = append(attributes, "status", answer.status, "kind", string(job.KindOf(err)), "code", job.CodeOf(err))
		if answer.status >= http.StatusInternalServerError {
			a.log.ErrorContext(ctx, "request failed", append(attributes, "error", err.Error())...)
		} else {
			a.log.InfoContext(ctx, "request refused", attributes...)
		}
	} else {
		attributes = append(attributes, "status", answer.status)
		if answer.unread > 0 {
			attributes = append(attributes, "unreadable", answer.unread)
		}
		a.log.InfoContext(ctx, "request answered", attributes...)
	}
	return render(answer), nil
}

// serve answers one request; a panic in a route is an error of this request and not the end of the process.
func (a api) serve(ctx context.Context, event events.APIGatewayV2HTTPRequest) (answer response, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			a.log.ErrorContext(ctx, "request panicked", "route", event.RouteKey, "stack", string(debug.Stack()))
			err = &job.Error{Kind: job.Permanent, Code: "internal", Detail: "the request met a fault in the service"}
		}
	}()
	found, ok := a.routes[event.RouteKey]
	if !ok {
		return response{}, &job.Error{Kind: job.NotFound, Code: "not_found", Detail: "there is no such resource"}
	}
	r, err := a.read(event)
	if err != nil {
		return response{}, err
	}
	if err := r.only(found.query); err != nil {
		return response{}, err
	}
	return found.answer(ctx, r)
}

// read takes over what the gateway says. Who asks comes from the verified token's claims and from nowhere else.
func (a api) read(event events.APIGatewayV2HTTPRequest) (request, error) {
	r := request{
		path: event.PathParameters, query: event.QueryStringParameters, headers: event.Headers, body: []byte(event.Body),
	}
	if event.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(event.Body)
		if err != nil {
			return request{}, &job.Error{Kind: job.Invalid, Code: "request_malformed", Detail: "the body can't be read"}
		}
		r.body = body
	}
	if event.RequestContext.Authorizer == nil || event.RequestContext.Authorizer.JWT == nil {
		return request{}, &job.Error{Kind: job.Permanent, Code: "authorizer_missing", Detail: "the gateway has passed a request without a verified token; its route lacks the authorizer"}
	}
	claims := event.RequestContext.Authorizer.JWT.Claims
	r.who = policy.Principal{Tenant: claims[a.claims.Tenant], Subject: claims["sub"], Roles: roles(claims[a.claims.Roles])}
	return r, a.claims.check(r.who)
}

// check refuses a principal whose names can't be those of a token as it should be.
func (c Claims) check(who policy.Principal) error {
	tenant := "tenant (" + c.Tenant + ")"
	refuse := func(detail string) error {
		return &job.Error{Kind: job.Fenced, Code: "token_incomplete", Detail: detail}
	}
	if who.Tenant == "" || who.Subject == "" {
		return refuse("the token lacks a subject (sub) or a " + tenant + "; ask the issuer for a token that has both")
	}
	for _, claim := range []struct{ name, text string }{{"subject (sub)", who.Subject}, {tenant, who.Tenant}} {
		if len(claim.text) > claimBytesMax {
			return refuse("the token's subject or tenant has more than " + strconv.Itoa(claimBytesMax) + " bytes; ask the issuer for shorter names")
		}
		if !isName(claim.text) {
			return refuse("the token's " + claim.name + " is " + claim.text + ", which is no name; ask the issuer for a token in which it is a text and not a list, an object, true, false or null")
		}
	}
	return nil
}

// claimBytesMax bounds the names that become part of the ledger's keys.
const claimBytesMax = 256

// isName reports whether a claim can have been a text: the gateway renders what isn't one as text too, a list as "[a b]", an
// object as JSON, and who would believe it would have a tenant of that name. Emulators write null, which the gateway leaves out.
// A number is its digits, and so is the text of them.
func isName(claim string) bool {
	switch claim {
	case "null", "<nil>", "true", "false":
		return false
	}
	wrapped := func(open, end string) bool { return strings.HasPrefix(claim, open) && strings.HasSuffix(claim, end) }
	return !wrapped("[", "]") && !wrapped("{", "}") && !wrapped("map[", "]")
}

// roles reads a list claim as the gateway renders it: a JSON list becomes "[a b]"; plain text may use spaces or commas.
func roles(text string) []string {
	if strings.ContainsAny(text, "{}\"\\") {
		return nil // not a list of plain names
	}
	if list, bracketed := strings.CutPrefix(text, "["); bracketed {
		return strings.Fields(strings.TrimSuffix(list, "]"))
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
}

// only refuses a query parameter that isn't among the allowed: were it ignored, who misspells one would take the answer
// for that to another question. Of several the first by name is told, so that an answer can be repeated.
func (r request) only(allowed []string) error {
	for _, name := range slices.Sorted(maps.Keys(r.query)) {
		if slices.Contains(allowed, name) {
			continue
		}
		rest := "none is allowed"
		if len(allowed) > 0 {
			rest = "allowed are " + strings.Join(allowed, ", ")
		}
		name = job.Clip(name)
		return &job.Error{Kind: job.Invalid, Code: "parameter_unknown", Field: name,
			Detail: "there is no query parameter " + strconv.Quote(name) + " here; " + rest}
	}
	return nil
}

// header finds a header; the gateway passes names in lower case.
func (r request) header(name string) string { return r.headers[strings.ToLower(name)] }

// problemDocument is a problem as callers see it: type is stable and for programs, detail is for people.
type problemDocument struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Field is a JSON pointer into the request, when one field is at fault.
	Field    string           `json:"field,omitempty"`
	State    job.State        `json:"state,omitempty"`
	Faults   []map[string]any `json:"faults,omitempty"`
	Instance string           `json:"instance,omitempty"`
}

// problem renders an error. Causes stay in the log; what a stranger may read is code and detail.
func problem(err error, instance string) response {
	kind, code := job.KindOf(err), job.CodeOf(err)
	document := problemDocument{
		Type: problemType(code), Title: title(code), Status: status(kind, code), Instance: instance,
	}
	var e *job.Error
	if errors.As(err, &e) {
		document.Detail, document.Field = e.Detail, e.Field
		if kind == job.Invalid {
			// Those of what the ledger holds aren't the caller's to mend, or to know.
			document.Faults = faultsOf(e)
		}
	}
	if document.Status == http.StatusInternalServerError && kind != job.Permanent {
		document.Detail = ""
	}
	var conflict *stateConflict
	if errors.As(err, &conflict) {
		document.State = conflict.state
	}
	headers := map[string]string{"content-type": "application/problem+json"}
	switch document.Status {
	case http.StatusServiceUnavailable:
		headers["retry-after"] = "5"
	case http.StatusTooManyRequests:
		headers["retry-after"] = "30"
	case http.StatusConflict:
		if code == "idempotency_key_in_use" {
			headers["retry-after"] = "1"
		}
	}
	return response{status: document.Status, headers: headers, body: document}
}

// problemType is the stable type of a code's problem.
func problemType(code string) string { return "/problems/" + strings.ReplaceAll(code, "_", "-") }

func title(code string) string {
	words := strings.ReplaceAll(code, "_", " ")
	if words == "" {
		return "Error"
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// render turns an answer into the gateway's payload.
func render(answer response) events.APIGatewayV2HTTPResponse {
	headers := map[string]string{"content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff"}
	for name, value := range answer.headers {
		headers[name] = value
	}
	body := answer.raw
	if body == nil && answer.body != nil {
		text, err := json.Marshal(answer.body)
		if err != nil {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusInternalServerError, Headers: map[string]string{"content-type": "application/problem+json"}}
		}
		body = text
	}
	if answer.binary {
		return events.APIGatewayV2HTTPResponse{
			StatusCode: answer.status, Headers: headers, Body: base64.StdEncoding.EncodeToString(body), IsBase64Encoded: true,
		}
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: answer.status, Headers: headers, Body: string(body)}
}

// stateConflict carries the state that won against a caller's wish.
type stateConflict struct {
	state job.State
	err   error
}

func (s *stateConflict) Error() string { return s.err.Error() }
func (s *stateConflict) Unwrap() error { return s.err }
