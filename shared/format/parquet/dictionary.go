package parquet

import (
	"bytes"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"sealift/shared/limits"
)

// dictionary numbers the distinct values of a column chunk as long as they are few. Its memory is bounded; when a value
// doesn't fit, the chunk goes on without it.
type dictionary struct {
	// values are the entries in PLAIN encoding, and starts is where each begins.
	values []byte
	starts []uint32
	// slots is an open hash table of entries: the upper half of a slot is of the hash, the lower the entry's number plus
	// one, 0 for a free slot. At most half of them are taken.
	slots    []uint32
	bytesMax int
}

// entriesMax keeps the numbers below 2^16 with room, and the table small.
const entriesMax = 8192

// newDictionary returns one for a file in which columns columns may have one.
func newDictionary(columns int) *dictionary {
	return &dictionary{bytesMax: min(limits.DictionaryBytes, limits.DictionariesBytes/columns)}
}

// number returns the entry of text, which it may add. ok is false when the dictionary is full.
func (d *dictionary) number(text []byte) (entry uint16, added, ok bool) {
	if 2*len(d.starts) >= len(d.slots) {
		d.grow()
	}
	hash := xxhash.Sum64(text)
	tag, mask := uint32(hash>>32)&^0xffff, len(d.slots)-1
	at := int(hash) & mask
	for ; d.slots[at] != 0; at = (at + 1) & mask {
		if slot := d.slots[at]; slot&^0xffff == tag && bytes.Equal(d.text(int(slot&0xffff)-1), text) {
			return uint16(slot) - 1, false, true
		}
	}
	if len(d.starts) == entriesMax || len(d.values)+4+len(text) > d.bytesMax {
		return 0, false, false
	}
	d.starts = append(d.starts, uint32(len(d.values)))
	d.values = append(binary.LittleEndian.AppendUint32(d.values, uint32(len(text))), text...)
	d.slots[at] = tag | uint32(len(d.starts))
	return uint16(len(d.starts) - 1), true, true
}

func (d *dictionary) text(entry int) []byte {
	end := len(d.values)
	if entry+1 < len(d.starts) {
		end = int(d.starts[entry+1])
	}
	return d.values[d.starts[entry]+4 : end]
}

func (d *dictionary) grow() {
	d.slots = make([]uint32, max(64, 2*len(d.slots)))
	mask := len(d.slots) - 1
	for entry := range d.starts {
		hash := xxhash.Sum64(d.text(entry))
		at := int(hash) & mask
		for d.slots[at] != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = uint32(hash>>32)&^0xffff | uint32(entry+1)
	}
}

// reset empties the dictionary and keeps its memory.
func (d *dictionary) reset() {
	d.values, d.starts = d.values[:0], d.starts[:0]
	clear(d.slots)
}
