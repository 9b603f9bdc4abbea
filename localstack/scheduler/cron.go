package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	yearMin = 1970
	yearMax = 2199
)

// cron is an AWS cron expression: minutes, hours, day of month, month, day of
// week, year. It differs from Unix cron in the year, in Sunday being 1, in that
// exactly one of the day fields is "?", and in the signs L, W and #.
type cron struct {
	minutes, hours, months, years set
	day                           dayRule
}

// dayRule says which days of a month match. Exactly one of its forms is used.
type dayRule struct {
	monthDays, weekDays set
	lastMonthDay        bool
	nearestTo           int // day of month whose nearest weekday matches, or 0
	weekDay             int // with nth or lastWeekDay: 1 is Sunday
	nth                 int
	lastWeekDay         bool
}

// set is a set of small numbers.
type set [4]uint64

func (s *set) add(n int)     { s[n/64] |= 1 << (n % 64) }
func (s set) has(n int) bool { return n >= 0 && s[n/64]&(1<<(n%64)) != 0 }
func (s set) empty() bool    { return s == set{} }

// field is one position of the expression.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min on
	steps    bool
}

func parseCron(text string) (*cron, error) {
	parts := strings.Fields(text)
	if len(parts) != 6 {
		return nil, fmt.Errorf("a cron expression has 6 fields (minutes hours day-of-month month day-of-week year), got %d", len(parts))
	}
	months := []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	c := &cron{}
	for _, f := range []struct {
		field
		text string
		into *set
	}{
		{field{"minutes", 0, 59, nil, true}, parts[0], &c.minutes},
		{field{"hours", 0, 23, nil, true}, parts[1], &c.hours},
		{field{"month", 1, 12, months, true}, parts[3], &c.months},
		{field{"year", yearMin, yearMax, nil, true}, parts[5], &c.years},
	} {
		s, err := f.parse(f.text)
		if err != nil {
			return nil, err
		}
		*f.into = s
	}
	day, err := parseDays(parts[2], parts[4])
	if err != nil {
		return nil, err
	}
	c.day = day
	return c, nil
}

func parseDays(monthDay, weekDay string) (dayRule, error) {
	inMonth := field{"day-of-month", 1, 31, nil, true}
	inWeek := field{"day-of-week", 1, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, false}
	switch {
	case (monthDay == "?") == (weekDay == "?"):
		return dayRule{}, fmt.Errorf("exactly one of day-of-month and day-of-week must be \"?\", got %q and %q", monthDay, weekDay)
	case weekDay == "?":
		return parseMonthDay(inMonth, monthDay)
	default:
		return parseWeekDay(inWeek, weekDay)
	}
}

func parseMonthDay(f field, text string) (rule dayRule, err error) {
	if text == "L" {
		rule.lastMonthDay = true
		return rule, nil
	}
	if day, weekday := strings.CutSuffix(text, "W"); weekday {
		rule.nearestTo, err = f.value(day)
		return rule, err
	}
	rule.monthDays, err = f.parse(text)
	return rule, err
}

func parseWeekDay(f field, text string) (rule dayRule, err error) {
	if text == "L" {
		rule.weekDays.add(f.max)
		return rule, nil
	}
	if day, nth, found := strings.Cut(text, "#"); found {
		if rule.weekDay, err = f.value(day); err != nil {
			return rule, err
		}
		rule.nth, err = strconv.Atoi(nth)
		if err != nil || rule.nth < 1 || rule.nth > 5 {
			return rule, fmt.Errorf("day-of-week %q: the number after # must be 1 to 5", text)
		}
		return rule, nil
	}
	if day, last := strings.CutSuffix(text, "L"); last {
		rule.lastWeekDay = true
		rule.weekDay, err = f.value(day)
		return rule, err
	}
	rule.weekDays, err = f.parse(text)
	return rule, err
}

