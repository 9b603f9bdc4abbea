package command_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestTheHelpListsTheExitCodesThatThereAre(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	done := id(t, ana.ok(ask("--download", s.path("a.csv.gz"))...))
	if err := os.WriteFile(s.path("other"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	nobodys, deaf := ana, ana
	nobodys.token, deaf.endpoint = "", "http://127.0.0.1:1"
	runs := map[string]ran{
		"0":   ana.run("version"),
		"1":   ana.run(ask("--column", "fee")...),
		"2":   ana.run("export", "lst"),
		"3":   ana.run("export", "show", nobody),
		"4":   ana.run("export", "cancel", done),
		"5":   nobodys.run("export", "list"),
		"6":   deaf.run("export", "list"),
		"7":   ana.run("export", "verify", s.path("other"), "--job", done),
		"8":   ana.run("export", "verify", s.path("none"), "--job", done),
		"130": ana.runContext(stopped, "export", "list"),
	}
	for code, got := range runs {
		if strconv.Itoa(got.code) != code {
			t.Errorf("exit %d, want %s: %s", got.code, code, got.stderr)
		}
	}
	_, help, found := strings.Cut(ana.ok("--help").stdout, "Exit codes:\n")
	if !found {
		t.Fatal("the help has no list of exit codes")
	}
	list, _, _ := strings.Cut(help, "\n\n")
	lines := strings.Split(list, "\n")
	if len(lines) != len(runs) {
		t.Errorf("the help lists %d codes, want %d:\n%s", len(lines), len(runs), list)
	}
	for _, line := range lines {
		found := regexp.MustCompile(`^  (\d+) +[a-z]`).FindStringSubmatch(line)
		if found == nil {
			t.Errorf("the line %q of the help names no code", line)
			continue
		}
		if _, known := runs[found[1]]; !known {
			t.Errorf("the help lists %s, which nothing ends with", found[1])
		}
	}
}

func TestTroubleWithFilesOfThisMachineHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	done := id(t, ana.ok(ask("--watch", "--compression", "none")...))
	if err := os.Symlink("/dev/full", s.path("full.csv.part")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path("file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := ana
	key.env = map[string]string{"SEALIFT_TOKEN": "", "SEALIFT_TOKEN_FILE": s.path("none")}
	cases := map[string]struct {
		who  caller
		args []string
		says string
	}{
		"no room for the receipt":     {ana, []string{"export", "receipt", done, "--output", "/dev/full", "--force"}, "/dev/full can't be written: no space left on device; make room there"},
		"no regular file to write to": {ana, []string{"export", "download", done, "--output", s.path("full.csv")}, "full.csv.part can't be written: it is not a regular file"},
		"no folder to download to":    {ana, []string{"export", "download", done, "--output", s.path("none/x.csv")}, "the folder " + s.path("none") + " does not exist; make it, or choose another place with --output"},
		"a file where folders are":    {ana, []string{"export", "download", done, "--output", s.path("file/x.csv")}, "the folder " + s.path("file") + " does not exist"},
		"no file to verify":           {ana, []string{"export", "verify", s.path("none"), "--job", done}, "there is no file " + s.path("none")},
		"no folder of definitions":    {ana, []string{"definitions", "apply", t.TempDir()}, "has no .yaml or .yml file; name one that holds definitions"},
		"no config file":              {ana, []string{"export", "list", "--config", s.path("none")}, "the config file can't be used: there is no file " + s.path("none")},
		"no token file":               {key, []string{"export", "list"}, "the token file can't be used: there is no file " + s.path("none")},
		"no issuer key":               {ana, []string{"token", "--tenant", "a", "--subject", "b", "--issuer-key", s.path("none")}, "there is no issuer key at " + s.path("none")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.who.checkRefusal(t, c.args, 8, []string{c.says})
			if got := c.who.run(append(c.args, "--json")...); !strings.Contains(got.stderr, `"type":"/problems/file-unusable"`) {
				t.Errorf("--json: %s", got.stderr)
			}
		})
	}
}

func TestAnotherDownloadAndAFolderInTheWayAreConflicts(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	done := id(t, ana.ok(ask("--watch", "--compression", "none")...))
	if err := os.Mkdir(s.path("orders-20260329.csv"), 0o700); err != nil {
		t.Fatal(err)
	}
	ana.checkRefusal(t, []string{"export", "download", done, "--output", s.dir, "--force"}, 4, []string{"orders-20260329.csv is a folder; choose a file name with --output"})
	var second ran
	s.shelf = func(http.ResponseWriter, *http.Request, []byte) bool {
		s.shelf = nil
		second = ana.run("export", "download", done, "--output", s.path("out.csv"), "--json")
		return false
	}
	ana.ok("export", "download", done, "--output", s.path("out.csv"))
	var problem struct{ Type, Detail string }
	if err := json.Unmarshal([]byte(second.stderr), &problem); err != nil || second.code != 4 || problem.Type != "/problems/download-running" ||
		!strings.HasSuffix(problem.Detail, "another download writes to it; wait for that one or choose another name with --output") {
		t.Errorf("%v %+v", err, second)
	}
}

func TestWhoStopsWaitingForTheFileIsToldHowToFetchIt(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	ctx, stop := context.WithCancel(t.Context())
	s.onWait = stop
	file := s.path("month end.csv")
	got := ana.runContext(ctx, ask("--download", file)...)
	export := id(t, got)
	wants := []string{
		"stopped watching (context canceled); the export goes on\n", "watch it again with `sealift export watch " + export + "`",
		"once it is completed, fetch its file with `sealift export download " + export + " --output '" + file + "'`\n",
	}
	for _, want := range wants {
		if got.code != 130 || !strings.Contains(got.stderr, want) {
			t.Errorf("exit %d, stderr lacks %q:\n%s", got.code, want, got.stderr)
		}
	}
	ctx, stop = context.WithCancel(t.Context())
	s.onWait = stop
	forced := ana.runContext(ctx, ask("--download", s.path("a.csv"), "--force", "--column", "status")...)
	if want := " --output " + s.path("a.csv") + " --force`\n"; !strings.Contains(forced.stderr, want) {
		t.Errorf("stderr lacks %q:\n%s", want, forced.stderr)
	}
	s.onWait = func() { ana.run("export", "cancel", export) }
	if watched := ana.run("export", "watch", export); strings.Contains(watched.stderr, "fetch its file") {
		t.Errorf("a file is promised:\n%s", watched.stderr)
	}
}

func TestWhoStopsWaitingForAQuotaIsNotToldThatTheRequestArrived(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before int
		says   string
		never  string
	}{
		"refused each time":   {0, "stopped waiting (context canceled): the tenant has 10 unfinished exports\n  no export was asked for; run the command again\n", "may have arrived"},
		"an answer lost once": {1, "the request may have arrived; repeat it with --idempotency-key mine", "no export was asked for"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ana := withOrders(t)
			ctx, stop := context.WithCancel(t.Context())
			asked := 0
			s.gate = func(w http.ResponseWriter, _ *http.Request) bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				if asked++; asked <= c.before {
					panic(http.ErrAbortHandler)
				}
				s.onWait = stop
				w.Header().Set("Retry-After", "8")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = w.Write([]byte(`{"type":"/problems/active-jobs-exceeded","detail":"the tenant has 10 unfinished exports"}`))
				return true
			}
			got := ana.runContext(ctx, ask("--idempotency-key", "mine")...)
			if got.code != 130 || !strings.Contains(got.stderr, c.says) || strings.Contains(got.stderr, c.never) {
				t.Errorf("exit %d, %q; want %q and not %q", got.code, got.stderr, c.says, c.never)
			}
		})
	}
}

