package edge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"sealift/shared/limits"
)

func TestARefusalRepeatsNoMoreThanTheBeginningOfALongText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 50*limits.EchoBytesMax)
	for name, ask := range map[string]func(*house) events.APIGatewayV2HTTPResponse{
		"content type": post(march, withHeader("content-type", long)),
		"limit":        func(h *house) events.APIGatewayV2HTTPResponse { return h.ask(ana(), "GET", "/v1/exports?limit="+long) },
		"version": func(h *house) events.APIGatewayV2HTTPResponse {
			return h.ask(operator(), "GET", "/v1/definitions/orders?version="+long)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := ask(opened(t))
			if answer.StatusCode != http.StatusBadRequest && answer.StatusCode != http.StatusUnsupportedMediaType {
				t.Fatalf("the answer is %d: %s", answer.StatusCode, answer.Body)
			}
			detail, _ := object(t, answer.Body)["detail"].(string)
			if !strings.Contains(detail, "999…") || strings.Contains(detail, long[:limits.EchoBytesMax+1]) {
				t.Errorf("a text of %d bytes is repeated in a detail of %d: %.300s", len(long), len(detail), detail)
			}
		})
	}
}
