package e2e

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sealift/localstack/issuer"
)

// user is somebody with a token.
type user struct {
	w     *world
	token string
}

// user mints a token as the local issuer would.
func (w *world) user(t *testing.T, tenant, subject string, roles ...string) user {
	t.Helper()
	return user{w: w, token: w.mint(t, claims(w, tenant, subject, roles...))}
}

func claims(w *world, tenant, subject string, roles ...string) jwt.MapClaims {
	now := time.Now()
	return jwt.MapClaims{"iss": w.Endpoint + issuer.Path, "aud": "sealift", "sub": subject, "tenant": tenant, "roles": roles,
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix()}
}

func (w *world) key(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.Data, "issuer", "key.pem"))
	ok(t, err)
	block, _ := pem.Decode(text)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	ok(t, err)
	return parsed.(*rsa.PrivateKey)
}

func (w *world) mint(t *testing.T, body jwt.MapClaims) string {
	t.Helper()
	key := w.key(t)
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, body)
	token.Header["kid"] = issuer.Thumbprint(&key.PublicKey)
	signed, err := token.SignedString(key)
	ok(t, err)
	return signed
}

// operator may apply definitions.
func (w *world) operator(t *testing.T) user {
	t.Helper()
	return w.user(t, "operations", "operator", "sealift:operator")
}

// answer is what the API said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// object reads the body as one JSON object.
func (a answer) object(t *testing.T) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Fatalf("the answer %d is no JSON object: %q", a.status, a.body)
	}
	return body
}

// want fails the test unless the answer has one of the statuses.
func (a answer) want(t *testing.T, statuses ...int) answer {
	t.Helper()
	if !slices.Contains(statuses, a.status) {
		t.Fatalf("status %d, want %v: %s", a.status, statuses, a.body)
	}
	return a
}

// do asks the API; headers are names and values in turn.
func (u user) do(t *testing.T, method, path string, body []byte, headers ...string) answer {
	t.Helper()
	a, err := u.try(t, method, path, body, headers...)
	ok(t, err)
	return a
}

// try is do for a cloud that may be down.
func (u user) try(t *testing.T, method, path string, body []byte, headers ...string) (answer, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, u.w.API+path, bytes.NewReader(body))
	ok(t, err)
	if u.token != "" {
		request.Header.Set("Authorization", "Bearer "+u.token)
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	for {
		a, err := fetch(request)
		// Every test asks one gateway, whose stage has a limit on requests; that isn't what is proven here.
		if err != nil || a.status != http.StatusTooManyRequests || a.header.Get("Content-Type") == "application/problem+json" {
			return a, err
		}
		time.Sleep(pause)
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
}

func fetch(request *http.Request) (answer, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: text}, err
}

// ask is a request for an export.
type ask map[string]any

// with is the ask with one more field.
func (a ask) with(name string, value any) ask {
	more := ask{name: value}
	for n, v := range a {
		if n != name {
			more[n] = v
		}
	}
	return more
}

func (a ask) json(t *testing.T) []byte {
	t.Helper()
	text, err := json.Marshal(a)
	ok(t, err)
	return text
}

// post asks for an export under a key.
func (u user) post(t *testing.T, a ask, key string) answer {
	t.Helper()
	return u.do(t, http.MethodPost, "/v1/exports", a.json(t), "Idempotency-Key", strconv.Quote(key))
}

// create asks for an export that is granted, and returns its id.
func (u user) create(t *testing.T, a ask, key string) string {
	t.Helper()
	return u.post(t, a, key).want(t, http.StatusAccepted).object(t)["id"].(string)
}

// export is an export as the API shows it, as far as tests look at it.
type export struct {
	ID          string `json:"id"`
	State       string `json:"state"`
	RowsWritten int64  `json:"rows_written"`
	Shards      int    `json:"shards"`
	ShardsDone  int    `json:"shards_done"`
	File        struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
		Rows  int64  `json:"rows"`
	} `json:"file"`
	Failure struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
		Unit   string `json:"unit"`
	} `json:"failure"`
}

func (e export) over() bool {
	return slices.Contains([]string{"completed", "failed", "cancelled", "expired"}, e.State)
}

func (u user) show(t *testing.T, id string) export {
	t.Helper()
	var e export
	ok(t, json.Unmarshal(u.do(t, http.MethodGet, "/v1/exports/"+id, nil).want(t, http.StatusOK).body, &e))
	return e
}

// ended waits for an export's end.
func (u user) ended(t *testing.T, id string, within time.Duration) export {
	t.Helper()
	var e export
	await(t, within, "export "+id+" has not ended", func() (string, bool) {
		e = u.show(t, id)
		return e.State, e.over()
	})
	return e
}

// completed waits for an export's file.
func (u user) completed(t *testing.T, id string) export {
	t.Helper()
	e := u.ended(t, id, patience)
	if e.State != "completed" {
		t.Fatalf("export %s is %s: %s: %s", id, e.State, e.Failure.Code, e.Failure.Detail)
	}
	return e
}

func (u user) link(t *testing.T, id string) answer {
	t.Helper()
	return u.do(t, http.MethodPost, "/v1/exports/"+id+"/download-links", nil)
}

// download fetches an export's file through a link.
func (u user) download(t *testing.T, id string) []byte {
	t.Helper()
	link := u.link(t, id).want(t, http.StatusCreated).object(t)["url"].(string)
	return get(t, link).want(t, http.StatusOK).body
}

// get fetches a link, without any token.
func get(t *testing.T, link string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	ok(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	a, err := fetch(request)
	ok(t, err)
	return a
}

// define applies a definition.
func (w *world) define(t *testing.T, d map[string]any) {
	t.Helper()
	text, err := json.Marshal(d)
	ok(t, err)
	w.operator(t).do(t, http.MethodPut, "/v1/definitions/"+d["name"].(string), text).want(t, http.StatusOK)
}

// sealift runs the command line for the user and returns what it prints.
func (u user) sealift(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(u.w.root, "bin", "sealift"), args...)
	command.Env = append(os.Environ(), "SEALIFT_ENDPOINT="+u.w.API, "SEALIFT_TOKEN="+u.token)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("sealift %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return stdout.String()
}
