package sqldb

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"sealift/shared/row"
)

func TestOrderIsThatOfEveryDatabaseOrUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  row.Kind
		a, b  string
		want  int
		known bool
	}{
		{row.Int64, "9", "10", -1, true}, {row.Int64, "-9", "-10", 1, true}, {row.Int64, "7", "7", 0, true}, {row.Int64, "18446744073709551615", "7", 0, false},
		{row.Timestamp, "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+02:00", 1, true}, {row.Timestamp, "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.50Z", 0, true},
		{row.Timestamp, "2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.1234561Z", -1, true}, {row.Timestamp, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z", -1, true},
		{row.Timestamp, "2026-01-01T00:00:00Z", "", 0, false}, {row.DateTime, "2026-01-01T00:00:01", "2026-01-01T00:00:00.9", 1, true},
		{row.DateTime, "0000-00-00T00:00:00", "2026-01-01T00:00:00", 0, false}, {row.Date, "2026-01-31", "2026-02-01", -1, true}, {row.Date, "2026-02-30", "2026-02-01", 0, false},
		{row.Date, "2026-02-01", "2026-02-01T12:00:00Z", 0, false},
		{row.String, "a", "b", 0, false}, {row.String, "a", "a", 0, true}, {row.Decimal, "1.5", "2", 0, false}, {row.Decimal, "1.5", "1.5", 0, true},
	} {
		c2, known := order(c.kind, c.a, c.b)
		if known != c.known || known && c2 != c.want {
			t.Errorf("%s: %q against %q is %d (%v), want %d (%v)", c.kind, c.a, c.b, c2, known, c.want, c.known)
		}
	}
}

// gridKey is a key of a small table against which conditions are played.
type gridKey struct{ at, id int }

func (p gridKey) key() row.Key {
	return row.Key{time.Unix(int64(p.at), 0).UTC().Format(time.RFC3339), strconv.Itoa(p.id)}
}

func (p gridKey) less(o gridKey) bool { return p.at < o.at || p.at == o.at && p.id < o.id }

// holds plays a bound of a key against p.
func (p gridKey) holds(b keyBound, below bool) bool {
	at, _ := time.Parse(time.RFC3339, b.key[0])
	id, _ := strconv.Atoi(b.key[1])
	bound := gridKey{int(at.Unix()), id}
	if bound == p {
		return !b.strict
	}
	return below == p.less(bound)
}

func TestConditionsLeftOutChangeNoSet(t *testing.T) {
	t.Parallel()
	const size = 6
	rnd := rand.New(rand.NewPCG(3, 4))
	some := func() gridKey { return gridKey{rnd.IntN(size), rnd.IntN(size)} }
	maybe := func() row.Key {
		if rnd.IntN(3) == 0 {
			return nil
		}
		return some().key()
	}
	left := 0
	for range 20_000 {
		q := row.Query{
			Key:        []row.Column{{Source: "at", Kind: row.Timestamp}, {Source: "id", Kind: row.Int64}},
			TimeColumn: row.Column{Source: "at", Kind: row.Timestamp}, Since: gridKey{at: rnd.IntN(size)}.key()[0], Until: gridKey{at: rnd.IntN(size)}.key()[0],
			Ceiling: maybe(),
		}
		r, after := row.Range{From: maybe(), To: maybe()}, maybe()
		s := readScope(&q, r, after)
		since, until := s.impliesSince(&q), s.impliesUntil(&q)
		if since {
			left++
		}
		for at := range size {
			for id := range size {
				p := gridKey{at, id}
				inPeriod := func(since, until bool) bool {
					return (!since || p.key()[0] >= q.Since) && (!until || p.key()[0] < q.Until)
				}
				whole := inPeriod(true, true) && (r.From == nil || p.holds(keyBound{key: r.From}, false)) && (r.To == nil || p.holds(keyBound{key: r.To, strict: true}, true)) &&
					(after == nil || p.holds(keyBound{key: after, strict: true}, false)) && (q.Ceiling == nil || p.holds(keyBound{key: q.Ceiling}, true))
				asked := inPeriod(!since, !until) && (s.lower == nil || p.holds(*s.lower, false)) && (s.upper == nil || p.holds(*s.upper, true))
				for _, b := range s.lowest {
					asked = asked && p.holds(b, false)
				}
				for _, b := range s.highest {
					asked = asked && p.holds(b, true)
				}
				if asked != whole {
					t.Fatalf("row %v of range %v behind %v, ceiling %v, from %s until %s: the statement takes it: %v, want %v", p.key(), r, after, q.Ceiling, q.Since, q.Until, asked, whole)
				}
			}
		}
	}
	if left == 0 {
		t.Error("no condition was ever left out")
	}
}
