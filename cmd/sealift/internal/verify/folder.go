package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/dustin/go-humanize/english"

	"sealift/cmd/sealift/internal/disk"
	"sealift/shared/pipeline"
)

// FolderReport is everything that was compared of a folder.
type FolderReport struct {
	Job   string `json:"job"`
	OK    bool   `json:"ok"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	// Fidelity counts, by the receipt, what was done to values.
	Fidelity map[string]int64 `json:"fidelity"`
	// Signature is what is known of the receipt's.
	Signature Proof `json:"signature"`
	// Checks are those of the receipt, the manifest and the files together; each file has its own.
	Checks []Check  `json:"checks"`
	Files  []Report `json:"files"`
	// Extra are the names in the folder that the receipt doesn't list.
	Extra []string `json:"extra"`

	lacking bool
}

// Lacking reports whether what differs is only that something is missing, as after a download that stopped.
func (f FolderReport) Lacking() bool { return f.lacking }

// FileAt is File for a file on the disk. progress is called with the bytes read so far and in all.
func (r Receipt) FileAt(ctx context.Context, path string, index int, progress func(have, total int64)) (Report, error) {
	file, err := open(ctx, path)
	if err != nil {
		return Report{}, disk.Explain("read", path, err)
	}
	defer file.close()
	return r.File(file, index, func(have int64) { progress(have, file.Size()) })
}

// Folder compares every file of the receipt with the one of its name in a folder, and what they are together with the
// receipt. A file or manifest that is missing is a difference; what else is in the folder is named and is none. An error is
// something that can't be read.
func (r Receipt) Folder(ctx context.Context, folder string, progress func(have, total int64)) (FolderReport, error) {
	whole := Report{Job: r.Job(), scanned: true}
	r.checkItself(&whole)
	if err := r.checkManifest(&whole, folder); err != nil {
		return FolderReport{}, err
	}
	found := FolderReport{Job: r.Job(), Fidelity: r.receipt.Fidelity, Files: make([]Report, 0, len(r.receipt.Files))}
	right, counted, rowsHash := 0, tally{}, uint64(0)
	found.lacking = true
	for i := range r.receipt.Files {
		one, err := r.inFolder(ctx, folder, i, func(have int64) { progress(found.Bytes+have, r.receipt.Bytes) })
		if err != nil {
			return FolderReport{}, err
		}
		if one.OK {
			right++
		}
		found.lacking = found.lacking && (one.OK || one.missing)
		whole.scanned = whole.scanned && one.scanned
		found.Rows, found.Bytes = found.Rows+one.Rows, found.Bytes+one.Bytes
		counted.join(one.tally)
		rowsHash += one.rowsHash
		found.Files = append(found.Files, one)
	}
	whole.check("files", right == len(found.Files), "%d of %d %s there and right", right, len(found.Files), english.PluralWord(len(found.Files), "is", "are"))
	if whole.scanned {
		equal(&whole, "rows", found.Rows, r.receipt.Rows)
	}
	r.checkTotals(&whole, rowsHash, counted)
	whole.settle()
	found.OK, found.Signature, found.Checks = whole.OK, whole.Signature, whole.Checks
	found.lacking = found.lacking && !slices.ContainsFunc(whole.Checks, func(c Check) bool {
		return !c.OK && c.Name != "files" && !(c.Name == "manifest" && whole.missing)
	})
	var err error
	found.Extra, err = r.extra(folder)
	return found, err
}

// inFolder compares one file of the receipt with the one of its name.
func (r Receipt) inFolder(ctx context.Context, folder string, index int, progress func(have int64)) (Report, error) {
	report := r.report(index)
	report.Fidelity = nil
	path := filepath.Join(folder, report.File)
	file, err := open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		report.missing = true
		report.check("file", false, "is missing")
		return report, nil
	}
	if err != nil {
		return Report{}, disk.Explain("read", path, err)
	}
	defer file.close()
	if err := r.checkFile(&report, file, index, progress); err != nil {
		return Report{}, fmt.Errorf("%s: %w", path, err)
	}
	report.settle()
	return report, nil
}

// manifestBytesMax bounds a manifest; those of ten thousand files are the largest.
const manifestBytesMax = 16 << 20

// checkManifest compares the manifest of an export of many files with the receipt.
func (r Receipt) checkManifest(report *Report, folder string) error {
	if !r.Many() {
		return nil
	}
	text, err := disk.Read(filepath.Join(folder, r.manifestName()), manifestBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		report.missing = true
		report.check("manifest", false, "%s is missing", r.manifestName())
		return nil
	}
	if err != nil {
		return err
	}
	want := pipeline.Manifest{Schema: 1, Job: r.receipt.Job, Rows: r.receipt.Rows, Bytes: r.receipt.Bytes}
	for _, f := range r.receipt.Files {
		want.Files = append(want.Files, pipeline.ManifestFile{Number: f.Number, Name: f.Name, Rows: f.Rows, Bytes: f.Bytes, CRC64: f.CRC64})
	}
	// A manifest always marshals.
	right, _ := json.Marshal(want)
	same := bytes.Equal(compact(text), right)
	report.check("manifest", same, "%s what the receipt does (number of files: %d)", either(same, "lists", "does not list"), len(want.Files))
	return nil
}

// extra names what is in the folder and not in the receipt.
func (r Receipt) extra(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, disk.Explain("read", folder, err)
	}
	known := map[string]bool{}
	for _, f := range r.receipt.Files {
		known[f.Name] = true
	}
	known[r.manifestName()] = true
	names := []string{}
	for _, entry := range entries {
		if !known[entry.Name()] {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// patient reads a file until the context is done.
type patient struct {
	*io.SectionReader

	file *os.File
	ctx  context.Context
}

func open(ctx context.Context, path string) (patient, error) {
	file, err := os.Open(path)
	if err != nil {
		return patient{}, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		_ = file.Close()
		return patient{}, err
	}
	return patient{io.NewSectionReader(file, 0, info.Size()), file, ctx}, nil
}

func (p patient) close() { _ = p.file.Close() }

// Read reads on until the context is done.
func (p patient) Read(data []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.SectionReader.Read(data)
}

func (p patient) ReadAt(data []byte, from int64) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.SectionReader.ReadAt(data, from)
}
