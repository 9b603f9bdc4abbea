package sqldb

import (
	"strconv"
	"time"
	_ "time/tzdata" // zones must be known where the system has none

	"sealift/shared/job"
	"sealift/shared/row"
)

// civil is a calendar date and wall-clock time as a database writes it.
type civil struct {
	year, month, day     int
	hour, minute, second int
	// fraction holds the digits after the seconds' dot, as many as the source wrote.
	fraction []byte
}

// parseDate reads YYYY-MM-DD at the start of text, a real date of the years 0001 to 9999.
func parseDate(text []byte) (c civil, rest []byte, ok bool) {
	if len(text) < 10 || text[4] != '-' || text[7] != '-' {
		return c, nil, false
	}
	var okYear, okMonth, okDay bool
	c.year, okYear = digits(text[0:4])
	c.month, okMonth = digits(text[5:7])
	c.day, okDay = digits(text[8:10])
	if !okYear || !okMonth || !okDay || c.year < 1 || c.month < 1 || c.month > 12 ||
		c.day < 1 || c.day > daysIn(c.year, c.month) {
		return c, nil, false
	}
	return c, text[10:], true
}

// parseCivil reads YYYY-MM-DD, one separator ('T' or a space), hh:mm:ss and an optional fraction; rest is what follows.
func parseCivil(text []byte) (c civil, separator byte, rest []byte, ok bool) {
	c, rest, ok = parseDate(text)
	if !ok || len(rest) < 9 || (rest[0] != ' ' && rest[0] != 'T') || rest[3] != ':' || rest[6] != ':' {
		return c, 0, nil, false
	}
	separator = rest[0]
	var okHour, okMinute, okSecond bool
	c.hour, okHour = digits(rest[1:3])
	c.minute, okMinute = digits(rest[4:6])
	c.second, okSecond = digits(rest[7:9])
	if !okHour || !okMinute || !okSecond || c.hour > 23 || c.minute > 59 || c.second > 59 {
		return c, 0, nil, false
	}
	rest = rest[9:]
	if len(rest) > 0 && rest[0] == '.' {
		end := 1
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if end == 1 {
			return c, 0, nil, false
		}
		c.fraction, rest = rest[1:end], rest[end:]
	}
	return c, separator, rest, true
}

// parseOffset reads a zone suffix: "", Z, +hh, +hhmm, +hh:mm or +hh:mm:ss, in seconds east of UTC.
func parseOffset(text []byte) (seconds int, ok bool) {
	if len(text) == 0 || (len(text) == 1 && (text[0] == 'Z' || text[0] == 'z')) {
		return 0, true
	}
	sign := 1
	switch text[0] {
	case '+':
	case '-':
		sign = -1
	default:
		return 0, false
	}
	var fields [3]int
	count := 0
	for text = text[1:]; len(text) > 0; count++ {
		if count > 0 && text[0] == ':' {
			text = text[1:]
		}
		if count == len(fields) || len(text) < 2 {
			return 0, false
		}
		if fields[count], ok = digits(text[:2]); !ok {
			return 0, false
		}
		text = text[2:]
	}
	if count == 0 || fields[0] > 23 || fields[1] > 59 || fields[2] > 59 {
		return 0, false
	}
	return sign * (fields[0]*3600 + fields[1]*60 + fields[2]), true
}

// unix is the civil time's seconds since 1970 if it were UTC.
func (c civil) unix() int64 {
	return daysSinceEpoch(c.year, c.month, c.day)*86400 + int64(c.hour)*3600 + int64(c.minute)*60 + int64(c.second)
}

// daysSinceEpoch counts days of the proleptic Gregorian calendar; the algorithm is Howard Hinnant's days_from_civil.
func daysSinceEpoch(year, month, day int) int64 {
	y := int64(year)
	if month <= 2 {
		y--
	}
	era := floorDiv(y, 400)
	yearOfEra := y - era*400
	dayOfYear := int64((153*((month+9)%12)+2)/5 + day - 1)
	return era*146097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719468
}

// civilOf is the inverse of civil.unix; the algorithm is Howard Hinnant's civil_from_days.
func civilOf(unix int64) civil {
	days := floorDiv(unix, 86400)
	second := int(unix - days*86400)
	days += 719468
	era := floorDiv(days, 146097)
	dayOfEra := days - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153
	c := civil{
		year: int(yearOfEra + era*400), month: int(shifted + 3), day: int(dayOfYear - (153*shifted+2)/5 + 1),
		hour: second / 3600, minute: second / 60 % 60, second: second % 60,
	}
	if c.month > 12 {
		c.month -= 12
		c.year++
	}
	return c
}

