package field_test

import (
	"strings"
	"testing"

	"sealift/shared/format/field"
	"sealift/shared/job"
	"sealift/shared/row"
)

func TestUnpairedSurrogateEscapesAreFoundAndMended(t *testing.T) {
	t.Parallel()
	// An empty want is a document that stays byte for byte.
	cases := []struct{ name, in, want string }{
		{"no escape", `{"a":[1e400,"名字"]}`, ""},
		{"a pair", `"\ud83d\ude00"`, ""},
		{"a pair in capitals", `"\uD83D\uDE00"`, ""},
		{"the first and the last pair", `"\ud800\udc00\udbff\udfff"`, ""},
		{"beside the surrogates", `"\ud7ff\ue000\ufffd\u0000"`, ""},
		{"an escaped backslash", `"\\ud800"`, ""},
		{"escaped backslashes in front of a pair", `"\\\\\ud83d\ude00"`, ""},
		{"other escapes", `"\"\/\b\f\n\r\t"`, ""},
		{"no document", `\ \u \ud \ud8 \ud80 \ud80g é\`, ""},
		{"nothing", "", ""},
		{"a high one", `{"a":"\ud800"}`, `{"a":"\ufffd"}`},
		{"a low one", `"\udc00"`, `"\ufffd"`},
		{"the last of each", `"\udbff" "\udfff"`, `"\ufffd" "\ufffd"`},
		{"in capitals", `"\uDABC"`, `"\ufffd"`},
		{"at the end", `"a\ud83d"`, `"a\ufffd"`},
		{"at the end of what is no document", `\ud83d`, `\ufffd`},
		{"two high ones", `"\ud83d\ud83d"`, `"\ufffd\ufffd"`},
		{"a high one in front of a pair", `"\ud83d\ud83d\ude00"`, `"\ufffd\ud83d\ude00"`},
		{"low first", `"\ude00\ud83d"`, `"\ufffd\ufffd"`},
		{"a low one behind a pair", `"\ud83d\ude00\ude00"`, `"\ud83d\ude00\ufffd"`},
		{"a character between", `"\ud83dx\ude00"`, `"\ufffdx\ufffd"`},
		{"an escape between", `"\ud83d\n\ude00"`, `"\ufffd\n\ufffd"`},
		{"behind an escaped backslash", `"\\\ud800"`, `"\\\ufffd"`},
		{"in front of an escaped backslash", `"\ud83d\\ude00"`, `"\ufffd\\ude00"`},
		{"in a name", `{"\ud800":1}`, `{"\ufffd":1}`},
	}
	for _, c := range cases {
		if got := field.Unpaired([]byte(c.in)); got != (c.want != "") {
			t.Errorf("%s: %s has unpaired surrogates: %v", c.name, c.in, got)
		}
		want := c.want
		if want == "" {
			want = c.in
		}
		got := []byte(c.in)
		if field.MendEscapes(got); string(got) != want {
			t.Errorf("%s: %s becomes %s, want %s", c.name, c.in, got, want)
		}
	}
}

func TestTheErrorForHalfAPairSaysWhatToDo(t *testing.T) {
	t.Parallel()
	var b row.Batch
	b.Reset(2)
	b.AppendString(`"secret \ud800"`)
	b.AppendString("41")
	err := field.UnpairedSurrogate(field.Place{Batch: &b, Keys: 1, Column: "extra"})
	if err.Kind != job.Permanent || err.Code != field.CodeInvalidUTF8 || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %s %s: %v", err.Kind, err.Code, err)
	}
	for _, want := range []string{`column "extra" of the row with key 41`, "surrogate", "invalid_utf8: replace", `\ufffd`, "as string"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q doesn't say %q", err, want)
		}
	}
}
