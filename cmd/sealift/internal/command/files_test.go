package command_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fileCount is how many files the tests' orders fill.
const fileCount = 3

// manyFiles is a completed export of many files.
func manyFiles(t *testing.T, more ...string) (*service, caller, string) {
	t.Helper()
	s, ana := withOrders(t)
	return s, ana, id(t, ana.ok(ask(append([]string{"--watch", "--layout", "files"}, more...)...)...))
}

// links counts the download links that were asked for.
func (s *service) links() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(strings.Join(s.asked, "\n"), "/download-links")
}

// names lists what is in a folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

// fileNames are those of the manifest and of every file.
func fileNames(ending string) []string {
	found := []string{}
	for n := range fileCount {
		found = append(found, fmt.Sprintf("orders-20260329-%05d.%s", n+1, ending))
	}
	return append(found, "orders-20260329.manifest.json")
}

func unpacked(t *testing.T, file []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestManyFilesFromRequestToVerifiedFolder(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	folder := s.path("january")
	got := ana.ok(ask("--layout", "files", "--compression", "gzip", "--download", folder)...)
	export := id(t, got)
	for _, want := range []string{
		"is completed: 3 files, listed in orders-20260329.manifest.json, 2,500 rows, ", "orders-20260329-00002.csv.gz: ", ", size and checksum are right\n",
		folder + ": 3 files and the manifest, ", "2 text values are kept from being taken for formulas by spreadsheets (see the receipt)\n",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, got.stdout)
		}
	}
	if diff := cmp.Diff(fileNames("csv.gz"), names(t, folder)); diff != "" {
		t.Errorf("the folder holds (-want +got):\n%s", diff)
	}
	count := 0
	for _, name := range fileNames("csv.gz")[:fileCount] {
		records, err := csv.NewReader(bytes.NewReader(unpacked(t, read(t, filepath.Join(folder, name))))).ReadAll()
		if err != nil || strings.Join(records[0], ",") != "order_id,placed_at,status,amount,gift,note" {
			t.Fatalf("%s: %v, begins with %q", name, err, records[0])
		}
		for _, record := range records[1:] {
			if count++; record[0] != fmt.Sprint(count) {
				t.Fatalf("%s: order %s where %d is due", name, record[0], count)
			}
		}
	}
	if count != orders {
		t.Errorf("the files hold %d orders, want %d", count, orders)
	}
	ana.ok("export", "receipt", export, "--output", filepath.Join(folder, "orders.receipt.json"))
	offline := caller{service: s, endpoint: "http://127.0.0.1:1"}
	verified := offline.ok("export", "verify", folder, "--receipt", filepath.Join(folder, "orders.receipt.json"))
	for _, want := range []string{"ok  manifest ", "ok  files ", "3 of 3 are there and right", "ok  orders-20260329-00003.csv.gz ", "holds all of export " + export + ": 3 files, 2,500 rows, "} {
		if !strings.Contains(verified.stdout, want) {
			t.Errorf("verify lacks %q:\n%s", want, verified.stdout)
		}
	}
	if strings.Contains(verified.stdout, "also there") {
		t.Errorf("the receipt is called foreign:\n%s", verified.stdout)
	}
	one := offline.ok("export", "verify", filepath.Join(folder, "orders-20260329-00002.csv.gz"), "--receipt", filepath.Join(folder, "orders.receipt.json"))
	if !strings.Contains(one.stdout, "orders-20260329-00002.csv.gz is file 2 of export "+export+": 1,000 rows") {
		t.Errorf("verify of one:\n%s", one.stdout)
	}
}

func TestEachOfManyFilesInJSONLinesIsWhole(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t, "--format", "jsonl", "--compression", "none")
	ana.ok("export", "download", export, "--output", s.path("all"))
	count := 0
	for _, name := range fileNames("jsonl")[:fileCount] {
		for line := range bytes.Lines(read(t, filepath.Join(s.path("all"), name))) {
			var order struct {
				ID string `json:"order_id"`
			}
			if count++; json.Unmarshal(line, &order) != nil || order.ID != fmt.Sprint(count) {
				t.Fatalf("%s: %s where order %d is due", name, line, count)
			}
		}
	}
	if count != orders {
		t.Errorf("the files hold %d orders, want %d", count, orders)
	}
	ana.ok("export", "verify", s.path("all"), "--job", export)
}

