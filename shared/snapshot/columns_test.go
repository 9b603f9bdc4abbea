package snapshot_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sealift/shared/job"
)

func TestAllUnknownColumnsAreNamedTogether(t *testing.T) {
	t.Parallel()
	many := make([]string, 12)
	for i := range many {
		many[i] = fmt.Sprintf(`"c%d"`, i)
	}
	const rest = `, which definition orders doesn't have; allowed are id, amount, status, gift, day, placed_at, email`
	cases := map[string]struct{ request, field, want string }{
		"one":                         {`, "columns": ["id", "colour"]`, "/columns/1", `/columns/1 is "colour"` + rest},
		"two":                         {`, "columns": ["foo", "id", "bar"]`, "/columns/0", `/columns/0 is "foo" and /columns/2 is "bar"` + rest},
		"columns and filters":         {`, "columns": ["foo", "bar"], "filters": [{"column": "baz", "op": "eq", "value": "x"}]`, "/columns/0", `/columns/0 is "foo", /columns/1 is "bar" and /filters/0/column is "baz"` + rest},
		"a filter alone":              {`, "filters": [{"column": "baz", "op": "eq", "value": "x"}]`, "/filters/0/column", `/filters/0/column is "baz"` + rest},
		"a space that is no part":     {`, "columns": ["id", " amount"]`, "/columns/1", `/columns/1 is " amount"` + rest},
		"one that is not for the one": {`, "columns": ["cost", "foo"]`, "/columns/0", `/columns/0 is "cost" and /columns/1 is "foo"` + rest},
	}
	for name, c := range cases {
		_, _, err := freeze(t, with(c.request), alice())
		var refused *job.Error
		if !errors.As(err, &refused) || refused.Code != "column_unknown" || refused.Field != c.field || refused.Detail != c.want {
			t.Errorf("%s: %v; want %s at %s", name, err, c.want, c.field)
		}
	}
	_, _, err := freeze(t, with(`, "columns": [`+strings.Join(many, ", ")+`]`), alice())
	if err == nil || !strings.Contains(err.Error(), `/columns/9 is "c9" and 2 more are names, which definition orders doesn't have; `) {
		t.Errorf("twelve: %v", err)
	}
}
