package snapshot_test

import (
	"archive/zip"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/snapshot"
)

func TestADayBeginsAtItsFirstInstantInTheZone(t *testing.T) {
	t.Parallel()
	cases := []struct{ why, zone, day, want string }{
		{"midnight", "Asia/Shanghai", "2026-01-31", "2026-01-31T00:00:00+08:00"},
		{"the day after a gap at midnight", "America/Havana", "2026-03-09", "2026-03-09T00:00:00-04:00"},
		{"no midnight", "America/Havana", "2026-03-08", "2026-03-08T01:00:00-04:00"},
		{"no midnight", "America/Santiago", "2026-09-06", "2026-09-06T01:00:00-03:00"},
		{"no midnight", "Atlantic/Azores", "2026-03-29", "2026-03-29T01:00:00Z"},
		{"no midnight", "America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00"},
		{"no midnight", "Asia/Beirut", "2026-03-29", "2026-03-29T01:00:00+03:00"},
		{"no midnight", "Africa/Cairo", "2026-04-24", "2026-04-24T01:00:00+03:00"},
		{"no first half hour", "America/Toronto", "1919-03-31", "1919-03-31T00:30:00-04:00"},
		{"two midnights", "America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00"},
		{"two midnights", "Atlantic/Azores", "2026-10-25", "2026-10-25T00:00:00Z"},
		{"a midnight that sets the clock back", "America/Sao_Paulo", "2018-02-18", "2018-02-18T00:00:00-03:00"},
		{"a minute of the day before the clock is set back to the one before", "America/St_Johns", "2010-11-07", "2010-11-07T00:00:00-02:30"},
		{"the day twice, on both sides of the date line", "America/Juneau", "1867-10-18", "1867-10-17T08:57:41Z"},
		{"the day after one that was left out", "Pacific/Apia", "2011-12-31", "2011-12-31T00:00:00+14:00"},
		{"a left out day", "Pacific/Apia", "2011-12-30", ""},
		{"a left out day", "Pacific/Kwajalein", "1993-08-21", ""},
		{"an offset of seconds, which RFC 3339 can't write", "America/Mexico_City", "1900-01-01", "1900-01-01T06:36:36Z"},
		{"the first day there is", "UTC", "0001-01-01", "0001-01-01T00:00:00Z"},
		{"the last day there is", "America/Havana", "9999-12-31", "9999-12-31T00:00:00-05:00"},
	}
	for _, c := range cases {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if start, exists := snapshot.DayStart(day, zone); exists {
			got = snapshot.InstantText(start)
		}
		if got != c.want {
			t.Errorf("%s: %s in %s begins at %q, want %q", c.why, c.day, c.zone, got, c.want)
		}
	}
}

func TestInEveryZoneTheInstantBeforeADaysFirstIsOfAnother(t *testing.T) {
	t.Parallel()
	for name, zone := range zones(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, year := range []int{1993, 2010, 2011, 2018, 2026} {
				before := time.Time{}
				for day := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == year; day = day.AddDate(0, 0, 1) {
					text := day.Format(time.DateOnly)
					is := func(at time.Time) bool { return at.In(zone).Format(time.DateOnly) == text }
					start, exists := snapshot.DayStart(day, zone)
					if !exists {
						start = day.Add(50 * time.Hour)
					} else if !is(start) || !start.After(before) {
						t.Fatalf("%s begins at %s, the day before at %s", text, start, before)
					}
					if is(start.Add(-1)) {
						t.Fatalf("%s begins at %s, and the nanosecond before is of it too", text, start)
					}
					// Offsets are less than a day, so nothing of the day lies further away.
					for at := start.Add(-15 * time.Minute); at.After(day.Add(-25 * time.Hour)); at = at.Add(-2 * time.Hour) {
						if is(at) {
							t.Fatalf("%s begins at %s, but %s is of it", text, start, at.In(zone))
						}
					}
					if exists {
						before = start
					}
				}
			}
		})
	}
}

// zones reads the time zone database that Go embeds, each zone of those with several names once.
func zones(t *testing.T) map[string]*time.Location {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	found, seen := map[string]*time.Location{}, map[string]bool{}
	for _, entry := range archive.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		file, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(file)
		if err != nil || file.Close() != nil {
			t.Fatalf("%s: %v", entry.Name, err)
		}
		if seen[string(data)] {
			continue
		}
		seen[string(data)] = true
		if found[entry.Name], err = time.LoadLocationFromTZData(entry.Name, data); err != nil {
			t.Fatalf("%s: %v", entry.Name, err)
		}
	}
	if len(found) < 300 {
		t.Fatalf("the database has %d zones", len(found))
	}
	return found
}

