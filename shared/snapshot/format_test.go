package snapshot_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/snapshot"
)

// everyFormat is the orders with all formats and compressions, and columns with everything that a workbook knows.
func everyFormat(t *testing.T) definition.Definition {
	t.Helper()
	text := strings.NewReplacer(
		`{"name": "orders",`, `{"name": "orders", "formats": ["csv", "jsonl", "xlsx", "parquet"], "compressions": ["gzip", "snappy", "zstd", "none"],`,
		`{"name": "id", "kind": "int64",`, `{"name": "id", "kind": "int64", "width": 22, "as_text": true,`,
	).Replace(orders)
	d, err := definition.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func freezeAs(t *testing.T, d definition.Definition, format string) (snapshot.Snapshot, error) {
	t.Helper()
	asked, err := snapshot.Decode([]byte(with(`, "columns": ["id", "amount"], "format": ` + format)))
	if err != nil {
		t.Fatal(err)
	}
	return frozenUnder(asked, d, 3, alice(), now())
}

// The texts and digests are what the release before workbooks, Parquet and GB 18030 froze: requests that use none of
// them keep theirs, and with them the jobs that their Idempotency-Keys are bound to.
func TestRequestsOfOldKeepTheirDigests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, request, digest, requestDigest string }{
		{"the defaults, a scale that the text formats don't use, a mask",
			with(`, "columns": ["id", "amount", "email"], "filters": [{"column": "amount", "op": "ge", "value": 12.5}]`),
			"2581bb35677c0d2a2aef322416473f5e34ba59fb0aca99906474283ae53cff84", "0583324762b910b76fff2e1d85b03a90847e3ec991c6e7597852bc0db352f274"},
		{"JSON Lines", with(`, "format": {"type": "jsonl", "compression": "none"}`),
			"7b659641d53b3de9388d4d772734fa4fa74d68c43493cfb3fad26f8ceb3548e8", "d818ac51a54fdd7214a018b2d0ef155b93c816db1572e5e0d4d92a6cf4917a2c"},
		{"every option of CSV", with(`, "zone": "Asia/Shanghai", "format": {"delimiter": ";", "quote": "'", "line_end": "lf", "header": false, "bom": true, "null": "\\N"}, "file_name": "x"`),
			"f740fb50e10fca473ce0281214baab56badc04c441b259746ac2d278438afb1c", "4ea0e3b7881dc76955ba3f2e5818b1f878e99ab0fc1a44a1873a976bc60b34db"},
		{"UTF-8 spelled out", with(`, "zone": "Asia/Shanghai", "format": {"encoding": "utf-8", "delimiter": ";", "quote": "'", "line_end": "lf", "header": false, "bom": true, "null": "\\N"}, "file_name": "x"`),
			"f740fb50e10fca473ce0281214baab56badc04c441b259746ac2d278438afb1c", "4ea0e3b7881dc76955ba3f2e5818b1f878e99ab0fc1a44a1873a976bc60b34db"},
	} {
		s, asked, err := freeze(t, c.request, alice())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if s.Digest() != c.digest || s.RequestDigest(asked) != c.requestDigest {
			t.Errorf("%s: digests %s and %s, want %s and %s\n%s", c.name, s.Digest(), s.RequestDigest(asked), c.digest, c.requestDigest, s.Encode())
		}
	}
}

