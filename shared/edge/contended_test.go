package edge_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// counted is a ledger in which somebody else is always a moment ahead, and which counts how often that was tried.
type counted struct {
	contended

	tries *[]time.Time
}

func (c counted) Apply(ctx context.Context, change job.Change) error {
	*c.tries = append(*c.tries, time.Now())
	return c.contended.Apply(ctx, change)
}

// TestAMoveThatOthersAlwaysOvertakeEndsAndSaysSo holds every move that a person asks for to so many tries, to a pause before
// each but the first, and to an answer that says what was left as it was.
func TestAMoveThatOthersAlwaysOvertakeEndsAndSaysSo(t *testing.T) {
	t.Parallel()
	longest := func(most time.Duration) time.Duration { return most }
	for name, c := range map[string]struct {
		tries int
		says  string
		ask   func(h *house, ledger pipeline.Ledger) (edge.API, events.APIGatewayV2HTTPRequest)
	}{
		"cancel": {limits.LinkTries, "the export was changed by others at every try, so it is as it was; ask again in a few seconds", func(h *house, ledger pipeline.Ledger) (edge.API, events.APIGatewayV2HTTPRequest) {
			id := h.created(ana())
			return edge.CancelAPI(pipeline.Canceller{Ledger: ledger, Jitter: longest}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger()), gatewayEvent(ana(), "POST", "/v1/exports/"+id+"/cancel")
		}},
		"revoke": {limits.LinkTries, "the export was changed by others at every try, so it is as it was; ask again in a few seconds", func(h *house, ledger pipeline.Ledger) (edge.API, events.APIGatewayV2HTTPRequest) {
			id := h.completed(ana())
			return edge.CancelAPI(pipeline.Canceller{Ledger: ledger, Jitter: longest}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger()), gatewayEvent(ana(), "POST", "/v1/exports/"+id+"/revoke")
		}},
		"apply": {limits.ConflictTries, "definition orders was changed by others at every try, so this version was not applied; ask again in a few seconds", func(h *house, ledger pipeline.Ledger) (edge.API, events.APIGatewayV2HTTPRequest) {
			changed := h.reshaped(`"title":`, `"purposes": ["audit"], "title":`)
			return edge.OperateAPI(pipeline.Operator{Ledger: ledger, Jitter: longest}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger()), gatewayEvent(operator(), "PUT", "/v1/definitions/orders", withBody(changed))
		}},
		"link": {limits.LinkTries, "the export was changed by others at every try, so no link was given out; ask again in a few seconds", func(h *house, ledger pipeline.Ledger) (edge.API, events.APIGatewayV2HTTPRequest) {
			id := h.completed(ana())
			return edge.SignAPI(pipeline.Signer{Ledger: ledger, Store: h.store, Keys: artifact.Keys{}, NewID: edge.NewJobID, Jitter: longest}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger()),
				gatewayEvent(ana(), "POST", "/v1/exports/"+id+"/download-links")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			var tries []time.Time
			api, event := c.ask(h, counted{contended{h.world.Ledger}, &tries})
			synctest.Test(t, func(t *testing.T) {
				answer, err := api(t.Context(), event)
				if err != nil {
					t.Fatal(err)
				}
				problem := object(t, answer.Body)
				if answer.StatusCode != http.StatusServiceUnavailable || problem["type"] != "/problems/ledger-contended" || problem["detail"] != c.says {
					t.Errorf("got %d %s, want 503 ledger-contended: %s", answer.StatusCode, answer.Body, c.says)
				}
			})
			if len(tries) != c.tries {
				t.Errorf("the ledger was asked %d times, want %d", len(tries), c.tries)
			}
			for i := 1; i < len(tries); i++ {
				want := min(limits.LedgerBackoffBase<<(i-1), limits.LedgerBackoffMax)
				if waited := tries[i].Sub(tries[i-1]); waited < want {
					t.Errorf("try %d came after %s, want a pause of %s", i+1, waited, want)
				}
			}
		})
	}
}

// TestARevokeComesThroughAStormOfLinks ends a delivery while many ask for links to it at once, each of which moves the export.
func TestARevokeComesThroughAStormOfLinks(t *testing.T) {
	t.Parallel()
	const atOnce = 30
	h := newHouse(t, sim.Options{})
	h.apply(ordersJSON(t))
	id := h.completed(ana())
	ledger := distant{h.world.Ledger}
	sign := edge.SignAPI(pipeline.Signer{Ledger: ledger, Store: h.world.Store, Keys: artifact.Keys{}, NewID: edge.NewJobID}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger())
	revoke := edge.CancelAPI(pipeline.Canceller{Ledger: ledger, Jitter: edge.Jitter}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger())
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			answer, err := sign(h.t.Context(), gatewayEvent(ana(), "POST", "/v1/exports/"+id+"/download-links"))
			if err != nil || answer.StatusCode != http.StatusCreated && answer.StatusCode != http.StatusGone {
				t.Errorf("a link: %v %d %s", err, answer.StatusCode, answer.Body)
			}
		})
	}
	answer, err := revoke(t.Context(), gatewayEvent(ana(), "POST", "/v1/exports/"+id+"/revoke"))
	group.Wait()
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(answer.Body, `"state":"expired"`) {
		t.Errorf("the revoke: %v %d %s", err, answer.StatusCode, answer.Body)
	}
	h.must(http.StatusGone, h.link(ana(), id))
}

// lastTry is a ledger in which somebody else is a moment ahead until the last try.
type lastTry struct {
	pipeline.Ledger

	left *int
}

func (l lastTry) Apply(ctx context.Context, change job.Change) error {
	if *l.left--; *l.left > 0 {
		return contended{l.Ledger}.Apply(ctx, change)
	}
	return l.Ledger.Apply(ctx, change)
}

// TestAMoveThatCameThroughAtTheLastTryIsASuccess tells nobody that an export goes on which has ended.
func TestAMoveThatCameThroughAtTheLastTryIsASuccess(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id, left := h.created(ana()), limits.LinkTries
	none := func(time.Duration) time.Duration { return 0 }
	cancel := edge.CancelAPI(pipeline.Canceller{Ledger: lastTry{h.world.Ledger, &left}, Jitter: none}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger())
	answer, err := cancel(t.Context(), gatewayEvent(ana(), "POST", "/v1/exports/"+id+"/cancel"))
	if err != nil {
		t.Fatal(err)
	}
	if shown := h.must(http.StatusOK, answer); shown["state"] != "cancelled" || left != 0 {
		t.Errorf("the export is %v after the last of %d tries", shown["state"], limits.LinkTries)
	}
}
