package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"sealift/shared/format/csv/gb18030"
	"sealift/shared/limits"
)

// Reader reads CSV as Encoder writes it, in constant memory: the largest record and one chunk. It is strict where other
// readers guess: quotes only around whole fields, the one line end of the options, a line end after the last record
// (without it the file was cut off), the same number of fields in every record, and in GB 18030 no code that Encoder
// doesn't write. Values are UTF-8 whatever the file's encoding. It doesn't undo the formula guard, which can't be told
// from text that has an apostrophe of its own.
type Reader struct {
	r       io.Reader
	options Options
	fields  int
	record  int64

	chunk []byte
	pos   int
	// from is where the bytes of the open record start in chunk.
	from int
	raw  []byte

	data  []byte
	ends  []int
	bare  []bool
	value [][]byte
	null  []bool

	// decoder is nil for UTF-8; text are the record's values that it has decoded.
	decoder *gb18030.Decoder
	text    []byte
}

// chunkBytes is how much is asked of the underlying reader at once.
const chunkBytes = 64 << 10

// NewReader returns a Reader of r for records of that many fields. When the options ask for a BOM the first record must
// come after one. A header is a record like any other; its fields are never NULL.
func NewReader(r io.Reader, options Options, fields int) *Reader {
	reader := &Reader{r: r, options: options, fields: fields, chunk: make([]byte, 0, chunkBytes)}
	if options.Encoding == GB18030 {
		reader.decoder = gb18030.NewDecoder()
	}
	return reader
}

// Read returns the next record: its values, unquoted, and which of them are NULL. Both are valid until the next Read.
// At the end of the file the error is io.EOF; a fault names the record, counted from 1 with the header.
func (r *Reader) Read() (values [][]byte, null []bool, err error) {
	if r.record == 0 && r.options.BOM {
		if err := r.skipBOM(); err != nil {
			return nil, nil, err
		}
	}
	r.record++
	r.raw, r.data, r.ends, r.bare = r.raw[:0], r.data[:0], r.ends[:0], r.bare[:0]
	r.from = r.pos
	ch, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, nil, io.EOF
	}
	if err != nil {
		return nil, nil, r.fault(err)
	}
	for last := false; !last; {
		if last, err = r.field(ch); err != nil {
			return nil, nil, r.fault(err)
		}
		if len(r.ends) > r.fields {
			return nil, nil, r.fault(fmt.Errorf("it has more than the %d fields of the columns", r.fields))
		}
		if !last {
			if ch, err = r.next(); err != nil {
				return nil, nil, r.fault(err)
			}
		}
	}
	if len(r.ends) != r.fields {
		return nil, nil, r.fault(fmt.Errorf("it has %d fields where the columns are %d", len(r.ends), r.fields))
	}
	r.raw = append(r.raw, r.chunk[r.from:r.pos]...)
	return r.slices()
}

// Raw returns the bytes of the record that Read returned last, line end included; valid until the next Read.
func (r *Reader) Raw() []byte { return r.raw }

// field reads one field whose first byte is ch and what ends it; last tells the end of the record.
func (r *Reader) field(ch byte) (last bool, err error) {
	quoted := ch == r.options.Quote
	if quoted {
		if ch, err = r.quotedField(); err != nil {
			return false, err
		}
	} else {
		for ch != r.options.Delimiter && ch != '\r' && ch != '\n' {
			if ch == r.options.Quote {
				return false, errors.New("a quote stands inside an unquoted field")
			}
			if err := r.add(ch); err != nil {
				return false, err
			}
			if ch, err = r.next(); err != nil {
				return false, err
			}
		}
	}
	r.ends = append(r.ends, len(r.data))
	r.bare = append(r.bare, !quoted)
	if ch == r.options.Delimiter {
		return false, nil
	}
	return true, r.lineEnd(ch)
}

// quotedField reads behind the opening quote and returns the byte after the closing one.
func (r *Reader) quotedField() (after byte, err error) {
	for {
		ch, err := r.next()
		if err != nil {
			return 0, err
		}
		if ch == r.options.Quote {
			if ch, err = r.next(); err != nil {
				return 0, err
			}
			if ch != r.options.Quote {
				if ch != r.options.Delimiter && ch != '\r' && ch != '\n' {
					return 0, errors.New("text follows a closing quote")
				}
				return ch, nil
			}
		}
		if err := r.add(ch); err != nil {
			return 0, err
		}
	}
}

func (r *Reader) lineEnd(ch byte) error {
	if r.options.LineEnd == "\r\n" && ch == '\r' {
		next, err := r.next()
		if err != nil {
			return err
		}
		if next == '\n' {
			return nil
		}
	} else if r.options.LineEnd == "\n" && ch == '\n' {
		return nil
	}
	return fmt.Errorf("the record doesn't end in %q, and no CR or LF may stand outside quotes", r.options.LineEnd)
}

func (r *Reader) slices() ([][]byte, []bool, error) {
	r.value, r.null, r.text = r.value[:0], r.null[:0], r.text[:0]
	start := 0
	for i, end := range r.ends {
		value := r.data[start:end:end]
		start = end
		if r.decoder != nil {
			var err error
			if value, err = r.decoded(value); err != nil {
				return nil, nil, r.fault(fmt.Errorf("field %d: %w", i+1, err))
			}
		}
		null := r.bare[i] && string(value) == r.options.NullText && (r.record > 1 || !r.options.Header)
		if null {
			value = nil
		}
		r.value, r.null = append(r.value, value), append(r.null, null)
	}
	return r.value, r.null, nil
}

// decoded is a value of the file in UTF-8. Fields are told apart before, for no byte of a character beyond ASCII is one
// that ends a field.
func (r *Reader) decoded(value []byte) ([]byte, error) {
	if !bytes.ContainsFunc(value, func(ch rune) bool { return ch >= utf8.RuneSelf }) {
		return value, nil
	}
	start := len(r.text)
	var err error
	if r.text, err = r.decoder.Append(r.text, value); err != nil {
		return nil, err
	}
	return r.text[start:len(r.text):len(r.text)], nil
}

func (r *Reader) add(ch byte) error {
	if len(r.data) >= limits.RowReadBytesMax {
		return fmt.Errorf("it is larger than %d MiB, the most that one row may take; a quote may be missing", limits.RowReadBytesMax>>20)
	}
	r.data = append(r.data, ch)
	return nil
}

func (r *Reader) next() (byte, error) {
	if r.pos == len(r.chunk) {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	ch := r.chunk[r.pos]
	r.pos++
	return ch, nil
}

func (r *Reader) fill() error {
	r.raw = append(r.raw, r.chunk[r.from:r.pos]...)
	r.pos, r.from = 0, 0
	n, err := io.ReadAtLeast(r.r, r.chunk[:chunkBytes], 1)
	r.chunk = r.chunk[:n]
	if n > 0 {
		return nil
	}
	return err
}

func (r *Reader) skipBOM() error {
	mark := make([]byte, len(BOM))
	if _, err := io.ReadFull(r.r, mark); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if !bytes.Equal(mark, []byte(BOM)) {
		return errors.New("csv: the file doesn't begin with the byte order mark that its format promises")
	}
	return nil
}

func (r *Reader) fault(err error) error {
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the file ends inside it: %w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("csv: record %d: %w", r.record, err)
}
