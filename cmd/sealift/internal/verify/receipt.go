package verify

import (
	"bytes"
	"crypto/sha256"
	stdhex "encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"sealift/shared/format"
	"sealift/shared/format/csv"
	"sealift/shared/pipeline"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// Receipt is a receipt that was understood.
type Receipt struct {
	receipt pipeline.Receipt
	snap    snapshot.Snapshot
	spec    format.Spec
	// digest is that of the snapshot that the receipt holds.
	digest string
}

// Read understands the text of a receipt. Whether it agrees with itself is for File and Folder to say.
func Read(text []byte) (Receipt, error) {
	var r Receipt
	if err := json.Unmarshal(text, &r.receipt); err != nil {
		return Receipt{}, fmt.Errorf("the receipt can't be read: %w; get it anew with `sealift export receipt ID --output FILE`", err)
	}
	if r.receipt.Schema != 1 {
		return Receipt{}, fmt.Errorf("the receipt has schema %d; this release reads 1, so use the release of the service", r.receipt.Schema)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.receipt.Snapshot); err != nil {
		return Receipt{}, fmt.Errorf("the receipt's snapshot can't be read: %w", err)
	}
	sum := sha256.Sum256(compact.Bytes())
	r.digest = stdhex.EncodeToString(sum[:])
	var err error
	if r.snap, err = snapshot.Parse(compact.String()); err != nil {
		return Receipt{}, fmt.Errorf("the receipt's snapshot can't be read: %w", err)
	}
	r.spec = pipeline.FileSpec(r.snap, 0)
	if err := r.spec.Validate(); err != nil {
		return Receipt{}, fmt.Errorf("the receipt's format can't be read: %w", err)
	}
	return r, r.plainFiles()
}

// plainFiles refuses a list of files that names something else than files beside each other.
func (r Receipt) plainFiles() error {
	files := r.receipt.Files
	if len(files) == 0 || !r.Many() && len(files) > 1 {
		return fmt.Errorf("the receipt lists %s, which no export of the layout %q has", english.Plural(len(files), "file", ""), r.snap.Layout)
	}
	names := map[string]bool{}
	for i, f := range files {
		if f.Name == "" || f.Name != filepath.Base(f.Name) || strings.ContainsAny(f.Name, `/\`) || f.Name == "." || f.Name == ".." || names[f.Name] {
			return fmt.Errorf("the receipt names file %d %q, which is no plain file name of its own", i+1, f.Name)
		}
		if r.Many() && f.Number != i+1 {
			return fmt.Errorf("the receipt numbers file %d %d", i+1, f.Number)
		}
		names[f.Name] = true
	}
	return nil
}

// Job is the export's id.
func (r Receipt) Job() string { return r.receipt.Job }

// Many reports whether the export has many files and a manifest, even when there was enough for one of them only.
func (r Receipt) Many() bool { return r.snap.Layout == snapshot.LayoutFiles }

// Find says which of the receipt's files a file is: that of the number, counted from 1, or when that is 0 of the name.
// The file of an export that has only one may have any name.
func (r Receipt) Find(path string, number int) (index int, err error) {
	count, name := len(r.receipt.Files), filepath.Base(path)
	switch {
	case !r.Many() && number != 0:
		return 0, fmt.Errorf("--file is for exports of many files; export %s has one", r.Job())
	case !r.Many():
		return 0, nil
	case number != 0 && (number < 1 || number > count):
		return 0, fmt.Errorf("--file is %d; export %s has %s", number, r.Job(), numbered(count))
	case number != 0:
		return number - 1, nil
	case name == r.manifestName():
		return 0, fmt.Errorf("%s is the manifest of export %s; verify the folder that holds it and the files, or one of the files", name, r.Job())
	}
	index = slices.IndexFunc(r.receipt.Files, func(f pipeline.ReceiptFile) bool { return f.Name == name })
	if index < 0 {
		return 0, fmt.Errorf("%s is the name of none of the files of export %s, which has %s; say which of them it is with --file N", name, r.Job(), numbered(count))
	}
	return index, nil
}

// numbered says which numbers files have.
func numbered(count int) string {
	if count == 1 {
		return "file 1 only"
	}
	return fmt.Sprintf("files 1 to %d", count)
}

func (r Receipt) manifestName() string { return pipeline.ArtifactName(r.snap) }

// describe says what a file is whose content was read to its end without a fault.
func (r Receipt) describe() string {
	columns := english.Plural(len(r.spec.Columns), "column", "")
	switch r.spec.Format {
	case format.XLSX:
		return fmt.Sprintf("every row has values of the %s of the receipt, and every other byte of the workbook is what such rows make", columns)
	case format.Parquet:
		return fmt.Sprintf("every page has values of the %s of the receipt (compression %s), and its checksums, statistics and footers are theirs", columns, r.spec.Compression)
	case format.CSV, format.JSONL:
	}
	text := string(r.spec.Format)
	if r.spec.CSV.Encoding != csv.UTF8 {
		text += " (" + string(r.spec.CSV.Encoding) + ")"
	}
	if r.spec.Compression != format.None {
		text += " in " + string(r.spec.Compression)
	}
	return fmt.Sprintf("every record parses as %s with the %s of the receipt", text, columns)
}

// checkItself compares the receipt with itself: a receipt that was changed in one place disagrees with another.
func (r Receipt) checkItself(report *Report) {
	equal(report, "digest of the snapshot", r.digest, r.receipt.SnapshotDigest)
	columns := slices.EqualFunc(r.snap.Columns, r.receipt.Columns, func(a snapshot.Column, b pipeline.ReceiptColumn) bool {
		return a.Name == b.Name && a.Kind == b.Kind && string(a.Mask) == b.Mask
	})
	report.check("columns of the receipt", columns, "%d, %s those of the snapshot", len(r.receipt.Columns), either(columns, "which are", "which are not"))
	t := r.tile()
	report.check("segments of the receipt", t.whole, "%d, whose key ranges and bytes %s", len(t.segments), either(t.whole, "follow each other without a gap", "leave gaps or overlap"))
	equal(report, "rows of the segments together", t.segmentRows, r.receipt.Rows)
	sum, known := hashOf(t.segments)
	equal(report, "hash of the segments together", hex(sum, known), r.receipt.RowsHash)
	totals := r.receipt.Rows == t.rows && r.receipt.Bytes == t.bytes
	amounts := english.Plural(int(r.receipt.Rows), "row", "") + ", " + english.Plural(int(r.receipt.Bytes), "byte", "")
	if !r.Many() {
		report.check("totals of the receipt", totals, "%s, %s those of its file", amounts, either(totals, "which are", "which are not"))
		return
	}
	report.check("totals of the receipt", totals, "%s, %s those of its %s", amounts, either(totals, "which are", "which are not"),
		english.Plural(len(r.receipt.Files), "file", ""))
	report.check("rows of each file", t.odd == "", "%s", either(t.odd == "", "the segments of every file add up to it", "the segments of "+t.odd+" don't add up to it"))
}

// tiling is what the receipt's files and segments are when they are laid beside each other.
type tiling struct {
	segments    []pipeline.ReceiptSegment
	segmentRows int64
	rows, bytes int64
	// whole says that the key ranges cover everything once, over all files, and the bytes of each file from its start.
	whole bool
	// odd is the first file whose rows are not those of its segments.
	odd string
}

func (r Receipt) tile() tiling {
	t := tiling{whole: true}
	var end row.Key
	for _, f := range r.receipt.Files {
		next, rows := int64(0), int64(0)
		for _, segment := range f.Segments {
			first := len(t.segments) == 0
			t.whole = t.whole && segment.Offset == next && segment.Bytes >= 0 && first == (segment.Range.From == nil) && slices.Equal(end, segment.Range.From)
			rows, next, end = rows+segment.Rows, segment.Offset+segment.Bytes, segment.Range.To
			t.segments = append(t.segments, segment)
		}
		t.whole = t.whole && len(f.Segments) > 0 && next <= f.Bytes
		if rows != f.Rows && t.odd == "" {
			t.odd = f.Name
		}
		t.segmentRows += rows
		t.rows += f.Rows
		t.bytes += f.Bytes
	}
	t.whole = t.whole && end == nil
	return t
}

// hashOf adds up the hashes of segments; known is false when one can't be read.
func hashOf(segments []pipeline.ReceiptSegment) (sum uint64, known bool) {
	for _, segment := range segments {
		hash, err := strconv.ParseUint(segment.RowsHash, 16, 64)
		if err != nil {
			return 0, false
		}
		sum += hash
	}
	return sum, true
}

func hex(hash uint64, known bool) string {
	if !known {
		return "unreadable"
	}
	return fmt.Sprintf("%016x", hash)
}

func either(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}
