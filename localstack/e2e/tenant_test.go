package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// nobodys is the id of no export.
const nobodys = "exp_00000000000000000000000000"

func proveStrangers(t *testing.T, s *shared) {
	ana := s.user(t, tenant, "ana")
	id := ana.create(t, whole("lite", "csv", "none"), "strangers")
	ana.completed(t, id)
	strangers := map[string]user{
		"another tenant's user with every role": s.user(t, foreign, "eve", "sealift:tenant-exports", "sealift:operator"),
		"another tenant's user of the name":     s.user(t, foreign, "ana"),
		"the tenant's user without a role":      s.user(t, tenant, "ben"),
	}
	for who, stranger := range strangers {
		for _, ways := range [][2]string{
			{http.MethodGet, ""}, {http.MethodGet, "/receipt"}, {http.MethodGet, "/events"},
			{http.MethodPost, "/cancel"}, {http.MethodPost, "/revoke"}, {http.MethodPost, "/download-links"},
		} {
			real := stranger.do(t, ways[0], "/v1/exports/"+id+ways[1], nil)
			none := stranger.do(t, ways[0], "/v1/exports/"+nobodys+ways[1], nil)
			if real.status != http.StatusNotFound || real.status != none.status || shape(real, id) != shape(none, nobodys) {
				t.Errorf("%s, %s %s: %d %s for an export of others, %d %s for none", who, ways[0], ways[1], real.status, real.body, none.status, none.body)
			}
		}
		for _, narrowed := range []string{"", "&state=completed", "&state=queued&state=running,completed"} {
			list := stranger.do(t, http.MethodGet, "/v1/exports?limit=100"+narrowed, nil).want(t, http.StatusOK)
			if strings.Contains(string(list.body), id) {
				t.Errorf("%s: the list shows an export of others", who)
			}
		}
	}
	for narrowed, shown := range map[string]bool{
		"state=completed": true, "state=failed,completed": true, "state=failed&state=completed": true, "state=failed,cancelled": false, "definition=none": false,
	} {
		list := ana.do(t, http.MethodGet, "/v1/exports?limit=100&"+narrowed, nil).want(t, http.StatusOK)
		if strings.Contains(string(list.body), id) != shown {
			t.Errorf("the list of %s shows the export: %v, want %v", narrowed, !shown, shown)
		}
	}
	if state := s.user(t, tenant, "boss", "sealift:tenant-exports").show(t, id).State; state != "completed" {
		t.Errorf("the strangers' tries left the export %s", state)
	}
}

// shape is an answer without what differs between any two: the id, and the time and number of the answer.
func shape(a answer, id string) string {
	header := a.header.Clone()
	for _, name := range []string{"Date", "Apigw-Requestid"} {
		header.Del(name)
	}
	var text strings.Builder
	_ = header.Write(&text)
	return strings.ReplaceAll(text.String()+string(a.body), id, "ID")
}
