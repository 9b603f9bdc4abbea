package xlsx

import (
	"fmt"
	"slices"
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

// suffixes is how many suffixes values in the zone may have, from the first on.
func (c Config) suffixes() int {
	if c.utc() {
		return 1
	}
	return suffixes
}

func (c Config) has(kind row.Kind) bool {
	return slices.ContainsFunc(c.Columns, func(column row.Column) bool { return column.Kind == kind })
}

// sheetStyles gathers what xl/styles.xml lists.
type sheetStyles struct {
	formats, xfs strings.Builder
	count        int
}

// format adds a number format of the workbook's own.
func (s *sheetStyles) format(id int, code string) {
	s.count++
	fmt.Fprintf(&s.formats, `<numFmt numFmtId="%d" formatCode="%s"/>`, id, escapeAttribute(code))
}

// add adds a cell style with a number format, or without one when that is 0, and with further attributes.
func (s *sheetStyles) add(format int, more string) {
	if format != 0 {
		more += ` applyNumberFormat="1"`
	}
	fmt.Fprintf(&s.xfs, `<xf numFmtId="%d" fontId="0" fillId="0" borderId="0" xfId="0"%s/>`, format, more)
}

// addBold adds the style of a header cell.
func (s *sheetStyles) addBold(more string) {
	fmt.Fprintf(&s.xfs, `<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0"%s applyFont="1"/>`, more)
}

// addTimes adds the styles of a time for each length of its fraction.
func (s *sheetStyles) addTimes(plain, fraction int) {
	s.add(plain, "")
	for range fractionMax {
		s.add(fraction, "")
	}
}

// stylesXML is xl/styles.xml.
func (c Config) stylesXML() string {
	var s sheetStyles
	s.add(0, "")
	s.addBold("")
	s.addBold(quotePrefix)
	s.add(0, quotePrefix)
	c.addDecimals(&s)
	date, plain, fraction := 0, 0, 0
	if c.has(row.Date) {
		date = formatDate
		s.format(date, "yyyy-mm-dd")
	}
	s.add(date, "")
	if c.has(row.DateTime) {
		plain, fraction = formatTime, formatTimeFraction
		s.format(plain, timeCode)
		s.format(fraction, timeCode+fractionCode)
	}
	s.addTimes(plain, fraction)
	if c.has(row.Timestamp) {
		for i := range c.suffixes() {
			suffix := literal(suffixText(i))
			s.format(formatStamp+i, timeCode+suffix)
			s.format(formatStampFraction+i, timeCode+fractionCode+suffix)
			s.addTimes(formatStamp+i, formatStampFraction+i)
		}
	}
	return s.text()
}

// literal is text in a number format, character by character: in quotes, one library takes the zeros for a fraction.
func literal(text string) string {
	code := ""
	for _, ch := range text {
		code += "\\" + string(ch)
	}
	return code
}

// addDecimals adds the styles of numbers with a fixed number of decimals.
func (c Config) addDecimals(s *sheetStyles) {
	s.add(formatInteger, "")
	decimals := c.has(row.Decimal)
	for scale := 1; scale <= scaleMax; scale++ {
		switch {
		case !decimals:
			s.add(0, "")
		case scale == 2:
			s.add(formatTwo, "")
		default:
			s.format(formatScale+scale, "0."+strings.Repeat("0", scale))
			s.add(formatScale+scale, "")
		}
	}
}

func (s *sheetStyles) text() string {
	text := xmlHead + `<styleSheet xmlns="` + mainNamespace + `">`
	if s.count > 0 {
		text += `<numFmts count="` + strconv.Itoa(s.count) + `">` + s.formats.String() + `</numFmts>`
	}
	return text + `<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font>` +
		`<font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		`<cellXfs count="` + strconv.Itoa(strings.Count(s.xfs.String(), "<xf ")) + `">` + s.xfs.String() + `</cellXfs>` +
		`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
}

const (
	quotePrefix  = ` quotePrefix="1"`
	timeCode     = "yyyy-mm-dd hh:mm:ss"
	fractionCode = ".000"
)
