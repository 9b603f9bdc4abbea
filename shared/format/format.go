// Package format owns how rows become the bytes of one file that many workers write: each shard's parts are fragments
// that can be joined by plain concatenation, in shard order, between what the first shard begins with and a suffix
// that is computed from the parts' checksums. Start reading at Spec and PartWriter; Scan reads a joined file back. It
// imports row, job, limits, checksum and the formats below it, which own the spelling of rows.
package format

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"sealift/shared/format/csv"
	"sealift/shared/format/field"
	"sealift/shared/format/jsonl"
	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Name is a file format.
type Name string

// The formats.
const (
	CSV     Name = "csv"
	JSONL   Name = "jsonl"
	XLSX    Name = "xlsx"
	Parquet Name = "parquet"
)

// Compression wraps the whole file, or the pages of a Parquet file.
type Compression string

// The compressions.
const (
	None   Compression = "none"
	Gzip   Compression = "gzip"
	Zstd   Compression = "zstd"
	Snappy Compression = "snappy" // inside Parquet only
)

// Spec says how one file is written. It comes from the frozen snapshot and never changes during a job.
type Spec struct {
	Format      Name
	Compression Compression
	Columns     []row.Column
	// Keys is how many key values follow the columns in each row of a batch; errors about a row name them.
	Keys int
	CSV  CSVOptions
	XLSX XLSXOptions
	// Guard neutralises spreadsheet formulas in text values (CSV and XLSX).
	Guard bool
	// InvalidUTF8 says what happens to text that isn't UTF-8.
	InvalidUTF8 InvalidRule
	// Zone is the IANA name of the zone that Timestamp values are written in.
	Zone string
}

// InvalidRule is what happens to a value that a format can't hold as it is.
type InvalidRule = field.InvalidRule

// The rules for invalid text.
const (
	// Fail fails the job with the row's key and the column's name; the default.
	Fail = field.Fail
	// Replace writes U+FFFD for each invalid sequence and counts the value.
	Replace = field.Replace
)

// CSVOptions are RFC 4180's variables.
type CSVOptions = csv.Options

// XLSXOptions say how a workbook's columns look, and what becomes of text that no cell holds.
type XLSXOptions = xlsx.Options

// Counters count what the encoder did to values, for the receipt.
type Counters = field.Counters

// What writers and joiners of every format have in common.
type (
	Part        = part.Part
	PartOptions = part.Options
	PartWriter  = part.Writer
	Cut         = part.Cut
	Piece       = part.Piece
	Joiner      = part.Joiner
)

// NewPartWriter returns a writer of the parts of one shard of a file that spec describes. Its error is that of
// Spec.Validate, or Permanent when opt.Fragment isn't one of the format's.
func NewPartWriter(spec Spec, opt PartOptions) (PartWriter, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	switch spec.Format {
	case XLSX:
		return xlsx.NewWriter(xlsxConfig(spec), opt)
	case Parquet:
		return parquet.NewWriter(parquetConfig(spec), opt), nil
	case CSV, JSONL:
	}
	return newTextWriter(spec, opt), nil
}

// NewJoiner returns what computes the end of a file that a valid spec describes.
func NewJoiner(spec Spec) Joiner {
	switch spec.Format {
	case XLSX:
		return xlsx.NewJoiner(xlsxConfig(spec))
	case Parquet:
		return parquet.NewJoiner(parquetConfig(spec))
	case CSV, JSONL:
	}
	return &textJoiner{compression: spec.Compression}
}