// append writes YYYY-MM-DD, the separator, hh:mm:ss and the fraction.
func (c civil) append(dst []byte, separator byte) []byte {
	dst = append(dst, byte('0'+c.year/1000), byte('0'+c.year/100%10), byte('0'+c.year/10%10), byte('0'+c.year%10), '-')
	dst = appendTwo(dst, c.month)
	dst = append(dst, '-')
	dst = appendTwo(dst, c.day)
	dst = append(dst, separator)
	dst = appendClock(dst, c.hour, c.minute, c.second)
	if len(c.fraction) > 0 {
		dst = append(append(dst, '.'), c.fraction...)
	}
	return dst
}

// twoDigits holds 00 to 99.
const twoDigits = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" + "40414243444546474849" +
	"50515253545556575859" + "60616263646566676869" + "70717273747576777879" + "80818283848586878889" + "90919293949596979899"

// appendClock writes hh:mm:ss.
func appendClock(dst []byte, hour, minute, second int) []byte {
	return append(dst, twoDigits[2*hour], twoDigits[2*hour+1], ':', twoDigits[2*minute], twoDigits[2*minute+1], ':',
		twoDigits[2*second], twoDigits[2*second+1])
}

// zone renders instants in one time zone and remembers the last offset it looked up.
type zone struct {
	location    *time.Location
	from, until int64
	offset      int
}

func newZone(name string) (*zone, error) {
	location, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, job.Errorf(job.Permanent, codeQueryInvalid, "time zone %s of the query isn't an IANA name such as "+
			"Asia/Shanghai; correct the request", strconv.Quote(name))
	}
	return &zone{location: location, from: 1, until: 0}, nil
}

// append writes the instant that is unix seconds plus fraction as RFC 3339 in the zone, "Z" when the zone is UTC. RFC
// 3339 has no seconds in an offset: where a zone had some (before about 1900), the offset is cut to whole minutes and
// the wall clock moves with it, so that the instant stays exact. Where only the zone's year leaves 0001 to 9999 it is UTC
// with row.OffsetUnknown; ok is false when that of UTC leaves them too.
func (z *zone) append(dst []byte, unix int64, fraction []byte) (out []byte, ok bool) {
	offset, utc := z.offsetAt(unix)
	c := civilOf(unix + int64(offset))
	known := c.writable()
	if !known {
		c = civilOf(unix)
	}
	if !c.writable() {
		return dst, false
	}
	c.fraction = fraction
	dst = c.append(dst, 'T')
	if !known {
		return append(dst, row.OffsetUnknown...), true
	}
	return appendOffset(dst, offset, utc), true
}

// writable reports whether the year has four digits.
func (c civil) writable() bool { return c.year >= 1 && c.year <= 9999 }

// offsetAt is the zone's offset at an instant, whole minutes in seconds east; utc says that the zone is UTC itself.
func (z *zone) offsetAt(unix int64) (offset int, utc bool) {
	if z.location == time.UTC {
		return 0, true
	}
	if unix < z.from || unix >= z.until {
		z.lookUp(unix)
	}
	return z.offset, false
}

func (z *zone) lookUp(unix int64) {
	at := time.Unix(unix, 0).In(z.location)
	start, end := at.ZoneBounds()
	z.from, z.until = -1<<62, 1<<62
	if !start.IsZero() {
		z.from = start.Unix()
	}
	if !end.IsZero() {
		z.until = end.Unix()
	}
	_, offset := at.Zone()
	z.offset = offset - offset%60
}

// appendOffset writes what follows the clock in RFC 3339.
func appendOffset(dst []byte, offset int, utc bool) []byte {
	if utc {
		return append(dst, 'Z')
	}
	if offset < 0 {
		dst, offset = append(dst, '-'), -offset
	} else {
		dst = append(dst, '+')
	}
	dst = appendTwo(dst, offset/3600)
	dst = append(dst, ':')
	return appendTwo(dst, offset/60%60)
}

func appendTwo(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

func digits(text []byte) (n int, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func floorDiv(a, b int64) int64 {
	quotient := a / b
	if a%b < 0 {
		quotient--
	}
	return quotient
}
