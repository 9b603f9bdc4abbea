package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"sealift/shared/format"
	"sealift/shared/pipeline"
)

// packing is a format or compression that shows in a file's first bytes. Its zero value is that of plain text.
type packing struct {
	begins string
	// found says what a file is that begins so, meant what one is that was exported so.
	found, meant string
	// around says that it is a compression of another format as a whole.
	around bool
}

// packings are those of RFC 1952 (section 2.3.1), RFC 8878 (section 3.1.1), ZIP (APPNOTE.TXT, section 4.3.7) and Parquet,
// whose magic could be a column's name but for the field of Thrift behind it.
func packings() map[string]packing {
	return map[string]packing{
		string(format.Gzip):    {"\x1f\x8b", "in gzip", "in gzip", true},
		string(format.Zstd):    {"\x28\xb5\x2f\xfd", "in zstd", "in zstd", true},
		string(format.XLSX):    {"PK\x03\x04", "a ZIP archive, as xlsx is", "xlsx", false},
		string(format.Parquet): {"PAR1\x15", "parquet", "parquet", false},
	}
}

// published is the packing of what was exported, and what that is called as a whole.
func (r Receipt) published() (p packing, name string) {
	switch r.spec.Format {
	case format.XLSX, format.Parquet:
		return packings()[string(r.spec.Format)], string(r.spec.Format)
	case format.CSV, format.JSONL:
	}
	p = packings()[string(r.spec.Compression)]
	return p, string(r.spec.Format) + " " + cmp.Or(p.meant, "without compression")
}

// repacked says of a file in another packing than the published one's that alone: of such a file everything differs. One
// that begins with other bytes and has the right size is damaged and no other file.
func (r Receipt) repacked(report *Report, file format.File, of pipeline.ReceiptFile) bool {
	want, name := r.published()
	if file.Size() == of.Bytes || file.Size() < int64(len(want.begins)) {
		return false
	}
	head := make([]byte, 8)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		// The scan meets the error too and tells it.
		return false
	}
	var have packing
	for _, p := range packings() {
		if strings.HasPrefix(string(head[:n]), p.begins) {
			have = p
		}
	}
	if have == want {
		return false
	}
	says := fmt.Sprintf("the file is %s, and the one that was exported is %s", have.found, name)
	if have == (packing{}) {
		says = fmt.Sprintf("the file isn't %s, as the one that was exported is", want.meant)
	}
	switch {
	case have.around && want.around:
		report.check("compression", false, "%s; it was packed otherwise since, or is another file", says)
	case have.around:
		report.check("compression", false, "%s; it was packed since, or is another file", says)
	case want.around && have == (packing{}):
		report.check("compression", false, "%s; it was unpacked, or is another file", says)
	default:
		report.check("format", false, "%s; it is another file", says)
	}
	return true
}
