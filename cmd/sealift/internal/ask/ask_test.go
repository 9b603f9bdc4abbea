package ask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/cmd/sealift/internal/ask"
	"sealift/shared/snapshot"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		`status=paid`:                  `{"column":"status","op":"eq","value":"paid"}`,
		`status = paid and sent `:      `{"column":"status","op":"eq","value":"paid and sent"}`,
		`status!=paid`:                 `{"column":"status","op":"ne","value":"paid"}`,
		`amount>=10.50`:                `{"column":"amount","op":"ge","value":"10.50"}`,
		`amount > 9007199254740993`:    `{"column":"amount","op":"gt","value":"9007199254740993"}`,
		`amount<=1`:                    `{"column":"amount","op":"le","value":"1"}`,
		`amount<1`:                     `{"column":"amount","op":"lt","value":"1"}`,
		`gift:=true`:                   `{"column":"gift","op":"eq","value":true}`,
		`note:=" x"`:                   `{"column":"note","op":"eq","value":" x"}`,
		`note=a=b`:                     `{"column":"note","op":"eq","value":"a=b"}`,
		`note=`:                        `{"column":"note","op":"eq","value":""}`,
		`note=is null`:                 `{"column":"note","op":"eq","value":"is null"}`,
		`note=x in y`:                  `{"column":"note","op":"eq","value":"x in y"}`,
		`名字=李`:                         `{"column":"名字","op":"eq","value":"李"}`,
		`placed_at>=2026-01-01T00:00Z`: `{"column":"placed_at","op":"ge","value":"2026-01-01T00:00Z"}`,
		`status in paid,sent`:          `{"column":"status","op":"in","values":["paid","sent"]}`,
		`status in "a,b", c , "d ""e"`: `{"column":"status","op":"in","values":["a,b","c ","d \"e"]}`,
		`gift in [true,false]`:         `{"column":"gift","op":"in","values":[true,false]}`,
		`status in [paid`:              `{"column":"status","op":"in","values":["[paid"]}`,
		`status in a=b,c`:              `{"column":"status","op":"in","values":["a=b","c"]}`,
		`note is null`:                 `{"column":"note","op":"is_null"}`,
		` note  is  not null`:          `{"column":"note","op":"not_null"}`,
	}
	for text, want := range cases {
		filter, err := ask.ParseFilter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, _ := json.Marshal(filter)
		if string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestFiltersThatAreRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"":                   "has no operator",
		"status":             "has no operator",
		"=paid":              "names no column",
		"gift:=yes":          `has "yes" after :=, which is not JSON`,
		"status in":          "has no values",
		`status in "a`:       "has a list that can't be read",
		"status in a\nb":     "has a line break",
		"status between 1,2": "has no operator",
	}
	for text, want := range cases {
		if _, err := ask.ParseFilter(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "column is null") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWordsBecomeARequest(t *testing.T) {
	t.Parallel()
	header, null := false, `\N`
	words := ask.Words{
		Definition: "orders", Purpose: "month end", From: "2026-03-08", To: "2026-04-01T00:00:00+02:00", AsOf: "2026-05-01", Zone: "America/New_York",
		Columns: []string{"id", "名字"}, Filters: []string{"a=b"}, Format: "csv", Compression: "none", Delimiter: "tab", LineEnd: "lf",
		Header: &header, BOM: true, Null: &null, FileName: `订单 "Q3"`,
	}
	text, err := words.Request()
	if err != nil {
		t.Fatal(err)
	}
	got, err := snapshot.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	want := snapshot.Request{
		Definition: "orders", Purpose: "month end", Columns: []string{"id", "名字"}, Filters: []snapshot.Filter{{Column: "a", Op: "eq", Value: json.RawMessage(`"b"`)}},
		Span: snapshot.Span{From: "2026-03-08T00:00:00-05:00", To: "2026-04-01T00:00:00+02:00"}, AsOf: "2026-05-01T00:00:00-04:00", Zone: "America/New_York",
		Format:   snapshot.FormatRequest{Type: "csv", Compression: "none", Delimiter: "\t", LineEnd: "lf", Header: &header, BOM: true, Null: &null},
		FileName: `订单 "Q3"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	words.Zone = "Mars/Base"
	if _, err := words.Request(); err == nil || !strings.Contains(err.Error(), `the zone "Mars/Base"`) {
		t.Errorf("unknown zone: %v", err)
	}
	if _, err := (ask.Words{}).Request(); err == nil || !strings.Contains(err.Error(), "--definition is missing") {
		t.Errorf("no definition: %v", err)
	}
}
