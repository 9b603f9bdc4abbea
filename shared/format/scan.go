package format

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"sealift/shared/checksum"
	"sealift/shared/format/csv"
	"sealift/shared/format/field"
	"sealift/shared/format/jsonl"
	"sealift/shared/row"
)

// Totals are what a whole file adds up to; they must equal what its parts added up to.
type Totals struct {
	// Bytes and CRC64 are the size and the CRC-64/NVME of the file as it is stored.
	Bytes int64
	CRC64 uint64
	// RawBytes and RawCRC32 are the size and the CRC-32 of the file uncompressed; zero where a format has no such text.
	RawBytes int64
	RawCRC32 uint32
	Rows     int64
	// RowsHash is as in Part.
	RowsHash uint64
}

// File is a whole file as Scan reads it: from the start to the end, or at random where its format is made for that.
// *io.SectionReader is one.
type File interface {
	io.Reader
	io.ReaderAt
	Size() int64
}

// Scan reads a whole file as spec describes it and calls fn for every row with the values in the canonical text of
// their kinds (Bytes decoded) and which of them are NULL; both are valid during the call. A nil fn only counts. It reads
// every byte of the file from its start to its end once (and what a Parquet footer points to once more), in constant
// memory, and is as strict as the formats' readers: a file that was cut off, has bytes after its end, another header, or
// a value that isn't of its kind is an error. Values that the formula guard changed stay changed. Errors of fn end the
// scan and are returned as they are.
func Scan(spec Spec, file File, fn func(values [][]byte, null []bool) error) (Totals, error) {
	if err := spec.Validate(); err != nil {
		return Totals{}, err
	}
	stored := &meter{r: file}
	switch spec.Format {
	case XLSX:
		return scanXLSX(spec, stored, fn)
	case Parquet:
		return scanParquet(spec, stored, file, fn)
	case CSV, JSONL:
	}
	buffered := bufio.NewReaderSize(stored, 64<<10)
	unpacked, closeUnpacked, err := unpack(spec.Compression, buffered)
	if err != nil {
		return Totals{}, fmt.Errorf("scan: the file isn't %s: %w", spec.Compression, err)
	}
	defer closeUnpacked()
	raw := &meter{r: unpacked, crc32: true}
	totals := Totals{}
	if spec.Format == JSONL {
		err = totals.scanRows(jsonl.NewReader(raw, spec.Columns), nil, fn)
	} else {
		err = totals.scanCSV(spec, raw, fn)
	}
	if err != nil {
		return Totals{}, err
	}
	if _, err := buffered.ReadByte(); !errors.Is(err, io.EOF) {
		return Totals{}, errors.New("scan: bytes follow the end of the file")
	}
	totals.Bytes, totals.CRC64 = stored.bytes, uint64(stored.sum64)
	totals.RawBytes, totals.RawCRC32 = raw.bytes, uint32(raw.sum32)
	return totals, nil
}

// rowReader is what the formats' readers have in common.
type rowReader interface {
	Read() (values [][]byte, null []bool, err error)
	Raw() []byte
}

func (t *Totals) scanCSV(spec Spec, raw io.Reader, fn func([][]byte, []bool) error) error {
	reader := csv.NewReader(raw, spec.CSV, len(spec.Columns))
	if spec.CSV.Header {
		if _, _, err := reader.Read(); err != nil {
			return fmt.Errorf("scan: read the header: %w", err)
		}
		want := newEncoder(spec).AppendHeader(nil)
		if spec.CSV.BOM {
			want = want[len(csv.BOM):]
		}
		if !bytes.Equal(reader.Raw(), want) {
			return errors.New("scan: the header isn't that of the columns; the file belongs to another export or was changed")
		}
	}
	return t.scanRows(reader, canonical(spec.Columns), fn)
}

// scanRows reads rows to the end. check, when it isn't nil, turns a row's values into canonical text in place.
func (t *Totals) scanRows(reader rowReader, check func([][]byte, []bool) error, fn func([][]byte, []bool) error) error {
	for {
		values, null, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		t.Rows++
		t.RowsHash += xxhash.Sum64(reader.Raw())
		if check != nil {
			if err := check(values, null); err != nil {
				return fmt.Errorf("scan: row %d: %w", t.Rows, err)
			}
		}
		if fn == nil {
			continue
		}
		if err := fn(values, null); err != nil {
			return err
		}
	}
}

// canonical checks CSV values against their columns' kinds and decodes Bytes.
func canonical(columns []row.Column) func([][]byte, []bool) error {
	return func(values [][]byte, null []bool) error {
		for i, column := range columns {
			if null[i] {
				continue
			}
			if column.Kind == row.Bytes {
				n, err := base64.StdEncoding.Strict().Decode(values[i], values[i])
				if err != nil {
					return fmt.Errorf("the value of %q isn't base64", column.Name)
				}
				values[i] = values[i][:n]
			}
			if !field.Check(column.Kind, values[i]) {
				return fmt.Errorf("the value of %q isn't a valid %s", column.Name, column.Kind)
			}
		}
		return nil
	}
}

// unpack returns a reader of the uncompressed file and what releases it.
func unpack(compression Compression, r *bufio.Reader) (io.Reader, func(), error) {
	switch compression {
	case Gzip:
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		// The file is one member; anything behind it is found by whoever looks for the end of r.
		unpacked.Multistream(false)
		return unpacked, func() {}, nil
	case Zstd:
		if _, err := r.Peek(1); err != nil {
			return nil, nil, err
		}
		unpacked, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(8*zstdWindowBytes))
		if err != nil {
			return nil, nil, err
		}
		return unpacked, unpacked.Close, nil
	case None, Snappy:
	}
	return r, func() {}, nil
}

// meter counts and sums what is read through it: CRC-32 when that is asked for, else CRC-64/NVME.
type meter struct {
	r     io.Reader
	crc32 bool
	bytes int64
	sum32 checksum.CRC32
	sum64 checksum.CRC64
}

func (m *meter) Read(data []byte) (int, error) {
	n, err := m.r.Read(data)
	m.bytes += int64(n)
	if m.crc32 {
		m.sum32 = m.sum32.Append(data[:n])
	} else {
		m.sum64 = m.sum64.Append(data[:n])
	}
	return n, err
}
