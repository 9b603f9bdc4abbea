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
		`note = this is null`:          `{"column":"note","op":"eq","value":"this is null"}`,
		`note in made in China,other`:  `{"column":"note","op":"in","values":["made in China","other"]}`,
		`Line No in 1,2`:               `{"column":"Line No","op":"in","values":["1","2"]}`,
		`Line No in ["1", 2]`:          `{"column":"Line No","op":"in","values":["1",2]}`,
		`Line No=1`:                    `{"column":"Line No","op":"eq","value":"1"}`,
		`Preis € is null`:              `{"column":"Preis €","op":"is_null"}`,
		`Preis  € is  not  null `:      `{"column":"Preis  €","op":"not_null"}`,
		`Check in is null`:             `{"column":"Check in","op":"is_null"}`,
		`What is it is not null`:       `{"column":"What is it","op":"not_null"}`,
		`Days in=5`:                    `{"column":"Days in","op":"eq","value":"5"}`,
		`"Days in stock" in 1,2`:       `{"column":"Days in stock","op":"in","values":["1","2"]}`,
		`"Line No"in 1`:                `{"column":"Line No","op":"in","values":["1"]}`,
		` "Line No" is not null`:       `{"column":"Line No","op":"not_null"}`,
		`"Preis €" is null`:            `{"column":"Preis €","op":"is_null"}`,
		`"a<b" >= "c"`:                 `{"column":"a<b","op":"ge","value":"\"c\""}`,
		`"a=b":=1`:                     `{"column":"a=b","op":"eq","value":1}`,
		`"12"" TV" = x`:                `{"column":"12\" TV","op":"eq","value":"x"}`,
		`" padded "=x`:                 `{"column":" padded ","op":"eq","value":"x"}`,
	}
	for text, want := range cases {
		filter, err := ask.ParseFilter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got strings.Builder
		encoder := json.NewEncoder(&got)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(filter); err != nil || got.String() != want+"\n" {
			t.Errorf("%s\ngot  %s\nwant %s", text, got.String(), want)
		}
	}
}

func TestFiltersThatAreRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"":                    "has no operator",
		"status":              "has no operator",
		"=paid":               "names no column",
		`""=paid`:             "names no column",
		`"Line No`:            "begins with a quote, and the name that stands in it has no end",
		`"Line No" between 1`: "has no operator",
		`Line No ["1"]`:       `the filter 'Line No ["1"]' has no operator`,
		"gift:=yes":           `has yes after :=, which is not JSON; text needs quotes there, as in gift:="yes"`,
		`gift:="yes" or no`:   `has "yes" or no after :=, which is not JSON`,
		"Line No in":          "has no values",
		"status in":           "has no values",
		`status in "a`:        "has a list that can't be read",
		"status in a\nb":      "has a line break",
		"status between 1,2":  "has no operator",
		"country in DE,":      "has an empty value in its list",
		"country in ,DE":      "has an empty value in its list",
		`country in DE,"",x`:  "has an empty value in its list",
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
		Header: &header, BOM: true, Null: &null, Encoding: "utf-8", FileName: `订单 (Q3)`, Layout: "files",
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
		Format:   snapshot.FormatRequest{Type: "csv", Compression: "none", Delimiter: "\t", LineEnd: "lf", Header: &header, BOM: true, Null: &null, Encoding: "utf-8"},
		FileName: `订单 (Q3)`, Layout: "files",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestADayIsSentAsItsFirstInstantInTheZone(t *testing.T) {
	t.Parallel()
	cases := []struct{ zone, day, want string }{
		{"", "2026-03-08", "2026-03-08T00:00:00Z"},
		{"America/Havana", "2026-03-08", "2026-03-08T01:00:00-04:00"},
		{"America/Havana", "2026-03-09", "2026-03-09T00:00:00-04:00"},
		{"America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00"},
		{"America/Santiago", "2026-09-06", "2026-09-06T01:00:00-03:00"},
		{"Africa/Cairo", "2026-04-24", "2026-04-24T01:00:00+03:00"},
		{"Pacific/Apia", "2011-12-31", "2011-12-31T00:00:00+14:00"},
		{"Africa/Monrovia", "1970-05-01", "1970-05-01T00:44:30Z"},
	}
	for _, c := range cases {
		text, err := ask.Words{Definition: "o", From: c.day, To: c.day, AsOf: c.day, Zone: c.zone}.Request()
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		got, err := snapshot.Decode(text)
		if err != nil || got.Span != (snapshot.Span{From: c.want, To: c.want}) || got.AsOf != c.want {
			t.Errorf("%+v: %s, %v", c, text, err)
		}
	}
}

func TestWordsThatAreRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		words ask.Words
		want  string
	}{
		"no definition":          {ask.Words{}, "--definition is missing"},
		"an empty column":        {ask.Words{Definition: "o", Columns: []string{""}}, "--column has an empty name"},
		"an empty column of two": {ask.Words{Definition: "o", Columns: []string{"a", " "}}, "--column has an empty name"},
		"no time":                {ask.Words{Definition: "o", From: "yesterday"}, `--from is "yesterday"; give a day, as in 2026-01-31`},
		"no such day":            {ask.Words{Definition: "o", To: "2026-02-30"}, `--to is "2026-02-30"; give a day`},
		"a time without offset":  {ask.Words{Definition: "o", AsOf: "2026-02-03T10:00:00"}, "or a time with its offset, as in 2026-01-31T09:30:00+08:00"},
		"unknown zone":           {ask.Words{Definition: "o", From: "2026-02-03", Zone: "Mars/Base"}, `the zone "Mars/Base"`},
		"a day that was left out": {ask.Words{Definition: "o", From: "2011-12-30", Zone: "Pacific/Apia"},
			"--from is 2011-12-30, a day that the clocks of Pacific/Apia left out; give 2011-12-31, which came in its place"},
	}
	for name, c := range cases {
		if _, err := c.words.Request(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestEveryFaultOfTheWordsIsToldAtOnce(t *testing.T) {
	t.Parallel()
	words := ask.Words{Columns: []string{""}, From: "yesterday", To: "2026-02-30", AsOf: "2026-02-01", Filters: []string{"status", "gift=1", "note:=yes"}}
	_, err := words.Request()
	if err == nil {
		t.Fatal("the words are taken")
	}
	want := []string{"--definition is missing; ", "--column has an empty name; ", `--from is "yesterday"; `, `--to is "2026-02-30"; `, "the filter 'status' has no operator", "the filter 'note:=yes' has yes after :=, "}
	lines := strings.Split(err.Error(), "\n")
	for i, begins := range want {
		if !strings.HasPrefix(lines[i], begins) {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], begins)
		}
	}
	if rest := strings.Join(lines[len(want):], "\n"); rest != ask.FilterHelp || !strings.HasSuffix(lines[len(want)-1], "; write one of these:") {
		t.Errorf("the help isn't told once, at the end: %s", err)
	}
}

