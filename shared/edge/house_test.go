package edge_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/goccy/go-yaml"
	_ "modernc.org/sqlite" // the writing side of the orders

	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
	"sealift/shared/source"
	"sealift/shared/source/sqldb"
)

// house is the whole service on simulated cloud parts and a real table of orders.
type house struct {
	t     *testing.T
	world *sim.World
	log   *lockedBuffer
	// table is the path of the orders; empty until the first job runs. They are every other one acme's and evil's.
	table  string
	orders int
	// sourceErr is what opening the source fails with.
	sourceErr error
	// dress, when it is there, changes what is opened.
	dress func(source.Source) source.Source
	// ledger is what create is given, when it is not the world's.
	ledger pipeline.Ledger
	// store is what readers and signers are given, when it is not the world's.
	store pipeline.Store
	// newID names the next job.
	newID func() string
	// shown are the messages that were made visible again at once, and showErr is what that fails with.
	shown   []string
	showErr error

	lock sync.Mutex
	// last is the event that was handed over last.
	last events.APIGatewayV2HTTPRequest
	// broken says that the test itself breaks the rules, so that violations are no news.
	broken bool
}

// contended is a ledger in which somebody else's create is always a moment ahead.
type contended struct{ pipeline.Ledger }

func (contended) Apply(_ context.Context, change job.Change) error {
	return &job.Refused{Change: change.Name(), Old: map[int]job.Fields{}}
}

func newHouse(t *testing.T, opt sim.Options) *house {
	t.Helper()
	if opt.PartBytesMin == 0 {
		opt.PartBytesMin = 1
	}
	h := &house{t: t, world: sim.New(opt), log: &lockedBuffer{}, orders: 2 * ordersOfAcme}
	h.ledger, h.store, h.newID = h.world.Ledger, h.world.Store, edge.NewJobID
	t.Cleanup(func() {
		for _, violation := range h.world.Violations() {
			if h.broken {
				continue
			}
			t.Errorf("violation: %s", violation)
		}
	})
	return h
}

// opened is a house in which the definition orders is applied.
func opened(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, sim.Options{})
	h.apply(ordersJSON(t))
	return h
}

func (h *house) apply(definition string) {
	h.t.Helper()
	h.must(http.StatusOK, h.ask(operator(), "PUT", "/v1/definitions/orders", withBody(definition)))
}

func (h *house) logger() *slog.Logger { return edge.Logger(h.log, slog.LevelDebug) }

func (h *house) creator() pipeline.Creator {
	return pipeline.Creator{Ledger: h.ledger, Queue: h.world.Queue, NewID: h.newID}
}

// apis are the functions' handlers, by the route that the template gives them.
func (h *house) api(route string) edge.API {
	claims := edge.Claims{Tenant: "tenant", Roles: "roles"}
	create := edge.CreateAPI(h.creator(), claims, h.logger())
	query := edge.QueryAPI(pipeline.Querier{Ledger: h.world.Ledger, Store: h.store, Seal: h.world.Seal}, claims, h.logger())
	cancel := edge.CancelAPI(pipeline.Canceller{Ledger: h.world.Ledger}, claims, h.logger())
	sign := edge.SignAPI(pipeline.Signer{Ledger: h.world.Ledger, Store: h.store, Keys: artifact.Keys{}, NewID: edge.NewJobID}, claims, h.logger())
	operate := edge.OperateAPI(pipeline.Operator{Ledger: h.world.Ledger}, claims, h.logger())
	return map[string]edge.API{
		"POST /v1/exports":                     create,
		"POST /v1/exports:validate":            create,
		"GET /v1/exports":                      query,
		"GET /v1/exports/{id}":                 query,
		"GET /v1/exports/{id}/receipt":         query,
		"GET /v1/exports/{id}/events":          query,
		"GET /v1/receipt-keys":                 query,
		"POST /v1/exports/{id}/cancel":         cancel,
		"POST /v1/exports/{id}/revoke":         cancel,
		"POST /v1/exports/{id}/download-links": sign,
		"GET /v1/definitions":                  operate,
		"GET /v1/definitions/{name}":           operate,
		"PUT /v1/definitions/{name}":           operate,
	}[route]
}

// person is whose token a request carries.
type person struct{ tenant, subject, roles string }

