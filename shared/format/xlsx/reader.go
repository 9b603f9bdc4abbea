package xlsx

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"

	"sealift/shared/checksum"
	"sealift/shared/limits"
)

// Reader reads workbooks as Writer and Joiner write them from start to end, in constant memory: the largest row, and what
// the directory says of each worksheet. It takes no other workbook: everything but the rows must be byte for byte what
// the configuration and the rows make of it, and every row must be what Writer writes for its values.
type Reader struct {
	config Config
	file   *counter
	in     *bufio.Reader

	begun bool
	// sheets are those that were read; the last is the open one when open is true.
	sheets []entry
	shard  int
	number int
	open   bool
	rows   int64
	inflow flate.Resetter
	raw    *counter
	xml    *bufio.Reader
	cells  *cells
}

// counter counts and sums what is read through it.
type counter struct {
	r     io.Reader
	bytes int64
	crc32 checksum.CRC32
	sum   bool
}

func (c *counter) Read(data []byte) (int, error) {
	n, err := c.r.Read(data)
	c.bytes += int64(n)
	if c.sum {
		c.crc32 = c.crc32.Append(data[:n])
	}
	return n, err
}

const bufferBytes = 64 << 10

// NewReader returns a Reader of the file r.
func NewReader(config Config, r io.Reader) *Reader {
	// What was written is valid now, and there are no keys.
	config.Keys = 0
	file := &counter{r: r}
	in := bufio.NewReaderSize(file, bufferBytes)
	inflater := flate.NewReader(in)
	raw := &counter{r: inflater, sum: true}
	return &Reader{
		config: config, file: file, in: in, inflow: inflater.(flate.Resetter), raw: raw,
		xml: bufio.NewReaderSize(raw, bufferBytes), cells: newCells(config),
	}
}

// Read returns the next row of any worksheet: its values in canonical text (Bytes decoded) and which of them are NULL.
// Both are valid until the next Read. At the end of the file, when it is the right one and nothing follows, the error is
// io.EOF.
func (r *Reader) Read() (values [][]byte, null []bool, err error) {
	for {
		more, err := r.row()
		if err != nil {
			return nil, nil, r.fault(err)
		}
		if more {
			values, null, err := r.cells.parse(r.rows + headerRows)
			if err != nil {
				return nil, nil, r.fault(err)
			}
			return values, null, nil
		}
		if more, err = r.nextSheet(); err != nil {
			return nil, nil, r.fault(err)
		}
		if !more {
			return nil, nil, io.EOF
		}
	}
}

// Hash returns the hash of the row that Read returned last, as Writer adds it up.
func (r *Reader) Hash() uint64 { return r.cells.hash }

// at is how many bytes of the file were taken.
func (r *Reader) at() int64 { return r.file.bytes - int64(r.in.Buffered()) }

// row reads the XML of the open worksheet's next row into cells; more is false when there is none.
func (r *Reader) row() (more bool, err error) {
	if !r.open {
		return false, nil
	}
	r.cells.raw = r.cells.raw[:0]
	for {
		piece, err := r.xml.ReadSlice('>')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return false, err
		}
		if len(r.cells.raw)+len(piece) > limits.RowReadBytesMax+rowFrame {
			return false, fmt.Errorf("it is larger than %d MiB, the most that one row may take", limits.RowReadBytesMax>>20)
		}
		r.cells.raw = append(r.cells.raw, piece...)
		if err == nil && bytes.HasSuffix(r.cells.raw, []byte(rowClose)) {
			r.rows++
			return true, nil
		}
		if len(r.cells.raw) == len("</sheetData>") && string(r.cells.raw) == "</sheetData>" {
			return false, r.endSheet()
		}
	}
}

// rowFrame bounds what a row has around its cells.
const rowFrame = 64

// nextSheet begins the next worksheet; more is false when the file has ended as it must.
func (r *Reader) nextSheet() (more bool, err error) {
	if !r.begun {
		r.begun = true
		prefix, _ := r.config.prefix()
		if err := r.isWorkbook(prefix); err != nil {
			return false, err
		}
		if err := expect(r.in, prefix); err != nil {
			return false, fmt.Errorf("what comes before the worksheets isn't that of the columns; the file belongs to another export or was changed: %w", err)
		}
	}
	e, ok, err := r.peekSheet()
	if err != nil {
		return false, err
	}
	if !ok {
		if err := expect(r.in, r.config.suffix(r.sheets, r.at())); err != nil {
			return false, fmt.Errorf("what comes after the worksheets: %w", err)
		}
		if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
			return false, errors.New("bytes follow the end of the file")
		}
		return false, nil
	}
	if len(r.sheets) >= sheetsMax {
		return false, fmt.Errorf("it has more than %d worksheets", sheetsMax)
	}
	r.sheets, r.open, r.rows = append(r.sheets, e), true, 0
	r.raw.bytes, r.raw.crc32 = 0, 0
	if err := r.inflow.Reset(r.in, nil); err != nil {
		return false, err
	}
	r.xml.Reset(r.raw)
	if err := expect(r.xml, r.cells.encoder.sheetStart()); err != nil {
		return false, fmt.Errorf("the header isn't that of the columns; the file belongs to another export or was changed: %w", err)
	}
	return true, nil
}

