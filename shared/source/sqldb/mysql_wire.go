package sqldb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"

	"github.com/go-mysql-org/go-mysql/mysql"

	"sealift/shared/limits"
)

const (
	// wireBuffer is how much is read from the network at a time; shorter packets are used where they lie.
	wireBuffer = 64 << 10
	// packetMax is the longest packet; longer messages go on in the next.
	packetMax = 1<<24 - 1
	// keptBuffer is how much memory for long rows outlives a statement.
	keptBuffer = 1 << 20
	// queryCommand asks the server to run a text, quitCommand to end the connection.
	queryCommand = 3
	quitCommand  = 1
)

var (
	errMalformed = errors.New("the server's message can't be read")
	errRestLong  = errors.New("the rest of the result is too long to be read")
)

// mysqlField describes one field of a result.
type mysqlField struct {
	name    string
	kind    byte
	flags   uint16
	charset uint16
}

// mysqlResult takes the rows of a statement.
type mysqlResult interface {
	// describe is called once, before the rows.
	describe(fields []mysqlField) error
	// row takes a row; NULL is nil, and all values are valid during the call. No more rows come after more is false.
	row(values [][]byte) (more bool, err error)
}

// mysqlWire speaks the text protocol of MySQL over a connection that somebody else has authenticated: one statement, one
// result. The protocol is described in the MySQL Internals manual, "Text Resultset"; the connection must not have
// negotiated CLIENT_DEPRECATE_EOF, CLIENT_QUERY_ATTRIBUTES or compression.
type mysqlWire struct {
	conn   net.Conn
	reader *bufio.Reader
	long   []byte
	values [][]byte
	// sequence is the number that the next packet must have; an answer goes on where its statement ends.
	sequence byte
	// discard is how many packets' bytes lie in the reader's buffer and were handed out.
	discard int
}

func newMySQLWire(conn net.Conn) *mysqlWire {
	return &mysqlWire{conn: conn, reader: bufio.NewReaderSize(conn, wireBuffer)}
}

// run sends text and hands its result to r, which is nil for a command that has none. Whatever isn't the answer to this
// statement is refused: a read that took another one's end for its own would lose rows. What r leaves is read to its end, up to rest bytes. An error of r comes back as
// it is, whatever happens to the rest: what is wrong with a row goes before what is wrong with the connection. An error of
// the server is a *mysql.MyError, after which the connection is good. errRestLong says that r has all that it wanted.
func (w *mysqlWire) run(text string, rest int, r mysqlResult) (broken bool, err error) {
	if err := w.send(text); err != nil {
		return true, err
	}
	failed, err := w.receive(r, rest)
	if cap(w.long) > keptBuffer {
		w.long = nil
	}
	var said *mysql.MyError
	broken = err != nil && !errors.As(err, &said)
	if failed != nil {
		return broken, failed
	}
	return broken, err
}

func (w *mysqlWire) send(text string) error {
	message := make([]byte, 0, len(text)+9)
	body := append([]byte{queryCommand}, text...)
	for sequence := byte(0); ; sequence++ {
		w.sequence = sequence + 1
		n := min(len(body), packetMax)
		message = append(message, byte(n), byte(n>>8), byte(n>>16), sequence)
		message = append(message, body[:n]...)
		body = body[n:]
		if n < packetMax {
			break
		}
	}
	_, err := w.conn.Write(message)
	return err
}

// receive reads one result; failed is r's error.
func (w *mysqlWire) receive(r mysqlResult, rest int) (failed, err error) {
	first, err := w.packet()
	if err != nil {
		return nil, err
	}
	switch done := first[0] == mysql.OK_HEADER; {
	case first[0] == mysql.ERR_HEADER:
		return nil, serverError(first)
	case done != (r == nil):
		return nil, errMalformed
	case done:
		return nil, nil
	}
	count, _, ok := lengthEncoded(first)
	if !ok || count < 1 || count > limits.ColumnsMax*2+1 {
		return nil, errMalformed
	}
	fields, err := w.fields(int(count))
	if err != nil {
		return nil, err
	}
	failed = r.describe(fields)
	w.values = append(w.values[:0], make([][]byte, count)...)
	for more := failed == nil; ; {
		packet, err := w.packet()
		switch {
		case err != nil:
			return failed, err
		case packet[0] == mysql.EOF_HEADER && len(packet) < 9:
			return failed, nil
		case packet[0] == mysql.ERR_HEADER:
			return failed, serverError(packet)
		case !more:
			if rest -= len(packet); rest < 0 {
				return failed, errRestLong
			}
			continue
		}
		if !split(packet, w.values) {
			return failed, errMalformed
		}
		more, failed = r.row(w.values)
		more = more && failed == nil
	}
}

