package snapshot_test

import (
	"errors"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/snapshot"
)

func TestDecodeRefusesWhatReadersWouldUnderstandDifferently(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text, code, field string
		says                    []string
	}{
		{"nothing", "", "request_malformed", "", []string{"send the whole object"}},
		{"half an object", `{"definition": "orders"`, "request_malformed", "", []string{"send the whole object"}},
		{"no JSON", `definition=orders`, "request_malformed", "", []string{"not JSON", "at byte"}},
		{"a list", `[]`, "request_malformed", "", []string{"the request is a JSON list", "must be a JSON object"}},
		{"null", `null`, "request_malformed", "", []string{"the request is a JSON null"}},
		{"two objects", `{} {}`, "request_malformed", "", []string{"send one object"}},
		{"a brace too many", `{}}`, "request_malformed", "", []string{"send one object"}},
		{"a field twice", `{"purpose": "a", "purpose": "b"}`, "request_malformed", "/purpose", []string{"/purpose is given twice"}},
		{"a deep field twice", `{"filters": [{"op": "eq", "op": "ne"}]}`, "request_malformed", "/filters/0/op", []string{"given twice"}},
		{"a field twice by escape", `{"purpose": "a", "purp\u006fse": "b"}`, "request_malformed", "/purpose", []string{"given twice"}},
		{"another case", `{"purpose": "a", "Purpose": "b"}`, "request_malformed", "/Purpose", []string{"/Purpose does not exist", "purpose"}},
		{"a letter that folds to s", `{"\u017fpan": {}}`, "request_malformed", "/\u017fpan", []string{"does not exist"}},
		{"an unknown field", `{"tenant": "acme"}`, "request_malformed", "/tenant", []string{"/tenant does not exist", "definition, purpose, columns"}},
		{"an unknown deep field", `{"format": {"speed": 3}}`, "request_malformed", "/format/speed", []string{"/format has the fields type, compression"}},
		{"an unknown field of a filter", `{"filters": [{}, {"col/umn": 1}]}`, "request_malformed", "/filters/1/col~1umn", []string{"column, op, value, values"}},
		{"a number for a text", `{"filters": [{"column": 5}]}`, "request_malformed", "/filters/0/column", []string{"is a JSON number", "must be a JSON string"}},
		{"a text for a list", `{"columns": "a,b"}`, "request_malformed", "/columns", []string{"must be a JSON list"}},
		{"null for a list", `{"columns": null}`, "request_malformed", "/columns", []string{"is a JSON null"}},
		{"a text for a boolean", `{"format": {"header": "yes"}}`, "request_malformed", "/format/header", []string{"must be a JSON boolean"}},
		{"an object for a text", `{"span": {"from": {}}}`, "request_malformed", "/span/from", []string{"is a JSON object"}},
		{"not UTF-8", "{\"purpose\": \"\xff\"}", "request_malformed", "", []string{"not valid UTF-8", "send JSON in UTF-8"}},
		{"two megabytes", `{"purpose": "` + strings.Repeat("a", 2<<20) + `"}`, "request_too_large", "", []string{"2097167 bytes", "at most 262144"}},
		{"nested without end", strings.Repeat(`{"span":`, 10_000), "request_malformed", "", []string{"JSON"}},
		{"a value of another type nested without end", `{"purpose": ` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}`, "request_malformed", "/purpose", []string{"is a JSON list"}},
		{"a value nested without end", `{"filters": [{"value": ` + strings.Repeat("[", 100_000), "request_malformed", "", []string{"JSON"}},
		{"a name without end", `{"` + strings.Repeat("x", 100_000) + `": 1}`, "request_malformed", "/" + strings.Repeat("x", 100) + "\u2026", []string{"does not exist"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := snapshot.Decode([]byte(c.text))
			var refused *job.Error
			if !errors.As(err, &refused) || refused.Kind != job.Invalid {
				t.Fatalf("got %v, want a refusal", err)
			}
			if refused.Code != c.code || refused.Field != c.field {
				t.Errorf("got code %s and field %q, want %s and %q", refused.Code, refused.Field, c.code, c.field)
			}
			for _, word := range c.says {
				if !strings.Contains(refused.Detail, word) {
					t.Errorf("the detail lacks %q: %s", word, refused.Detail)
				}
			}
			if len(refused.Detail) > 1000 {
				t.Errorf("the detail repeats %d bytes of the request", len(refused.Detail))
			}
		})
	}
}

func TestDecodeReadsEveryField(t *testing.T) {
	t.Parallel()
	request, err := snapshot.Decode([]byte(`{"definition": "orders", "purpose": "p", "columns": ["a"], "filters": [{"column": "a", "op": "in", "values": [1, "2", true]}],
		"span": {"from": "f", "to": "t"}, "as_of": "o", "zone": "UTC", "file_name": "n",
		"format": {"type": "csv", "compression": "none", "delimiter": ";", "quote": "'", "line_end": "lf", "header": false, "bom": true, "null": ""}}`))
	if err != nil {
		t.Fatal(err)
	}
	if request.Format.Header == nil || *request.Format.Header || request.Format.Null == nil || len(request.Filters[0].Values) != 3 || request.Span.To != "t" {
		t.Errorf("a field is lost: %+v", request)
	}
}

func FuzzDecodeNeverPanicsAndKeepsItsBounds(f *testing.F) {
	f.Add([]byte(`{"definition": "orders", "filters": [{"column": "a", "op": "eq", "value": 1}]}`))
	f.Add([]byte(`{"format": {"null": "\\N"}, "span": {"from": "x"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		request, err := snapshot.Decode(text)
		if err != nil && job.KindOf(err) != job.Invalid {
			t.Errorf("an error of kind %s: %v", job.KindOf(err), err)
		}
		if err == nil && (len(text) > limits.RequestBytesMax || len(request.Definition) > len(text)) {
			t.Error("more came out than went in")
		}
	})
}
