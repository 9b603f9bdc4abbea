package parquet_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/row"
)

// tool runs a Python program on a file with the readers that infra/setup.sh installs, and decodes what it prints.
func tool(t *testing.T, file []byte, program string, into any) {
	t.Helper()
	const python = "../../../.tools/columnar/bin/python"
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("install DuckDB and Arrow to run this test (make setup): %v", err)
	}
	path := filepath.Join(t.TempDir(), "orders.parquet")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	command := exec.CommandContext(t.Context(), python, "-c", program, path)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("python: %v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("read what python wrote: %v", err)
	}
}

// spelling prints rows of Python values as the canonical texts of their kinds, bytes as hexadecimal
// digits and floats as their bits.
const spelling = `
import sys, json, struct, datetime, decimal
zone = datetime.timezone(datetime.timedelta(hours=8))
def spell(v):
    if v is None: return None
    if isinstance(v, bool): return "true" if v else "false"
    if isinstance(v, float): return "NaN" if v != v else str(struct.unpack("<Q", struct.pack("<d", v))[0])
    if isinstance(v, decimal.Decimal): return format(v, "f")
    if isinstance(v, (bytes, bytearray)): return bytes(v).hex()
    if isinstance(v, datetime.datetime):
        if v.tzinfo: v = v.astimezone(zone)
        return v.isoformat()
    if isinstance(v, datetime.date): return v.isoformat()
    return str(v)
def show(rows): print(json.dumps([[spell(v) for v in row] for row in rows]))
`

const byDuckDB = spelling + `
import duckdb
show(duckdb.execute("SELECT * FROM read_parquet(?)", [sys.argv[1]]).fetchall())
`

const byArrow = spelling + `
import pyarrow.parquet as pq
table = pq.ParquetFile(sys.argv[1], page_checksum_verification=True).read()
show(zip(*[column.to_pylist() for column in table.columns]))
`

// corners are rows for orders with values that readers and writers are bad at.
func corners() [][]string {
	return [][]string{
		{"9007199254740993", "00123", "=1+2", "0.01", "0.00000035", "0.1", "true", "2026-03-29", "2026-03-29T03:00:00+08:00", "2026-03-29T03:00:00", "{}", "", null, null},
		{"352776136104522888", "1E5", "a\rb", "-0.01", "12345678901234567890.123456789", "NaN", "false", "0001-01-01", "2026-03-08T14:59:59.999999+08:00", "0001-01-01T00:00:00", "null", "\x00\xff", null, null},
		{"-9223372036854775808", "TRUE", "", "999999999999999999999999999999999999.99", "-1.5", "Infinity", "true", "9999-12-31", "2026-11-01T14:00:00.000001+08:00", "9999-12-31T23:59:59.999999", "[1, 2]", "a", null, null},
		{"9223372036854775807", "0912", null, "-999999999999999999999999999999999999.99", "7", "-Infinity", "true", "2000-02-29", "1969-12-31T23:59:59.5+08:00", "1969-12-31T23:59:59.999999", `"x"`, "b", null, null},
		{null, null, "名字 𠮷 👩‍👩‍👧 e\u0301", null, null, null, null, null, null, null, null, null, null, null},
		{"0", " x ", "\x01\x0b\x1f\uffff", "0.00", "0", "5e-324", "true", "1970-01-01", "1970-01-01T08:00:00+08:00", "1970-01-01T00:00:00", "-1.5", "c", null, "0"},
	}
}

// canonical brings texts to the spelling of the tools' programs.
func canonical(config parquet.Config, rows [][]string) [][]*string {
	out := make([][]*string, len(rows))
	for i, values := range rows {
		out[i] = make([]*string, len(values))
		for j, text := range values {
			if text == null {
				continue
			}
			text = spelled(config.Columns[j].Kind, text)
			out[i][j] = &text
		}
	}
	return out
}

func TestOtherReadersSeeTheSameValues(t *testing.T) {
	t.Parallel()
	rows := append(corners(), table(11, 600)...)
	for name, codec := range codecs() {
		config := orders(codec)
		for what, cut := range map[string]part.Cut{"small": small(), "usual": {}} {
			file, _ := export(t, config, cut, rows[:250], nil, rows[250:251], rows[251:])
			for reader, program := range map[string]string{"DuckDB": byDuckDB, "Arrow": byArrow} {
				t.Run(strings.Join([]string{name, what, reader}, " "), func(t *testing.T) {
					t.Parallel()
					var got [][]*string
					tool(t, file, program, &got)
					if diff := cmp.Diff(canonical(config, rows), got); diff != "" {
						t.Errorf("written (-) and read (+) rows differ:\n%.2000s", diff)
					}
				})
			}
		}
	}
}

const typesByDuckDB = `
import sys, json, duckdb
print(json.dumps([[c[0], c[1]] for c in duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [sys.argv[1]]).fetchall()]))
`