func (w *mysqlWire) fields(count int) ([]mysqlField, error) {
	fields := make([]mysqlField, count)
	for i := range fields {
		packet, err := w.packet()
		if err != nil {
			return nil, err
		}
		var texts [6][]byte
		for t := range texts {
			length, used, ok := lengthEncoded(packet)
			if !ok || length > uint64(len(packet)-used) {
				return nil, errMalformed
			}
			texts[t], packet = packet[used:used+int(length)], packet[used+int(length):]
		}
		if len(packet) < 11 {
			return nil, errMalformed
		}
		fields[i] = mysqlField{
			name: string(texts[4]), charset: binary.LittleEndian.Uint16(packet[1:]), kind: packet[7],
			flags: binary.LittleEndian.Uint16(packet[8:]),
		}
	}
	end, err := w.packet()
	if err == nil && end[0] != mysql.EOF_HEADER {
		err = errMalformed
	}
	return fields, err
}

// packet is the next message, valid until the next call. It is never empty.
func (w *mysqlWire) packet() ([]byte, error) {
	if _, err := w.reader.Discard(w.discard); err != nil {
		return nil, err
	}
	w.discard = 0
	w.long = w.long[:0]
	for {
		header, err := w.reader.Peek(4)
		if err != nil {
			return nil, err
		}
		if header[3] != w.sequence {
			return nil, errMalformed
		}
		w.sequence++
		n := int(header[0]) | int(header[1])<<8 | int(header[2])<<16
		if len(w.long) == 0 && n > 0 && n+4 <= wireBuffer {
			whole, err := w.reader.Peek(n + 4)
			w.discard = n + 4
			if err != nil {
				return nil, err
			}
			return whole[4:], nil
		}
		if len(w.long)+n > limits.RowBytesMax+limits.MiB {
			return nil, rowTooLong{bytes: len(w.long) + n}
		}
		_, _ = w.reader.Discard(4)
		have := len(w.long)
		if cap(w.long) < have+n {
			w.long = append(make([]byte, 0, have+n), w.long...)
		}
		w.long = w.long[:have+n]
		if _, err := io.ReadFull(w.reader, w.long[have:]); err != nil {
			return nil, err
		}
		if n < packetMax {
			if len(w.long) == 0 {
				return nil, errMalformed
			}
			return w.long, nil
		}
	}
}

// split cuts a row into its values and reports whether it fits.
func split(packet []byte, values [][]byte) bool {
	for i := range values {
		if len(packet) == 0 {
			return false
		}
		if packet[0] == 0xfb {
			values[i], packet = nil, packet[1:]
			continue
		}
		length, used, ok := lengthEncoded(packet)
		if !ok || length > uint64(len(packet)-used) {
			return false
		}
		end := used + int(length)
		values[i], packet = packet[used:end:end], packet[end:]
	}
	return len(packet) == 0
}

func lengthEncoded(text []byte) (n uint64, used int, ok bool) {
	if len(text) == 0 {
		return 0, 0, false
	}
	switch first := text[0]; first {
	case 0xfb, 0xff:
		return 0, 0, false
	case 0xfc:
		used = 3
	case 0xfd:
		used = 4
	case 0xfe:
		used = 9
	default:
		return uint64(first), 1, true
	}
	if len(text) < used {
		return 0, 0, false
	}
	for i := used - 1; i > 0; i-- {
		n = n<<8 | uint64(text[i])
	}
	return n, used, true
}

// serverError reads an error message: its number, "#" and five characters of state, and its text.
func serverError(packet []byte) error {
	if len(packet) < 3 {
		return errMalformed
	}
	said := &mysql.MyError{Code: binary.LittleEndian.Uint16(packet[1:])}
	packet = packet[3:]
	if len(packet) >= 6 && packet[0] == '#' {
		said.State, packet = string(packet[1:6]), packet[6:]
	}
	said.Message = string(packet)
	return said
}
