package progress_test

import (
	"strings"
	"testing"
	"time"

	"sealift/cmd/sealift/internal/progress"
)

func TestTimeLeftIsSaidOnlyWithGround(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type seen struct {
		second float64
		count  int64
	}
	cases := map[string]struct {
		seen  []seen
		total int64
		rate  float64
		left  time.Duration
	}{
		"nothing seen":                  {nil, 100, -1, -1},
		"one look":                      {[]seen{{0, 10}}, 100, -1, -1},
		"two looks at once":             {[]seen{{0, 0}, {0.1, 10}}, 100, -1, -1},
		"steady":                        {[]seen{{0, 0}, {1, 10}, {2, 20}}, 100, 10, 8 * time.Second},
		"standing still":                {[]seen{{0, 10}, {5, 10}}, 100, 0, -1},
		"the old is forgotten":          {[]seen{{0, 0}, {1, 1000}, {30, 1000}, {50, 1200}}, 2200, 10, 100 * time.Second},
		"past the estimate":             {[]seen{{0, 0}, {10, 110}}, 100, 11, -1},
		"a count that falls starts new": {[]seen{{0, 0}, {10, 500}, {11, 100}}, 1000, -1, -1},
		"too far off":                   {[]seen{{0, 0}, {10, 1}}, 1 << 60, 0.1, -1},
	}
	for name, c := range cases {
		var meter progress.Meter
		for _, s := range c.seen {
			meter.Add(start.Add(time.Duration(s.second*float64(time.Second))), s.count)
		}
		rate, known := meter.Rate()
		if !known {
			rate = -1
		}
		left, ok := meter.Left(c.total)
		if !ok {
			left = -1
		}
		if rate != c.rate || left != c.left {
			t.Errorf("%s: %v/s and %s, want %v/s and %s", name, rate, left, c.rate, c.left)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 1500 * time.Millisecond: "2s", 59 * time.Second: "59s", 61 * time.Second: "1m 01s", 3*time.Hour + 5*time.Minute + time.Second: "3h 05m",
	} {
		if got := progress.Span(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

func TestElsewhereALineIsWrittenEveryTwoSecondsAtMost(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var out strings.Builder
	d := progress.NewDisplay(&out, progress.DisplayOptions{Width: func() int { return 0 }, Now: func() time.Time { return now }})
	for i, line := range []string{"a", "b", "c", "c", "d", "d"} {
		d.Show([]string{line + " and more", line}, 0.5, i == 1)
		now = now.Add(time.Second)
	}
	d.Clear()
	if got, want := out.String(), "a and more\nb and more\nc and more\nd and more\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestOnATerminalTheLineIsDrawnOverAndFits(t *testing.T) {
	t.Parallel()
	forms := []string{"running: 40%, 1,000 rows of about 2,500, 120 rows/s, about 12s left", "running: 40%, 1,000 rows, about 12s left", "running: 40%"}
	cases := map[string]struct {
		width int
		share float64
		want  string
	}{
		"wide":                          {120, 0.5, "[############............] " + forms[0]},
		"the usual width":               {80, 0.5, "[######......] " + forms[1]},
		"the usual width, no bar":       {80, -1, forms[0]},
		"exactly, the last column free": {len(forms[0]) + 1, -1, forms[0]},
		"one column less":               {len(forms[0]), -1, forms[1]},
		"narrow":                        {41, 0.5, forms[1]},
		"narrower":                      {40, 0.5, forms[2]},
		"too narrow for any":            {12, 2, "running:"},
		"too narrow for a word":         {5, 2, ""},
	}
	for name, c := range cases {
		var out strings.Builder
		d := progress.NewDisplay(&out, progress.DisplayOptions{Width: func() int { return c.width }})
		d.Show(forms, c.share, false)
		d.Clear()
		d.Clear()
		if got, want := out.String(), "\r"+c.want+"\x1b[K\r\x1b[K"; got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
		}
	}
}

func TestACountThatStandsStillIsKnownSinceItLastMoved(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var meter progress.Meter
	if got := meter.Still(start); got != 0 {
		t.Errorf("nothing seen: %s", got)
	}
	for second, count := range []int64{5, 5, 9, 9, 9, 9} {
		meter.Add(start.Add(time.Duration(second)*time.Second), count)
	}
	if got := meter.Still(start.Add(6 * time.Second)); got != 4*time.Second {
		t.Errorf("%s, want 4s", got)
	}
}
