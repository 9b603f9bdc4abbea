package sqldb_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/row"
	"sealift/shared/source"
	"sealift/shared/source/mytest"
	"sealift/shared/source/pgtest"
)

// boundStore is a database in which bounds are tried: how it stores a time, and how fine.
type boundStore struct {
	kind row.Kind
	unit row.Unit
	// declared is the column's type, literal a value of it.
	declared string
	literal  func(at time.Time) string
	step     time.Duration
	// numbered makes the column id the row's own number.
	numbered bool
	dsn      string
	exec     func(tb testing.TB, statements ...string)
}

// boundRow is one row of the table: shop and id are numbers beside the time.
type boundRow struct {
	shop, id int64
	at       time.Time
}

func (r boundRow) compare(other boundRow, key []string) int {
	for _, name := range key {
		if d := map[string]int{"at": r.at.Compare(other.at), "id": int(r.id - other.id), "shop": int(r.shop - other.shop)}[name]; d != 0 {
			return d
		}
	}
	return 0
}

func (s boundStore) text(at time.Time) string {
	switch s.kind {
	case row.Date:
		return at.Format("2006-01-02")
	case row.DateTime:
		return at.Format("2006-01-02T15:04:05.999999999")
	default:
		return at.Format("2006-01-02T15:04:05.999999999Z07:00")
	}
}

func TestBoundsOfAnySpellingGiveTheirSet(t *testing.T) {
	t.Parallel()
	for name, s := range boundStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tryBounds(t, s)
		})
	}
}

// boundStores are all databases with all their types of time.
func boundStores(t *testing.T) map[string]boundStore {
	t.Helper()
	layout := func(layout string) func(time.Time) string {
		return func(at time.Time) string { return quoted(at.Format(layout)) }
	}
	stores := map[string]boundStore{
		"postgres timestamptz": {kind: row.Timestamp, declared: "timestamptz", literal: layout("2006-01-02 15:04:05.999999Z07:00"), step: time.Microsecond},
		"postgres timestamp":   {kind: row.DateTime, declared: "timestamp", literal: layout("2006-01-02 15:04:05.999999"), step: time.Microsecond},
		"postgres date":        {kind: row.Date, declared: "date", literal: layout("2006-01-02"), step: 24 * time.Hour},
		"mysql datetime(6)":    {kind: row.DateTime, declared: "datetime(6)", literal: layout("2006-01-02 15:04:05.999999"), step: time.Microsecond},
		"mysql datetime(2)":    {kind: row.DateTime, declared: "datetime(2)", literal: layout("2006-01-02 15:04:05.99"), step: 10 * time.Millisecond},
		"mysql timestamp":      {kind: row.Timestamp, declared: "timestamp", literal: layout("2006-01-02 15:04:05"), step: time.Second},
		"mysql date":           {kind: row.Date, declared: "date", literal: layout("2006-01-02"), step: 24 * time.Hour},
		"sqlite T Z":           {kind: row.Timestamp, declared: "TEXT", literal: layout("2006-01-02T15:04:05Z"), step: time.Second},
		"sqlite blank":         {kind: row.Timestamp, declared: "TEXT", literal: layout("2006-01-02 15:04:05.000"), step: time.Millisecond, numbered: true},
		"sqlite wall":          {kind: row.DateTime, declared: "TEXT", literal: layout("2006-01-02T15:04:05.000000"), step: time.Microsecond},
		"sqlite date":          {kind: row.Date, declared: "TEXT", literal: layout("2006-01-02"), step: 24 * time.Hour},
	}
	for unit, step := range map[row.Unit]time.Duration{row.Seconds: time.Second, row.Milliseconds: time.Millisecond, row.Microseconds: time.Microsecond} {
		for _, kind := range []row.Kind{row.Timestamp, row.DateTime} {
			stores[fmt.Sprintf("sqlite %s in %s", kind, unit)] = boundStore{kind: kind, unit: unit, declared: "INTEGER", step: step, numbered: kind == row.Timestamp,
				literal: func(at time.Time) string { return strconv.FormatInt(at.UnixMicro()/step.Microseconds(), 10) }}
		}
	}
	postgres, mysql := pgtest.Start(t), mytest.Start(t)
	for name, s := range stores {
		switch strings.Fields(name)[0] {
		case "postgres":
			dsn := postgres.Schema(t)
			s.dsn, s.exec = dsn, func(tb testing.TB, statements ...string) { tb.Helper(); pgtest.Exec(tb, dsn, statements...) }
		case "mysql":
			dsn := mysql.Schema(t)
			s.dsn, s.exec = dsn, func(tb testing.TB, statements ...string) { tb.Helper(); mytest.Exec(tb, dsn, statements...) }
		default:
			s.dsn, s.exec = sqliteFile(t)
		}
		stores[name] = s
	}
	return stores
}

// boundTable is the table of one store, and its rows.
type boundTable struct {
	boundStore

	rnd  *rand.Rand
	src  source.Source
	rows []boundRow
}

