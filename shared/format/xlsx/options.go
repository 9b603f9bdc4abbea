package xlsx

import (
	"fmt"
	"math"
)

// Options say how the columns of a workbook look. The zero value stands for the defaults.
type Options struct {
	// Widths are the widths by column in characters of the default font, at most WidthMax; 0 or a missing one is the
	// width of the column's kind.
	Widths []float64
	// AsText writes every value of a column as text, by column; a missing one is false. It is the way to keep numbers of
	// mixed length alike: without it only those that a spreadsheet would round become text.
	AsText []bool
	// LongText is what becomes of text that is longer than a cell holds; empty is LongFail.
	LongText LongRule
}

// LongRule is what becomes of text of more than CellUnitsMax UTF-16 units.
type LongRule string

// The rules for long text.
const (
	// LongFail fails the job with the row's key and the column's name; the default.
	LongFail LongRule = "fail"
	// LongTruncate cuts the text at the last character that fits and counts it.
	LongTruncate LongRule = "truncate"
)

const (
	// CellUnitsMax is how many UTF-16 units of text a cell holds (Microsoft, "Excel specifications and limits").
	CellUnitsMax = 32_767
	// ColumnsMax is how many columns a sheet has.
	ColumnsMax = 16_384
	// WidthMax is the widest that a column can be.
	WidthMax = 255
)

// Faults lists what is wrong with the options of a workbook with this many columns, each as a sentence part that says
// how to mend it; none means they are usable.
func (o Options) Faults(columns int) []string {
	var faults []string
	if len(o.Widths) > columns || len(o.AsText) > columns {
		faults = append(faults, fmt.Sprintf("widths for %d and text rules for %d columns are more than the %d columns",
			len(o.Widths), len(o.AsText), columns))
	}
	for i, width := range o.Widths {
		if math.IsNaN(width) || width < 0 || width > WidthMax {
			faults = append(faults, fmt.Sprintf("the width %g of column %d must be 0 to %d characters", width, i+1, WidthMax))
		}
	}
	switch o.LongText {
	case "", LongFail, LongTruncate:
	default:
		faults = append(faults, fmt.Sprintf("the rule for long text %q must be %s or %s", o.LongText, LongFail, LongTruncate))
	}
	return faults
}
