package row

import "encoding/binary"

// WallBytes is the length of YYYY-MM-DD, a separator and hh:mm:ss.
const WallBytes = 19

// IsWall reports whether text begins with YYYY-MM-DD, the separator (T or a space) and hh:mm:ss, each letter a digit. It
// knows no calendar. It looks at eight bytes at a time, for nearly every row has such a text.
func IsWall(text []byte, separator byte) bool {
	if len(text) < WallBytes {
		return false
	}
	const (
		date      = 0x2d30302d30303030 // 0000-00- as bytes from the lowest
		dateTop   = 0x7f76767f76767676
		middle    = 0x30303a3030003030 // 00, the separator's place, 00:00
		middleTop = 0x76767f76767f7676
		clock     = 0x30303a30303a3030 // 00:00:00
		clockTop  = 0x76767f76767f7676
		place     = 16 // the separator's, in bits
	)
	return shaped(binary.LittleEndian.Uint64(text)^date, dateTop) &&
		shaped(binary.LittleEndian.Uint64(text[8:])^(middle|uint64(separator)<<place), middleTop) &&
		shaped(binary.LittleEndian.Uint64(text[11:])^clock, clockTop)
}

// shaped reports whether every byte of word is at most 0x7f less its byte of top: 9 where a digit stands, 0 where a
// fixed letter does. A byte above carries into its top bit, which no other can clear.
func shaped(word, top uint64) bool {
	const tops = 0x8080808080808080
	return (word|(word+top))&tops == 0
}