func TestAnEmptyFileHasItsColumnsAndTheirTypes(t *testing.T) {
	t.Parallel()
	config := orders(parquet.Zstd)
	file, _ := export(t, config, part.Cut{}, nil, nil)
	var got [][]string
	tool(t, file, typesByDuckDB, &got)
	want := [][]string{
		{"id", "BIGINT"}, {"sku", "VARCHAR"}, {"备注", "VARCHAR"}, {"amount", "DECIMAL(38,2)"}, {"exact", "VARCHAR"}, {"weight", "DOUBLE"},
		{"paid", "BOOLEAN"}, {"day", "DATE"}, {"at", "TIMESTAMP WITH TIME ZONE"}, {"local", "TIMESTAMP"}, {"extra", "JSON"}, {"blob", "BLOB"},
		{"never", "VARCHAR"}, {"late", "BIGINT"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), DuckDB sees (+):\n%s", diff)
	}
	var rows [][]*string
	tool(t, file, byArrow, &rows)
	if len(rows) != 0 {
		t.Errorf("the file without rows has %d", len(rows))
	}
}

const facts = `
import sys, json, re, duckdb, pyarrow.parquet as pq
f = pq.ParquetFile(sys.argv[1])
m = f.metadata
def bound(v): return bytes(v, "utf-8") if isinstance(v, str) else v
def fits(i):
    group, faults = f.read_row_group(i), []
    for c in range(m.num_columns):
        s = m.row_group(i).column(c).statistics
        values = [bound(v) for v in group.column(c).to_pylist()]
        some = [v for v in values if v is not None and v == v]
        if s.null_count != values.count(None): faults.append([i, c, "nulls"])
        if s.has_min_max != (len(some) > 0 and all(v == v for v in values)): faults.append([i, c, "bounds"])
        if s.has_min_max and not (bound(s.min) <= min(some) and max(some) <= bound(s.max)): faults.append([i, c, "order"])
    return faults
plan = duckdb.execute("EXPLAIN ANALYZE SELECT * FROM read_parquet(?) WHERE late BETWEEN 400 AND 410", [sys.argv[1]]).fetchall()[0][1]
print(json.dumps({
    "groups": m.num_row_groups, "created_by": m.created_by, "zone": m.metadata[b"sealift.zone"].decode(),
    "kind": json.loads(m.metadata[b"sealift.columns"])[3], "faults": sum([fits(i) for i in range(m.num_row_groups)], []),
    "scanned": re.search(r"Row Groups Scanned: (\d+ / \d+)", plan).group(1),
}))
`

func TestReadersSkipRowGroupsByTheirStatistics(t *testing.T) {
	t.Parallel()
	config := orders(parquet.Zstd)
	cut := small()
	cut.PartBytes, cut.GroupRows = 60_000, 50
	file, _ := export(t, config, cut, table(12, 600)[:300], table(12, 600)[300:])
	var got map[string]any
	tool(t, file, facts, &got)
	want := map[string]any{
		"groups": 12.0, "created_by": "sealift version 1.0.0 (build 1)", "zone": "Asia/Shanghai",
		"kind": map[string]any{"name": "amount", "kind": "decimal"}, "faults": []any{}, "scanned": "1 / 12",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), found (+):\n%s", diff)
	}
}

const bounds = `
import sys, json, pyarrow.parquet as pq, duckdb
r = duckdb.execute("SELECT stats_min_value, stats_max_value, min_is_exact, max_is_exact FROM parquet_metadata(?)", [sys.argv[1]]).fetchall()
print(json.dumps([list(x) for x in r]))
`

func TestBoundsOfLongTextsAreCutAtCharacters(t *testing.T) {
	t.Parallel()
	config := one(row.Column{Kind: row.String})
	long := strings.Repeat("谢", 20)
	cases := []struct {
		name   string
		values []string
		want   []any
	}{
		{"short texts are whole", []string{"b", "a", "谢"}, []any{"a", "谢", true, true}},
		{"a cut bound is above all that begin like it", []string{long}, []any{strings.Repeat("谢", 10), strings.Repeat("谢", 9) + "谣", false, false}},
		{"no character is above the last one", []string{strings.Repeat("\U0010ffff", 20)}, []any{nil, nil, nil, nil}},
		{"the surrogates are stepped over", []string{strings.Repeat("\ud7ff", 20)}, []any{strings.Repeat("\ud7ff", 10), strings.Repeat("\ud7ff", 9) + "\ue000", false, false}},
		{"the text that is its own beginning is the least", []string{strings.Repeat("x", 33), strings.Repeat("x", 32)}, []any{strings.Repeat("x", 32), strings.Repeat("x", 31) + "y", true, false}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file, _ := export(t, config, part.Cut{}, lines(c.values...))
			var got [][]any
			tool(t, file, bounds, &got)
			if diff := cmp.Diff([][]any{c.want}, got); diff != "" {
				t.Errorf("want (-), found (+):\n%s", diff)
			}
		})
	}
}
