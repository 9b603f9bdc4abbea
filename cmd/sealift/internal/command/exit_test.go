package command_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

const nobody = "exp_00000000000000000000000000"

func TestExitCodesAndWhatToDo(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	done := id(t, ana.ok(ask("--watch", "--idempotency-key", "k1")...))
	bob := s.as("bob")
	expired := ana
	expired.token = s.token("acme", "ana", "x")
	forged := ana
	forged.token = ana.token[:len(ana.token)-4] + "AAAA"
	none := ana
	none.token = ""
	deaf := ana
	deaf.endpoint = "http://127.0.0.1:1"
	far := ana
	far.endpoint = "http://exports.example.com"
	ops := s.as("ops", "sealift:operator")
	write := func(name, text string) string {
		if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.path(name)
	}
	taken, empty := write("taken.csv.gz", "something else"), t.TempDir()
	cases := map[string]struct {
		who  caller
		args []string
		code int
		says []string
	}{
		"no such command":            {ana, []string{"exprot"}, 2, []string{`"exprot" is not a command of `, "export"}},
		"no such subcommand":         {ana, []string{"export", "lst"}, 2, []string{"did you mean list?"}},
		"no such flag":               {ana, []string{"export", "list", "--limt", "3"}, 2, []string{"unknown flag: --limt", "see `sealift export list --help`"}},
		"flag of a wrong kind":       {ana, []string{"export", "list", "--limit", "x"}, 2, []string{"--limit"}},
		"limit of nothing":           {ana, []string{"export", "list", "--limit", "0"}, 2, []string{"allowed are 1 to 1000, or give --all"}},
		"limit of too many":          {ana, []string{"export", "list", "--limit", "99999"}, 2, []string{"--limit is 99999; allowed are 1 to 1000"}},
		"limit beside all":           {ana, []string{"export", "list", "--limit", "5", "--all"}, 2, []string{"--limit and --all can't go together"}},
		"too many arguments":         {ana, []string{"export", "show", "a", "b"}, 2, []string{"takes the ID of an export, but 2 arguments are given"}},
		"too many arguments by one":  {ana, []string{"definitions", "show"}, 2, []string{"takes a NAME, but 0 arguments are given"}},
		"one argument for none":      {ana, []string{"export", "verify"}, 2, []string{"takes a PATH, but 0 arguments are given"}},
		"byte order mark elsewhere":  {ana, ask("--bom", "--encoding", "gb18030"), 1, []string{"sealift: --bom is true; a byte order mark is for utf-8, and --encoding is gb18030\n"}},
		"a cursor that is none":      {ana, []string{"export", "list", "--cursor", "x"}, 1, []string{"sealift: --cursor is not a next_cursor of this listing; send it as it was given"}},
		"a reason that is too long":  {ana, []string{"export", "cancel", done, "--reason", strings.Repeat("x", 5000)}, 1, []string{"sealift: --reason: the body must be empty or", "a reason of at most"}},
		"not an id":                  {ana, []string{"export", "show", "../definitions"}, 2, []string{"is not the id of an export"}},
		"no definition":              {ana, []string{"export", "create", "--purpose", "x"}, 2, []string{"--definition is missing"}},
		"filter without operator":    {ana, ask("--filter", "status"), 2, []string{"has no operator", "column=text"}},
		"empty column":               {ana, ask("--column", ""), 2, []string{"--column is empty; give it a value, or leave it out", "all when not given"}},
		"empty column among others":  {ana, ask("--column", "order_id,,status"), 2, []string{"--column has an empty name", "leave the flag out for all"}},
		"empty value in a list":      {ana, ask("--filter", "status in paid,"), 2, []string{"has an empty value in its list"}},
		"no time":                    {ana, ask("--to", "tomorrow"), 2, []string{`--to is "tomorrow"; give a day, as in 2026-01-31`}},
		"request beside flags":       {ana, ask("--request", "-"), 2, []string{"--request and --definition can't go together"}},
		"dry run and download":       {ana, ask("--dry-run", "--download", "x"), 2, []string{"--dry-run and --download can't go together"}},
		"request file is missing":    {ana, []string{"export", "create", "--request", s.path("none")}, 8, []string{"sealift: there is no file " + s.path("none") + "\n"}},
		"verify without receipt":     {ana, []string{"export", "verify", taken}, 2, []string{"give --receipt FILE or --job ID"}},
		"verify with two receipts":   {ana, []string{"export", "verify", taken, "--receipt", "x", "--job", done}, 2, []string{"--receipt and --job can't go together"}},
		"verify no file":             {ana, []string{"export", "verify", s.path("none"), "--job", done}, 8, []string{"sealift: there is no file " + s.path("none") + "\n"}},
		"verify an empty folder":     {ana, []string{"export", "verify", empty, "--job", done}, 7, []string{empty + " is not all that export " + done + " published"}},
		"no receipt file":            {ana, []string{"export", "verify", taken, "--receipt", s.path("none")}, 8, []string{"there is no file " + s.path("none") + "; save one with"}},
		"receipt into no folder":     {ana, []string{"export", "receipt", done, "--output", s.path("none/r.json")}, 8, []string{"none/r.json can't be written: its folder does not exist; choose another place for the receipt with --output"}},
		"no definition file":         {ana, []string{"definitions", "apply", s.path("none")}, 8, []string{"sealift: there is no file " + s.path("none") + "; name YAML files"}},
		"download to stdout":         {ana, []string{"export", "download", done, "--output", "-"}, 2, []string{"--output - : a download is checked before it gets its name, so it needs a file", "--link"}},
		"create to stdout":           {ana, ask("--download", "-"), 2, []string{"--download - : a download is checked"}},
		"create into no folder":      {ana, ask("--download", s.path("none/x.csv")), 8, []string{"the folder " + s.path("none") + " does not exist; make it, or choose another place with --download"}},
		"purpose is missing":         {ana, []string{"export", "create", "--definition", "orders", "--from", "2026-01-01"}, 1, []string{"--purpose is missing; say what the export is for"}},
		"from is missing":            {ana, []string{"export", "create", "--definition", "orders", "--purpose", "x"}, 1, []string{"--from is missing", "a day such as 2026-01-31 is allowed too"}},
		"column without filters":     {ana, ask("--filter", "note=x"), 1, []string{`--filter 'note=x': the comparison is "="; column note can't be filtered`}},
		"token without tenant":       {ana, []string{"token", "--subject", "x"}, 2, []string{"--tenant is missing"}},
		"endpoint is no address":     {ana, []string{"export", "list", "--endpoint", "127.0.0.1:4000"}, 2, []string{"is not an address", "scheme, host and port", "did you mean http://127.0.0.1:4000?"}},
		"endpoint is only a port":    {ana, []string{"export", "list", "--endpoint", ":4566"}, 2, []string{"did you mean http://127.0.0.1:4566?"}},
		"endpoint without scheme":    {ana, []string{"export", "list", "--endpoint", "exports.example.com:443"}, 2, []string{"did you mean https://exports.example.com:443?"}},
		"endpoint is a word":         {ana, []string{"export", "list", "--endpoint", "prod"}, 2, []string{"--endpoint, SEALIFT_ENDPOINT or the config file"}},
		"token over foreign http":    {far, []string{"export", "list"}, 2, []string{"unencrypted", "--allow-http"}},
		"two tokens":                 {ana, []string{"export", "list", "--token", "a", "--token-file", "b"}, 2, []string{"give one of them"}},
		"unknown column":             {ana, ask("--column", "order_id,fee"), 1, []string{`--column "fee": definition orders has no such column; allowed are order_id`, "(400 column-unknown, POST /v1/exports)"}},
		"unknown columns":            {ana, ask("--column", "order_id, fee,tax", "--filter", "vat=1"), 1, []string{`sealift: --column " fee", --column "tax", --filter 'vat=1': definition orders has no such columns; allowed are order_id`}},
		"cutoff that is to come":     {ana, ask("--as-of", "2030-01-01"), 1, []string{"so a snapshot can't be of a later time\n"}},
		"no boolean":                 {ana, ask("--filter", "gift=yes"), 1, []string{"--filter 'gift=yes': the value is", "the column is boolean, so send true or false"}},
		"unknown layout":             {ana, ask("--layout", "folder"), 1, []string{`--layout is "folder"; allowed are file (one file) and files`}},
		"span too wide":              {ana, ask("--to", "2027-02-01"), 1, []string{"the time between --from and --to covers", "span-too-wide", "366"}},
		"not JSON":                   {ana.with("{"), []string{"export", "create", "--request", "-"}, 1, []string{"the middle of its JSON"}},
		"receipt is no receipt":      {ana, []string{"export", "verify", taken, "--receipt", taken}, 7, []string{taken + ": the receipt can't be read"}},
		"no such export":             {ana, []string{"export", "show", nobody}, 3, []string{"404"}},
		"somebody else's export":     {bob, []string{"export", "show", done}, 3, []string{"404"}},
		"somebody else's file":       {bob, []string{"export", "download", done}, 3, []string{"404"}},
		"apply by no operator":       {ana, []string{"definitions", "apply", "testdata"}, 3, []string{"sealift:operator"}},
		"no such definition":         {ana, []string{"definitions", "show", "nope"}, 3, []string{"sealift: there is no definition \"nope\", or not in that version\n", "\n  see those that there are with `sealift definitions list`\n"}},
		"no definition of that name": {ana, []string{"definitions", "show", "No pe"}, 3, []string{"see those that there are with `sealift definitions list`"}},
		"no such definition version": {ops, []string{"definitions", "show", "orders", "--version", "9"}, 3, []string{"404"}},
		"cancel what is done":        {ana, []string{"export", "cancel", done}, 4, []string{"409", "completed", "end its delivery with `sealift export revoke " + done + "`"}},
		"key used for another":       {ana, ask("--idempotency-key", "k1", "--column", "status"), 4, []string{"--idempotency-key k1 was used in your tenant for another request; give a new one, or repeat that request", "422 idempotency-key-reused"}},
		"key that is empty":          {ana, ask("--idempotency-key", ""), 2, []string{"--idempotency-key is empty; give it a value, or leave it out", "random when not given"}},
		"key beyond ASCII":           {ana, ask("--idempotency-key", "schlüssel"), 1, []string{"--idempotency-key has to be 1 to 255 printable ASCII characters", "400 idempotency-key-malformed"}},
		"unknown definition":         {ana, []string{"export", "create", "--definition", "odrers", "--purpose", "x", "--from", "2026-01-01"}, 1, []string{"--definition odrers: there is none of this name", "`sealift definitions list`"}},
		"file in the way":            {ana, []string{"export", "download", done, "--output", taken}, 4, []string{"exists already; choose another name with --output", "--force"}},
		"file in the way of create":  {ana, ask("--download", taken), 4, []string{"exists already; choose another name with --download, or replace it with --force"}},
		"receipt in the way":         {ana, []string{"export", "download", done, "--output", s.path("new"), "--receipt", taken}, 4, []string{"choose another name with --receipt"}},
		"no token":                   {none, []string{"export", "list"}, 5, []string{"has no token", "SEALIFT_TOKEN", "sealift token"}},
		"forged token":               {forged, []string{"export", "list"}, 5, []string{"the token is invalid"}},
		"nobody answers":             {deaf, []string{"export", "list"}, 6, []string{"nobody answers at http://127.0.0.1:1", "make up", "--endpoint"}},
		"another file":               {ana, []string{"export", "verify", taken, "--job", done}, 7, []string{"is not the file that export " + done + " published"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.who.checkRefusal(t, c.args, c.code, c.says)
		})
	}
}