func tryBounds(t *testing.T, s boundStore) {
	t.Helper()
	table := boundTable{boundStore: s, rnd: rand.New(rand.NewPCG(5, 6))}
	var values []string
	for id := range int64(60) {
		r := boundRow{shop: table.rnd.Int64N(3), id: id, at: table.near()}
		table.rows = append(table.rows, r)
		values = append(values, fmt.Sprintf("('acme', %d, %s, %d), ('other', %d, %s, %d)", r.shop, s.literal(r.at), r.id, r.shop, s.literal(r.at), 100+r.id))
	}
	id := "bigint NOT NULL"
	if s.numbered {
		id = "INTEGER PRIMARY KEY"
	}
	s.exec(t, fmt.Sprintf("CREATE TABLE t (tenant varchar(9) NOT NULL, shop bigint NOT NULL, at %s NOT NULL, id %s)", s.declared, id),
		"CREATE INDEX a ON t (tenant, at, id)", "CREATE INDEX b ON t (tenant, shop, at, id)", "CREATE INDEX c ON t (tenant, id)",
		"INSERT INTO t VALUES "+strings.Join(values, ", "))
	table.src = open(t, s.dsn)
	for _, key := range [][]string{{"at", "id"}, {"shop", "at", "id"}, {"id"}} {
		slices.SortFunc(table.rows, func(a, b boundRow) int { return a.compare(b, key) })
		for range 300 {
			table.try(t, key)
		}
	}
}

// near is one of few times, which many rows share.
func (s *boundTable) near() time.Time {
	return time.Date(2025, 12, 31, 23, 59, 58, 0, time.UTC).Add(time.Duration(s.rnd.IntN(12)) * s.step)
}

func (s *boundTable) column(name string) row.Column {
	if name == "at" {
		return row.Column{Name: name, Source: name, Kind: s.kind, Unit: s.unit, Scale: -1}
	}
	return row.Column{Name: name, Source: name, Kind: row.Int64, Scale: -1}
}

// some is a row and its key, or neither.
func (s *boundTable) some(key []string) (*boundRow, row.Key) {
	if s.rnd.IntN(3) == 0 {
		return nil, nil
	}
	r := s.rows[s.rnd.IntN(len(s.rows))]
	var values row.Key
	for _, name := range key {
		values = append(values, map[string]string{"at": s.text(r.at), "id": strconv.FormatInt(r.id, 10), "shop": strconv.FormatInt(r.shop, 10)}[name])
	}
	return &r, values
}

// try reads between random bounds and compares with what lies there.
func (s *boundTable) try(t *testing.T, key []string) {
	t.Helper()
	q := row.Query{
		Table: "t", Columns: []row.Column{s.column("id")}, TenantColumn: row.Column{Source: "tenant", Kind: row.String}, Tenant: "acme",
		TimeColumn: s.column("at"), Zone: "UTC",
	}
	for _, name := range key {
		q.Key = append(q.Key, s.column(name))
	}
	since, until := boundTime(s.boundStore, s.rnd, s.near()), boundTime(s.boundStore, s.rnd, s.near())
	q.Since, q.Until = spell(s.boundStore, s.rnd, since), spell(s.boundStore, s.rnd, until)
	var r row.Range
	var from, to, after, ceiling *boundRow
	var cursor row.Key
	from, r.From = s.some(key)
	to, r.To = s.some(key)
	after, cursor = s.some(key)
	ceiling, q.Ceiling = s.some(key)
	for _, low := range []*boundRow{from, after} {
		for _, high := range []*boundRow{to, ceiling} {
			if low != nil && high != nil && low.compare(*high, key) > 0 {
				return // the bounds of a shard and its cursor are in order
			}
		}
	}
	var want, got []string
	for _, have := range s.rows {
		if !have.at.Before(since) && have.at.Before(until) && (from == nil || have.compare(*from, key) >= 0) && (to == nil || have.compare(*to, key) < 0) &&
			(after == nil || have.compare(*after, key) > 0) && (ceiling == nil || have.compare(*ceiling, key) <= 0) {
			want = append(want, strconv.FormatInt(have.id, 10))
		}
	}
	var b row.Batch
	if err := s.src.Read(context.Background(), q, r, cursor, source.Limit{Rows: 100, Bytes: 1 << 20}, &b); err != nil {
		t.Fatal(err)
	}
	for i := range b.Rows() {
		value, _ := b.Value(i, 0)
		got = append(got, string(value))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("key %v, since %s until %s, range %s behind %s, ceiling %s (-want +got):\n%s", key, q.Since, q.Until, r, cursor, q.Ceiling, diff)
	}
}

// boundTime moves a time by less than the store can hold, sometimes.
func boundTime(s boundStore, rnd *rand.Rand, at time.Time) time.Time {
	if s.kind == row.Date || rnd.IntN(2) == 0 {
		return at
	}
	return at.Add(time.Duration(rnd.IntN(int(s.step.Nanoseconds()))))
}

// spell writes a bound in one of the ways that name the same instant.
func spell(s boundStore, rnd *rand.Rand, at time.Time) string {
	if s.kind == row.Timestamp && rnd.IntN(2) == 0 {
		at = at.In(time.FixedZone("", (rnd.IntN(24)-12)*3600+1800))
	}
	text := s.text(at)
	if s.kind == row.DateTime && !strings.Contains(text, ".") && rnd.IntN(3) == 0 {
		text += ".000"
	}
	return text
}
