package definition

import (
	"slices"

	"sealift/shared/row"
)

// Formats lists the formats that a definition may offer.
func Formats() []string { return []string{"csv", "jsonl", "xlsx", "parquet"} }

// CompressionsOf lists what a file of the format can be compressed with, the format's own default first; none for an
// unknown format. A workbook is compressed inside already, and so are the pages of a Parquet file.
func CompressionsOf(format string) []string {
	switch format {
	case "csv", "jsonl":
		return []string{"gzip", "none", "zstd"}
	case "xlsx":
		return []string{"none"}
	case "parquet":
		return []string{"zstd", "snappy", "none"}
	}
	return nil
}

// CompressionsFor lists what a request may choose for the format, the default first: what the definition allows and the
// format can have, in the definition's order, but with none last for Parquet. Where that is nothing, the format's default is all there is. It is empty
// for a format that the definition doesn't offer.
func (d Definition) CompressionsFor(format string) []string {
	if !slices.Contains(d.Formats, format) {
		return nil
	}
	can := CompressionsOf(format)
	var allowed []string
	for _, name := range d.Compressions {
		if slices.Contains(can, name) && !slices.Contains(allowed, name) {
			allowed = append(allowed, name)
		}
	}
	if len(allowed) == 0 {
		return can[:min(len(can), 1)]
	}
	if format == "parquet" {
		// A list made for text may go on with none after gzip, which nobody means for a columnar file.
		if at := slices.Index(allowed, "none"); at >= 0 {
			allowed = append(slices.Delete(allowed, at, at+1), "none")
		}
	}
	return allowed
}

// Rule is what becomes of a value that a format can't hold as it is.
type Rule string

// The rules. Fail ends the job with the row's key and the column's name; it is what an empty Rule means.
const (
	RuleFail     Rule = "fail"
	RuleReplace  Rule = "replace"
	RuleTruncate Rule = "truncate"
)

// Named is the rule with its default spelled out.
func (r Rule) Named() string {
	if r == "" {
		return string(RuleFail)
	}
	return string(r)
}

// quiet leaves out a rule that is the default, so that spelling it out makes no other definition.
func (r *Rule) quiet() {
	if *r == RuleFail {
		*r = ""
	}
}

// widthMax is the widest column of a spreadsheet in characters (Microsoft, "Excel specifications and limits").
const widthMax = 255

func (d Definition) validateFormats(c *checker) {
	c.must(slices.Contains([]Rule{"", RuleTruncate}, d.LongText), "/long_text", "is %q; allowed are fail and truncate", d.LongText)
	c.must(slices.Contains([]Rule{"", RuleReplace}, d.Unencodable), "/unencodable", "is %q; allowed are fail and replace", d.Unencodable)
	for i, name := range d.Formats {
		c.must(slices.Contains(Formats(), name), at("/formats", i), "is %q; allowed are %s", name, listed(Formats()))
	}
	all := []string{"none", "gzip", "zstd", "snappy"}
	for i, name := range d.Compressions {
		c.must(slices.Contains(all, name), at("/compressions", i), "is %q; allowed are %s", name, listed(all))
		used := slices.ContainsFunc(d.Formats, func(format string) bool { return slices.Contains(CompressionsOf(format), name) })
		c.must(used || name != "snappy", at("/compressions", i), "is %q, which only parquet can have; add parquet to formats, or remove it", name)
	}
	for _, format := range []string{"csv", "jsonl"} {
		some := slices.ContainsFunc(d.Compressions, func(name string) bool { return slices.Contains(CompressionsOf(format), name) })
		c.must(some || !slices.Contains(d.Formats, format) || !subset(d.Compressions, all), "/compressions",
			"has nothing that %s can have; add one of %s", format, listed(CompressionsOf(format)))
	}
}

func subset(names, of []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(of, name) })
}

// validateLook checks what a column says about spreadsheets.
func (column Column) validateLook(c *checker, where string) {
	c.must(column.Width >= 0 && column.Width <= widthMax, where+"/width", "is %d; allowed are 1 to %d characters", column.Width, widthMax)
	number := slices.Contains([]row.Kind{row.Int64, row.Decimal, row.Float64}, column.Kind)
	c.must(!column.AsText || number || !column.Kind.Valid(), where+"/as_text",
		"is true for a %s column; it is for int64, decimal and float64, which a spreadsheet would take for numbers: remove it", column.Kind)
}
