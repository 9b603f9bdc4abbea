package format_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format"
)

// sharded is a file of three shards, the second without rows, and the rows that went in as Scan gives them back.
func sharded(t *testing.T, spec format.Spec) (file []byte, rows [][]*string) {
	t.Helper()
	b := table(11, 600)
	var shards [][]format.Part
	for i, bounds := range [][2]int{{0, 250}, {250, 250}, {250, 600}} {
		w := newWriter(t, spec, format.PartOptions{First: i == 0, Shard: i + 1, Cut: small()})
		shards = append(shards, write(t, w, b, bounds[0], bounds[1]))
	}
	file, _ = join(spec, shards...)
	if _, err := format.Scan(spec, bytesReader(file), func(values [][]byte, null []bool) error {
		row := make([]*string, len(values))
		for i, value := range values {
			if !null[i] {
				text := string(value)
				row[i] = &text
			}
		}
		rows = append(rows, row)
		return nil
	}); err != nil {
		t.Fatalf("scan: %v", err)
	}
	return file, rows
}

func TestEverydayToolsTestAndUnpackJoinedFiles(t *testing.T) {
	t.Parallel()
	want, _ := sharded(t, orders(format.CSV, format.None))
	for compression, tool := range map[format.Compression]string{format.Gzip: "gzip", format.Zstd: "zstd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Errorf("install %s to run this test (make setup): %v", tool, err)
			continue
		}
		file, _ := sharded(t, orders(format.CSV, compression))
		pipe(t, file, tool, "-t", "-q")
		sameBytes(t, tool, pipe(t, file, tool, "-d", "-c", "-q"), want)
	}
}

// parseCSV prints the rows that Python's csv module sees in a gzip file, as JSON.
const parseCSV = `
import csv, gzip, json, sys
with gzip.open(sys.stdin.buffer, "rt", encoding="utf-8-sig", newline="") as f:
    print(json.dumps(list(csv.reader(f, strict=True))))
`

// parseJSONL prints the objects that Python's json module sees in a gzip file, as JSON arrays of their values.
const parseJSONL = `
import gzip, json, sys
with gzip.open(sys.stdin.buffer, "rt", encoding="utf-8", newline="\n") as f:
    print(json.dumps([[None if v is None else v if isinstance(v, str) else json.dumps(v) for v in json.loads(l).values()] for l in f]))
`

func TestPythonReadsTheSameValues(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatalf("install python3 to run this test (make setup): %v", err)
	}
	t.Run("csv", func(t *testing.T) {
		t.Parallel()
		spec := orders(format.CSV, format.Gzip)
		file, rows := sharded(t, spec)
		var got [][]string
		unmarshal(t, pipe(t, file, "python3", "-c", parseCSV), &got)
		want := [][]string{{}}
		for _, column := range spec.Columns {
			want[0] = append(want[0], column.Name)
		}
		for _, row := range rows {
			texts := make([]string, len(row))
			for i, text := range row {
				if text != nil {
					texts[i] = *text
				}
			}
			want = append(want, texts)
		}
		withoutColumns(got, 10)
		withoutColumns(want, 10)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Scan (-) and Python (+) differ:\n%.2000s", diff)
		}
	})
	t.Run("jsonl", func(t *testing.T) {
		t.Parallel()
		file, rows := sharded(t, orders(format.JSONL, format.Gzip))
		var got [][]*string
		unmarshal(t, pipe(t, file, "python3", "-c", parseJSONL), &got)
		// Python spells floats and documents in its own way, and bytes stay base64.
		withoutColumns(got, 4, 9, 10)
		withoutColumns(rows, 4, 9, 10)
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Errorf("Scan (-) and Python (+) differ:\n%.2000s", diff)
		}
	})
}

// withoutColumns blanks columns that the two sides spell differently.
func withoutColumns[T any](rows [][]T, columns ...int) {
	var blank T
	for _, row := range rows {
		for _, i := range columns {
			row[i] = blank
		}
	}
}

func unmarshal(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("read what the tool wrote: %v", err)
	}
}
