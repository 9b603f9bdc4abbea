package jsonl

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"sealift/shared/format/field"
	"sealift/shared/limits"
	"sealift/shared/row"
)

// Reader reads JSON Lines as Encoder writes them, in constant memory: the longest line. It accepts no other spelling:
// every key in column order, no white space, a line end after the last row (without it the file was cut off).
type Reader struct {
	r       *bufio.Reader
	columns []row.Column
	labels  [][]byte
	line    int64

	raw    []byte
	data   []byte
	ends   []int
	values [][]byte
	null   []bool
}

// NewReader returns a Reader of r for rows of these columns.
func NewReader(r io.Reader, columns []row.Column) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), columns: columns, labels: labels(columns)}
}

// Read returns the next row: its values in the canonical text of their kinds (Bytes decoded, JSON as it stands) and
// which of them are NULL. Both are valid until the next Read. At the end of the file the error is io.EOF; a fault names
// the line, counted from 1.
func (r *Reader) Read() (values [][]byte, null []bool, err error) {
	r.line++
	if err := r.readLine(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil, io.EOF
		}
		return nil, nil, fmt.Errorf("jsonl: line %d: %w", r.line, err)
	}
	r.data, r.ends, r.null = r.data[:0], r.ends[:0], r.null[:0]
	rest := r.raw
	for i, column := range r.columns {
		if !bytes.HasPrefix(rest, r.labels[i]) {
			return nil, nil, fmt.Errorf("jsonl: line %d: the key %s isn't where column %d should be", r.line, r.labels[i][1:], i+1)
		}
		rest = rest[len(r.labels[i]):]
		n, err := r.value(column.Kind, rest)
		if err != nil {
			return nil, nil, fmt.Errorf("jsonl: line %d: the value of %q %w", r.line, column.Name, err)
		}
		rest = rest[n:]
	}
	if string(rest) != "}\n" {
		return nil, nil, fmt.Errorf("jsonl: line %d: the object doesn't end after the last column", r.line)
	}
	r.values = r.values[:0]
	start := 0
	for i, end := range r.ends {
		value := r.data[start:end:end]
		if r.null[i] {
			value = nil
		}
		r.values = append(r.values, value)
		start = end
	}
	return r.values, r.null, nil
}

// Raw returns the bytes of the line that Read returned last, its end included; valid until the next Read.
func (r *Reader) Raw() []byte { return r.raw }

func (r *Reader) readLine() error {
	r.raw = r.raw[:0]
	for {
		piece, err := r.r.ReadSlice('\n')
		r.raw = append(r.raw, piece...)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, io.EOF) && len(r.raw) > 0:
			return fmt.Errorf("the file ends inside it: %w", io.ErrUnexpectedEOF)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(r.raw) > limits.RowReadBytesMax:
			return fmt.Errorf("it is larger than %d MiB, the most that one row may take", limits.RowReadBytesMax>>20)
		}
	}
}

// value reads the value that text begins with and returns its length.
func (r *Reader) value(kind row.Kind, text []byte) (n int, err error) {
	if bytes.HasPrefix(text, []byte("null")) {
		r.ends, r.null = append(r.ends, len(r.data)), append(r.null, true)
		return len("null"), nil
	}
	start := len(r.data)
	switch kind {
	case row.JSON:
		n = documentEnd(text)
		if !json.Valid(text[:n]) {
			return 0, errors.New("isn't a JSON document")
		}
		r.data = append(r.data, text[:n]...)
	case row.Bool:
		n = plainEnd(text)
		r.data = append(r.data, text[:n]...)
	case row.Float64:
		if text[0] != '"' {
			n = plainEnd(text)
			r.data = append(r.data, text[:n]...)
			if !field.Number(text[:n]) {
				return 0, errors.New("isn't a number")
			}
			break
		}
		if n, err = r.string(text); err == nil && field.Number(r.data[start:]) {
			return 0, errors.New("is a number in quotes")
		}
	case row.Bytes:
		if n, err = r.string(text); err == nil {
			err = r.decodeBase64(start)
		}
	case row.String, row.Int64, row.Decimal, row.Date, row.Timestamp, row.DateTime:
		n, err = r.string(text)
	}
	if err != nil {
		return 0, err
	}
	if !field.Check(kind, r.data[start:]) {
		return 0, fmt.Errorf("isn't a valid %s", kind)
	}
	r.ends, r.null = append(r.ends, len(r.data)), append(r.null, false)
	return n, nil
}

func (r *Reader) decodeBase64(start int) error {
	text := r.data[start:]
	decoded, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil || bytes.ContainsAny(text, "\r\n") {
		return errors.New("isn't base64")
	}
	r.data = append(r.data[:start], decoded...)
	return nil
}

// string reads the JSON string that text begins with into data and returns its length.
func (r *Reader) string(text []byte) (n int, err error) {
	if text[0] != '"' {
		return 0, errors.New("isn't a string")
	}
	start := len(r.data)
	for i := 1; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '"':
			if !utf8.Valid(r.data[start:]) {
				return 0, errors.New("isn't valid UTF-8")
			}
			return i + 1, nil
		case ch < ' ':
			return 0, errors.New("has a control character that isn't escaped")
		case ch == '\\':
			decoded, length := escape(text[i:])
			if length == 0 {
				return 0, errors.New("has an escape that the format doesn't use")
			}
			r.data = append(r.data, decoded)
			i += length - 1
		default:
			r.data = append(r.data, ch)
		}
	}
	return 0, errors.New("doesn't end")
}

// escape decodes the escape that text begins with; length is 0 for one that the encoder doesn't write.
func escape(text []byte) (decoded byte, length int) {
	if len(text) < 2 {
		return 0, 0
	}
	if text[1] == '"' || text[1] == '\\' {
		return text[1], 2
	}
	for ch := range len(short) {
		if short[ch] != 0 && short[ch] == text[1] {
			return byte(ch), 2
		}
	}
	if len(text) < 6 || string(text[1:4]) != "u00" || text[4] > '1' || text[4] < '0' {
		return 0, 0
	}
	low := bytes.IndexByte([]byte("0123456789abcdef"), text[5])
	if low < 0 {
		return 0, 0
	}
	decoded = (text[4]-'0')<<4 | byte(low)
	if short[decoded] != 0 {
		return 0, 0
	}
	return decoded, 6
}

// plainEnd is the length of the number or literal that text begins with.
func plainEnd(text []byte) int {
	if n := bytes.IndexAny(text, ",}"); n >= 0 {
		return n
	}
	return len(text)
}

// documentEnd is the length of the JSON document that text begins with, as far as brackets and strings tell.
func documentEnd(text []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		ch := text[i]
		switch {
		case inString && ch == '\\':
			i++
		case ch == '"':
			inString = !inString
		case inString:
		case ch == '{' || ch == '[':
			depth++
		case (ch == ',' || ch == '}') && depth == 0:
			return i
		case ch == '}' || ch == ']':
			depth--
		}
	}
	return len(text)
}
