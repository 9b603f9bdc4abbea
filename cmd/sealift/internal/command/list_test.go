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

	"sealift/shared/job"
)

// looksThrough is how many exports the tests' API looks through for one page.
const looksThrough = 300

// listing makes the API list exports, of which each has its state and definition in one word, in pages as they are asked
// for; one that is unreadable has no more than that word. Every page takes as long as it is told to.
func (s *service) listing(takes time.Duration, words ...string) {
	s.gate = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/exports" {
			return false
		}
		s.world.Clock.Advance(takes)
		asked := r.URL.Query()
		first, _ := strconv.Atoi(asked.Get("cursor"))
		limit, _ := strconv.Atoi(asked.Get("limit"))
		page := map[string]any{"exports": []any{}, "next_cursor": nil}
		bodies, unread := []any{}, []any{}
		last := first
		for i := first; i < len(words); i++ {
			state, definition, _ := strings.Cut(words[i], "/")
			said := ""
			if state == "revoked" {
				state, said = "expired", `,"revoked_at":"2026-03-29T00:00:00.000Z"`
			}
			fits := (asked.Get("state") == "" || slices.Contains(strings.Split(asked.Get("state"), ","), state)) &&
				(asked.Get("definition") == "" || asked.Get("definition") == definition)
			if (fits || state == "unreadable") && len(bodies)+len(unread) == limit || i == first+looksThrough {
				page["next_cursor"] = strconv.Itoa(last)
				break
			}
			switch {
			case state == "unreadable":
				unread = append(unread, map[string]any{"record": strconv.Itoa(i), "type": "/problems/ledger-row-malformed", "detail": "job row: field shards is not of its type"})
				last = i + 1
			case fits:
				bodies = append(bodies, json.RawMessage(fmt.Sprintf(`{"id":"%d","state":%q,"definition":%q%s}`, i, state, definition, said)))
				last = i + 1
			case len(bodies)+len(unread) < limit:
				last = i + 1
			}
		}
		page["exports"] = bodies
		if len(unread) > 0 {
			page["unreadable"] = unread
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
		"none":                 {[]string{"--definition", "other"}, []string{}, "found none\n"},
		"the first":            {[]string{"--state", "failed", "--limit", "1"}, []string{"1"}, "there may be more; see them with --all, or go on with --cursor 2\n"},
		"the last":             {[]string{"--state", "failed", "--limit", "3"}, []string{"1", "2", "6"}, ""},
		"revoked and expired":  {[]string{"--state", "revoked,expired"}, []string{"4", "5"}, ""},
		"of more than one":     {[]string{"--state", "revoked,failed", "--limit", "3"}, []string{"1", "2", "4"}, "there may be more; see them with --all, or go on with --cursor 5\n"},
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

func TestAListingGoesOnUntilThereIsEnough(t *testing.T) {
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
	got := ana.ok("export", "list", "--state", "failed", "--definition", "orders")
	if diff := cmp.Diff(want, listed(got.stdout)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The service looks through what it is asked for; pages without an export are gone over.
	if asked := s.asked[before:]; len(asked) != 4 || asked[0] != "GET /v1/exports?definition=orders&limit=20&state=failed" || asked[1] != "GET /v1/exports?cursor=300&definition=orders&limit=18&state=failed" {
		t.Errorf("asked %q", asked)
	}
	if got.stderr != "2 exports found so far\n" {
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

func TestAListingSaysWhatTheServiceCanNotRead(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	s.listing(0, "failed/orders", "unreadable", "revoked/orders", "unreadable", "expired/orders", "unreadable", "revoked/orders", "revoked/orders")
	line := func(id string) string {
		return id + " can't be read by the service: job row: field shards is not of its type; tell the operator\n"
	}
	got := ana.ok("export", "list", "--definition", "orders")
	if want := line("1") + line("3") + line("5"); got.stderr != want || len(listed(got.stdout)) != 5 {
		t.Errorf("%s%s", got.stdout, got.stderr)
	}
	got = ana.ok("export", "list", "--state", "failed", "--json")
	unread := func(id string) string {
		return `{"record":"` + id + `","type":"/problems/ledger-row-malformed","detail":"job row: field shards is not of its type"}`
	}
	if want := `"unreadable":[` + unread("1") + `,` + unread("3") + `,` + unread("5") + `]`; !strings.Contains(got.stdout, want) {
		t.Errorf("%s lacks %s", got.stdout, want)
	}
	// What was revoked is found among what is expired; the cursor of a page that is cut leaves none of it out.
	first := ana.ok("export", "list", "--state", "revoked", "--limit", "2")
	if want := line("1") + line("3") + line("5") + "there may be more; see them with --all, or go on with --cursor 7\n"; first.stderr != want {
		t.Errorf("%q, want %q", first.stderr, want)
	}
	rest := ana.ok("export", "list", "--state", "revoked", "--cursor", "7")
	if diff := cmp.Diff([][]string{{"2", "6"}, {"7"}}, [][]string{listed(first.stdout), listed(rest.stdout)}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOtherTablesSayWhatTheServiceCanNotRead(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	export := id(t, ana.ok(ask()...))
	s.world.Ledger.Rewrite(job.UnitKey(export, job.PlanID), "faults", "few")
	s.world.Ledger.Rewrite(job.EventKey(export, 1, ""), "at_ms", "noon")
	s.world.Ledger.Rewrite(job.DefinitionHeadKey("orders"), "schema", int64(job.Schema+1))
	ops := s.as("ops", "sealift:operator")
	for _, c := range []struct {
		got  ran
		says string
	}{
		{ana.ok("export", "show", export), "unreadable       unit plan: unit row: field faults is not of its type; tell the operator\n"},
		{ana.ok("export", "events", export), "event 0000000001 can't be read by the service: audit row: field at_ms is not of its type; tell the operator\n"},
		{ana.ok("export", "events", export, "--json"), `"record":"0000000001"`},
		{ops.ok("definitions", "list"), "definition orders can't be read by the service: definition row: the row has schema 2, this release reads 1: "},
		{ops.ok("definitions", "list", "--json"), `"record":"orders"`},
	} {
		if !strings.Contains(c.got.stdout+c.got.stderr, c.says) {
			t.Errorf("%s%s\nlacks %s", c.got.stdout, c.got.stderr, c.says)
		}
	}
}

func TestACursorOfAnotherListingIsRefusedInTheFlagsWords(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	for n := range 2 {
		ana.ok(ask("--file-name", "n"+strconv.Itoa(n))...)
		s.world.Clock.Advance(time.Second)
	}
	cursor := regexp.MustCompile(`--cursor (\S+)\n`).FindStringSubmatch(ana.ok("export", "list", "--state", "queued", "--limit", "1").stderr)[1]
	ana.checkRefusal(t, []string{"export", "list", "--cursor", cursor}, 1, []string{"--cursor is the next_cursor of a listing with another state or definition"})
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
