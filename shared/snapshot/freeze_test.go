package snapshot_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/policy"
	"sealift/shared/snapshot"
)

const orders = `{"name": "orders",
  "source": {"connection": "shop", "table": "orders", "tenant_column": {"name": "tenant_id", "kind": "string"},
    "time_column": {"name": "placed_at", "kind": "timestamp"}, "key": [{"name": "placed_at", "kind": "timestamp"}, {"name": "id", "kind": "int64"}]},
  "consistency": {"kind": "cutoff", "promise": "as read"},
  "columns": [
    {"name": "id", "kind": "int64", "filter": ["eq", "in", "gt"]},
    {"name": "amount", "kind": "decimal", "scale": 2, "filter": ["ge", "in"]},
    {"name": "status", "kind": "string", "filter": ["eq", "in", "is_null"]},
    {"name": "gift", "kind": "bool", "filter": ["eq"]},
    {"name": "day", "kind": "date", "filter": ["eq"]},
    {"name": "placed_at", "kind": "timestamp", "filter": ["ge"]},
    {"name": "email", "kind": "string", "filter": ["eq"], "mask": {"kind": "redact", "unless": ["pii"]}},
    {"name": "cost", "kind": "decimal", "filter": ["ge"], "roles": ["finance"]}],
  "limits": {"span_days_max": 31}}`

func now() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

