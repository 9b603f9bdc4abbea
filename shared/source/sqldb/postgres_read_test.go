package sqldb

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sealift/shared/row"
)

func TestShortWayOfInstantsIsTheLongOne(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 50_000 {
		at := time.Unix(rnd.Int64N(250_000_000_000)-62_000_000_000, 0).UTC()
		text := at.Format("2006-01-02 15:04:05")
		if digits := rnd.IntN(7); digits > 0 {
			text += fmt.Sprintf(".%0*d", digits, rnd.IntN([]int{1, 10, 100, 1000, 10_000, 100_000, 1_000_000}[digits]))
		}
		text += "+00"
		want, wrong := appendPostgres([]byte("x"), []byte(text), row.Timestamp, utcZone())
		got, ok := appendUTC([]byte("x"), []byte(text))
		if wrong != faultNone || !ok || string(got) != string(want) {
			t.Fatalf("%s becomes %s (%v), want %s", text, got, ok, want)
		}
	}
}

func TestInstantsThatLookOtherwiseTakeTheLongWay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "+00", "infinity", "-infinity", "2026-01-02 03:04:05", "2026-01-02 03:04:05+08", "2026-01-02 03:04:05-00", "2026-01-02 03:04:05+00 BC",
		"12026-01-02 03:04:05+00", "0000-01-02 03:04:05+00", "2026-01-02T03:04:05+00", "2026-01-02 03:04:05.+00", "2026-01-02 03:04:05.5x+00", "2026-01-02 03:04:055+00",
		"2026-01-02 03:04:05+00:00", "2026-01-02 03:04:0x+00"} {
		if got, ok := appendUTC([]byte("x"), []byte(text)); ok || string(got) != "x" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
