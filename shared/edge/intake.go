package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/policy"
	"sealift/shared/snapshot"
)

// Upstream is what one upstream principal may ask for. Principals are "sqs:" and the sender's identifier as the queue
// reports it, or "events:", the account and the event's source, as in events:123456789012:shop.orders.
type Upstream struct {
	Subject string   `json:"subject"`
	Tenants []string `json:"tenants"`
	Roles   []string `json:"roles,omitempty"`
}

// Upstreams are the principals that may ask without a user's token; "*" among the tenants is every tenant.
type Upstreams map[string]Upstream

// UnmarshalText reads the configuration's JSON.
func (u *Upstreams) UnmarshalText(text []byte) error {
	var each map[string]json.RawMessage
	malformed := func(err error) error {
		return fmt.Errorf(`must be a JSON object of principal to {"subject", "tenants", "roles"}: %w`, err)
	}
	if err := decodeOnly(text, &each); err != nil {
		return malformed(err)
	}
	parsed := Upstreams{}
	for principal, one := range each {
		var upstream Upstream
		if err := decodeOnly(one, &upstream, "subject", "tenants", "roles"); err != nil {
			return malformed(err)
		}
		parsed[principal] = upstream
		if !strings.HasPrefix(principal, "sqs:") && !strings.HasPrefix(principal, "events:") {
			return fmt.Errorf("principal %q must begin with sqs: or events: to say where it comes from", principal)
		}
		if upstream.Subject == "" || len(upstream.Tenants) == 0 {
			return fmt.Errorf("principal %q needs a subject and tenants", principal)
		}
	}
	*u = parsed
	return nil
}

// who turns a principal and the tenant that it names into the one who asks. The tenant is the upstream's word only as
// far as its configuration lets it speak for that tenant.
func (u Upstreams) who(principal, tenant string) (policy.Principal, error) {
	upstream, known := u[principal]
	if !known || tenant == "" || (!slices.Contains(upstream.Tenants, tenant) && !slices.Contains(upstream.Tenants, "*")) {
		return policy.Principal{}, job.Errorf(job.Invalid, "upstream_not_allowed",
			"the principal %q may not ask for the tenant that it names; add it to the stack's parameter Upstreams", principal)
	}
	return policy.Principal{Tenant: tenant, Subject: upstream.Subject, Roles: upstream.Roles}, nil
}

// intent is a request from upstream: an intake message's body, or an event's detail.
type intent struct {
	Tenant         string          `json:"tenant"`
	IdempotencyKey string          `json:"idempotency_key"`
	Request        json.RawMessage `json:"request"`
}

// Intake takes requests that come without a user: messages of the intake queue and events of the bus.
type Intake struct {
	Creator   pipeline.Creator
	Upstreams Upstreams
	Log       *slog.Logger
}

// Messages creates an export for every message of the intake queue. One that is refused comes again and ends among the
// dead letters, with the reason in the log; a repeated one is the same job, by its key or its message.
func (i Intake) Messages(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
	return eachMessage(ctx, i.Log, event, afterVisibility, func(ctx context.Context, message events.SQSMessage) (string, error) {
		sender, _, _ := strings.Cut(message.Attributes["SenderId"], ":")
		return i.create(ctx, "sqs:"+sender, message.MessageId, []byte(message.Body))
	})
}

// Event creates an export for an event of the bus. An error makes the bus deliver it again and at last set it aside.
func (i Intake) Event(ctx context.Context, event events.EventBridgeEvent) error {
	jobID, err := i.create(ctx, "events:"+event.AccountID+":"+event.Source, event.ID, event.Detail)
	if err != nil {
		i.Log.WarnContext(ctx, "event refused", "event_id", event.ID, "kind", string(job.KindOf(err)), "code", job.CodeOf(err), "error", err.Error())
		return err
	}
	i.Log.InfoContext(ctx, "event taken", "event_id", event.ID, "job", jobID)
	return nil
}

func (i Intake) create(ctx context.Context, principal, deliveryID string, text []byte) (string, error) {
	if len(text) > limits.RequestBytesMax {
		return "", job.Errorf(job.Invalid, "request_too_large", "the request has %d bytes; at most %d are allowed", len(text), limits.RequestBytesMax)
	}
	var asked intent
	if err := decodeOnly(text, &asked, "tenant", "idempotency_key", "request"); err != nil {
		return "", job.Errorf(job.Invalid, "request_malformed", "the request must be a JSON object of tenant, idempotency_key and request: %w", err)
	}
	who, err := i.Upstreams.who(principal, asked.Tenant)
	if err != nil {
		return "", err
	}
	request, err := snapshot.Decode(asked.Request)
	faults := snapshot.FaultsOf(err)
	if faults.Whole() {
		return "", err
	}
	key := asked.IdempotencyKey
	if key == "" {
		// The same delivery again is the same intent.
		key = principal + "/" + deliveryID
	}
	answer, err := i.Creator.Create(ctx, pipeline.Ask{Who: who, Request: request, Key: key, Faults: faults})
	return answer.Job.ID, err
}
