package manifest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/cmd/sealift/internal/manifest"
	"sealift/shared/definition"
)

const good = `name: orders
source:
  connection: shop
  table: orders
  tenant_column: {name: tenant_id, kind: string}
  time_column: {name: placed_at, kind: timestamp}
  key:
    - {name: placed_at, kind: timestamp}
    - name: id
      kind: int64
consistency:
  kind: cutoff
  promise: >-
    Two lines
    of it.
columns:
  - {name: order_id, source: id, kind: int64, filter: [eq, in]}
  - name: 名字
    kind: string
    mask: {kind: redact, unless: [pii]}
limits:
  rows_max: 50
`

func TestAGoodFileIsTheAPIsJSON(t *testing.T) {
	t.Parallel()
	found, faults := manifest.Parse("orders.yaml", []byte("# comment\n---\n"+good+"---\n"))
	if len(faults) > 0 || len(found) != 1 || found[0].Name != "orders" {
		t.Fatalf("%v %v", found, faults)
	}
	d, err := definition.Decode(found[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{"Two lines of it.", "名字", int64(50), definition.MaskKind("redact"), "id"}
	got := []any{d.Consistency.Promise, d.Columns[1].Name, d.Limits.RowsMax, d.Columns[1].Mask.Kind, d.Source.Key[1].Name}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsSayFileLineAndColumn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		old, new string
		want     []string
	}{
		"unknown field":           {"  rows_max: 50", "  row_max: 50", []string{"f.yaml:22:3: /limits/row_max is not a field; did you mean rows_max? allowed are span_days_max, rows_max, active_jobs_max, downloads_max, retention_days, shard_rows, link_seconds_max"}},
		"unknown field in a list": {"unless: [pii]", "unles: [pii]", []string{"f.yaml:20:26: /columns/1/mask/unles is not a field; did you mean unless? allowed are kind, unless"}},
		"number for text":         {"table: orders", "table: 17", []string{"f.yaml:4:10: /source/table is a number, must be text; put it in quotes"}},
		"boolean for text":        {"table: orders", "table: true", []string{"f.yaml:4:10: /source/table is a boolean, must be text; put it in quotes"}},
		"text for a number":       {"rows_max: 50", "rows_max: many", []string{"f.yaml:22:13: /limits/rows_max is text, must be a whole number"}},
		"fraction for a number":   {"rows_max: 50", "rows_max: 5.5", []string{"f.yaml:22:13: /limits/rows_max is a number with a fraction, must be a whole number"}},
		"too large a number":      {"rows_max: 50", "rows_max: 18446744073709551615", []string{"f.yaml:22:13: /limits/rows_max is 18446744073709551615, which is more than 64 bits hold"}},
		"text for a list":         {"filter: [eq, in]", "filter: eq", []string{"f.yaml:17:55: /columns/0/filter is text, must be a list"}},
		"list for text":           {"table: orders", "table: [orders]", []string{"f.yaml:4:10: /source/table is a list, must be text"}},
		"null for text":           {"mask: {kind: redact,", "mask: {kind: null,", []string{"f.yaml:20:18: /columns/1/mask/kind has no value; leave the field out, or give text (the word null needs quotes, for YAML takes it for no value)"}},
		"anchor":                  {"table: orders", "table: &t orders", []string{"f.yaml:4:10: /source/table uses a YAML anchor, alias, tag or merge; write the value out, so that the contract can be read in one place"}},
		"field twice":             {"  table: orders", "  table: a\n  table: b", []string{"f.yaml:5:3: /source/table is given twice, in line 4 and here; give it once"}},
		"field twice in one line": {"{kind: redact, unless", "{kind: redact, kind: \"null\", unless", []string{"f.yaml:20:26: /columns/1/mask/kind is given twice, in line 20 and here; give it once"}},
		"two fields twice": {"limits:\n  rows_max: 50", "limits:\n  rows_max: 50\nlimits: {}\nname: orders", []string{
			"f.yaml:23:1: /limits is given twice, in line 21 and here; give it once", "f.yaml:24:1: /name is given twice, in line 1 and here; give it once"}},
		"unknown field twice": {"  rows_max: 50", "  row_max: 50\n  row_max: 50", []string{
			"f.yaml:22:3: /limits/row_max is not a field; did you mean rows_max? allowed are span_days_max, rows_max, active_jobs_max, downloads_max, retention_days, shard_rows, link_seconds_max",
			"f.yaml:23:3: /limits/row_max is given twice, in line 22 and here; give it once"}},
		"no space after a colon": {"  table: orders", "  table:orders", []string{"f.yaml:4:3: is not YAML that can be used: non-map value is specified; check the indentation, that a space follows each colon, and that text with a colon in it is in quotes"}},
		"broken YAML":            {"  table: orders", "  table: [orders", []string{"f.yaml:5:3: is not YAML that can be used: ',' or ']' must be specified; check the indentation, that a space follows each colon, and that text with a colon in it is in quotes"}},
		"missing field":          {"  promise: >-\n    Two lines\n    of it.\n", "", []string{"f.yaml:11:1: /consistency/promise is missing; say what later updates and deletes do to the file"}},
		"unknown word in a list": {"[eq, in]", "[eq, like]", []string{
			`f.yaml:17:60: /columns/0/filter/1 is "like"; allowed are eq, ne, lt, le, gt, ge, in, is_null, not_null`}},
		"several faults in order": {"kind: int64, filter", "kind: integer, filter", []string{
			`f.yaml:17:40: /columns/0/kind is "integer"; allowed are string, int64, decimal, float64, bool, date, timestamp, datetime, json, bytes`}},
		"no definition": {good, "# nothing\n", []string{"f.yaml: holds no definition"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatal("nothing was replaced")
			}
			found, faults := manifest.Parse("f.yaml", []byte(text))
			if len(found) > 0 || len(faults) != len(c.want) {
				t.Fatalf("%d found, faults:\n%s", len(found), faults)
			}
			for i, want := range c.want {
				if got := faults[i].String(); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

func TestAFaultIsToldInItsOwnLine(t *testing.T) {
	t.Parallel()
	const broken = " is not YAML that can be used: mapping value is not allowed in this context; check the indentation, that a space follows each colon, and that text with a colon in it is in quotes"
	cases := map[string]struct{ old, new, want string }{
		"a value below its name":          {"      kind: int64", "      kind:\n        integer", `f.yaml:11:9: /source/key/1/kind is "integer", which has no order that a source and Sealift agree on`},
		"a quoted value below its name":   {"      kind: int64", "      kind:\n        \"text\"", `f.yaml:11:9: /source/key/1/kind is "text", which has no order that a source and Sealift agree on`},
		"an empty list below its name":    {"  key:\n    - {name: placed_at, kind: timestamp}\n    - name: id\n      kind: int64", "  key:\n    []", "f.yaml:8:5: /source/key is empty; name the columns of a unique order, business time first"},
		"a list below its name":           {"  key:\n    - {name: placed_at, kind: timestamp}\n    - name: id\n      kind: int64\n", "", "f.yaml:2:1: /source/key is empty; name the columns of a unique order, business time first"},
		"a field too far to the right":    {"  table: orders", "    table: orders", "f.yaml:4:5:" + broken},
		"and in a list":                   {"      kind: int64", "          kind: int64", "f.yaml:10:11:" + broken},
		"and behind a text of two lines":  {"  connection: shop", "  connection: shop\n    and more\n    table: orders", "f.yaml:5:5:" + broken},
		"a name that is empty":            {"  table: orders", "  : orders", "f.yaml:4:3:" + broken},
		"a colon in a text":               {"  table: orders", "  table: a: b", "f.yaml:4:10:" + broken},
		"what is missing below long text": {"columns:\n", "request_roles: []\ncolumn:\n", "f.yaml:17:1: /column is not a field; did you mean columns? allowed are schema, name, title, lane, source, consistency, columns, formats, compressions, purposes, request_roles, require_idempotency_key, keep_formulas, invalid_utf8, long_text, unencodable, limits"},
		"a name that is misspelt":         {"name: orders", "nam: orders", "f.yaml:1:1: /nam is not a field; did you mean name? allowed are schema, name, title, lane, source, consistency, columns, formats, compressions, purposes, request_roles, require_idempotency_key, keep_formulas, invalid_utf8, long_text, unencodable, limits"},
		"a name for which none is meant": {"name: orders", "orders: 1", "f.yaml:1:1: /orders is not a field; allowed are schema, name, title, lane, source, consistency, columns, formats, compressions, purposes, request_roles, require_idempotency_key, keep_formulas, invalid_utf8, long_text, unencodable, limits\n" +
			"f.yaml:22:1: /name is missing; " + definition.NameHelp},
	}
	for name, c := range cases {
		for ending, text := range map[string]string{
			"\\n":    strings.Replace(good, c.old, c.new, 1),
			"\\r\\n": strings.ReplaceAll(strings.Replace(good, c.old, c.new, 1), "\n", "\r\n"),
		} {
			if _, faults := manifest.Parse("f.yaml", []byte(text)); faults.Error() != c.want {
				t.Errorf("%s, lines end in %s:\ngot  %s\nwant %s", name, ending, faults, c.want)
			}
		}
	}
}

func TestLinesAreCountedAlikeHoweverTheyEnd(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("name: orders", "# a note\nname: orders # another\n# and one", "promise: >-\n    Two lines\n    of it.", "promise: \"Two lines\n    of it.\"", "rows_max: 50", "row_max: 50").Replace(good)
	want := "f.yaml:23:3: /limits/row_max is not a field; did you mean rows_max? allowed are span_days_max, rows_max, active_jobs_max, downloads_max, retention_days, shard_rows, link_seconds_max"
	for _, text := range []string{text, strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(text, "\n", "\r")} {
		if _, faults := manifest.Parse("f.yaml", []byte(text)); faults.Error() != want {
			t.Errorf("got  %s\nwant %s", faults, want)
		}
	}
}

func TestAByteOrderMarkIsNoPartOfADefinition(t *testing.T) {
	t.Parallel()
	if found, faults := manifest.Parse("f.yaml", []byte("\ufeff"+good)); len(faults) > 0 || len(found) != 1 || found[0].Name != "orders" {
		t.Errorf("with the mark of UTF-8: %v, %v", found, faults)
	}
	const want = "f.yaml: is UTF-16; save it as UTF-8"
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if _, faults := manifest.Parse("f.yaml", []byte(mark+"n\x00a\x00")); faults.Error() != want {
			t.Errorf("with the mark %x: got %s, want %s", mark, faults, want)
		}
	}
}

func TestTheEndOfADefinitionIsItsLastLineThatHoldsSomething(t *testing.T) {
	t.Parallel()
	const want = "f.yaml:%d:1: /columns is empty; list what may be exported"
	start, end := strings.Index(good, "columns:"), strings.Index(good, "limits:")
	whole := good[:start] + good[end:]
	cases := map[string]struct {
		text string
		line int
	}{
		"a field":                  {whole, 17},
		"a value below its name":   {whole + "request_roles:\n  [a,\n  b]\n", 20},
		"a text of several lines":  {whole + "title: >-\n  a\n  b\n", 20},
		"what isn't a field":       {strings.Replace(whole, "rows_max", "row_max", 1), 17},
		"blank lines and comments": {whole + "\n# a note\n\n", 17},
		"another definition":       {whole + "title: >-\n  a\n\n---\n" + good, 19},
		"the end of a definition":  {whole + "title:\n  a\n...\n", 19},
	}
	for name, c := range cases {
		_, faults := manifest.Parse("f.yaml", []byte(c.text))
		if !strings.Contains(faults.Error(), fmt.Sprintf(want, c.line)) {
			t.Errorf("%s:\ngot  %s\nwant line %d", name, faults, c.line)
		}
	}
}

func TestAMissingBlockIsReportedAtTheEndOfTheDefinition(t *testing.T) {
	t.Parallel()
	start, end := strings.Index(good, "consistency:"), strings.Index(good, "columns:")
	_, faults := manifest.Parse("f.yaml", []byte(good[:start]+good[end:]+"---\n"+good))
	want := []string{
		`f.yaml:17:1: /consistency/kind is missing; a table can give cutoff`,
		"f.yaml:17:1: /consistency/promise is missing; say what later updates and deletes do to the file",
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), faults.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestAFaultOfShapeHidesNoFaultOfValue(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("rows_max: 50", "row_max: 50", "kind: cutoff", "kind: version", "table: orders", "table: 17", "filter: [eq, in]", "filter: [eq, like]").Replace(good)
	_, faults := manifest.Parse("f.yaml", []byte(text))
	var pointers []string
	for _, fault := range faults {
		pointers = append(pointers, fault.Pointer)
	}
	want := []string{"/source/table", "/consistency/kind", "/columns/0/filter/1", "/limits/row_max"}
	if diff := cmp.Diff(want, pointers); diff != "" {
		t.Errorf("%s\n%s", diff, faults)
	}
}

func TestManyFaultsAreReportedTogether(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("kind: cutoff", "kind: version", "kind: int64, filter", "kind: integer, filter", "connection: shop", "connection: Shop").Replace(good)
	_, faults := manifest.Parse("f.yaml", []byte(text))
	var lines []int
	for _, fault := range faults {
		lines = append(lines, fault.Position.Line)
	}
	if diff := cmp.Diff([]int{3, 12, 17}, lines); diff != "" {
		t.Errorf("%s\n%s", diff, faults)
	}
}

func TestFaultsOfTheServiceAreFoundInTheFile(t *testing.T) {
	t.Parallel()
	found, _ := manifest.Parse("f.yaml", []byte(good))
	cases := map[string]string{
		"/source/key/1/kind":     "f.yaml:10:13: /source/key/1/kind is wrong",
		"/columns/0/title":       "f.yaml:17:5: /columns/0/title is wrong",
		"/limits/retention_days": "f.yaml:21:1: /limits/retention_days is wrong",
		"/request_roles/0":       "f.yaml:22:1: /request_roles/0 is wrong",
	}
	for pointer, want := range cases {
		if got := found[0].Fault(pointer, "is wrong").String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestFoldersAreReadInOrderAndNamesMustDiffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("b.yaml", strings.Replace(good, "name: orders", "name: b", 1))
	write("a/one.yml", strings.Replace(good, "name: orders", "name: a", 1)+"---\n"+strings.Replace(good, "name: orders", "name: aa", 1))
	write("notes.txt", "not a definition")
	write(".hidden/x.yaml", "not: [a, definition")
	found, err := manifest.Read([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range found {
		names = append(names, m.Name)
	}
	if diff := cmp.Diff([]string{"a", "aa", "b"}, names); diff != "" {
		t.Error(diff)
	}
	write("c.yaml", strings.Replace(good, "name: orders", "name: b", 1))
	_, err = manifest.Read([]string{dir})
	want := filepath.Join(dir, "c.yaml") + `:1:7: /name is "b", which ` + filepath.Join(dir, "b.yaml") + ":1:7 defines too"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, path := range []string{filepath.Join(dir, "none"), t.TempDir()} {
		if _, err := manifest.Read([]string{path}); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("a: &x [*x]\n? {b}: c\n!!binary d: e\n<<: f"))
	f.Add([]byte("a: b\r\r\n # c\r  d: e\r\n---\rf: g"))
	f.Add([]byte("- 1\n- .inf\n- 0x1\n- |\n  x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, faults := manifest.Parse("f.yaml", text)
		if len(found) == 0 && len(faults) == 0 {
			t.Error("neither a definition nor a fault")
		}
		for _, m := range found {
			if _, err := definition.Decode(m.Body); err != nil {
				t.Errorf("accepted, but %v", err)
			}
		}
	})
}
