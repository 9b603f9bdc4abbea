package snapshot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
	"sealift/shared/row"
)

// Freeze checks a request against the definition and the principal's rights and turns it into a snapshot as of now. An
// error is Invalid and names the field, what is wrong with it and what is allowed; what the principal may not see is
// refused in the same words as what doesn't exist.
func Freeze(request Request, d definition.Definition, version int64, who policy.Principal, now time.Time) (Snapshot, error) {
	s := Snapshot{
		Schema: 1, Tenant: who.Tenant, Applicant: who.Subject, Definition: d.Name, DefinitionVersion: version,
		Layout: LayoutFile, Policy: policy.Version,
	}
	f := &freezer{request: request, definition: d, who: who, now: now}
	steps := []func(*Snapshot) error{f.purpose, f.knownColumns, f.columns, f.filters, f.zone, f.span, f.format, f.layout, f.fileName}
	for _, step := range steps {
		if err := step(&s); err != nil {
			return Snapshot{}, err
		}
	}
	for _, key := range d.Source.Key {
		s.Order = append(s.Order, key.Name)
	}
	if size := len(s.Encode()); size > limits.SnapshotBytesMax {
		return Snapshot{}, refuse("request_too_large", "", "the request has %d bytes in its canonical form; at most %d are allowed: use fewer filter values, or several requests", size, limits.SnapshotBytesMax)
	}
	return s, nil
}

type freezer struct {
	request    Request
	definition definition.Definition
	who        policy.Principal
	now        time.Time
	location   *time.Location
}

func refuse(code, field, format string, args ...any) error {
	return &job.Error{Kind: job.Invalid, Code: code, Field: field, Detail: fmt.Sprintf(format, args...)}
}

const purposeBytesMax = 256

func (f *freezer) purpose(s *Snapshot) error {
	s.Purpose = strings.TrimSpace(f.request.Purpose)
	switch {
	case s.Purpose == "":
		return refuse("purpose_missing", "/purpose", "/purpose is missing; say what the export is for")
	case len(s.Purpose) > purposeBytesMax:
		return refuse("purpose_too_long", "/purpose", "/purpose has %d bytes; at most %d are allowed", len(s.Purpose), purposeBytesMax)
	case len(f.definition.Purposes) > 0 && !slices.Contains(f.definition.Purposes, s.Purpose):
		return refuse("purpose_not_allowed", "/purpose", "/purpose is %q; definition %s allows %s", s.Purpose, f.definition.Name, quoted(f.definition.Purposes))
	}
	return nil
}

func (f *freezer) filters(s *Snapshot) error {
	if len(f.request.Filters) > limits.FiltersMax {
		return refuse("filters_too_many", "/filters", "/filters has %d entries; at most %d are allowed", len(f.request.Filters), limits.FiltersMax)
	}
	s.Filters = []Wanted{}
	for i, filter := range f.request.Filters {
		wanted, err := f.filter(fmt.Sprintf("/filters/%d", i), filter)
		if err != nil {
			return err
		}
		s.Filters = append(s.Filters, wanted)
	}
	s.Filters = sorted(s.Filters)
	return nil
}

func (f *freezer) filter(where string, filter Filter) (Wanted, error) {
	// That there is the column was judged with all the others.
	column, _ := f.column(filter.Column)
	if policy.MaskFor(f.who, column) != "" {
		// A filter on a masked column would tell its values by bisection.
		return Wanted{}, refuse("filter_not_allowed", where+"/column", "%s/column is %q, whose values are masked for you; it can't be filtered", where, column.Name)
	}
	if !slices.Contains(column.Ops, filter.Op) {
		return Wanted{}, refuse("filter_not_allowed", where+"/op", "%s/op is %q; column %s %s", where, job.Clip(string(filter.Op)), column.Name, opsText(column.Ops))
	}
	wanted := Wanted{Column: column.Name, Op: filter.Op}
	switch filter.Op {
	case row.IsNull, row.NotNull:
		if filter.Value != nil || filter.Values != nil {
			return Wanted{}, refuse("filter_value", where, "%s has a value; the op %s takes none", where, filter.Op)
		}
		return wanted, nil
	case row.In:
		if filter.Value != nil || len(filter.Values) == 0 || len(filter.Values) > limits.FilterValuesMax {
			return Wanted{}, refuse("filter_value", where+"/values", "%s: the op in takes values, a list of 1 to %d", where, limits.FilterValuesMax)
		}
	case row.Equal, row.NotEqual, row.Less, row.LessEqual, row.Greater, row.GreaterEqual:
		if filter.Values != nil {
			return Wanted{}, refuse("filter_value", where+"/values", "%s: the op %s takes one value, not values", where, filter.Op)
		}
	}
	raws, field := filter.Values, "/values"
	if filter.Op != row.In {
		raws, field = append(raws, filter.Value), "/value"
	}
	for i, raw := range raws {
		place := where + field
		if filter.Op == row.In {
			place = fmt.Sprintf("%s/%d", place, i)
		}
		value, err := canonicalValue(column.Kind, raw)
		if err != nil {
			return Wanted{}, refuse("filter_value", place, "%s %s", place, err)
		}
		wanted.Values = append(wanted.Values, value)
	}
	return wanted.sorted(), nil
}

// zoneDefault is the zone of a request that names none.
const zoneDefault = "UTC"

