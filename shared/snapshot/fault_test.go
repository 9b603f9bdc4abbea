package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/snapshot"
)

// told are the faults of a request under a definition, or under none, as code and field, in the order in which they are
// told.
func told(t *testing.T, request string, d *definition.Definition) []string {
	t.Helper()
	asked, err := snapshot.Decode([]byte(request))
	shape := snapshot.FaultsOf(err)
	if shape.Whole() {
		t.Fatalf("decode %s: %v", request, err)
	}
	_, err = snapshot.Case{Request: asked, Earlier: shape, Definition: d, Version: 3, Who: alice(), Now: now()}.Freeze()
	var lines []string
	for _, fault := range snapshot.FaultsOf(err) {
		lines = append(lines, strings.TrimSpace(fault.Code+" "+fault.Field))
		if fault.Detail == "" {
			t.Errorf("%s at %s says nothing", fault.Code, fault.Field)
		}
	}
	return lines
}

const wrongEverywhere = `{"file_name": "a/b", "layout": "many", "format": {"type": "csv", "compression": "brotli", "delimiter": "x", "quote": "x", "line_end": "x", "encoding": "x"},
	"zone": "Mars/Olympus", "as_of": "now", "span": {"from": "then", "to": "later"}, "purpose": " ", "columns": ["id", "id", "colour"], "definition": "orders",
	"filters": [{"column": "id", "op": "eq", "value": "x"}, {"column": "shade", "op": "in", "value": 1}, {"column": "amount", "op": "lt", "value": 1},
		{"column": "id", "op": "in", "values": [1, "two", 3, "four"]}, {"column": "email", "op": "eq", "value": "a"}]}`