// spanned freezes a span of a source whose time column is of a kind.
func spanned(t *testing.T, kind, zone, from, to string) (snapshot.Snapshot, error) {
	t.Helper()
	d := ordersDefinition(t)
	d.Source.TimeColumn.Kind = row.Kind(kind)
	asked, err := snapshot.Decode([]byte(`{"definition": "orders", "purpose": "p", "zone": "` + zone + `", "span": {"from": "` + from + `", "to": "` + to + `"}}`))
	if err != nil {
		t.Fatal(err)
	}
	return frozenUnder(asked, d, 1, alice(), now())
}

func TestASpanOfADayWithoutMidnightIsThatDay(t *testing.T) {
	t.Parallel()
	cases := []struct{ kind, zone, from, to, since, until string }{
		{"date", "America/Havana", "2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00", "2026-03-08", "2026-03-09"},
		{"date", "America/Havana", "2026-03-07T00:00:00-05:00", "2026-03-08T05:00:00Z", "2026-03-07", "2026-03-08"},
		{"date", "Africa/Cairo", "2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00", "2026-04-24", "2026-04-25"},
		{"date", "America/Havana", "2025-11-02T00:00:00-04:00", "2025-11-03T00:00:00-05:00", "2025-11-02", "2025-11-03"},
		{"date", "Pacific/Apia", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-29", "2011-12-31"},
		{"timestamp", "America/Havana", "2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		// A wall clock that nobody set shows every time, also those that the zone's clocks left out.
		{"datetime", "Africa/Cairo", "2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00", "2026-04-24T00:00:00", "2026-04-25T00:00:00"},
		{"datetime", "Africa/Cairo", "2026-04-23T00:00:00+02:00", "2026-04-23T22:00:00Z", "2026-04-23T00:00:00", "2026-04-24T00:00:00"},
		{"datetime", "Africa/Cairo", "2026-04-23T23:30:00+02:00", "2026-04-24T01:30:00+03:00", "2026-04-23T23:30:00", "2026-04-24T01:30:00"},
		{"datetime", "Asia/Shanghai", "2026-04-24T01:00:00+08:00", "2026-04-24T01:00:00.5+08:00", "2026-04-24T01:00:00", "2026-04-24T01:00:00.5"},
		{"datetime", "America/Havana", "2025-11-02T00:00:00-04:00", "2025-11-03T00:00:00-05:00", "2025-11-02T00:00:00", "2025-11-03T00:00:00"},
	}
	for _, c := range cases {
		s, err := spanned(t, c.kind, c.zone, c.from, c.to)
		if err != nil || s.Since != c.since || s.Until != c.until {
			t.Errorf("%+v: from %q until %q, %v", c, s.Since, s.Until, err)
		}
	}
}

func TestAnEndWithinADayIsToldTheDaysBeginningWhichIsTaken(t *testing.T) {
	t.Parallel()
	cases := []struct{ zone, from, to, begins string }{
		{"America/Havana", "2026-03-07T23:00:00-05:00", "2026-03-09T00:00:00-04:00", "2026-03-07T00:00:00-05:00"},
		{"America/Havana", "2026-03-08T12:00:00-04:00", "2026-03-09T00:00:00-04:00", "2026-03-08T01:00:00-04:00"},
		{"America/Havana", "2026-03-08T01:00:00.000000001-04:00", "2026-03-09T00:00:00-04:00", "2026-03-08T01:00:00-04:00"},
		// The second midnight of the day.
		{"America/Havana", "2025-11-02T00:00:00-05:00", "2025-11-03T00:00:00-05:00", "2025-11-02T00:00:00-04:00"},
		{"Africa/Monrovia", "1971-12-31T12:00:00Z", "1972-01-02T00:44:30Z", "1971-12-31T00:44:30Z"},
	}
	for _, c := range cases {
		_, err := spanned(t, "date", c.zone, c.from, c.to)
		if want := `give the beginning of a day, as in "` + c.begins + `"`; job.CodeOf(err) != "span_within_day" || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
		if _, err := spanned(t, "date", c.zone, c.begins, c.to); err != nil {
			t.Errorf("%+v: what is advised is refused: %v", c, err)
		}
	}
}
