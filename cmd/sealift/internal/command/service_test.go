package command_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/golang-jwt/jwt/v5"
	_ "modernc.org/sqlite" // the driver of the tests' source

	"sealift/cmd/sealift/internal/command"
	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
	"sealift/shared/source"
	"sealift/shared/source/sqldb"
)

// orders is how many orders the tests' tenant has.
const orders = 2500

// service is a deployment on one machine: the real handlers over the simulated cloud, a real SQLite source, and HTTP in
// front of both the API and the store. Time stands still but while the command line waits.
type service struct {
	t      *testing.T
	dir    string
	world  *sim.World
	api    *httptest.Server
	store  *httptest.Server
	wakers map[string]func(context.Context, job.Pointer) error

	mu sync.Mutex
	// gate may answer a request of the API instead of the handlers; it says whether it did.
	gate func(w http.ResponseWriter, r *http.Request) bool
	// shelf may change how the store answers; it says whether it did.
	shelf func(w http.ResponseWriter, r *http.Request, data []byte) bool
	// onWait is called at every wait of the command line.
	onWait func()
	waits  int
	asked  []string
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, dir: t.TempDir(), world: sim.New(sim.Options{})}
	s.makeKey()
	s.makeSource()
	s.store = httptest.NewServer(http.HandlerFunc(s.serveStore))
	t.Cleanup(s.store.Close)
	s.api = httptest.NewServer(s.routes())
	t.Cleanup(s.api.Close)
	return s
}

func (s *service) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) path(name string) string { return filepath.Join(s.dir, name) }

