package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"sealift/shared/format/field"
	"sealift/shared/row"
)

// cell is one value as the file holds it.
type cell struct {
	null bool
	// low is an integer, the bits of a float, 1 for true; high is what a DECIMAL has beyond 64 bits, in two's complement.
	low, high uint64
	// text are the bytes of a value that is bytes.
	text []byte
}

// verdict is what became of a value's text.
type verdict uint8

const (
	good verdict = iota
	// malformed text isn't canonical for its kind.
	malformed
	// outside is a value that its type can't hold.
	outside
)

// reading is how the canonical text of a column's values is read.
type reading uint8

const (
	readText reading = iota
	readJSON
	readExact
	readBytes
	readInt
	readDecimal
	readFloat
	readBool
	readDate
	readDateTime
	readTimestamp
)

// readingOf is how values of the column are read.
func readingOf(column row.Column) reading {
	switch column.Kind {
	case row.Int64:
		return readInt
	case row.Decimal:
		if column.Scale < 0 {
			return readExact
		}
		return readDecimal
	case row.Float64:
		return readFloat
	case row.Bool:
		return readBool
	case row.Date:
		return readDate
	case row.DateTime:
		return readDateTime
	case row.Timestamp:
		return readTimestamp
	case row.JSON:
		return readJSON
	case row.Bytes:
		return readBytes
	case row.String:
	}
	return readText
}

// parse turns the canonical text of a value that isn't bytes in the file into what cell.low and cell.high hold. It
// allocates nothing.
func parse(how reading, scale int, value []byte) (low, high uint64, v verdict) {
	switch how {
	case readInt:
		low, v = parseInt(value)
		return low, 0, v
	case readDecimal:
		return parseDecimal(value, scale)
	case readFloat:
		low, v = parseFloat(value)
		return low, 0, v
	case readBool:
		switch string(value) {
		case "true":
			return 1, 0, good
		case "false":
			return 0, 0, good
		}
	case readDate:
		if days, ok := parseDate(value); ok && len(value) == len("2006-01-02") {
			return uint64(days), 0, good
		}
	case readDateTime:
		micros, rest, v := parseCivil(value)
		if len(rest) > 0 {
			v = malformed
		}
		return uint64(micros), 0, v
	case readTimestamp:
		micros, v := parseInstant(value)
		return uint64(micros), 0, v
	case readText, readJSON, readExact, readBytes:
	}
	return 0, 0, malformed
}

func parseInt(value []byte) (uint64, verdict) {
	digits := unsigned(value)
	if len(digits) == 0 {
		return 0, malformed
	}
	negative := len(digits) < len(value)
	var n uint64
	v := good
	for _, ch := range digits {
		digit := uint64(ch - '0')
		if digit > 9 {
			return 0, malformed
		}
		if n > (math.MaxUint64-9)/10 {
			v = outside
		}
		n = n*10 + digit
	}
	if negative {
		if n > 1<<63 {
			v = outside
		}
		return -n, v
	}
	if n > math.MaxInt64 {
		v = outside
	}
	return n, v
}

// parseDecimal reads plain notation as a number of units of 10^-scale.
func parseDecimal(value []byte, scale int) (low, high uint64, v verdict) {
	digits := unsigned(value)
	negative := len(digits) < len(value)
	c := cell{}
	significant, fraction := 0, -1
	for i, ch := range digits {
		digit := uint64(ch - '0')
		if digit > 9 {
			if ch != '.' || fraction >= 0 || i == 0 {
				return 0, 0, malformed
			}
			fraction = 0
			continue
		}
		if fraction >= 0 {
			if fraction == scale {
				if digit != 0 {
					v = outside
				}
				continue
			}
			fraction++
		}
		if significant > 0 || digit > 0 {
			significant++
			c.timesTen(digit)
		}
	}
	if len(digits) == 0 || digits[len(digits)-1] == '.' {
		return 0, 0, malformed
	}
	for range scale - max(fraction, 0) {
		if significant > 0 {
			significant++
			c.timesTen(0)
		}
	}
	if significant > precision {
		return 0, 0, outside
	}
	if negative {
		var borrow uint64
		c.low, borrow = bits.Sub64(0, c.low, 0)
		c.high, _ = bits.Sub64(0, c.high, borrow)
	}
	return c.low, c.high, v
}

// timesTen appends a decimal digit to c. After more than 38 of them the number is of no use.
func (c *cell) timesTen(digit uint64) {
	if c.high == 0 && c.low < math.MaxUint64/10 {
		c.low = c.low*10 + digit
		return
	}
	carry, low := bits.Mul64(c.low, 10)
	c.high = c.high*10 + carry
	c.low, carry = bits.Add64(low, digit, 0)
	c.high += carry
}

func parseFloat(value []byte) (uint64, verdict) {
	if field.Number(value) {
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return 0, outside
		}
		return math.Float64bits(f), good
	}
	switch string(value) {
	case "NaN":
		return quietNaN, good
	case "Infinity":
		return math.Float64bits(math.Inf(1)), good
	case "-Infinity":
		return math.Float64bits(math.Inf(-1)), good
	}
	return 0, malformed
}

// quietNaN is the one NaN that is written.
const quietNaN = 0x7ff8_0000_0000_0000

func unsigned(value []byte) []byte {
	if len(value) > 0 && value[0] == '-' {
		return value[1:]
	}
	return value
}

// appendPlain appends a value that isn't a Bool in PLAIN encoding.
func (c *cell) appendPlain(dst []byte, s storage) []byte {
	switch s {
	case storedInt32:
		return binary.LittleEndian.AppendUint32(dst, uint32(c.low))
	case storedInt64, storedDouble:
		return binary.LittleEndian.AppendUint64(dst, c.low)
	case storedFixed:
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, c.high), c.low)
	case storedBytes:
		return append(binary.LittleEndian.AppendUint32(dst, uint32(len(c.text))), c.text...)
	case storedBool:
		return append(dst, byte(c.low))
	}
	return dst
}

// size is how many bytes a value takes in PLAIN encoding, a NULL and a Bool one.
func (c *cell) size(s storage) int {
	switch {
	case c.null:
		return 1
	case s == storedBytes:
		return 4 + len(c.text)
	}
	return s.size()
}

// size is how many bytes a value that isn't bytes takes, a Bool one.
func (s storage) size() int {
	switch s {
	case storedInt32:
		return 4
	case storedInt64, storedDouble:
		return 8
	case storedFixed:
		return fixedBytes
	case storedBool, storedBytes:
	}
	return 1
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func appendFloat(dst []byte, b uint64) []byte {
	f := math.Float64frombits(b)
	switch {
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// appendDecimal appends c units of 10^-scale in plain notation with scale decimals.
func appendDecimal(dst []byte, c cell, scale int) []byte {
	high, low := c.high, c.low
	if int64(high) < 0 {
		dst = append(dst, '-')
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	var text [precision + 3]byte
	at := len(text)
	for n := 0; n <= scale || high|low > 0; n++ {
		if n == scale && scale > 0 {
			at--
			text[at] = '.'
		}
		var remainder uint64
		high, remainder = high/10, high%10
		low, remainder = bits.Div64(remainder, low, 10)
		at--
		text[at] = byte('0' + remainder)
	}
	return append(dst, text[at:]...)
}
