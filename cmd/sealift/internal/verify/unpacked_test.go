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

func TestAFileOfAnotherCompressionIsToldAsThatAlone(t *testing.T) {
	t.Parallel()
	file, _ := published(t, "csv", "gzip")
	_, receipt := published(t, "csv", "zstd")
	if got := failed(check(t, file, receipt)); got != "compression" {
		t.Errorf("differs: %s", got)
	}
}

func TestACompressedFileThatIsDamagedIsNotCalledUnpacked(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"gzip", "zstd"} {
		file, receipt := published(t, "csv", compression)
		for name, damaged := range map[string][]byte{"its first byte": append([]byte("x"), file[1:]...), "its end": file[:len(file)/2], "all": nil} {
			if got := failed(check(t, damaged, receipt)); strings.Contains(got, "compression") || !strings.Contains(got, "segment s0000") {
				t.Errorf("%s, %s: differs: %s", compression, name, got)
			}
		}
	}
}
