package sqldb

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"sealift/shared/row"
)

// sentTimestamp is what the server sends of an instant.
func sentTimestamp(at time.Time) []byte {
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()-epoch.UnixMicro()))
}

func TestClockWritesWhatTheStandardLibraryDoes(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/St_Johns", "Europe/Lisbon"} {
		z, err := newZone(name)
		if err != nil {
			t.Fatal(err)
		}
		layout := "2006-01-02T15:04:05.999999-07:00"
		if name == "UTC" {
			layout = "2006-01-02T15:04:05.999999Z"
		}
		instants, wall, days := newClock(row.Timestamp, z), newClock(row.DateTime, z), newClock(row.Date, z)
		for i := range 50_000 {
			// From 1940 on offsets are whole minutes here; what is older is tested beside the zones.
			at := time.Unix(rnd.Int64N(250_000_000_000)-1_000_000_000, 0)
			if i%2 == 0 {
				at = at.Add(time.Duration(rnd.IntN(1_000_000)) * time.Microsecond)
			}
			for c, want := range map[*clock]string{
				instants: at.In(z.location).Format(layout), wall: at.UTC().Format("2006-01-02T15:04:05.999999"),
			} {
				if got, ok := c.append([]byte("x"), sentTimestamp(at)); !ok || string(got) != "x"+want {
					t.Fatalf("%s becomes %q (%v), want %q", at, got, ok, want)
				}
			}
			since := int32(floorDiv(at.Unix(), 86400) - postgresEpochDay)
			want := at.UTC().Format("2006-01-02")
			if got, ok := days.append(nil, binary.BigEndian.AppendUint32(nil, uint32(since))); !ok || string(got) != want {
				t.Fatalf("%s becomes %q (%v), want %q", at, got, ok, want)
			}
		}
	}
}

func TestClockKnowsTheEndsOfTheCalendar(t *testing.T) {
	t.Parallel()
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	for _, kind := range []row.Kind{row.Timestamp, row.DateTime} {
		suffix := map[row.Kind]string{row.Timestamp: "Z"}[kind]
		for at, want := range map[time.Time]string{first: "0001-01-01T00:00:00" + suffix, last: "9999-12-31T23:59:59.999999" + suffix} {
			if got, ok := newClock(kind, utcZone()).append(nil, sentTimestamp(at)); !ok || string(got) != want {
				t.Errorf("%s becomes %q (%v), want %q", at, got, ok, want)
			}
		}
		for _, sent := range [][]byte{
			sentTimestamp(first.Add(-time.Microsecond)), sentTimestamp(last.Add(time.Microsecond)), binary.BigEndian.AppendUint64(nil, math.MaxInt64),
			binary.BigEndian.AppendUint64(nil, 1<<63), {}, []byte("2026-01-01"),
		} {
			if got, ok := newClock(kind, utcZone()).append([]byte("x"), sent); ok || string(got) != "x" {
				t.Errorf("%x becomes %q", sent, got)
			}
		}
	}
	for name, ends := range map[string][2]time.Time{
		"Asia/Shanghai": {last, last.Add(time.Microsecond)}, "America/New_York": {first, first.Add(-time.Microsecond)},
	} {
		at, beyond := ends[0], ends[1]
		z, err := newZone(name)
		if err != nil {
			t.Fatal(err)
		}
		want := at.Format("2006-01-02T15:04:05.999999") + row.OffsetUnknown
		if got, ok := newClock(row.Timestamp, z).append(nil, sentTimestamp(at)); !ok || string(got) != want {
			t.Errorf("%s in %s becomes %q (%v), want %q", at, name, got, ok, want)
		}
		if got, ok := newClock(row.Timestamp, z).append([]byte("x"), sentTimestamp(beyond)); ok || string(got) != "x" {
			t.Errorf("%s in %s becomes %q", beyond, name, got)
		}
	}
	for days, want := range map[uint32]string{0: "2000-01-01", ^uint32(0): "1999-12-31", 2921939: "9999-12-31"} {
		if got, ok := newClock(row.Date, nil).append(nil, binary.BigEndian.AppendUint32(nil, days)); !ok || string(got) != want {
			t.Errorf("day %d becomes %q (%v), want %q", days, got, ok, want)
		}
	}
	for _, days := range []uint32{2921940, 1<<31 - 1, 1 << 31} {
		if got, ok := newClock(row.Date, nil).append(nil, binary.BigEndian.AppendUint32(nil, days)); ok || len(got) > 0 {
			t.Errorf("day %d becomes %q", days, got)
		}
	}
}
