// Package parquet owns Apache Parquet: a Writer of parts that are small Parquet files by themselves, a Joiner that makes
// them one file by a common footer, and a strict Reader of such a file. It imports part, field, row, job, checksum and
// limits; start reading at Writer, and at schema for how kinds become types.
//
// # The file
//
// Each part is a complete Parquet file: the magic, row groups, their footer, its length, the magic. Parts stand one
// after the other, and behind them all a last footer that lists the row groups of every part with their offsets in the
// whole file. Readers begin at the end and use the last footer only; the footers in between are bytes that nothing
// points to. So a part carries what joining needs, under the same checksum, and joining reads ends of parts only.
//
// # Kinds
//
// Every column is OPTIONAL, and a NULL is one. The types are INT64 for Int64; DECIMAL(38, scale) as 16 bytes for a
// Decimal with a declared scale, and its exact text as STRING for one without; DOUBLE for Float64, with NaN and
// infinities; BOOLEAN; DATE; TIMESTAMP in microseconds adjusted to UTC for Timestamp and not adjusted for DateTime; JSON
// for JSON; bytes without an annotation for Bytes; STRING for String. Nothing is ever rounded: a value that its type
// can't hold ends the job with the row's key and the column's name. The name of the zone that the definition
// chose is in the metadata under KeyZone, the kinds are under KeyColumns.
//
// # Encoding
//
// Pages are of version 1, in PLAIN or, for bytes, RLE_DICTIONARY encoding, with a checksum: what every reader reads. A
// dictionary is given up for the rest of its row group when it grows past its bound. Column chunks have the count of
// NULLs and the least and the greatest value; those of long texts and bytes are cut to bounds that are not exact, as
// the format allows. A chunk with a NaN has no least and no greatest value, for readers differ in where NaN belongs; a
// zero is negative as the least and positive as the greatest value.
//
// The hash of a row is the XXH64 of its values one after the other: 0 for a NULL; else 1 and the value as the file holds
// it, integers and floats as little-endian bytes, a Bool as one byte, a DECIMAL as its 16 big-endian bytes, bytes after
// their length as 4 little-endian bytes.
package parquet

import (
	"fmt"

	"sealift/shared/format/field"
	"sealift/shared/row"
)

// Codec is how pages are compressed; the number is the format's.
type Codec int32

// The codecs.
const (
	Uncompressed Codec = 0
	Snappy       Codec = 1
	Zstd         Codec = 6
)

// Config is everything that must be known of a file; all of it is fixed for a job.
type Config struct {
	Columns []row.Column
	// Keys is how many key values follow the columns in each row of a batch.
	Keys        int
	InvalidUTF8 field.InvalidRule
	Codec       Codec
	// Zone is the IANA name of the zone that Timestamp values are rendered in when they are text; empty is UTC.
	Zone string
}

// ContentType is the media type that is registered for Parquet files.
const ContentType = "application/vnd.apache.parquet"

// ChunkBytes is about what the footer says of one column of one row group.
const ChunkBytes = 70

// precision is how many digits a DECIMAL has; 38 is the most that readers agree on.
const precision = 38

// Faults lists what can't be written, for people; empty when nothing is wrong.
func (c Config) Faults() []string {
	var faults []string
	for _, column := range c.Columns {
		if column.Kind == row.Decimal && column.Scale > precision {
			faults = append(faults, fmt.Sprintf("the scale %d of column %q must be at most %d in parquet; leave it out and the column is exact text",
				column.Scale, column.Name, precision))
		}
	}
	return faults
}