func ordersDefinition(t *testing.T) definition.Definition {
	t.Helper()
	d, err := definition.Decode([]byte(orders))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func freeze(t *testing.T, request string, who policy.Principal) (snapshot.Snapshot, snapshot.Request, error) {
	t.Helper()
	asked, err := snapshot.Decode([]byte(request))
	if err != nil {
		t.Fatalf("decode %s: %v", request, err)
	}
	s, err := frozenUnder(asked, ordersDefinition(t), 3, who, now())
	return s, asked, err
}

func frozenUnder(request snapshot.Request, d definition.Definition, version int64, who policy.Principal, at time.Time) (snapshot.Snapshot, error) {
	return snapshot.Case{Request: request, Definition: &d, Version: version, Who: who, Now: at}.Freeze()
}

func alice() policy.Principal { return policy.Principal{Tenant: "acme", Subject: "alice"} }

const base = `{"definition": "orders", "purpose": "audit", "span": {"from": "2026-04-01T00:00:00Z", "to": "2026-04-30T00:00:00Z"}%s}`

func with(more string) string { return strings.Replace(base, "%s", more, 1) }

func TestTheDigestIgnoresSpellingAndNothingElse(t *testing.T) {
	t.Parallel()
	reference := with(`, "columns": ["id", "status"], "filters": [{"column": "amount", "op": "ge", "value": 12.5}, {"column": "status", "op": "in", "values": ["paid", "new"]}]`)
	same := map[string]string{
		"field order":            `{"filters": [{"op": "ge", "column": "amount", "value": 12.5}, {"values": ["paid", "new"], "column": "status", "op": "in"}], "columns": ["id", "status"], "span": {"to": "2026-04-30T00:00:00Z", "from": "2026-04-01T00:00:00Z"}, "purpose": "audit", "definition": "orders"}`,
		"white space":            strings.ReplaceAll(reference, " ", "\n\t"),
		"number spelling":        strings.Replace(reference, "12.5", "1.250e1", 1),
		"a number as text":       strings.Replace(reference, "12.5", `"12.50"`, 1),
		"filter order":           with(`, "columns": ["id", "status"], "filters": [{"column": "status", "op": "in", "values": ["new", "paid", "new"]}, {"column": "amount", "op": "ge", "value": 12.5}]`),
		"an offset of the span":  strings.Replace(reference, "2026-04-01T00:00:00Z", "2026-04-01T08:00:00+08:00", 1),
		"a default spelled out":  strings.Replace(reference, `"purpose"`, `"zone": "UTC", "format": {"type": "csv", "compression": "gzip", "delimiter": ","}, "purpose"`, 1),
		"the same filter twice":  with(`, "columns": ["id", "status"], "filters": [{"column": "amount", "op": "ge", "value": 12.5}, {"column": "amount", "op": "ge", "value": 12.50}, {"column": "status", "op": "in", "values": ["paid", "new"]}]`),
		"space around a purpose": strings.Replace(reference, `"audit"`, `" audit "`, 1),
	}
	want, asked, err := freeze(t, reference, alice())
	if err != nil {
		t.Fatal(err)
	}
	for name, request := range same {
		got, again, err := freeze(t, request, alice())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Digest() != want.Digest() || got.RequestDigest(again) != want.RequestDigest(asked) {
			t.Errorf("%s changes the digest:\n%s\n%s", name, got.Encode(), want.Encode())
		}
	}
	other := map[string]string{
		"columns":      strings.Replace(reference, `["id", "status"]`, `["id", "amount"]`, 1),
		"column order": strings.Replace(reference, `["id", "status"]`, `["status", "id"]`, 1),
		"a value":      strings.Replace(reference, "12.5", "12.51", 1),
		"the span":     strings.Replace(reference, "2026-04-30", "2026-04-29", 1),
		"the zone":     strings.Replace(reference, `"purpose"`, `"zone": "Asia/Shanghai", "purpose"`, 1),
		"the format":   strings.Replace(reference, `"purpose"`, `"format": {"type": "jsonl"}, "purpose"`, 1),
		"the null":     strings.Replace(reference, `"purpose"`, `"format": {"null": "N/A"}, "purpose"`, 1),
		"the purpose":  strings.Replace(reference, `"audit"`, `"report"`, 1),
		"as_of":        strings.Replace(reference, `"purpose"`, `"as_of": "2026-04-29T00:00:00Z", "purpose"`, 1),
	}
	for name, request := range other {
		got, again, err := freeze(t, request, alice())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Digest() == want.Digest() || got.RequestDigest(again) == want.RequestDigest(asked) {
			t.Errorf("%s does not change the digest", name)
		}
	}
	bob, asked2, err := freeze(t, reference, policy.Principal{Tenant: "globex", Subject: "alice"})
	if err != nil || bob.RequestDigest(asked2) == want.RequestDigest(asked) {
		t.Errorf("another tenant has the same digest (%v)", err)
	}
}

func TestAMaskChangesTheDigest(t *testing.T) {
	t.Parallel()
	request := with(`, "columns": ["id", "email"]`)
	masked, _, err := freeze(t, request, alice())
	if err != nil {
		t.Fatal(err)
	}
	clear, _, err := freeze(t, request, policy.Principal{Tenant: "acme", Subject: "alice", Roles: []string{"pii"}})
	if err != nil {
		t.Fatal(err)
	}
	if masked.Columns[1].Mask != definition.MaskRedact || clear.Columns[1].Mask != "" || masked.Digest() == clear.Digest() {
		t.Errorf("masks %q and %q, digests %s and %s", masked.Columns[1].Mask, clear.Columns[1].Mask, masked.Digest(), clear.Digest())
	}
}

func TestTheSameWordsLaterAreTheSameRequestButAnotherSnapshot(t *testing.T) {
	t.Parallel()
	text := `{"definition": "orders", "purpose": "audit", "span": {"from": "2026-04-20T00:00:00Z"}}`
	asked, err := snapshot.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	first, err := frozenUnder(asked, ordersDefinition(t), 3, alice(), now())
	if err != nil {
		t.Fatal(err)
	}
	later, err := frozenUnder(asked, ordersDefinition(t), 4, alice(), now().Add(26*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if first.RequestDigest(asked) != later.RequestDigest(asked) {
		t.Error("the request's digest depends on when it is asked")
	}
	if first.Digest() == later.Digest() || first.Until != "2026-05-01T12:00:00Z" || later.Until != "2026-05-02T14:00:00Z" {
		t.Errorf("the cutoffs are %s and %s", first.Until, later.Until)
	}
}

func TestTheCutoffNeverPassesNowAndSettles(t *testing.T) {
	t.Parallel()
	d := ordersDefinition(t)
	d.Consistency.SettleSeconds = 600
	asked, err := snapshot.Decode([]byte(`{"definition": "orders", "purpose": "audit", "span": {"from": "2026-04-20T00:00:00Z", "to": "2026-05-10T00:00:00Z"}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := frozenUnder(asked, d, 1, alice(), now())
	if err != nil || s.Until != "2026-05-01T11:50:00Z" || s.AsOf != "2026-05-01T11:50:00Z" {
		t.Errorf("until %s, as of %s, error %v; want ten minutes before noon", s.Until, s.AsOf, err)
	}
}

func TestARefusalNamesTheFieldTheFaultAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, request, code, field string
		says                       []string
	}{
		{"an unknown column", with(`, "columns": ["id", "colour"]`), "column_unknown", "/columns/1", []string{`"colour"`, "id, amount, status"}},
		{"a column twice", with(`, "columns": ["id", "id"]`), "column_twice", "/columns/1", []string{`"id"`}},
		{"no columns", with(`, "columns": []`), "columns_empty", "/columns", []string{"at least one"}},
		{"text for a number", with(`, "filters": [{"column": "id", "op": "eq", "value": "abc"}]`), "filter_value", "/filters/0/value", []string{`"abc"`, "whole numbers"}},
		{"a fraction for a whole number", with(`, "filters": [{"column": "id", "op": "eq", "value": 1.5}]`), "filter_value", "/filters/0/value", []string{"whole numbers"}},
		{"beyond 64 bits", with(`, "filters": [{"column": "id", "op": "eq", "value": 9223372036854775808}]`), "filter_value", "/filters/0/value", []string{"9223372036854775807"}},
		{"a number for text", with(`, "filters": [{"column": "status", "op": "eq", "value": 7}]`), "filter_value", "/filters/0/value", []string{"JSON string"}},
		{"text for a boolean", with(`, "filters": [{"column": "gift", "op": "eq", "value": "yes"}]`), "filter_value", "/filters/0/value", []string{`is "yes"; the column is boolean, so send true or false`}},
		{"a malformed date", with(`, "filters": [{"column": "day", "op": "eq", "value": "2026-13-01"}]`), "filter_value", "/filters/0/value", []string{"YYYY-MM-DD"}},
		{"an instant without offset", with(`, "filters": [{"column": "placed_at", "op": "ge", "value": "2026-01-01T00:00:00"}]`), "filter_value", "/filters/0/value", []string{"RFC 3339"}},
		{"an op that the column lacks", with(`, "filters": [{"column": "amount", "op": "lt", "value": 1}]`), "filter_not_allowed", "/filters/0/op", []string{`"lt"`, "ge, in"}},
		{"an empty in", with(`, "filters": [{"column": "id", "op": "in", "values": []}]`), "filter_value", "/filters/0/values", []string{"1 to 500"}},
		{"a value for is_null", with(`, "filters": [{"column": "status", "op": "is_null", "value": "x"}]`), "filter_value", "/filters/0", []string{"takes none"}},
		{"null as a value", with(`, "filters": [{"column": "status", "op": "eq", "value": null}]`), "filter_value", "/filters/0/value", []string{"is_null"}},
		{"a filter on a masked column", with(`, "filters": [{"column": "email", "op": "eq", "value": "a@example.com"}]`), "filter_not_allowed", "/filters/0/column", []string{"masked"}},
		{"a span that is too wide", `{"definition": "orders", "purpose": "p", "span": {"from": "2026-01-01T00:00:00Z", "to": "2026-03-01T00:00:00Z"}}`, "span_too_wide", "/span", []string{"covers 59 days;", "31"}},
		{"a span that is too wide by half a day", `{"definition": "orders", "purpose": "p", "span": {"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T12:00:00Z"}}`, "span_too_wide", "/span", []string{"covers 31.5 days;", "allows 31:"}},
		{"a span that is too wide by less than a second", `{"definition": "orders", "purpose": "p", "span": {"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00.001Z"}}`, "span_too_wide", "/span", []string{"covers 31.1 days;", "allows 31:"}},
		{"a span of two thousand years", `{"definition": "orders", "purpose": "p", "span": {"from": "0001-01-01T00:00:00Z", "to": "2026-03-01T00:00:00Z"}}`, "span_too_wide", "/span", []string{"covers 739675 days;", "31"}},
		{"a span backwards", `{"definition": "orders", "purpose": "p", "span": {"from": "2026-02-02T00:00:00Z", "to": "2026-02-01T00:00:00Z"}}`, "span_empty", "/span", []string{"not before"}},
		{"no span", `{"definition": "orders", "purpose": "p"}`, "span_missing", "/span/from", []string{"2026-01-01T00:00:00Z"}},
		{"a malformed time", `{"definition": "orders", "purpose": "p", "span": {"from": "yesterday"}}`, "time_malformed", "/span/from", []string{`"yesterday"`, "RFC 3339"}},
		{"a time finer than nanoseconds", `{"definition": "orders", "purpose": "p", "span": {"from": "2026-04-01T00:00:00.0000000001Z"}}`, "time_malformed", "/span/from", []string{`"2026-04-01T00:00:00.0000000001Z"`, "at most nine decimals"}},
		{"a time finer than nanoseconds behind a comma", with(`, "as_of": "2026-04-30T00:00:00,0000000000Z"`), "time_malformed", "/as_of", []string{"at most nine decimals"}},
		{"a time without an end", `{"definition": "orders", "purpose": "p", "span": {"from": "2026-04-01T00:00:00.` + strings.Repeat("0", 1000) + `Z"}}`, "time_malformed", "/span/from", []string{`000…"`}},
		{"as_of in the future", with(`, "as_of": "2027-01-01T00:00:00Z"`), "as_of_future", "/as_of", []string{"2026-05-01T12:00:00Z"}},
		{"no purpose", `{"definition": "orders", "span": {"from": "2026-04-01T00:00:00Z"}}`, "purpose_missing", "/purpose", []string{"what the export is for"}},
		{"an unknown zone", with(`, "zone": "Mars/Olympus"`), "zone_unknown", "/zone", []string{"Mars/Olympus", "Asia/Shanghai"}},
		{"a zone of the machine", with(`, "zone": "localtime"`), "zone_unknown", "/zone", []string{"Asia/Shanghai"}},
		{"a zone with leap seconds", with(`, "zone": "right/UTC"`), "zone_unknown", "/zone", []string{"Asia/Shanghai"}},
		{"half a surrogate pair", with(`, "filters": [{"column": "status", "op": "eq", "value": "\ud800"}]`), "filter_value", "/filters/0/value", []string{"surrogate"}},
		{"an unknown format", with(`, "format": {"type": "pdf"}`), "format_not_allowed", "/format/type", []string{`"pdf"`, "csv, jsonl"}},
		{"an option of another format", with(`, "format": {"type": "jsonl", "bom": true}`), "format_option", "/format/bom", []string{"csv"}},
		{"a delimiter that is none", with(`, "format": {"delimiter": "x"}`), "format_option", "/format/delimiter", []string{"comma"}},
		{"a path as file name", with(`, "file_name": "../../etc/passwd"`), "file_name", "/file_name", []string{"slashes"}},
		{"a file name with a line end", with(`, "file_name": "a\r\nSet-Cookie: b"`), "file_name", "/file_name", []string{"control characters"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := freeze(t, c.request, alice())
			var e *job.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v, want a refusal", err)
			}
			if e.Kind != job.Invalid || e.Code != c.code || e.Field != c.field {
				t.Errorf("%s %s at %s, want %s at %s", e.Kind, e.Code, e.Field, c.code, c.field)
			}
			for _, text := range c.says {
				if !strings.Contains(e.Detail, text) {
					t.Errorf("the detail %q does not say %q", e.Detail, text)
				}
			}
		})
	}
}

func TestAColumnThatIsHiddenIsRefusedInTheWordsOfOneThatDoesNotExist(t *testing.T) {
	t.Parallel()
	refusal := func(column string) string {
		_, _, err := freeze(t, with(`, "columns": ["`+column+`"]`), alice())
		if err == nil {
			t.Fatalf("column %s is allowed", column)
		}
		return strings.ReplaceAll(err.Error(), column, "COLUMN")
	}
	if hidden, missing := refusal("cost"), refusal("nope"); hidden != missing {
		t.Errorf("hidden: %s\nmissing: %s", hidden, missing)
	}
	s, _, err := freeze(t, with(""), alice())
	if err != nil {
		t.Fatal(err)
	}
	if text := s.Encode(); strings.Contains(text, "cost") {
		t.Errorf("the default columns hold the hidden one: %s", text)
	}
	if _, _, err := freeze(t, with(`, "columns": ["cost"]`), policy.Principal{Tenant: "acme", Subject: "a", Roles: []string{"finance"}}); err != nil {
		t.Errorf("with the role: %v", err)
	}
}

func TestTheSnapshotReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	s, _, err := freeze(t, with(`, "filters": [{"column": "status", "op": "is_null"}], "file_name": "订单,导出 \"Q3\""`), alice())
	if err != nil {
		t.Fatal(err)
	}
	if s.FileName != `订单,导出 "Q3".csv.gz` {
		t.Errorf("file name %q", s.FileName)
	}
	again, err := snapshot.Parse(s.Encode())
	if err != nil || again.Encode() != s.Encode() || again.Digest() != s.Digest() {
		t.Errorf("read back (%v): %s\nwritten: %s", err, again.Encode(), s.Encode())
	}
	var broken *job.Error
	if _, err := snapshot.Parse(`{"schema": 2}`); !errors.As(err, &broken) || broken.Code != "snapshot_schema" {
		t.Errorf("a snapshot of another schema gives %v", err)
	}
	if !json.Valid([]byte(s.Encode())) {
		t.Error("the canonical form is not JSON")
	}
}

func TestASnapshotThatNoRowCanHoldIsRefused(t *testing.T) {
	t.Parallel()
	// Angle brackets grow sixfold in the canonical form.
	values := strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("<", 200)+`%",`, 400), ",")
	for i := range 400 {
		values = strings.Replace(values, "%", string(rune('a'+i%26))+string(rune('a'+i/26)), 1)
	}
	_, _, err := freeze(t, with(`, "filters": [{"column": "status", "op": "in", "values": [`+values+`]}]`), alice())
	if job.CodeOf(err) != "request_too_large" {
		t.Errorf("error %v, want request_too_large", err)
	}
}

