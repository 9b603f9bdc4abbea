// Package xlsx owns Office Open XML workbooks (ECMA-376, which is ISO/IEC 29500) that many workers write at once: each
// shard writes worksheets of its own, and the joiner writes the list of them behind the last. It imports
// format/deflate, format/field, format/part, row, job, limits and checksum; start reading at Writer, which says what
// the file looks like, and at encoder for the cells.
package xlsx

import (
	"sealift/shared/format/field"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Config is everything that those who write, join and read a workbook must know; all of it is fixed for a job.
type Config struct {
	Options
	// Columns are those of every sheet. Options.Faults of them must be empty.
	Columns []row.Column
	// Keys is how many key values follow the columns in each row of a batch.
	Keys int
	// Guard marks text that looks like a formula; see encoder.
	Guard       bool
	InvalidUTF8 field.InvalidRule
	// Zone is the zone that Timestamp values are written in. In UTC only the suffix Z is known, else every offset.
	Zone string
	// Bounds are those of the container. The zero value stands for the real ones; tests lower them.
	Bounds Bounds
}

// Bounds are what a field of a ZIP file holds before it needs the Zip64 form.
type Bounds struct {
	// SheetBytes is how much XML a worksheet may have. At the real bound neither this nor what it is packed to needs
	// Zip64, so a local header never does.
	SheetBytes int64
	// Offset and Entries are the first values that need Zip64 in the central directory.
	Offset  int64
	Entries int
}

const (
	// sheetBytesMax leaves room for what deflate adds to text that it can't compress.
	sheetBytesMax = 4*limits.GiB - 32*limits.MiB
	// zip64Offset and zip64Entries are the values that say "see the Zip64 record" (APPNOTE.TXT, section 4.4).
	zip64Offset  = 1<<32 - 1
	zip64Entries = 1<<16 - 1
)

const (
	_ = uint(ColumnsMax - limits.ColumnsMax) // what a file may have fits a sheet
)

func (b Bounds) orReal() Bounds {
	if b.SheetBytes <= 0 {
		b.SheetBytes = sheetBytesMax
	}
	if b.Offset <= 0 {
		b.Offset = zip64Offset
	}
	if b.Entries <= 0 {
		b.Entries = zip64Entries
	}
	return b
}
