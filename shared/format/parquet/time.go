package parquet

import (
	"time"

	"sealift/shared/row"
)

// microsPerSecond is the unit of stored times.
const microsPerSecond = 1_000_000

const secondsPerDay = 86_400

// parseDate reads YYYY-MM-DD at the start of value, a real date of the years 0001 to 9999, as days since 1970-01-01.
func parseDate(value []byte) (days int64, ok bool) {
	if len(value) < 10 || value[4] != '-' || value[7] != '-' {
		return 0, false
	}
	year := two(value)*100 + two(value[2:])
	month, day := two(value[5:]), two(value[8:])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	return daysOf(year, month, day), true
}

// parseCivil reads YYYY-MM-DDThh:mm:ss and an optional fraction, as microseconds since 1970 if it were UTC. It is
// outside when the fraction has digits beyond microseconds.
func parseCivil(value []byte) (micros int64, rest []byte, v verdict) {
	days, ok := parseDate(value)
	if !ok || len(value) < 19 || value[10] != 'T' || value[13] != ':' || value[16] != ':' {
		return 0, nil, malformed
	}
	hour, minute, second := two(value[11:]), two(value[14:]), two(value[17:])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, nil, malformed
	}
	micros = (days*secondsPerDay + int64(hour*3600+minute*60+second)) * microsPerSecond
	rest = value[19:]
	if len(rest) == 0 || rest[0] != '.' {
		return micros, rest, good
	}
	rest = rest[1:]
	n, unit := 0, int64(microsPerSecond)
	for ; n < len(rest) && rest[n]-'0' <= 9; n++ {
		unit /= 10
		micros += int64(rest[n]-'0') * unit
		if unit == 0 && rest[n] != '0' {
			v = outside
		}
	}
	if n == 0 {
		return 0, nil, malformed
	}
	return micros, rest[n:], v
}

// parseInstant reads RFC 3339 as microseconds since 1970.
func parseInstant(value []byte) (micros int64, v verdict) {
	micros, rest, v := parseCivil(value)
	if v == malformed || len(rest) == 1 && rest[0] == 'Z' {
		return micros, v
	}
	if len(rest) != 6 || rest[3] != ':' || rest[0] != '+' && rest[0] != '-' {
		return 0, malformed
	}
	hours, minutes := two(rest[1:]), two(rest[4:])
	if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
		return 0, malformed
	}
	offset := int64(hours*3600+minutes*60) * microsPerSecond
	if rest[0] == '-' {
		offset = -offset
	}
	return micros - offset, v
}

// two is the number of the first two digits of value, far below zero when they aren't digits.
func two(value []byte) int {
	tens, ones := value[0]-'0', value[1]-'0'
	if tens > 9 || ones > 9 {
		return -1 << 20
	}
	return int(tens)*10 + int(ones)
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

// daysOf counts the days from 1970-01-01 in the proleptic Gregorian calendar; the algorithm is Howard Hinnant's
// days_from_civil for years from 1 on.
func daysOf(year, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := year / 400
	yearOfEra := year - era*400
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	return int64(era*146097+yearOfEra*365+yearOfEra/4-yearOfEra/100+dayOfYear) - 719468
}

// appendDate appends the date that is days after 1970-01-01.
func appendDate(dst []byte, days int64) []byte {
	return time.Unix(days*secondsPerDay, 0).UTC().AppendFormat(dst, time.DateOnly)
}

// appendCivil appends the wall-clock time that is micros after 1970 with a fraction of digits digits, or of as many as it
// needs when digits is negative.
func appendCivil(dst []byte, micros int64, digits int) []byte {
	layouts := [...]string{"2006-01-02T15:04:05", 3: "2006-01-02T15:04:05.000", 6: "2006-01-02T15:04:05.000000"}
	layout := "2006-01-02T15:04:05.999999"
	if digits >= 0 {
		layout = layouts[digits]
	}
	return time.UnixMicro(micros).UTC().AppendFormat(dst, layout)
}

// appendInstant appends RFC 3339 in a zone. As its text has no seconds in an offset, where a zone had some the offset is
// cut to whole minutes and the wall clock moves with it. Where the zone has no year of four digits for it, it is UTC with
// row.OffsetUnknown.
func appendInstant(dst []byte, micros int64, digits int, zone *time.Location) []byte {
	if zone == time.UTC {
		return append(appendCivil(dst, micros, digits), 'Z')
	}
	_, offset := time.UnixMicro(micros).In(zone).Zone()
	minutes := offset / 60
	wall := time.UnixMicro(micros).UTC().Add(time.Duration(minutes) * time.Minute)
	if wall.Year() < 1 || wall.Year() > 9999 {
		return append(appendCivil(dst, micros, digits), row.OffsetUnknown...)
	}
	dst = appendCivil(dst, micros+int64(minutes)*60*microsPerSecond, digits)
	sign := byte('+')
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	return append(dst, sign, byte('0'+minutes/600), byte('0'+minutes/60%10), ':', byte('0'+minutes%60/10), byte('0'+minutes%10))
}