func TestEachFormatFreezesWhatItUses(t *testing.T) {
	t.Parallel()
	csv := snapshot.Format{Type: "csv", Compression: "gzip", Delimiter: ",", Quote: `"`, LineEnd: "\r\n", Header: true, Guard: true, InvalidUTF8: "fail"}
	chinese := csv
	chinese.Encoding, chinese.Unencodable, chinese.Compression = "gb18030", "fail", "none"
	plain := []snapshot.Column{{Name: "id", Kind: "int64"}, {Name: "amount", Kind: "decimal"}}
	two := 2
	typed := []snapshot.Column{{Name: "id", Kind: "int64"}, {Name: "amount", Kind: "decimal", Scale: &two}}
	sheet := []snapshot.Column{{Name: "id", Kind: "int64", Width: 22, AsText: true}, {Name: "amount", Kind: "decimal", Scale: &two}}
	for _, c := range []struct {
		asked   string
		format  snapshot.Format
		columns []snapshot.Column
		ending  string
	}{
		{`{}`, csv, plain, ".csv.gz"},
		{`{"encoding": "gb18030", "compression": "none"}`, chinese, plain, ".csv"},
		{`{"type": "jsonl", "compression": "zstd"}`, snapshot.Format{Type: "jsonl", Compression: "zstd", InvalidUTF8: "fail"}, plain, ".jsonl.zst"},
		{`{"type": "xlsx"}`, snapshot.Format{Type: "xlsx", Compression: "none", Guard: true, InvalidUTF8: "fail", LongText: "fail"}, sheet, ".xlsx"},
		{`{"type": "xlsx", "compression": "none"}`, snapshot.Format{Type: "xlsx", Compression: "none", Guard: true, InvalidUTF8: "fail", LongText: "fail"}, sheet, ".xlsx"},
		{`{"type": "parquet"}`, snapshot.Format{Type: "parquet", Compression: "snappy", InvalidUTF8: "fail"}, typed, ".parquet"},
		{`{"type": "parquet", "compression": "zstd"}`, snapshot.Format{Type: "parquet", Compression: "zstd", InvalidUTF8: "fail"}, typed, ".parquet"},
	} {
		s, err := freezeAs(t, everyFormat(t), c.asked)
		if err != nil {
			t.Errorf("%s: %v", c.asked, err)
			continue
		}
		if diff := cmp.Diff(c.format, s.Format); diff != "" {
			t.Errorf("%s: format %s", c.asked, diff)
		}
		if diff := cmp.Diff(c.columns, s.Columns); diff != "" {
			t.Errorf("%s: columns %s", c.asked, diff)
		}
		if want := "orders-20260501" + c.ending; s.FileName != want {
			t.Errorf("%s: file %s, want %s", c.asked, s.FileName, want)
		}
		if again, err := snapshot.Parse(s.Encode()); err != nil || again.Digest() != s.Digest() {
			t.Errorf("%s: read back %v", c.asked, err)
		}
	}
}

func TestTheDefinitionsRulesAreFrozenWhereTheyApply(t *testing.T) {
	t.Parallel()
	d := everyFormat(t)
	d.KeepFormulas, d.LongText, d.Unencodable, d.InvalidUTF8 = true, definition.RuleTruncate, definition.RuleReplace, "replace"
	for asked, want := range map[string]string{
		`{"type": "csv", "encoding": "gb18030"}`: `"header":true,"invalid_utf8":"replace","encoding":"gb18030","unencodable":"replace"}`,
		`{"type": "csv"}`:                        `"header":true,"invalid_utf8":"replace"}`,
		`{"type": "jsonl"}`:                      `{"type":"jsonl","compression":"gzip","invalid_utf8":"replace"}`,
		`{"type": "xlsx"}`:                       `{"type":"xlsx","compression":"none","invalid_utf8":"replace","long_text":"truncate"}`,
		`{"type": "parquet"}`:                    `{"type":"parquet","compression":"snappy","invalid_utf8":"replace"}`,
	} {
		s, err := freezeAs(t, d, asked)
		if err != nil || !strings.Contains(s.Encode(), want) {
			t.Errorf("%s: %v, %s; want %s", asked, err, s.Encode(), want)
		}
	}
}

