package xlsx

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sealift/shared/format/field"
	"sealift/shared/row"
)

const (
	xmlHead       = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainNamespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

	sheetEnd = "</sheetData></worksheet>"
)

// sheetStart is what a worksheet begins with: a frozen header row in bold, the widths, and the header.
func (e *encoder) sheetStart() []byte {
	dst := []byte(xmlHead + `<worksheet xmlns="` + mainNamespace + `"><sheetViews><sheetView workbookViewId="0">` +
		`<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>`)
	for i, c := range e.config.Columns {
		width := width(c)
		if i < len(e.config.Widths) && e.config.Widths[i] > 0 {
			width = e.config.Widths[i]
		}
		dst = fmt.Appendf(dst, `<col min="%d" max="%d" width="%s" customWidth="1"/>`, i+1, i+1, strconv.FormatFloat(width, 'f', -1, 64))
	}
	dst = appendRowOpen(append(dst, "</cols><sheetData>"...), 1)
	for i, c := range e.config.Columns {
		name := []byte(c.Name)
		style := styleHeader
		if e.config.Guard && field.Formula(name) {
			style = styleGuardedHeader
		}
		dst = append(append(dst, cellOpen...), e.columns[i].ref...)
		dst = append(dst, `1"`...)
		dst = append(dst, strings.TrimPrefix(styledText(style), cellOpen)...)
		dst, _ = e.appendKept(dst, name, e.classesOf(name), false)
		dst = append(dst, textClose...)
	}
	return append(dst, rowClose...)
}

// appendRowOpen begins a row of a worksheet.
func appendRowOpen(dst []byte, number int64) []byte {
	dst = strconv.AppendInt(append(dst, rowOpen...), number, 10)
	return append(dst, `">`...)
}

// width is the width of a column in characters when none is asked for: room for most values of its kind, and for its
// name up to a bound.
func width(c row.Column) float64 {
	const wide, nameMax = 0x1100, 40
	name := 2
	for _, r := range c.Name {
		name++
		if r >= wide {
			name++ // East Asian characters take the room of two
		}
	}
	return float64(max(kindWidth(c.Kind), min(name, nameMax)))
}

func kindWidth(kind row.Kind) int {
	switch kind {
	case row.Bool:
		return 8
	case row.Date:
		return 12
	case row.Int64, row.Decimal, row.Float64:
		return 16
	case row.DateTime:
		return 24
	case row.String, row.Bytes:
		return 24
	case row.Timestamp:
		return 30
	case row.JSON:
		return 40
	}
	return 24
}

// NameFaults lists the column names that no header cell holds, each as a sentence part that says how to mend it.
func NameFaults(columns []row.Column) []string {
	var faults []string
	for i, c := range columns {
		if name := []byte(c.Name); utf8.Valid(name) && fit(name) < len(name) {
			faults = append(faults, fmt.Sprintf("the name of column %d must not be longer than the %d characters that a cell holds", i+1, CellUnitsMax))
		}
	}
	return faults
}
