package xlsx

import (
	"fmt"
	"strconv"
	"strings"

	"sealift/shared/row"
)

// The cell styles by their index in the workbook. A kind that no column has leaves its styles without a number format,
// so that the indices are the same in every workbook.
const (
	styleHeader = 1
	// styleGuardedHeader and styleGuarded have quotePrefix: what a spreadsheet sets for text that was typed behind an
	// apostrophe. The value stays as it is, and stays text when the cell is edited or copied.
	styleGuardedHeader = 2
	styleGuarded       = 3
	// styleScale and those behind it show 0 to scaleMax decimals.
	styleScale = 4
	styleDate  = styleScale + scaleMax + 1
	// styleDateTime and those behind it are times with 0 to fractionMax digits of a second's fraction.
	styleDateTime = styleDate + 1
	// styleTimestamp and those behind it are the same for each suffix.
	styleTimestamp = styleDateTime + fractionMax + 1
	styles         = styleTimestamp + suffixes*(fractionMax+1)
)

const (
	// scaleMax is the most decimals that a number format shows.
	scaleMax = 30
	// fractionMax is how many digits of a second's fraction a spreadsheet shows.
	fractionMax = 3
)

// The number formats. Spreadsheets define those below 164 (ECMA-376, part 1, section 18.8.30); how many a workbook may
// add is between 200 and 250 (Microsoft, "Excel specifications and limits"), which these stay below.
const (
	formatInteger       = 1
	formatTwo           = 2
	formatScale         = 164
	formatDate          = formatScale + scaleMax + 1
	formatTime          = formatDate + 1
	formatTimeFraction  = formatTime + 1
	formatStamp         = formatTimeFraction + 1
	formatStampFraction = formatStamp + suffixes
)

// suffixes is how many spellings of an offset have a number format that shows them: Z, whole and half hours, and the
// four that are in use with other quarters of an hour.
const suffixes = 1 + halves + 4

const (
	halves      = (offsetMax-offsetMin)/30 + 1
	offsetMin   = -12 * 60
	offsetMax   = 14 * 60
	nepal       = 5*60 + 45
	eucla       = 8*60 + 45
	chatham     = 12*60 + 45
	chathamPlus = 13*60 + 45
)

// suffixOffset is the offset in minutes that suffix i spells; i is above 0, which is Z.
func suffixOffset(i int) int {
	switch i - 1 - halves {
	case 0:
		return nepal
	case 1:
		return eucla
	case 2:
		return chatham
	case 3:
		return chathamPlus
	}
	return offsetMin + (i-1)*30
}

// suffixOf is the inverse of suffixOffset; ok is false for an offset without a format of its own.
func suffixOf(minutes int) (i int, ok bool) {
	switch {
	case minutes%30 == 0 && minutes >= offsetMin && minutes <= offsetMax:
		return 1 + (minutes-offsetMin)/30, true
	case minutes == nepal:
		return 1 + halves, true
	case minutes == eucla:
		return 2 + halves, true
	case minutes == chatham:
		return 3 + halves, true
	case minutes == chathamPlus:
		return 4 + halves, true
	}
	return 0, false
}

// suffixText spells suffix i as RFC 3339 does.
func suffixText(i int) string {
	if i == 0 {
		return "Z"
	}
	minutes, sign := suffixOffset(i), '+'
	if minutes < 0 {
		minutes, sign = -minutes, '-'
	}
	return fmt.Sprintf("%c%02d:%02d", sign, minutes/60, minutes%60)
}

// utc reports whether the zone writes every time with Z.
func (c Config) utc() bool { return c.Zone == "UTC" }

// suffixRange are the suffixes [from, to) that values in the zone may have.
func (c Config) suffixRange() (from, to int) {
	if c.utc() {
		return 0, 1
	}
	return 0, suffixes
}

func (c Config) has(kinds ...row.Kind) bool {
	for _, column := range c.Columns {
		for _, kind := range kinds {
			if column.Kind == kind {
				return true
			}
		}
	}
	return false
}

// stylesXML is xl/styles.xml.
func (c Config) stylesXML() string {
	var formats, xfs strings.Builder
	count := 0
	format := func(id int, code string) {
		count++
		fmt.Fprintf(&formats, `<numFmt numFmtId="%d" formatCode="%s"/>`, id, escapeAttribute(code))
	}
	xf := func(format int, more string) {
		if format != 0 {
			more = ` applyNumberFormat="1"` + more
		}
		fmt.Fprintf(&xfs, `<xf numFmtId="%d" fontId="0" fillId="0" borderId="0" xfId="0"%s/>`, format, more)
	}
	bold := func(more string) {
		fmt.Fprintf(&xfs, `<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0"%s applyFont="1"/>`, more)
	}
	xf(0, "")
	bold("")
	bold(` quotePrefix="1"`)
	xf(0, ` quotePrefix="1"`)
	decimals, dates := c.has(row.Decimal), c.has(row.Date)
	for scale := range scaleMax + 1 {
		switch {
		case scale == 0:
			xf(formatInteger, "")
		case !decimals:
			xf(0, "")
		case scale == 2:
			xf(formatTwo, "")
		default:
			format(formatScale+scale, "0."+strings.Repeat("0", scale))
			xf(formatScale+scale, "")
		}
	}
	if dates {
		format(formatDate, "yyyy-mm-dd")
		xf(formatDate, "")
	} else {
		xf(0, "")
	}
	if c.has(row.DateTime) {
		format(formatTime, timeCode)
		format(formatTimeFraction, timeCode+fractionCode)
		xf(formatTime, "")
		for range fractionMax {
			xf(formatTimeFraction, "")
		}
	} else {
		for range fractionMax + 1 {
			xf(0, "")
		}
	}
	if c.has(row.Timestamp) {
		from, to := c.suffixRange()
		for i := from; i < to; i++ {
			suffix := `"` + suffixText(i) + `"`
			format(formatStamp+i, timeCode+suffix)
			format(formatStampFraction+i, timeCode+fractionCode+suffix)
			xf(formatStamp+i, "")
			for range fractionMax {
				xf(formatStampFraction+i, "")
			}
		}
	}
	text := xmlHead + `<styleSheet xmlns="` + mainNamespace + `">`
	if count > 0 {
		text += `<numFmts count="` + strconv.Itoa(count) + `">` + formats.String() + `</numFmts>`
	}
	return text + `<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font>` +
		`<font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		`<cellXfs count="` + strconv.Itoa(strings.Count(xfs.String(), "<xf ")) + `">` + xfs.String() + `</cellXfs>` +
		`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
}

const (
	timeCode     = "yyyy-mm-dd hh:mm:ss"
	fractionCode = ".000"
)

var attributeEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")