func ana() person      { return person{"acme", "ana@acme.example", "[]"} }
func bob() person      { return person{"acme", "bob@acme.example", "[]"} }
func chief() person    { return person{"acme", "chief@acme.example", "[sealift:tenant-exports]"} }
func eve() person      { return person{"evil", "eve@evil.example", "[sealift:tenant-exports finance pii]"} }
func operator() person { return person{"ops", "ops@example.com", "[sealift:operator]"} }

type option func(*events.APIGatewayV2HTTPRequest)

func withBody(body string) option {
	return func(e *events.APIGatewayV2HTTPRequest) { e.Body = body }
}

// withBytes sends the body as the gateway passes what is not text.
func withBytes(body []byte) option {
	return func(e *events.APIGatewayV2HTTPRequest) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
}

func withHeader(name, value string) option {
	return func(e *events.APIGatewayV2HTTPRequest) { e.Headers[name] = value }
}

func withKey(key string) option { return withHeader("idempotency-key", `"`+key+`"`) }

// gatewayEvent is the request as the gateway hands it over: the route it matched, its parameters and the token's claims.
func gatewayEvent(who person, method, target string, options ...option) events.APIGatewayV2HTTPRequest {
	path, query, _ := strings.Cut(target, "?")
	event := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: path, RawQueryString: query,
		Headers:        map[string]string{"content-type": "application/json", "host": "api.example.com"},
		PathParameters: map[string]string{}, QueryStringParameters: map[string]string{},
	}
	event.RouteKey = method + " " + route(path, event.PathParameters)
	values, _ := url.ParseQuery(query)
	for name, all := range values {
		event.QueryStringParameters[name] = strings.Join(all, ",")
	}
	event.RequestContext.RequestID = "JKJaXmPLvHcESHA="
	event.RequestContext.RouteKey, event.RequestContext.HTTP.Method, event.RequestContext.HTTP.Path = event.RouteKey, method, path
	claims := map[string]string{"sub": who.subject, "tenant": who.tenant, "roles": who.roles}
	for name, value := range claims {
		if value == "" {
			delete(claims, name)
		}
	}
	event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: claims},
	}
	for _, set := range options {
		set(&event)
	}
	return event
}

// route is the path with its parameter replaced by its name, as in the template.
func route(path string, parameters map[string]string) string {
	segments := strings.Split(path, "/")
	if len(segments) > 3 {
		name := map[string]string{"exports": "id", "definitions": "name"}[segments[2]]
		parameters[name], _ = url.PathUnescape(segments[3])
		segments[3] = "{" + name + "}"
	}
	return strings.Join(segments, "/")
}

// ask makes a request and holds its answer to the API's description.
func (h *house) ask(who person, method, target string, options ...option) events.APIGatewayV2HTTPResponse {
	h.t.Helper()
	return h.hand(gatewayEvent(who, method, target, options...))
}

// hand gives one event of the gateway to the function of its route.
func (h *house) hand(event events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	h.t.Helper()
	handle := h.api(event.RouteKey)
	if handle == nil {
		h.t.Fatalf("no function has the route %q", event.RouteKey)
	}
	answer, err := handle(h.t.Context(), event)
	if err != nil {
		h.t.Fatalf("%s: the handler failed: %v", event.RouteKey, err)
	}
	describes(h.t, event, answer)
	h.lock.Lock()
	h.last = event
	h.lock.Unlock()
	return answer
}

func (h *house) must(status int, answer events.APIGatewayV2HTTPResponse) map[string]any {
	h.t.Helper()
	if answer.StatusCode != status {
		h.t.Fatalf("got %d %s, want %d", answer.StatusCode, answer.Body, status)
	}
	return object(h.t, answer.Body)
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	var found map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&found); err != nil {
		t.Fatalf("the body is not a JSON object: %v\n%s", err, text)
	}
	return found
}

// created asks for an export and returns its identifier.
func (h *house) created(who person, options ...option) string {
	h.t.Helper()
	answer := h.ask(who, "POST", "/v1/exports", append([]option{withBody(march)}, options...)...)
	return h.must(http.StatusAccepted, answer)["id"].(string)
}

