//go:build !aws

package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNextTimes(t *testing.T) {
	t.Parallel()
	const ny = "America/New_York"
	cases := []struct {
		name, expression, zone, after string
		want                          []string
	}{
		{"every five minutes", "cron(0/5 * * * ? *)", "", "2026-03-01T10:02:30Z", []string{"2026-03-01T10:05:00Z", "2026-03-01T10:10:00Z"}},
		{"a time that is now is over", "cron(0 10 * * ? *)", "", "2026-03-01T10:00:00Z", []string{"2026-03-02T10:00:00Z"}},
		{"weekdays by name", "cron(15 10 ? * MON-FRI *)", "", "2026-05-29T11:00:00Z", []string{"2026-06-01T10:15:00Z"}},
		{"Sunday is 1", "cron(0 8 ? * 1 *)", "", "2026-05-29T11:00:00Z", []string{"2026-05-31T08:00:00Z"}},
		{"lists, ranges and steps", "cron(5,35 8-10/2 1,15 JAN,7 ? *)", "", "2026-01-15T10:10:00Z", []string{"2026-01-15T10:35:00Z", "2026-07-01T08:05:00Z"}},
		{"last day of the month", "cron(0 0 L * ? *)", "", "2028-01-31T00:00:00Z", []string{"2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z"}},
		{"last Friday", "cron(0 0 ? * 6L *)", "", "2026-05-01T00:00:00Z", []string{"2026-05-29T00:00:00Z", "2026-06-26T00:00:00Z"}},
		{"last day of the week", "cron(0 0 ? * L *)", "", "2026-05-25T00:00:00Z", []string{"2026-05-30T00:00:00Z"}},
		{"third Tuesday", "cron(0 0 ? * TUE#3 *)", "", "2026-05-01T00:00:00Z", []string{"2026-05-19T00:00:00Z", "2026-06-16T00:00:00Z"}},
		{"fifth Monday skips months without", "cron(0 0 ? * 2#5 *)", "", "2026-03-31T00:00:00Z", []string{"2026-06-29T00:00:00Z", "2026-08-31T00:00:00Z"}},
		{"weekday nearest to a Saturday", "cron(0 0 15W * ? *)", "", "2026-08-01T00:00:00Z", []string{"2026-08-14T00:00:00Z"}},
		{"weekday nearest to a Sunday", "cron(0 0 15W * ? *)", "", "2026-11-01T00:00:00Z", []string{"2026-11-16T00:00:00Z"}},
		{"nearest weekday stays in the month at its start", "cron(0 0 1W * ? *)", "", "2026-07-31T00:00:00Z", []string{"2026-08-03T00:00:00Z"}},
		{"nearest weekday stays in the month at its end", "cron(0 0 31W * ? *)", "", "2026-05-01T00:00:00Z", []string{"2026-05-29T00:00:00Z", "2026-07-31T00:00:00Z"}},
		{"day 31 skips short months", "cron(0 0 31 * ? *)", "", "2026-03-31T00:00:00Z", []string{"2026-05-31T00:00:00Z"}},
		{"a year that is over", "cron(0 0 1 1 ? 2020-2025)", "", "2026-01-01T00:00:00Z", []string{""}},
		{"a day that never comes", "cron(0 0 30 2 ? *)", "", "2026-01-01T00:00:00Z", []string{""}},
		{"every second year from 2027", "cron(0 0 1 1 ? 2027/2)", "", "2026-01-01T00:00:00Z", []string{"2027-01-01T00:00:00Z", "2029-01-01T00:00:00Z"}},
		{"a zone without clock changes", "cron(0 9 * * ? *)", "Asia/Shanghai", "2026-03-01T00:00:00Z", []string{"2026-03-01T01:00:00Z"}},
		{"local morning over both clock changes", "cron(0 9 ? * SUN *)", ny, "2026-03-01T15:00:00Z", []string{"2026-03-08T13:00:00Z", "2026-03-15T13:00:00Z"}},
		{"a time that the spring change skips is not fired", "cron(30 2 * * ? *)", ny, "2026-03-07T12:00:00Z", []string{"2026-03-09T06:30:00Z"}},
		{"a time that the autumn change repeats is fired once, first", "cron(30 1 * * ? *)", ny, "2026-10-31T12:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
		{"half-hourly over the repeated hour", "cron(0/30 * * * ? *)", ny, "2026-11-01T05:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-01T07:00:00Z"}},
		{"half-hourly from inside the repeated hour", "cron(0/30 * * * ? *)", ny, "2026-11-01T06:10:00Z", []string{"2026-11-01T07:00:00Z"}},
		{"a change of half an hour", "cron(15 2 * * ? *)", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", []string{"2026-10-04T15:15:00Z"}},
		{"at in UTC", "at(2026-06-01T12:00:01)", "", "2026-01-01T00:00:00Z", []string{"2026-06-01T12:00:01Z", ""}},
		{"at in a zone", "at(2026-06-01T12:00:00)", ny, "2026-01-01T00:00:00Z", []string{"2026-06-01T16:00:00Z"}},
		{"at in a repeated hour is the first", "at(2026-11-01T01:30:00)", ny, "2026-01-01T00:00:00Z", []string{"2026-11-01T05:30:00Z"}},
		{"at in a skipped hour is as much later as the clock moved", "at(2026-03-08T02:30:00)", ny, "2026-01-01T00:00:00Z", []string{"2026-03-08T07:30:00Z"}},
		{"rate counts from the beginning", "rate(15 minutes)", "", "2026-01-01T00:20:00Z", []string{"2026-01-01T00:30:00Z", "2026-01-01T00:45:00Z"}},
		{"rate first fires at the beginning", "rate(1 day)", "", "2025-12-31T23:59:59Z", []string{"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"}},
		{"rate of a day is 24 hours over a clock change", "rate(1 days)", ny, "2026-03-07T12:00:00Z", []string{"2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"}},
		{"rate one and many", "rate(1 hour)", "", "2026-01-01T00:00:00Z", []string{"2026-01-01T01:00:00Z"}},
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x, err := parseExpression(c.expression, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			after, err := time.Parse(time.RFC3339, c.after)
			if err != nil {
				t.Fatal(err)
			}
			b := bounds{begin: begin}
			if x.cron != nil {
				b = bounds{}
			}
			var got []string
			for range c.want {
				after = x.next(after, b)
				if after.IsZero() {
					got = append(got, "")
					break
				}
				got = append(got, after.UTC().Format(time.RFC3339))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNextStaysWithinStartAndEnd(t *testing.T) {
	t.Parallel()
	day := func(d, h int) time.Time { return time.Date(2026, 1, d, h, 0, 0, 0, time.UTC) }
	cases := []struct {
		name, expression string
		after            time.Time
		b                bounds
		want             time.Time
	}{
		{"cron may fire at its very start", "cron(0 9 * * ? *)", day(1, 0), bounds{begin: day(5, 9)}, day(5, 9)},
		{"cron waits for its start", "cron(0 9 * * ? *)", day(1, 0), bounds{begin: day(5, 10)}, day(6, 9)},
		{"cron may fire at its very end", "cron(0 9 * * ? *)", day(5, 0), bounds{begin: day(1, 0), end: day(5, 9)}, day(5, 9)},
		{"cron is over after its end", "cron(0 9 * * ? *)", day(5, 9), bounds{begin: day(1, 0), end: day(6, 8)}, time.Time{}},
		{"rate is over after its end", "rate(1 day)", day(5, 9), bounds{begin: day(1, 0), end: day(5, 10)}, time.Time{}},
		{"at ignores both", "at(2026-01-03T00:00:00)", day(1, 0), bounds{begin: day(5, 0), end: day(6, 0)}, day(3, 0)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x, err := parseExpression(c.expression, "UTC")
			if err != nil {
				t.Fatal(err)
			}
			if got := x.next(c.after, c.b); !got.Equal(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestBadExpressionsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	cases := []struct{ expression, zone, reason string }{
		{"", "", "write at("},
		{"every day", "", "write at("},
		{"cron(0 9 * * ? *", "", "write at("},
		{"daily(1)", "", "must start with"},
		{"at(2026-06-01 12:00:00)", "", "yyyy-mm-ddThh:mm:ss"},
		{"at(2026-06-01T12:00:00Z)", "", "yyyy-mm-ddThh:mm:ss"},
		{"at(2026-06-01T12:00:00.5)", "", "yyyy-mm-ddThh:mm:ss"},
		{"at(2026-02-30T12:00:00)", "", "yyyy-mm-ddThh:mm:ss"},
		{"at(2026-06-01T12:00:00)", "Mars/Olympus", "IANA"},
		{"at(2026-06-01T12:00:00)", "Local", "IANA"},
		{"rate(0 minutes)", "", "positive whole number"},
		{"rate(1.5 hours)", "", "positive whole number"},
		{"rate(5 seconds)", "", "minutes, hours or days"},
		{"rate(5minutes)", "", "positive whole number"},
		{"rate(999999 days)", "", "100 years"},
		{"cron(0 9 * * ?)", "", "6 fields"},
		{"cron(0 9 * * * *)", "", "exactly one"},
		{"cron(0 9 ? * ? *)", "", "exactly one"},
		{"cron(60 9 * * ? *)", "", "0 to 59"},
		{"cron(-1 9 * * ? *)", "", "0 to 59"},
		{"cron(0 24 * * ? *)", "", "0 to 23"},
		{"cron(0 9 0 * ? *)", "", "1 to 31"},
		{"cron(0 9 ? * 0 *)", "", "1 to 7"},
		{"cron(0 9 ? * FRI-MON *)", "", "backwards"},
		{"cron(0 9 ? * 2#6 *)", "", "1 to 5"},
		{"cron(0 9 ? * 2#1,3#1 *)", "", "1 to 5"},
		{"cron(0/0 9 * * ? *)", "", "step"},
		{"cron(0 9 ? * MON/2 *)", "", "step"},
		{"cron(0 9 LW * ? *)", "", "1 to 31"},
		{"cron(0 9 * FOO ? *)", "", "1 to 12"},
		{"cron(0 9 * * ? 1969)", "", "1970 to 2199"},
		{"cron(0,,5 9 * * ? *)", "", "0 to 59"},
	}
	for _, c := range cases {
		t.Run(c.expression, func(t *testing.T) {
			t.Parallel()
			_, err := parseExpression(c.expression, c.zone)
			if err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v, want an error about %q", err, c.reason)
			}
		})
	}
}
