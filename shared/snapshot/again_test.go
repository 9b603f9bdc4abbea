package snapshot_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/definition"
	"sealift/shared/snapshot"
)

// A snapshot's request, sent as JSON a month later, freezes to the very same snapshot.
func TestASnapshotsRequestAsksForTheSameAgain(t *testing.T) {
	t.Parallel()
	every := `, "formats": ["csv", "jsonl", "xlsx", "parquet"], "compressions": ["gzip", "zstd", "none", "snappy"], "limits"`
	for name, c := range map[string]struct{ kind, request string }{
		"nothing but what must be": {"timestamp", base},
		"without an end":           {"timestamp", `{"definition": "orders", "purpose": "audit", "span": {"from": "2026-04-25T00:00:00+02:00"}}`},
		"an end after now":         {"timestamp", `{"definition": "orders", "purpose": "audit", "span": {"from": "2026-04-25T00:00:00Z", "to": "2026-05-09T00:00:00Z"}}`},
		"columns and filters": {"timestamp", with(`, "columns": ["status", "id"], "filters": [{"column": "amount", "op": "in", "values": [12.50, "7"]},
			{"column": "gift", "op": "eq", "value": true}, {"column": "status", "op": "eq", "value": "true \" \\ 名"}, {"column": "status", "op": "is_null"},
			{"column": "day", "op": "eq", "value": "2026-04-03"}, {"column": "placed_at", "op": "ge", "value": "2026-04-03T00:00:00.5+08:00"}]`)},
		"every option of csv": {"timestamp", with(`, "as_of": "2026-04-20T00:00:00.25Z", "zone": "Asia/Shanghai", "layout": "files", "file_name": "april.v2",
			"format": {"type": "csv", "compression": "zstd", "delimiter": "\t", "quote": "'", "line_end": "lf", "header": false, "bom": true, "null": "\\N"}`)},
		"gb18030":          {"timestamp", with(`, "format": {"type": "csv", "encoding": "gb18030", "compression": "none"}, "file_name": "april.CSV"`)},
		"a workbook":       {"timestamp", with(`, "format": {"type": "xlsx"}`)},
		"parquet":          {"timestamp", with(`, "format": {"type": "parquet", "compression": "snappy"}`)},
		"json lines":       {"timestamp", with(`, "format": {"type": "jsonl", "compression": "gzip"}`)},
		"wall times":       {"datetime", `{"definition": "orders", "purpose": "audit", "zone": "America/Havana", "span": {"from": "2026-03-08T05:00:00Z", "to": "2026-03-20T12:30:15.125Z"}}`},
		"a repeated hour":  {"datetime", `{"definition": "orders", "purpose": "audit", "zone": "Europe/Berlin", "span": {"from": "2025-10-26T01:30:00Z", "to": "2025-10-26T12:00:00Z"}}`},
		"days":             {"date", `{"definition": "orders", "purpose": "audit", "zone": "Asia/Shanghai", "span": {"from": "2026-04-01T00:00:00+08:00", "to": "2026-04-20T00:00:00+08:00"}}`},
		"days of a cutoff": {"date", `{"definition": "orders", "purpose": "audit", "span": {"from": "2026-04-05T00:00:00Z"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(orders, `{"name": "placed_at", "kind": "timestamp"}, "key"`, `{"name": "placed_at", "kind": "`+c.kind+`"}, "key"`, 1)
			d, err := definition.Decode([]byte(strings.Replace(text, `,
  "limits"`, every, 1)))
			if err != nil {
				t.Fatal(err)
			}
			freezeAt := func(request []byte, at time.Time) snapshot.Snapshot {
				asked, err := snapshot.Decode(request)
				if err != nil {
					t.Fatalf("%s: %v", request, err)
				}
				s, err := frozenUnder(asked, d, 3, alice(), at)
				if err != nil {
					t.Fatalf("%s: %v", request, err)
				}
				return s
			}
			first := freezeAt([]byte(strings.Replace(c.request, "%s", "", 1)), now())
			again, err := json.Marshal(first.Request())
			if err != nil {
				t.Fatal(err)
			}
			second := freezeAt(again, now().AddDate(0, 1, 0))
			if c.kind == "date" {
				second.AsOf = first.AsOf
			}
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%s asks for another snapshot (-first +again):\n%s", again, diff)
			}
		})
	}
}
