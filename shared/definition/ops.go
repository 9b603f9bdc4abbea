package definition

import "sealift/shared/row"

// opsOf lists the comparisons that a column of the kind can be filtered with.
func opsOf(kind row.Kind) []row.Op {
	switch kind {
	case row.String, row.Int64, row.Decimal, row.Float64, row.Date, row.Timestamp, row.DateTime:
		return row.Ops()
	case row.Bool:
		return []row.Op{row.Equal, row.NotEqual, row.IsNull, row.NotNull}
	case row.JSON, row.Bytes:
		return []row.Op{row.IsNull, row.NotNull}
	}
	return row.Ops()
}
