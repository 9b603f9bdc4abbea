package sqldb

import (
	"encoding/binary"
	"math"

	"sealift/shared/row"
)

// What the server sends of times in its binary format: signed whole numbers, high byte first, that count from the start
// of the year 2000; of a timestamp microseconds in eight bytes, of a date days in four. The ends of their ranges stand
// for the infinities (PostgreSQL's timestamp.h and date.h).
const (
	timestampBytes   = 8
	dateBytes        = 4
	postgresEpochDay = 10957 // 2000-01-01 in days since 1970
	microPerSecond   = 1_000_000
)

// firstDay and lastDay are 0001-01-01 and 9999-12-31 in days since 1970.
const (
	firstDay = -719162
	lastDay  = 2932896
)

// clock renders the times of one column. Rows mostly lie in the order of time, so that one day's text serves many.
type clock struct {
	// zone is that of instants; nil for times without one.
	zone *zone
	// day is the one whose text date holds, separator included.
	day  int64
	date [len("2006-01-02T")]byte
}

// newClock returns the clock of a column of kind, nil for a kind that is no time.
func newClock(kind row.Kind, z *zone) *clock {
	if kind != row.Timestamp {
		z = nil
	}
	if kind != row.Timestamp && kind != row.DateTime && kind != row.Date {
		return nil
	}
	return &clock{zone: z, day: math.MinInt64}
}

// append writes what the server sent as canonical text; ok is false, and nothing written, for the infinities and for
// years beyond 0001 to 9999.
func (c *clock) append(dst, sent []byte) (out []byte, ok bool) {
	if len(sent) == dateBytes {
		days := int32(binary.BigEndian.Uint32(sent)) //nolint:gosec // the sign is the protocol's
		if !c.turn(int64(days) + postgresEpochDay) {
			return dst, false
		}
		return append(dst, c.date[:len(c.date)-1]...), true
	}
	if len(sent) != timestampBytes {
		return dst, false
	}
	since := int64(binary.BigEndian.Uint64(sent)) //nolint:gosec // the sign is the protocol's
	if since == math.MinInt64 || since == math.MaxInt64 {
		return dst, false
	}
	seconds := floorDiv(since, microPerSecond)
	micro := int(since - seconds*microPerSecond)
	unix, offset, utc := seconds+postgresEpochDay*86400, 0, true
	if c.zone != nil {
		offset, utc = c.zone.offsetAt(unix)
	}
	wall := unix + int64(offset)
	day := floorDiv(wall, 86400)
	if !c.turn(day) {
		return dst, false
	}
	dst = append(dst, c.date[:]...)
	second := int(wall - day*86400)
	dst = appendClock(dst, second/3600, second/60%60, second%60)
	dst = appendMicro(dst, micro)
	if c.zone == nil {
		return dst, true
	}
	return appendOffset(dst, offset, utc), true
}

// appendMicro writes a dot and the digits of a fraction without the zeros at its end; nothing when there is none.
func appendMicro(dst []byte, micro int) []byte {
	if micro == 0 {
		return dst
	}
	var text [len(".000000")]byte
	text[0] = '.'
	end := 0
	for i := len(text) - 1; i > 0; i-- {
		digit := byte(micro % 10)
		micro /= 10
		text[i] = '0' + digit
		if digit != 0 && end == 0 {
			end = i + 1
		}
	}
	return append(dst, text[:end]...)
}

// turn makes day, in days since 1970, the one whose text is at hand.
func (c *clock) turn(day int64) bool {
	if day == c.day {
		return true
	}
	if day < firstDay || day > lastDay {
		return false
	}
	civilOf(day*86400).append(c.date[:0], 'T')
	c.day = day
	return true
}
