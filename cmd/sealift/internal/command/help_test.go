package command_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/cmd/sealift/internal/command"
)

// helps are the commands whose help is kept, in the order of the file.
func helps() []string {
	return []string{
		"", "token", "definitions", "definitions apply", "definitions list", "definitions show", "export", "export create", "export watch", "export list",
		"export show", "export cancel", "export revoke", "export download", "export verify", "export receipt", "export receipt-keys", "export events", "version",
	}
}

func run(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = command.Run(context.Background(), command.System{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Getenv: func(string) string { return "" },
		Now: time.Now, Wait: func(context.Context, time.Duration) error { return nil }, NewID: func() string { return "id" }, Width: func() int { return 0 }, Version: "test",
	})
	return code, out.String(), err.String()
}

func TestHelpGolden(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, name := range helps() {
		code, stdout, stderr := run(append(strings.Fields(name), "--help")...)
		if code != 0 || stderr != "" {
			t.Errorf("%s --help: exit %d, %s", name, code, stderr)
		}
		got.WriteString("==== sealift " + name + "\n" + stdout)
	}
	if os.Getenv("SEALIFT_GOLDEN") == "write" {
		if err := os.WriteFile("testdata/help.golden", []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/help.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the help differs from testdata/help.golden; when that is meant, write it with `SEALIFT_GOLDEN=write go test ./cmd/... -run Golden`\n%s", diff)
	}
}

func TestShellsCanComplete(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, stderr := run("completion", shell); code != 0 || !strings.Contains(stdout, "sealift") || stderr != "" {
			t.Errorf("%s: exit %d, %s", shell, code, stderr)
		}
	}
	cases := map[string][]string{
		"export\t":  {"__complete", "exp"},
		"cancel":    {"__complete", "export", ""},
		"jsonl\n":   {"__complete", "export", "create", "--format", ""},
		"parquet\n": {"__complete", "export", "create", "--format", ""},
		"snappy\n":  {"__complete", "export", "create", "--compression", ""},
		"gb18030\n": {"__complete", "export", "create", "--encoding", ""},
		"zstd\n":    {"__complete", "export", "create", "--compression", ""},
		"files\n":   {"__complete", "export", "create", "--layout", ""},
		"semicolon": {"__complete", "export", "create", "--delimiter", ""},
	}
	for want, args := range cases {
		if _, stdout, _ := run(args...); !strings.Contains(stdout, want) {
			t.Errorf("%v completes to %q, want %q", args, stdout, want)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestOutputThatCannotBeWrittenIsNoSuccess(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	code := command.Run(t.Context(), command.System{Args: []string{"version"}, Stdout: full{}, Stderr: &stderr, Version: "test"})
	if code != 8 || !strings.Contains(stderr.String(), "write the output") {
		t.Errorf("exit %d, %s", code, stderr.String())
	}
}
