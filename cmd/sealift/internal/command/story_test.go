package command_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// id finds the export's id in what create printed.
func id(t *testing.T, got ran) string {
	t.Helper()
	found := regexp.MustCompile(`exp_[0-9a-z]{26}`).FindString(got.stdout)
	if found == "" {
		t.Fatalf("no id in %q", got.stdout)
	}
	return found
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAnExportFromRequestToVerifiedFile(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	file := s.path("orders.csv.gz")
	got := ana.ok(ask("--download", file)...)
	export := id(t, got)
	for _, want := range []string{"export " + export + " is queued\n", "is completed: orders-20260329.csv.gz, 2,500 rows, ", "size and checksum are right\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(records) != orders+1 {
		t.Fatalf("%d records, want %d; %v", len(records), orders+1, err)
	}
	if got, want := strings.Join(records[1], "|"), "1|2026-01-01T00:00:00Z|paid|0.50|true|line one\nline \"two\", 名字 0"; got != want {
		t.Errorf("first order %q, want %q", got, want)
	}
	verified := ana.ok("export", "verify", file, "--job", export)
	for _, want := range []string{"ok  rows", "2500", "ok  checksum (CRC-64/NVME)", "is the file of export " + export + ": 2,500 rows"} {
		if !strings.Contains(verified.stdout, want) {
			t.Errorf("verify lacks %q:\n%s", want, verified.stdout)
		}
	}
	ana.ok("export", "receipt", export, "--output", s.path("receipt.json"))
	offline := caller{service: s, endpoint: "http://127.0.0.1:1"}
	offline.ok("export", "verify", file, "--receipt", s.path("receipt.json"))
}

func TestEveryReadingCommandShowsTheExport(t *testing.T) {
	t.Parallel()
	_, ana := withOrders(t)
	export := id(t, ana.ok(ask("--watch", "--filter", "status in paid, sent", "--filter", "amount<1000", "--filter", "gift:=true", "--column", "order_id,status")...))
	rows := map[string][]string{
		"show": {"state            completed", "rows             333", "orders version 1", "crc64nvme", "from             2026-01-01T00:00:00Z\n",
			"until            2026-03-29T01:00:00Z\n", "zone             UTC\n", "format           csv gzip\n", "columns          order_id, status\n",
			"filters          amount < 1000\n                 gift = true\n                 status in paid,sent\n"},
		"events":  {"created", "queued > running", "publishing > completed", "ana", "sealift"},
		"receipt": {`"rows": 333`, `"name": "order_id"`, `"crc64nvme"`},
	}
	for name, wants := range rows {
		got := ana.ok("export", name, export)
		for _, want := range wants {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, got.stdout)
			}
		}
	}
	list := ana.ok("export", "list")
	if !strings.HasPrefix(list.stdout, "ID ") || !strings.Contains(list.stdout, export+"  completed  orders      2026-01-01 to 2026-03-29T01:00:00Z  csv gzip  333") {
		t.Errorf("list:\n%s", list.stdout)
	}
	watched := ana.ok("export", "watch", export)
	if !strings.Contains(watched.stdout, "is completed") {
		t.Errorf("watch: %+v", watched)
	}
}

func TestCreateSaysThatAnExportIsQueuedOnce(t *testing.T) {
	t.Parallel()
	for name, width := range map[string]int{"on a terminal": 80, "elsewhere": 0} {
		s, ana := withOrders(t)
		ana.width = width
		got := ana.ok(ask("--watch")...)
		if want := "export " + id(t, got) + " is queued\n"; !strings.HasPrefix(got.stdout, want) || strings.Contains(got.stderr, "queued") {
			t.Errorf("%s: stdout %q, stderr %q, want %q on stdout and no word of it on stderr", name, got.stdout, got.stderr, want)
		}
		if !strings.Contains(got.stderr, "running: ") {
			t.Errorf("%s: stderr lacks what follows: %q", name, got.stderr)
		}
		s.answering(export("queued", ""), export("completed", ""))
		if watched := ana.ok("export", "watch", nobody); strings.Count(watched.stdout+watched.stderr, "queued") != 1 {
			t.Errorf("%s: watch alone says %+v, want once that it is queued", name, watched)
		}
	}
}

