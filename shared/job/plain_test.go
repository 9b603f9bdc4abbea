package job

import (
	"encoding/json"
	"slices"
	"testing"

	"sealift/shared/row"
)

// TestAPlainKeyIsReadLikeAnyOther compares the short way of reading a key with the JSON decoder.
func TestAPlainKeyIsReadLikeAnyOther(t *testing.T) {
	t.Parallel()
	keys := []row.Key{
		nil, {}, {""}, {"7"}, {"a", "b"}, {`"`}, {`\`}, {`","`}, {`a","b`}, {"[\"]"}, {"名字"}, {"\u007f"}, {"\t"}, {"<&>"}, {"~ !"}, {"null"}, {"\u2028"},
	}
	for _, want := range keys {
		text := encodeJSON(want)
		var decoded row.Key
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			t.Fatal(err)
		}
		r := &reader{row: Fields{"key": text}}
		if have := r.key("key"); r.err != nil || !slices.Equal(have, decoded) || (have == nil) != (decoded == nil) {
			t.Errorf("%s is read as %q, %v; want %q", text, have, r.err, decoded)
		}
	}
	for _, text := range []string{`["`, `"]`, `["]`, `["a"`, `a"]`, `[7]`, `{}`, `"a"`} {
		r := &reader{row: Fields{"key": text}}
		if have := r.key("key"); r.err == nil {
			t.Errorf("%s is read as %q, want an error", text, have)
		}
	}
}

func TestCountersThatAreZeroAreKnownByTheirText(t *testing.T) {
	t.Parallel()
	if have := encodeJSON(Counters{}); have != noCounters {
		t.Errorf("no counters are written %s, want %s", have, noCounters)
	}
}

// TestAKeyTakesWhatItIsStoredAs has a row's bound count escapes, and leaves alone what needs none.
func TestAKeyTakesWhatItIsStoredAs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key    row.Key
		stored string
		want   int
	}{
		{nil, `null`, 4},
		{row.Key{"7"}, `["7"]`, 5},
		{row.Key{"<a href='x'>&amp;</a>"}, `["<a href='x'>&amp;</a>"]`, 25},
		{row.Key{"a", "名"}, `["a","名"]`, 11},
		{row.Key{`say "\"`}, `["say \"\\\""]`, 14},
		{row.Key{"\n\x01"}, `["\n\u0001"]`, 12},
		{row.Key{"\u2028"}, `["\u2028"]`, 10},
	} {
		if have := encodeJSON(c.key); have != c.stored || KeyBytes(c.key) != c.want || len(have) != c.want {
			t.Errorf("%q is stored as %s in %d bytes, want %s in %d", c.key, have, KeyBytes(c.key), c.stored, c.want)
		}
	}
}