func (s *service) makeKey() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	s.must(err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	s.must(err)
	s.must(os.WriteFile(s.path("key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
}

func (s *service) makeSource() {
	db, err := sql.Open("sqlite", s.path("shop.db"))
	s.must(err)
	defer func() { s.must(db.Close()) }()
	_, err = db.Exec(`CREATE TABLE orders (
		tenant_id TEXT NOT NULL, placed_at TEXT NOT NULL, id INTEGER NOT NULL, status TEXT, amount TEXT, gift BOOLEAN, note TEXT,
		PRIMARY KEY (tenant_id, placed_at, id)) WITHOUT ROWID`)
	s.must(err)
	tx, err := db.Begin()
	s.must(err)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range orders {
		var note any
		if i%3 == 0 {
			note = "line one\nline \"two\", 名字 " + strconv.Itoa(i)
		}
		if i == 1 || i == 4 {
			note = "=1+2"
		}
		status := []string{"paid", "sent", "back"}[i%3]
		_, err := tx.Exec(`INSERT INTO orders VALUES ('acme', ?, ?, ?, ?, ?, ?)`,
			start.Add(time.Duration(i)*time.Minute).Format("2006-01-02T15:04:05Z"), i+1, status, fmt.Sprintf("%d.50", i), i%2 == 0, note)
		s.must(err)
	}
	s.must(tx.Commit())
}

// Open opens the one source there is.
func (s *service) Open(ctx context.Context, _ string) (source.Source, error) {
	return sqldb.Open(ctx, "sqlite://"+s.path("shop.db"))
}

// linking is the simulated store with links that an HTTP client can follow.
type linking struct {
	*sim.Store
	service *service
}

func (l linking) Sign(ctx context.Context, link pipeline.Link) (string, time.Time, error) {
	address, expires, err := l.Store.Sign(ctx, link)
	return l.service.store.URL + "/secret-link?to=" + url.QueryEscape(address), expires, err
}

func (s *service) serveStore(w http.ResponseWriter, r *http.Request) {
	data, err := s.world.Store.Fetch(r.URL.Query().Get("to"))
	if err != nil {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<Error><Code>AccessDenied</Code><Message>%s</Message></Error>", r.URL)
		return
	}
	s.mu.Lock()
	shelf := s.shelf
	s.mu.Unlock()
	if shelf != nil && shelf(w, r, data) {
		return
	}
	serveBytes(w, r, data)
}

func serveBytes(w http.ResponseWriter, r *http.Request, data []byte) {
	w.Header().Set("ETag", `"stored-`+strconv.Itoa(len(data))+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (s *service) routes() http.Handler {
	log := slog.New(slog.DiscardHandler)
	store, claims := linking{s.world.Store, s}, edge.Claims{Tenant: "tenant", Roles: "roles"}
	worker := edge.Worker(s.world.Ledger, s.world.Queue, log)
	s.wakers = map[string]func(context.Context, job.Pointer) error{
		job.PlanID:     pipeline.Planner{Worker: worker, Sources: s}.Plan,
		job.FinalizeID: pipeline.Finalizer{Worker: worker, Store: store, Keys: artifact.Keys{}, Seal: s.world.Seal, NewRandom: edge.NewOwner}.Finalize,
		"":             pipeline.Processor{Worker: worker, Sources: s, Store: store, Keys: artifact.Keys{}}.Process,
	}
	create := edge.CreateAPI(pipeline.Creator{Ledger: s.world.Ledger, Queue: s.world.Queue, NewID: edge.NewJobID}, claims, log)
	query := edge.QueryAPI(pipeline.Querier{Ledger: s.world.Ledger, Store: store, Seal: s.world.Seal}, claims, log)
	cancel := edge.CancelAPI(pipeline.Canceller{Ledger: s.world.Ledger}, claims, log)
	sign := edge.SignAPI(pipeline.Signer{Ledger: s.world.Ledger, Store: store, Keys: artifact.Keys{}, NewID: edge.NewJobID}, claims, log)
	operate := edge.OperateAPI(pipeline.Operator{Ledger: s.world.Ledger}, claims, log)
	mux := http.NewServeMux()
	for route, handle := range map[string]edge.API{
		"POST /v1/exports": create, "POST /v1/exports:validate": create,
		"GET /v1/exports": query, "GET /v1/exports/{id}": query, "GET /v1/exports/{id}/receipt": query, "GET /v1/exports/{id}/events": query,
		"GET /v1/receipt-keys":         query,
		"POST /v1/exports/{id}/cancel": cancel, "POST /v1/exports/{id}/revoke": cancel, "POST /v1/exports/{id}/download-links": sign,
		"PUT /v1/definitions/{name}": operate, "GET /v1/definitions/{name}": operate, "GET /v1/definitions": operate,
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, route, handle) })
	}
	return mux
}

// serveAPI does what the gateway does: check the token, make the payload, write the answer.
func (s *service) serveAPI(w http.ResponseWriter, r *http.Request, route string, handle edge.API) {
	s.mu.Lock()
	gate := s.gate
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	if gate != nil && gate(w, r) {
		return
	}
	claims, err := s.verify(r)
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Www-Authenticate", "Bearer")
		if r.Header.Get("Authorization") != "" {
			w.Header().Set("Www-Authenticate", `Bearer scope="" error="invalid_token" error_description="`+err.Error()+`"`)
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"message":"Unauthorized"}`))
		return
	}
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	event := events.APIGatewayV2HTTPRequest{
		RouteKey: route, RawPath: r.URL.Path, Headers: map[string]string{}, Body: body.String(),
		QueryStringParameters: map[string]string{}, PathParameters: map[string]string{"id": r.PathValue("id"), "name": r.PathValue("name")},
	}
	for name, values := range r.Header {
		event.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	for name, values := range r.URL.Query() {
		event.QueryStringParameters[name] = strings.Join(values, ",")
	}
	event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims},
	}
	answer, err := handle(r.Context(), event)
	if err != nil {
		http.Error(w, `{"message":"Internal Server Error"}`, http.StatusInternalServerError)
		return
	}
	for name, value := range answer.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write([]byte(answer.Body))
}

func (s *service) verify(r *http.Request) (map[string]string, error) {
	pemText, err := os.ReadFile(s.path("key.pem"))
	if err != nil {
		return nil, err
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(pemText)
	if err != nil {
		return nil, err
	}
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), claims,
		func(*jwt.Token) (any, error) { return &key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(s.world.Clock.Now), jwt.WithIssuer("http://127.0.0.1:4566/_issuer"), jwt.WithAudience("sealift"))
	if errors.Is(err, jwt.ErrTokenExpired) {
		return nil, errors.New("the token has expired")
	}
	if err != nil {
		return nil, errors.New("the token is invalid")
	}
	text := map[string]string{}
	for name, value := range claims {
		text[name] = fmt.Sprint(value)
	}
	return text, nil
}

// pump delivers one message that is due; it says whether there was one.
func (s *service) pump() bool {
	ready := s.world.Queue.Ready()
	if len(ready) == 0 {
		return false
	}
	message, ok := s.world.Queue.Take(ready[0].Number)
	if !ok {
		return false
	}
	wake := s.wakers[message.Pointer.Unit]
	if wake == nil {
		wake = s.wakers[""]
	}
	if err := wake(context.Background(), message.Pointer); err != nil {
		s.t.Logf("%s: %v", message.Pointer.Unit, err)
	}
	return true
}

// wait is the command line's pause: time goes on, and one function runs.
func (s *service) wait(ctx context.Context, pause time.Duration) error {
	s.mu.Lock()
	s.waits++
	hook := s.onWait
	s.mu.Unlock()
	s.world.Clock.Advance(pause)
	s.pump()
	if hook != nil {
		hook()
	}
	return context.Cause(ctx)
}

// ran is what one run of the command line left.
type ran struct {
	code   int
	stdout string
	stderr string
}

// caller is who runs the command line, and how.
type caller struct {
	service  *service
	token    string
	endpoint string
	width    int
	stdin    string
	env      map[string]string
}

func (s *service) as(subject string, roles ...string) caller {
	s.t.Helper()
	return caller{service: s, endpoint: s.api.URL, token: s.token("acme", subject, roles...)}
}

func (s *service) token(tenant, subject string, roles ...string) string {
	s.t.Helper()
	args := []string{"token", "--tenant", tenant, "--subject", subject, "--issuer-key", s.path("key.pem"), "--ttl", "24h"}
	for _, role := range roles {
		args = append(args, "--role", role)
	}
	got := caller{service: s}.run(args...)
	if got.code != 0 {
		s.t.Fatalf("token: %+v", got)
	}
	return strings.TrimSpace(got.stdout)
}

func (c caller) run(args ...string) ran { return c.runContext(c.service.t.Context(), args...) }

func (c caller) runContext(ctx context.Context, args ...string) ran {
	env := map[string]string{"SEALIFT_ENDPOINT": c.endpoint, "SEALIFT_TOKEN": c.token}
	for name, value := range c.env {
		env[name] = value
	}
	var stdout, stderr bytes.Buffer
	code := command.Run(ctx, command.System{
		Args: args, Stdin: strings.NewReader(c.stdin), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return env[name] }, Now: c.service.world.Clock.Now, Wait: c.service.wait,
		NewID: rand.Text, Width: func() int { return c.width }, Version: "test",
	})
	return ran{code, stdout.String(), stderr.String()}
}

// ok runs a command that must succeed.
func (c caller) ok(args ...string) ran {
	c.service.t.Helper()
	got := c.run(args...)
	if got.code != 0 {
		c.service.t.Fatalf("sealift %s: exit %d\n%s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	}
	return got
}

// withOrders is a service with the definition applied and a user.
func withOrders(t *testing.T) (*service, caller) {
	t.Helper()
	s := newService(t)
	s.as("ops", "sealift:operator").ok("definitions", "apply", "testdata/orders.yaml")
	return s, s.as("ana")
}

// ask are the words of an export of everything.
func ask(more ...string) []string {
	return append([]string{"export", "create", "--definition", "orders", "--purpose", "test", "--from", "2026-01-01"}, more...)
}

func linkTo(key string, s *service) pipeline.Link {
	return pipeline.Link{Key: key, FileName: "x", ContentType: "text/csv", Lifetime: time.Minute, Now: s.world.Clock.Now()}
}
