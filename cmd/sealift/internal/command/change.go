package command

import (
	"strings"

	"sealift/cmd/sealift/internal/client"
)

// change is what was done to values, in the words for one and for many of them; what follows both is the same.
type change struct{ name, one, many, rest string }

// changesOf lists what can be done to the values of a file, in the order in which it is told. What keeps a formula from
// running depends on the format; the name of a manifest doesn't tell it.
func changesOf(file string) []change {
	guard := change{"neutralised", "text value is kept from being taken for a formula", "text values are kept from being taken for formulas", "by spreadsheets (see the receipt)"}
	switch file = strings.ToLower(file); {
	case strings.HasSuffix(file, ".xlsx"):
		guard.one = "text value is marked as text now, so that no spreadsheet takes it for a formula"
		guard.many = "text values are marked as text now, so that no spreadsheet takes them for formulas"
		guard.rest = "(see the receipt)"
	case !strings.HasSuffix(file, ".json"):
		guard.one = "text value begins with an apostrophe now, so that no spreadsheet takes it for a formula"
		guard.many = "text values begin with an apostrophe now, so that no spreadsheet takes them for formulas"
		guard.rest = "(see the receipt)"
	}
	return []change{
		guard,
		{"invalid_utf8_replaced", "text value had", "text values had", "bytes that were not UTF-8, which U+FFFD stands for now"},
		{"characters_replaced", "text value had", "text values had", "characters that GB 18030 has no sure code for, which ? stands for now"},
		{"truncated", "text value was longer than a cell holds and is", "text values were longer than a cell holds and are", "cut off"},
		{"numbers_as_text", "number is", "numbers are", "text in the workbook, with every digit, because a spreadsheet rounds or lacks such numbers, or the definition says so"},
		{"times_as_text", "time is", "times are", "text in the workbook, because a spreadsheet can't hold all of its precision or range"},
		{"escaped", "text value has", "text values have", "control characters in the escaped form of workbooks, which spreadsheets turn back"},
		{"masked", "value is", "values are", "masked for the one who asked, as the definition says"},
	}
}

// changes says what was done to values of a file, when anything was.
func (a *app) changes(file string, counts client.Fidelity) {
	for _, c := range changesOf(file) {
		if n := counts[c.name]; n > 0 {
			a.out.printf("%s %s\n", counted(n, c.one, c.many), c.rest)
		}
	}
}
