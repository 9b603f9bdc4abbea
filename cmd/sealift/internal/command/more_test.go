package command_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestFaultsInDefinitionsBeginTheirLinesWithThePlace(t *testing.T) {
	t.Parallel()
	s, _ := withOrders(t)
	ops := s.as("ops", "sealift:operator")
	file := s.path("bad.yaml")
	bad := strings.NewReplacer("kind: cutoff", "kind: version", "rows_max: 5000", "rows_max: many").Replace(string(read(t, "testdata/orders.yaml")))
	if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	before := len(s.asked)
	got := ops.run("definitions", "apply", "testdata", file)
	want := file + ":12:9: /consistency/kind is \"version\"; a table can give cutoff\n" +
		file + ":24:13: /limits/rows_max is text, must be a whole number\n" +
		"sealift: faults in the definitions: 2; mend them and run the command again\n"
	if got.code != 1 || got.stderr != want || len(s.asked) != before {
		t.Errorf("exit %d, %d requests\ngot  %q\nwant %q", got.code, len(s.asked)-before, got.stderr, want)
	}
	var problem struct {
		Type   string
		Faults []struct {
			File         string
			Line, Column int
			Pointer      string
		}
	}
	if err := json.Unmarshal([]byte(ops.run("definitions", "apply", file, "--json").stderr), &problem); err != nil || len(problem.Faults) != 2 ||
		problem.Faults[1].Line != 24 || problem.Type != "/problems/definition-invalid" {
		t.Errorf("%v %+v", err, problem)
	}
}

func TestFaultsThatOnlyTheServiceFindsAreShownInTheFile(t *testing.T) {
	t.Parallel()
	s, _ := withOrders(t)
	s.gate = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"type":"/problems/definition-invalid","title":"Definition invalid","status":400,"detail":"the definition has faults",
			"faults":[{"pointer":"/columns/3/scale","detail":"is more than this release writes"}]}`))
		return true
	}
	got := s.as("ops", "sealift:operator").run("definitions", "apply", "testdata/orders.yaml")
	want := "testdata/orders.yaml:18:42: /columns/3/scale is more than this release writes\nsealift: faults in the definitions: 1;"
	if got.code != 1 || !strings.HasPrefix(got.stderr, want) {
		t.Errorf("exit %d, %q", got.code, got.stderr)
	}
}

func TestARequestIsSentAsItIs(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	request := `{"definition":"orders","purpose":"test","span":{"from":"2026-01-01T00:00:00Z"},"columns":["status"]}`
	if got := ana.with(request).ok("export", "create", "--request", "-", "--dry-run"); !strings.Contains(got.stdout, "the request would be granted\n") ||
		!strings.Contains(got.stdout, "columns          1\n") {
		t.Errorf("stdin: %+v", got)
	}
	if err := os.WriteFile(s.path("request.json"), []byte(request), 0o600); err != nil {
		t.Fatal(err)
	}
	ana.ok("export", "create", "--request", s.path("request.json"))
	if got := ana.run("export", "create", "--request", s.path("none")); got.code != 8 || !strings.Contains(got.stderr, "there is no file "+s.path("none")) {
		t.Errorf("missing: %+v", got)
	}
	if got := ana.ok("export", "list"); strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("dry run created: %s", got.stdout)
	}
}

func TestTextOfOthersCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	_, ana := withOrders(t)
	got := ana.ok("export", "create", "--definition", "orders", "--from", "2026-01-01", "--purpose", "a\x1b[2Jb\u202ec")
	shown := ana.ok("export", "show", id(t, got))
	if strings.ContainsAny(shown.stdout, "\x1b\u202e") || !strings.Contains(shown.stdout, "a\ufffd[2Jb\ufffdc") {
		t.Errorf("%q", shown.stdout)
	}
}

func TestTwoDownloadsIntoOneFileDoNotMix(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	file := s.path("out.csv")
	var second ran
	s.shelf = func(http.ResponseWriter, *http.Request, []byte) bool {
		s.shelf = nil
		second = ana.run("export", "download", export, "--output", file)
		return false
	}
	ana.ok("export", "download", export, "--output", file)
	if second.code != 4 || !strings.Contains(second.stderr, "another download writes to it") {
		t.Errorf("%+v", second)
	}
}

func TestVerifyCanBeInterrupted(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	file, receipt := s.path("out.csv"), s.path("receipt.json")
	ana.ok("export", "download", export, "--output", file, "--receipt", receipt)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if got := ana.runContext(ctx, "export", "verify", file, "--receipt", receipt); got.code != 130 {
		t.Errorf("%+v", got)
	}
}

func TestAnEmptyExportIsDownloadedAndVerified(t *testing.T) {
	t.Parallel()
	for _, format := range [][]string{{"csv", "none"}, {"csv", "gzip"}, {"jsonl", "none"}, {"jsonl", "gzip"}, {"jsonl", "zstd"}} {
		t.Run(strings.Join(format, " "), func(t *testing.T) {
			t.Parallel()
			s, ana := withOrders(t)
			file := s.path("empty")
			export := id(t, ana.ok(ask("--filter", "status=none", "--format", format[0], "--compression", format[1], "--download", file)...))
			if got := ana.ok("export", "verify", file, "--job", export); !strings.Contains(got.stdout, ": 0 rows") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAnswersOfTheGatewayItselfAreExplained(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status  int
		header  string
		body    string
		code    int
		says    string
		advises string
	}{
		"a scope is missing":   {403, `Bearer scope="x" error="insufficient_scope" error_description="the token has insufficient scope"`, `{"message":"Forbidden"}`, 5, "the token does not allow this: the token has insufficient scope", "role"},
		"another server":       {404, "", "<html>", 3, "there is no such resource", "--endpoint"},
		"a store of objects":   {400, "", "<?xml version=\"1.0\"?><Error><Code>InvalidArgument</Code></Error>", 1, "the request was refused", "check that --endpoint is the API of Sealift"},
		"another method":       {501, "", "<html>", 6, "the service failed to answer", "check that --endpoint is the API of Sealift"},
		"too large":            {413, "", `{"message":"Request Entity Too Large"}`, 1, "the request was refused: Request Entity Too Large", ""},
		"throttled":            {429, "", `{"message":"Too Many Requests"}`, 6, "Too Many Requests", "wait a while"},
		"a crash":              {500, "", `{"message":"Internal Server Error"}`, 6, "the service failed to answer: Internal Server Error", "try again later"},
		"no time left":         {504, "", `{"message":"Endpoint request timed out"}`, 6, "Endpoint request timed out", "try again later"},
		"a redirect":           {302, "", "", 6, "the address redirects", "--endpoint"},
		"an answer in no JSON": {200, "", "<html>", 6, "is not what this release", "--endpoint"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.gate = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Www-Authenticate", c.header)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
				return true
			}
			before := s.world.Clock.Now()
			got := s.as("ana").run("export", "list")
			if got.code != c.code || !strings.Contains(got.stderr, c.says) || !strings.Contains(got.stderr, c.advises) {
				t.Errorf("%+v", got)
			}
			if took := s.world.Clock.Now().Sub(before); took > time.Minute+10*time.Second {
				t.Errorf("it waited %s", took)
			}
		})
	}
}
