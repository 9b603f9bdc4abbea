package format_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format"
	"sealift/shared/format/field"
	"sealift/shared/job"
	"sealift/shared/row"
)

// documents is a spec of a document, the same text as a string, and a key.
func documents(name format.Name) format.Spec {
	spec := orders(name, format.None)
	spec.Keys, spec.Columns = 1, []row.Column{{Name: "extra", Kind: row.JSON}, {Name: "text", Kind: row.String}}
	return spec
}

// documentSpecs are the formats, and CSV in GB 18030 and with the other quote.
func documentSpecs() map[string]format.Spec {
	gb, quote := documents(format.CSV), documents(format.CSV)
	gb.CSV.Encoding, gb.CSV.BOM, gb.CSV.Unencodable = "gb18030", false, field.Replace
	quote.CSV.Quote = '\''
	return map[string]format.Spec{
		"csv": documents(format.CSV), "csv in gb18030": gb, "csv with another quote": quote,
		"jsonl": documents(format.JSONL), "xlsx": documents(format.XLSX), "parquet": documents(format.Parquet),
	}
}

func documentBatch(texts ...string) *row.Batch {
	b := &row.Batch{}
	b.Reset(3)
	for _, text := range texts {
		b.AppendString(text)
		b.AppendString(text)
		b.AppendString("k1")
	}
	return b
}

// documentFile is the file of these rows, and what was counted.
func documentFile(t *testing.T, spec format.Spec, b *row.Batch) (file []byte, counted job.Counters) {
	t.Helper()
	parts := write(t, newWriter(t, spec, format.PartOptions{First: true, Shard: 1}), b, 0, b.Rows())
	for _, p := range parts {
		counted.Add(p.Counters)
	}
	file, _ = join(spec, parts)
	return file, counted
}

func TestHalfASurrogatePairFailsTheJobOrBecomesAReplacementInEveryFormat(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		`{"a":"\ud800","b":"\"\\ud800 \ud83d\ude00"}`: `{"a":"\ufffd","b":"\"\\ud800 \ud83d\ude00"}`,
		`"it's \\\udc00\ud83d"`:                       `"it's \\\ufffd\ufffd"`,
		`"名字\udbff` + "\u4e57\u0100" + `\ud800"`:      `"名字\ufffd` + "\u4e57\u0100" + `\ufffd"`,
		`"\ud83d` + "\xff" + `\"\ude00"`:              `"\ufffd` + "\ufffd" + `\"\ufffd"`,
	}
	for name, spec := range documentSpecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for in, want := range bad {
				_, counted := documentFile(t, spec, documentBatch(in))
				if texts := int64(strings.Count(in, "\xff")); counted.InvalidUTF8 != 1+texts {
					t.Errorf("%s: %d values are counted, want the document once and the text %d times", in, counted.InvalidUTF8, texts)
				}
				file, _ := documentFile(t, spec, documentBatch(in))
				got, text := firstRow(t, spec, file)
				if got != want || text != strings.ReplaceAll(in, "\xff", "\ufffd") {
					t.Errorf("%s is read as %s, want %s; the string as %s", in, got, want, text)
				}
			}
			spec.InvalidUTF8 = format.Fail
			_, err := newWriter(t, spec, format.PartOptions{First: true, Shard: 1}).Append(documentBatch(`{"secret":"\ud800"}`), 0)
			wantError(t, err, job.Permanent, field.CodeInvalidUTF8, `column "extra" of the row with key k1`, "surrogate", "invalid_utf8: replace")
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%q shows the value", err)
			}
		})
	}
}

func firstRow(t *testing.T, spec format.Spec, file []byte) (document, text string) {
	t.Helper()
	if _, err := format.Scan(spec, bytesReader(file), func(values [][]byte, _ []bool) error {
		document, text = string(values[0]), string(values[1])
		return nil
	}); err != nil {
		t.Fatalf("scan: %v", err)
	}
	return document, text
}

func TestWholePairsAndEscapedBackslashesStayByteForByte(t *testing.T) {
	t.Parallel()
	for name, spec := range documentSpecs() {
		spec.InvalidUTF8, spec.Guard = format.Fail, false
		for _, document := range []string{`"\ud83d\ude00"`, `"\\ud800"`, `"\\\\\uD83D\uDE00\\"`, `{"a":1e400,"b":"\u0000\ud7ff\ue000"}`, `[]`, `-1.5`} {
			file, counted := documentFile(t, spec, documentBatch(document))
			if got, text := firstRow(t, spec, file); got != document || text != document || counted.InvalidUTF8 != 0 {
				t.Errorf("%s: %s is read as %s, the string as %s, %d counted", name, document, got, text, counted.InvalidUTF8)
			}
		}
	}
}

// readDocuments prints the member a of every document that DuckDB and Arrow find in a file of JSON Lines and in one of
// Parquet.
const readDocuments = `
import json, sys, duckdb, pyarrow.json, pyarrow.parquet
lines, columns = sys.argv[1:]
print(json.dumps([
    [v for v, in duckdb.execute("SELECT extra->>'a' FROM read_json(?)", [lines]).fetchall()],
    [v["a"] for v in pyarrow.json.read_json(lines).column("extra").to_pylist()],
    [v for v, in duckdb.execute("SELECT extra->>'a' FROM read_parquet(?)", [columns]).fetchall()],
    [json.loads(v)["a"] for v in pyarrow.parquet.read_table(columns).column("extra").to_pylist()],
]))
`

func TestDuckDBAndArrowReadMendedDocuments(t *testing.T) {
	t.Parallel()
	const python = "../../.tools/columnar/bin/python"
	if _, err := exec.LookPath(python); err != nil {
		t.Fatalf("install DuckDB and Arrow to run this test (make setup): %v", err)
	}
	b := documentBatch(`{"a":"x"}`, `{"a":"\ud800"}`, `{"a":"\\ud800 \ud83d\ude00\ud83d"}`, `{"a":"\udc00\ud800"}`)
	args := []string{"-c", readDocuments}
	for _, name := range []format.Name{format.JSONL, format.Parquet} {
		file, _ := documentFile(t, documents(name), b)
		path := filepath.Join(t.TempDir(), "documents")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	var got [][]string
	unmarshal(t, pipe(t, nil, python, args...), &got)
	rows := []string{"x", "\ufffd", `\ud800 😀` + "\ufffd", "\ufffd\ufffd"}
	if diff := cmp.Diff([][]string{rows, rows, rows, rows}, got); diff != "" {
		t.Errorf("read:\n%s", diff)
	}
}
