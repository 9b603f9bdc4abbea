package sqldb

import (
	"encoding/binary"
	"fmt"
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

// clock renders the times of one column. Rows mostly lie near each other in time, so that the text of few days serves many.
type clock struct {
	// zone is that of instants; nil for times without one.
	zone *zone
	days [daysKept]dayText
}

// daysKept is how many days' texts a clock keeps, each at its number modulo this.
const daysKept = 8

// dayText is a day, in days since 1970, as text with the separator behind it.
type dayText struct {
	day  int64
	text [len("2006-01-02T")]byte
}

// newClock returns the clock of a column of kind, nil for a kind that is no time.
func newClock(kind row.Kind, z *zone) *clock {
	if kind != row.Timestamp {
		z = nil
	}
	if !timely(kind) {
		return nil
	}
	c := &clock{zone: z}
	for i := range c.days {
		c.days[i].day = math.MinInt64
	}
	return c
}

// timely reports whether values of a kind are times, which the server is asked for as numbers.
func timely(kind row.Kind) bool {
	return kind == row.Timestamp || kind == row.DateTime || kind == row.Date
}

// append writes what the server sent as canonical text; ok is false, and nothing written, for the infinities and for
// years beyond 0001 to 9999, of instants those of UTC and the zone.
func (c *clock) append(dst, sent []byte) (out []byte, ok bool) {
	if len(sent) == dateBytes {
		days := int32(binary.BigEndian.Uint32(sent)) //nolint:gosec // the sign is the protocol's
		text, ok := c.date(int64(days) + postgresEpochDay)
		if !ok {
			return dst, false
		}
		return append(dst, text[:len(text)-1]...), true
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
	text, known := c.date(day)
	if !known {
		wall, day = unix, floorDiv(unix, 86400)
		if text, ok = c.date(day); !ok {
			return dst, false
		}
	}
	second := int(wall - day*86400)
	minute := second / 60
	dst = append(dst, text[:]...)
	dst = appendClock(dst, minute/60, minute%60, second%60)
	dst = appendMicro(dst, micro)
	if c.zone == nil {
		return dst, true
	}
	if !known {
		return append(dst, row.OffsetUnknown...), true
	}
	return appendOffset(dst, offset, utc), true
}

// name is what people know a time by that append refuses, nearly as the server writes it.
func (c *clock) name(sent []byte) string {
	var since int64
	least, most, perDay := int64(math.MinInt64), int64(math.MaxInt64), int64(86400*microPerSecond)
	switch len(sent) {
	case dateBytes:
		since = int64(int32(binary.BigEndian.Uint32(sent))) //nolint:gosec // the sign is the protocol's
		least, most, perDay = math.MinInt32, math.MaxInt32, 1
	case timestampBytes:
		since = int64(binary.BigEndian.Uint64(sent)) //nolint:gosec // the sign is the protocol's
	default:
		return unread
	}
	switch since {
	case least:
		return "-infinity"
	case most:
		return "infinity"
	}
	day := floorDiv(since, perDay)
	at, era := civilOf((day+postgresEpochDay)*86400), ""
	if at.year < 1 {
		at.year, era = 1-at.year, " BC"
	}
	text := fmt.Appendf(nil, "%04d-%02d-%02d", at.year, at.month, at.day)
	if perDay > 1 {
		micro := since - day*perDay
		second := int(micro / microPerSecond)
		text = appendClock(append(text, ' '), second/3600, second/60%60, second%60)
		text = appendMicro(text, int(micro%microPerSecond))
	}
	return string(text) + era
}

// date is the text of a day in days since 1970.
func (c *clock) date(day int64) (text *[len("2006-01-02T")]byte, ok bool) {
	kept := &c.days[day&(daysKept-1)]
	if kept.day == day {
		return &kept.text, true
	}
	if day < firstDay || day > lastDay {
		return nil, false
	}
	civilOf(day*86400).append(kept.text[:0], 'T')
	kept.day = day
	return &kept.text, true
}

// appendMicro writes a dot and the digits of a fraction without the zeros at its end; nothing when there is none.
func appendMicro(dst []byte, micro int) []byte {
	if micro == 0 {
		return dst
	}
	high, middle, low := micro/10_000, micro/100%100, micro%100
	dst = append(dst, '.', twoDigits[2*high], twoDigits[2*high+1], twoDigits[2*middle], twoDigits[2*middle+1], twoDigits[2*low], twoDigits[2*low+1])
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}
