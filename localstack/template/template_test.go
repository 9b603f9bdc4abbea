package template_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/localstack/template"
)

// deployment loads the template that Sealift is deployed from.
func deployment(t *testing.T, parameters map[string]string) *template.Stack {
	t.Helper()
	all := map[string]string{"TokenIssuer": "http://127.0.0.1:4566/_issuer"}
	maps.Copy(all, parameters)
	stack, err := template.Load(filepath.Join("..", "..", "template.yaml"), template.Options{Parameters: all})
	if err != nil {
		t.Fatalf("template.yaml is not understood:\n%v", err)
	}
	return stack
}

func TestDeploymentHasItsFunctions(t *testing.T) {
	t.Parallel()
	type facts struct {
		Memory   int
		Timeout  time.Duration
		Reserved int
		Code     string
	}
	got := map[string]facts{}
	for _, f := range deployment(t, nil).Functions {
		out := facts{Memory: f.MemoryMiB, Timeout: f.Timeout, Code: f.CodeURI}
		if f.ReservedConcurrency != nil {
			out.Reserved = *f.ReservedConcurrency
		}
		got[f.Name] = out
	}
	want := map[string]facts{
		"sealift-create":        {256, 10 * time.Second, 0, "functions/create"},
		"sealift-query":         {256, 10 * time.Second, 0, "functions/query"},
		"sealift-cancel":        {256, 10 * time.Second, 0, "functions/cancel"},
		"sealift-plan-shards":   {256, 120 * time.Second, 0, "functions/plan-shards"},
		"sealift-process-shard": {512, 900 * time.Second, 0, "functions/process-shard"},
		"sealift-finalize":      {256, 900 * time.Second, 0, "functions/finalize"},
		"sealift-sign-download": {256, 10 * time.Second, 0, "functions/sign-download"},
		"sealift-sweep-orphans": {256, 120 * time.Second, 1, "functions/sweep-orphans"},
		"sealift-operate":       {256, 10 * time.Second, 0, "functions/operate"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
}

func TestDeploymentRoutesEveryRequestThroughTheAuthorizer(t *testing.T) {
	t.Parallel()
	api := deployment(t, nil).API
	got := map[string]string{}
	for _, r := range api.Routes {
		got[r.Method+" "+r.Path] = r.Function
		if r.Authorizer != "Token" {
			t.Errorf("route %s %s has authorizer %q, want Token", r.Method, r.Path, r.Authorizer)
		}
	}
	want := map[string]string{
		"POST /v1/exports":                     "sealift-create",
		"POST /v1/exports:validate":            "sealift-create",
		"GET /v1/exports":                      "sealift-query",
		"GET /v1/exports/{id}":                 "sealift-query",
		"GET /v1/exports/{id}/receipt":         "sealift-query",
		"GET /v1/exports/{id}/events":          "sealift-query",
		"GET /v1/receipt-keys":                 "sealift-query",
		"POST /v1/exports/{id}/cancel":         "sealift-cancel",
		"POST /v1/exports/{id}/revoke":         "sealift-cancel",
		"POST /v1/exports/{id}/download-links": "sealift-sign-download",
		"GET /v1/definitions":                  "sealift-operate",
		"GET /v1/definitions/{name}":           "sealift-operate",
		"PUT /v1/definitions/{name}":           "sealift-operate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	jwt := map[string]template.JWT{"Token": {Issuer: "http://127.0.0.1:4566/_issuer", Audience: []string{"sealift"}, IdentitySource: "$request.header.Authorization"}}
	if diff := cmp.Diff(jwt, api.Authorizers); diff != "" {
		t.Errorf("authorizers (-want +got):\n%s", diff)
	}
}

func TestDeploymentMapsEveryQueueToItsFunction(t *testing.T) {
	t.Parallel()
	stack := deployment(t, map[string]string{"BulkConcurrency": "16"})
	type facts struct {
		Function    string
		Batch       int
		Concurrency int
	}
	got := map[string]facts{}
	for _, m := range stack.Mappings {
		got[m.QueueARN[strings.LastIndex(m.QueueARN, ":")+1:]] = facts{m.Function, m.BatchSize, m.MaximumConcurrency}
		if !m.ReportBatchItemFailures || !m.Enabled {
			t.Errorf("mapping %s: %+v, want it enabled with partial failures", m.LogicalID, m)
		}
	}
	want := map[string]facts{
		"sealift-intake":        {"sealift-create", 10, 10},
		"sealift-plan":          {"sealift-plan-shards", 1, 4},
		"sealift-lane-bulk":     {"sealift-process-shard", 1, 16},
		"sealift-lane-realtime": {"sealift-process-shard", 1, 4},
		"sealift-finalize":      {"sealift-finalize", 1, 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mappings (-want +got):\n%s", diff)
	}
}

func TestDeploymentGivesEveryQueueItsDeadLetters(t *testing.T) {
	t.Parallel()
	stack := deployment(t, nil)
	queues := map[string]template.Queue{}
	for _, q := range stack.Queues {
		queues[q.Name] = q
	}
	timeouts := map[string]time.Duration{}
	for _, f := range stack.Functions {
		timeouts[f.Name] = f.Timeout
	}
	for _, m := range stack.Mappings {
		q := queues[m.QueueARN[strings.LastIndex(m.QueueARN, ":")+1:]]
		if want := fmt.Sprint(int(6 * timeouts[m.Function].Seconds())); q.Attributes["VisibilityTimeout"] != want {
			t.Errorf("queue %s: visibility timeout %s, want %s (six times that of %s)", q.Name, q.Attributes["VisibilityTimeout"], want, m.Function)
		}
		var redrive struct {
			DeadLetterTargetArn string
			MaxReceiveCount     int
		}
		if err := json.Unmarshal([]byte(q.Attributes["RedrivePolicy"]), &redrive); err != nil {
			t.Fatalf("queue %s: %v", q.Name, err)
		}
		dead := queues[q.Name+"-dead-letters"]
		if redrive.DeadLetterTargetArn != dead.ARN || redrive.MaxReceiveCount != 5 || dead.Attributes["MessageRetentionPeriod"] != "1209600" {
			t.Errorf("queue %s: redrive %+v to %+v", q.Name, redrive, dead)
		}
	}
	if len(stack.Queues) != 2*len(stack.Mappings) {
		t.Errorf("%d queues for %d mappings, want each with one for its dead letters", len(stack.Queues), len(stack.Mappings))
	}
}

func TestDeploymentTable(t *testing.T) {
	t.Parallel()
	want := []template.Table{{
		LogicalID: "Ledger", Name: "sealift-Ledger", ARN: "arn:aws:dynamodb:us-east-1:000000000000:table/sealift-Ledger",
		Attributes: []template.Attribute{{"pk", "S"}, {"sk", "S"}, {"due_bucket", "S"}, {"due_at_ms", "N"}, {"tenant_key", "S"}, {"created_key", "S"}},
		Keys:       []template.Key{{"pk", "HASH"}, {"sk", "RANGE"}},
		Indexes: []template.Index{
			{Name: "due", Keys: []template.Key{{"due_bucket", "HASH"}, {"due_at_ms", "RANGE"}}, Projection: "KEYS_ONLY"},
			{Name: "tenant", Keys: []template.Key{{"tenant_key", "HASH"}, {"created_key", "RANGE"}}, Projection: "ALL"},
		},
		TTLAttribute: "expires_at_s", PITR: true,
	}}
	if diff := cmp.Diff(want, deployment(t, nil).Tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func TestDeploymentRolesNameWhatTheyReach(t *testing.T) {
	t.Parallel()
	stack := deployment(t, nil)
	for _, role := range stack.Roles {
		for _, s := range role.Policies {
			for _, action := range s.Actions {
				if strings.Contains(action, "*") {
					t.Errorf("role %s allows %s; name the actions", role.LogicalID, action)
				}
				if slices.Contains(s.Resources, "*") && !strings.HasPrefix(action, "xray:") {
					t.Errorf("role %s allows %s on everything; name the resources", role.LogicalID, action)
				}
			}
		}
	}
	allowed := func(function, action string) bool {
		f, ok := stack.Function("sealift-" + function)
		if !ok {
			t.Fatalf("no function %s", function)
		}
		return slices.ContainsFunc(f.Policies, func(s template.Statement) bool { return slices.Contains(s.Actions, action) })
	}
	for action, functions := range map[string][]string{
		"secretsmanager:GetSecretValue": {"plan-shards", "process-shard"},
		"s3:PutObject":                  {"process-shard", "finalize"},
		"kms:Sign":                      {"finalize"},
		"kms:GetPublicKey":              {"query", "finalize"},
		"s3:DeleteObject":               {"sweep-orphans"},
		"dynamodb:ConditionCheckItem":   {"finalize"},
		"scheduler:CreateSchedule":      {"plan-shards", "process-shard", "finalize"},
	} {
		var got []string
		for _, f := range stack.Functions {
			if name := strings.TrimPrefix(f.Name, "sealift-"); allowed(name, action) {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(functions, got); diff != "" {
			t.Errorf("functions that may %s (-want +got):\n%s", action, diff)
		}
	}
}

func TestDeploymentSignsWithAKeyThatIsKnownBeforeItIsMade(t *testing.T) {
	t.Parallel()
	stack := deployment(t, nil)
	if len(stack.Keys) != 1 || len(stack.KeyAliases) != 1 {
		t.Fatalf("keys %+v, aliases %+v; want one of each", stack.Keys, stack.KeyAliases)
	}
	key, alias := stack.Keys[0], stack.KeyAliases[0]
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(key.ID) || key.ARN != "arn:aws:kms:us-east-1:000000000000:key/"+key.ID {
		t.Errorf("the key is %+v", key)
	}
	if want := (template.KeyAlias{LogicalID: "ReceiptKeyAlias", Name: "alias/sealift-receipts", KeyID: key.ID}); alias != want {
		t.Errorf("the alias is %+v, want %+v", alias, want)
	}
	for _, f := range stack.Functions {
		want := ""
		if f.Name == "sealift-query" || f.Name == "sealift-finalize" {
			want = key.ARN
		}
		if f.Env["RECEIPT_KEY_ARN"] != want {
			t.Errorf("%s is given the key %q, want %q", f.Name, f.Env["RECEIPT_KEY_ARN"], want)
		}
	}
}

func TestDeploymentTimersAndEvents(t *testing.T) {
	t.Parallel()
	stack := deployment(t, nil)
	schedules := []template.Schedule{{
		LogicalID: "SweepOrphansEveryMinute", Name: "sealift-sweep", Group: "default", Expression: "rate(1 minute)", Function: "sealift-sweep-orphans", Enabled: true,
	}}
	if diff := cmp.Diff(schedules, stack.Schedules); diff != "" {
		t.Errorf("schedules (-want +got):\n%s", diff)
	}
	rules := []template.EventRule{{
		LogicalID: "CreateRequested", Name: "sealift-requested", Pattern: json.RawMessage(`{"detail-type":["sealift.export.requested"]}`), Function: "sealift-create",
	}}
	if diff := cmp.Diff(rules, stack.EventRules); diff != "" {
		t.Errorf("event rules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sealift-delays"}, stack.ScheduleGroups); diff != "" {
		t.Errorf("schedule groups (-want +got):\n%s", diff)
	}
	create, _ := stack.Function("sealift-create")
	if want := (template.AsyncInvoke{RetriesMax: 2, EventAgeMax: 6 * time.Hour, OnFailureARN: "arn:aws:sqs:us-east-1:000000000000:sealift-intake-dead-letters"}); create.Async != want {
		t.Errorf("create's events: %+v, want %+v", create.Async, want)
	}
}

func TestDeploymentKeyOfOnesOwnIsAllowedWhereFilesAreTouched(t *testing.T) {
	t.Parallel()
	const key = "arn:aws:kms:us-east-1:000000000000:key/1"
	var got []string
	for _, f := range deployment(t, map[string]string{"ExportsKeyArn": key}).Functions {
		if slices.ContainsFunc(f.Policies, func(s template.Statement) bool { return slices.Contains(s.Resources, key) }) {
			got = append(got, strings.TrimPrefix(f.Name, "sealift-"))
		}
	}
	if diff := cmp.Diff([]string{"query", "process-shard", "finalize", "sign-download", "sweep-orphans"}, got); diff != "" {
		t.Errorf("functions that may use the key (-want +got):\n%s", diff)
	}
}

func TestDeploymentParametersAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, parameter, value, want string
	}{
		{"too low", "BulkConcurrency", "1", "it must be at least 2"},
		{"no number", "BulkConcurrency", "many", "it must be a number"},
		{"not one of the allowed", "LogLevel", "LOUD", "it must be one of DEBUG, INFO, WARN, ERROR"},
		{"pattern", "TokenIssuer", "login", "give the issuer's URL"},
		{"unknown", "TokenIsuer", "x", "is not declared in the template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			parameters := map[string]string{"TokenIssuer": "https://login.example.com/", c.parameter: c.value}
			_, err := template.Load(filepath.Join("..", "..", "template.yaml"), template.Options{Parameters: parameters})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "parameter "+c.parameter) {
				t.Errorf("error %v, want one about parameter %s that says %q", err, c.parameter, c.want)
			}
		})
	}
	if _, err := template.Load(filepath.Join("..", "..", "template.yaml"), template.Options{}); err == nil || !strings.Contains(err.Error(), "--param TokenIssuer=VALUE") {
		t.Errorf("missing parameter: %v", err)
	}
}

// load writes a template into a file and reads it.
func load(t *testing.T, text string, opt template.Options) (*template.Stack, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return template.Load(path, opt)
}
