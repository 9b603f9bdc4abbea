package edge_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"sealift/shared/artifact"
	"sealift/shared/edge"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// distant is a ledger behind a network: whoever writes has read a while ago.
type distant struct{ pipeline.Ledger }

func (d distant) Apply(ctx context.Context, change job.Change) error {
	time.Sleep(10 * time.Millisecond)
	return d.Ledger.Apply(ctx, change)
}

// TestLinksAskedForAtOnceAreCountedExactly asks for more links at a time than a contended move is tried for: each is given
// or refused by the count, and none is turned away because of the others.
func TestLinksAskedForAtOnceAreCountedExactly(t *testing.T) {
	t.Parallel()
	const atOnce = 30
	for _, most := range []int{atOnce, atOnce - 10} {
		t.Run(fmt.Sprintf("%d of %d allowed", most, atOnce), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, sim.Options{})
			limit := func(format string) string { return fmt.Sprintf(format, most) }
			h.apply(h.reshaped(`"downloads_max":50`, limit(`"downloads_max":%d`), `"downloads_max": 50`, limit(`"downloads_max": %d`)))
			id := h.completed(ana())
			given, reasons := h.linksAtOnce(id, atOnce)
			want := map[int]int{http.StatusCreated: most}
			if most < atOnce {
				want[http.StatusForbidden] = atOnce - most
			}
			if diff := cmp.Diff(want, given); diff != "" {
				t.Errorf("the answers differ (-want +got):\n%s\n%s", diff, strings.Join(reasons, "\n"))
			}
			problem := h.must(http.StatusForbidden, h.link(ana(), id))
			if problem["type"] != "/problems/downloads-exceeded" {
				t.Errorf("one link too many: %v", problem)
			}
			page := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/events"))
			signed := 0
			for _, event := range page["events"].([]any) {
				if event.(map[string]any)["action"] == "link_signed" {
					signed++
				}
			}
			if signed != most {
				t.Errorf("the audit has %d links, want %d", signed, most)
			}
		})
	}
}

// linksAtOnce asks for links all at the same time and counts the answers by their status; reasons are the refusals.
func (h *house) linksAtOnce(id string, count int) (given map[int]int, reasons []string) {
	h.t.Helper()
	sign := edge.SignAPI(pipeline.Signer{
		Ledger: distant{h.world.Ledger}, Store: h.world.Store, Keys: artifact.Keys{}, NewID: edge.NewJobID,
	}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger())
	answers := make([]events.APIGatewayV2HTTPResponse, count)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			var err error
			if answers[i], err = sign(h.t.Context(), gatewayEvent(ana(), "POST", "/v1/exports/"+id+"/download-links")); err != nil {
				h.t.Errorf("the handler failed: %v", err)
			}
		})
	}
	group.Wait()
	given = map[int]int{}
	for _, answer := range answers {
		given[answer.StatusCode]++
		if answer.StatusCode != http.StatusCreated {
			reasons = append(reasons, answer.Body)
		}
	}
	return given, reasons
}

// TestALinkIsGivenUpInTime has somebody else always be a moment ahead: the refusal comes before the function's time is over,
// so that it is an answer and not a crash.
func TestALinkIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id := h.completed(ana())
	sign := edge.SignAPI(pipeline.Signer{
		Ledger: contended{h.world.Ledger}, Store: h.world.Store, Keys: artifact.Keys{}, NewID: edge.NewJobID,
		Jitter: func(most time.Duration) time.Duration { return most },
	}, edge.Claims{Tenant: "tenant", Roles: "roles"}, h.logger())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	answer, err := sign(ctx, gatewayEvent(ana(), "POST", "/v1/exports/"+id+"/download-links"))
	if err != nil {
		t.Fatal(err)
	}
	problem := h.must(http.StatusServiceUnavailable, answer)
	if problem["type"] != "/problems/ledger-contended" || ctx.Err() != nil {
		t.Errorf("got %v, and the function's time: %v", problem, ctx.Err())
	}
}
