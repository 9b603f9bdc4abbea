package xlsx

import (
	"fmt"
	"testing"
	"time"
)

func TestEveryDayHasItsSerialNumber(t *testing.T) {
	t.Parallel()
	const cycle = 146_097 // days of 400 years, after which the calendar repeats
	day := time.Date(1900, 3, 1, 0, 0, 0, 0, time.UTC)
	for want := serialMin; want <= serialMax; want++ {
		if want == serialMin+cycle+1 {
			want = serialMax - cycle
			day = time.Date(9999, 12, 31-cycle, 0, 0, 0, 0, time.UTC)
		}
		text := day.AppendFormat(nil, time.DateOnly)
		got, ok := serialDay(text)
		if back := appendDate(nil, got); !ok || got != want || string(back) != string(text) {
			t.Fatalf("%s is %d and back %s, want %d", text, got, back, want)
		}
		day = day.AddDate(0, 0, 1)
	}
	for _, text := range []string{"1900-02-28", "0001-01-01", "2023-02-29", "2100-02-29", "2026-04-31", "2026-00-01", "2026-13-01", "2026-01-00", "2026-01-32"} {
		if day, ok := serialDay([]byte(text)); ok {
			t.Errorf("%s is day %d", text, day)
		}
	}
}

func TestEveryMillisecondSurvivesItsSerialNumber(t *testing.T) {
	t.Parallel()
	const step = 7919 // a prime, so that all digits of a day's milliseconds are met
	for ms := 0; ms < millisPerDay; ms += step {
		for _, day := range []int{serialMin, 46110, serialMax} {
			serial := string(appendSerial(nil, day, ms))
			var float float64
			if _, err := fmt.Sscan(serial, &float); err != nil {
				t.Fatal(err)
			}
			// What a program does that keeps floats and shows milliseconds.
			if shown := int((float-float64(day))*millisPerDay + 0.5); shown != ms {
				t.Fatalf("%d ms on day %d is %s and shows %d ms", ms, day, serial, shown)
			}
			style := styleDateTime + fractionMax
			text, ok := appendCanonical(nil, []byte(serial), style, "datetime")
			want := string(appendDate(nil, day)) + "T" + time.UnixMilli(int64(ms)).UTC().Format("15:04:05.000")
			if !ok || string(text) != want {
				t.Fatalf("%s is read as %s, want %s", serial, text, want)
			}
			if back, digits, ok := millis(text[11:]); !ok || back != ms || digits != fractionMax {
				t.Fatalf("%s is %d ms with %d digits", text, back, digits)
			}
		}
	}
}

func TestEverySuffixHasAStyleAndEveryStyleASuffix(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range suffixes {
		text := suffixText(i)
		if seen[text] {
			t.Errorf("%s has two styles", text)
		}
		seen[text] = true
		if i == 0 {
			continue
		}
		if back, ok := suffixOf(suffixOffset(i)); !ok || back != i {
			t.Errorf("suffix %d is %s and back %d, %v", i, text, back, ok)
		}
	}
	for _, text := range []string{"Z", "+00:00", "-12:00", "+14:00", "+05:45", "+08:45", "+12:45", "+13:45", "-03:30", "+05:30", "-02:30", "+10:30"} {
		if !seen[text] {
			t.Errorf("%s has no style", text)
		}
	}
}
