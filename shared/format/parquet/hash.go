package parquet

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// hasher computes the hash of a row as the package comment defines it, without a copy of large values.
type hasher struct {
	digest xxhash.Digest
	// open are the bytes that aren't in digest yet; flushed tells that some are.
	open    []byte
	flushed bool
}

// largeValueBytes is the size from which a value isn't copied to be hashed.
const largeValueBytes = 4096

func (h *hasher) reset() { h.open, h.flushed = h.open[:0], false }

func (h *hasher) add(s storage, c *cell) {
	if c.null {
		h.open = append(h.open, 0)
		return
	}
	h.open = c.appendRowHash(h.open, s)
	if len(c.text) < largeValueBytes {
		h.open = append(h.open, c.text...)
		return
	}
	h.flush()
	_, _ = h.digest.Write(c.text) // never fails
}

func (h *hasher) flush() {
	if !h.flushed {
		h.digest.Reset()
		h.flushed = true
	}
	_, _ = h.digest.Write(h.open) // never fails
	h.open = h.open[:0]
}

func (h *hasher) sum() uint64 {
	if !h.flushed {
		return xxhash.Sum64(h.open)
	}
	h.flush()
	return h.digest.Sum64()
}

// appendRowHash appends what the hash of a row takes of a value that isn't NULL, except the text of one that is bytes.
func (c *cell) appendRowHash(dst []byte, s storage) []byte {
	dst = append(dst, 1)
	if s == storedBytes {
		return binary.LittleEndian.AppendUint32(dst, uint32(len(c.text)))
	}
	return c.appendPlain(dst, s)
}
