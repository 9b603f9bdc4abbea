// Package row owns the shape of data in flight: the kinds of columns, the keys that order rows, the half-open key
// ranges that shards cover, the query a source answers and the batch it answers with. It is pure and knows no
// database, no file format and no job. It imports the standard library only. Start reading at Batch.
package row

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind is the closed set of column types. The kind comes from the definition, never from how a value looks.
type Kind string

// The kinds, each with the canonical text that a Batch carries for it. Every source produces exactly this text and
// every format starts from it.
const (
	// String is text as the source holds it: UTF-8 where the source promises it, otherwise checked by the format.
	String Kind = "string"
	// Int64 is an optional minus sign and decimal digits.
	Int64 Kind = "int64"
	// Decimal is plain notation without exponent, scale as the source declares it: -12.50.
	Decimal Kind = "decimal"
	// Float64 is the shortest text that reads back to the same float; NaN, Infinity and -Infinity are spelled so.
	Float64 Kind = "float64"
	// Bool is true or false.
	Bool Kind = "bool"
	// Date is YYYY-MM-DD; it has no zone and never shifts.
	Date Kind = "date"
	// Timestamp is an instant in RFC 3339 with the offset of the query's zone and the source's own precision:
	// 2026-03-29T03:00:00.123456+02:00; OffsetUnknown where the zone has no year for it.
	Timestamp Kind = "timestamp"
	// DateTime is a wall-clock time without zone: 2026-03-29T03:00:00.123456.
	DateTime Kind = "datetime"
	// JSON is one JSON document as the source renders it.
	JSON Kind = "json"
	// Bytes is the raw value; formats without binary values write standard base64 with padding.
	Bytes Kind = "bytes"
)

// OffsetUnknown is the offset of an instant of the years 0001 to 9999 whose wall clock in the query's zone lies beyond
// them: 9999-12-31T23:30:00-00:00 in Asia/Shanghai. Its clock is UTC's (RFC 3339, section 4.3). A format that stores
// instants takes it, one that writes them in the zone can't.
const OffsetUnknown = "-00:00"

// Kinds lists every kind in the order of the constants, for messages and validation.
func Kinds() []Kind {
	return []Kind{String, Int64, Decimal, Float64, Bool, Date, Timestamp, DateTime, JSON, Bytes}
}

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool {
	for _, known := range Kinds() {
		if k == known {
			return true
		}
	}
	return false
}

// Orderable reports whether a column of this kind may be part of a key.
func (k Kind) Orderable() bool {
	switch k {
	case String, Int64, Decimal, Date, Timestamp, DateTime:
		return true
	case Float64, Bool, JSON, Bytes:
		return false
	}
	return false
}

// Column is one output column: its name in the file, the source column it is read from, and its kind.
type Column struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Kind   Kind   `json:"kind"`
	// Scale is the number of decimals of a Decimal column as the definition declares it, or -1 when the
	// definition leaves it to the source. It is documentation for typed formats and never rounds a value.
	Scale int `json:"scale"`
	// Unit is what the whole numbers count that a Timestamp or DateTime column is stored as; empty when the column
	// holds times and not numbers.
	Unit Unit `json:"unit,omitempty"`
}

// Unit is what a time that is stored as a whole number counts since 1970-01-01T00:00:00Z. It is declared and never
// guessed from the size of a number.
type Unit string

// The units of stored times.
const (
	Seconds      Unit = "s"
	Milliseconds Unit = "ms"
	Microseconds Unit = "us"
)

// Digits is how many digits of a second's fraction the unit resolves.
func (u Unit) Digits() int {
	switch u {
	case Seconds:
		return 0
	case Milliseconds:
		return 3
	case Microseconds:
		return 6
	}
	return 0
}

// Timed reports whether a column of this kind may be stored as counted time and so may declare a Unit.
func (k Kind) Timed() bool { return k == Timestamp || k == DateTime }

