package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"sealift/localstack/template"
)

const (
	// bodyBytesMax is the largest request body that API Gateway takes.
	bodyBytesMax = 10 << 20
	// integrationWait is how long a function may take when its route says nothing.
	integrationWait = 30 * time.Second
)

// ErrThrottled is what Invoke returns when a function is at its concurrency.
var ErrThrottled = errors.New("function is throttled")

// Options are what the gateway needs from the cloud around it.
type Options struct {
	API       template.API
	AccountID string
	// Invoke runs a function and returns its answer. FunctionFailed reports an
	// answer that is an error description; ErrThrottled a refusal.
	Invoke func(ctx context.Context, function string, payload []byte) (Answer, error)
	// Keys fetches the issuers' documents.
	Keys *http.Client
	Now  func() time.Time
	// NewID makes request ids.
	NewID  func() string
	Logger *slog.Logger
}

// Answer is what a function returned.
type Answer struct {
	Payload []byte
	// Failed says that the payload describes an error of the function.
	Failed bool
}

// Gateway is one HTTP API.
type Gateway struct {
	opt     Options
	routes  []route
	checker map[string]*checker
	bucket  *rate.Limiter
}

// New makes the gateway of an API.
func New(opt Options) (*Gateway, error) {
	g := &Gateway{opt: opt, checker: map[string]*checker{}, bucket: rate.NewLimiter(rate.Inf, 0)}
	for _, r := range opt.API.Routes {
		parsed, err := parseRoute(r)
		if err != nil {
			return nil, fmt.Errorf("HTTP API: %w", err)
		}
		g.routes = append(g.routes, parsed)
		if r.Authorizer == "" {
			continue
		}
		rules, known := opt.API.Authorizers[r.Authorizer]
		if !known {
			return nil, fmt.Errorf("HTTP API: route %s %s names authorizer %q, which the template does not define", r.Method, r.Path, r.Authorizer)
		}
		if g.checker[r.Authorizer] == nil {
			if g.checker[r.Authorizer], err = newChecker(rules, opt); err != nil {
				return nil, fmt.Errorf("HTTP API: authorizer %s: %w", r.Authorizer, err)
			}
		}
	}
	if opt.API.RateLimit > 0 {
		g.bucket = rate.NewLimiter(rate.Limit(opt.API.RateLimit), max(opt.API.BurstLimit, 1))
	}
	return g, nil
}

// ServeHTTP answers one request: route, token, function, answer.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := g.opt.NewID()
	w.Header().Set("Apigw-Requestid", id)
	if g.preflight(w, r) {
		return
	}
	g.allowOrigin(w.Header(), r.Header.Get("Origin"))
	found, parameters := match(g.routes, r)
	if found == nil {
		message(w, http.StatusNotFound, "Not Found")
		return
	}
	if !g.bucket.AllowN(g.opt.Now(), 1) {
		message(w, http.StatusTooManyRequests, "Too Many Requests")
		return
	}
	var who *authorizer
	if found.Authorizer != "" {
		claims, scopes, refusal := g.checker[found.Authorizer].check(r.Context(), r, found.Scopes)
		if refusal != nil {
			refusal.write(w)
			return
		}
		who = &authorizer{JWT: jwtContext{Claims: claims, Scopes: scopes}}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytesMax))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		message(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	if err != nil {
		message(w, http.StatusBadRequest, "Bad Request")
		return
	}
	event, err := json.Marshal(g.event(r, found, parameters, who, id, body))
	if err != nil {
		g.opt.Logger.ErrorContext(r.Context(), "request cannot be made an event", "request", id, "error", err)
		message(w, http.StatusInternalServerError, "Internal Server Error")
		return
	}
	g.integrate(w, r, found, id, event)
}

// result is what came of an invocation.
type result struct {
	answer Answer
	err    error
}

// integrate runs the route's function and writes what it answers.
func (g *Gateway) integrate(w http.ResponseWriter, r *http.Request, found *route, id string, event []byte) {
	wait := integrationWait
	if found.Timeout > 0 && found.Timeout < wait {
		wait = found.Timeout
	}
	// The function goes on when the caller hangs up or the wait is over, as a
	// function on AWS does.
	done := make(chan result, 1)
	ctx := context.WithoutCancel(r.Context())
	go func() {
		answer, err := g.opt.Invoke(ctx, found.Function, event)
		done <- result{answer, err}
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case got := <-done:
		g.answer(ctx, w, found, id, got)
	case <-timer.C:
		g.opt.Logger.WarnContext(ctx, "integration timed out", "request", id, "function", found.Function, "wait", wait)
		message(w, http.StatusServiceUnavailable, "Service Unavailable")
	case <-r.Context().Done():
	}
}

// answer writes a function's answer or what stands for the lack of one.
func (g *Gateway) answer(ctx context.Context, w http.ResponseWriter, found *route, id string, got result) {
	switch {
	case errors.Is(got.err, ErrThrottled):
		message(w, http.StatusServiceUnavailable, "Service Unavailable")
	case got.err != nil || got.answer.Failed:
		g.opt.Logger.WarnContext(ctx, "function failed", "request", id, "function", found.Function, "error", got.err)
		message(w, http.StatusInternalServerError, "Internal Server Error")
	default:
		response, err := parseResponse(got.answer.Payload)
		if err != nil {
			g.opt.Logger.WarnContext(ctx, "function's answer is no response", "request", id, "function", found.Function, "error", err)
			message(w, http.StatusInternalServerError, "Internal Server Error")
			return
		}
		response.write(w, g.opt.API.CORS != nil)
	}
}

// message writes the gateway's own answers, which all have one member.
func message(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
}
