package command_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answering makes the API answer every read of an export with one body after another, the last again and again.
func (s *service) answering(bodies ...string) {
	at := 0
	s.gate = func(w http.ResponseWriter, _ *http.Request) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = w.Write([]byte(bodies[min(at, len(bodies)-1)]))
		at++
		return true
	}
}

func export(state, more string) string {
	return `{"id":"` + nobody + `","state":"` + state + `","definition":"orders","definition_version":1,"purpose":"x"` + more + `}`
}

func TestARefusalThatIsWaitedOutIsSaidOnce(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	refusals := 0
	s.gate = func(w http.ResponseWriter, _ *http.Request) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if refusals++; refusals > 3 {
			return false
		}
		w.Header().Set("Retry-After", "8")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"type":"/problems/too-many","detail":"tenant acme has 10 exports under way; 10 are allowed"}`))
		return true
	}
	got := ana.ok("export", "list")
	want := "waiting: tenant acme has 10 exports under way; 10 are allowed; next try in "
	if !strings.HasPrefix(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("stderr %q, want %q", got.stderr, want)
	}
	refusals = 0
	if got := ana.ok("export", "list", "--json"); got.stderr != "" {
		t.Errorf("--json: stderr %q", got.stderr)
	}
}

func TestWatchSaysOnceWhyAnExportWaits(t *testing.T) {
	t.Parallel()
	waits := func(until string) string {
		return export("running", `,"rows_written":5,"waiting":{"unit":"s00001","code":"source_busy","detail":"the source is busy","until":"`+until+`"}`)
	}
	done := export("completed", `,"file":{"name":"a.csv","rows":1,"bytes":5,"crc64nvme":"x","fidelity":null}`)
	for name, width := range map[string]int{"on a terminal": 80, "elsewhere": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ana := withOrders(t)
			ana.width = width
			s.answering(waits("2026-03-29T10:04:05.120Z"), waits("2026-03-29T10:04:05.120Z"), waits("2026-03-29T18:05:00+08:00"), export("running", `,"waiting":null`), done)
			got := ana.ok("export", "watch", nobody)
			for _, want := range []string{"waiting: the source is busy; next try at 10:04:05 UTC\n", "waiting: the source is busy; next try at 10:05:00 UTC\n"} {
				if strings.Count(got.stderr, want) != 1 {
					t.Errorf("stderr has not once %q: %q", want, got.stderr)
				}
			}
			if want := "export " + nobody + " is completed: a.csv, 1 row, 5 bytes (5 B)\n"; got.stdout != want {
				t.Errorf("stdout %q, want %q", got.stdout, want)
			}
		})
	}
	s, ana := withOrders(t)
	s.answering(waits("2026-03-29T10:04:05.120Z"))
	if got := ana.ok("export", "show", nobody); !strings.Contains(got.stdout, "waiting          the source is busy; next try at 10:04:05 UTC\n") {
		t.Errorf("show: %s", got.stdout)
	}
	s.answering(waits("2026-03-29T10:04:05.120Z"), done)
	if got := ana.ok("export", "watch", nobody, "--json"); !strings.Contains(got.stdout, `"waiting":{"unit":"s00001"`) || got.stderr != "" {
		t.Errorf("--json: %+v", got)
	}
}

func TestTheProgressLineIsHonestAndFits(t *testing.T) {
	t.Parallel()
	running := func(rows string) string {
		return export("running", `,"rows_written":`+rows+`,"rows_estimated":98765432,"shards":60,"shards_done":1`)
	}
	answers := []string{running("0"), running("0"), running("1234567")}
	for range 14 {
		answers = append(answers, running("12345678"))
	}
	answers = append(answers, export("cancelled", ""))
	cases := map[string]struct {
		width  int
		wants  []string
		refuse []string
	}{
		"120 columns": {120, []string{"\rrunning: starting\x1b", "] running: 12%, 12,345,678 rows of about 98,765,432, ", "no progress for 10s\x1b"}, nil},
		"80 columns":  {80, []string{"\rrunning: starting\x1b", "] running: 12%, 12,345,678 rows, no progress for 10s\x1b"}, nil},
		"40 columns":  {40, []string{"\rrunning: starting\x1b", "\rrunning: 12%, 12,345,678 rows\x1b"}, []string{"[", "of about"}},
		"elsewhere":   {0, []string{"running: starting\n", "running: 12%, 12,345,678 rows of about 98,765,432, no progress for 1"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ana := withOrders(t)
			ana.width = c.width
			s.answering(answers...)
			got := ana.run("export", "watch", nobody)
			for _, want := range c.wants {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr lacks %q: %q", want, got.stderr)
				}
			}
			for _, never := range append(c.refuse, " 0 rows/s", ", 0%") {
				if got.code != 4 || strings.Contains(strings.ReplaceAll(got.stderr, "\x1b[K", ""), never) {
					t.Errorf("exit %d, stderr has %q: %q", got.code, never, got.stderr)
				}
			}
			for drawn := range strings.SplitSeq(got.stderr, "\r") {
				if line, _, _ := strings.Cut(drawn, "\x1b[K"); c.width > 0 && len(line) >= c.width && !strings.Contains(line, "\n") {
					t.Errorf("%d columns do not hold %q", c.width, line)
				}
			}
		})
	}
}

func TestAnEstimateThatWasPassedIsNotHeldAgainstTheRows(t *testing.T) {
	t.Parallel()
	running := func(rows string) string {
		return export("running", `,"rows_written":`+rows+`,"rows_estimated":65535,"shards":3,"shards_done":1`)
	}
	s, ana := withOrders(t)
	ana.width = 120
	s.answering(running("65000"), running("65535"), running("65536"), running("559728"), export("cancelled", ""))
	got := ana.run("export", "watch", nobody)
	for _, want := range []string{
		"] running: 99%, 65,000 rows of about 65,535\x1b", "] running: 99%, 65,535 rows of about 65,535, ", "\rrunning: 65,536 rows, more than estimated, ", "\rrunning: 559,728 rows, more than estimated, ",
	} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr lacks %q: %q", want, got.stderr)
		}
	}
	if _, behind, _ := strings.Cut(got.stderr, "65,536 rows"); !strings.Contains(behind, " rows/s\x1b") || strings.ContainsAny(behind, "%#") || strings.Contains(behind, "65,535") || strings.Contains(behind, "left") {
		t.Errorf("the estimate goes on being told: %q", behind)
	}
	s.answering(running("559728"))
	if shown := ana.ok("export", "show", nobody); !strings.Contains(shown.stdout, "559,728, more than estimated\n") || strings.Contains(shown.stdout, "65,535") {
		t.Errorf("show: %s", shown.stdout)
	}
}

func TestWhatWasDoneToValuesIsSaid(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	file, said := s.path("a.csv"), "2 text values begin with an apostrophe now, so that no spreadsheet takes them for formulas (see the receipt)\n"
	created := ana.ok(ask("--compression", "none", "--download", file)...)
	done := id(t, created)
	for _, args := range [][]string{
		{"export", "watch", done}, {"export", "show", done}, {"export", "verify", file, "--job", done},
		{"export", "download", done, "--output", s.path("b.csv")},
	} {
		if got := ana.ok(args...); strings.Count(got.stdout, said) != 1 {
			t.Errorf("%s: %s", args[1], got.stdout)
		}
	}
	if strings.Count(created.stdout, said) != 1 {
		t.Errorf("create: %s", created.stdout)
	}
	plain := ana.ok(ask("--format", "jsonl", "--download", s.path("c.jsonl.gz"))...)
	if strings.Contains(plain.stdout, "apostrophe") {
		t.Errorf("jsonl: %s", plain.stdout)
	}
	s.answering(export("completed", `,"file":{"name":"a.csv","rows":1,"bytes":5,"crc64nvme":"x","fidelity":{"nulls":9,"neutralised":1,"invalid_utf8_replaced":6000,"masked":1}}`))
	want := "1 text value begins with an apostrophe now, so that no spreadsheet takes it for a formula (see the receipt)\n" +
		"6,000 text values had bytes that were not UTF-8, which U+FFFD stands for now\n" +
		"1 value is masked for the one who asked, as the definition says\n"
	if got := ana.ok("export", "show", nobody); !strings.HasSuffix(got.stdout, want) {
		t.Errorf("got  %s\nwant %s", got.stdout, want)
	}
	s.answering(export("completed", `,"file":{"name":"a.xlsx","rows":1,"bytes":5,"crc64nvme":"x","fidelity":{"neutralised":2,"numbers_as_text":1200,"times_as_text":1,"escaped":1,"truncated":2,"characters_replaced":1}}`))
	want = "2 text values are marked as text now, so that no spreadsheet takes them for formulas (see the receipt)\n" +
		"1 text value had characters that GB 18030 has no sure code for, which ? stands for now\n" +
		"2 text values were longer than a cell holds and are cut off\n" +
		"1,200 numbers are text in the workbook, with every digit, because a spreadsheet rounds or lacks such numbers, or the definition says so\n" +
		"1 time is text in the workbook, because a spreadsheet can't hold all of its precision or range\n" +
		"1 text value has control characters in the escaped form of workbooks, which spreadsheets turn back\n"
	if got := ana.ok("export", "show", nobody); !strings.HasSuffix(got.stdout, want) {
		t.Errorf("got  %s\nwant %s", got.stdout, want)
	}
}

func TestNothingIsAskedForWhenTheFileIsInTheWay(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	for _, name := range []string{"taken.csv.gz", "orders-20260329.csv.gz"} {
		if err := os.WriteFile(s.path(name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"a file": s.path("taken.csv.gz"), "a folder that holds one of the name": s.dir} {
		got := ana.run(ask("--download", to)...)
		if got.code != 4 || !strings.Contains(got.stderr, "exists already; choose another name with --download, or replace it with --force") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if list := ana.ok("export", "list"); strings.Count(list.stdout, "\n") != 1 {
		t.Errorf("something was asked for:\n%s", list.stdout)
	}
	done := id(t, ana.ok(ask("--download", s.dir, "--force")...))
	before := len(s.asked)
	if got := ana.run("export", "download", done, "--output", s.dir); got.code != 4 {
		t.Errorf("%+v", got)
	}
	if asked := strings.Join(s.asked[before:], " "); strings.Contains(asked, "download-links") {
		t.Errorf("a link was asked for, which counts as a download: %s", asked)
	}
}

func TestANameThatSaysWhatTheFileIsNotIsWarnedOf(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	got := ana.ok(ask("--file-name", "发票.csv", "--compression", "zstd", "--download", s.path("odd.csv"))...)
	if !strings.Contains(got.stdout, "is completed: 发票.csv.zst, ") || !strings.Contains(got.stderr, "sealift: warning: the name odd.csv does not say what the file is; programs expect a name that ends in .csv.zst\n") {
		t.Errorf("%+v", got)
	}
	json := ana.ok("export", "download", id(t, got), "--output", s.path("odd.gz"), "--json")
	if !strings.Contains(json.stdout, `"warning":"the name odd.gz `) || json.stderr != "" {
		t.Errorf("%+v", json)
	}
}

