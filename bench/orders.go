package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// The table. Its index begins with tenant, time and key, and its rows lie in the order of the index, as those of a table that is only added to.
const (
	tenant  = "acme"
	columns = "id, tenant_id, order_no, placed_at, status, customer, email, country, amount, items, shipped_at, note"
	schema  = `CREATE TABLE orders (id bigint NOT NULL, tenant_id text NOT NULL, order_no text NOT NULL, placed_at timestamptz NOT NULL,
	status text NOT NULL, customer text NOT NULL, email text NOT NULL, country text NOT NULL, amount numeric(12,2) NOT NULL,
	items integer NOT NULL, shipped_at timestamptz, note text)`
	index = `CREATE UNIQUE INDEX orders_key ON orders (tenant_id, placed_at, id)`
)

// The year in which all orders are placed; instantOrders of them share each instant.
const (
	yearStart     = "2025-01-01T00:00:00Z"
	yearEnd       = "2026-01-01T00:00:00Z"
	instantOrders = 5
)

// makeOrders makes the table with rows orders, the same for the same number. report hears how many are written.
func makeOrders(ctx context.Context, dsn string, rows int, report func(done int)) error {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect to make the table: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, schema).ReadAll(); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	read, write := io.Pipe()
	go func() { write.CloseWithError(writeOrders(write, rows, report)) }()
	tag, err := conn.CopyFrom(ctx, read, "COPY orders ("+columns+") FROM STDIN (FORMAT csv)")
	_ = read.Close()
	if err != nil {
		return fmt.Errorf("fill the table: %w", err)
	}
	if tag.RowsAffected() != int64(rows) {
		return fmt.Errorf("fill the table: %d rows, want %d", tag.RowsAffected(), rows)
	}
	for _, text := range []string{index, "VACUUM (ANALYZE) orders", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, text).ReadAll(); err != nil {
			return fmt.Errorf("finish the table (%s): %w", text, err)
		}
	}
	return nil
}

// writeOrders writes the rows as CSV.
func writeOrders(w io.Writer, rows int, report func(done int)) error {
	const tell = 20_000
	out := bufio.NewWriterSize(w, 1<<20)
	g := newGenerator(rows)
	var line []byte
	for id := 1; id <= rows; id++ {
		line = g.appendOrder(line[:0], id)
		if _, err := out.Write(line); err != nil {
			return err
		}
		if id%tell == 0 {
			report(id)
		}
	}
	return out.Flush()
}

// generator makes up orders: mostly dull, now and then what an exporter has to quote or to guard.
type generator struct {
	random *rand.Rand
	start  time.Time
	step   time.Duration

	statuses, customers, countries, notes []string
}

func newGenerator(rows int) *generator {
	start, _ := time.Parse(time.RFC3339, yearStart)
	end, _ := time.Parse(time.RFC3339, yearEnd)
	return &generator{
		random: rand.New(rand.NewPCG(1, 2)), //nolint:gosec // made-up orders need no secrets
		start:  start, step: end.Sub(start) / time.Duration(rows+instantOrders),
		statuses:  []string{"paid", "shipped", "delivered", "returned", "cancelled"},
		customers: []string{"李娜", "Anna Schmidt", "João Silva", `"O'Brien, Pat"`, "山田太郎", "Zoë Müller", "Maria Garcia", "Kim Min-jun"},
		countries: []string{"CN", "US", "DE", "JP", "BR", "GB", "MX", "FR"},
		notes: []string{"leave at the door", "请在下午送达，谢谢 📦", `"call before delivery, the bell is broken"`, `"=SUM(A1:A9)"`,
			"fragile", "\"line one\nline two, \"\"quoted\"\"\"", "gift wrapping and a card for the birthday", "second floor"},
	}
}

// placed is when order id was placed, whole microseconds.
func (g *generator) placed(id int) time.Time {
	return g.start.Add(time.Duration((id-1)/instantOrders*instantOrders) * g.step).Truncate(time.Microsecond)
}

const timeLayout = "2006-01-02T15:04:05.000000Z"

func (g *generator) appendOrder(line []byte, id int) []byte {
	placed, number := g.placed(id), g.random.Uint64()
	cents := 99 + number%900_000
	pick := func(from []string, shift int) string { return from[number>>shift%uint64(len(from))] }
	line = strconv.AppendInt(line, int64(id), 10)
	line = append(line, ","+tenant+",SO"...)
	line = strconv.AppendInt(line, int64(700_000_000+id), 10)
	line = append(append(line, ','), placed.Format(timeLayout)...)
	line = append(append(line, ','), pick(g.statuses, 20)...)
	line = append(append(line, ','), pick(g.customers, 24)...)
	line = append(line, ",customer"...)
	line = strconv.AppendUint(line, 100_000+number>>28%900_000, 10)
	line = append(line, "@mail.example.com,"...)
	line = append(append(line, pick(g.countries, 48)...), ',')
	line = strconv.AppendUint(line, cents/100, 10)
	line = append(line, '.', byte('0'+cents/10%10), byte('0'+cents%10), ',', byte('1'+number>>51%9), ',')
	if id%7 != 0 {
		line = append(line, placed.Add(time.Duration(1+number>>55%96)*time.Hour).Format(timeLayout)...)
	}
	line = append(line, ',')
	if number>>60 < 12 {
		line = append(line, pick(g.notes, 60)...)
	}
	return append(line, '\n')
}
