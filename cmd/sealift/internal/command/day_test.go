package command_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// withTicks is a service with one row for every half hour from 2026-03-06 to 2026-03-10, on a wall clock that leaves none
// out, and a definition for each kind of business time.
func withTicks(t *testing.T) (*service, caller) {
	t.Helper()
	s, ana := withOrders(t)
	db, err := sql.Open("sqlite", s.path("shop.db"))
	s.must(err)
	defer func() { s.must(db.Close()) }()
	_, err = db.Exec(`CREATE TABLE ticks (tenant_id TEXT NOT NULL, id INTEGER NOT NULL, datetime TEXT NOT NULL, date TEXT NOT NULL, timestamp TEXT NOT NULL)`)
	s.must(err)
	for i := range 4 * 48 {
		wall := time.Date(2026, 3, 6, 0, 30*i, 0, 0, time.UTC)
		_, err = db.Exec(`INSERT INTO ticks VALUES ('acme', ?, ?, ?, ?)`, i, wall.Format(time.DateTime), wall.Format(time.DateOnly), wall.Format("2006-01-02T15:04:05Z"))
		s.must(err)
	}
	for _, kind := range []string{"datetime", "date", "timestamp"} {
		_, err = db.Exec(fmt.Sprintf(`CREATE UNIQUE INDEX ticks_%s ON ticks (tenant_id, %s, id)`, kind, kind))
		s.must(err)
		time := fmt.Sprintf("{name: %s, kind: %s}", kind, kind)
		text := fmt.Sprintf("name: by-%s\nsource:\n  connection: shop\n  table: ticks\n  tenant_column: {name: tenant_id, kind: string}\n  time_column: %s\n"+
			"  key:\n    - %s\n    - {name: id, kind: int64}\nconsistency: {kind: cutoff, promise: x}\ncolumns:\n  - %s\n", kind, time, time, time)
		s.must(os.WriteFile(s.path(kind+".yaml"), []byte(text), 0o600))
		s.as("ops", "sealift:operator").ok("definitions", "apply", s.path(kind+".yaml"))
	}
	return s, ana
}

func TestTheRowsOfADayAreThoseOfTheDay(t *testing.T) {
	t.Parallel()
	s, ana := withTicks(t)
	cases := []struct {
		kind, from, to string
		first, last    string
		rows           int
	}{
		// On 2026-03-08 the clocks of Havana go from 00:00 to 01:00.
		{"datetime", "2026-03-07", "2026-03-08", "2026-03-07T00:00:00", "2026-03-07T23:30:00", 48},
		{"datetime", "2026-03-08", "2026-03-09", "2026-03-08T00:00:00", "2026-03-08T23:30:00", 48},
		{"date", "2026-03-07", "2026-03-08", "2026-03-07", "2026-03-07", 48},
		{"date", "2026-03-08", "2026-03-09", "2026-03-08", "2026-03-08", 48},
		{"timestamp", "2026-03-07", "2026-03-08", "2026-03-07T00:00:00-05:00", "2026-03-07T23:30:00-05:00", 48},
		{"timestamp", "2026-03-08", "2026-03-09", "2026-03-08T01:00:00-04:00", "2026-03-08T23:30:00-04:00", 46},
	}
	for _, c := range cases {
		file := s.path(c.kind + c.from + ".csv")
		ana.ok("export", "create", "--definition", "by-"+c.kind, "--purpose", "test", "--zone", "America/Havana", "--from", c.from, "--to", c.to,
			"--compression", "none", "--header=false", "--download", file)
		rows := strings.Split(strings.TrimSuffix(string(read(t, file)), "\r\n"), "\r\n")
		if len(rows) != c.rows || rows[0] != c.first || rows[len(rows)-1] != c.last {
			t.Errorf("%+v: %d rows from %s to %s", c, len(rows), rows[0], rows[len(rows)-1])
		}
	}
}
