package edge_test

import (
	"bytes"
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"sealift/shared/format"
	"sealift/shared/pipeline"
	"sealift/shared/snapshot"
)

func TestEveryFormatGoesFromRequestToAFileThatReadsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked, ending, nulls string
		neutralised          string
		holds                string
	}{
		{`{"type": "csv", "compression": "none"}`, ".csv", `unquoted ""; text equal to it is quoted`, "120", ",李娜,"},
		{`{"type": "csv", "compression": "none", "encoding": "gb18030", "null": "空"}`, ".csv", `unquoted "空"; text equal to it is quoted`, "120", ",\xc0\xee\xc4\xc8,"},
		{`{"type": "csv", "encoding": "gb18030"}`, ".csv.gz", `unquoted ""; text equal to it is quoted`, "120", "\x1f\x8b"},
		{`{"type": "jsonl", "compression": "none"}`, ".jsonl", "null", "0", `"李娜"`},
		{`{"type": "xlsx"}`, ".xlsx", "empty cell; empty text is a cell with text of no characters", "120", "PK\x03\x04"},
		{`{"type": "parquet"}`, ".parquet", "null", "0", "PAR1"},
		{`{"type": "parquet", "compression": "snappy"}`, ".parquet", "null", "0", "PAR1"},
	} {
		t.Run(c.asked, func(t *testing.T) {
			t.Parallel()
			h := opened(t)
			id := h.completed(ana(), withBody(strings.TrimSuffix(march, "}")+`, "format": `+c.asked+"}"))
			var receipt pipeline.Receipt
			decode(t, []byte(h.ask(ana(), "GET", "/v1/exports/"+id+"/receipt").Body), &receipt)
			if receipt.Nulls != c.nulls || !strings.HasSuffix(receipt.Files[0].Name, c.ending) {
				t.Errorf("null is %q and the file %s, want %q and %s", receipt.Nulls, receipt.Files[0].Name, c.nulls, c.ending)
			}
			shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))["file"].(map[string]any)
			if counts := shown["fidelity"].(map[string]any); text(counts["neutralised"]) != c.neutralised || text(counts["nulls"]) != "120" {
				t.Errorf("the counts are %v", counts)
			}
			file, err := h.world.Store.Fetch(h.must(http.StatusCreated, h.link(ana(), id))["url"].(string))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(file, []byte(c.holds)) {
				t.Errorf("the file lacks %q: %.200q", c.holds, file)
			}
			snap, err := snapshot.Parse(string(receipt.Snapshot))
			if err != nil {
				t.Fatal(err)
			}
			totals, err := format.Scan(pipeline.FileSpec(snap, 0), bytes.NewReader(file), func(values [][]byte, null []bool) error {
				if string(values[4]) != "李娜" || string(values[8]) != "12.50" || !null[11] {
					t.Errorf("read back as %q, %v", values, null)
				}
				return nil
			})
			if err != nil || totals.Rows != ordersOfAcme || totals.Bytes != receipt.Bytes {
				t.Errorf("%d rows and %d bytes read back (%v), want %d and %d", totals.Rows, totals.Bytes, err, ordersOfAcme, receipt.Bytes)
			}
		})
	}
}

func TestWhatGB18030LacksFailsOrIsReplacedAsTheDefinitionSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, state, says string }{
		{`"fail"`, "failed", `column "note" of the row with key`},
		{`"replace"`, "completed", ""},
	} {
		h := opened(t)
		h.apply(h.reshaped(`"limits":`, `"unencodable":`+c.rule+`,"limits":`))
		h.table = filepath.Join(t.TempDir(), "orders.db")
		writeOrders(t, h.table, 2*ordersOfAcme)
		privateNotes(t, h.table)
		id := h.created(ana(), withBody(strings.TrimSuffix(march, "}")+`, "format": {"encoding": "gb18030"}}`))
		h.run()
		shown := h.must(http.StatusOK, h.ask(ana(), "GET", "/v1/exports/"+id))
		if shown["state"] != c.state {
			t.Fatalf("%s: the export is %v", c.rule, shown)
		}
		if c.state == "completed" {
			if counts := shown["file"].(map[string]any)["fidelity"].(map[string]any); text(counts["characters_replaced"]) != text(ordersOfAcme) {
				t.Errorf("the counts are %v", counts)
			}
			continue
		}
		failure := shown["failure"].(map[string]any)
		if failure["code"] != "value_unencodable" || !strings.Contains(failure["detail"].(string), c.says) {
			t.Errorf("the failure is %v", failure)
		}
	}
}

// privateNotes gives every order a note that GB 18030 has no sure code for.
func privateNotes(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "UPDATE orders SET note = 'x\ue000'"); err != nil {
		t.Fatal(err)
	}
}
