package format_test

import (
	"bytes"
	"testing"

	"github.com/cespare/xxhash/v2"

	"sealift/shared/format"
	"sealift/shared/format/csv"
	"sealift/shared/format/csv/gb18030"
)

// twins are the same rows in UTF-8 and in GB 18030.
func twins(compression format.Compression) (utf8, gb format.Spec) {
	utf8 = orders(format.CSV, compression)
	utf8.CSV.BOM = false
	gb = utf8
	gb.CSV.Encoding, gb.CSV.Unencodable = csv.GB18030, format.Fail
	return utf8, gb
}

func TestAFileInGB18030IsTheTwinOfTheOneInUTF8(t *testing.T) {
	t.Parallel()
	for _, compression := range compressions() {
		inUTF8, inGB := twins(compression)
		want, wantRows := sharded(t, inUTF8)
		file, rows := sharded(t, inGB)
		text := unpacked(t, compression, want)
		sameBytes(t, string(compression), unpacked(t, compression, file), gb18030.NewEncoder().Append(nil, text))
		if len(rows) != len(wantRows) {
			t.Fatalf("%s: %d rows, want %d", compression, len(rows), len(wantRows))
		}
		for r, row := range rows {
			for i, value := range row {
				twin := wantRows[r][i]
				if (value == nil) != (twin == nil) || value != nil && *value != *twin {
					t.Fatalf("%s: row %d, column %d differs from its twin", compression, r, i)
				}
			}
		}
	}
}

func TestTheRowsHashIsOverTheBytesOfTheFile(t *testing.T) {
	t.Parallel()
	_, spec := twins(format.None)
	spec.CSV.Header = false
	file, totals := join(spec, write(t, newWriter(t, spec, format.PartOptions{First: true}), ordinary(2), 0, 2))
	half := bytes.Index(file, []byte("\r\n")) + 2
	if want := xxhash.Sum64(file[:half]) + xxhash.Sum64(file[half:]); totals.RowsHash != want {
		t.Errorf("hash is %x, want %x", totals.RowsHash, want)
	}
	got, err := format.Scan(spec, bytesReader(file), nil)
	if err != nil || got != totals {
		t.Errorf("scan gives %+v, %v, want %+v", got, err, totals)
	}
}

func TestScanTellsTheEncodingsApart(t *testing.T) {
	t.Parallel()
	inUTF8, inGB := twins(format.None)
	inUTF8.Columns[1].Name, inGB.Columns[1].Name = "名字", "名字"
	for _, spec := range []format.Spec{inUTF8, inGB} {
		file, _ := join(spec, write(t, newWriter(t, spec, format.PartOptions{First: true}), ordinary(2), 0, 2))
		if err := scan(spec, file); err != nil {
			t.Error(err)
		}
		other := inUTF8
		if spec.CSV.Encoding == csv.UTF8 {
			other = inGB
		}
		wantText(t, scan(other, file), "scan: ")
	}
}

func TestTheContentTypeNamesTheEncoding(t *testing.T) {
	t.Parallel()
	_, spec := twins(format.None)
	if got := format.ContentType(spec); got != "text/csv; charset=gb18030; header=present" {
		t.Errorf("content type is %q", got)
	}
	_, spec = twins(format.Gzip)
	if got := format.ContentType(spec); got != "application/gzip" {
		t.Errorf("content type in gzip is %q", got)
	}
}
