package command_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listing makes the API list exports, of which each has its state and definition in one word, in pages as they are asked
// for. Every page takes as long as it is told to.
func (s *service) listing(takes time.Duration, words ...string) {
	s.gate = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/exports" {
			return false
		}
		s.world.Clock.Advance(takes)
		first, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		last := min(first+limit, len(words))
		bodies := []json.RawMessage{}
		for i, word := range words[first:last] {
			state, definition, _ := strings.Cut(word, "/")
			revoked := ""
			if state == "revoked" {
				state, revoked = "expired", `,"revoked_at":"2026-03-29T00:00:00.000Z"`
			}
			bodies = append(bodies, json.RawMessage(fmt.Sprintf(`{"id":"%d","state":%q,"definition":%q%s}`, first+i, state, definition, revoked)))
		}
		page := map[string]any{"exports": bodies, "next_cursor": nil}
		if last < len(words) {
			page["next_cursor"] = strconv.Itoa(last)
		}
		_ = json.NewEncoder(w).Encode(page)
		return true
	}
}

// listed are the numbers of the exports that a table lists.
func listed(table string) []string {
	var ids []string
	for line := range strings.Lines(table) {
		ids = append(ids, strings.Fields(line)[0])
	}
	return ids[1:]
}

func TestAListingIsOfWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	s.listing(0, "running/orders", "failed/orders", "failed/refunds", "completed/orders", "revoked/orders", "expired/orders", "failed/orders")
	cases := map[string]struct {
		args []string
		want []string
		told string
	}{
		"a state":              {[]string{"--state", "failed"}, []string{"1", "2", "6"}, ""},
		"two states":           {[]string{"--state", "running,completed"}, []string{"0", "3"}, ""},
		"two times a state":    {[]string{"--state", "running", "--state", "completed"}, []string{"0", "3"}, ""},
		"as the list shows it": {[]string{"--state", "revoked"}, []string{"4"}, ""},
		"and not otherwise":    {[]string{"--state", "expired"}, []string{"5"}, ""},
		"a definition":         {[]string{"--definition", "refunds"}, []string{"2"}, ""},
		"both":                 {[]string{"--definition", "orders", "--state", "failed", "--all"}, []string{"1", "6"}, ""},
		"none":                 {[]string{"--definition", "other"}, []string{}, "looked at 7 exports and found none\n"},
		"the first":            {[]string{"--state", "failed", "--limit", "1"}, []string{"1"}, "there may be more; see them with --all, or go on with --cursor 2\n"},
		"the last":             {[]string{"--state", "failed", "--limit", "3"}, []string{"1", "2", "6"}, ""},
		"on from there":        {[]string{"--state", "failed", "--cursor", "2"}, []string{"2", "6"}, ""},
		"without":              {[]string{"--limit", "2"}, []string{"0", "1"}, "there are more; see them with --all, or go on with --cursor 2\n"},
	}
	for name, c := range cases {
		got := ana.ok(append([]string{"export", "list"}, c.args...)...)
		if diff := cmp.Diff(c.want, listed(got.stdout)); diff != "" && len(c.want)+len(listed(got.stdout)) > 0 || got.stderr != c.told {
			t.Errorf("%s: %q (-want +got):\n%s", name, got.stderr, diff)
		}
	}
	got := ana.ok("export", "list", "--state", "failed", "--limit", "2", "--json")
	if want := `{"exports":[{"id":"1","state":"failed","definition":"orders"},{"id":"2","state":"failed","definition":"refunds"}],"next_cursor":"3"}`; strings.Join(strings.Fields(got.stdout), "") != want {
		t.Errorf("%s", got.stdout)
	}
}

func TestAListingLooksThroughEveryPage(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	words := slices.Repeat([]string{"completed/orders"}, 1000)
	want := []string{"150", "155", "799", "999"}
	for _, id := range want {
		at, _ := strconv.Atoi(id)
		words[at] = "failed/orders"
	}
	s.listing(time.Second, words...)
	before := len(s.asked)
	got := ana.ok("export", "list", "--state", "failed")
	if diff := cmp.Diff(want, listed(got.stdout)); diff != "" || len(s.asked)-before != 10 {
		t.Errorf("%d requests (-want +got):\n%s", len(s.asked)-before, diff)
	}
	if !strings.HasPrefix(got.stderr, "looked at 200 exports, 2 found\n") || !strings.Contains(got.stderr, "looked at 800 exports, 3 found\n") {
		t.Errorf("%q", got.stderr)
	}
	if quiet := ana.ok("export", "list", "--state", "failed", "--json"); quiet.stderr != "" {
		t.Errorf("--json: %q", quiet.stderr)
	}
	ana.width = 80
	if drawn := ana.ok("export", "list", "--all"); !strings.HasPrefix(drawn.stderr, "\r200 exports so far\x1b[K") || !strings.HasSuffix(drawn.stderr, "\r\x1b[K") {
		t.Errorf("%q", drawn.stderr)
	}
	s.listing(0, words...)
	// Whoever goes on behind each answer sees every one of them once.
	var seen []string
	for args := []string{"export", "list", "--state", "failed", "--limit", "1", "--json"}; ; {
		page := ana.ok(args...)
		var answer struct {
			Exports []struct{ ID string }
			Next    *string `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(page.stdout), &answer); err != nil {
			t.Fatal(err)
		}
		for _, e := range answer.Exports {
			seen = append(seen, e.ID)
		}
		if answer.Next == nil || len(seen) > len(want) {
			break
		}
		args = append(args, "--cursor", *answer.Next)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("one after the other (-want +got):\n%s", diff)
	}
}

func TestAListingOfNothingThatThereIsIsRefused(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	before := len(s.asked)
	ana.checkRefusal(t, []string{"export", "list", "--state", "done"}, 2, []string{`--state is "done"; allowed are queued, running, publishing, completed, failed, cancelled, expired, revoked`})
	ana.checkRefusal(t, []string{"export", "list", "--state", ","}, 2, []string{`--state is ""; allowed are queued, `})
	ana.checkRefusal(t, []string{"export", "list", "--definition", "No pe"}, 2, []string{`no definition can have the name "No pe"`, "`sealift definitions list`"})
	if len(s.asked) != before {
		t.Errorf("asked %v", s.asked[before:])
	}
}

func TestACursorAmidAPageIsTheServicesOwn(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	var want []string
	for n := range 6 {
		export := id(t, ana.ok(ask("--file-name", "n"+strconv.Itoa(n))...))
		if s.world.Clock.Advance(time.Second); n%2 == 0 {
			ana.ok("export", "cancel", export)
			want = append([]string{export}, want...)
		}
	}
	first := ana.ok("export", "list", "--state", "cancelled", "--limit", "2")
	cursor := regexp.MustCompile(`--cursor (\S+)\n`).FindStringSubmatch(first.stderr)
	if diff := cmp.Diff(want[:2], listed(first.stdout)); diff != "" || cursor == nil {
		t.Fatalf("%q (-want +got):\n%s", first.stderr, diff)
	}
	rest := ana.ok("export", "list", "--state", "cancelled", "--limit", "2", "--cursor", cursor[1])
	if diff := cmp.Diff(want[2:], listed(rest.stdout)); diff != "" || rest.stderr != "" {
		t.Errorf("%q (-want +got):\n%s", rest.stderr, diff)
	}
}
