package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"sealift/cmd/sealift/internal/verify"
	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/format/csv"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

const segmentRows = 500

// exportID is the id of the exports of these tests.
const exportID = "exp_0123456789abcdefghjkmnpqrs"

// described is what an export of two columns was asked for, and how its files are written.
func described(name, compression string) (snapshot.Snapshot, format.Spec) {
	snap := snapshot.Snapshot{
		Schema: 1, Tenant: "acme", Definition: "orders", DefinitionVersion: 1, AsOf: "2026-03-29T01:00:00Z", Order: []string{"id"}, FileName: "orders",
		Columns: []snapshot.Column{{Name: "id", Kind: row.Int64}, {Name: "名字", Kind: row.String}},
		Format:  snapshot.Format{Type: name, Compression: compression, InvalidUTF8: "fail"},
	}
	spec := format.Spec{
		Format: format.Name(name), Compression: format.Compression(compression), InvalidUTF8: format.Fail,
		Columns: []row.Column{{Name: "id", Source: "id", Kind: row.Int64}, {Name: "名字", Source: "名字", Kind: row.String}},
	}
	switch name {
	case "xlsx":
		snap.Format.Guard, spec.Guard = true, true
	case "gb18030":
		snap.Format.Type, spec.Format = "csv", format.CSV
		snap.Format.Encoding, snap.Format.Unencodable = name, "fail"
		spec.CSV.Encoding, spec.CSV.Unencodable = csv.GB18030, format.Fail
		fallthrough
	case "csv":
		snap.Format.Delimiter, snap.Format.Quote, snap.Format.LineEnd, snap.Format.Header, snap.Format.Guard = ",", `"`, "\r\n", true, true
		spec.CSV.Delimiter, spec.CSV.Quote, spec.CSV.LineEnd, spec.CSV.Header, spec.Guard = ',', '"', "\r\n", true, true
	}
	return snap, spec
}

// published makes a file of two segments as shards write it, and its receipt.
func published(t *testing.T, name, compression string) (file []byte, receipt pipeline.Receipt) {
	t.Helper()
	snap, spec := described(name, compression)
	receipt = begun(snap, 2)
	receipt.Files = []pipeline.ReceiptFile{{Name: "orders", Keys: pipeline.KeyRange{First: keyOf(0), Last: keyOf(2*segmentRows - 1)}}}
	of := &receipt.Files[0]
	joiner, hash := format.NewJoiner(spec), uint64(0)
	for s := range 2 {
		part := write(t, spec, s, s == 0)
		segment := pipeline.ReceiptSegment{
			Unit: fmt.Sprintf("s%05d", s+1), Rows: part.Rows, Offset: int64(len(file)), Bytes: int64(len(part.Data)),
			CRC64: checksum.CRC64(part.CRC64).Base64(), Range: row.Range{To: keyOf(segmentRows)}, RowsHash: fmt.Sprintf("%016x", part.RowsHash),
			Keys: keysOf(s),
		}
		if s == 1 {
			segment.Range = row.Range{From: keyOf(segmentRows)}
		}
		of.Segments = append(of.Segments, segment)
		file = append(file, part.Data...)
		add(t, joiner, s+1, segment.Offset, part)
		of.Rows += part.Rows
		hash += part.RowsHash
		receipt.Fidelity["nulls"] += part.Counters.Nulls
	}
	suffix, err := joiner.Suffix()
	if err != nil {
		t.Fatal(err)
	}
	file = append(file, suffix...)
	of.Bytes, of.CRC64 = int64(len(file)), checksum.Sum64(file).Base64()
	receipt.Rows, receipt.Bytes, receipt.RowsHash = of.Rows, of.Bytes, fmt.Sprintf("%016x", hash)
	return file, receipt
}

// begun is the receipt of an export of shards before anything is said of files.
func begun(snap snapshot.Snapshot, shards int) pipeline.Receipt {
	receipt := pipeline.Receipt{
		Schema: 1, Job: exportID, Tenant: snap.Tenant, Definition: snap.Definition, DefinitionVersion: snap.DefinitionVersion,
		SnapshotDigest: snap.Digest(), Snapshot: json.RawMessage(snap.Encode()),
		Watermark: pipeline.Watermark{AsOf: snap.AsOf, Ceiling: keyOf(shards*segmentRows - 1)},
		Fidelity:  pipeline.Fidelity(job.Counters{}), Nulls: pipeline.NullRendering(snap),
	}
	for _, column := range snap.Columns {
		receipt.Columns = append(receipt.Columns, pipeline.ReceiptColumn{Name: column.Name, Kind: column.Kind, Mask: string(column.Mask)})
	}
	return receipt
}

// keyOf is the key of a row, counted from 0.
func keyOf(number int) row.Key { return row.Key{fmt.Sprint(number)} }

// keysOf are the first and the last key of a shard, counted from 0.
func keysOf(shard int) pipeline.KeyRange {
	return pipeline.KeyRange{First: keyOf(shard * segmentRows), Last: keyOf((shard+1)*segmentRows - 1)}
}