func (f *freezer) zone(s *Snapshot) error {
	s.Zone = f.request.Zone
	if s.Zone == "" {
		s.Zone = zoneDefault
	}
	location, err := time.LoadLocation(s.Zone)
	if err != nil || !portableZone(s.Zone) {
		return refuse("zone_unknown", "/zone", "/zone is %q; use a name of the IANA time zone database, as in \"Asia/Shanghai\" or \"UTC\"", job.Clip(s.Zone))
	}
	f.location = location
	return nil
}

// portableZone refuses names that mean something else on another machine.
func portableZone(name string) bool {
	switch name {
	case "Local", "localtime", "posixrules", "Factory":
		return false
	}
	return !strings.HasPrefix(name, "right/") && !strings.HasPrefix(name, "posix/")
}

func (f *freezer) span(s *Snapshot) error {
	kind := f.definition.Source.TimeColumn.Kind
	asOf := f.now.UTC().Truncate(time.Millisecond).Add(-time.Duration(f.definition.Consistency.SettleSeconds) * time.Second)
	if f.request.AsOf != "" {
		given, err := f.instant("/as_of", f.request.AsOf)
		if err != nil {
			return err
		}
		if given.After(asOf) {
			return refuse("as_of_future", "/as_of", "/as_of is %s; rows are settled up to %s, so a snapshot can't be of a later time", f.request.AsOf, asOf.Format(time.RFC3339))
		}
		asOf = given
	}
	if f.request.Span.From == "" {
		return refuse("span_missing", "/span/from", "/span/from is missing; give the business time from which rows are wanted, as in \"2026-01-01T00:00:00Z\"")
	}
	from, err := f.instant("/span/from", f.request.Span.From)
	if err != nil {
		return err
	}
	to := asOf
	if f.request.Span.To != "" {
		if to, err = f.instant("/span/to", f.request.Span.To); err != nil {
			return err
		}
	}
	if f.request.Span.To != "" && !from.Before(to) {
		return refuse("span_empty", "/span", "/span/from (%s) is not before /span/to (%s)", f.request.Span.From, f.request.Span.To)
	}
	if most := time.Duration(f.definition.Limits.SpanDaysMax) * 24 * time.Hour; to.Sub(from) > most {
		return refuse("span_too_wide", "/span", "/span covers %s days; definition %s allows %d: ask for several shorter spans",
			daysBetween(from, to), f.definition.Name, f.definition.Limits.SpanDaysMax)
	}
	s.AsOf = asOf.Format("2006-01-02T15:04:05.999999999Z07:00")
	if asOf.Before(to) {
		to = asOf
	}
	if !from.Before(to) {
		return f.afterCutoff(s.AsOf)
	}
	if kind == row.Date {
		if err := f.wholeDays(); err != nil {
			return err
		}
	}
	s.Since, s.Until = formatTime(kind, from, f.location), formatTime(kind, to, f.location)
	if kind != row.Timestamp && s.Since >= s.Until {
		return refuse("span_empty", "/span", "/span is from %s until %s on the clocks of zone %s, where the hour is set back; give ends outside of that hour", s.Since, s.Until, f.location)
	}
	return nil
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
func (f *freezer) afterCutoff(asOf string) error {
	if f.request.AsOf != "" {
		return refuse("span_empty", "/span", "/span/from (%s) is not before the cutoff, /as_of (%s)", f.request.Span.From, f.request.AsOf)
	}
	return refuse("span_empty", "/span", "/span/from (%s) is not before the cutoff, %s; nothing has happened in that time yet", f.request.Span.From, asOf)
}

// wholeDays refuses ends of a span that lie within a day of the zone, for a source whose business time knows days only.
func (f *freezer) wholeDays() error {
	ends := []struct{ field, text string }{{"/span/from", f.request.Span.From}, {"/span/to", f.request.Span.To}, {"/as_of", f.request.AsOf}}
	for _, end := range ends {
		if end.text == "" {
			continue
		}
		instant, err := f.instant(end.field, end.text)
		if err != nil {
			return err
		}
		if day, _ := DayStart(instant.In(f.location), f.location); !day.Equal(instant) {
			return refuse("span_within_day", end.field, "%s is %s, within a day of zone %s; definition %s knows days only: give the beginning of a day, as in %q",
				end.field, job.Clip(end.text), f.location, f.definition.Name, InstantText(day))
		}
	}
	return nil
}

func (f *freezer) instant(field, text string) (time.Time, error) {
	canonical, err := parseInstant(text)
	if err != nil {
		return time.Time{}, refuse("time_malformed", field, "%s is %q; use RFC 3339 with an offset, as in \"2026-01-31T00:00:00Z\" or \"2026-01-31T00:00:00+08:00\"", field, job.Clip(text))
	}
	instant, err := time.Parse(time.RFC3339, canonical)
	if err != nil {
		return time.Time{}, refuse("time_malformed", field, "%s is not a time", field)
	}
	return instant, nil
}

func quoted(names []string) string {
	return strings.Join(names, ", ")
}

func opsText(ops []row.Op) string {
	if len(ops) == 0 {
		return "can't be filtered"
	}
	texts := make([]string, len(ops))
	for i, op := range ops {
		texts[i] = string(op)
	}
	return "can be filtered with " + strings.Join(texts, ", ")
}
