// Package format owns how rows become the bytes of one file that many workers write: each shard's parts are fragments
// that can be joined by plain concatenation, in shard order, between what the first shard begins with and a suffix
// that is computed from the parts' checksums. Start reading at Spec and PartWriter. It imports row, job and limits.
package format

import "sealift/shared/row"

// Name is a file format.
type Name string

// The formats.
const (
	CSV   Name = "csv"
	JSONL Name = "jsonl"
)

// Compression wraps the whole file.
type Compression string

// The compressions.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// Spec says how one file is written. It comes from the frozen snapshot and never changes during a job.
type Spec struct {
	Format      Name
	Compression Compression
	Columns     []row.Column
	CSV         CSVOptions
	// Guard neutralises spreadsheet formulas in text values (CSV only).
	Guard bool
	// InvalidUTF8 says what happens to text that isn't UTF-8.
	InvalidUTF8 InvalidRule
}

// InvalidRule is what happens to a value that a format can't hold as it is.
type InvalidRule string

// The rules for invalid text.
const (
	// Fail fails the job with the row's key and the column's name; the default.
	Fail InvalidRule = "fail"
	// Replace writes U+FFFD for each invalid sequence and counts the value.
	Replace InvalidRule = "replace"
)

// CSVOptions are RFC 4180's variables.
type CSVOptions struct {
	Delimiter byte   // one of , ; tab |
	Quote     byte   // " or '
	LineEnd   string // "\r\n" (the RFC's) or "\n"
	Header    bool
	BOM       bool
	// NullText is written unquoted for NULL; a value equal to it, and the empty string, are quoted, so that
	// NULL and text stay distinct.
	NullText string
}

// Counters count what the encoder did to values, for the receipt.
type Counters struct {
	Nulls       int64 `json:"nulls"`
	Neutralised int64 `json:"neutralised"`
	InvalidUTF8 int64 `json:"invalid_utf8"`
}
