package sqldb

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/row"
	"sealift/shared/source"
)

func TestInstantsAgreeWithTheTimePackage(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "Europe/Dublin"} {
		z, err := newZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 20_000 {
			// After 1937 no zone has seconds in its offset.
			unix := rnd.Int64N(4_000_000_000) - 1_000_000_000
			want := time.Unix(unix, 123_456_000).In(z.location).Format("2006-01-02T15:04:05.000000Z07:00")
			want = strings.Replace(want, "Z", map[bool]string{true: "Z", false: "+00:00"}[name == "UTC"], 1)
			got, ok := z.append(nil, unix, []byte("123456"))
			if !ok || string(got) != want {
				t.Fatalf("%d in %s is %s, want %s", unix, name, got, want)
			}
			back, parsed := parseInstant(string(got))
			if !parsed || back.unix != unix {
				t.Fatalf("%s reads back as %d, want %d", got, back.unix, unix)
			}
		}
	}
}

func TestInstantsBeyondTheYearsOfTheirZoneAreUTCWithAnUnknownOffset(t *testing.T) {
	t.Parallel()
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, c := range []struct {
		zone string
		at   time.Time
		want string // "" for a refusal
	}{
		{"Asia/Shanghai", last, "9999-12-31T23:59:59.5-00:00"},
		{"Asia/Shanghai", last.Add(-8 * time.Hour), "9999-12-31T23:59:59.5+08:00"},
		{"Asia/Shanghai", last.Add(time.Second - 8*time.Hour), "9999-12-31T16:00:00.5-00:00"},
		{"Asia/Shanghai", last.Add(time.Second), ""},
		{"Asia/Shanghai", first, "0001-01-01T08:05:00.5+08:05"},
		{"America/New_York", first, "0001-01-01T00:00:00.5-00:00"},
		{"America/New_York", first.Add(4*time.Hour + 56*time.Minute), "0001-01-01T00:00:00.5-04:56"},
		{"America/New_York", first.Add(-time.Second), ""},
		{"America/New_York", last, "9999-12-31T18:59:59.5-05:00"},
		{"UTC", last, "9999-12-31T23:59:59.5Z"},
		{"UTC", last.Add(time.Second), ""},
		{"UTC", first.Add(-time.Second), ""},
	} {
		z, err := newZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := z.append(nil, c.at.Unix(), []byte("5")); string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s in %s is %q (%v), want %q", c.at, c.zone, got, ok, c.want)
		}
		if back, parsed := parseInstant(c.want); c.want != "" && (!parsed || back.unix != c.at.Unix()) {
			t.Errorf("%s reads back as %d, want %d", c.want, back.unix, c.at.Unix())
		}
	}
}

func TestUnknownZonesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Local", "Mars/Olympus", "../etc/passwd"} {
		if _, err := newZone(name); err == nil {
			t.Errorf("zone %q is accepted", name)
		}
	}
}

func TestFloatsReadBackEqual(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		v := math.Float64frombits(rnd.Uint64())
		text := appendFloat(nil, v)
		back, err := strconv.ParseFloat(string(text), 64)
		if math.IsNaN(v) {
			continue
		}
		if err != nil || back != v {
			t.Fatalf("%v is written %s", v, text)
		}
	}
}

func TestDecimalsSortAsTheirValues(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	decimal := func() string {
		text := []string{"", "-"}[rnd.IntN(2)] + strconv.Itoa(rnd.IntN([]int{2, 1000, math.MaxInt}[rnd.IntN(3)]))
		if rnd.IntN(2) == 0 {
			text += "." + strings.Repeat("0", rnd.IntN(3)) + strconv.Itoa(rnd.IntN(200))
		}
		return strings.Replace(text, "-", "-"+strings.Repeat("0", rnd.IntN(2)), 1)
	}
	for range 100_000 {
		a, b := decimal(), decimal()
		left, _ := new(big.Rat).SetString(a)
		right, _ := new(big.Rat).SetString(b)
		if got := bytes.Compare(sortingText(a, row.Decimal), sortingText(b, row.Decimal)); got != left.Cmp(right) {
			t.Fatalf("%s against %s sorts %d, want %d", a, b, got, left.Cmp(right))
		}
	}
}

func TestInterpolationStaysBetweenItsEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind     row.Kind
		from, to string
		want     []string
	}{
		{row.Int64, "-9223372036854775808", "9223372036854775807", []string{"-4611686018427387905", "-1", "4611686018427387903"}},
		{row.Int64, "5", "7", []string{"6"}},
		{row.Int64, "5", "6", nil},
		{row.Date, "2026-02-27", "2026-03-03", []string{"2026-02-28", "2026-03-01", "2026-03-02"}},
		{row.Timestamp, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", []string{
			"2026-01-01T00:00:00.250000Z", "2026-01-01T00:00:00.500000Z", "2026-01-01T00:00:00.750000Z",
		}},
		{row.DateTime, "1969-12-31T23:59:58", "1970-01-01T00:00:02", []string{
			"1969-12-31T23:59:59.000000", "1970-01-01T00:00:00.000000", "1970-01-01T00:00:01.000000",
		}},
		{row.Decimal, "-1", "1", []string{"-0.500000", "0.000000", "0.500000"}},
		{row.String, "a", "b", nil},
	} {
		if diff := cmp.Diff(c.want, interpolate(c.kind, c.from, c.to, 4)); diff != "" {
			t.Errorf("between %s and %s (-want +got):\n%s", c.from, c.to, diff)
		}
	}
}

func TestBoundsAreRoundedUpToMicroseconds(t *testing.T) {
	t.Parallel()
	for canonical, want := range map[string]string{
		"2026-01-01T00:00:00Z":                "2026-01-01T00:00:00Z",
		"2026-01-01T00:00:00.123456Z":         "2026-01-01T00:00:00.123456Z",
		"2026-01-01T00:00:00.1234560Z":        "2026-01-01T00:00:00.123456Z",
		"2026-01-01T00:00:00.1234561Z":        "2026-01-01T00:00:00.123457Z",
		"2026-12-31T23:59:59.9999999Z":        "2027-01-01T00:00:00.000000Z",
		"2026-01-01T08:00:00.1234561+08:00":   "2026-01-01T00:00:00.123457Z",
		"2026-01-01T00:00:00.0999999":         "2026-01-01T00:00:00.100000",
		"2026-01-01T00:00:00.000000000000001": "2026-01-01T00:00:00.000001",
	} {
		if got, ok := microseconds(canonical); !ok || got != want {
			t.Errorf("%s becomes %s (%v), want %s", canonical, got, ok, want)
		}
	}
}

func TestShardsGatherCuts(t *testing.T) {
	t.Parallel()
	cuts := func(rows ...int64) []cut {
		var cuts []cut
		for i, n := range rows {
			cuts = append(cuts, cut{key: row.Key{strconv.Itoa(i)}, rows: n})
		}
		return cuts
	}
	for _, c := range []struct {
		name string
		cuts []cut
		opt  source.PlanOptions
		want []int64
	}{
		{"tiny neighbours merge", cuts(1, 1, 1, 1, 1, 1, 1, 1), source.PlanOptions{ShardRows: 4, ShardsMax: 10}, []int64{4, 4}},
		{"a huge cut stands alone", cuts(1, 1, 50, 1, 3), source.PlanOptions{ShardRows: 4, ShardsMax: 10}, []int64{2, 50, 4}},
		{"a small rest joins the last", cuts(10, 10, 1), source.PlanOptions{ShardRows: 10, ShardsMax: 10}, []int64{10, 11}},
		{"the most allowed makes shards larger", cuts(5, 5, 5, 5, 5, 5), source.PlanOptions{ShardRows: 1, ShardsMax: 2}, []int64{15, 15}},
		{"one shard is enough", cuts(5, 5, 5), source.PlanOptions{ShardRows: 1, ShardsMax: 1}, []int64{15}},
	} {
		var got []int64
		for _, shard := range assemble(c.cuts, c.opt) {
			got = append(got, shard.RowsEstimated)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func FuzzPagesAreReadWithoutPanic(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 1, 0, 20, 0, 0, 0, 0, 7, 0, 14, 0, 0, 0, 9, 5, 4, 17, 1, 1, 'a', 5})
	f.Add([]byte{5, 0, 0, 0, 1, 255, 255, 0, 0, 0, 0, 7, 0, 14})
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) < 12 {
			return
		}
		p := btreePage{data: data}
		_, entries := p.children(4096)
		for _, entry := range append(entries, data) {
			record(entry, 4)
		}
	})
}

func FuzzTimesAreReadWithoutPanic(f *testing.F) {
	f.Add("2026-01-01 00:00:00.5+08:00")
	f.Add("2026-01-01T00:00:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := parseInstant(text)
		if !ok {
			return
		}
		out, ok := utcZone().append(nil, at.unix, at.fraction)
		again, parsed := parseInstant(string(out))
		if ok && (!parsed || again.unix != at.unix || !bytes.Equal(again.fraction, at.fraction)) {
			t.Fatalf("%q is written %q", text, out)
		}
	})
}
