package sqldb

import (
	"strconv"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
)

// The server sends text in UTF-8. A letter of another character set that it knows no code of becomes ? (in tis620 U+FFFD)
// without an error or a warning. Texts of such character sets are proven row by row where they are exported, and can't be
// compared: keys, tenants and filters in them are refused.

// mixesLetters reports whether the column holds text of a character set of which not every letter has a code of its own
// in UTF-8. Those that are known to have it were read letter by letter.
func (t mysqlType) mixesLetters() bool {
	if t.class != classText && t.class != classChoice {
		return false
	}
	switch t.charset {
	case "", "utf8mb4", "utf8mb3", "utf8", "ucs2", "utf16", "utf16le", "utf32", "latin1", "latin2", "latin5", "latin7", "cp850", "cp852", "cp866",
		"koi8r", "koi8u", "keybcs2", "macce", "macroman":
		return false
	}
	return true
}

// checkCharsets refuses comparisons of texts that could become alike.
func (t *mysqlTable) checkCharsets(q *row.Query) error {
	refuse := func(column row.Column, role, remedy string) error {
		have := t.typeOf(column)
		if !have.mixesLetters() {
			return nil
		}
		return job.Errorf(job.Permanent, codeCharset, "%s column %s of table %s has character set %s, and its letters that have no code "+
			"of their own in UTF-8 would be mistaken for each other, so that rows would be missed; ALTER the column to utf8mb4 or %s in the "+
			"definition", role, column.Source, q.Table, have.charset, remedy)
	}
	if err := refuse(q.TenantColumn, "tenant", "choose another tenant column"); err != nil {
		return err
	}
	for _, column := range q.Key {
		if err := refuse(column, "key", "choose another key"); err != nil {
			return err
		}
	}
	for _, f := range q.Filters {
		if f.Op == row.IsNull || f.Op == row.NotNull {
			continue
		}
		if err := refuse(f.Column, "filtered", "leave the filter out"); err != nil {
			return err
		}
	}
	return nil
}

// lossField is SQL that is 0 for a row whose texts all convert, else the number from 1 of the first of the columns with one
// that doesn't; "" when all of the columns do whatever they hold.
func (t *mysqlTable) lossField(columns []row.Column) string {
	var text strings.Builder
	for i, column := range columns {
		if t.typeOf(column).mixesLetters() {
			name := quoteColumn(column)
			text.WriteString(" WHEN " + name + " IS NOT NULL AND (" + converts(name) + ") IS NOT TRUE THEN " + strconv.Itoa(i+1))
		}
	}
	if text.Len() == 0 {
		return ""
	}
	return "CASE" + text.String() + " ELSE 0 END"
}

// converts is true for text that the server converts without loss: it has no more question marks than before, which are
// the byte 3F and part of no other letter in every character set that isn't Unicode, and no U+FFFD, which none of them
// has. Converting it back would refuse letters that have two codes.
func converts(name string) string {
	before, after := "CAST("+name+" AS BINARY)", "CAST(CONVERT("+name+" USING utf8mb4) AS BINARY)"
	marks := func(text string) string { return "LENGTH(" + text + ") - LENGTH(REPLACE(" + text + ", x'3f', x''))" }
	return marks(before) + " = " + marks(after) + " AND LOCATE(x'efbfbd', " + after + ") = 0"
}

// refuseLoss judges the row's loss field.
func (r *mysqlReader) refuseLoss() error {
	if r.loss < 0 || string(r.values[r.loss]) == "0" {
		return nil
	}
	n, err := strconv.Atoi(string(r.values[r.loss]))
	if err != nil || n < 1 || n > len(r.query.Columns) {
		return errMalformed
	}
	return invalidValue(r.query.Columns[n-1], r.place(), faultLetter)
}