func TestShowSaysHowManyFilesThereAre(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	got := ana.ok("export", "show", export)
	for _, want := range []string{"files            3 files\n", "size             ", "manifest         orders-20260329.manifest.json\n", "links given      0\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("lacks %q:\n%s", want, got.stdout)
		}
	}
	dry := ana.ok(ask("--layout", "files", "--dry-run")...)
	if !strings.Contains(dry.stdout, "manifest         orders-20260329.manifest.json\n") {
		t.Errorf("dry run:\n%s", dry.stdout)
	}
	if s.links() != 0 {
		t.Errorf("%d links were asked for", s.links())
	}
}

func TestJSONListsTheManifestAndEveryFile(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	for run, kept := range []bool{false, true} {
		got := ana.ok("export", "download", export, "--output", s.path("all"), "--json")
		var list []struct {
			File   string
			Number int
			Kept   bool
		}
		if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || got.stderr != "" {
			t.Fatalf("run %d: %v, %+v", run, err, got)
		}
		for i, name := range append(fileNames("csv.gz")[fileCount:], fileNames("csv.gz")[:fileCount]...) {
			if list[i].File != s.path("all/"+name) || list[i].Number != i || list[i].Kept != kept {
				t.Errorf("run %d, place %d: %+v", run, i, list[i])
			}
		}
	}
	verified := ana.ok("export", "verify", s.path("all"), "--job", export, "--json")
	var report struct {
		OK    bool
		Files []struct{ OK bool }
		Extra []string
	}
	if err := json.Unmarshal([]byte(verified.stdout), &report); err != nil || !report.OK || len(report.Files) != fileCount || report.Extra == nil {
		t.Errorf("%v, %s", err, verified.stdout)
	}
}

func TestADownloadOfManyFilesGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t, "--compression", "none")
	folder := s.path("all")
	ctx, stop := context.WithCancel(t.Context())
	s.shelf = func(w http.ResponseWriter, r *http.Request, data []byte) bool {
		if !strings.Contains(r.URL.String(), "file-00002") {
			return false
		}
		serveBytes(&cut{ResponseWriter: w, left: 20_000}, r, data)
		return true
	}
	s.onWait = stop
	got := ana.runContext(ctx, "export", "download", export, "--output", folder)
	if got.code != 130 || !strings.Contains(got.stderr, "orders-20260329-00002.csv.part; run the command again") || !strings.Contains(got.stderr, "1 of 3 files are whole in "+folder) {
		t.Fatalf("%+v", got)
	}
	want := []string{"orders-20260329-00001.csv", "orders-20260329-00002.csv.part", "orders-20260329.manifest.json"}
	if diff := cmp.Diff(want, names(t, folder)); diff != "" {
		t.Fatalf("what is left (-want +got):\n%s", diff)
	}
	var fetched []string
	s.onWait, s.shelf = nil, func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		to := r.URL.Query().Get("to")
		fetched = append(fetched, to[strings.Index(to, "file-"):strings.Index(to, ".csv")]+" "+r.Header.Get("Range"))
		return false
	}
	before := s.links()
	again := ana.ok("export", "download", export, "--output", folder)
	if diff := cmp.Diff([]string{"file-00002 bytes=20000-", "file-00003 "}, fetched); diff != "" || s.links() != before+2 {
		t.Errorf("%d links, fetched (-want +got):\n%s", s.links()-before, diff)
	}
	if !strings.Contains(again.stdout, folder+": 3 files and the manifest, of which 1 was there already, ") {
		t.Errorf("%s", again.stdout)
	}
	ana.ok("export", "verify", folder, "--job", export)
	if once := ana.ok("export", "download", export, "--output", folder); s.links() != before+2 || !strings.Contains(once.stdout, "of which 3 were there already") {
		t.Errorf("%d links more for files that are there: %s", s.links()-before-2, once.stdout)
	}
}