// checkRefusal runs a command that must fail, for people and as JSON, and show no secret.
func (c caller) checkRefusal(t *testing.T, args []string, code int, says []string) {
	t.Helper()
	got := c.run(args...)
	if got.code != code {
		t.Errorf("exit %d, want %d\n%s%s", got.code, code, got.stdout, got.stderr)
	}
	for _, want := range says {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, got.stderr)
		}
	}
	if !strings.HasPrefix(got.stderr, "sealift: ") {
		t.Errorf("stderr begins otherwise: %q", got.stderr)
	}
	for _, secret := range []string{c.token, "secret-link"} {
		if secret != "" && strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("the output shows a secret: %s%s", got.stdout, got.stderr)
		}
	}
	got = c.run(append([]string{"--json"}, args...)...)
	var problem struct{ Type, Title string }
	if err := json.Unmarshal([]byte(got.stderr), &problem); err != nil || problem.Type == "" || got.code != code {
		t.Errorf("--json: exit %d, %v in %q", got.code, err, got.stderr)
	}
}

func (c caller) with(stdin string) caller {
	c.stdin = stdin
	return c
}

func TestAnExpiredTokenIsExplained(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	s.world.Clock.Advance(25 * time.Hour)
	got := ana.run("export", "list")
	if got.code != 5 || !strings.Contains(got.stderr, "does not accept the token: the token has expired") || !strings.Contains(got.stderr, "sealift token") {
		t.Errorf("%+v", got)
	}
}

