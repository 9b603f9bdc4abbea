package verify_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"sealift/shared/checksum"
)

func unpacked(t *testing.T, file []byte, compression string) []byte {
	t.Helper()
	var r io.Reader
	var err error
	if compression == "gzip" {
		r, err = gzip.NewReader(bytes.NewReader(file))
	} else {
		r, err = zstd.NewReader(bytes.NewReader(file), zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestAFileThatWasUnpackedIsToldAsThatAlone(t *testing.T) {
	t.Parallel()
	for _, f := range [][2]string{{"csv", "gzip"}, {"csv", "zstd"}, {"jsonl", "gzip"}, {"jsonl", "zstd"}, {"gb18030", "gzip"}} {
		t.Run(f[0]+" "+f[1], func(t *testing.T) {
			t.Parallel()
			file, receipt := published(t, f[0], f[1])
			plain := unpacked(t, file, f[1])
			report := check(t, plain, receipt)
			if failed(report) != "compression" || report.OK || report.Bytes != int64(len(plain)) || report.CRC64 != checksum.Sum64(plain).Base64() {
				t.Fatalf("%s: %+v", failed(report), report)
			}
			last := report.Checks[len(report.Checks)-1]
			if want := "the file isn't in " + f[1] + ", as the one that was exported is; it was unpacked, or is another file"; last.Detail != want {
				t.Errorf("got  %s\nwant %s", last.Detail, want)
			}
		})
	}
}

func TestAFileOfAnotherPackingIsToldAsThatAlone(t *testing.T) {
	t.Parallel()
	cases := []struct {
		file, receipt [2]string
		name, says    string
	}{
		{[2]string{"csv", "gzip"}, [2]string{"csv", "zstd"}, "compression", "the file is in gzip, and the one that was exported is csv in zstd; it was packed otherwise since, or is another file"},
		{[2]string{"csv", "gzip"}, [2]string{"csv", "none"}, "compression", "the file is in gzip, and the one that was exported is csv without compression; it was packed since, or is another file"},
		{[2]string{"jsonl", "zstd"}, [2]string{"jsonl", "none"}, "compression", "the file is in zstd, and the one that was exported is jsonl without compression; it was packed since, or is another file"},
		{[2]string{"xlsx", "none"}, [2]string{"csv", "none"}, "format", "the file is a ZIP archive, as xlsx is, and the one that was exported is csv without compression; it is another file"},
		{[2]string{"parquet", "none"}, [2]string{"jsonl", "gzip"}, "format", "the file is parquet, and the one that was exported is jsonl in gzip; it is another file"},
		{[2]string{"parquet", "zstd"}, [2]string{"xlsx", "none"}, "format", "the file is parquet, and the one that was exported is xlsx; it is another file"},
		{[2]string{"csv", "gzip"}, [2]string{"parquet", "zstd"}, "compression", "the file is in gzip, and the one that was exported is parquet; it was packed since, or is another file"},
		{[2]string{"csv", "none"}, [2]string{"parquet", "zstd"}, "format", "the file isn't parquet, as the one that was exported is; it is another file"},
		{[2]string{"csv", "none"}, [2]string{"xlsx", "none"}, "format", "the file isn't xlsx, as the one that was exported is; it is another file"},
	}
	for _, c := range cases {
		t.Run(strings.Join(append(c.file[:], c.receipt[:]...), " "), func(t *testing.T) {
			t.Parallel()
			file, _ := published(t, c.file[0], c.file[1])
			_, receipt := published(t, c.receipt[0], c.receipt[1])
			report := check(t, file, receipt)
			if got := failed(report); report.OK || got != c.name {
				t.Fatalf("differs: %s, want %s", got, c.name)
			}
			if got := report.Checks[len(report.Checks)-1].Detail; got != c.says {
				t.Errorf("got  %s\nwant %s", got, c.says)
			}
		})
	}
}

func TestTextThatBeginsAsAPackingDoesIsText(t *testing.T) {
	t.Parallel()
	_, receipt := published(t, "csv", "none")
	for _, text := range []string{"PAR1,x\r\n1,2\r\n", "PK,x\r\n1,2\r\n", "x"} {
		if got := failed(check(t, []byte(text), receipt)); !strings.Contains(got, "content") {
			t.Errorf("%q differs: %s", text, got)
		}
	}
}

func TestACompressedFileThatIsDamagedIsNotCalledUnpacked(t *testing.T) {
	t.Parallel()
	for _, f := range [][2]string{{"csv", "gzip"}, {"csv", "zstd"}, {"xlsx", "none"}, {"parquet", "zstd"}} {
		file, receipt := published(t, f[0], f[1])
		for name, damaged := range map[string][]byte{"its first byte": append([]byte("x"), file[1:]...), "its end": file[:len(file)/2], "all": nil} {
			if got := failed(check(t, damaged, receipt)); strings.Contains(got, "compression") || !strings.Contains(got, "segment s0000") || strings.Contains(got, "format") {
				t.Errorf("%s, %s: differs: %s", f, name, got)
			}
		}
	}
}
