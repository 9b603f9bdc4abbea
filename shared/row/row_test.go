package row_test

import (
	"strings"
	"testing"

	"sealift/shared/row"
)

func TestKeysAreNamedForPeople(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  row.Key
		want string
	}{
		{nil, "*"}, {row.Key{"2026-01-01T00:00:00", "1"}, "2026-01-01T00:00:00/1"}, {row.Key{"-12.50", "订单 7"}, "-12.50/订单 7"},
		{row.Key{"", "a/b"}, `""/"a/b"`}, {row.Key{" a", "a "}, `" a"/"a "`}, {row.Key{"a\nb", `say "x"`, `\`}, `"a\nb"/"say \"x\""/"\\"`},
		{row.Key{"caf\xe9"}, `"caf\xe9"`}, {row.Key{strings.Repeat("k", 5000), "7"}, strings.Repeat("k", 100) + "…/7"},
		{row.Key{strings.Repeat("é", 5000)}, strings.Repeat("é", 50) + "…"}, {row.Key{"k" + strings.Repeat("é", 5000)}, "k" + strings.Repeat("é", 49) + "…"},
		{row.Key{strings.Repeat("/", 5000)}, `"` + strings.Repeat("/", 100) + `"…`}, {row.Key{strings.Repeat("\xff", 101)}, `"` + strings.Repeat(`\xff`, 100) + `"…`},
	} {
		if got := c.key.String(); got != c.want {
			t.Errorf("the key is named %s, want %s", got, c.want)
		}
	}
	if got := (row.Range{From: row.Key{"a b"}}).String(); got != "[a b, *)" {
		t.Errorf("the range is named %s", got)
	}
}