func TestAnOptionThatIsGivenAsEmptyTextIsRefused(t *testing.T) {
	t.Parallel()
	_, ana := withOrders(t)
	done := id(t, ana.ok(ask("--watch")...))
	cases := map[string]struct {
		args  []string
		takes string
	}{
		"quote":       {ask("--quote", ""), "  --quote string   csv: \" or ' (default \")\n"},
		"delimiter":   {ask("--delimiter="), "  --delimiter string   csv: comma, semicolon, tab or pipe, or the character itself (default comma)\n"},
		"format":      {ask("--format", ""), "  --format string   csv, jsonl, xlsx or parquet; the definition's first when not given\n"},
		"compression": {ask("--compression", ""), "zstd or none; parquet: zstd, snappy or none; "},
		"zone":        {ask("--zone", ""), "as in Asia/Shanghai (default UTC)\n"},
		"to":          {ask("--to", ""), "  --to string   day or business time until which rows are wanted, exclusive; the cutoff when not given\n"},
		"purpose":     {ask("--purpose", ""), "  --purpose string   what the export is for\n"},
		"filter":      {ask("--filter", "status=paid", "--filter", ""), "  --filter stringArray   filter, as explained above"},
		"download":    {ask("--download", ""), "wait for the end and download to this file or folder\n"},
		"output":      {[]string{"export", "download", done, "--output", ""}, "  --output string   file or folder to write to; "},
		"cursor":      {[]string{"export", "list", "--cursor", ""}, "begin after the page that gave this next_cursor\n"},
		"definition":  {[]string{"export", "list", "--definition", ""}, "only exports of this definition\n"},
		"state":       {[]string{"export", "list", "--state", ""}, "only exports in one of these states"},
		"reason":      {[]string{"export", "revoke", done, "--reason", ""}, "why, in your own words"},
		"role":        {[]string{"token", "--tenant", "a", "--subject", "b", "--role", ""}, "role of the user"},
		"endpoint":    {[]string{"export", "list", "--endpoint", ""}, "address of the API (default http://127.0.0.1:4000)\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ana.checkRefusal(t, c.args, 2, []string{"sealift: --" + name + " is empty; give it a value, or leave it out\n", c.takes, "  see `sealift "})
		})
	}
	if got := ana.run(ask("--quote", "", "--zone", "")...); strings.Count(got.stderr, " is empty; ") != 2 {
		t.Errorf("not both are told: %s", got.stderr)
	}
	ana.ok(ask("--null", "", "--dry-run")...)
}
