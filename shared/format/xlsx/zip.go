package xlsx

import (
	"encoding/binary"
	"fmt"

	"sealift/shared/checksum"
)

// The container is a ZIP file (PKWARE, APPNOTE.TXT 6.3.10) as ECMA-376, part 2, annex B allows it. Every field that
// could differ between two writers of the same rows is fixed: no time, no system, no comments.

// entry is one file in the container.
type entry struct {
	name   string
	method uint16
	flags  uint16
	crc32  uint32
	packed int64
	raw    int64
	offset int64
	// far says that only a reader of Zip64 finds the entry, or may find it. Both of its headers say so, because there are
	// readers that refuse an entry whose headers differ (.NET's System.IO.Packaging).
	far bool
}

// needed is the version of the format that a reader of the entry must know.
func (e entry) needed() uint16 {
	if e.far {
		return version64
	}
	return version
}

const (
	stored   = 0
	deflated = 8
	// descriptorFlag says that checksum and sizes follow the data.
	descriptorFlag = 1 << 3

	localSignature      = 0x04034b50
	descriptorSignature = 0x08074b50
	centralSignature    = 0x02014b50
	endSignature        = 0x06054b50
	end64Signature      = 0x06064b50
	locator64Signature  = 0x07064b50

	version   = 20
	version64 = 45
	// dosDate is 1980-01-01, the first day that the format has.
	dosDate = 1<<5 | 1

	localBytes      = 30
	descriptorBytes = 16
)

// appendLocal appends the local header of e. With the descriptor flag the checksum and the sizes are zero there.
func appendLocal(dst []byte, e entry) []byte {
	crc, packed, raw := e.crc32, uint32(e.packed), uint32(e.raw)
	if e.flags&descriptorFlag != 0 {
		crc, packed, raw = 0, 0, 0
	}
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, localSignature)
	dst = appendShared(dst, e, e.needed(), crc, packed, raw)
	return append(dst, e.name...)
}

// appendShared appends what local and central headers have in common, up to the length of the extra field, which is 0.
func appendShared(dst []byte, e entry, needed uint16, crc, packed, raw uint32) []byte {
	le := binary.LittleEndian
	for _, n := range []uint16{needed, e.flags, e.method, 0, dosDate} {
		dst = le.AppendUint16(dst, n)
	}
	for _, n := range []uint32{crc, packed, raw} {
		dst = le.AppendUint32(dst, n)
	}
	dst = le.AppendUint16(dst, uint16(len(e.name)))
	return le.AppendUint16(dst, 0)
}

// appendDescriptor appends what follows the data of a sheet.
func appendDescriptor(dst []byte, e entry) []byte {
	for _, n := range []uint32{descriptorSignature, e.crc32, uint32(e.packed), uint32(e.raw)} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

// appendStored appends a whole entry that isn't compressed, and takes note of it. at is where dst begins in the file.
func (b Bounds) appendStored(dst []byte, entries []entry, at int64, name, text string) ([]byte, []entry) {
	e := entry{
		name: name, method: stored, crc32: uint32(checksum.Sum32([]byte(text))),
		packed: int64(len(text)), raw: int64(len(text)), offset: at + int64(len(dst)),
	}
	e.far = e.offset >= b.Offset
	return append(appendLocal(dst, e), text...), append(entries, e)
}

// appendDirectory appends the central directory and the end of the file. The Zip64 forms (APPNOTE.TXT, sections 4.3.14,
// 4.3.15 and 4.5.3) are written for what needs them and for nothing else.
func appendDirectory(dst []byte, entries []entry, at int64, bounds Bounds) []byte {
	le := binary.LittleEndian
	start := at + int64(len(dst))
	for _, e := range entries {
		far, offset := e.offset >= bounds.Offset, uint32(e.offset)
		if far {
			offset, e.far = zip64Offset, true
		}
		dst = le.AppendUint32(dst, centralSignature)
		dst = le.AppendUint16(dst, e.needed())
		dst = appendShared(dst, e, e.needed(), e.crc32, uint32(e.packed), uint32(e.raw))
		if far {
			le.PutUint16(dst[len(dst)-2:], extra64Bytes)
		}
		// No comment, first disk, and no attributes.
		dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		dst = le.AppendUint32(dst, offset)
		dst = append(dst, e.name...)
		if far {
			dst = le.AppendUint16(dst, extra64ID)
			dst = le.AppendUint16(dst, extra64Bytes-4)
			dst = le.AppendUint64(dst, uint64(e.offset))
		}
	}
	return appendEnd(dst, len(entries), start, at, bounds)
}

const (
	// extra64ID and extra64Bytes are those of the field that holds an offset that the header doesn't.
	extra64ID    = 1
	extra64Bytes = 12
)

func appendEnd(dst []byte, count int, start, at int64, bounds Bounds) []byte {
	le := binary.LittleEndian
	end := at + int64(len(dst))
	entries, size, offset := uint16(count), uint32(end-start), uint32(start)
	if count >= bounds.Entries || start >= bounds.Offset {
		dst = le.AppendUint32(dst, end64Signature)
		dst = le.AppendUint64(dst, 44) // the size of what follows
		dst = le.AppendUint16(dst, version64)
		dst = le.AppendUint16(dst, version64)
		dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
		for _, n := range []int64{int64(count), int64(count), end - start, start} {
			dst = le.AppendUint64(dst, uint64(n))
		}
		dst = le.AppendUint32(dst, locator64Signature)
		dst = le.AppendUint32(dst, 0)
		dst = le.AppendUint64(dst, uint64(end))
		dst = le.AppendUint32(dst, 1)
		if count >= bounds.Entries {
			entries = zip64Entries
		}
		if start >= bounds.Offset {
			offset = zip64Offset
		}
	}
	dst = le.AppendUint32(dst, endSignature)
	dst = append(dst, 0, 0, 0, 0)
	dst = le.AppendUint16(dst, entries)
	dst = le.AppendUint16(dst, entries)
	dst = le.AppendUint32(dst, size)
	dst = le.AppendUint32(dst, offset)
	return append(dst, 0, 0)
}

// sheetEntry is the entry of worksheet number (from 1) of a shard. Some programs know worksheets by such names alone.
func sheetEntry(shard, number int) entry {
	name := fmt.Sprintf("%s%d%s", sheetFolder, shard*shardSheets+number, sheetEnding)
	return entry{name: name, method: deflated, flags: descriptorFlag}
}

const (
	sheetFolder = "xl/worksheets/sheet"
	sheetEnding = ".xml"
	// shardSheets is above the number of worksheets of one shard.
	shardSheets = 1000
)
