package command_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dustin/go-humanize"
)

// big is an export whose file is large enough to be cut.
func big(t *testing.T) (*service, caller, string) {
	t.Helper()
	s, ana := withOrders(t)
	return s, ana, id(t, ana.ok(ask("--watch", "--compression", "none")...))
}

func (s *service) stored(t *testing.T) []byte {
	t.Helper()
	var found []byte
	objects, err := s.world.Store.Objects(t.Context(), "artifacts/", "", 10)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d artifacts, %v", len(objects), err)
	}
	address, _, err := linking{s.world.Store, s}.Store.Sign(t.Context(), linkTo(objects[0].Key, s))
	if err != nil {
		t.Fatal(err)
	}
	if found, err = s.world.Store.Fetch(address); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestADownloadResumesAfterEveryCut(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	var ranges []string
	s.shelf = func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) > 4 {
			return false
		}
		serveBytes(&cut{ResponseWriter: w, left: 20_000}, r, data)
		return true
	}
	file := s.path("out.csv")
	got := ana.ok("export", "download", export, "--output", file)
	if !bytes.Equal(read(t, file), s.stored(t)) {
		t.Error("the file differs from what is stored")
	}
	if len(ranges) != 5 || ranges[0] != "" || !strings.HasPrefix(ranges[4], "bytes=") {
		t.Errorf("ranges %q", ranges)
	}
	if strings.Contains(got.stdout+got.stderr, "secret-link") {
		t.Errorf("the link is shown: %+v", got)
	}
	if _, err := os.Stat(file + ".part"); err == nil {
		t.Error("the part is left")
	}
}

// cut breaks the connection after some bytes of the body.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(data []byte) (int, error) {
	if len(data) > c.left {
		_, _ = c.ResponseWriter.Write(data[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(data)
	return c.ResponseWriter.Write(data)
}

func TestAnInterruptedDownloadGoesOnInTheNextRun(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	ctx, stop := context.WithCancel(t.Context())
	s.shelf = func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		serveBytes(&cut{ResponseWriter: w, left: 30_000}, r, data)
		return true
	}
	s.onWait = stop
	file := s.path("out.csv")
	got := ana.runContext(ctx, "export", "download", export, "--output", file)
	if got.code != 130 || !strings.Contains(got.stderr, "are in "+file+".part; run the command again") {
		t.Fatalf("%+v", got)
	}
	had := len(read(t, file+".part"))
	if had == 0 {
		t.Fatal("nothing was kept")
	}
	if want := "\n  " + humanize.Comma(int64(had)) + " of "; !strings.Contains(got.stderr, want) || had < 1000 {
		t.Errorf("stderr lacks %q: %s", want, got.stderr)
	}
	if _, err := os.Stat(file); err == nil {
		t.Fatal("a part has the file's name")
	}
	asked := ""
	s.onWait = nil
	s.shelf = func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		asked = r.Header.Get("Range")
		return false
	}
	again := ana.ok("export", "download", export, "--output", file, "--json")
	if asked == "" || !strings.Contains(again.stdout, `"resumed_bytes":`+strings.TrimSuffix(strings.TrimPrefix(asked, "bytes="), "-")) {
		t.Errorf("asked for %q, %s", asked, again.stdout)
	}
	if !bytes.Equal(read(t, file), s.stored(t)) {
		t.Error("the file differs from what is stored")
	}
}

func TestBytesOfAnotherFileAreNotKept(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]int{"shorter": 1000, "of the same length": -1, "longer": 1_000_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ana, export := big(t)
			stored := s.stored(t)
			if left < 0 {
				left = len(stored)
			}
			file := s.path("out.csv")
			if err := os.WriteFile(file+".part", bytes.Repeat([]byte("x"), left), 0o600); err != nil {
				t.Fatal(err)
			}
			ana.ok("export", "download", export, "--output", file)
			if !bytes.Equal(read(t, file), stored) {
				t.Error("the file differs from what is stored")
			}
		})
	}
}

func TestALinkThatEndsIsReplaced(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	tries := 0
	s.shelf = func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		s.mu.Lock()
		tries++
		first := tries == 1
		s.mu.Unlock()
		if first {
			s.world.Clock.Advance(10 * time.Minute)
			serveBytes(&cut{ResponseWriter: w, left: 20_000}, r, data)
		}
		return first
	}
	file := s.path("out.csv")
	ana.ok("export", "download", export, "--output", file)
	if !bytes.Equal(read(t, file), s.stored(t)) {
		t.Error("the file differs from what is stored")
	}
	links := 0
	for _, asked := range s.asked {
		if strings.HasSuffix(asked, "/download-links") {
			links++
		}
	}
	if links != 2 {
		t.Errorf("%d links were asked for, want 2", links)
	}
}

