package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sealift/shared/limits"
)

// TestMemoryLimit gives workers less memory than a shard takes: each is killed at its limit in the middle of its work, the
// unit is tried again and again, and the export can be cancelled meanwhile. The long run lets it come to its end instead:
// it fails when the budget of crashes is used up, a minute's lease each, and says what to look at.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const memoryMiB, rowBytes = 128, 30 << 20 // a row passes through memory more than twice
	w := start(t, "--template", workersOf(t, memoryMiB))
	w.connect(t, "wide", sqlite(t, orders(29, 3, func(int) *string {
		note := strings.Repeat("x", rowBytes)
		return &note
	})))
	w.define(t, definition("wide", "wide", map[string]any{"shard_rows": wideShardRows}))
	ana := w.user(t, tenant, "ana")
	id := ana.create(t, whole("wide", "csv", "none"), "memory")
	if os.Getenv("SEALIFT_E2E") == "long" {
		e := export{}
		await(t, 15*time.Minute, "the export has not ended", func() (string, bool) {
			w.sweep(t)
			time.Sleep(5 * pause)
			e = ana.show(t, id)
			return w.story(t, id), e.over()
		})
		if e.State != "failed" || e.Failure.Code != "unit_crashed" || !strings.Contains(e.Failure.Detail, "memory") {
			t.Errorf("the export is %s: %+v; want failed, unit_crashed", e.State, e.Failure)
		}
	} else {
		await(t, slowWait, "no unit is tried again after its worker was killed", func() (string, bool) {
			w.sweep(t)
			time.Sleep(5 * pause)
			r := w.unit(t, id, "s00001")
			return w.story(t, id), r["crashes"] == "1"
		})
		ana.do(t, http.MethodPost, "/v1/exports/"+id+"/cancel", nil).want(t, http.StatusOK)
	}
	var functions []struct {
		Name        string `json:"name"`
		OutOfMemory int    `json:"out_of_memory"`
	}
	ok(t, json.Unmarshal(get(t, w.Endpoint+"/_localstack/functions").want(t, http.StatusOK).body, &functions))
	for _, f := range functions {
		if (f.OutOfMemory > 0) != (f.Name == stack+"-process-shard") {
			t.Errorf("%s was killed %d times for its memory", f.Name, f.OutOfMemory)
		}
	}
	w.settle(t, []string{id})
}

// TestWidestParquet writes the widest table there may be with workers that have no more memory than the bounds say: one
// that took more would be killed.
func TestWidestParquet(t *testing.T) {
	t.Parallel()
	const memoryMiB, rows = limits.ColumnarBytesMax / limits.MiB, 4_000
	w := start(t, "--template", workersOf(t, memoryMiB))
	w.connect(t, "widest", sqlite(t, orders(31, rows, func(i int) *string {
		note := fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		return &note
	})))
	widest := definition("widest", "widest", map[string]any{"shard_rows": rows})
	var list []map[string]any
	for i := range limits.ColumnsMax {
		source := columns()[i%len(columns())]
		list = append(list, map[string]any{"name": "c" + itoa(i), "source": source, "kind": kinds()[source]})
	}
	widest["columns"], widest["compressions"] = list, []string{"none", "snappy", "zstd"}
	w.define(t, widest)
	ana := w.user(t, tenant, "ana")
	for _, compression := range []string{"none", "snappy", "zstd"} {
		e := ana.completed(t, ana.create(t, whole("widest", "parquet", compression), "widest "+compression))
		if e.File.Rows != rows {
			t.Errorf("%s: the file has %d rows, want %d", compression, e.File.Rows, rows)
		}
	}
	if f := w.figures(t)["process-shard"]; f.Errors > 0 {
		t.Errorf("%d workers with %d MiB have failed", f.Errors, memoryMiB)
	}
}

// workersOf is the path of a template like the real one whose workers have so much memory.
func workersOf(t *testing.T, memoryMiB int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout(t), "template.yaml"))
	ok(t, err)
	const worker = "MemorySize: 512"
	if strings.Count(string(text), worker) != 1 {
		t.Fatalf("template.yaml has %q %d times; this test lowers the one of process-shard", worker, strings.Count(string(text), worker))
	}
	path := filepath.Join(t.TempDir(), "template.yaml")
	ok(t, os.WriteFile(path, []byte(strings.Replace(string(text), worker, "MemorySize: "+strconv.Itoa(memoryMiB), 1)), 0o600))
	return path
}
