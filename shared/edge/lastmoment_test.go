package edge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/pipeline"
	"sealift/shared/sim"
)

// TestALinkInAnExportsLastMomentsIsGoneAndCountsNothing asks at every distance from the end of the retention.
func TestALinkInAnExportsLastMomentsIsGoneAndCountsNothing(t *testing.T) {
	t.Parallel()
	for left, given := range map[time.Duration]bool{
		2 * limits.LinkTimeMin:                true,
		limits.LinkTimeMin:                    true,
		limits.LinkTimeMin - time.Millisecond: false,
		time.Second:                           false,
		604 * time.Millisecond:                false,
		time.Millisecond:                      false,
		0:                                     false,
		-time.Millisecond:                     false,
		-limits.LinkTimeMin:                   false,
	} {
		t.Run(left.String(), func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			id := h.completed(ana())
			ends := h.job(id).ExpiresAt
			h.world.Clock.Advance(ends.Sub(h.world.Clock.Now()) - left)
			answer := h.link(ana(), id)
			if given {
				until, err := time.Parse(time.RFC3339, h.must(http.StatusCreated, answer)["expires_at"].(string))
				if err != nil || until.After(ends) || h.job(id).Downloads != 1 {
					t.Errorf("the link ends %v (%v), the file %v; %d are counted", until, err, ends, h.job(id).Downloads)
				}
				return
			}
			h.refusesLink(answer, http.StatusGone, "/problems/export-expired", id)
		})
	}
}

// TestALinkWhoseTimeRunsOutWhileItIsDecidedIsGone has the store take its time.
func TestALinkWhoseTimeRunsOutWhileItIsDecidedIsGone(t *testing.T) {
	t.Parallel()
	h := opened(t)
	id, calls := h.completed(ana()), 0
	h.store = overtaken{h.world.Store, &calls, 0, func() {
		h.world.Clock.Advance(h.job(id).ExpiresAt.Sub(h.world.Clock.Now()) - 604*time.Millisecond)
	}}
	h.refusesLink(h.link(ana(), id), http.StatusGone, "/problems/export-expired", id)
}

// refusesLink holds a link's refusal to its problem, and to what it must not show and not have counted.
func (h *house) refusesLink(answer events.APIGatewayV2HTTPResponse, status int, problem, id string) {
	h.t.Helper()
	if got := object(h.t, answer.Body)["type"]; answer.StatusCode != status || got != problem {
		h.t.Errorf("got %d %s, want %d %s", answer.StatusCode, answer.Body, status, problem)
	}
	if key := h.job(id).Artifact.Key; strings.Contains(answer.Body, strings.Split(key, "/")[3]) {
		h.t.Errorf("the refusal shows the key: %s", answer.Body)
	}
	if counted := h.job(id).Downloads; counted != 0 {
		h.t.Errorf("%d downloads are used up", counted)
	}
}

// unsigned is a store that can't sign.
type unsigned struct {
	pipeline.Store

	err error
}

func (u unsigned) Sign(context.Context, pipeline.Link) (string, time.Time, error) {
	return "", time.Time{}, u.err
}

func TestALinkThatCanNotBeSignedCountsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, sim.Options{})
	h.apply(ordersJSON(t))
	id := h.completed(ana())
	h.store = unsigned{h.world.Store, job.Errorf(job.Transient, "credentials_expiring", "the credentials end in 12s")}
	h.refusesLink(h.link(ana(), id), http.StatusServiceUnavailable, "/problems/credentials-expiring", id)
	h.store = h.world.Store
	h.must(http.StatusCreated, h.link(ana(), id))
}
