package xlsx

import "strconv"

// Serial numbers of the 1900 date system (ECMA-376, part 1, section 18.17.4): days since 1899-12-30. From 1900-03-01 on
// every program agrees; before, the system counts a day that never was.
const (
	serialMin = 61        // 1900-03-01
	serialMax = 2_958_465 // 9999-12-31
)

const millisPerDay = 86_400_000

// serialDay is the serial number of the date that text begins with, YYYY-MM-DD in digits; ok is false when the calendar
// or the date system doesn't have it.
func serialDay(text []byte) (day int, ok bool) {
	y, m, d := int(text[0]-'0')*1000+int(text[1]-'0')*100+two(text[2:]), two(text[5:]), two(text[8:])
	if m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, false
	}
	day = dayNumber(y, m, d) - dayNumber(1899, 12, 30)
	return day, day >= serialMin && day <= serialMax
}

// millis is the time of day in HH:MM:SS with up to three digits of a fraction; ok is false for finer ones and for what no
// clock shows.
func millis(text []byte) (ms, digits int, ok bool) {
	h, m, s := two(text), two(text[3:]), two(text[6:])
	if h > 23 || m > 59 || s > 59 {
		return 0, 0, false
	}
	ms = ((h*60+m)*60 + s) * 1000
	if len(text) == 8 {
		return ms, 0, true
	}
	fraction := text[9:]
	if len(fraction) > fractionMax {
		return 0, 0, false
	}
	unit := 100
	for _, ch := range fraction {
		ms += int(ch-'0') * unit
		unit /= 10
	}
	return ms, len(fraction), true
}

// appendSerial appends day and time as a serial number with twelve decimals at most. That is nearest to the time by less
// than half a microsecond, so that whoever rounds to milliseconds gets it back.
func appendSerial(dst []byte, day, ms int) []byte {
	dst = strconv.AppendInt(dst, int64(day), 10)
	if ms == 0 {
		return dst
	}
	const (
		decimals = 12
		// 10^12 decimals of a day over 86,400,000 milliseconds, shortened by 10^5.
		times, over = 10_000_000, 864
	)
	part := (ms*times + over/2) / over
	var digits [decimals]byte
	for i := decimals - 1; i >= 0; i-- {
		digits[i] = '0' + byte(part%10)
		part /= 10
	}
	end := decimals
	for digits[end-1] == '0' {
		end--
	}
	dst = append(dst, '.')
	return append(dst, digits[:end]...)
}

// appendDate is the inverse of serialDay.
func appendDate(dst []byte, day int) []byte {
	y, m, d := civil(day + dayNumber(1899, 12, 30))
	dst = append(dst, '0'+byte(y/1000), '0'+byte(y/100%10), '0'+byte(y/10%10), '0'+byte(y%10), '-')
	dst = appendTwo(dst, m)
	return appendTwo(append(dst, '-'), d)
}

// appendClock is the inverse of millis.
func appendClock(dst []byte, ms, digits int) []byte {
	dst = appendTwo(dst, ms/3_600_000)
	dst = appendTwo(append(dst, ':'), ms/60_000%60)
	dst = appendTwo(append(dst, ':'), ms/1000%60)
	if digits == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := 100; digits > 0; digits, unit = digits-1, unit/10 {
		dst = append(dst, '0'+byte(ms/unit%10))
	}
	return dst
}

// dayNumber and civil count days as Howard Hinnant describes ("chrono-Compatible Low-Level Date Algorithms", 2013), for
// years from 0 on.
func dayNumber(y, m, d int) int {
	if m <= 2 {
		y--
		m += 12
	}
	return 365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d
}

func civil(number int) (y, m, d int) {
	number--
	era := number / 146_097
	day := number - era*146_097
	yearOfEra := (day - day/1460 + day/36_524 - day/146_096) / 365
	day -= 365*yearOfEra + yearOfEra/4 - yearOfEra/100
	month := (5*day + 2) / 153
	d = day - (153*month+2)/5 + 1
	y, m = yearOfEra+era*400, month+3
	if m > 12 {
		y, m = y+1, m-12
	}
	return y, m, d
}

func daysIn(y, m int) int {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func two(text []byte) int { return int(text[0]-'0')*10 + int(text[1]-'0') }

func appendTwo(dst []byte, n int) []byte { return append(dst, '0'+byte(n/10), '0'+byte(n%10)) }
