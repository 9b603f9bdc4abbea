package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/cmd/sealift/internal/verify"
	"sealift/shared/checksum"
	"sealift/shared/format"
	"sealift/shared/job"
	"sealift/shared/pipeline"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

// filesCount is how many files the exports of these tests have.
const filesCount = 3

// spread writes an export of many files with its manifest into a folder, as shards and finalize do, and returns its
// receipt. Between the first file and the second lies a range of keys without rows, which belongs to the first.
func spread(t *testing.T, name, compression string) (folder string, receipt pipeline.Receipt) {
	t.Helper()
	snap, spec := described(name, compression)
	snap.Layout, snap.FileName = snapshot.LayoutFiles, "orders."+format.Extension(spec)
	receipt = begun(snap, filesCount)
	folder = t.TempDir()
	hash := uint64(0)
	for s := range filesCount {
		part := write(t, spec, s, true)
		joiner := format.NewJoiner(spec)
		add(t, joiner, s+1, 0, part)
		suffix, err := joiner.Suffix()
		if err != nil {
			t.Fatal(err)
		}
		of := pipeline.ReceiptFile{Number: s + 1, Name: fmt.Sprintf("orders-%05d.%s", s+1, format.Extension(spec)), Rows: part.Rows, Keys: keysOf(s)}
		of.Segments = []pipeline.ReceiptSegment{{
			Unit: unit(s), Rows: part.Rows, Bytes: int64(len(part.Data)), CRC64: checksum.CRC64(part.CRC64).Base64(),
			RowsHash: fmt.Sprintf("%016x", part.RowsHash), Range: row.Range{From: border(s), To: border(s + 1)}, Keys: keysOf(s),
		}}
		if s == 0 {
			of.Segments[0].Range.To = row.Key{"499.5"}
			of.Segments = append(of.Segments, pipeline.ReceiptSegment{
				Unit: "s00002", Offset: of.Segments[0].Bytes, CRC64: checksum.CRC64(0).Base64(), RowsHash: "0000000000000000",
				Range: row.Range{From: row.Key{"499.5"}, To: border(1)},
			})
		}
		file := append(part.Data, suffix...)
		of.Bytes, of.CRC64 = int64(len(file)), checksum.Sum64(file).Base64()
		put(t, filepath.Join(folder, of.Name), file)
		receipt.Files = append(receipt.Files, of)
		receipt.Rows, receipt.Bytes, hash = receipt.Rows+of.Rows, receipt.Bytes+of.Bytes, hash+part.RowsHash
		receipt.Fidelity["nulls"] += part.Counters.Nulls
	}
	receipt.RowsHash = fmt.Sprintf("%016x", hash)
	writeManifest(t, folder, receipt)
	return folder, receipt
}

// unit is the name of a shard that has rows; the second one has none.
func unit(shard int) string {
	if shard > 0 {
		shard++
	}
	return job.ShardID(shard + 1)
}

// border is where the keys of a shard begin; nil at both ends of the key space.
func border(shard int) row.Key {
	if shard == 0 || shard == filesCount {
		return nil
	}
	return row.Key{fmt.Sprint(shard * segmentRows)}
}