func TestEverythingThatIsWrongIsToldInTheOrderOfARequest(t *testing.T) {
	t.Parallel()
	orders := ordersDefinition(t)
	days := ordersDefinition(t)
	days.Source.TimeColumn.Kind = "date"
	private := ordersDefinition(t)
	private.Columns[2].Name = "status\ue000"
	cases := map[string]struct {
		request string
		d       *definition.Definition
		want    []string
	}{
		"everything": {wrongEverywhere, &orders, []string{
			"purpose_missing /purpose", "column_twice /columns/1", "column_unknown /columns/2",
			"filter_value /filters/0/value", "filter_value /filters/1/values", "filter_not_allowed /filters/2/op",
			"filter_value /filters/3/values/1", "filter_value /filters/3/values/3", "filter_not_allowed /filters/4/column",
			"time_malformed /span/from", "time_malformed /span/to", "time_malformed /as_of", "zone_unknown /zone",
			"format_not_allowed /format/compression", "format_option /format/delimiter", "format_option /format/quote",
			"format_option /format/line_end", "format_option /format/encoding", "layout /layout", "file_name /file_name",
		}},
		"without a definition what needs none": {wrongEverywhere, nil, []string{
			"purpose_missing /purpose", "column_twice /columns/1", "filter_value /filters/1/values",
			"time_malformed /span/from", "time_malformed /span/to", "time_malformed /as_of", "zone_unknown /zone",
			"format_option /format/delimiter", "format_option /format/quote", "format_option /format/line_end", "format_option /format/encoding",
			"layout /layout", "file_name /file_name",
		}},
		"without a definition nothing that only one tells": {
			`{"definition": "odrers", "purpose": "other", "columns": ["colour"], "filters": [{"column": "shade", "op": "like", "value": "x"}],
				"span": {"from": "2020-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "as_of": "2026-05-01T12:00:01Z", "format": {"type": "xls", "null": "="}}`, nil, nil,
		},
		"options of no csv without a definition": {with(`, "format": {"type": "xlsx", "bom": true, "encoding": "utf-8"}`), nil, []string{
			"format_option /format/bom", "format_option /format/encoding",
		}},
		"a span backwards without a definition":    {`{"purpose": "p", "span": {"from": "2026-02-02T00:00:00Z", "to": "2026-02-01T00:00:00Z"}}`, nil, []string{"span_empty /span"}},
		"a span that can't be told from a bad end": {`{"definition": "orders", "purpose": "p", "span": {"from": "2020-01-01T00:00:00Z", "to": "?"}}`, &orders, []string{"time_malformed /span/to"}},
		"a span that is too wide whatever the cutoff": {`{"definition": "orders", "purpose": "p", "as_of": "?", "span": {"from": "2020-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}}`, &orders, []string{
			"span_too_wide /span", "time_malformed /as_of",
		}},
		"all ends within a day": {`{"definition": "orders", "purpose": "p", "as_of": "2026-04-20T01:00:00Z", "span": {"from": "2026-04-01T01:00:00Z", "to": "2026-04-10T01:00:00Z"}}`, &days, []string{
			"span_within_day /span/from", "span_within_day /span/to", "span_within_day /as_of",
		}},
		"no day of an unknown zone":               {`{"definition": "orders", "purpose": "p", "zone": "X", "span": {"from": "2026-04-01T01:00:00Z"}}`, &days, []string{"zone_unknown /zone"}},
		"a null text only when all else is right": {with(`, "format": {"null": "=", "quote": "x"}`), &orders, []string{"format_option /format/quote"}},
		"the mark and the bar of gb18030":         {with(`, "format": {"encoding": "gb18030", "bom": true, "delimiter": "|"}`), &orders, []string{"format_option /format/bom", "format_option /format/delimiter"}},
		"shape and values": {`{"tenant": "evil", "definition": "orders", "purpose": 5, "span": {"form": "x"}, "columns": ["id", 7, "colour"], "zone": ["UTC", {"a": []}], "format": {"type": null, "quote": "x"},
			"filters": [{"column": "id", "op": "eq", "value": "x", "negate": true}], "layout": "many", "purpose": "p"}`, &orders, []string{
			"request_malformed /purpose", "request_malformed /purpose", "request_malformed /columns/1", "request_malformed /filters/0/negate",
			"request_malformed /span/form", "span_missing /span/from", "request_malformed /zone", "request_malformed /format/type",
			"layout /layout", "request_malformed /tenant",
		}},
		"nothing of a time that is given twice": {`{"definition": "orders", "purpose": "p", "span": {"from": "2027-04-01T00:00:00Z", "from": "2026-04-01T00:00:00Z"}}`, &orders, []string{
			"request_malformed /span/from",
		}},
		"nothing of columns that aren't known": {with(`, "columns": ["id", 5], "format": {"encoding": "gb18030"}`), &private, []string{"request_malformed /columns/1"}},
		"a definition of another type":         {`{"definition": 5, "layout": "many", "purpose": "p", "span": {"from": "2026-04-01T01:00:00Z"}}`, nil, []string{"request_malformed /definition", "layout /layout"}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, told(t, c.request, c.d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestARefusalIsTheFirstFaultAndNamesTheOthers(t *testing.T) {
	t.Parallel()
	_, _, err := freeze(t, with(`, "layout": "many", "zone": "X"`), alice())
	want := `invalid: zone_unknown: /zone is "X"; use a name of the IANA time zone database, as in "Asia/Shanghai" or "UTC": ` +
		`beside that /layout is "many"; allowed are file (one file) and files (many files and a manifest)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, _, err := freeze(t, with(`, "zone": "X"`), alice()); strings.Contains(err.Error(), "beside") {
		t.Errorf("one fault alone: %v", err)
	}
}

func TestOfVeryManyFaultsTheFirstAreToldAndHowManyAreLeft(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&text, `"f%d": 1,`, n)
	}
	_, err := snapshot.Decode([]byte("{" + text.String() + `"zone": 1}`))
	all := snapshot.FaultsOf(err).Told()
	if last := all[len(all)-1]; len(all) != 51 || all[0].Field != "/zone" || last.Detail != "19951 more faults are not told; mend these first" || last.Code != "request_malformed" {
		t.Errorf("%d faults are told, the last is %+v", len(all), last)
	}
	if job.KindOf(err) != job.Invalid || len(err.Error()) > 20_000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestAValueThatIsRefusedIsRepeatedFromItsBeginningOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 1000)
	for column, filter := range map[string]string{
		"id": `"op": "eq", "value": "` + long + `"`, "amount": `"op": "ge", "value": "x` + long + `"`, "status": `"op": "eq", "value": ` + long,
		"gift": `"op": "eq", "value": ` + long, "day": `"op": "eq", "value": "` + long + `"`, "placed_at": `"op": "ge", "value": "` + long + `"`,
	} {
		_, _, err := freeze(t, with(`, "filters": [{"column": "`+column+`", `+filter+`}]`), alice())
		if job.CodeOf(err) != "filter_value" || !strings.Contains(err.Error(), "999…") || strings.Contains(err.Error(), long[:101]) {
			t.Errorf("%s: %v", column, err)
		}
	}
}
