package endpoint

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sealift/localstack/fault"
	"sealift/localstack/role"
	"sealift/localstack/template"
)

// named answers with the service's name, or 404 for a path that ends in "missing".
func named(name role.Service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "missing") {
			w.Header().Set("Content-Length", "2")
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, string(name))
	})
}

func start(t *testing.T) string {
	t.Helper()
	stack := &template.Stack{Region: "us-east-1", AccountID: "000000000000", Functions: []template.Function{
		{Name: "reads", Policies: []template.Statement{{Effect: "Allow", Actions: []string{"s3:GetObject"}, Resources: []string{"arn:aws:s3:::b/*"}}}},
		{Name: "lists", Policies: []template.Statement{{Effect: "Allow", Actions: []string{"s3:GetObject", "s3:ListBucket"}, Resources: []string{"arn:aws:s3:::b/*", "arn:aws:s3:::b"}}}},
	}}
	policies, err := role.NewPolicies(stack)
	if err != nil {
		t.Fatal(err)
	}
	engines := map[role.Service]http.Handler{}
	for _, s := range []role.Service{role.DynamoDB, role.SQS, role.S3, role.Scheduler, role.Events, role.Secrets, role.KMS, role.Lambda} {
		engines[s] = named(s)
	}
	id := func() string { return "request-1" }
	srv := httptest.NewServer(New(Options{
		Place: role.Place{Region: "us-east-1", AccountID: "000000000000"}, Policies: policies, Engines: engines, Issuer: named("issuer"),
		Faults:    fault.New(fault.Options{Kill: func(string, string) bool { return false }, NewID: id, Clocks: fault.NewClocks(time.Now)}),
		Functions: func() any { return []string{"figures"} }, Ready: func() bool { return true }, NewID: id, Logger: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func ask(t *testing.T, method, url string, header map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
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
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func signed(service string) string {
	return "AWS4-HMAC-SHA256 Credential=test/20261129/us-east-1/" + service + "/aws4_request, SignedHeaders=host, Signature=0"
}

func TestEachRequestReachesItsService(t *testing.T) {
	t.Parallel()
	url := start(t)
	for _, c := range []struct {
		name, method, path string
		header             map[string]string
		want               string
	}{
		{"DynamoDB by target", "POST", "/", map[string]string{"X-Amz-Target": "DynamoDB_20120810.GetItem"}, "dynamodb"},
		{"SQS by target", "POST", "/000000000000/plan", map[string]string{"X-Amz-Target": "AmazonSQS.SendMessage"}, "sqs"},
		{"Secrets Manager by target", "POST", "/", map[string]string{"X-Amz-Target": "secretsmanager.GetSecretValue"}, "secretsmanager"},
		{"KMS by target", "POST", "/", map[string]string{"X-Amz-Target": "TrentService.Sign"}, "kms"},
		{"EventBridge by target", "POST", "/", map[string]string{"X-Amz-Target": "AWSEvents.PutEvents"}, "events"},
		{"Scheduler by scope", "POST", "/schedules/x", map[string]string{"Authorization": signed("scheduler")}, "scheduler"},
		{"Lambda by path", "GET", "/2015-03-31/functions", nil, "lambda"},
		{"S3 by scope", "GET", "/schedules/x", map[string]string{"Authorization": signed("s3")}, "s3"},
		{"S3 by default", "GET", "/bucket/key", nil, "s3"},
		{"issuer", "GET", "/_issuer/.well-known/jwks.json", nil, "issuer"},
		{"functions", "GET", "/_localstack/functions", nil, `["figures"]`},
		{"health", "GET", "/_localstack/health", nil, `"ready":true`},
		{"faults", "GET", "/_localstack/faults", nil, "[]"},
	} {
		status, body := ask(t, c.method, url+c.path, c.header)
		if status != http.StatusOK || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d %s, want %s", c.name, status, body, c.want)
		}
	}
	for _, c := range []struct {
		path, target string
		status       int
		want         string
	}{
		{"/_localstack/nothing", "", 404, "is none of"},
		{"/", "AmazonSSM.GetParameter", 400, "UnknownOperationException"},
	} {
		if status, body := ask(t, "POST", url+c.path, map[string]string{"X-Amz-Target": c.target}); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: got %d %s", c.path, c.target, status, body)
		}
	}
}

func TestAMissingObjectIsToldOnlyToThoseThatMayList(t *testing.T) {
	t.Parallel()
	url := start(t)
	for function, want := range map[string]int{"reads": 403, "lists": 404} {
		header := map[string]string{"X-Amz-Security-Token": "function/" + function}
		status, body := ask(t, "GET", url+"/b/missing", header)
		if status != want || (want == 403) != strings.Contains(body, "<Code>AccessDenied</Code>") {
			t.Errorf("%s: got %d %s, want %d", function, status, body, want)
		}
		if status, _ := ask(t, "HEAD", url+"/b/missing", header); status != want {
			t.Errorf("%s: HEAD got %d, want %d", function, status, want)
		}
		if status, body := ask(t, "GET", url+"/b/there", header); status != 200 || body != "s3" {
			t.Errorf("%s: an object that is there: got %d %s", function, status, body)
		}
	}
	if status, _ := ask(t, "GET", url+"/b/missing", nil); status != 404 {
		t.Errorf("operator: got %d, want 404", status)
	}
}
