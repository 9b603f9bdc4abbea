package format_test

import (
	"testing"

	"sealift/shared/format"
	"sealift/shared/row"
)

func TestAFooterThatCannotFitIsKnownBeforeTheWork(t *testing.T) {
	t.Parallel()
	const columns = 14
	parquet := format.Spec{Format: format.Parquet, Columns: make([]row.Column, columns)}
	csv := format.Spec{Format: format.CSV, Columns: make([]row.Column, columns)}
	cases := []struct {
		name   string
		spec   format.Spec
		rows   int64
		shards int
		want   bool
	}{
		{"a billion rows fit", parquet, 1e9, 4000, true},
		{"ten billion rows don't", parquet, 1e10, 10_000, false},
		{"nor do many shards of a wide table", format.Spec{Format: format.Parquet, Columns: make([]row.Column, 1000)}, 1000, 10_000, false},
		{"text has no footer that grows", csv, 1e10, 10_000, true},
	}
	for _, c := range cases {
		if have := format.FooterFits(c.spec, c.rows, c.shards); have != c.want {
			t.Errorf("%s: %v", c.name, have)
		}
	}
}
