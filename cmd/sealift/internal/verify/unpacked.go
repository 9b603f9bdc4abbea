package verify

import (
	"bytes"
	"errors"
	"io"

	"sealift/shared/format"
	"sealift/shared/pipeline"
)

// unpacked reports whether a file isn't in the compression of the one that was published. It is then told alone: of such
// a file everything differs. One that begins with other bytes and has the right size is damaged and no other file.
func (r Receipt) unpacked(file format.File, of pipeline.ReceiptFile) bool {
	begins := beginning(r.spec)
	if len(begins) == 0 || file.Size() == of.Bytes || file.Size() < int64(len(begins)) {
		return false
	}
	head := make([]byte, len(begins))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		// The scan meets the error too and tells it.
		return false
	}
	return !bytes.Equal(head, begins)
}

// beginning is what every file begins with that is compressed as a whole (RFC 1952, section 2.3.1; RFC 8878, section
// 3.1.1); nothing for a file that isn't.
func beginning(spec format.Spec) []byte {
	switch {
	case spec.Format != format.CSV && spec.Format != format.JSONL:
	case spec.Compression == format.Gzip:
		return []byte{0x1f, 0x8b}
	case spec.Compression == format.Zstd:
		return []byte{0x28, 0xb5, 0x2f, 0xfd}
	}
	return nil
}
