package edge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"sealift/shared/edge"
	"sealift/shared/job"
)

// intake is the way in for upstreams that the samples know.
func (h *house) intake() edge.Intake {
	return edge.Intake{Creator: h.creator(), Log: h.logger(), Upstreams: edge.Upstreams{
		"sqs:AROASETTLEMENT":              {Subject: "settlement", Tenants: []string{"acme"}, Roles: []string{"finance"}},
		"events:123456789012:shop.orders": {Subject: "shop", Tenants: []string{"acme"}},
		"sqs:AROAPLATFORM":                {Subject: "platform", Tenants: []string{"*"}},
	}}
}

// messages makes an event of the intake queue, one sender and body a message.
func messages(pairs ...string) events.SQSEvent {
	var event events.SQSEvent
	for i := 0; i < len(pairs); i += 2 {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: "m" + string(rune('1'+i/2)), Body: pairs[i+1], Attributes: map[string]string{"SenderId": pairs[i]},
		})
	}
	return event
}

func asking(tenant, key, request string) string {
	text, _ := json.Marshal(map[string]any{"tenant": tenant, "idempotency_key": key, "request": json.RawMessage(request)})
	return string(text)
}

// again is which messages of an event come again.
func (h *house) again(event events.SQSEvent) []string {
	h.t.Helper()
	response, err := h.intake().Messages(h.t.Context(), event)
	if err != nil {
		h.t.Fatal(err)
	}
	var failed []string
	for _, failure := range response.BatchItemFailures {
		failed = append(failed, failure.ItemIdentifier)
	}
	return failed
}

// jobs are the exports of a tenant.
func (h *house) jobs(tenant string) []job.Job {
	h.t.Helper()
	rows, err := h.world.Ledger.Recent(h.t.Context(), job.TenantKey(tenant), "", 100)
	if err != nil {
		h.t.Fatal(err)
	}
	var found []job.Job
	for _, fields := range rows {
		j, err := job.DecodeJob(fields)
		if err != nil {
			h.t.Fatal(err)
		}
		found = append(found, j)
	}
	return found
}

func TestAnUpstreamAsksOnlyForItsTenants(t *testing.T) {
	t.Parallel()
	h := opened(t)
	failed := h.again(messages(
		"AROASETTLEMENT:nightly", asking("acme", "1", march),
		"AROASETTLEMENT:nightly", asking("evil", "2", march),
		"AROASETTLEMENT:nightly", asking("", "3", march),
		"AROASOMEBODY:nightly", asking("acme", "4", march),
		"", asking("acme", "5", march),
		"AROAPLATFORM:x", asking("evil", "6", march),
	))
	if diff := cmp.Diff([]string{"m2", "m3", "m4", "m5"}, failed); diff != "" {
		t.Errorf("the refused messages differ (-want +got):\n%s", diff)
	}
	acme, evil := h.jobs("acme"), h.jobs("evil")
	if len(acme) != 1 || acme[0].Applicant != "settlement" || len(evil) != 1 || evil[0].Applicant != "platform" {
		t.Errorf("the exports are %d of acme and %d of evil", len(acme), len(evil))
	}
}

func TestAnUpstreamHasTheRolesOfItsConfiguration(t *testing.T) {
	t.Parallel()
	h := opened(t)
	cost := strings.TrimSuffix(march, "}") + `, "columns": ["cost"]}`
	failed := h.again(messages("AROASETTLEMENT:a", asking("acme", "1", cost), "AROAPLATFORM:a", asking("acme", "2", cost)))
	if diff := cmp.Diff([]string{"m2"}, failed); diff != "" {
		t.Errorf("the refused messages differ (-want +got):\n%s", diff)
	}
}

func TestARepeatedMessageIsTheSameExport(t *testing.T) {
	t.Parallel()
	keyless := `{"tenant": "acme", "request": ` + march + `}`
	cases := []struct {
		name   string
		events []events.SQSEvent
		want   int
	}{
		{"the same key", []events.SQSEvent{messages("AROASETTLEMENT:a", asking("acme", "k", march)), messages("AROASETTLEMENT:b", asking("acme", "k", march))}, 1},
		{"the same delivery without a key", []events.SQSEvent{messages("AROASETTLEMENT:a", keyless), messages("AROASETTLEMENT:a", keyless)}, 1},
		{"two messages without a key are two wishes", []events.SQSEvent{messages("AROASETTLEMENT:a", keyless, "AROASETTLEMENT:a", keyless)}, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			for _, event := range c.events {
				if failed := h.again(event); failed != nil {
					t.Errorf("refused: %v", failed)
				}
			}
			if got := len(h.jobs("acme")); got != c.want {
				t.Errorf("there are %d exports, want %d", got, c.want)
			}
		})
	}
}

func TestAMessageThatCannotBeUnderstoodIsKept(t *testing.T) {
	t.Parallel()
	h := opened(t)
	bodies := []string{
		``, `null`, `[]`, `{`, `{"tenant": "acme"}`, `{"tenant": "acme", "request": {}}`, `{"tenant": "acme", "request": ` + march + `, "roles": ["finance"]}`,
		`{"tenant": "acme", "Tenant": "acme", "request": ` + march + `}`, `{"Tenant": "acme", "request": ` + march + `}`, `{"tenant": "acme", "tenant": "acme", "request": ` + march + `}`,
		`{"tenant": "acme", "requeſt": ` + march + `}`, `{"tenant": "acme", "request": ` + march + `, "IDEMPOTENCY_KEY": "k"}`, `{"tenant": "acme", "request": ` + strings.Replace(march, "purpose", "Purpose", 1) + `}`,
		asking("acme", "k", march) + "x", asking("acme", "k", `{"definition": "orders", "definition": "orders"}`), strings.Repeat(" ", 300_000),
	}
	for _, body := range bodies {
		if failed := h.again(messages("AROASETTLEMENT:a", body)); len(failed) != 1 {
			t.Errorf("the message %.60q was swallowed", body)
		}
	}
	if made := h.jobs("acme"); len(made) != 0 {
		t.Errorf("%d exports were made", len(made))
	}
}

func TestUpstreamsAreReadWholeOrRefused(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, text, says string }{
		{"no JSON", `settlement`, "must be a JSON object"},
		{"an unknown field", `{"sqs:A": {"subject": "a", "tenants": ["t"], "tennant": 1}}`, "tennant"},
		{"a field in another case", `{"sqs:A": {"subject": "a", "tenants": ["t"], "Tenants": ["*"]}}`, "Tenants"},
		{"a field twice", `{"sqs:A": {"subject": "a", "tenants": ["t"], "tenants": ["*"]}}`, "tenants"},
		{"a principal twice", `{"sqs:A": {"subject": "a", "tenants": ["t"]}, "sqs:A": {"subject": "a", "tenants": ["*"]}}`, "sqs:A"},
		{"another way in", `{"arn:aws:iam::1:role/a": {"subject": "a", "tenants": ["t"]}}`, "must begin with sqs: or events:"},
		{"no subject", `{"sqs:A": {"tenants": ["t"]}}`, "needs a subject and tenants"},
		{"no tenants", `{"sqs:A": {"subject": "a"}}`, "needs a subject and tenants"},
		{"two objects", `{} {}`, "more after the JSON value"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var upstreams edge.Upstreams
			if err := upstreams.UnmarshalText([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want it to say %q", err, c.says)
			}
		})
	}
}