func TestDamagedBytesNeverGetTheName(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	s.shelf = func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		data[len(data)/2] ^= 1
		serveBytes(w, r, data)
		return true
	}
	file := s.path("out.csv")
	got := ana.run("export", "download", export, "--output", file)
	if got.code != 7 || !strings.Contains(got.stderr, " bytes) doesn't have the checksum") {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{file, file + ".part"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

func TestAStoreThatRefusesIsNamedWithoutTheLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		says  string
	}{
		"refused": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("<Error><Code>SignatureDoesNotMatch</Code><Resource>" + r.URL.String() + "</Resource></Error>"))
		}, "the store answers 403 SignatureDoesNotMatch"},
		"redirected": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere?secret-link", http.StatusTemporaryRedirect)
		}, "the store answers 307"},
		"broken": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "connect to the store"},
		"busy":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "the store answers 503"},
		"another size": {func(w http.ResponseWriter, r *http.Request) {
			serveBytes(w, r, []byte("short"))
		}, "the store has 5 bytes where the service promises"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ana, export := big(t)
			s.shelf = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
				c.serve(w, r)
				return true
			}
			got := ana.run("export", "download", export, "--output", s.path("out.csv"))
			if got.code == 0 || !strings.Contains(got.stderr, c.says) || strings.Contains(got.stderr, "secret-link") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestForceReplacesAndAFolderTakesTheLinksName(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	file := s.path("orders-20260329.csv")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ana.run("export", "download", export, "--output", s.dir); got.code != 4 || string(read(t, file)) != "old" {
		t.Errorf("%+v", got)
	}
	ana.ok("export", "download", export, "--output", s.dir, "--force", "--receipt", s.path("receipt.json"))
	if !bytes.Equal(read(t, file), s.stored(t)) {
		t.Error("the file differs from what is stored")
	}
	ana.ok("export", "verify", file, "--receipt", s.path("receipt.json"))
	link := strings.TrimSpace(ana.ok("export", "download", export, "--link").stdout)
	answer, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the link answers %d", answer.StatusCode)
	}
}

func TestARevokedExportIsNotCalledExpired(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	if got, want := ana.ok("export", "revoke", export, "--reason", "sent to the wrong people").stdout, "export "+export+" is revoked\n"; got != want {
		t.Errorf("revoke says %q, want %q", got, want)
	}
	hint := "see what happened with `sealift export events " + export + "`"
	for _, args := range [][]string{{"download", export, "--output", s.path("x")}, {"receipt", export}} {
		got := ana.run(append([]string{"export"}, args...)...)
		if got.code != 4 || !strings.Contains(got.stderr, "the export was revoked at 2026-03-29T") || !strings.Contains(got.stderr, "410 export-revoked") || !strings.Contains(got.stderr, hint) ||
			strings.Contains(got.stderr, "ask for the export again") {
			t.Errorf("%s: %+v", args[0], got)
		}
	}
	if watched := ana.run("export", "watch", export); watched.code != 4 || !strings.Contains(watched.stderr, "is revoked and has no file\n") {
		t.Errorf("watch: %+v", watched)
	}
	for name, wants := range map[string][]string{
		"show": {"state            revoked\n", "revoked          2026-03-29T"}, "list": {export + "  revoked"}, "events": {"sent to the wrong people"},
	} {
		args := []string{"export", name}
		if name != "list" {
			args = append(args, export)
		}
		got := ana.ok(args...)
		for _, want := range wants {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, got.stdout)
			}
		}
	}
}

func TestAnExportWhoseTimeIsOverIsExpired(t *testing.T) {
	t.Parallel()
	s, ana, export := big(t)
	s.world.Clock.Advance(7 * 24 * time.Hour)
	ana.token = s.token("acme", "ana")
	got := ana.run("export", "download", export, "--output", s.path("x"))
	if got.code != 4 || !strings.Contains(got.stderr, "has expired; ask for the export again") || !strings.Contains(got.stderr, "410 export-expired") {
		t.Errorf("%+v", got)
	}
}
