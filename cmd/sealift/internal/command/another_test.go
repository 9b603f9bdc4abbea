package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// advised are the words of the first command in a message that begins so.
func advised(t *testing.T, message, begins string) []string {
	t.Helper()
	found := regexp.MustCompile("`sealift (" + begins + "[^`]*)`").FindStringSubmatch(message)
	if found == nil {
		t.Fatalf("no command is advised that begins %q: %s", begins, message)
	}
	return strings.Fields(found[1])
}

func TestAFileOfAnotherExportIsNeverAdvisedAway(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	mine := id(t, ana.ok(ask("--download", s.dir)...))
	other := id(t, ana.ok(ask("--watch", "--column", "order_id,status")...))
	named, renamed := s.path("orders-20260329.csv.gz"), s.path("lines.csv.gz")
	good := read(t, named)
	if err := os.WriteFile(renamed, good, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, next := range map[string]string{renamed: s.path("2-orders-20260329.csv.gz"), named: s.path("2-orders-20260329.csv.gz")} {
		got := ana.run("export", "verify", file, "--job", other)
		for _, want := range []string{
			file + " is not the file that export " + other + " published, which is named orders-20260329.csv.gz\n", "it is damaged or was changed, or it is the file of another export; ",
			"`sealift export download " + other + " --output " + next + "`",
		} {
			if got.code != 7 || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "--force") {
				t.Errorf("%d lacks %q: %s", got.code, want, got.stderr)
			}
		}
		advice := advised(t, got.stderr, "export download")
		ana.ok(advice...)
		ana.ok("export", "verify", next, "--job", other)
		if err := os.Remove(next); err != nil {
			t.Fatal(err)
		}
	}
	ana.ok("export", "verify", named, "--job", mine)
	if !bytes.Equal(good, read(t, renamed)) {
		t.Error("the good file is another now")
	}
	elsewhere := filepath.Join(s.dir, "mail")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(renamed, filepath.Join(elsewhere, "lines.csv.gz")); err != nil {
		t.Fatal(err)
	}
	if got := ana.run("export", "verify", filepath.Join(elsewhere, "lines.csv.gz"), "--job", other); !strings.Contains(got.stderr, " --output "+filepath.Join(elsewhere, "orders-20260329.csv.gz")+"`") {
		t.Errorf("the receipt's own name is free there: %s", got.stderr)
	}
}

func TestAFileOfManyThatIsAnotherIsNotAdvisedAway(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	ana.ok("export", "download", export, "--file", "3", "--output", s.path("third"))
	got := ana.run("export", "verify", s.path("third"), "--job", export, "--file", "1")
	want := "is not file 1 that export " + export + " published, which is named orders-20260329-00001.csv.gz\n"
	if got.code != 7 || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "--force") {
		t.Errorf("%d lacks %q: %s", got.code, want, got.stderr)
	}
	ana.ok(advised(t, got.stderr, "export download "+export+" --file 1 --output")...)
	ana.ok("export", "verify", s.path("orders-20260329-00001.csv.gz"), "--job", export)
}

func TestAFolderOfAnotherExportIsNeverAdvisedAway(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	folder := s.path("all")
	ana.ok("export", "download", export, "--output", folder)
	other := id(t, ana.ok(ask("--watch", "--layout", "files", "--column", "order_id,status")...))
	got := ana.run("export", "verify", folder, "--job", other)
	if got.code != 7 || strings.Contains(got.stderr, "--force") {
		t.Errorf("%d %s", got.code, got.stderr)
	}
	ana.ok(advised(t, got.stderr, "export download "+other+" --output "+s.path("2-all"))...)
	ana.ok("export", "verify", s.path("2-all"), "--job", other)
	ana.ok("export", "verify", folder, "--job", export)
}

func TestTheCurrentFolderHasANameToo(t *testing.T) {
	s, ana := withOrders(t)
	export := id(t, ana.ok(ask("--watch")...))
	if err := os.Mkdir(s.path("here"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(s.path("here"))
	got := ana.run("export", "verify", ".", "--job", export)
	for _, want := range []string{"fetch what is missing with `sealift export download " + export + " --output .`", "beside it with `sealift export download " + export + " --output " + s.path("2-here") + "`"} {
		if got.code != 7 || !strings.Contains(got.stderr, want) {
			t.Errorf("%d lacks %q: %s", got.code, want, got.stderr)
		}
	}
}

func TestAFileInAnotherPackingIsToldAsThat(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	ana.ok(ask("--download", s.path("lines.csv.gz"))...)
	plain := id(t, ana.ok(ask("--watch", "--compression", "none")...))
	got := ana.run("export", "verify", s.path("lines.csv.gz"), "--job", plain)
	if want := "the file is in gzip, and the one that was exported is csv without compression; it was packed since, or is another file"; got.code != 7 || !strings.Contains(got.stdout, want) || strings.Contains(got.stdout, "quote") {
		t.Errorf("%d lacks %q:\n%s", got.code, want, got.stdout)
	}
}