// Validate checks that a file can be written as spec says. Its error is a *job.Error of kind Invalid with the code
// format_invalid that lists every fault and how to mend it.
func (s Spec) Validate() error {
	var faults []string
	switch s.Format {
	case CSV:
		faults = append(faults, s.CSV.Faults(s.Guard)...)
	case JSONL:
	case XLSX:
		faults = append(faults, xlsxFaults(s)...)
	case Parquet:
		faults = append(faults, parquetFaults(s)...)
	default:
		faults = append(faults, fmt.Sprintf("format %q must be one of %s, %s, %s, %s", s.Format, CSV, JSONL, XLSX, Parquet))
	}
	if s.Guard && (s.Format == JSONL || s.Format == Parquet) {
		faults = append(faults, fmt.Sprintf("the formula guard is for csv and xlsx; switch it off for %s, which no spreadsheet runs", s.Format))
	}
	if text := s.Compression == None || s.Compression == Gzip || s.Compression == Zstd; !text && s.Format != Parquet {
		faults = append(faults, fmt.Sprintf("compression %q must be one of %s, %s, %s", s.Compression, None, Gzip, Zstd))
	}
	if s.InvalidUTF8 != Fail && s.InvalidUTF8 != Replace {
		faults = append(faults, fmt.Sprintf("the rule for invalid UTF-8 %q must be %s or %s", s.InvalidUTF8, Fail, Replace))
	}
	if s.Keys < 0 {
		faults = append(faults, fmt.Sprintf("the number of key values %d must not be negative", s.Keys))
	}
	faults = append(faults, s.columnFaults()...)
	if len(faults) > 0 {
		return job.Errorf(job.Invalid, "format_invalid", "the file format can't be used: %s", strings.Join(faults, "; "))
	}
	return nil
}

func (s Spec) columnFaults() []string {
	var faults []string
	if len(s.Columns) == 0 || len(s.Columns) > limits.ColumnsMax {
		faults = append(faults, fmt.Sprintf("a file needs 1 to %d columns, not %d", limits.ColumnsMax, len(s.Columns)))
	}
	names := make(map[string]bool, len(s.Columns))
	for i, column := range s.Columns {
		switch {
		case column.Name == "":
			faults = append(faults, fmt.Sprintf("column %d needs a name", i+1))
		case !utf8.ValidString(column.Name):
			faults = append(faults, fmt.Sprintf("the name %q of column %d must be UTF-8", column.Name, i+1))
		case names[column.Name]:
			faults = append(faults, fmt.Sprintf("the column name %q must not appear twice", column.Name))
		}
		names[column.Name] = true
		if !column.Kind.Valid() {
			faults = append(faults, fmt.Sprintf("the kind %q of column %q must be one of %v", column.Kind, column.Name, row.Kinds()))
		}
	}
	return faults
}

// Extension is the ending of the file's name without its first dot, as in csv.gz.
func Extension(spec Spec) string {
	if spec.Format == Parquet {
		return string(spec.Format)
	}
	switch spec.Compression {
	case Gzip:
		return string(spec.Format) + ".gz"
	case Zstd:
		return string(spec.Format) + ".zst"
	case None, Snappy:
	}
	return string(spec.Format)
}

// ContentType is the media type of the file as it is stored. A compressed file is an archive to its receiver, not a
// transfer encoding that a browser would undo.
func ContentType(spec Spec) string {
	if spec.Format == Parquet {
		return parquet.ContentType
	}
	switch spec.Compression {
	case Gzip:
		return "application/gzip"
	case Zstd:
		return "application/zstd"
	case None, Snappy:
	}
	switch spec.Format {
	case JSONL:
		return "application/x-ndjson"
	case XLSX:
		return xlsx.ContentType
	case CSV, Parquet:
	}
	charset, header := "utf-8", "absent"
	if spec.CSV.Encoding != csv.UTF8 {
		charset = string(spec.CSV.Encoding)
	}
	if spec.CSV.Header {
		header = "present"
	}
	return "text/csv; charset=" + charset + "; header=" + header
}

// encoder writes rows in one format.
type encoder interface {
	// AppendHeader appends what a file begins with before it is compressed.
	AppendHeader(dst []byte) []byte
	// AppendRow appends one row, and says in starts, unless that is empty, where in dst each column's value begins; on error
	// dst is of no use.
	AppendRow(dst []byte, starts []uint32, b *row.Batch, r int, c *Counters) ([]byte, error)
}

// newEncoder returns the encoder of a valid spec.
func newEncoder(spec Spec) encoder {
	if spec.Format == JSONL {
		return jsonl.New(jsonl.Config{Columns: spec.Columns, Keys: spec.Keys, InvalidUTF8: spec.InvalidUTF8})
	}
	return csv.New(csv.Config{
		Options: spec.CSV, Columns: spec.Columns, Keys: spec.Keys, Guard: spec.Guard, InvalidUTF8: spec.InvalidUTF8,
	})
}
