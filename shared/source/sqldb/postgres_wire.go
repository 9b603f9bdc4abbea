package sqldb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"sealift/shared/limits"
)

// wire stands between a connection and the driver. The driver gets one message at a time, so that it never holds the
// beginning of the next one, and rows, which are nearly all that comes, can be taken from under it: where they are in the
// buffer, without a copy and a slice for each of their values.
type wire struct {
	from *bufio.Reader
	// left is how much of its message the driver has still to take.
	left int
	// seen is how much of the buffer the row takes that was given out last.
	seen int
	// large holds a row that is longer than the buffer.
	large []byte
	// driver is what reads all other messages.
	driver *pgproto3.Frontend
}

const (
	// readBytes is how much is taken from the connection at a time; the driver alone takes an eighth of it.
	readBytes = 64 << 10
	// messageBytesMax is the longest message. A longer row could not be exported anyway; the limit keeps it out of memory.
	messageBytesMax = limits.RowBytesMax + limits.MiB
	// skippedBytesMax is the longest row that is looked through for its key, shortBytes the longest value that is kept of it.
	skippedBytesMax = 4 * messageBytesMax
	shortBytes      = 4 << 10
	// headerBytes are a message's kind and its length, which counts itself and not the kind.
	headerBytes = 5
	// dataRow is the kind of the message that is a row.
	dataRow = 'D'
)

func newWire(from io.Reader, to io.Writer) *wire {
	w := &wire{from: bufio.NewReaderSize(from, readBytes)}
	w.driver = pgproto3.NewFrontend(w, to)
	return w
}

// Read gives the driver the rest of its message, and then the beginning of the next.
func (w *wire) Read(p []byte) (int, error) {
	if w.left == 0 {
		var err error
		if _, w.left, err = w.next(); err != nil {
			return 0, err
		}
	}
	n, err := w.from.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

// row takes the next message when it is a row, and leaves it to the driver otherwise. What it returns is valid until the
// next call. Errors are those of the connection.
func (w *wire) row() (body []byte, ok bool, err error) {
	if w.left > 0 {
		return nil, false, nil
	}
	kind, size, err := w.next()
	if err != nil {
		return nil, false, err
	}
	if kind != dataRow {
		return nil, false, nil
	}
	if size > headerBytes+messageBytesMax {
		return nil, false, w.tooLong(size - headerBytes)
	}
	if size <= w.from.Size() {
		message, err := w.from.Peek(size)
		if err != nil {
			return nil, false, whole(err)
		}
		w.seen = size
		return message[headerBytes:], true, nil
	}
	_, _ = w.from.Discard(headerBytes)
	size -= headerBytes
	w.large = slices.Grow(w.large[:0], size)[:size]
	if _, err := io.ReadFull(w.from, w.large); err != nil {
		return nil, false, whole(err)
	}
	return w.large, true, nil
}

// tooLong looks through a row that is too long to be held for what is short in it, its key above all. The connection is of
// no more use then.
func (w *wire) tooLong(size int) error {
	long := rowTooLong{bytes: size}
	if size > skippedBytesMax {
		return long
	}
	_, _ = w.from.Discard(headerBytes)
	number := make([]byte, 4)
	if _, err := io.ReadFull(w.from, number[2:]); err != nil {
		return whole(err)
	}
	values := make([][]byte, binary.BigEndian.Uint32(number))
	size -= 2
	for i := range values {
		if _, err := io.ReadFull(w.from, number); err != nil {
			return whole(err)
		}
		size -= len(number)
		n := int(int32(binary.BigEndian.Uint32(number))) //nolint:gosec // -1 is NULL
		switch {
		case n > size || n < -1:
			return errRowUnreadable
		case n > shortBytes:
			if _, err := w.from.Discard(n); err != nil {
				return whole(err)
			}
		case n >= 0:
			values[i] = make([]byte, n)
			if _, err := io.ReadFull(w.from, values[i]); err != nil {
				return whole(err)
			}
		}
		size -= max(n, 0)
	}
	long.values = values
	return long
}

// next looks at the next message: its kind and its size with the header. A length that can't be one is left to the driver
// to refuse.
func (w *wire) next() (kind byte, size int, err error) {
	_, _ = w.from.Discard(w.seen)
	w.seen = 0
	if cap(w.large) > limits.BatchBytes {
		w.large = nil
	}
	header, err := w.from.Peek(headerBytes)
	if err != nil {
		return 0, 0, whole(err)
	}
	return header[0], max(headerBytes, 1+int(int32(binary.BigEndian.Uint32(header[1:])))), nil
}

// whole is the error of a connection that ended inside a message, or where one was due.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
