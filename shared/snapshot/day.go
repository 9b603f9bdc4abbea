package snapshot

import "time"

// DayStart is where a day begins in a zone: the first instant at which its clocks show the calendar date that day reads,
// whatever zone day itself is in. That is midnight, unless the clocks are set forward over it, and the first of two
// midnights where they are set back over it. exists is false for a day that the zone left out by moving over the date line.
func DayStart(day time.Time, zone *time.Location) (start time.Time, exists bool) {
	const whole = 24 * time.Hour
	midnight := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
	// Offsets are less than a day. Between two changes of the offset clocks run evenly, so the day is one stretch there.
	for at := midnight.Add(-whole).In(zone); at.Before(midnight.Add(2 * whole)); {
		_, offset := at.Zone()
		first := midnight.Add(-time.Duration(offset) * time.Second)
		if first.Before(at) {
			first = at
		}
		_, change := at.ZoneBounds()
		if date := first.In(zone); sameDate(date, midnight) && (change.IsZero() || first.Before(change)) {
			return date, true
		}
		if change.IsZero() {
			return time.Time{}, false
		}
		at = change
	}
	return time.Time{}, false
}

// startsDay reports whether an instant is the first of its day in the zone that it is in.
func startsDay(at time.Time) bool {
	start, exists := DayStart(at, at.Location())
	return exists && start.Equal(at)
}

// sameDate reports whether two times read the same calendar date, each in its own zone.
func sameDate(a, b time.Time) bool {
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}

// InstantText writes an instant of whole seconds in RFC 3339 with the offset of its zone, or in UTC where that offset has
// seconds, as it had in many places before about 1900 and in Liberia until 1972: RFC 3339 would lose them.
func InstantText(at time.Time) string {
	if _, offset := at.Zone(); offset%60 != 0 {
		at = at.UTC()
	}
	return at.Format(time.RFC3339)
}