func writeManifest(t *testing.T, folder string, receipt pipeline.Receipt) {
	t.Helper()
	m := pipeline.Manifest{Schema: 1, Job: receipt.Job, Rows: receipt.Rows, Bytes: receipt.Bytes}
	for _, f := range receipt.Files {
		m.Files = append(m.Files, pipeline.ManifestFile{Number: f.Number, Name: f.Name, Rows: f.Rows, Bytes: f.Bytes, CRC64: f.CRC64})
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(folder, "orders.manifest.json"), text)
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func checkFolder(t *testing.T, folder string, receipt pipeline.Receipt) verify.FolderReport {
	t.Helper()
	report, err := understood(t, receipt).Folder(t.Context(), folder, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// differing lists every check that failed, with the file that it is of.
func differing(report verify.FolderReport) []string {
	names := []string{}
	for _, c := range report.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	for _, f := range report.Files {
		for _, c := range f.Checks {
			if !c.OK {
				names = append(names, fmt.Sprint(f.Number)+" "+c.Name)
			}
		}
	}
	return names
}

func TestAFolderWithEveryFileIsRight(t *testing.T) {
	t.Parallel()
	for _, f := range formats() {
		t.Run(f[0]+" "+f[1], func(t *testing.T) {
			t.Parallel()
			folder, receipt := spread(t, f[0], f[1])
			report := checkFolder(t, folder, receipt)
			if !report.OK || report.Rows != filesCount*segmentRows || report.Bytes != receipt.Bytes || len(report.Extra) != 0 {
				t.Errorf("%+v", report)
			}
			for i, of := range receipt.Files {
				one, err := understood(t, receipt).FileAt(t.Context(), filepath.Join(folder, of.Name), i, func(int64, int64) {})
				if err != nil || !one.OK || one.Number != i+1 || one.Rows != segmentRows {
					t.Errorf("file %d alone: %v, %+v", i+1, err, one)
				}
			}
		})
	}
}

func TestWhatDiffersInAFolderIsNamedWithItsFile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(t *testing.T, folder string, r *pipeline.Receipt)
		want   []string
	}{
		"a file is missing": {func(t *testing.T, folder string, r *pipeline.Receipt) {
			t.Helper()
			if err := os.Remove(filepath.Join(folder, r.Files[1].Name)); err != nil {
				t.Fatal(err)
			}
		}, []string{"files", "2 file"}},
		"two files are each other's": {func(t *testing.T, folder string, r *pipeline.Receipt) {
			t.Helper()
			first, second, spare := filepath.Join(folder, r.Files[0].Name), filepath.Join(folder, r.Files[1].Name), filepath.Join(folder, "spare")
			for _, move := range [][2]string{{first, spare}, {second, first}, {spare, second}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{
			"files", "1 size in bytes", "1 checksum (CRC-64/NVME)", "1 segment s00001", "1 checksums of the segments", "1 hash of the rows",
			"2 size in bytes", "2 checksum (CRC-64/NVME)", "2 segment s00003", "2 checksums of the segments", "2 hash of the rows",
		}},
		"a row is changed": {func(t *testing.T, folder string, r *pipeline.Receipt) {
			t.Helper()
			path := filepath.Join(folder, r.Files[2].Name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, []byte(strings.Replace(string(text), "number 8", "number 9", 1)))
		}, []string{"files", "hash of the rows", "3 checksum (CRC-64/NVME)", "3 segment s00004", "3 checksums of the segments", "3 hash of the rows"}},
		"the manifest is of another export": {func(t *testing.T, folder string, r *pipeline.Receipt) {
			t.Helper()
			other := *r
			other.Job = "exp_y"
			writeManifest(t, folder, other)
		}, []string{"manifest"}},
		"the manifest is missing": {func(t *testing.T, folder string, _ *pipeline.Receipt) {
			t.Helper()
			if err := os.Remove(filepath.Join(folder, "orders.manifest.json")); err != nil {
				t.Fatal(err)
			}
		}, []string{"manifest"}},
		"the manifest is renamed": {func(t *testing.T, folder string, _ *pipeline.Receipt) {
			t.Helper()
			if err := os.Rename(filepath.Join(folder, "orders.manifest.json"), filepath.Join(folder, "manifest.json")); err != nil {
				t.Fatal(err)
			}
		}, []string{"manifest"}},
		"the manifest is no manifest": {func(t *testing.T, folder string, _ *pipeline.Receipt) {
			t.Helper()
			put(t, filepath.Join(folder, "orders.manifest.json"), []byte("{"))
		}, []string{"manifest"}},
		"the receipt leaves a file out": {func(t *testing.T, folder string, r *pipeline.Receipt) {
			t.Helper()
			r.Files = r.Files[:2]
			writeManifest(t, folder, *r)
		}, []string{"segments of the receipt", "rows of the segments together", "hash of the segments together", "totals of the receipt", "rows", "hash of the rows", "NULL values"}},
		"a range between files is missing": {func(_ *testing.T, _ string, r *pipeline.Receipt) {
			r.Files[0].Segments = r.Files[0].Segments[:1]
		}, []string{"segments of the receipt", "names of the receipt"}},
		"rows are counted to another file": {func(t *testing.T, folder string, r *pipeline.Receipt) {
			t.Helper()
			r.Files[0].Rows++
			r.Files[1].Rows--
			writeManifest(t, folder, *r)
		}, []string{"rows of each file", "files", "1 rows", "2 rows"}},
		"more NULL values are said": {func(_ *testing.T, _ string, r *pipeline.Receipt) { r.Fidelity["nulls"]++ }, []string{"NULL values"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, receipt := spread(t, "csv", "none")
			c.change(t, folder, &receipt)
			report := checkFolder(t, folder, receipt)
			if diff := cmp.Diff(c.want, differing(report)); diff != "" || report.OK {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			if lacking := strings.HasSuffix(name, " is missing") && !strings.HasPrefix(name, "a range") || strings.HasSuffix(name, "is renamed"); report.Lacking() != lacking {
				t.Errorf("lacking: %v", report.Lacking())
			}
		})
	}
}

func TestWhatElseIsInAFolderIsNamedAndNoDifference(t *testing.T) {
	t.Parallel()
	folder, receipt := spread(t, "jsonl", "gzip")
	put(t, filepath.Join(folder, "notes.txt"), nil)
	put(t, filepath.Join(folder, receipt.Files[0].Name+".part"), []byte("x"))
	report := checkFolder(t, folder, receipt)
	if diff := cmp.Diff([]string{"notes.txt", "orders-00001.jsonl.gz.part"}, report.Extra); diff != "" || !report.OK {
		t.Errorf("%v, extra (-want +got):\n%s", report.OK, diff)
	}
}

func TestAFileIsFoundByItsNameElseByItsNumber(t *testing.T) {
	t.Parallel()
	_, receipt := spread(t, "csv", "gzip")
	_, one := published(t, "csv", "gzip")
	many, single := understood(t, receipt), understood(t, one)
	cases := map[string]struct {
		of     verify.Receipt
		path   string
		number int
		index  int
		says   string
	}{
		"by its name":          {many, "/some/where/orders-00002.csv.gz", 0, 1, ""},
		"by its number":        {many, "/some/where/renamed", 3, 2, ""},
		"against its name":     {many, "orders-00002.csv.gz", 1, 0, ""},
		"by no name":           {many, "renamed", 0, 0, "renamed is the name of none of the files of export " + exportID + ", which has files 1 to 3; say which of them it is with --file N"},
		"after the last":       {many, "renamed", 4, 0, "--file is 4; export " + exportID + " has files 1 to 3"},
		"before the first":     {many, "renamed", -1, 0, "--file is -1; export " + exportID + " has files 1 to 3"},
		"the manifest":         {many, "orders.manifest.json", 0, 0, "is the manifest of export " + exportID + ""},
		"one file of any name": {single, "renamed", 0, 0, ""},
		"a number of one file": {single, "renamed", 1, 0, "export " + exportID + " has one"},
	}
	for name, c := range cases {
		index, err := c.of.Find(c.path, c.number)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || index != c.index {
			t.Errorf("%s: %d, %v", name, index, err)
		}
	}
}

func TestAReceiptOfManyFilesNamesFilesBesideEachOther(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(f []pipeline.ReceiptFile) []pipeline.ReceiptFile
		says   string
	}{
		"a path":           {func(f []pipeline.ReceiptFile) []pipeline.ReceiptFile { f[1].Name = "../x"; return f }, `names file 2 "../x"`},
		"the folder":       {func(f []pipeline.ReceiptFile) []pipeline.ReceiptFile { f[0].Name = ".."; return f }, `names file 1 ".."`},
		"a name twice":     {func(f []pipeline.ReceiptFile) []pipeline.ReceiptFile { f[1].Name = f[0].Name; return f }, "names file 2"},
		"numbers with gap": {func(f []pipeline.ReceiptFile) []pipeline.ReceiptFile { f[1].Number = 3; return f }, "numbers file 2 3"},
		"no file":          {func([]pipeline.ReceiptFile) []pipeline.ReceiptFile { return nil }, "lists 0 files"},
	}
	for name, c := range cases {
		_, receipt := spread(t, "csv", "none")
		receipt.Files = c.change(receipt.Files)
		if _, err := verify.Read(receipt.Encode()); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFolderThatCannotBeReadIsNoDifference(t *testing.T) {
	t.Parallel()
	folder, receipt := spread(t, "csv", "none")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := understood(t, receipt).Folder(ctx, folder, func(int64, int64) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	name := filepath.Join(folder, receipt.Files[0].Name)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := understood(t, receipt).Folder(t.Context(), folder, func(int64, int64) {}); err == nil || !strings.Contains(err.Error(), name+" is a folder, not a file") {
		t.Errorf("a folder of a file's name: %v", err)
	}
}