// add tells a joiner of the one part of a shard, whose number is from 1, and where it begins in the file.
func add(t *testing.T, joiner format.Joiner, number int, offset int64, part format.Part) {
	t.Helper()
	piece := format.Piece{
		Number: number, Offset: offset, Bytes: int64(len(part.Data)), Rows: part.Rows, RawBytes: part.RawBytes, RawCRC32: part.RawCRC32,
		Fragment: part.Fragment, Parts: []int64{int64(len(part.Data))},
		Read: func(_ context.Context, from, to int64) ([]byte, error) { return part.Data[from:to], nil },
	}
	if err := joiner.Add(t.Context(), piece); err != nil {
		t.Fatal(err)
	}
}

// write makes the part of a shard; first says that a file begins with it.
func write(t *testing.T, spec format.Spec, shard int, first bool) format.Part {
	t.Helper()
	w, err := format.NewPartWriter(spec, format.PartOptions{First: first, Shard: shard + 1})
	if err != nil {
		t.Fatal(err)
	}
	var batch row.Batch
	batch.Reset(2)
	for r := range segmentRows {
		batch.AppendString(fmt.Sprint(shard*segmentRows + r))
		if r%7 == 0 {
			batch.AppendNull()
		} else {
			batch.AppendString(fmt.Sprintf("a \"row\",\nnumber %d 𠮷", r))
		}
		if _, err := w.Append(&batch, r); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.End()
	if err != nil {
		t.Fatal(err)
	}
	part.Data = bytes.Clone(part.Data)
	return part
}

func check(t *testing.T, file []byte, receipt pipeline.Receipt) verify.Report {
	t.Helper()
	report, err := understood(t, receipt).File(bytes.NewReader(file), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func understood(t *testing.T, receipt pipeline.Receipt) verify.Receipt {
	t.Helper()
	r, err := verify.Read(receipt.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func failed(report verify.Report) string {
	var names []string
	for _, c := range report.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

func formats() [][2]string {
	return [][2]string{
		{"csv", "none"}, {"csv", "gzip"}, {"csv", "zstd"}, {"jsonl", "none"}, {"jsonl", "gzip"}, {"jsonl", "zstd"}, {"gb18030", "gzip"},
		{"xlsx", "none"}, {"parquet", "zstd"}, {"parquet", "snappy"}, {"parquet", "none"},
	}
}

func TestThePublishedFileIsRight(t *testing.T) {
	t.Parallel()
	for _, f := range formats() {
		t.Run(f[0]+" "+f[1], func(t *testing.T) {
			t.Parallel()
			file, receipt := published(t, f[0], f[1])
			report := check(t, file, receipt)
			if !report.OK || report.Rows != 2*segmentRows || report.Bytes != int64(len(file)) || len(report.Checks) < 19 {
				t.Errorf("%+v", report)
			}
		})
	}
}

func TestTheReportSaysWhatTheContentWasFoundToBe(t *testing.T) {
	t.Parallel()
	for f, want := range map[[2]string]string{
		{"csv", "gzip"}:     "every record parses as csv in gzip with the 2 columns of the receipt",
		{"gb18030", "none"}: "every record parses as csv (gb18030) with the 2 columns of the receipt",
		{"jsonl", "none"}:   "every record parses as jsonl with the 2 columns of the receipt",
		{"xlsx", "none"}:    "every row has values of the 2 columns of the receipt, and every other byte of the workbook is what such rows make",
		{"parquet", "zstd"}: "every page has values of the 2 columns of the receipt (compression zstd), and its checksums, statistics and footers are theirs",
	} {
		file, receipt := published(t, f[0], f[1])
		report := check(t, file, receipt)
		if !report.OK || !slices.ContainsFunc(report.Checks, func(c verify.Check) bool { return c.Name == "content" && c.Detail == want }) {
			t.Errorf("%v: %+v, want %q", f, report.Checks, want)
		}
	}
}

func TestEveryFlippedByteIsFoundAndItsSegmentNamed(t *testing.T) {
	t.Parallel()
	for _, f := range formats() {
		t.Run(f[0]+" "+f[1], func(t *testing.T) {
			t.Parallel()
			file, receipt := published(t, f[0], f[1])
			second := receipt.Files[0].Segments[1].Offset
			for at := 0; at < len(file); at += max(len(file)/97, 1) {
				damaged := bytes.Clone(file)
				damaged[at] ^= 0x10
				report := check(t, damaged, receipt)
				names := failed(report)
				want := "segment s00001"
				if int64(at) >= second {
					want = "segment s00002"
				}
				inside := int64(at) < second+receipt.Files[0].Segments[1].Bytes
				if report.OK || !strings.Contains(names, "checksum (CRC-64/NVME)") || inside && !strings.Contains(names, want+", checksums of the segments") {
					t.Errorf("byte %d: %s", at, names)
				}
			}
		})
	}
}

func TestWhatDiffersIsNamed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(file *[]byte, r *pipeline.Receipt)
		names  string
	}{
		"cut off":          {func(f *[]byte, _ *pipeline.Receipt) { *f = (*f)[:len(*f)-3] }, "size in bytes, checksum (CRC-64/NVME), segment s00002, checksums of the segments, content"},
		"empty":            {func(f *[]byte, _ *pipeline.Receipt) { *f = nil }, "size in bytes, checksum (CRC-64/NVME), segment s00001, segment s00002, checksums of the segments, content"},
		"longer":           {func(f *[]byte, _ *pipeline.Receipt) { *f = append(*f, "x,y\r\n"...) }, "size in bytes, checksum (CRC-64/NVME), content"},
		"rows":             {func(_ *[]byte, r *pipeline.Receipt) { r.Files[0].Rows++ }, "totals of the receipt, rows"},
		"segment's rows":   {func(_ *[]byte, r *pipeline.Receipt) { r.Files[0].Segments[1].Rows++ }, "rows of the segments together"},
		"hash":             {func(_ *[]byte, r *pipeline.Receipt) { r.RowsHash = "00" }, "hash of the segments together, hash of the rows"},
		"segment's hash":   {func(_ *[]byte, r *pipeline.Receipt) { r.Files[0].Segments[0].RowsHash = "?" }, "hash of the segments together"},
		"segment's sum":    {func(_ *[]byte, r *pipeline.Receipt) { r.Files[0].Segments[0].CRC64 = checksum.CRC64(7).Base64() }, "checksums of the receipt, segment s00001, checksums of the segments"},
		"nulls":            {func(_ *[]byte, r *pipeline.Receipt) { r.Fidelity["nulls"]++ }, "NULL values"},
		"snapshot":         {func(_ *[]byte, r *pipeline.Receipt) { r.SnapshotDigest = "ab" }, "digest of the snapshot"},
		"columns":          {func(_ *[]byte, r *pipeline.Receipt) { r.Columns[0].Kind = row.String }, "columns of the receipt"},
		"range":            {func(_ *[]byte, r *pipeline.Receipt) { r.Files[0].Segments[1].Range.From = row.Key{"501"} }, "segments of the receipt, keys of the receipt"},
		"gap":              {func(_ *[]byte, r *pipeline.Receipt) { r.Files[0].Segments[1].Offset++ }, "segments of the receipt"},
		"header of others": {func(f *[]byte, _ *pipeline.Receipt) { copy(*f, "ix") }, "checksum (CRC-64/NVME), segment s00001, checksums of the segments, content"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, receipt := published(t, "csv", "none")
			c.change(&file, &receipt)
			report := check(t, file, receipt)
			if got := failed(report); report.OK || got != c.names {
				t.Errorf("differs: %s\nwant:    %s", got, c.names)
			}
		})
	}
}

func TestAReceiptThatCannotBeUsedIsAnError(t *testing.T) {
	t.Parallel()
	_, good := published(t, "csv", "none")
	change := func(f func(r *pipeline.Receipt)) []byte {
		r := good
		f(&r)
		return r.Encode()
	}
	cases := map[string]struct {
		receipt []byte
		says    string
	}{
		"not JSON":       {[]byte("x"), "the receipt can't be read"},
		"later schema":   {change(func(r *pipeline.Receipt) { r.Schema = 2 }), "schema 2"},
		"no file":        {change(func(r *pipeline.Receipt) { r.Files = nil }), "lists 0 files"},
		"two files":      {change(func(r *pipeline.Receipt) { r.Files = append(r.Files, pipeline.ReceiptFile{Name: "b"}) }), "lists 2 files"},
		"a path":         {change(func(r *pipeline.Receipt) { r.Files = []pipeline.ReceiptFile{{Name: "../orders"}} }), `"../orders"`},
		"no snapshot":    {change(func(r *pipeline.Receipt) { r.Snapshot = json.RawMessage("null") }), "the receipt's snapshot"},
		"unknown format": {change(func(r *pipeline.Receipt) { r.Snapshot = json.RawMessage(`{"schema":1}`) }), "the receipt's format"},
	}
	for name, c := range cases {
		if _, err := verify.Read(c.receipt); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFileThatCannotBeReadIsNoDifference(t *testing.T) {
	t.Parallel()
	file, receipt := published(t, "csv", "gzip")
	broken := errors.New("the disk is gone")
	_, err := understood(t, receipt).File(failing{bytes.NewReader(file), iotest.TimeoutReader(bytes.NewReader(file))}, 0, nil)
	if err == nil {
		t.Error("a reader that times out is no error")
	}
	_, err = understood(t, receipt).File(failing{bytes.NewReader(file), iotest.ErrReader(broken)}, 0, nil)
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestAFileThatCannotBeReadAtRandomIsNoDifference(t *testing.T) {
	t.Parallel()
	file, receipt := published(t, "parquet", "zstd")
	broken := errors.New("the disk is gone")
	if _, err := understood(t, receipt).File(holed{bytes.NewReader(file), broken}, 0, nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// holed is a file that can be read from its start only.
type holed struct {
	*bytes.Reader

	err error
}

func (h holed) ReadAt([]byte, int64) (int, error) { return 0, h.err }

// failing is a file whose bytes come from another reader.
type failing struct {
	*bytes.Reader

	r io.Reader
}

func (f failing) Read(data []byte) (int, error) { return f.r.Read(data) }