func TestARefusalNamesFlags(t *testing.T) {
	t.Parallel()
	words := ask.Words{Definition: "orders", Columns: []string{"id", "colour"}, Filters: []string{"gift=true", "country in DE,FR", "gift!=no", "id>=x", "le=1"}}
	cases := map[string]struct {
		refusal ask.Refusal
		want    string
	}{
		"purpose": {ask.Refusal{"purpose-missing", "/purpose", "/purpose is missing; say what the export is for"}, "--purpose is missing; say what the export is for"},
		"from": {ask.Refusal{"span-missing", "/span/from", `/span/from is missing; give the business time, as in "2026-01-01T00:00:00Z"`},
			`--from is missing; give the business time, as in "2026-01-01T00:00:00Z"; a day such as 2026-01-31 is allowed too, and is its beginning in --zone`},
		"the span as a whole": {ask.Refusal{"span-too-wide", "/span", "/span covers 400 days; definition orders allows 31"}, "the time between --from and --to covers 400 days; definition orders allows 31"},
		"a cutoff that was given": {ask.Refusal{"span-empty", "/span", "/span/from (b) is not before the cutoff, /as_of (a)"},
			"--from (b) is not before the cutoff, --as-of (a)\nwithout --to the span ends at the cutoff: --as-of, or else now"},
		"compression": {ask.Refusal{"format-not-allowed", "/format/compression", `/format/compression is "xz"`}, `--compression is "xz"`},
		"encoding":    {ask.Refusal{"format-option", "/format/encoding", `/format/encoding is "gbk"; allowed are utf-8 and gb18030`}, `--encoding is "gbk"; allowed are utf-8 and gb18030`},
		"a flag by another": {ask.Refusal{"format-option", "/format/bom", "/format/bom is true; a byte order mark is for utf-8, and /format/encoding is gb18030"},
			"--bom is true; a byte order mark is for utf-8, and --encoding is gb18030"},
		"what was given is quoted": {ask.Refusal{"zone-unknown", "/zone", `/zone is "\" /zone"; use a name, as in /zone and/or /x`}, `--zone is "\" /zone"; use a name, as in --zone and/or /x`},
		"unknown column":           {ask.Refusal{"column-unknown", "/columns/1", `/columns/1 is "colour", which definition orders doesn't have; allowed are id, country`}, `--column "colour": definition orders has no such column; allowed are id, country`},
		"column twice":             {ask.Refusal{"column-twice", "/columns/0", `/columns/0 is "id", which is named before`}, `--column "id" is given twice; give it once`},
		"unknown columns": {ask.Refusal{"column-unknown", "/columns/0", `/columns/0 is "id", /columns/1 is " and /columns/0 is \"x\"" and /filters/3/column is "id", which definition orders doesn't have; allowed are a`},
			`--column "id", --column "colour", --filter 'id>=x': definition orders has no such columns; allowed are a`},
		"too many unknown columns": {ask.Refusal{"column-unknown", "/columns/1", `/columns/1 is "colour" and 7 more are names, which definition orders doesn't have; allowed are a`},
			`--column "colour", 7 more: definition orders has no such columns; allowed are a`},
		"no column":             {ask.Refusal{"columns-empty", "/columns", "/columns is empty"}, "--column is empty"},
		"unknown filter column": {ask.Refusal{"column-unknown", "/filters/3/column", `/filters/3/column is "id", which definition orders doesn't have; allowed are a`}, "--filter 'id>=x': definition orders has no such column; allowed are a"},
		"boolean": {ask.Refusal{"filter-value", "/filters/0/value", "/filters/0/value is yes; the column is boolean, so send true or false"},
			"--filter 'gift=true': the value is yes; the column is boolean, so send true or false"},
		"value of a list": {ask.Refusal{"filter-value", "/filters/1/values/1", "/filters/1/values/1 is FR"}, "--filter 'country in DE,FR': value 2 of the list is FR"},
		"comparison":      {ask.Refusal{"filter-not-allowed", "/filters/3/op", `/filters/3/op is "ge"; column id can't be filtered`}, `--filter 'id>=x': the comparison is ">="; column id can't be filtered`},
		"another comparison": {ask.Refusal{"filter-not-allowed", "/filters/3/op", `/filters/3/op is "ge"; column id can be filtered with eq, ne, lt, le, gt, in, is_null, not_null`},
			`--filter 'id>=x': the comparison is ">="; column id can be filtered with =, !=, <, <=, >, in, is null, is not null`},
		"a column named as a comparison": {ask.Refusal{"filter-not-allowed", "/filters/4/op", `/filters/4/op is "eq"; column le can be filtered with ge`}, `--filter 'le=1': the comparison is "="; column le can be filtered with >=`},
		"unknown definition":             {ask.Refusal{"definition-unknown", "/definition", `/definition is "orders"; there is none of this name that you may export from`}, "--definition orders: there is none of this name that you may export from\nsee those that you may with `sealift definitions list`"},
		"a span without an end": {ask.Refusal{"span-empty", "/span", "/span/from (b) is not before the cutoff, a; nothing has happened in that time yet"},
			"--from (b) is not before the cutoff, a; nothing has happened in that time yet\nwithout --to the span ends at the cutoff: --as-of, or else now"},
		"a filter as such":     {ask.Refusal{"filter-value", "/filters/1/values", "/filters/1: the op in takes values"}, "--filter 'country in DE,FR': the op in takes values"},
		"a field without flag": {ask.Refusal{"x", "/order", "/order is odd"}, "/order is odd"},
		"no field":             {ask.Refusal{"x", "", "you may not"}, "you may not"},
		"out of range":         {ask.Refusal{"x", "/columns/9", "/columns/9 is odd"}, "/columns/9 is odd"},
	}
	for name, c := range cases {
		if got := words.Explain(c.refusal); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestASpanWithAnEndNeedsNoWordAboutTheCutoff(t *testing.T) {
	t.Parallel()
	words := ask.Words{Definition: "orders", From: "2026-03-02", To: "2026-03-01"}
	if got, want := words.Explain(ask.Refusal{"span-empty", "/span", "/span/from (b) is not before /span/to (a)"}), "--from (b) is not before --to (a)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
