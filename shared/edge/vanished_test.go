package edge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/pipeline"
)

// overtaken is a store in which something happens right before a reader's call: the one with this number, counted from 0.
type overtaken struct {
	pipeline.Store

	call    *int
	number  int
	happens func()
}

func (o overtaken) next() {
	*o.call++
	if *o.call-1 == o.number {
		o.happens()
	}
}

func (o overtaken) Stat(ctx context.Context, key string) (pipeline.Object, bool, error) {
	o.next()
	return o.Store.Stat(ctx, key)
}

func (o overtaken) Read(ctx context.Context, from pipeline.Slice) ([]byte, error) {
	o.next()
	return o.Store.Read(ctx, from)
}

// asks are the readers' requests that look at stored objects, with how many calls each takes.
func asks() map[string]struct {
	calls int
	files bool
	ask   func(h *house, id string) events.APIGatewayV2HTTPResponse
} {
	link := func(h *house, id string) events.APIGatewayV2HTTPResponse { return h.link(ana(), id) }
	second := func(h *house, id string) events.APIGatewayV2HTTPResponse { return h.linkTo(id, "2") }
	receipt := func(h *house, id string) events.APIGatewayV2HTTPResponse {
		return h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt")
	}
	return map[string]struct {
		calls int
		files bool
		ask   func(h *house, id string) events.APIGatewayV2HTTPResponse
	}{
		"a link":                 {1, false, link},
		"a link to the manifest": {1, true, link},
		"a link to a file":       {3, true, second},
		"the receipt":            {2, false, receipt},
	}
}

// TestWhoAsksBesideTheEndOfADeliveryIsToldOfIt ends the delivery, and deletes the objects, in the middle of each request:
// that is no damage, and nobody is called for it.
func TestWhoAsksBesideTheEndOfADeliveryIsToldOfIt(t *testing.T) {
	t.Parallel()
	ends := map[string]func(h *house, id string){
		"/problems/export-revoked": func(h *house, id string) {
			h.must(http.StatusOK, h.end(ana(), id, "revoke"))
			h.sweep(time.Minute)
		},
		"/problems/export-expired": func(h *house, _ string) {
			h.sweep(7 * 24 * time.Hour)
			h.sweep(time.Minute)
		},
	}
	for name, c := range asks() {
		for problem, end := range ends {
			for number := range c.calls {
				t.Run(name+strings.Repeat(", later", number)+problem, func(t *testing.T) {
					t.Parallel()
					h, id := opened(t), ""
					if c.files {
						h, id = withFiles(t)
					} else {
						id = h.completed(ana())
					}
					calls := 0
					h.store = overtaken{h.world.Store, &calls, number, func() { end(h, id) }}
					answer := c.ask(h, id)
					if got := object(t, answer.Body)["type"]; answer.StatusCode != http.StatusGone || got != problem {
						t.Errorf("got %d %s, want 410 %s", answer.StatusCode, answer.Body, problem)
					}
					if calls <= number || len(h.stored(id)) > 0 {
						t.Errorf("the request made %d calls, and stored is still %q", calls, h.stored(id))
					}
					if strings.Contains(h.log.String(), `"level":"ERROR"`) {
						t.Errorf("somebody is called for it:\n%s", h.log)
					}
				})
			}
		}
	}
}

// TestWhatIsGoneWhileItShouldBeThereIsDamage loses every object of an export that can still be delivered.
func TestWhatIsGoneWhileItShouldBeThereIsDamage(t *testing.T) {
	t.Parallel()
	for name, c := range asks() {
		for number := range c.calls {
			t.Run(name+strings.Repeat(", later", number), func(t *testing.T) {
				t.Parallel()
				h, id := opened(t), ""
				if c.files {
					h, id = withFiles(t)
				} else {
					id = h.completed(ana())
				}
				h.broken = true
				calls := 0
				h.store = overtaken{h.world.Store, &calls, number, func() {
					for _, key := range h.stored(id) {
						if err := h.world.Store.Delete(t.Context(), key, ""); err != nil {
							t.Fatal(err)
						}
					}
				}}
				want := "/problems/artifact-damaged"
				if name == "the receipt" {
					want = "/problems/receipt-missing"
				}
				answer := c.ask(h, id)
				if got := object(t, answer.Body)["type"]; answer.StatusCode != http.StatusInternalServerError || got != want {
					t.Errorf("got %d %s, want 500 %s", answer.StatusCode, answer.Body, want)
				}
				if !strings.Contains(h.log.String(), `"level":"ERROR"`) {
					t.Error("nobody is called for it")
				}
			})
		}
	}
}