func TestCombinationsThatDoNotExistAreRefusedInWords(t *testing.T) {
	t.Parallel()
	narrow := everyFormat(t)
	narrow.Compressions = []string{"gzip"}
	private := everyFormat(t)
	private.Columns[0].Name = "id\ue000"
	for _, c := range []struct {
		name, asked, code, field string
		says                     []string
		definition               definition.Definition
	}{
		{"a workbook in gzip", `{"type": "xlsx", "compression": "gzip"}`, "format_not_allowed", "/format/compression",
			[]string{`/format/compression is "gzip"; xlsx allows only none`, "compressed inside"}, everyFormat(t)},
		{"parquet in gzip", `{"type": "parquet", "compression": "gzip"}`, "format_not_allowed", "/format/compression",
			[]string{`is "gzip"; definition orders allows snappy, zstd, none for parquet`}, everyFormat(t)},
		{"csv in snappy", `{"compression": "snappy"}`, "format_not_allowed", "/format/compression",
			[]string{`is "snappy"; definition orders allows gzip, zstd, none for csv`}, everyFormat(t)},
		{"parquet that nothing listed fits", `{"type": "parquet", "compression": "none"}`, "format_not_allowed", "/format/compression",
			[]string{`is "none"; definition orders allows zstd for parquet`}, narrow},
		{"a format that the definition lacks", `{"type": "xlsx"}`, "format_not_allowed", "/format/type",
			[]string{`/format/type is "xlsx"; definition orders allows csv, jsonl`}, ordersDefinition(t)},
		{"an unknown encoding", `{"encoding": "gbk"}`, "format_option", "/format/encoding", []string{`is "gbk"; allowed are utf-8 and gb18030`}, everyFormat(t)},
		{"the encoding of a workbook", `{"type": "xlsx", "encoding": "utf-8"}`, "format_option", "/format/encoding", []string{"is for csv; xlsx has no such option"}, everyFormat(t)},
		{"the header of parquet", `{"type": "parquet", "header": true}`, "format_option", "/format/header", []string{"is for csv; parquet has no such option"}, everyFormat(t)},
		{"a byte order mark in gb18030", `{"encoding": "gb18030", "bom": true}`, "format_option", "/format/bom", []string{"for utf-8", "gb18030"}, everyFormat(t)},
		{"a bar in gb18030", `{"encoding": "gb18030", "delimiter": "|"}`, "format_option", "/format/delimiter", []string{"part of characters", "comma, semicolon or tab"}, everyFormat(t)},
		{"a null that gb18030 lacks", `{"encoding": "gb18030", "null": "\ue000"}`, "format_option", "/format/null", []string{"the encoding has"}, everyFormat(t)},
		{"a null that is a formula", `{"null": "=NA()"}`, "format_option", "/format/null", []string{"formula"}, everyFormat(t)},
		{"a null with space around", `{"null": " x"}`, "format_option", "/format/null", []string{"spaces at its ends"}, everyFormat(t)},
		{"a null with a control character", `{"null": "a\u0001"}`, "format_option", "/format/null", []string{"control characters"}, everyFormat(t)},
		{"a null that is too long", `{"null": "abcdefghijklmnopq"}`, "format_option", "/format/null", []string{"17 bytes; at most 16"}, everyFormat(t)},
		{"a name that gb18030 lacks", `{"encoding": "gb18030"}`, "format_option", "/format/encoding", []string{"no sure code", `"id\ue000"`}, private},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			columns := `["id", "amount"]`
			if c.name == "a name that gb18030 lacks" {
				columns = `["id` + "\ue000" + `"]`
			}
			asked, err := snapshot.Decode([]byte(with(`, "columns": ` + columns + `, "format": ` + c.asked)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = frozenUnder(asked, c.definition, 3, alice(), now())
			var e *job.Error
			if !errors.As(err, &e) || e.Kind != job.Invalid || e.Code != c.code || e.Field != c.field {
				t.Fatalf("error %v, want %s at %s", err, c.code, c.field)
			}
			for _, text := range c.says {
				if !strings.Contains(e.Detail, text) {
					t.Errorf("the detail %q does not say %q", e.Detail, text)
				}
			}
		})
	}
}

func TestAFormatThatIsTheDefaultIsNamedInRefusals(t *testing.T) {
	t.Parallel()
	d := everyFormat(t)
	d.Formats = []string{"parquet"}
	_, err := freezeAs(t, d, `{"bom": true}`)
	if err == nil || !strings.Contains(err.Error(), "/format/bom is for csv; parquet has no such option") {
		t.Errorf("%v", err)
	}
}

func TestAFileNameNeverSaysWhatTheFileIsNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, asked, want string }{
		{`{"type": "xlsx"}`, "report", "report.xlsx"},
		{`{"type": "xlsx"}`, "report.xlsx", "report.xlsx"},
		{`{"type": "xlsx"}`, "report.CSV.gz", "report.xlsx"},
		{`{"type": "csv"}`, "report.XLSX", "report.csv.gz"},
		{`{"type": "csv", "compression": "none"}`, "report.parquet", "report.csv"},
		{`{"type": "parquet"}`, "report.jsonl.zst", "report.parquet"},
		{`{"type": "parquet"}`, "v1.2", "v1.2.parquet"},
		{`{"type": "xlsx"}`, `订单,导出 "Q3".csv`, `订单,导出 "Q3".xlsx`},
	} {
		asked, err := snapshot.Decode([]byte(with(`, "format": ` + c.format + `, "file_name": "` + strings.ReplaceAll(c.asked, `"`, `\"`) + `"`)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := frozenUnder(asked, everyFormat(t), 3, alice(), now())
		if err != nil || s.FileName != c.want {
			t.Errorf("%s as %s is %q (%v), want %q", c.asked, c.format, s.FileName, err, c.want)
		}
	}
}
