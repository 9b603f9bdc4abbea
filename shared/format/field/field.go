// Package field owns what every text format must decide about one value in the same way: whether it has the canonical
// text of its kind, what becomes of text that isn't UTF-8 and of documents with half a surrogate pair, how a value that
// can't be written is reported, and what is counted for the receipt. It is pure and imports row and job only; start
// reading at Counters and Check.
package field

import (
	"bytes"
	"fmt"

	"sealift/shared/job"
	"sealift/shared/row"
)

// Counters count what an encoder did to values, for the receipt.
type Counters = job.Counters

// InvalidRule is what happens to text that isn't UTF-8.
type InvalidRule string

// The rules for invalid text.
const (
	// Fail fails the job with the row's key and the column's name; the default.
	Fail InvalidRule = "fail"
	// Replace writes U+FFFD for each invalid sequence and counts the value.
	Replace InvalidRule = "replace"
)

// The codes of values that can't be written. All are Permanent: the same row fails again.
const (
	// CodeInvalidUTF8 is text that isn't UTF-8 under the rule Fail.
	CodeInvalidUTF8 = "value_invalid_utf8"
	// CodeNotCanonical is a value that isn't of its column's kind.
	CodeNotCanonical = "value_not_canonical"
	// CodeTooLarge is a row above the limit of one row.
	CodeTooLarge = "row_too_large"
	// CodeNullUnwritable is a NULL that readers would drop.
	CodeNullUnwritable = "value_null_unwritable"
	// CodeOutOfRange is a value that the format's type for its kind can't hold exactly.
	CodeOutOfRange = "value_out_of_range"
)

// Place is where a value stands: one column of one row of a batch whose last Keys values are the row's key.
type Place struct {
	Batch  *row.Batch
	Row    int
	Keys   int
	Column string
}

// Errorf is a Permanent error about the value at p that names the column and the row's key, never the value.
func Errorf(p Place, code, format string, args ...any) *job.Error {
	return job.Errorf(job.Permanent, code, "column %q of the row with key %s: %s",
		p.Column, p.Batch.Key(p.Row, p.Keys), fmt.Sprintf(format, args...))
}

// InvalidUTF8 is the error for text at p that isn't UTF-8 under the rule Fail.
func InvalidUTF8(p Place) *job.Error {
	return Errorf(p, CodeInvalidUTF8, "the text isn't valid UTF-8; repair it at the source, "+
		"or let the definition say invalid_utf8: %s to write U+FFFD for each invalid sequence", Replace)
}

// NotCanonical is the error for a value at p that isn't of its kind, or is an instant that has no text in the export's zone.
func NotCanonical(p Place, kind row.Kind, value []byte) *job.Error {
	if kind == row.Timestamp && bytes.HasSuffix(value, []byte(row.OffsetUnknown)) {
		return Errorf(p, CodeOutOfRange, "in the export's time zone the time lies beyond the years 0001 to 9999, which no text can carry; "+
			"ask for the export in zone UTC, which can carry it, or for Parquet, which stores UTC")
	}
	return Errorf(p, CodeNotCanonical, "the value isn't a valid %s; repair it at the source, "+
		"or declare the column as %s in the definition", kind, row.String)
}

// TooLarge is the error for a row that grows past limit bytes at p.
func TooLarge(p Place, limit int) *job.Error {
	return Errorf(p, CodeTooLarge, "the row is larger than %d MiB, the most that one row may take in a file; "+
		"leave the column out or shorten the value at the source", limit>>20)
}