func TestJSONIsOneDocumentALine(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	got := ana.ok(ask("--watch", "--json")...)
	var states []string
	for line := range strings.Lines(got.stdout) {
		var e struct {
			ID, State string
			Rows      int64 `json:"rows_written"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if len(states) == 0 || states[len(states)-1] != e.State {
			states = append(states, e.State)
		}
	}
	if len(states) < 3 || states[0] != "queued" || states[len(states)-1] != "completed" || got.stderr != "" {
		t.Errorf("states %v, stderr %q", states, got.stderr)
	}
	export := id(t, got)
	ops := s.as("ops", "sealift:operator")
	for _, args := range [][]string{
		{"export", "show", export}, {"export", "list"}, {"export", "list", "--all"}, {"export", "events", export}, {"export", "watch", export},
		{"export", "download", export, "--output", s.path("x")}, {"export", "download", export, "--link"}, {"export", "verify", s.path("x"), "--job", export},
		ask("--dry-run"), {"export", "revoke", export, "--reason", "test"}, {"version"},
		{"definitions", "list"}, {"definitions", "show", "orders"}, {"definitions", "apply", "testdata/orders.yaml"}, {"definitions", "apply", "--dry-run", "testdata"},
	} {
		who := ana
		if args[0] == "definitions" {
			who = ops
		}
		got := who.ok(append(args, "--json")...)
		if !json.Valid([]byte(got.stdout)) || strings.Count(got.stdout, "\n") != 1 || got.stderr != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	refused := ana.run("export", "show", "--json", "exp_00000000000000000000000000")
	if refused.code == 0 || refused.stdout != "" || !json.Valid([]byte(refused.stderr)) {
		t.Errorf("refused: %+v", refused)
	}
}

func TestListFollowsPages(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	for range 9 {
		s.world.Clock.Advance(1_000_000)
		ana.ok(ask("--idempotency-key", "list-"+s.world.Clock.Now().String())...)
	}
	if got := ana.ok("export", "list", "--limit", "4"); strings.Count(got.stdout, "\n") != 5 || !strings.Contains(got.stderr, "--cursor ") {
		t.Errorf("limited: %+v", got)
	}
	if got := ana.ok("export", "list", "--all"); strings.Count(got.stdout, "\n") != 10 || got.stderr != "" {
		t.Errorf("all: %+v", got)
	}
}

func TestDefinitionsAreAppliedOnceAndShown(t *testing.T) {
	t.Parallel()
	s, _ := withOrders(t)
	ops := s.as("ops", "sealift:operator")
	if got := ops.ok("definitions", "apply", "testdata"); !strings.Contains(got.stdout, "orders  1        unchanged") {
		t.Errorf("again: %s", got.stdout)
	}
	changed := strings.NewReplacer("rows_max: 5000", "rows_max: 6000", "name: orders\n", "name: orders\ntitle: All orders\n").Replace(string(read(t, "testdata/orders.yaml")))
	if err := os.WriteFile(s.path("orders.yaml"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ops.ok("definitions", "apply", s.path("orders.yaml")); !strings.Contains(got.stdout, "orders  2        applied") {
		t.Errorf("changed: %s", got.stdout)
	}
	for _, who := range []caller{ops, s.as("ana")} {
		got := who.ok("definitions", "list")
		if lines := strings.Split(got.stdout, "\n"); !strings.HasSuffix(lines[0], "  TITLE") || !strings.HasPrefix(lines[1], "orders  2  ") || !strings.HasSuffix(lines[1], "  All orders") {
			t.Errorf("list: %s", got.stdout)
		}
		if got := who.ok("definitions", "list", "--json"); !strings.Contains(got.stdout, `"title":"All orders"`) {
			t.Errorf("list --json: %s", got.stdout)
		}
	}
	if got := ops.ok("definitions", "show", "orders", "--version", "1"); !strings.Contains(got.stdout, "rows at most       5,000 rows\n") {
		t.Errorf("show: %s", got.stdout)
	}
}