func TestAServiceThatIsBusyIsAskedAgainAsItWishes(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	refusals := 2
	s.gate = func(w http.ResponseWriter, _ *http.Request) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if refusals == 0 {
			return false
		}
		refusals--
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	before := s.world.Clock.Now()
	ana.ok("export", "list")
	if took := s.world.Clock.Now().Sub(before); took < 14*time.Second || took > 20*time.Second {
		t.Errorf("two pauses took %s, want 14 s and some jitter", took)
	}
	refusals = 100
	if got := ana.run("export", "list"); got.code != 6 || !strings.Contains(got.stderr, "try again later") || refusals != 95 {
		t.Errorf("%+v, %d refusals left", got, refusals)
	}
}

func TestALostAnswerToCreateMakesNoSecondExport(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	lose := true
	inner := s.api.Config.Handler
	s.api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		now := lose && r.Method == http.MethodPost
		lose = lose && !now
		s.mu.Unlock()
		if now {
			inner.ServeHTTP(discard{http.Header{}}, r)
			panic(http.ErrAbortHandler)
		}
		inner.ServeHTTP(w, r)
	})
	got := ana.ok(ask()...)
	if !strings.Contains(got.stdout, "was asked for before under this key") {
		t.Errorf("%+v", got)
	}
	if list := ana.ok("export", "list"); strings.Count(list.stdout, "\n") != 2 {
		t.Errorf("list:\n%s", list.stdout)
	}
}

