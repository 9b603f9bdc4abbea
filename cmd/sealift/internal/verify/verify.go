// Package verify owns the proof that a file is the one that an export published: against the receipt alone, offline, in
// one pass over the file and in constant memory. Start reading at File. It imports the receipt's and the snapshot's
// shape, format's strict readers and checksum.
package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/pipeline"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// Check is one thing that was compared.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Detail is what was found, and when that is wrong also what was expected.
	Detail string `json:"detail"`
}

// Report is everything that was compared.
type Report struct {
	Job   string `json:"job"`
	File  string `json:"file"`
	OK    bool   `json:"ok"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	CRC64 string `json:"crc64nvme"`
	// Fidelity counts, by the receipt, what was done to values.
	Fidelity map[string]int64 `json:"fidelity"`
	Checks   []Check          `json:"checks"`
}

func (r *Report) check(name string, ok bool, format string, args ...any) {
	r.Checks = append(r.Checks, Check{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)})
}

// equal notes whether what was found is what the receipt says.
func equal[T comparable](r *Report, name string, have, want T) {
	if have == want {
		r.check(name, true, "%v", have)
		return
	}
	r.check(name, false, "%v; the receipt says %v", have, want)
}

// File reads a whole file and compares it with its receipt. An error is a file that can't be read or a receipt that
// can't be understood; a difference is in the report. progress is called with the bytes read so far and may be nil.
func File(file format.File, receipt []byte, progress func(have int64)) (Report, error) {
	c, err := read(receipt)
	if err != nil {
		return Report{}, err
	}
	report := Report{Job: c.receipt.Job, File: c.file.Name, Fidelity: c.receipt.Fidelity}
	c.checkReceipt(&report)
	sums := newSegmenter(file, c.file.Segments, progress)
	nulls := int64(0)
	totals, scanErr := format.Scan(c.spec, sums, func(_ [][]byte, null []bool) error {
		for _, is := range null {
			if is {
				nulls++
			}
		}
		return nil
	})
	// After a fault the rest is still summed up, so that the report says where the file differs.
	if err := sums.drain(); err != nil {
		return Report{}, fmt.Errorf("read the file: %w", err)
	}
	report.Bytes, report.CRC64 = sums.bytes, sums.crc64.Base64()
	equal(&report, "size in bytes", sums.bytes, c.file.Bytes)
	equal(&report, "checksum (CRC-64/NVME)", sums.crc64.Base64(), c.file.CRC64)
	c.checkSegments(&report, sums)
	if scanErr != nil {
		report.check("content", false, "%s", scanErr)
	} else {
		report.Rows = totals.Rows
		report.check("content", true, "every record parses as %s", c.describe())
		equal(&report, "rows", totals.Rows, c.file.Rows)
		equal(&report, "hash of the rows", fmt.Sprintf("%016x", totals.RowsHash), c.receipt.RowsHash)
		equal(&report, "NULL values", nulls, c.receipt.Fidelity["nulls"])
	}
	report.OK = !slices.ContainsFunc(report.Checks, func(check Check) bool { return !check.OK })
	return report, nil
}

// contract is a receipt that was understood.
type contract struct {
	receipt pipeline.Receipt
	file    pipeline.ReceiptFile
	snap    snapshot.Snapshot
	spec    format.Spec
	// digest is that of the snapshot that the receipt holds.
	digest string
}

func read(text []byte) (contract, error) {
	var c contract
	if err := json.Unmarshal(text, &c.receipt); err != nil {
		return contract{}, fmt.Errorf("the receipt can't be read: %w; get it anew with `sealift export receipt ID --output FILE`", err)
	}
	if c.receipt.Schema != 1 {
		return contract{}, fmt.Errorf("the receipt has schema %d; this release reads 1, so use the release of the service", c.receipt.Schema)
	}
	if len(c.receipt.Files) != 1 {
		return contract{}, fmt.Errorf("the receipt lists %d files; this release verifies exports of one file", len(c.receipt.Files))
	}
	c.file = c.receipt.Files[0]
	var compact bytes.Buffer
	if err := json.Compact(&compact, c.receipt.Snapshot); err != nil {
		return contract{}, fmt.Errorf("the receipt's snapshot can't be read: %w", err)
	}
	sum := sha256.Sum256(compact.Bytes())
	c.digest = hex.EncodeToString(sum[:])
	var err error
	if c.snap, err = snapshot.Parse(compact.String()); err != nil {
		return contract{}, fmt.Errorf("the receipt's snapshot can't be read: %w", err)
	}
	c.spec = pipeline.FileSpec(c.snap, 0)
	if err := c.spec.Validate(); err != nil {
		return contract{}, fmt.Errorf("the receipt's format can't be read: %w", err)
	}
	return c, nil
}

func (c contract) describe() string {
	text := string(c.spec.Format)
	if c.spec.Compression != format.None {
		text += " in " + string(c.spec.Compression)
	}
	return fmt.Sprintf("%s with the %d columns of the receipt", text, len(c.spec.Columns))
}

// checkReceipt compares the receipt with itself: a receipt that was changed in one place disagrees with another.
func (c contract) checkReceipt(report *Report) {
	equal(report, "digest of the snapshot", c.digest, c.receipt.SnapshotDigest)
	columns := slices.EqualFunc(c.snap.Columns, c.receipt.Columns, func(a snapshot.Column, b pipeline.ReceiptColumn) bool {
		return a.Name == b.Name && a.Kind == b.Kind && string(a.Mask) == b.Mask
	})
	report.check("columns of the receipt", columns, "%d, %s those of the snapshot", len(c.receipt.Columns), either(columns, "which are", "which are not"))
	rows, next, tile := int64(0), int64(0), len(c.file.Segments) > 0
	var end row.Key
	for i, segment := range c.file.Segments {
		tile = tile && segment.Offset == next && segment.Bytes >= 0 && (i == 0) == (segment.Range.From == nil) && slices.Equal(end, segment.Range.From)
		rows, next, end = rows+segment.Rows, segment.Offset+segment.Bytes, segment.Range.To
	}
	tile = tile && end == nil && next <= c.file.Bytes
	report.check("segments of the receipt", tile, "%d, whose key ranges and bytes %s", len(c.file.Segments),
		either(tile, "follow each other without a gap", "leave gaps or overlap"))
	equal(report, "rows of the segments together", rows, c.receipt.Rows)
	totals := c.receipt.Rows == c.file.Rows && c.receipt.Bytes == c.file.Bytes
	report.check("totals of the receipt", totals, "%d rows, %d bytes, %s those of its file", c.receipt.Rows, c.receipt.Bytes,
		either(totals, "which are", "which are not"))
}

func either(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

// differencesMax bounds how many segments that differ are named.
const differencesMax = 10

func (c contract) checkSegments(report *Report, sums *segmenter) {
	wrong := 0
	for i, segment := range c.file.Segments {
		have := sums.sums[i]
		if have.bytes == segment.Bytes && have.crc64.Base64() == segment.CRC64 {
			continue
		}
		if wrong++; wrong <= differencesMax {
			report.check("segment "+segment.Unit, false, "bytes %d to %d hold %d bytes with checksum %s; the receipt says %d and %s (rows with keys %s)",
				segment.Offset, segment.Offset+segment.Bytes, have.bytes, have.crc64.Base64(), segment.Bytes, segment.CRC64, segment.Range)
		}
	}
	report.check("checksums of the segments", wrong == 0, "%d of %d are right", len(c.file.Segments)-wrong, len(c.file.Segments))
}

// segmenter sums up a stream as a whole and by segments while it is read.
type segmenter struct {
	format.File

	progress func(int64)
	bounds   []int64
	sums     []sum
	at       int
	bytes    int64
	crc64    checksum.CRC64
	err      error
}

type sum struct {
	bytes int64
	crc64 checksum.CRC64
}

func newSegmenter(file format.File, segments []pipeline.ReceiptSegment, progress func(int64)) *segmenter {
	s := &segmenter{File: file, progress: progress, sums: make([]sum, len(segments))}
	for _, segment := range segments {
		s.bounds = append(s.bounds, segment.Offset+segment.Bytes)
	}
	return s
}

// Read passes bytes through and remembers an error of the stream, so that it isn't taken for a fault of the content.
func (s *segmenter) Read(data []byte) (int, error) {
	n, err := s.File.Read(data)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.crc64 = s.crc64.Append(data[:n])
	for rest := data[:n]; len(rest) > 0; {
		for s.at < len(s.bounds) && s.bytes >= s.bounds[s.at] {
			s.at++
		}
		take := len(rest)
		if s.at < len(s.bounds) {
			take = int(min(int64(take), s.bounds[s.at]-s.bytes))
			s.sums[s.at].crc64 = s.sums[s.at].crc64.Append(rest[:take])
			s.sums[s.at].bytes += int64(take)
		}
		s.bytes += int64(take)
		rest = rest[take:]
	}
	if s.progress != nil && n > 0 {
		s.progress(s.bytes)
	}
	return n, err
}

// drain reads what is left and returns the stream's own error.
func (s *segmenter) drain() error {
	if s.err != nil {
		return s.err
	}
	if _, err := io.Copy(io.Discard, s); err != nil {
		return err
	}
	return nil
}