func TestPlainUsersSeeWhatTheyMayAskFor(t *testing.T) {
	t.Parallel()
	s, ana := withOrders(t)
	body := `{"name":"orders","version":3,"sha256":"","applied_at":"2026-03-01T00:00:00.000Z","applied_by":"","definition":{"name":"orders","title":"All orders","time_column":"placed",
		"columns":[{"name":"order_id","kind":"int64","filter":["eq","in","not_null"]},{"name":"email","kind":"string","mask":"redact"},{"name":"note","kind":"string","mask":{"kind":"null"}}],
		"formats":["csv","jsonl"],"compressions":["gzip","none"],"promise":"As read.","limits":{"span_days_max":31,"rows_max":5000,"retention_days":1}}}`
	s.answering(body)
	want := `name          orders
title         All orders
version       3
applied       2026-03-01T00:00:00.000Z
formats       csv, jsonl
compressions  gzip, none
span of       placed: at --from or later, and before --to
span at most  31 days
rows at most  5,000 rows
kept for      1 day
promise       As read.

COLUMN    KIND    FILTERS             MASKED
order_id  int64   =, in, is not null  -
email     string  -                   redact
note      string  -                   null
`
	if diff := cmp.Diff(want, ana.ok("definitions", "show", "orders").stdout); diff != "" {
		t.Error(diff)
	}
	var same struct{ Definition struct{ Title string } }
	if err := json.Unmarshal([]byte(ana.ok("definitions", "show", "orders", "--json").stdout), &same); err != nil || same.Definition.Title != "All orders" {
		t.Errorf("%v %+v", err, same)
	}
	s.answering(`{"definitions":[` + body + `],"next_cursor":null}`)
	if got := ana.ok("definitions", "list"); got.stdout != "NAME    VERSION  APPLIED                   TITLE\norders  3        2026-03-01T00:00:00.000Z  All orders\n" {
		t.Errorf("%q", got.stdout)
	}
	s.answering(`{"definitions":[{"name":"orders","version":3,"applied_at":"2026-03-01T00:00:00.000Z","title":"All orders"}],"next_cursor":null}`)
	if got := ana.ok("definitions", "list"); !strings.HasSuffix(got.stdout, "Z  All orders\n") {
		t.Errorf("%q", got.stdout)
	}
	s.answering(`{"definitions":[],"next_cursor":null}`)
	if got := ana.ok("definitions", "list"); got.stderr != "there is no definition that you may ask for\n" {
		t.Errorf("%+v", got)
	}
}

