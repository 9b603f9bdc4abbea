package verify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/dustin/go-humanize/english"

	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// checkItself compares the receipt with itself: everything that it says twice, or that follows from something else in it.
// A receipt that was changed in one place disagrees with another. What it says once and no file shows is left: the export's
// id but for its shape, the watermark's ceiling unless it lies below the last key, and some counters (see tally); only the
// signature shows a change of these.
func (r Receipt) checkItself(report *Report) {
	r.checkSignature(report)
	equal(report, "digest of the snapshot", r.digest, r.receipt.SnapshotDigest)
	r.checkSnapshot(report)
	columns := slices.EqualFunc(r.snap.Columns, r.receipt.Columns, func(a snapshot.Column, b pipeline.ReceiptColumn) bool {
		return a.Name == b.Name && a.Kind == b.Kind && string(a.Mask) == b.Mask
	})
	report.check("columns of the receipt", columns, "%d, %s those of the snapshot", len(r.receipt.Columns), either(columns, "which are", "which are not"))
	t := r.tile()
	report.check("segments of the receipt", t.whole, "%d, whose key ranges and bytes %s", len(t.segments), either(t.whole, "follow each other without a gap", "leave gaps or overlap"))
	if t.whole {
		r.checkSums(report)
	}
	r.checkNames(report, t)
	r.checkKeys(report, t)
	equal(report, "rows of the segments together", t.segmentRows, r.receipt.Rows)
	sum, known := hashOf(t.segments)
	equal(report, "hash of the segments together", hex(sum, known), r.receipt.RowsHash)
	r.checkCounters(report)
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

// checkSnapshot compares what the receipt repeats of its snapshot.
func (r Receipt) checkSnapshot(report *Report) {
	for _, fact := range []struct {
		name       string
		have, want any
	}{
		{"tenant", r.receipt.Tenant, r.snap.Tenant},
		{"definition", r.receipt.Definition, r.snap.Definition},
		{"version of the definition", r.receipt.DefinitionVersion, r.snap.DefinitionVersion},
		{"cutoff", r.receipt.Watermark.AsOf, r.snap.AsOf},
		{"rendering of NULL", r.receipt.Nulls, pipeline.NullRendering(r.snap)},
	} {
		if fact.have != fact.want {
			report.check("facts of the receipt", false, "the %s is %v; by the snapshot it is %v", fact.name, fact.have, fact.want)
			return
		}
	}
	report.check("facts of the receipt", true, "tenant, definition, cutoff and rendering of NULL are those of the snapshot")
}

// checkNames compares names with the rules that they follow from.
func (r Receipt) checkNames(report *Report, t tiling) {
	wrong := ""
	if !job.ValidID(r.receipt.Job) {
		wrong = fmt.Sprintf("%q is not the id of an export", r.receipt.Job)
	}
	for i, f := range r.receipt.Files {
		number := 0
		if r.Many() {
			number = i + 1
		}
		if want := pipeline.ReceiptName(r.snap, number); wrong == "" && (f.Name != want || f.Number != number) {
			wrong = fmt.Sprintf("file %d is named %q with the number %d; by the snapshot they are %q and %d", i+1, f.Name, f.Number, want, number)
		}
	}
	for i, segment := range t.segments {
		if want := job.ShardID(i + 1); wrong == "" && segment.Unit != want {
			wrong = fmt.Sprintf("segment %d is named %q; its place makes it %q", i+1, segment.Unit, want)
		}
	}
	report.check("names of the receipt", wrong == "", "%s", either(wrong == "", "export, files and segments are named as they must be", wrong))
}

// checkCounters compares the names of the counters with those there are: some always, others when they count something.
func (r Receipt) checkCounters(report *Report) {
	said := r.receipt.Fidelity
	c := job.Counters{
		Nulls: said[nulls.String()], Neutralised: said[neutralised.String()], InvalidUTF8: said[invalidUTF8.String()], Masked: said[masked.String()],
		NumbersAsText: said[numbersAsText.String()], TimesAsText: said[timesAsText.String()], Escaped: said[escaped.String()],
		Replaced: said[replaced.String()], Truncated: said[truncated.String()],
	}
	same := maps.Equal(said, pipeline.Fidelity(c))
	report.check("counters of the receipt", same, "%s", either(same, "they are those there are", "one is missing, is unknown or counts nothing"))
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
	behind, known := r.suffix()
	var end row.Key
	for _, f := range r.receipt.Files {
		next, rows := int64(0), int64(0)
		for _, segment := range f.Segments {
			first := len(t.segments) == 0
			t.whole = t.whole && segment.Offset == next && segment.Bytes >= 0 && segment.Rows >= 0 && first == (segment.Range.From == nil) && slices.Equal(end, segment.Range.From)
			rows, next, end = rows+segment.Rows, segment.Offset+segment.Bytes, segment.Range.To
			t.segments = append(t.segments, segment)
		}
		t.whole = t.whole && len(f.Segments) > 0 && next <= f.Bytes && (!known || next+behind == f.Bytes)
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

// suffix is how many bytes follow the segments of a file; known is false for formats in which that depends on the rows.
func (r Receipt) suffix() (size int64, known bool) {
	if r.spec.Format == format.XLSX || r.spec.Format == format.Parquet {
		return 0, false
	}
	suffix, err := format.NewJoiner(r.spec).Suffix()
	return int64(len(suffix)), err == nil
}

// checkSums compares the checksums of files that consist of segments alone with the segments', which must tile them.
func (r Receipt) checkSums(report *Report) {
	if size, known := r.suffix(); !known || size > 0 {
		return
	}
	wrong := ""
	for _, f := range r.receipt.Files {
		sum, readable := checksum.CRC64(0), true
		for _, segment := range f.Segments {
			next, err := checksum.ParseCRC64(segment.CRC64)
			readable = readable && err == nil
			sum = sum.Combine(next, segment.Bytes)
		}
		if wrong == "" && (!readable || sum.Base64() != f.CRC64) {
			wrong = "the checksums of the segments of " + f.Name + " don't add up to its own"
		}
	}
	report.check("checksums of the receipt", wrong == "", "%s", either(wrong == "", "the segments of every file add up to its own", wrong))
}

// hashOf adds up the hashes of segments; known is false when one can't be read.
func hashOf(segments []pipeline.ReceiptSegment) (sum uint64, known bool) {
	for _, segment := range segments {
		hash, err := strconv.ParseUint(segment.RowsHash, 16, 64)
		if err != nil || hex(hash, true) != segment.RowsHash {
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
