package edge_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

func TestEveryRefusalSaysWhatToChange(t *testing.T) {
	t.Parallel()
	all := slices.Concat(requestRefusals(), fileRefusals(), listingRefusals(), stateRefusals())
	shown := map[string]bool{}
	var lock sync.Mutex
	t.Run("each", func(t *testing.T) {
		for _, c := range all {
			lock.Lock()
			shown[c.problem] = true
			lock.Unlock()
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				h := opened(t)
				c.check(t, c.ask(h))
				if ok, faults := description(t).accepts(h.last); ok == c.described {
					t.Errorf("the description accepts the request: %v; want %v", ok, !c.described)
					report(t, h.last.RouteKey, faults)
				}
			})
		}
	})
	for _, described := range describedProblems(t) {
		if !shown[described] {
			t.Errorf("the description has the problem %s, which no case here shows", described)
		}
	}
}

func (c refusal) check(t *testing.T, answer events.APIGatewayV2HTTPResponse) {
	t.Helper()
	if answer.StatusCode != c.status {
		t.Fatalf("got %d %s, want %d %s", answer.StatusCode, answer.Body, c.status, c.problem)
	}
	problem := object(t, answer.Body)
	field, _ := problem["field"].(string)
	detail, _ := problem["detail"].(string)
	if problem["type"] != "/problems/"+c.problem || field != c.field {
		t.Errorf("got type %v and field %q, want %s and %q", problem["type"], field, c.problem, c.field)
	}
	for _, word := range c.says {
		if !strings.Contains(detail, word) {
			t.Errorf("the detail lacks %q: %s", word, detail)
		}
	}
}

// describedProblems are the types below 500 that the description names with a status.
func describedProblems(t *testing.T) []string {
	t.Helper()
	var found []string
	for name, proxy := range description(t).model.Components.Schemas.FromOldest() {
		if !strings.HasSuffix(name, "Problem") || name == "Problem" {
			continue
		}
		for _, one := range proxy.Schema().OneOf {
			if constant := one.Schema().Const; constant != nil && !strings.HasPrefix(one.Schema().Title, "5") {
				found = append(found, strings.TrimPrefix(constant.Value, "/problems/"))
			}
		}
	}
	const least = 30
	if len(found) < least {
		t.Fatalf("the description names %d problems; this test reads it wrongly", len(found))
	}
	return found
}
