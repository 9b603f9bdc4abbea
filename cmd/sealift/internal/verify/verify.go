// Package verify owns the proof that files are those that an export published: against the receipt alone, offline, in one
// pass over each file and in constant memory; and that the receipt is the service's, by its signature. Start reading at Read,
// then at Receipt's Prove, File and Folder. It imports the receipt's and the snapshot's shape and what their names follow
// from, signature, format's strict readers, checksum and disk.
package verify

import (
	"fmt"
	"slices"

	"sealift/shared/format"
)

// Check is one thing that was compared.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Detail is what was found, and when that is wrong also what was expected.
	Detail string `json:"detail"`
}

// Report is everything that was compared of a file.
type Report struct {
	Job  string `json:"job"`
	File string `json:"file"`
	// Number is the file's when the export has many, from 1.
	Number int    `json:"number,omitempty"`
	OK     bool   `json:"ok"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	CRC64  string `json:"crc64nvme"`
	// Fidelity counts, by the receipt, what was done to values of the whole export.
	Fidelity map[string]int64 `json:"fidelity,omitempty"`
	// Signature is what is known of the receipt's, where the report is of the receipt too.
	Signature Proof   `json:"signature,omitempty"`
	Checks    []Check `json:"checks"`

	// missing says that the file, or of a folder the manifest, isn't there.
	missing bool
	// scanned says that the content was read to its end; then rowsHash and tally are those of its rows.
	scanned  bool
	rowsHash uint64
	tally    tally
}

func (r *Report) check(name string, ok bool, format string, args ...any) {
	r.Checks = append(r.Checks, Check{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)})
}

// settle says whether all is right.
func (r *Report) settle() {
	r.OK = !slices.ContainsFunc(r.Checks, func(check Check) bool { return !check.OK })
}

// equal notes whether what was found is what the receipt says.
func equal[T comparable](r *Report, name string, have, want T) {
	if have == want {
		r.check(name, true, "%v", have)
		return
	}
	r.check(name, false, "%v; the receipt says %v", have, want)
}

// File reads a whole file and compares it with the receipt's file of that index, and the receipt with itself. An error is
// a file that can't be read; a difference is in the report. progress is called with the bytes read so far and may be nil.
func (r Receipt) File(file format.File, index int, progress func(have int64)) (Report, error) {
	report := r.report(index)
	r.checkItself(&report)
	if err := r.checkFile(&report, file, index, progress); err != nil {
		return Report{}, err
	}
	if r.Many() {
		// What was done to values is counted for all files together.
		report.Fidelity = nil
	} else {
		r.checkTotals(&report, report.rowsHash, report.tally)
	}
	report.settle()
	return report, nil
}

func (r Receipt) report(index int) Report {
	of := r.receipt.Files[index]
	return Report{Job: r.receipt.Job, File: of.Name, Number: of.Number, Fidelity: r.receipt.Fidelity}
}

// checkFile compares one file with what the receipt says of it.
func (r Receipt) checkFile(report *Report, file format.File, index int, progress func(have int64)) error {
	of := r.receipt.Files[index]
	sums, marks := newSegmenter(file, of.Segments, progress), newLandmarks(r.snap, of)
	counting, err := newCounter(r.spec, r.snap)
	if err != nil {
		return err
	}
	totals, scanErr := format.Scan(r.spec, sums, func(values [][]byte, null []bool) error {
		marks.pass(values, null)
		return counting.row(values, null)
	})
	// After a fault the rest is still summed up, so that the report says where the file differs.
	if err := sums.drain(); err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	report.Bytes, report.CRC64 = sums.bytes, sums.crc64.Base64()
	if scanErr != nil && r.repacked(report, file, of) {
		return nil
	}
	equal(report, "size in bytes", sums.bytes, of.Bytes)
	equal(report, "checksum (CRC-64/NVME)", sums.crc64.Base64(), of.CRC64)
	checkSegments(report, of, sums)
	if scanErr != nil {
		report.check("content", false, "%s", scanErr)
		return nil
	}
	if report.tally, err = counting.end(); err != nil {
		return err
	}
	report.scanned, report.Rows, report.rowsHash = true, totals.Rows, totals.RowsHash
	report.check("content", true, "%s", r.describe())
	equal(report, "rows", totals.Rows, of.Rows)
	marks.check(report)
	if r.Many() {
		sum, known := hashOf(of.Segments)
		equal(report, "hash of the rows", hex(totals.RowsHash, true), hex(sum, known))
	}
	return nil
}

// checkTotals compares what only the whole export is known by.
func (r Receipt) checkTotals(report *Report, rowsHash uint64, found tally) {
	if !report.scanned {
		return
	}
	equal(report, "hash of the rows", hex(rowsHash, true), r.receipt.RowsHash)
	found.check(report, r.receipt.Fidelity)
}
