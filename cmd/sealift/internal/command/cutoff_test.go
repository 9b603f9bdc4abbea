package command_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestASpanThatTheCutoffEndsIsSaid(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	request := `{"definition":"orders","purpose":"test","span":{"from":"2026-01-01T00:00:00Z","to":"2026-05-01T00:00:00Z"}}`
	cases := map[string]struct {
		who   caller
		args  []string
		says  string
		words string
	}{
		"by now":            {ana, ask("--to", "2026-05-01"), "--to (2026-05-01) is after the cutoff; the span ends at ", ""},
		"by a cutoff":       {ana, ask("--to", "2026-03-01", "--as-of", "2026-02-01"), "--to (2026-03-01) is after the cutoff; the span ends at 2026-02-01T00:00:00Z\n", ""},
		"in another zone":   {ana, ask("--to", "2026-05-01", "--zone", "Asia/Shanghai"), "--to (2026-05-01) is after the cutoff; the span ends at 2026-03-", ""},
		"of a request":      {ana.with(request), []string{"export", "create", "--request", "-"}, "/span/to (2026-05-01T00:00:00Z) is after the cutoff; the span ends at 2026-03-", ""},
		"not cut":           {ana, ask("--to", "2026-02-01"), "", "cutoff"},
		"at the cutoff":     {ana, ask("--to", "2026-02-01", "--as-of", "2026-02-01"), "", "cutoff"},
		"without an end":    {ana, ask("--column", "status"), "", "cutoff"},
		"at any other time": {ana, ask("--to", "2026-02-01T00:00:00+08:00"), "", "cutoff"},
	}
	for name, c := range cases {
		for _, more := range [][]string{nil, {"--dry-run"}, {"--watch"}} {
			got := c.who.ok(append(c.args, more...)...)
			if strings.Count(got.stderr, c.says) != 1 && c.says != "" || c.words != "" && strings.Contains(got.stderr, c.words) {
				t.Errorf("%s %v: stderr %q, want %q", name, more, got.stderr, c.says)
			}
		}
	}
	now := s.world.Clock.Now()
	var e struct {
		Request struct{ Span struct{ To time.Time } }
	}
	got := ana.ok(ask("--to", "2026-06-01", "--json")...)
	if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || got.stderr != "" || e.Request.Span.To.Before(now.Add(-time.Minute)) || e.Request.Span.To.After(now) {
		t.Errorf("--json: %v, request.span.to is %s and now %s; stderr %q", err, e.Request.Span.To, now, got.stderr)
	}
}
