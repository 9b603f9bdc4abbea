// Package checksum owns the two checksums that files carry: CRC-32 (IEEE), which gzip needs, and CRC-64/NVME, which
// the object store computes over whole objects. Both can be combined: the checksum of a file follows from those of its
// parts and their lengths, without reading a byte again. It is pure and imports no room; start reading at CRC64.
package checksum

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"

	"github.com/minio/crc64nvme"
)

// CRC32 is a CRC-32 with the IEEE polynomial, as gzip and the object store's CRC32 have it. Its zero value is the
// checksum of no bytes.
type CRC32 uint32

// Sum32 is the CRC-32 of data.
func Sum32(data []byte) CRC32 { return CRC32(crc32.ChecksumIEEE(data)) }

// Append returns the checksum of the bytes behind c followed by data.
func (c CRC32) Append(data []byte) CRC32 {
	return CRC32(crc32.Update(uint32(c), crc32.IEEETable, data))
}

// Combine returns the checksum of the bytes behind c followed by nextBytes bytes whose checksum is next. Its time grows
// with the logarithm of nextBytes. It panics when nextBytes is negative.
func (c CRC32) Combine(next CRC32, nextBytes int64) CRC32 {
	return CRC32(combine(reflected{polynomial: crc32.IEEE, one: 1 << 31}, uint64(c), uint64(next), nextBytes))
}

// Hex is the checksum as eight lower-case hexadecimal digits.
func (c CRC32) Hex() string { return hex.EncodeToString(c.bytes()) }

// Base64 is the checksum as the object store writes it: standard base64 of its big-endian bytes.
func (c CRC32) Base64() string { return base64.StdEncoding.EncodeToString(c.bytes()) }

// ParseCRC32 reads what Base64 writes.
func ParseCRC32(text string) (CRC32, error) {
	data, err := parse(text, 4)
	if err != nil {
		return 0, fmt.Errorf("read a CRC-32: %w", err)
	}
	return CRC32(binary.BigEndian.Uint32(data)), nil
}

func (c CRC32) bytes() []byte { return binary.BigEndian.AppendUint32(nil, uint32(c)) }

// CRC64 is a CRC-64/NVME, the object store's full-object CRC64NVME. Its zero value is the checksum of no bytes.
type CRC64 uint64

// Sum64 is the CRC-64/NVME of data.
func Sum64(data []byte) CRC64 { return CRC64(crc64nvme.Checksum(data)) }

// Append returns the checksum of the bytes behind c followed by data.
func (c CRC64) Append(data []byte) CRC64 { return CRC64(crc64nvme.Update(uint64(c), data)) }

// Combine returns the checksum of the bytes behind c followed by nextBytes bytes whose checksum is next. Its time grows
// with the logarithm of nextBytes. It panics when nextBytes is negative.
func (c CRC64) Combine(next CRC64, nextBytes int64) CRC64 {
	return CRC64(combine(reflected{polynomial: nvme, one: 1 << 63}, uint64(c), uint64(next), nextBytes))
}

// Hex is the checksum as sixteen lower-case hexadecimal digits.
func (c CRC64) Hex() string { return hex.EncodeToString(c.bytes()) }

// Base64 is the checksum as the object store writes it: standard base64 of its big-endian bytes.
func (c CRC64) Base64() string { return base64.StdEncoding.EncodeToString(c.bytes()) }

// ParseCRC64 reads what Base64 writes.
func ParseCRC64(text string) (CRC64, error) {
	data, err := parse(text, 8)
	if err != nil {
		return 0, fmt.Errorf("read a CRC-64/NVME: %w", err)
	}
	return CRC64(binary.BigEndian.Uint64(data)), nil
}

func (c CRC64) bytes() []byte { return binary.BigEndian.AppendUint64(nil, uint64(c)) }

func parse(text string, size int) ([]byte, error) {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%q isn't standard base64 with padding: %w", text, err)
	}
	// The decoder skips line breaks, which have no place here.
	if base64.StdEncoding.EncodeToString(data) != text {
		return nil, fmt.Errorf("%q isn't standard base64 on one line", text)
	}
	if len(data) != size {
		return nil, fmt.Errorf("%q holds %d bytes where %d are expected", text, len(data), size)
	}
	return data, nil
}
