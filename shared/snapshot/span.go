package snapshot

import (
	"strconv"
	"time"

	"sealift/shared/job"
	"sealift/shared/row"
)

// moment is a time of a request; known is false when it is at fault, or when it depends on something that is.
type moment struct {
	at    time.Time
	known bool
}

// span freezes the business time and the cutoff. Each of the three times is judged, and then, as far as they are known, how
// they stand to each other.
func (f *freezer) span(s *Snapshot) {
	asOf := f.cutoff()
	if asOf.known {
		s.AsOf = asOf.at.Format("2006-01-02T15:04:05.999999999Z07:00")
	}
	var from moment
	if f.request.Span.From == "" {
		f.refuse("span_missing", "/span/from", "/span/from is missing; give the business time from which rows are wanted, as in \"2026-01-01T00:00:00Z\"")
	} else {
		from = f.instant("/span/from", f.request.Span.From)
	}
	to := moment{asOf.at, asOf.known && !f.gone("/span/to")}
	if f.request.Span.To != "" {
		to = f.instant("/span/to", f.request.Span.To)
	}
	if !from.known || !to.known || !f.ordered(from.at, to.at) || !asOf.known {
		return
	}
	if asOf.at.Before(to.at) {
		to = asOf
	}
	if !from.at.Before(to.at) {
		f.afterCutoff(s.AsOf)
		return
	}
	f.within(s, from.at, to.at)
}

// cutoff is the moment up to which rows are wanted: the one that is asked for, or else that up to which they are settled.
func (f *freezer) cutoff() moment {
	settled := f.now.UTC().Truncate(time.Millisecond).Add(-time.Duration(f.definition.Consistency.SettleSeconds) * time.Second)
	if f.request.AsOf == "" {
		return moment{settled, !f.gone("/as_of")}
	}
	given := f.instant("/as_of", f.request.AsOf)
	if given.known && f.known && given.at.After(settled) {
		f.refuse("as_of_future", "/as_of", "/as_of is %s; rows are settled up to %s, so a snapshot can't be of a later time", f.request.AsOf, settled.Format(time.RFC3339))
		given.known = false
	}
	return given
}

// ordered refuses a span that ends before it begins, or is too wide.
func (f *freezer) ordered(from, to time.Time) bool {
	if f.request.Span.To != "" && !from.Before(to) {
		f.refuse("span_empty", "/span", "/span/from (%s) is not before /span/to (%s)", f.request.Span.From, f.request.Span.To)
		return false
	}
	if most := time.Duration(f.definition.Limits.SpanDaysMax) * 24 * time.Hour; f.known && to.Sub(from) > most {
		f.refuse("span_too_wide", "/span", "/span covers %s days; definition %s allows %d: ask for several shorter spans",
			daysBetween(from, to), f.definition.Name, f.definition.Limits.SpanDaysMax)
		return false
	}
	return true
}

// within freezes the span in the words of the definition's business time.
func (f *freezer) within(s *Snapshot, from, to time.Time) {
	if !f.known || f.location == nil {
		return
	}
	kind := f.definition.Source.TimeColumn.Kind
	if kind == row.Date && !f.wholeDays() {
		return
	}
	s.Since, s.Until = formatTime(kind, from, f.location), formatTime(kind, to, f.location)
	if kind != row.Timestamp && s.Since >= s.Until {
		f.refuse("span_empty", "/span", "/span is from %s until %s on the clocks of zone %s, where the hour is set back; give ends outside of that hour", s.Since, s.Until, f.location)
	}
}

// daysBetween is how many days lie between two times, in tenths where they aren't whole ones and rounded up, so that a span
// never seems to have as many days as it may. It isn't taken from a Duration, which holds 292 years at most.
func daysBetween(from, to time.Time) string {
	const tenth = 24 * 60 * 60 / 10
	seconds := to.Unix() - from.Unix()
	if to.Nanosecond() > from.Nanosecond() {
		seconds++
	}
	return strconv.FormatFloat(float64((seconds+tenth-1)/tenth)/10, 'f', -1, 64)
}

// afterCutoff refuses a span that begins at the cutoff or later, wherever the cutoff comes from.
func (f *freezer) afterCutoff(asOf string) {
	if f.request.AsOf != "" {
		f.refuse("span_empty", "/span", "/span/from (%s) is not before the cutoff, /as_of (%s)", f.request.Span.From, f.request.AsOf)
		return
	}
	f.refuse("span_empty", "/span", "/span/from (%s) is not before the cutoff, %s; nothing has happened in that time yet", f.request.Span.From, asOf)
}

// wholeDays refuses ends of a span that lie within a day of the zone, for a source whose business time knows days only.
func (f *freezer) wholeDays() bool {
	whole := true
	ends := []struct{ field, text string }{{"/span/from", f.request.Span.From}, {"/span/to", f.request.Span.To}, {"/as_of", f.request.AsOf}}
	for _, end := range ends {
		if end.text == "" {
			continue
		}
		instant := f.instant(end.field, end.text)
		if day, _ := DayStart(instant.at.In(f.location), f.location); instant.known && !day.Equal(instant.at) {
			whole = false
			f.refuse("span_within_day", end.field, "%s is %s, within a day of zone %s; definition %s knows days only: give the beginning of a day, as in %q",
				end.field, job.Clip(end.text), f.location, f.definition.Name, InstantText(day))
		}
	}
	return whole
}

func (f *freezer) instant(field, text string) moment {
	canonical, err := parseInstant(text)
	if err != nil {
		f.refuse("time_malformed", field, "%s is %q; use RFC 3339 with an offset and at most nine decimals, as in \"2026-01-31T00:00:00Z\" or \"2026-01-31T00:00:00+08:00\"", field, job.Clip(text))
		return moment{}
	}
	instant, err := time.Parse(time.RFC3339, canonical)
	if err != nil {
		f.refuse("time_malformed", field, "%s is not a time", field)
		return moment{}
	}
	return moment{instant, true}
}
