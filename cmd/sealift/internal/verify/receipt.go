package verify

import (
	"crypto/sha256"
	stdhex "encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"sealift/shared/format"
	"sealift/shared/format/csv"
	"sealift/shared/pipeline"
	"sealift/shared/snapshot"
)

// Receipt is a receipt that was understood.
type Receipt struct {
	receipt pipeline.Receipt
	snap    snapshot.Snapshot
	spec    format.Spec
	// digest is that of the snapshot that the receipt holds.
	digest string
	// key is that of the signature once it is proven.
	key string
}

// Read understands the text of a receipt. Whether it agrees with itself is for File and Folder to say. Every error is a
// *Malformed.
func Read(text []byte) (Receipt, error) {
	r, err := understand(text)
	if err != nil {
		return Receipt{}, &Malformed{Err: err}
	}
	return r, nil
}

func understand(text []byte) (r Receipt, err error) {
	if r.receipt, err = decode(text); err != nil {
		return Receipt{}, err
	}
	// The digest is over the snapshot as the service keeps it, which is without white space.
	snap := compact(r.receipt.Snapshot)
	sum := sha256.Sum256(snap)
	r.digest = stdhex.EncodeToString(sum[:])
	if r.snap, err = snapshot.Parse(string(snap)); err != nil {
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
