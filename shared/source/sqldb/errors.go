package sqldb

import (
	"fmt"

	"sealift/shared/job"
	"sealift/shared/row"
)

// The codes of this package's errors beyond those that source names.
const (
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
	codeFilterInvalid = "filter_invalid"
)

// fault is what a value's reader found wrong: never the value, always what to do about it.
type fault string

const (
	faultNone      fault = ""
	faultNull      fault = "is NULL, which a key can't be; declare the column NOT NULL"
	faultYear      fault = "is a time before year 0001 or after year 9999, or infinite, which no file format can carry; correct the row or export the column as string from a view"
	faultNotFinite fault = "is NaN or infinite, which no decimal can carry; correct the row or declare the column float64"
	faultClass     fault = "is stored in a type that can't give the declared kind; correct the row or change the column's kind in the definition"
	faultReal      fault = "is stored as a binary floating-point number, which isn't an exact decimal; store it as TEXT or declare the column float64"
	faultText      fault = "holds text that isn't a value of the declared kind; correct the row or change the column's kind in the definition"
	faultForm      fault = "is written in another form than the table's other keys, so their order can't be trusted; rewrite the column in one form"
	faultBig       fault = "is an integer beyond 2^53, which a float64 can't carry exactly; declare the column int64"
)

// invalidValue refuses one value; place names the row by its key or by its predecessor's.
func invalidValue(column row.Column, place string, f fault) error {
	code := codeValueInvalid
	if f == faultNull {
		code = codeKeyNullable
	}
	return job.Errorf(job.Permanent, code, "column %s (%s) of %s %s", column.Source, column.Kind, place, f)
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

func cancelled(table string) error {
	return job.Errorf(job.Cancelled, codeCancelled, "reading table %s was stopped because its context ended", table)
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
