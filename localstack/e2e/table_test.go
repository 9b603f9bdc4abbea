package e2e

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver that writes the tests' tables
)

const (
	tenant  = "acme"
	foreign = "globex"
	// asOf lies behind every order, so that the same ask means the same set at any time.
	from, to = "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"
	asOf     = "2026-04-01T00:00:00Z"
)

// order is one row of the tests' tables.
type order struct {
	id     int64
	tenant string
	code   string
	placed time.Time
	amount string
	big    int64
	weight float64
	gift   bool
	note   *string
}

// orders makes n orders of each tenant, the same for the same seed, in the order of their key: several share an instant,
// and values are of the kinds that break careless exporters.
func orders(seed uint64, n int, note func(i int) *string) []order {
	random := rand.New(rand.NewPCG(seed, 1))
	at, _ := time.Parse(time.RFC3339, from)
	list := make([]order, 0, 2*n)
	for i := range n {
		if i%3 == 0 {
			at = at.Add(time.Duration(1+random.IntN(1_000_000)) * time.Microsecond)
		}
		for k, owner := range []string{tenant, foreign} {
			list = append(list, order{
				id: int64(2*i + k + 1), tenant: owner, code: fmt.Sprintf("%08d", random.IntN(100_000_000)), placed: at,
				amount: fmt.Sprintf("%d.%02d", random.IntN(1_000_000)-500_000, random.IntN(100)),
				big:    9_007_199_254_740_993 + random.Int64N(1<<60), weight: float64(random.IntN(100_000)) / 64,
				gift: random.IntN(2) == 0, note: note(i),
			})
		}
	}
	return list
}

// awkward notes are what CSV, JSON and people find hard to read.
func awkward(i int) *string {
	notes := []string{"", "plain", "a,b", "say \"hi\"", "line\nbreak", "cr\rand crlf\r\n", " padded ", "请在下午送达 📦", "𠮷 e\u0301", "=1+2", "NULL", "\\N", "tab\there", "'quoted'"}
	if i%5 == 0 {
		return nil
	}
	return &notes[i%len(notes)]
}

func (o order) values() []any {
	var note any
	if o.note != nil {
		note = *o.note
	}
	return []any{o.id, o.tenant, o.code, o.placed.UTC().Format("2006-01-02T15:04:05.000000Z"), o.placed.UTC().Format(time.DateOnly),
		o.amount, o.big, o.weight, o.gift, note}
}

// columns of the definitions below, in their order.
func columns() []string {
	return []string{"id", "code", "placed_at", "day", "amount", "big", "weight", "gift", "note"}
}

func kinds() map[string]string {
	return map[string]string{"id": "int64", "code": "string", "placed_at": "timestamp", "day": "date", "amount": "decimal",
		"big": "int64", "weight": "float64", "gift": "bool", "note": "string"}
}

// record is the order as a file shall show it, nil for NULL.
func (o order) record() []*string {
	text := func(s string) *string { return &s }
	return []*string{text(strconv.FormatInt(o.id, 10)), &o.code, text(o.placed.UTC().Format(time.RFC3339Nano)), text(o.placed.UTC().Format(time.DateOnly)),
		&o.amount, text(strconv.FormatInt(o.big, 10)), text(strconv.FormatFloat(o.weight, 'g', -1, 64)), text(strconv.FormatBool(o.gift)), o.note}
}

// recordsOf are a tenant's records.
func recordsOf(list []order, owner string) [][]*string {
	var records [][]*string
	for _, o := range list {
		if o.tenant == owner {
			records = append(records, o.record())
		}
	}
	return records
}

// sqlite writes the orders into a new SQLite file and returns its address.
func sqlite(t *testing.T, list []order) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "orders.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)")
	ok(t, err)
	defer func() { ok(t, db.Close()) }()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, code TEXT NOT NULL,
		placed_at TEXT NOT NULL, day TEXT NOT NULL, amount TEXT NOT NULL, big INTEGER NOT NULL, weight REAL NOT NULL, gift INTEGER NOT NULL, note TEXT) STRICT`)
	ok(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	ok(t, err)
	for _, o := range list {
		_, err := tx.ExecContext(t.Context(), "INSERT INTO orders VALUES (?,?,?,?,?,?,?,?,?,?)", o.values()...)
		ok(t, err)
	}
	ok(t, tx.Commit())
	for _, text := range []string{"CREATE INDEX orders_by_time ON orders (tenant_id, placed_at, id)", "ANALYZE"} {
		_, err := db.ExecContext(t.Context(), text)
		ok(t, err)
	}
	return "sqlite://" + path
}

// definition is the contract of a table of orders; limits are the definition's own.
func definition(name, connection string, limits map[string]any) map[string]any {
	var list []map[string]any
	for _, column := range columns() {
		filter := []string{"eq", "ge", "lt"}
		if kinds()[column] == "bool" {
			filter = filter[:1]
		}
		list = append(list, map[string]any{"name": column, "kind": kinds()[column], "filter": filter})
	}
	return map[string]any{
		"name": name, "keep_formulas": true, "columns": list, "limits": limits, "formats": []string{"csv", "jsonl", "xlsx", "parquet"},
		"consistency": map[string]any{"kind": "cutoff", "promise": "orders placed before the cutoff, as they are when they are read"},
		"source": map[string]any{
			"connection": connection, "table": "orders",
			"tenant_column": map[string]any{"name": "tenant_id", "kind": "string"},
			"time_column":   map[string]any{"name": "placed_at", "kind": "timestamp"},
			"key":           []map[string]any{{"name": "placed_at", "kind": "timestamp"}, {"name": "id", "kind": "int64"}},
		},
	}
}

// whole asks for all columns of all orders that a definition covers.
func whole(definition, format, compression string) ask {
	return ask{"definition": definition, "purpose": "proof", "span": map[string]any{"from": from, "to": to}, "as_of": asOf,
		"format": map[string]any{"type": format, "compression": compression}}
}