// parse reads a list of "*", values, ranges and steps.
func (f field) parse(text string) (set, error) {
	var out set
	for _, item := range strings.Split(text, ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(stepText)
			if err != nil || n < 1 || n > f.max || !f.steps {
				return set{}, fmt.Errorf("%s %q: the step %q is not allowed here", f.name, text, stepText)
			}
			step = n
		}
		from, to := f.min, f.max
		if span != "*" {
			fromText, toText, ranged := strings.Cut(span, "-")
			var err error
			if from, err = f.value(fromText); err != nil {
				return set{}, err
			}
			switch {
			case ranged:
				if to, err = f.value(toText); err != nil {
					return set{}, err
				}
			case !stepped:
				to = from
			}
			if from > to {
				return set{}, fmt.Errorf("%s %q: the range runs backwards; write it as two ranges", f.name, text)
			}
		}
		for n := from; n <= to; n += step {
			out.add(n - f.base())
		}
	}
	return out, nil
}

// base is subtracted from values before they enter a set.
func (f field) base() int {
	if f.min == yearMin {
		return yearMin
	}
	return 0
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(name, text) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max || strings.ContainsAny(text, "+-") {
		return 0, fmt.Errorf("%s: %q is not a value from %d to %d", f.name, text, f.min, f.max)
	}
	return n, nil
}

// next is the first time after the given one, or the zero time when there is none.
// It walks over wall-clock minutes, so that a repeated hour counts once.
func (c *cron) next(after time.Time, zone *time.Location) time.Time {
	local := after.In(zone)
	wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC).Add(time.Minute)
	for wall.Year() <= yearMax {
		year, month, day := wall.Date()
		switch {
		case !c.years.has(year - yearMin):
			wall = time.Date(year+1, time.January, 1, 0, 0, 0, 0, time.UTC)
		case !c.months.has(int(month)):
			wall = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
		case !c.day.matches(wall):
			wall = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
		case !c.hours.has(wall.Hour()):
			wall = wall.Truncate(time.Hour).Add(time.Hour)
		case !c.minutes.has(wall.Minute()):
			wall = wall.Add(time.Minute)
		default:
			if at, exists := firstInstant(wall, zone); exists && at.After(after) {
				return at
			}
			wall = wall.Add(time.Minute)
		}
	}
	return time.Time{}
}

func (r dayRule) matches(wall time.Time) bool {
	day, weekDay := wall.Day(), int(wall.Weekday())+1
	last := time.Date(wall.Year(), wall.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	switch {
	case r.lastMonthDay:
		return day == last
	case r.nearestTo > 0:
		return day == nearestWeekday(wall, r.nearestTo, last)
	case r.nth > 0:
		return weekDay == r.weekDay && (day-1)/7+1 == r.nth
	case r.lastWeekDay:
		return weekDay == r.weekDay && day+7 > last
	case !r.weekDays.empty():
		return r.weekDays.has(weekDay)
	default:
		return r.monthDays.has(day)
	}
}

// nearestWeekday is the day of wall's month that is the weekday nearest to the
// target without leaving the month, or 0 when the month has no such target.
func nearestWeekday(wall time.Time, target, last int) int {
	if target > last {
		return 0
	}
	switch time.Date(wall.Year(), wall.Month(), target, 0, 0, 0, 0, time.UTC).Weekday() {
	case time.Saturday:
		if target == 1 {
			return 3
		}
		return target - 1
	case time.Sunday:
		if target == last {
			return target - 2
		}
		return target + 1
	default:
		return target
	}
}

// firstInstant is the first instant at which clocks in zone show wall, whose
// fields are given as UTC. It does not exist inside a skipped hour.
func firstInstant(wall time.Time, zone *time.Location) (first time.Time, exists bool) {
	for _, probe := range []time.Duration{-26 * time.Hour, 0, 26 * time.Hour} {
		_, offset := wall.Add(probe).In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		_, actual := at.In(zone).Zone()
		if actual == offset && (!exists || at.Before(first)) {
			first, exists = at, true
		}
	}
	return first, exists
}