// discard is an answer that gets lost.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func TestAnUncertainCreateSaysHowToRepeatIt(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	s.gate = func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	got := ana.run(ask("--idempotency-key", "mine")...)
	if got.code != 6 || !strings.Contains(got.stderr, "repeat it with --idempotency-key mine") {
		t.Errorf("%+v", got)
	}
}

func TestWatchEndsAsTheExportDoes(t *testing.T) {
	t.Parallel()
	t.Run("cancelled is 4", func(t *testing.T) {
		t.Parallel()
		s, ana := withOrders(t)
		export := id(t, ana.ok(ask()...))
		s.onWait = func() { ana.run("export", "cancel", export, "--reason", "not needed") }
		got := ana.run("export", "watch", export)
		if got.code != 4 || !strings.Contains(got.stderr, "is cancelled and has no file") {
			t.Errorf("%+v", got)
		}
		if again := ana.ok("export", "cancel", export); !strings.Contains(again.stdout, "is cancelled") {
			t.Errorf("again: %+v", again)
		}
	})
	t.Run("failed is 1", func(t *testing.T) {
		t.Parallel()
		s, ana := withOrders(t)
		export := id(t, ana.ok(ask()...))
		if err := os.Remove(s.path("shop.db")); err != nil {
			t.Fatal(err)
		}
		got := ana.run("export", "watch", export)
		why := "the SQLite file " + s.path("shop.db") + " isn't there; check the path in the connection's secret"
		if got.code != 1 || !strings.Contains(got.stderr, "export "+export+" failed: "+why+" (source_denied)\n") || !strings.Contains(got.stderr, "sealift export events") {
			t.Errorf("%+v", got)
		}
		if told := ana.ok("export", "events", export); !strings.Contains(told.stdout, "queued > failed  source_denied, unit=plan: "+why+"\n") {
			t.Errorf("events do not say why:\n%s", told.stdout)
		}
	})
	t.Run("interrupted is 130 and leaves the export alone", func(t *testing.T) {
		t.Parallel()
		s, ana := withOrders(t)
		export := id(t, ana.ok(ask()...))
		ctx, stop := context.WithCancel(t.Context())
		s.onWait = stop
		got := ana.runContext(ctx, "export", "watch", export)
		if got.code != 130 || !strings.Contains(got.stderr, "watch it again with `sealift export watch "+export+"`") {
			t.Errorf("%+v", got)
		}
		s.onWait = nil
		ana.ok("export", "watch", export)
	})
}

func TestWatchOnATerminalDrawsOneLine(t *testing.T) {
	t.Parallel()
	_, ana := withOrders(t)
	ana.width = 100
	got := ana.ok(ask("--watch")...)
	for _, want := range []string{"\rrunning: starting\x1b[K", "[#########...............] running: 40%, 1,000 rows of about 2,500", " rows/s, about ", " left", "] finishing: 2,500 rows are written\x1b[K"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q: %q", want, got.stderr)
		}
	}
	if !strings.HasSuffix(got.stderr, "\r\x1b[K") || strings.Contains(got.stderr, "\n") {
		t.Errorf("the line is not taken away: %q", got.stderr)
	}
}

func TestWatchAsksWithTheTagItHas(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	export := id(t, ana.ok(ask()...))
	unchanged := 0
	inner := s.api.Config.Handler
	s.api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if r.Header.Get("If-None-Match") != "" {
			unchanged++
		}
		s.mu.Unlock()
		inner.ServeHTTP(w, r)
	})
	ana.ok("export", "watch", export)
	if unchanged < 3 {
		t.Errorf("%d requests had a tag", unchanged)
	}
}