// march is a request for every order of a month.
const march = `{"definition": "orders", "purpose": "settlement", "span": {"from": "2026-03-01T00:00:00Z", "to": "2026-04-01T00:00:00Z"}}`

// run delivers messages until none is ready.
func (h *house) run() {
	h.t.Helper()
	const most = 10_000
	for range most {
		ready := h.world.Queue.Ready()
		if len(ready) == 0 {
			return
		}
		message, _ := h.world.Queue.Take(ready[0].Number)
		if err := h.deliver(h.t.Context(), message.Pointer); err != nil {
			h.t.Fatalf("unit %s: %v", message.Pointer.Unit, err)
		}
	}
	h.t.Fatal("the messages do not end")
}

// deliver wakes the function that a pointer is for.
func (h *house) deliver(ctx context.Context, pointer job.Pointer) error {
	worker := edge.Worker(h.world.Ledger, h.world.Queue, h.logger())
	switch pointer.Unit {
	case job.PlanID:
		return pipeline.Planner{Worker: worker, Sources: h}.Plan(ctx, pointer)
	case job.FinalizeID:
		return pipeline.Finalizer{Worker: worker, Store: h.world.Store, Keys: artifact.Keys{}, Seal: h.world.Seal, NewRandom: edge.NewToken}.Finalize(ctx, pointer)
	}
	return pipeline.Processor{Worker: worker, Sources: h, Store: h.world.Store, Keys: artifact.Keys{}}.Process(ctx, pointer)
}

// showAgain notes that a message was made visible again at once.
func (h *house) showAgain(_ context.Context, message events.SQSMessage) error {
	h.shown = append(h.shown, message.MessageId)
	return h.showErr
}

// completed asks for an export and runs it to its end.
func (h *house) completed(who person, options ...option) string {
	h.t.Helper()
	id := h.created(who, options...)
	h.run()
	if state := h.must(http.StatusOK, h.ask(who, "GET", "/v1/exports/"+id))["state"]; state != "completed" {
		h.t.Fatalf("the export is %v\n%s", state, h.log.String())
	}
	return id
}

// Open makes the orders when they are first needed.
func (h *house) Open(ctx context.Context, _ string) (source.Source, error) {
	if h.sourceErr != nil {
		return nil, h.sourceErr
	}
	if h.table == "" {
		h.table = filepath.Join(h.t.TempDir(), "orders.db")
		writeOrders(h.t, h.table, h.orders)
	}
	opened, err := sqldb.Open(ctx, "sqlite://"+h.table)
	if err == nil && h.dress != nil {
		opened = h.dress(opened)
	}
	return opened, err
}

// ordersOfAcme is how many orders of March the tenant acme has, where a test doesn't say more; evil has as many.
const ordersOfAcme = 120

func writeOrders(t *testing.T, path string, count int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	statements := []string{
		`CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, order_no TEXT NOT NULL, placed_at TEXT NOT NULL,
			status TEXT NOT NULL, customer TEXT NOT NULL, email TEXT NOT NULL, country TEXT NOT NULL, currency TEXT NOT NULL, amount TEXT NOT NULL,
			items INTEGER NOT NULL, gift INTEGER NOT NULL, shipped_at TEXT, note TEXT, cost TEXT NOT NULL) STRICT`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ` + strconv.Itoa(count) + `)
			INSERT INTO orders SELECT i, iif(i%2=0, 'acme', 'evil'), printf('%010d', i), strftime('%Y-%m-%dT%H:%M:%S', '2026-03-01', '+' || i || ' minutes') || '.000000Z',
			'paid', '李娜', 'customer@example.com', 'CN', 'CNY', '12.50', 1, i%3=0, NULL, '=1+1', '6.2500' FROM n`,
		`CREATE INDEX orders_by_time ON orders (tenant_id, placed_at, id)`,
		`ANALYZE`,
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// root is the repository.
const root = "../.."

// ordersJSON is the shipped definition as the API takes it.
func ordersJSON(t *testing.T) string {
	t.Helper()
	text, err := yaml.YAMLToJSON(mustRead(t, "infra/definitions/orders.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// lockedBuffer gathers log lines of handlers that run at once.
type lockedBuffer struct {
	lock  sync.Mutex
	lines bytes.Buffer
}

func (b *lockedBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.lines.String()
}

func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.lines.Write(line)
}
