package xlsx_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sealift/shared/format/part"
	"sealift/shared/format/xlsx"
	"sealift/shared/row"
)

// far is a workbook of three sheets and the configuration that makes it need Zip64.
func far(t testing.TB, bounds xlsx.Bounds) (xlsx.Config, []byte) {
	t.Helper()
	config := configOf(row.Int64, row.String)
	config.Bounds = bounds
	b := numbered(30)
	return config, join(t, config,
		write(t, config, part.Options{First: true, Shard: 1}, b, 0, 10),
		write(t, config, part.Options{Shard: 2}, b, 10, 10),
		write(t, config, part.Options{Shard: 3, Cut: part.Cut{SheetRows: 15}}, b, 10, 30))
}

func TestHeadersDescriptorsAndDirectoryAgree(t *testing.T) {
	t.Parallel()
	_, file := far(t, xlsx.Bounds{})
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	at := int64(0)
	for _, entry := range archive.File {
		data, err := entry.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		start := data - 30 - int64(len(entry.Name))
		if start != at {
			t.Errorf("%s begins at %d and what comes before it ends at %d", entry.Name, start, at)
		}
		head := file[start:data]
		needed := uint16(20)
		if later := "sheet1001.xml"; strings.Contains(entry.Name, "worksheets/") && !strings.HasSuffix(entry.Name, later) {
			// A shard behind the first can't know that it lies this near.
			needed = 45
		}
		if string(head[30:]) != entry.Name || le.Uint16(head[4:]) != needed || entry.ReaderVersion != needed ||
			le.Uint16(head[6:]) != entry.Flags || le.Uint16(head[8:]) != entry.Method || le.Uint32(head[10:]) != 0x0021_0000 {
			t.Errorf("%s: local header % x and directory %+v disagree", entry.Name, head, entry.FileHeader)
		}
		at = data + int64(entry.CompressedSize64)
		sums := head[14:26]
		if entry.Flags&8 != 0 {
			if !bytes.Equal(sums, make([]byte, 12)) || !bytes.Equal(file[at:at+4], []byte("PK\x07\x08")) {
				t.Errorf("%s: there are sums in the local header, or no descriptor", entry.Name)
			}
			sums = file[at+4 : at+16]
			at += 16
		}
		if le.Uint32(sums) != entry.CRC32 || uint64(le.Uint32(sums[4:])) != entry.CompressedSize64 || uint64(le.Uint32(sums[8:])) != entry.UncompressedSize64 {
			t.Errorf("%s: the sums % x and the directory disagree", entry.Name, sums)
		}
		text := entryText(t, file, entry.Name)
		if crc32.ChecksumIEEE([]byte(text)) != entry.CRC32 || len(text) != int(entry.UncompressedSize64) {
			t.Errorf("%s isn't what the directory says", entry.Name)
		}
	}
	if bytes.Contains(file[at:], []byte("PK\x06\x06")) || !bytes.HasPrefix(file[at:], []byte("PK\x01\x02")) {
		t.Error("the directory doesn't follow the last entry, or has Zip64 records that nothing needs")
	}
}

func TestZip64IsWrittenForWhatNeedsItAndNothingElse(t *testing.T) {
	t.Parallel()
	plainConfig, plain := far(t, xlsx.Bounds{})
	archive, err := zip.NewReader(bytes.NewReader(plain), int64(len(plain)))
	if err != nil {
		t.Fatal(err)
	}
	second, err := archive.File[4].DataOffset()
	if err != nil {
		t.Fatal(err)
	}
	second -= 30 + int64(len(archive.File[4].Name))
	entries := len(archive.File)
	want, _, err := scan(plainConfig, plain)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		bounds xlsx.Bounds
		// fields are how many offsets are in an extra field; records whether there is a Zip64 end.
		fields int
		// needing are how many entries say that their reader must know Zip64.
		needing int
		records bool
	}{
		{"offsets from the second sheet on", xlsx.Bounds{Offset: second}, entries - 4, entries - 4, true},
		{"one less", xlsx.Bounds{Offset: second + 1}, entries - 5, entries - 4, true},
		{"every offset", xlsx.Bounds{Offset: 1}, entries - 1, entries - 1, true},
		{"as many entries as fit", xlsx.Bounds{Entries: entries + 1}, 0, 2, false},
		{"one entry too many", xlsx.Bounds{Entries: entries}, 0, 2, true},
		{"both", xlsx.Bounds{Offset: 1, Entries: 1}, entries - 1, entries - 1, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config, file := far(t, c.bounds)
			fields := bytes.Count(file, []byte("\x01\x00\x08\x00"))
			if fields != c.fields || bytes.Contains(file, []byte("PK\x06\x06")) != c.records || bytes.Contains(file, []byte("PK\x06\x07")) != c.records {
				t.Errorf("%d offsets are in extra fields, want %d; Zip64 end: want %v", fields, c.fields, c.records)
			}
			if got := needing64(t, file); got != c.needing {
				t.Errorf("%d entries need a reader of Zip64, want %d", got, c.needing)
			}
			if got := sheetRows(t, file); len(got) != 3 {
				t.Errorf("Go's reader finds %d sheets, want 3", len(got))
			}
			rows, _, err := scan(config, file)
			if err != nil || len(rows) != len(want) {
				t.Errorf("the strict reader finds %d rows, %v", len(rows), err)
			}
			tools(t, file)
		})
	}
}

// needing64 is how many entries say that they need version 4.5, in both of their headers.
func needing64(t *testing.T, file []byte) int {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, entry := range archive.File {
		data, err := entry.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		if local := binary.LittleEndian.Uint16(file[data-30-int64(len(entry.Name))+4:]); local != entry.ReaderVersion {
			t.Errorf("%s needs version %d by its local header and %d by the directory", entry.Name, local, entry.ReaderVersion)
		}
		if entry.ReaderVersion == 45 {
			count++
		}
	}
	return count
}

// tools has everyday programs test the file.
func tools(t *testing.T, file []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "book.xlsx")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	const python = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    print(sum(z.read(n).count(b"<row ") for n in z.namelist() if "worksheets" in n))
`
	out, err := exec.Command("python3", "-c", python, path).CombinedOutput()
	if strings.TrimSpace(string(out)) != "33" || err != nil {
		t.Errorf("Python's zipfile: %s, %v; want 33 rows", out, err)
	}
	if out, err := exec.Command("unzip", "-t", path).CombinedOutput(); err != nil || !strings.Contains(string(out), "No errors detected") {
		t.Errorf("unzip: %s, %v", out, err)
	}
}
