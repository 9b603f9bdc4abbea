package sqldb

import (
	"fmt"

	"sealift/shared/job"
	"sealift/shared/row"
)

// The codes of this package's errors beyond those that source names.
const (
	codeDSNInvalid    = "source_dsn_invalid"
	codeSchemaChanged = "source_schema_changed"
	codeDenied        = "source_denied"
	codeUnavailable   = "source_unavailable"
	codeTimeout       = "source_timeout"
	codeOverloaded    = "source_overloaded"
	codeCancelled     = "source_cancelled"
	codeQueryInvalid  = "source_query_invalid"
	codeValueInvalid  = "source_value_invalid"
	codeRowTooLarge   = "source_row_too_large"
	codeKeyNotUnique  = "source_key_not_unique"
	codeKeyNotIndexed = "source_key_not_indexed"
	codeKeyNullable   = "source_key_nullable"
	codeKeyCollation  = "source_key_collation"
	codeUnitMissing   = "source_unit_missing"
	codeFormMixed     = "source_form_mixed"
	codeFilterInvalid = "filter_invalid"
)

// fault is what a value's reader found wrong: never the value, always what to do about it.
type fault string

const (
	faultNone      fault = ""
	faultNull      fault = "is NULL, which a key can't be; declare the column NOT NULL, or leave such rows out of the view"
	faultYear      fault = "is a time before year 0001 or after year 9999, or infinite, which no file format can carry; correct the row or export the column as string from a view"
	faultNotFinite fault = "is NaN or infinite, which no decimal can carry; correct the row or declare the column string"
	faultClass     fault = "is stored in a type that can't give the declared kind"
	faultUnit      fault = "is a whole number, and the definition doesn't say what it counts; declare unit: s, ms or us with the column in the definition, the seconds, milliseconds or microseconds since 1970"
	faultOffset    fault = "is written with an offset from UTC, and text with offsets doesn't sort by time; write the column in UTC, with Z or without a suffix in every row"
	faultNegative  fault = "is a negative decimal stored as TEXT, which sorts backwards; store the column as INTEGER or choose another key in the definition"
	faultReal      fault = "is stored as a binary floating-point number, which isn't an exact decimal; store it as TEXT or declare the column float64"
	faultText      fault = "holds what isn't a value of the declared kind"
	faultForm      fault = "is written in another form than the tenant's first row"
	faultNumber    fault = "is stored as a number, whose order isn't that of its text; declare the column int64 or float64, store every row as TEXT, or ask for single values: eq, ne and in compare what the file shows"
	faultBig       fault = "is an integer beyond 2^53, which a float64 can't carry exactly; declare the column int64"
)

// invalidValue refuses one value; place names the row by its key or by its predecessor's.
func invalidValue(column row.Column, place string, f fault) error {
	var code string
	switch f {
	case faultNull:
		code = codeKeyNullable
	case faultUnit:
		code = codeUnitMissing
	case faultOffset, faultNegative, faultForm:
		code = codeFormMixed
	default:
		code = codeValueInvalid
	}
	return job.Errorf(job.Permanent, code, "%s", faultMessage(column, place, f))
}

// faultMessage says where, what, what was expected where that isn't plain, and what to do; never the value.
func faultMessage(column row.Column, place string, f fault) string {
	text := fmt.Sprintf("column %s of %s %s", called(column), place, f)
	if f == faultText || f == faultClass {
		text += "; expected " + expected(column.Kind) + ": correct the row or change the column's kind in the definition"
	}
	return text
}

// called is a column as people know it: by its name in the file, and by the source's where that is another one. A column of
// the key has no name in the file.
func called(column row.Column) string {
	if column.Name == "" || column.Name == column.Source {
		return fmt.Sprintf("%s (%s)", column.Source, column.Kind)
	}
	return fmt.Sprintf("%s (%s, the source's column %s)", column.Name, column.Kind, column.Source)
}

// expected is what gives a value of the kind.
func expected(kind row.Kind) string {
	switch kind {
	case row.String:
		return "text"
	case row.Int64:
		return "an integer of 64 bits, not stored as text or floating-point"
	case row.Decimal:
		return "an integer, or text of digits with an optional minus sign and dot"
	case row.Float64:
		return "a number"
	case row.Bool:
		return "0, 1, true or false"
	case row.Date:
		return "a real date as text YYYY-MM-DD"
	case row.Timestamp:
		return "a real time as text YYYY-MM-DD hh:mm:ss (or with T), any fraction, then Z, an offset or nothing, or a whole number with a declared unit"
	case row.DateTime:
		return "a real time as text YYYY-MM-DD hh:mm:ss (or with T), any fraction and no zone, or a whole number with a declared unit"
	case row.JSON:
		return "a document as text"
	case row.Bytes:
		return "bytes or text"
	}
	return "a known kind"
}

// formMixed refuses a key column that is written in two forms.
func formMixed(q *row.Query, column row.Column, place string, have, want keyForm) error {
	return job.Errorf(job.Permanent, codeFormMixed, "column %s of %s is written as %s, and the tenant's first row as %s; what "+
		"is stored in two forms doesn't sort by value, so rows would be missed: rewrite the column of table %s in one form, "+
		"every row alike, or export a view that does", called(column), place, have, want, q.Table)
}

func rowTooLarge(place string, bytes, max int) error {
	return job.Errorf(job.Permanent, codeRowTooLarge, "%s has %d bytes and a row may have %d; leave the large column out "+
		"of the definition or shorten the row", place, bytes, max)
}

func keyNotUnique(q *row.Query, key row.Key) error {
	return job.Errorf(job.Permanent, codeKeyNotUnique, "table %s holds more than one row with key %s of %s for the tenant; "+
		"end the definition's key with a unique column", q.Table, key, keyNames(q))
}

func queryInvalid(format string, args ...any) error {
	return job.Errorf(job.Permanent, codeQueryInvalid, "%s; correct the definition", fmt.Sprintf(format, args...))
}

func filterInvalid(f row.Filter, why string) error {
	return job.Errorf(job.Permanent, codeFilterInvalid, "filter %s on column %s (%s) %s", f.Op, f.Column.Source,
		f.Column.Kind, why)
}

func cancelled(what string) error {
	return job.Errorf(job.Cancelled, codeCancelled, "reading %s was stopped because its context ended", what)
}

func timedOut(q *row.Query) error {
	return job.Errorf(job.Transient, codeTimeout, "a statement on table %s took longer than %s; an index on (%s, %s) keeps "+
		"it short", q.Table, StatementTime, q.TenantColumn.Source, keyNames(q))
}

func keyNames(q *row.Query) string {
	text := ""
	for i, column := range q.Key {
		if i > 0 {
			text += ", "
		}
		text += column.Source
	}
	return text
}
