package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"sealift/localstack/issuer"
	"sealift/localstack/template"
)

// noon is the time of all tests.
var noon = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

// bench is a gateway with an issuer of its own and one function that the test
// writes.
type bench struct {
	url    string
	issuer string
	key    *rsa.PrivateKey
	kid    string
}

type invoke func(ctx context.Context, function string, payload []byte) (Answer, error)

func start(t *testing.T, change func(*template.API), run invoke) bench {
	t.Helper()
	b := bench{}
	var err error
	if b.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	b.kid = issuer.Thumbprint(&b.key.PublicKey)
	mux := http.NewServeMux()
	keys := httptest.NewServer(mux)
	t.Cleanup(keys.Close)
	b.issuer = keys.URL
	n, e := jwk(&b.key.PublicKey)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": keys.URL, "jwks_uri": keys.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{"kty": "RSA", "kid": b.kid, "alg": "RS256", "n": n, "e": e}}})
	})
	api := template.API{
		Authorizers: map[string]template.JWT{"Token": {Issuer: keys.URL, Audience: []string{"sealift"}, IdentitySource: "$request.header.Authorization"}},
		Routes: []template.Route{
			{Method: "POST", Path: "/v1/exports", Function: "create", Authorizer: "Token"},
			{Method: "POST", Path: "/v1/exports:validate", Function: "validate"},
			{Method: "GET", Path: "/v1/exports/{id}", Function: "query"},
			{Method: "GET", Path: "/v1/exports/latest", Function: "latest"},
			{Method: "ANY", Path: "/v1/files/{path+}", Function: "files"},
			{Method: "PUT", Path: "/v1/admin", Function: "admin", Authorizer: "Token", Scopes: []string{"admin"}},
		},
	}
	if change != nil {
		change(&api)
	}
	g, err := New(Options{API: api, AccountID: "000000000000", Invoke: run, Keys: keys.Client(), Now: func() time.Time { return noon },
		NewID: func() string { return "11111111-2222-3333-4444-555555555555" }, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	b.url = srv.URL
	return b
}

func jwk(key *rsa.PublicKey) (n, e string) {
	return base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "AQAB"
}

func (b bench) token(t *testing.T, change func(jwt.MapClaims), header ...string) string {
	t.Helper()
	claims := jwt.MapClaims{"iss": b.issuer, "aud": "sealift", "sub": "ada", "exp": noon.Add(time.Hour).Unix(), "iat": noon.Unix(), "nbf": noon.Unix()}
	if change != nil {
		change(claims)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = b.kid
	for i := 0; i+1 < len(header); i += 2 {
		token.Header[header[i]] = header[i+1]
	}
	signed, err := token.SignedString(b.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// echo answers with the name of the function that was reached.
func echo(_ context.Context, function string, _ []byte) (Answer, error) {
	payload, err := json.Marshal(map[string]any{"statusCode": 200, "body": function})
	return Answer{Payload: payload}, err
}

// reply is what a test looks at of a response besides its body.
type reply struct {
	StatusCode int
	Header     http.Header
}

func do(t *testing.T, method, url string, header map[string]string, body []byte) (reply, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header}, strings.TrimSpace(string(text))
}

func TestTheMostSpecificRouteWins(t *testing.T) {
	t.Parallel()
	b := start(t, nil, echo)
	for _, c := range []struct {
		method, path, want string
		status             int
	}{
		{"GET", "/v1/exports/latest", "latest", 200},
		{"GET", "/v1/exports/abc", "query", 200},
		{"GET", "/v1/exports/a%2Fb", "query", 200},
		{"POST", "/v1/exports:validate", "validate", 200},
		{"DELETE", "/v1/files/a/b/c", "files", 200},
		{"GET", "/v1/files/", `{"message":"Not Found"}`, 404},
		{"GET", "/v1/exports/", `{"message":"Not Found"}`, 404},
		{"GET", "/v1/exports/abc/", `{"message":"Not Found"}`, 404},
		{"DELETE", "/v1/exports/abc", `{"message":"Not Found"}`, 404},
		{"GET", "/", `{"message":"Not Found"}`, 404},
	} {
		res, body := do(t, c.method, b.url+c.path, nil, nil)
		if res.StatusCode != c.status || body != c.want {
			t.Errorf("%s %s: got %d %s, want %d %s", c.method, c.path, res.StatusCode, body, c.status, c.want)
		}
	}
}

func TestARequestBecomesAPayloadOfFormat2(t *testing.T) {
	t.Parallel()
	var got event
	b := start(t, nil, func(_ context.Context, _ string, payload []byte) (Answer, error) {
		return Answer{Payload: []byte("null")}, json.Unmarshal(payload, &got)
	})
	do(t, "GET", b.url+"/v1/exports/a%2Fb%20c?x=1&y=%E8%AE%A2&x=2&flag&plus=a+b", map[string]string{
		"Cookie": "a=1; b=2", "X-Thing": "One", "User-Agent": "test/1", "Idempotency-Key": `"k"`,
	}, nil)
	host := strings.TrimPrefix(b.url, "http://")
	_, port, _ := strings.Cut(host, ":")
	want := event{
		Version: "2.0", RouteKey: "GET /v1/exports/{id}", RawPath: "/v1/exports/a/b c", RawQueryString: "x=1&y=%E8%AE%A2&x=2&flag&plus=a+b",
		Cookies: []string{"a=1", "b=2"},
		Headers: map[string]string{"host": host, "x-thing": "One", "user-agent": "test/1", "idempotency-key": `"k"`, "accept-encoding": "gzip",
			"x-forwarded-for": "127.0.0.1", "x-forwarded-port": port, "x-forwarded-proto": "http", "x-amzn-trace-id": "Root=1-69c91440-111111112222333344445555"},
		QueryStringParameters: map[string]string{"x": "1,2", "y": "订", "flag": "", "plus": "a b"},
		PathParameters:        map[string]string{"id": "a/b c"},
		RequestContext: requestContext{
			AccountID: "000000000000", APIID: apiID, DomainName: "127.0.0.1", DomainPrefix: "127", RequestID: "11111111-2222-3333-4444-555555555555",
			HTTP:     httpContext{Method: "GET", Path: "/v1/exports/a/b c", Protocol: "HTTP/1.1", SourceIP: "127.0.0.1", UserAgent: "test/1"},
			RouteKey: "GET /v1/exports/{id}", Stage: "$default", Time: "29/Mar/2026:12:00:00 +0000", TimeEpoch: noon.UnixMilli(),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
}

func TestBodiesAreTextOrBase64(t *testing.T) {
	t.Parallel()
	var got event
	b := start(t, nil, func(_ context.Context, _ string, payload []byte) (Answer, error) {
		got = event{}
		return Answer{Payload: []byte("null")}, json.Unmarshal(payload, &got)
	})
	for _, c := range []struct {
		name, kind, encoding string
		body                 []byte
		want                 string
		binary               bool
	}{
		{"JSON", "application/json; charset=utf-8", "", []byte(`{"a":"é"}`), `{"a":"é"}`, false},
		{"problem JSON", "application/problem+json", "", []byte(`{}`), `{}`, false},
		{"text", "text/csv", "", []byte("a,b"), "a,b", false},
		{"no type", "", "", []byte("hello"), "hello", false},
		{"form", "application/x-www-form-urlencoded", "", []byte("a=1"), "YT0x", true},
		{"bytes", "application/octet-stream", "", []byte{0, 1}, "AAE=", true},
		{"compressed JSON", "application/json", "gzip", []byte("x"), "eA==", true},
		{"JSON that is no UTF-8", "application/json", "", []byte{0xff}, "/w==", true},
		{"nothing", "application/json", "", nil, "", false},
	} {
		header := map[string]string{}
		if c.kind != "" {
			header["Content-Type"] = c.kind
		}
		if c.encoding != "" {
			header["Content-Encoding"] = c.encoding
		}
		do(t, "POST", b.url+"/v1/exports:validate", header, c.body)
		if got.Body != c.want || got.IsBase64Encoded != c.binary {
			t.Errorf("%s: got %q %v, want %q %v", c.name, got.Body, got.IsBase64Encoded, c.want, c.binary)
		}
	}
}

func TestAnswersBecomeResponses(t *testing.T) {
	t.Parallel()
	var answer string
	b := start(t, nil, func(context.Context, string, []byte) (Answer, error) { return Answer{Payload: []byte(answer)}, nil })
	for _, c := range []struct {
		name, answer string
		status       int
		kind, body   string
	}{
		{"full", `{"statusCode":202,"headers":{"Content-Type":"application/json","Location":"/x"},"body":"{}"}`, 202, "application/json", "{}"},
		{"no content type", `{"statusCode":200,"body":"hi"}`, 200, "text/plain;charset=utf-8", "hi"},
		{"base64", `{"statusCode":200,"headers":{"content-type":"x/y"},"body":"AAE=","isBase64Encoded":true}`, 200, "x/y", "\x00\x01"},
		{"not modified", `{"statusCode":304,"headers":{"etag":"\"1\""},"body":""}`, 304, "", ""},
		{"number as header", `{"statusCode":200,"headers":{"content-type":"a/b","retry-after":5},"body":""}`, 200, "a/b", ""},
		{"object", `{"a":1}`, 200, "application/json", `{"a":1}`},
		{"string", `"hello"`, 200, "application/json", "hello"},
		{"null", `null`, 200, "application/json", "null"},
		{"no JSON", `oops`, 500, "application/json", `{"message":"Internal Server Error"}`},
		{"status out of range", `{"statusCode":42}`, 500, "application/json", `{"message":"Internal Server Error"}`},
		{"body that is no text", `{"statusCode":200,"body":{"a":1}}`, 500, "application/json", `{"message":"Internal Server Error"}`},
		{"base64 that is none", `{"statusCode":200,"body":"%","isBase64Encoded":true}`, 500, "application/json", `{"message":"Internal Server Error"}`},
	} {
		answer = c.answer
		res, body := do(t, "GET", b.url+"/v1/exports/x", nil, nil)
		if res.StatusCode != c.status || res.Header.Get("Content-Type") != c.kind || body != c.body {
			t.Errorf("%s: got %d %q %q, want %d %q %q", c.name, res.StatusCode, res.Header.Get("Content-Type"), body, c.status, c.kind, c.body)
		}
		if res.Header.Get("Apigw-Requestid") == "" {
			t.Errorf("%s: no request id", c.name)
		}
	}
	answer = `{"statusCode":200,"cookies":["a=1; Path=/","b=2"],"body":""}`
	res, _ := do(t, "GET", b.url+"/v1/exports/x", nil, nil)
	if diff := cmp.Diff([]string{"a=1; Path=/", "b=2"}, res.Header.Values("Set-Cookie")); diff != "" {
		t.Errorf("cookies (-want +got):\n%s", diff)
	}
}

func TestFailuresHaveTheGatewaysOwnAnswers(t *testing.T) {
	t.Parallel()
	slow := func(api *template.API) { api.Routes[2].Timeout = 50 * time.Millisecond }
	for _, c := range []struct {
		name   string
		run    invoke
		status int
		body   string
	}{
		{"error of the function", func(context.Context, string, []byte) (Answer, error) {
			return Answer{Payload: []byte(`{"errorMessage":"x"}`), Failed: true}, nil
		}, 500, `{"message":"Internal Server Error"}`},
		{"no invocation", func(context.Context, string, []byte) (Answer, error) { return Answer{}, errors.New("x") }, 500, `{"message":"Internal Server Error"}`},
		{"throttled", func(context.Context, string, []byte) (Answer, error) { return Answer{}, ErrThrottled }, 503, `{"message":"Service Unavailable"}`},
		{"too slow", func(ctx context.Context, _ string, _ []byte) (Answer, error) {
			time.Sleep(300 * time.Millisecond)
			return Answer{}, ctx.Err()
		}, 503, `{"message":"Service Unavailable"}`},
	} {
		b := start(t, slow, c.run)
		res, body := do(t, "GET", b.url+"/v1/exports/x", nil, nil)
		if res.StatusCode != c.status || body != c.body {
			t.Errorf("%s: got %d %s, want %d %s", c.name, res.StatusCode, body, c.status, c.body)
		}
	}
}

func TestABodyOver10MegabytesIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, nil, echo)
	res, body := do(t, "POST", b.url+"/v1/exports:validate", nil, make([]byte, bodyBytesMax+1))
	if res.StatusCode != http.StatusRequestEntityTooLarge || body != `{"message":"Request Entity Too Large"}` {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
	res, _ = do(t, "POST", b.url+"/v1/exports:validate", nil, make([]byte, bodyBytesMax))
	if res.StatusCode != http.StatusOK {
		t.Errorf("exactly 10 MB: got %d", res.StatusCode)
	}
}

func TestRequestsOverTheRateAreRefused(t *testing.T) {
	t.Parallel()
	b := start(t, func(api *template.API) { api.RateLimit, api.BurstLimit = 1, 2 }, echo)
	var statuses []int
	for range 3 {
		res, _ := do(t, "GET", b.url+"/v1/exports/x", nil, nil)
		statuses = append(statuses, res.StatusCode)
	}
	if diff := cmp.Diff([]int{200, 200, 429}, statuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}
