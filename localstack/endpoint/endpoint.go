// Package endpoint is the one address of the embedded cloud: it understands each
// request, lets the fault rules and the roles have their say, and hands it to the
// engine it is for. It owns no state. Start reading at Endpoint.ServeHTTP. It may
// import role, fault and template.
package endpoint

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"sealift/localstack/fault"
	"sealift/localstack/role"
)

// Options are the parts behind the endpoint.
type Options struct {
	Place    role.Place
	Policies *role.Policies
	Faults   *fault.Board
	// Engines serve the services by name.
	Engines map[role.Service]http.Handler
	Issuer  http.Handler
	// Functions are the figures at /_localstack/functions.
	Functions func() any
	// Ready tells whether everything is set up, at /_localstack/health.
	Ready  func() bool
	NewID  func() string
	Logger *slog.Logger
}

// Endpoint is the handler of the cloud's address.
type Endpoint struct{ opt Options }

// New makes an endpoint.
func New(opt Options) *Endpoint { return &Endpoint{opt: opt} }

// ServeHTTP answers one request.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/_issuer/"):
		e.opt.Issuer.ServeHTTP(w, r)
		return
	case strings.HasPrefix(r.URL.Path, "/_localstack/"):
		e.serveOwn(w, r)
		return
	}
	call, err := role.Describe(r, e.opt.Place)
	if err != nil {
		role.RefusalOf(call.Service, err).Write(w, r, call.Service, e.opt.NewID())
		return
	}
	engine := e.opt.Engines[call.Service]
	e.opt.Faults.Wrap(call, e.guard(call, engine)).ServeHTTP(w, r)
}

// guard serves a call if its caller may make it.
func (e *Endpoint) guard(call role.Call, engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := e.opt.Policies.Check(call); err != nil {
			e.opt.Logger.WarnContext(r.Context(), "call refused by role", "caller", call.Caller.Name(), "service", call.Service, "operation", call.Operation, "error", err)
			role.RefusalOf(call.Service, err).Write(w, r, call.Service, e.opt.NewID())
			return
		}
		if call.Service == role.S3 && (call.Operation == "GetObject" || call.Operation == "HeadObject") {
			bucket, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			if !e.opt.Policies.MayList(call.Caller.Function, bucket) {
				w = &reticent{ResponseWriter: w, request: r, id: e.opt.NewID()}
			}
		}
		engine.ServeHTTP(w, r)
	})
}

// reticent answers that access is denied where the store says that an object is
// missing: S3 tells so only those that may list the bucket.
type reticent struct {
	http.ResponseWriter
	request *http.Request
	id      string
	hushed  bool
}

// WriteHeader replaces a 404.
func (w *reticent) WriteHeader(status int) {
	if status != http.StatusNotFound {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.hushed = true
	w.Header().Del("Content-Length")
	role.Refusal{Status: http.StatusForbidden, Code: "AccessDenied",
		Message: "Access Denied. The object may be missing: without s3:ListBucket on the bucket S3 does not tell."}.
		Write(w.ResponseWriter, w.request, role.S3, w.id)
}

// Write drops the body of what was replaced.
func (w *reticent) Write(p []byte) (int, error) {
	if w.hushed {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets the proxy flush and set deadlines.
func (w *reticent) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// serveOwn answers what the embedded cloud adds to AWS.
func (e *Endpoint) serveOwn(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/_localstack/faults", "/_localstack/calls", "/_localstack/journal", "/_localstack/clock":
		e.opt.Faults.ServeHTTP(w, r)
	case "/_localstack/functions":
		reply(w, http.StatusOK, e.opt.Functions())
	case "/_localstack/health":
		status, state := http.StatusOK, "running"
		if !e.opt.Ready() {
			status, state = http.StatusServiceUnavailable, "starting"
		}
		services := map[string]string{}
		for name := range e.opt.Engines {
			services[string(name)] = state
		}
		reply(w, status, map[string]any{"ready": status == http.StatusOK, "services": services})
	default:
		reply(w, http.StatusNotFound, map[string]string{
			"error": r.URL.Path + " is none of /_localstack/health, /_localstack/functions, /_localstack/calls, /_localstack/faults, /_localstack/journal, /_localstack/clock"})
	}
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
