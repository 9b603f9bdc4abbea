package sqldb

import (
	"testing"

	"sealift/shared/row"
)

func TestARefusedValueIsNamedAsTheDefinitionNamesIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		column row.Column
		fault  fault
		want   string
	}{
		{row.Column{Name: "Wert", Source: "n", Kind: row.Decimal}, faultNotFinite,
			"column Wert (decimal, the source's column n) of the row with key 41 is NaN or infinite, which no decimal can carry; correct the row or declare the column string"},
		{row.Column{Name: "n", Source: "n", Kind: row.Decimal}, faultNotFinite,
			"column n (decimal) of the row with key 41 is NaN or infinite, which no decimal can carry; correct the row or declare the column string"},
		{row.Column{Source: "id", Kind: row.Int64}, faultNull, "column id (int64) of the row with key 41 is NULL, which a key can't be; declare the column NOT NULL, or leave such rows out of the view"},
		{row.Column{Name: "gift", Source: "gift", Kind: row.Bool}, faultText,
			"column gift (bool) of the row with key 41 holds what isn't a value of the declared kind; expected 0, 1, true or false: correct the row or change the column's kind in the definition"},
	} {
		if got := faultMessage(c.column, "the row with key 41", c.fault); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