func TestAFileNameEndsAsTheFileIsWritten(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ asked, format, compression, want string }{
		"no ending":                   {"发票", "csv", "gzip", "发票.csv.gz"},
		"the format's alone":          {"发票.csv", "csv", "zstd", "发票.csv.zst"},
		"the right one":               {"a.csv.gz", "csv", "gzip", "a.csv.gz"},
		"in capitals":                 {"A.CSV", "csv", "none", "A.csv"},
		"of another format":           {"a.csv", "jsonl", "none", "a.jsonl"},
		"of another compression":      {"a.csv.gz", "csv", "zstd", "a.csv.zst"},
		"of a compression that isn't": {"a.jsonl.zst", "jsonl", "none", "a.jsonl"},
		"the compression's alone":     {"a.gz", "csv", "gzip", "a.csv.gz"},
		"a dot that is no ending":     {"v1.5", "csv", "none", "v1.5.csv"},
		"an ending within":            {"a.csv.old", "csv", "none", "a.csv.old.csv"},
	}
	for name, c := range cases {
		s, _, err := freeze(t, with(`, "format": {"type": "`+c.format+`", "compression": "`+c.compression+`"}, "file_name": "`+c.asked+`"`), alice())
		if err != nil || s.FileName != c.want {
			t.Errorf("%s: %q, %v; want %q", name, s.FileName, err, c.want)
		}
	}
	if _, _, err := freeze(t, with(`, "file_name": ".csv.gz"`), alice()); job.CodeOf(err) != "file_name" {
		t.Errorf("only an ending: %v", err)
	}
}

