package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/definition"
	"sealift/shared/format"
	"sealift/shared/format/xlsx"
	"sealift/shared/policy"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

const everything = `{"name": "orders", "formats": ["csv", "jsonl", "xlsx", "parquet"], "compressions": ["gzip", "none", "zstd", "snappy"],
  "source": {"connection": "shop", "table": "orders", "tenant_column": {"name": "tenant_id", "kind": "string"},
    "time_column": {"name": "at", "kind": "timestamp"}, "key": [{"name": "at", "kind": "timestamp"}, {"name": "id", "kind": "int64"}]},
  "consistency": {"kind": "cutoff", "promise": "as read"}, "long_text": "truncate", "unencodable": "replace",
  "columns": [{"name": "id", "kind": "int64", "width": 20, "as_text": true}, {"name": "amount", "kind": "decimal", "scale": 2},
    {"name": "rate", "kind": "decimal"}, {"name": "weight", "kind": "float64"}, {"name": "gift", "kind": "bool"}, {"name": "day", "kind": "date"},
    {"name": "at", "kind": "timestamp"}, {"name": "local", "kind": "datetime"}, {"name": "extra", "kind": "json"}, {"name": "blob", "kind": "bytes"},
    {"name": "名字", "kind": "string"}]}`

func frozenAs(t *testing.T, format snapshot.FormatRequest, keepFormulas bool) (snapshot.Snapshot, error) {
	t.Helper()
	d, err := definition.Decode([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	d.KeepFormulas = keepFormulas
	request := snapshot.Request{Definition: "orders", Purpose: "audit", Span: snapshot.Span{From: "2026-04-01T00:00:00Z"}, Format: format}
	return snapshot.Case{
		Request: request, Definition: &d, Version: 1, Who: policy.Principal{Tenant: "acme", Subject: "a"}, Now: time.Date(2026, 4, 9, 0, 0, 0, 0, time.UTC),
	}.Freeze()
}

func TestWhatIsGrantedCanBeWrittenAndIsNamedForWhatItIs(t *testing.T) {
	t.Parallel()
	granted := map[string]int{}
	for _, name := range append(definition.Formats(), "") {
		for _, compression := range []string{"", "none", "gzip", "zstd", "snappy"} {
			for _, encoding := range []string{"", "utf-8", "gb18030"} {
				for _, keep := range []bool{false, true} {
					snap, err := frozenAs(t, snapshot.FormatRequest{Type: name, Compression: compression, Encoding: encoding}, keep)
					if err != nil {
						continue
					}
					granted[snap.Format.Type]++
					spec := FileSpec(snap, 2)
					if err := spec.Validate(); err != nil {
						t.Errorf("%s %s %s is granted, but %v", name, compression, encoding, err)
					}
					if !strings.HasSuffix(snap.FileName, "."+format.Extension(spec)) {
						t.Errorf("%s %s is named %s, but its ending is %s", name, compression, snap.FileName, format.Extension(spec))
					}
					if guard := !keep && (spec.Format == format.CSV || spec.Format == format.XLSX); spec.Guard != guard {
						t.Errorf("%s with keep_formulas %v: guard is %v", name, keep, spec.Guard)
					}
				}
			}
		}
	}
	// csv: its own name and the default, four compressions, three encodings, twice; jsonl: four, twice; xlsx: two, twice;
	// parquet: four, twice.
	if diff := cmp.Diff(map[string]int{"csv": 48, "jsonl": 8, "xlsx": 4, "parquet": 8}, granted); diff != "" {
		t.Errorf("granted are %s", diff)
	}
}

func TestTheSpecTakesFromTheSnapshotWhatItsFormatUses(t *testing.T) {
	t.Parallel()
	scales := func(spec format.Spec) (scales []int) {
		for _, column := range spec.Columns[:3] {
			scales = append(scales, column.Scale)
		}
		return scales
	}
	for _, c := range []struct {
		asked  snapshot.FormatRequest
		scales []int
		check  func(format.Spec) bool
	}{
		{snapshot.FormatRequest{Type: "csv", Encoding: "gb18030"}, []int{-1, -1, -1}, func(s format.Spec) bool {
			return s.CSV.Encoding == "gb18030" && s.CSV.Unencodable == format.Replace && format.ContentType(s) == "application/gzip"
		}},
		{snapshot.FormatRequest{Type: "csv", Encoding: "gb18030", Compression: "none"}, []int{-1, -1, -1}, func(s format.Spec) bool {
			return format.ContentType(s) == "text/csv; charset=gb18030; header=present"
		}},
		{snapshot.FormatRequest{Type: "csv"}, []int{-1, -1, -1}, func(s format.Spec) bool {
			return s.CSV.Encoding == "" && s.CSV.Unencodable == ""
		}},
		{snapshot.FormatRequest{Type: "xlsx"}, []int{-1, 2, -1}, func(s format.Spec) bool {
			return s.XLSX.LongText == xlsx.LongTruncate && s.XLSX.Widths[0] == 20 && s.XLSX.Widths[1] == 0 && s.XLSX.AsText[0] && !s.XLSX.AsText[1]
		}},
		{snapshot.FormatRequest{Type: "parquet"}, []int{-1, 2, -1}, func(s format.Spec) bool {
			return s.Compression == format.Zstd && s.XLSX.Widths == nil
		}},
	} {
		snap, err := frozenAs(t, c.asked, false)
		if err != nil {
			t.Fatal(err)
		}
		spec := FileSpec(snap, 2)
		if diff := cmp.Diff(c.scales, scales(spec)); diff != "" || !c.check(spec) {
			t.Errorf("%+v: %+v %s", c.asked, spec, diff)
		}
	}
}

// old is a snapshot as the release before workbooks, Parquet and GB 18030 froze it.
const old = `{"schema":1,"tenant":"acme","applicant":"alice","purpose":"audit","definition":"orders","definition_version":3,"columns":[{"name":"id","kind":"int64"},{"name":"amount","kind":"decimal"},{"name":"email","kind":"string","mask":"redact"}],"filters":[{"column":"amount","op":"ge","values":["12.5"]}],"since":"2026-04-01T00:00:00Z","until":"2026-04-30T00:00:00Z","as_of":"2026-05-01T12:00:00Z","order":["placed_at","id"],"zone":"UTC","format":{"type":"csv","compression":"gzip","delimiter":",","quote":"\"","line_end":"\r\n","header":true,"guard":true,"invalid_utf8":"fail"},"layout":"file","file_name":"orders-20260501.csv.gz","policy":"roles/1"}`

func TestAnOldSnapshotMeansWhatItMeant(t *testing.T) {
	t.Parallel()
	snap, err := snapshot.Parse(old)
	if err != nil || snap.Encode() != old || snap.Digest() != "2581bb35677c0d2a2aef322416473f5e34ba59fb0aca99906474283ae53cff84" {
		t.Fatalf("read as %s (%v)", snap.Encode(), err)
	}
	want := format.Spec{
		Format: format.CSV, Compression: format.Gzip, Keys: 2, Guard: true, InvalidUTF8: format.Fail, Zone: "UTC",
		CSV: format.CSVOptions{Delimiter: ',', Quote: '"', LineEnd: "\r\n", Header: true},
		Columns: []row.Column{
			{Name: "id", Source: "id", Kind: row.Int64, Scale: -1}, {Name: "amount", Source: "amount", Kind: row.Decimal, Scale: -1},
			{Name: "email", Source: "email", Kind: row.String, Scale: -1},
		},
	}
	spec := FileSpec(snap, 2)
	if diff := cmp.Diff(want, spec); diff != "" || spec.Validate() != nil {
		t.Errorf("the spec is %s (%v)", diff, spec.Validate())
	}
}