func TestAFileInTheWayOfManyIsNamedBeforeALinkIsTaken(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	folder := s.path("all")
	ana.ok("export", "download", export, "--output", folder)
	third := filepath.Join(folder, "orders-20260329-00003.csv.gz")
	whole := read(t, third)
	for name, data := range map[string][]byte{"shorter": whole[1:], "of the same length": append([]byte{whole[0] ^ 1}, whole[1:]...)} {
		for _, gone := range []string{"orders-20260329-00001.csv.gz", third} {
			_ = os.Remove(filepath.Join(folder, filepath.Base(gone)))
		}
		if err := os.WriteFile(third, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before := s.links()
		got := ana.run("export", "download", export, "--output", folder)
		if got.code != 4 || !strings.Contains(got.stderr, third+" exists already and is not what the export published: it is damaged, not whole or another file; fetch it anew with --force, which keeps the files that are right, or choose another folder with --output") || s.links() != before {
			t.Errorf("%s: %d links, %+v", name, s.links()-before, got)
		}
		ana.ok("export", "download", export, "--output", folder, "--force")
		if !bytes.Equal(read(t, third), whole) || s.links() != before+2 {
			t.Errorf("%s: the file is not replaced, or %d links were taken", name, s.links()-before)
		}
	}
}

func TestOneOfManyFilesIsDownloadedByItsNumber(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	got := ana.ok("export", "download", export, "--file", "2", "--output", s.dir)
	file := s.path("orders-20260329-00002.csv.gz")
	if !strings.HasPrefix(got.stdout, file+": ") || strings.Contains(got.stdout, "formula") {
		t.Errorf("%s", got.stdout)
	}
	ana.ok("export", "verify", file, "--job", export)
	before := s.links()
	if again := ana.run("export", "download", export, "--file", "2", "--output", s.dir); again.code != 4 || s.links() != before {
		t.Errorf("%d links, %+v", s.links()-before, again)
	}
	ana.ok("export", "download", export, "--file", "3", "--output", s.path("renamed"))
	if odd := ana.run("export", "verify", s.path("renamed"), "--job", export); odd.code != 2 || !strings.Contains(odd.stderr, "renamed is the name of none of the files") {
		t.Errorf("%+v", odd)
	}
	ana.ok("export", "verify", s.path("renamed"), "--job", export, "--file", "3")
	if other := ana.run("export", "verify", s.path("renamed"), "--job", export, "--file", "1"); other.code != 7 || !strings.Contains(other.stderr, "is not file 1 that export "+export+" published") {
		t.Errorf("%+v", other)
	}
	for number, want := range map[string]string{"1": "orders-20260329-00001.csv.gz", "0": "orders-20260329.manifest.json"} {
		args := []string{"export", "download", export, "--link", "--json"}
		if number != "0" {
			args = append(args, "--file", number)
		}
		if link := ana.ok(args...); !strings.Contains(link.stdout, `"file_name":"`+want+`"`) {
			t.Errorf("link %s: %s", number, link.stdout)
		}
	}
}

func TestRefusalsOfManyFilesSayWhatToDo(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t)
	single := id(t, ana.ok(ask("--watch", "--column", "status")...))
	folder := s.path("all")
	ana.ok("export", "download", export, "--output", folder)
	write := func(name string) string {
		if err := os.WriteFile(s.path(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.path(name)
	}
	taken := write("taken")
	cases := map[string]struct {
		args []string
		code int
		says []string
	}{
		"file 0":                    {[]string{"export", "download", export, "--file", "0"}, 2, []string{"--file is 0; files are numbered from 1"}},
		"a file by a word":          {[]string{"export", "download", export, "--file", "x"}, 2, []string{"--file"}},
		"the file after the last":   {[]string{"export", "download", export, "--file", "4", "--output", s.path("new")}, 1, []string{"sealift: --file is 4; the export has files 1 to 3: leave the flag out for their manifest", "400 file-unknown"}},
		"a number of one file":      {[]string{"export", "download", single, "--file", "1", "--output", s.path("new")}, 1, []string{"sealift: --file is 1; the export has a single file: leave the flag out", "400 file-unknown"}},
		"a link after the last":     {[]string{"export", "download", export, "--link", "--file", "9"}, 1, []string{"sealift: --file is 9; the export has files 1 to 3", "400 file-unknown"}},
		"into a file":               {[]string{"export", "download", export, "--output", taken}, 4, []string{taken + " exists already"}},
		"into a file by force":      {[]string{"export", "download", export, "--output", taken, "--force"}, 4, []string{taken + " is a file, and the export has many: choose a folder with --output, or one of the files with --file"}},
		"into no folder":            {[]string{"export", "download", export, "--output", s.path("none/all/")}, 8, []string{"the folder " + s.path("none") + " does not exist; make it"}},
		"one file into no folder":   {[]string{"export", "download", single, "--output", s.path("none") + "/"}, 8, []string{"the folder " + s.path("none") + " does not exist; make it"}},
		"create where one is":       {ask("--layout", "files", "--download", folder), 4, []string{"orders-20260329.manifest.json exists already; choose another name with --download"}},
		"to stdout":                 {[]string{"export", "download", export, "--output", "-"}, 2, []string{"--output - : a download is checked"}},
		"verify the manifest":       {[]string{"export", "verify", filepath.Join(folder, "orders-20260329.manifest.json"), "--job", export}, 2, []string{"is the manifest of export " + export, "verify the folder"}},
		"verify a folder by number": {[]string{"export", "verify", folder, "--job", export, "--file", "1"}, 2, []string{"is a folder; leave it out"}},
		"verify after the last":     {[]string{"export", "verify", taken, "--job", export, "--file", "4"}, 2, []string{"has files 1 to 3"}},
		"verify file 0":             {[]string{"export", "verify", taken, "--job", export, "--file", "0"}, 2, []string{"files are numbered from 1"}},
		"verify one by number":      {[]string{"export", "verify", taken, "--job", single, "--file", "1"}, 2, []string{"--file is for exports of many files"}},
		"verify another's folder":   {[]string{"export", "verify", folder, "--job", single}, 7, []string{folder + " is not all that export " + single + " published"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ana.checkRefusal(t, c.args, c.code, c.says)
		})
	}
}

func TestAWholeDownloadOfManyFilesIsOneOfThoseAllowed(t *testing.T) {
	t.Parallel()
	s, _ := withOrders(t)
	once := strings.Replace(string(read(t, "testdata/orders.yaml")), "  rows_max: 5000\n", "  rows_max: 5000\n  downloads_max: 1\n", 1)
	if err := os.WriteFile(s.path("orders.yaml"), []byte(once), 0o600); err != nil {
		t.Fatal(err)
	}
	s.as("ops", "sealift:operator").ok("definitions", "apply", s.path("orders.yaml"))
	ana := s.as("ana")
	export := id(t, ana.ok(ask("--layout", "files", "--download", s.path("all"))...))
	ana.ok("export", "download", export, "--output", s.path("all"))
	got := ana.run("export", "download", export, "--output", s.path("again"))
	if got.code != 1 || !strings.Contains(got.stderr, "403 downloads-exceeded") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(s.path("again")); err == nil {
		t.Error("a folder is left in which nothing is")
	}
}

func TestAnEmptyExportOfManyFilesIsOneFile(t *testing.T) {
	t.Parallel()
	s, ana, export := manyFiles(t, "--filter", "status=none")
	ana.ok("export", "download", export, "--output", s.path("all"))
	if diff := cmp.Diff([]string{"orders-20260329-00001.csv.gz", "orders-20260329.manifest.json"}, names(t, s.path("all"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ana.ok("export", "verify", s.path("all"), "--job", export); !strings.Contains(got.stdout, ": 1 file, 0 rows, ") {
		t.Errorf("%s", got.stdout)
	}
}