func TestAUserIsToldOfAColumnWhatTheServiceTells(t *testing.T) {
	t.Parallel()
	_, ana := withOrders(t)
	got := ana.ok("definitions", "list")
	if !strings.HasPrefix(got.stdout, "NAME    VERSION  APPLIED\norders  1        2026-03-29T") {
		t.Errorf("list: %+v", got)
	}
	got = ana.ok("definitions", "show", "orders")
	for _, want := range []string{"name               orders\n", "formats            csv, jsonl, xlsx, parquet\n", "compressions       csv, jsonl: gzip, zstd, none; xlsx: none; parquet: zstd, snappy, none\n", "span of            placed_at: at --from or later, and before --to\n", "promise            Orders placed before", "gift       bool       =                                -\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("lacks %q:\n%s", want, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "source") {
		t.Errorf("the source is shown:\n%s", got.stdout)
	}
}

func TestAnOperatorSeesTheSourceToo(t *testing.T) {
	t.Parallel()
	s, _ := withOrders(t)
	got := s.as("ops", "sealift:operator").ok("definitions", "show", "orders")
	for _, want := range []string{"source             shop, table orders, by placed_at, id\n", "span of            placed_at: at --from or later, and before --to\n", "promise            Orders placed before", "order_id   int64      =, >=, <, in", "downloads at most  100 downloads\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("lacks %q:\n%s", want, got.stdout)
		}
	}
}

func TestAnOperatorIsToldWhatASpanIsOf(t *testing.T) {
	t.Parallel()
	s, _ := withOrders(t)
	ops := s.as("ops", "sealift:operator")
	cases := map[string]struct{ columns, want string }{
		"an output of another name": {`{"name":"shipped_at"},{"name":"ordered","source":"placed_at"}`, "span of  ordered: at --from or later, and before --to\n"},
		"no output":                 {`{"name":"shipped_at"}`, "span of  placed_at of the table, which is no column of the file: at --from or later, and before --to\n"},
		"another under its name":    {`{"name":"placed_at","source":"shipped_at"}`, "span of  placed_at of the table, which is no column of the file: at --from or later, and before --to\n"},
	}
	for name, c := range cases {
		s.answering(`{"name":"orders","version":1,"definition":{"source":{"connection":"shop","table":"orders","time_column":{"name":"placed_at"}},"columns":[` + c.columns + `]}}`)
		if got := ops.ok("definitions", "show", "orders"); !strings.Contains(got.stdout, c.want) {
			t.Errorf("%s: lacks %q:\n%s", name, c.want, got.stdout)
		}
	}
}