// isWorkbook refuses a file that doesn't begin as a ZIP archive does, which every workbook is.
func (r *Reader) isWorkbook(prefix []byte) error {
	const signatureBytes = 4
	head, err := r.in.Peek(signatureBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.HasPrefix(prefix, head) {
		return errors.New("the file is not a workbook")
	}
	return nil
}

// sheetsMax bounds what a Reader remembers: as many as a directory that a joiner may write can list.
const sheetsMax = limits.FooterBytesMax / 100

// peekSheet reads the local header of a worksheet; ok is false when something else comes next.
func (r *Reader) peekSheet() (e entry, ok bool, err error) {
	head, err := r.in.Peek(localBytes + len(sheetFolder))
	if err != nil && !errors.Is(err, io.EOF) {
		return entry{}, false, err
	}
	if len(head) < localBytes+len(sheetFolder) || binary.LittleEndian.Uint32(head) != localSignature ||
		binary.LittleEndian.Uint16(head[8:]) != deflated || string(head[localBytes:]) != sheetFolder {
		return entry{}, false, nil
	}
	const nameMax = 100
	length := localBytes + min(int(binary.LittleEndian.Uint16(head[26:])), nameMax)
	if head, err = r.in.Peek(length); err != nil {
		return entry{}, false, fmt.Errorf("the header of a worksheet: %w", err)
	}
	digits, _, _ := strings.Cut(string(head[localBytes+len(sheetFolder):]), sheetEnding)
	serial, err := strconv.Atoi(digits)
	if err != nil {
		return entry{}, false, fmt.Errorf("the name of a worksheet is %q", head[localBytes:])
	}
	shard, number := serial/shardSheets, serial%shardSheets
	if shard < r.shard || shard == r.shard && number != r.number+1 || shard > r.shard && number != 1 {
		return entry{}, false, fmt.Errorf("worksheet %d of shard %d follows worksheet %d of shard %d", number, shard, r.number, r.shard)
	}
	e = sheetEntry(shard, number)
	e.offset, e.far = r.at(), binary.LittleEndian.Uint16(head[4:]) == version64
	if err := expect(r.in, appendLocal(nil, e)); err != nil {
		return entry{}, false, fmt.Errorf("the header of worksheet %d of shard %d: %w", number, shard, err)
	}
	r.shard, r.number = shard, number
	return e, true, nil
}

// endSheet reads behind the rows of the open worksheet.
func (r *Reader) endSheet() error {
	if r.rows == 0 {
		return errors.New("a worksheet has no rows")
	}
	if err := expect(r.xml, []byte("</worksheet>")); err != nil {
		return err
	}
	if _, err := r.xml.ReadByte(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("bytes follow its end")
		}
		return err
	}
	e := &r.sheets[len(r.sheets)-1]
	e.raw, e.crc32 = r.raw.bytes, uint32(r.raw.crc32)
	e.packed = r.at() - e.offset - localBytes - int64(len(e.name))
	r.open = false
	if err := expect(r.in, appendDescriptor(nil, *e)); err != nil {
		return fmt.Errorf("its checksum or sizes: %w", err)
	}
	return nil
}

// expect reads what must come next.
func expect(r *bufio.Reader, want []byte) error {
	for len(want) > 0 {
		got, err := r.Peek(min(len(want), bufferBytes))
		if !bytes.Equal(got, want[:min(len(want), len(got))]) {
			return errors.New("it isn't what was written")
		}
		if err != nil {
			return err
		}
		_, _ = r.Discard(len(got))
		want = want[len(got):]
	}
	return nil
}

func (r *Reader) fault(err error) error {
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the file ends too early: %w", io.ErrUnexpectedEOF)
	}
	if r.open {
		return fmt.Errorf("xlsx: worksheet %d, row %d: %w", len(r.sheets), r.rows, err)
	}
	if len(r.sheets) == 0 {
		return fmt.Errorf("xlsx: %w", err)
	}
	return fmt.Errorf("xlsx: after worksheet %d: %w", len(r.sheets), err)
}
