package scheduler

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// expression says when a schedule is due. Exactly one of its forms is used.
type expression struct {
	zone *time.Location
	at   time.Time
	rate time.Duration
	cron *cron
}

// parseExpression reads at(…), rate(…) or cron(…) in an IANA time zone; no zone
// is UTC. Its errors are fit for the caller.
func parseExpression(text, zoneName string) (*expression, error) {
	if zoneName == "" {
		zoneName = "UTC"
	}
	zone, err := time.LoadLocation(zoneName)
	if err != nil || zoneName == "Local" {
		return nil, fmt.Errorf("invalid schedule expression timezone %q: use an IANA name such as Asia/Shanghai", zoneName)
	}
	form, inner, found := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	if !found || !closed || len(text) > expressionCharsMax {
		return nil, fmt.Errorf("invalid schedule expression %q: write at(yyyy-mm-ddThh:mm:ss), rate(value unit) or cron(fields)", text)
	}
	x := &expression{zone: zone}
	switch form {
	case "at":
		x.at, err = parseAt(inner, zone)
	case "rate":
		x.rate, err = parseRate(inner)
	case "cron":
		x.cron, err = parseCron(inner)
	default:
		err = fmt.Errorf("it must start with at, rate or cron")
	}
	if err != nil {
		return nil, fmt.Errorf("invalid schedule expression %q: %w", text, err)
	}
	return x, nil
}

func parseAt(text string, zone *time.Location) (time.Time, error) {
	const layout = "2006-01-02T15:04:05"
	wall, err := time.Parse(layout, text)
	if err != nil || len(text) != len(layout) {
		return time.Time{}, fmt.Errorf("the time must be yyyy-mm-ddThh:mm:ss without zone or fraction; the zone goes into ScheduleExpressionTimezone")
	}
	if at, exists := firstInstant(wall, zone); exists {
		return at, nil
	}
	_, before := wall.Add(-26 * time.Hour).In(zone).Zone()
	return wall.Add(-time.Duration(before) * time.Second), nil
}

func parseRate(text string) (time.Duration, error) {
	parts := regexp.MustCompile(`^([1-9][0-9]{0,5}) (minute|hour|day)s?$`).FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("a rate is a positive whole number, a space, and minutes, hours or days")
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0, fmt.Errorf("a rate's value is a whole number: %w", err)
	}
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[parts[2]]
	if time.Duration(n) > 100*365*24*time.Hour/unit {
		return 0, fmt.Errorf("a rate of more than 100 years never fires; shorten it")
	}
	return time.Duration(n) * unit, nil
}

// bounds is the life of a schedule; a zero end is no end. Begin is StartDate, or
// the time of creation; one-time schedules ignore both.
type bounds struct {
	begin, end time.Time
}

// next is the first time strictly after the given one, or the zero time when
// the schedule is complete.
func (x *expression) next(after time.Time, b bounds) time.Time {
	var due time.Time
	switch {
	case x.cron != nil:
		if before := b.begin.Add(-time.Nanosecond); before.After(after) {
			after = before
		}
		due = x.cron.next(after, x.zone)
	case x.rate > 0:
		due = b.begin
		if !due.After(after) {
			due = due.Add((after.Sub(due)/x.rate + 1) * x.rate)
		}
	default:
		if x.at.After(after) {
			return x.at
		}
		return time.Time{}
	}
	if !b.end.IsZero() && due.After(b.end) {
		return time.Time{}
	}
	return due
}

// oneTime tells whether the schedule fires once only.
func (x *expression) oneTime() bool { return x.cron == nil && x.rate == 0 }
