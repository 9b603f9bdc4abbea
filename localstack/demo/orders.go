package demo

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that writes the demo's table
)

// The table's layout: every foreignEvery-th order belongs to another tenant, the others to the demo's.
const (
	tenant       = "acme"
	otherTenant  = "globex"
	foreignEvery = 11
	insertRows   = 500
)

// The quarter in which the orders are placed.
const (
	quarterStart = "2026-01-01T00:00:00Z"
	quarterEnd   = "2026-04-01T00:00:00Z"
)

const schema = `
CREATE TABLE orders (
  id         INTEGER PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  order_no   TEXT NOT NULL,
  placed_at  TEXT NOT NULL,
  status     TEXT NOT NULL,
  customer   TEXT NOT NULL,
  email      TEXT NOT NULL,
  country    TEXT NOT NULL,
  currency   TEXT NOT NULL,
  amount     TEXT NOT NULL,
  items      INTEGER NOT NULL,
  gift       INTEGER NOT NULL,
  shipped_at TEXT,
  note       TEXT,
  cost       TEXT NOT NULL
) STRICT;`

const index = `CREATE INDEX orders_by_time ON orders (tenant_id, placed_at, id);`

// Orders makes the demo's table with exactly rows orders of the demo's tenant, the same for the same number, unless it is
// there already. report hears how many are written.
func Orders(ctx context.Context, path string, rows int, report func(done, all int)) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	// Written beside and renamed at the end, so that a table that is there is whole.
	part := path + ".part"
	for _, leftover := range []string{part, part + "-journal"} {
		if err := os.Remove(leftover); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove an unfinished table: %w", err)
		}
	}
	if err := writeOrders(ctx, part, rows, report); err != nil {
		return fmt.Errorf("write the demo's orders: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("keep the demo's orders: %w", err)
	}
	return nil
}

func writeOrders(ctx context.Context, path string, rows int, report func(done, all int)) (err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=cache_size(-65536)")
	if err != nil {
		return err
	}
	defer func() {
		if closed := db.Close(); err == nil {
			err = closed
		}
	}()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	const columns = 15
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + "),"
	insert, err := tx.PrepareContext(ctx, "INSERT INTO orders VALUES "+strings.TrimSuffix(strings.Repeat(row, insertRows), ","))
	if err != nil {
		return err
	}
	start, _ := time.Parse(time.RFC3339, quarterStart)
	end, _ := time.Parse(time.RFC3339, quarterEnd)
	all := rows + (rows-1)/(foreignEvery-1)                                                                        // every 11th id belongs to the other tenant
	g := generator{random: rand.New(rand.NewPCG(1, 2)), start: start, step: end.Sub(start) / time.Duration(all+1)} //nolint:gosec // made-up orders need no secrets
	args := make([]any, 0, columns*insertRows)
	for id := 1; id <= all; id++ {
		args = g.order(args, id)
		if len(args) == cap(args) {
			if _, err := insert.ExecContext(ctx, args...); err != nil {
				return err
			}
			args = args[:0]
			report(id, all)
		}
	}
	if len(args) > 0 {
		rest := strings.TrimSuffix(strings.Repeat(row, len(args)/columns), ",")
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES "+rest, args...); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, index); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "ANALYZE")
	report(all, all)
	return err
}

type generator struct {
	random *rand.Rand
	start  time.Time
	step   time.Duration
}

// order appends one order's values: mostly dull, now and then what breaks careless exporters.
func (g generator) order(args []any, id int) []any {
	owner := tenant
	if id%foreignEvery == 0 {
		owner = otherTenant
	}
	// Several orders share a second, some the very instant.
	placed := g.start.Add(time.Duration(id/3*3) * g.step).Truncate(time.Microsecond)
	cents := 99 + g.random.IntN(900_000)
	number := g.random.IntN(1_000_000)
	var shipped, note any
	if id%7 != 0 {
		shipped = placed.Add(time.Duration(1+g.random.IntN(96)) * time.Hour).Format("2006-01-02T15:04:05.000000Z")
	}
	switch id % 50 {
	case 0:
		note = "=HYPERLINK(\"http://example.com\",\"track\")"
	case 1:
		note = "请在下午送达，谢谢 📦"
	case 2:
		note = "line one\nline two, \"quoted\""
	case 3:
		note = ""
	case 4, 5, 6, 7, 8, 9:
		note = "leave at the door"
	}
	return append(args, id, owner, fmt.Sprintf("%010d", 7_000_000_000+id), placed.Format("2006-01-02T15:04:05.000000Z"),
		pick(statuses(), number), pick(names(), number/7), fmt.Sprintf("customer%06d@example.com", number), pick(countries(), number/3),
		pick(currencies(), number/3), fmt.Sprintf("%d.%02d", cents/100, cents%100), 1+number%9, number%17/16, shipped, note,
		fmt.Sprintf("%d.%04d", cents/200, number%10_000))
}

func pick(from []string, n int) string { return from[n%len(from)] }

func statuses() []string {
	return []string{"paid", "shipped", "delivered", "paid", "returned", "cancelled"}
}
func countries() []string  { return []string{"CN", "US", "DE", "JP", "BR", "GB", "MX", "FR"} }
func currencies() []string { return []string{"CNY", "USD", "EUR", "JPY", "BRL", "GBP", "MXN", "EUR"} }
func names() []string {
	return []string{"李娜", "Anna Schmidt", "João Silva", "O'Brien, Pat", "山田太郎", "Zoë Müller", "张伟", "Maria Garcia", "Kim Min-jun"}
}
