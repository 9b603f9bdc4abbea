package edge_test

import (
	"net/http"
	"testing"
)

func TestAnExportGoesFromRequestToVerifiedLink(t *testing.T) {
	t.Parallel()
	h := opened(t)
	asked := h.ask(ana(), "POST", "/v1/exports", withBody(march), withKey("k1"))
	id := h.must(http.StatusAccepted, asked)["id"].(string)
	if got, want := asked.Headers["location"], "/v1/exports/"+id; got != want {
		t.Errorf("location is %q, want %q", got, want)
	}
	h.run()
	shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
	t.Log(shown)
	h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt"))
	h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id+"/events"))
	h.must(http.StatusCreated, h.ask(ana(), "POST", "/v1/exports/"+id+"/download-links"))
}
