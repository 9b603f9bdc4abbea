package pipeline

import (
	"unicode/utf8"

	"sealift/shared/definition"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// maskOf lists the mask of every column of the file; nil when no column has one.
func maskOf(s snapshot.Snapshot) []definition.MaskKind {
	masks := make([]definition.MaskKind, len(s.Columns))
	masked := false
	for i, column := range s.Columns {
		masks[i] = column.Mask
		masked = masked || column.Mask != ""
	}
	if !masked {
		return nil
	}
	return masks
}

// applyMasks copies a batch with the masked columns replaced. Key values, which follow the columns, are left alone: they
// never reach a file's rows.
func applyMasks(masks []definition.MaskKind, from, to *row.Batch) {
	to.Reset(from.Width())
	for r := range from.Rows() {
		for c := range from.Width() {
			value, ok := from.Value(r, c)
			if !ok {
				to.AppendNull()
				continue
			}
			kind := definition.MaskKind("")
			if c < len(masks) {
				kind = masks[c]
			}
			switch kind {
			case "":
				to.Append(value)
			case definition.MaskNull:
				to.AppendNull()
			case definition.MaskRedact:
				to.AppendString("***")
			case definition.MaskLast4:
				to.AppendFunc(func(dst []byte) []byte { return appendLast4(dst, value) })
			}
		}
	}
}

// maskedIn counts the values of a row, as read, that a mask replaces; NULL stays NULL and isn't counted.
func maskedIn(masks []definition.MaskKind, from *row.Batch, r int) int64 {
	var masked int64
	for c, kind := range masks {
		if kind == "" {
			continue
		}
		if _, ok := from.Value(r, c); ok {
			masked++
		}
	}
	return masked
}

// appendLast4 writes a star for each character but the last four; a value of four or fewer is all stars.
func appendLast4(dst, value []byte) []byte {
	stars := utf8.RuneCount(value) - 4
	if stars <= 0 {
		stars = utf8.RuneCount(value)
	}
	for range stars {
		dst = append(dst, '*')
		_, size := utf8.DecodeRune(value)
		value = value[size:]
	}
	return append(dst, value...)
}

func rowColumn(c snapshot.Column) row.Column {
	return row.Column{Name: c.Name, Source: c.Name, Kind: c.Kind, Scale: -1}
}
