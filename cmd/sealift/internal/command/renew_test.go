package command_test

import (
	"net/http"
	"os"
	"testing"
)

// A token lives for an hour and an export may take longer: whoever renews the file keeps on watching.
func TestATokenFileIsReadAgainWhenTheTokenIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		renewed bool
		code    int
		calls   int
	}{
		"renewed":     {true, 0, 2},
		"not renewed": {false, 5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			file := s.path("token")
			write := func(token string) { s.must(os.WriteFile(file, []byte(token+"\n"), 0o600)) }
			write("old")
			calls := 0
			s.gate = func(w http.ResponseWriter, r *http.Request) bool {
				calls++
				if r.Header.Get("Authorization") != "Bearer old" {
					return false
				}
				if c.renewed {
					write(s.token("acme", "ana"))
				}
				w.Header().Set("Www-Authenticate", `Bearer error="invalid_token" error_description="the token has expired"`)
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}
			ana := s.as("ana")
			ana.env = map[string]string{"SEALIFT_TOKEN": "", "SEALIFT_TOKEN_FILE": file}
			if got := ana.run("export", "list"); got.code != c.code || calls != c.calls {
				t.Errorf("%d calls, want %d: %+v", calls, c.calls, got)
			}
		})
	}
}