func TestAColumnThatCanNotBeFilteredIsSaidToBeSo(t *testing.T) {
	t.Parallel()
	d := ordersDefinition(t)
	d.Columns[0].Ops = nil
	asked, err := snapshot.Decode([]byte(with(`, "filters": [{"column": "id", "op": "eq", "value": 1}]`)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = frozenUnder(asked, d, 1, alice(), now())
	if want := `/filters/0/op is "eq"; column id can't be filtered`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestASpanThatHasNotBegunIsRefused(t *testing.T) {
	t.Parallel()
	_, _, err := freeze(t, `{"definition": "orders", "purpose": "p", "span": {"from": "2027-01-01T00:00:00Z", "to": "2027-01-10T00:00:00Z"}}`, alice())
	if job.CodeOf(err) != "span_empty" || !strings.Contains(err.Error(), "2026-05-01T12:00:00Z") {
		t.Errorf("error %v, want span_empty with the cutoff", err)
	}
}

func TestASpanOfDaysMustBeginAndEndAtMidnight(t *testing.T) {
	t.Parallel()
	d := ordersDefinition(t)
	d.Source.TimeColumn.Kind = "date"
	cases := []struct{ zone, from, to, code, since, until string }{
		{"UTC", "2026-04-01T00:00:00Z", "2026-04-03T00:00:00Z", "", "2026-04-01", "2026-04-03"},
		{"Asia/Shanghai", "2026-03-31T16:00:00Z", "2026-04-03T00:00:00+08:00", "", "2026-04-01", "2026-04-03"},
		{"Asia/Shanghai", "2026-04-01T00:00:00Z", "2026-04-03T00:00:00Z", "span_within_day", "", ""},
		{"UTC", "2026-04-01T06:00:00Z", "2026-04-03T00:00:00Z", "span_within_day", "", ""},
		{"UTC", "2026-04-01T00:00:00Z", "2026-04-03T00:00:00.5Z", "span_within_day", "", ""},
	}
	for _, c := range cases {
		asked, err := snapshot.Decode([]byte(`{"definition": "orders", "purpose": "p", "zone": "` + c.zone + `", "span": {"from": "` + c.from + `", "to": "` + c.to + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := frozenUnder(asked, d, 1, alice(), now())
		if (err != nil) != (c.code != "") || (err != nil && job.CodeOf(err) != c.code) {
			t.Errorf("%+v: error %v", c, err)
		}
		if s.Since != c.since || s.Until != c.until {
			t.Errorf("%+v: from %q until %q", c, s.Since, s.Until)
		}
	}
}

func TestAnEmptySpanNamesItsEnd(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ fields, want string }{
		"an end that is given": {`"span": {"from": "2026-02-02T00:00:00Z", "to": "2026-02-01T00:00:00Z"}`,
			"/span/from (2026-02-02T00:00:00Z) is not before /span/to (2026-02-01T00:00:00Z)"},
		"an end in another offset": {`"span": {"from": "2026-02-02T00:00:00Z", "to": "2026-02-02T00:00:00+08:00"}`,
			"/span/from (2026-02-02T00:00:00Z) is not before /span/to (2026-02-02T00:00:00+08:00)"},
		"no end": {`"span": {"from": "2027-01-01T00:00:00Z"}`,
			"/span/from (2027-01-01T00:00:00Z) is not before the cutoff, 2026-05-01T12:00:00Z; nothing has happened in that time yet"},
		"no end and a cutoff of one's own": {`"span": {"from": "2026-03-01T00:00:00Z"}, "as_of": "2026-02-01T00:00:00Z"`,
			"/span/from (2026-03-01T00:00:00Z) is not before the cutoff, /as_of (2026-02-01T00:00:00Z)"},
		"an end after a cutoff of one's own": {`"span": {"from": "2026-03-01T00:00:00Z", "to": "2026-03-10T00:00:00Z"}, "as_of": "2026-02-01T00:00:00Z"`,
			"/span/from (2026-03-01T00:00:00Z) is not before the cutoff, /as_of (2026-02-01T00:00:00Z)"},
	}
	for name, c := range cases {
		_, _, err := freeze(t, `{"definition": "orders", "purpose": "p", `+c.fields+`}`, alice())
		var refused *job.Error
		if !errors.As(err, &refused) || refused.Code != "span_empty" || refused.Field != "/span" || refused.Detail != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, c.want)
		}
	}
}

func TestASpanThatTheClocksTurnBackIsRefused(t *testing.T) {
	t.Parallel()
	d := ordersDefinition(t)
	d.Source.TimeColumn.Kind = "datetime"
	asked, err := snapshot.Decode([]byte(`{"definition": "orders", "purpose": "p", "zone": "America/New_York", "span": {"from": "2025-11-02T01:45:00-04:00", "to": "2025-11-02T01:15:00-05:00"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := frozenUnder(asked, d, 1, alice(), now()); job.CodeOf(err) != "span_empty" || !strings.Contains(err.Error(), "set back") {
		t.Errorf("from %s until %s, error %v", s.Since, s.Until, err)
	}
}