// Key is the position of one row in the total order: one canonical text per key column, timestamps in UTC with full
// precision so that a key survives a round trip through the ledger. A nil Key means "no bound".
type Key []string

// Storable reports whether every value of the key is valid UTF-8. Only such a key survives the ledger, so a source's key
// columns may hold nothing else.
func (k Key) Storable() bool {
	for _, value := range k {
		if !utf8.ValidString(value) {
			return false
		}
	}
	return true
}

// Range is the half-open interval [From, To) of keys; a nil end is unbounded.
type Range struct {
	From Key `json:"from,omitempty"`
	To   Key `json:"to,omitempty"`
}

// Op is a filter's comparison.
type Op string

// The comparisons a request may use.
const (
	Equal        Op = "eq"
	NotEqual     Op = "ne"
	Less         Op = "lt"
	LessEqual    Op = "le"
	Greater      Op = "gt"
	GreaterEqual Op = "ge"
	In           Op = "in"
	IsNull       Op = "is_null"
	NotNull      Op = "not_null"
)

// Ops lists every comparison, for messages and validation.
func Ops() []Op {
	return []Op{Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, IsNull, NotNull}
}

// Filter restricts rows by one column. Values are canonical text of the column's kind: one for the comparisons, one or
// more for In, none for IsNull and NotNull.
type Filter struct {
	Column Column   `json:"column"`
	Op     Op       `json:"op"`
	Values []string `json:"values,omitempty"`
}

// Query is everything a source needs to know to produce one fixed set of rows. Every statement built from it carries
// the tenant, the watermark, the range, the cursor and the total order.
type Query struct {
	// Table is the source relation as the definition names it, optionally schema-qualified with a dot.
	Table string `json:"table"`
	// Columns are the output columns in file order.
	Columns []Column `json:"columns"`
	// Key is the total order: the last column (or all together) unique within the tenant. Column.Name is not used.
	Key []Column `json:"key"`
	// TenantColumn and Tenant restrict every statement; both are always set.
	TenantColumn Column `json:"tenant_column"`
	Tenant       string `json:"tenant"`
	// TimeColumn is the business time; Since (inclusive) and Until (exclusive) bound it, in canonical text of its
	// kind, timestamps in UTC. An empty bound is open. Until already includes the watermark's business time.
	TimeColumn Column `json:"time_column"`
	Since      string `json:"since,omitempty"`
	Until      string `json:"until,omitempty"`
	// Ceiling is the highest key of the frozen set (inclusive), fixed by the plan; nil before planning.
	Ceiling Key `json:"ceiling,omitempty"`
	// Filters are the further restrictions, all of which must hold.
	Filters []Filter `json:"filters,omitempty"`
	// Zone is the IANA name of the zone in which Timestamp columns are written.
	Zone string `json:"zone"`
}

// String names the range for people, as in [2026-01-01/17, 2026-02-01/9).
func (r Range) String() string {
	return fmt.Sprintf("[%s, %s)", r.From.String(), r.To.String())
}

// keyTextMax is how many bytes of each of a key's values people are shown.
const keyTextMax = 100

// String names the key for people: its values with slashes between, each as it is, in quotes where it would be misread, and cut
// where it is long; a nil key is an asterisk.
func (k Key) String() string {
	if k == nil {
		return "*"
	}
	texts := make([]string, len(k))
	for i, value := range k {
		cut := ""
		if len(value) > keyTextMax {
			at := keyTextMax
			for back := range utf8.UTFMax {
				if utf8.RuneStart(value[keyTextMax-back]) {
					at = keyTextMax - back
					break
				}
			}
			value, cut = value[:at], "…"
		}
		if value == "" || strings.Trim(value, " ") != value || strings.ContainsFunc(value, misread) || !utf8.ValidString(value) {
			value = strconv.Quote(value)
		}
		texts[i] = value + cut
	}
	return strings.Join(texts, "/")
}

// misread reports whether a letter of a key's value would be taken for something else.
func misread(c rune) bool { return strings.ContainsRune(`/"\`, c) || !strconv.IsPrint(c) }
