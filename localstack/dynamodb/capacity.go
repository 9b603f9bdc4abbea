package dynamodb

import (
	"maps"
	"slices"

	"sealift/localstack/dynamodb/value"
)

const (
	readUnitBytes  = 4 << 10
	writeUnitBytes = 1 << 10
)

// consumedCapacity is the service's account of the capacity that a request has used.
type consumedCapacity struct {
	TableName              string
	CapacityUnits          float64
	ReadCapacityUnits      *float64            `json:",omitempty"`
	WriteCapacityUnits     *float64            `json:",omitempty"`
	Table                  *capacity           `json:",omitempty"`
	GlobalSecondaryIndexes map[string]capacity `json:",omitempty"`
}

type capacity struct {
	CapacityUnits float64
}

func checkCapacityWish(wish string) error {
	switch wish {
	case "", "NONE", "TOTAL", "INDEXES":
		return nil
	default:
		return constraint(wish, "returnConsumedCapacity", "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]")
	}
}

// usage adds up what a request uses, for each table and index.
type usage struct {
	wish   string
	tables map[string]*tableUsage
}

type tableUsage struct {
	table   float64
	indexes map[string]float64
}

func newUsage(wish string) *usage { return &usage{wish: wish, tables: map[string]*tableUsage{}} }

func (u *usage) wanted() bool { return u.wish == "TOTAL" || u.wish == "INDEXES" }

func (u *usage) of(t *table) *tableUsage {
	if u.tables[t.Name] == nil {
		u.tables[t.Name] = &tableUsage{indexes: map[string]float64{}}
	}
	return u.tables[t.Name]
}

// wrote adds a change: units of the larger of the old and the new item, and one write for
// each entry that an index lost or got. Transactions cost twice as much: factor is then 2.
func (u *usage) wrote(d decided, factor float64) {
	if !u.wanted() {
		return
	}
	at := u.of(d.table)
	at.table += factor * units(max(d.old.Size(), d.next.Size()), writeUnitBytes)
	if d.verb == checkVerb {
		return
	}
	for _, x := range d.table.Indexes {
		if cost := indexWrites(d.table, x, d.old, d.next); cost > 0 {
			at.indexes[x.Name] += factor * cost
		}
	}
}

func indexWrites(t *table, x *index, old, next value.Item) float64 {
	before, _ := t.entryKey(x, old)
	after, _ := t.entryKey(x, next)
	switch {
	case before == nil && after == nil:
		return 0
	case string(before) == string(after):
		held, holds := x.project(t, old), x.project(t, next)
		if held.Equal(holds) {
			return 0
		}
		return units(max(held.Size(), holds.Size()), writeUnitBytes)
	}
	cost := 0.0
	if before != nil {
		cost += units(x.project(t, old).Size(), writeUnitBytes)
	}
	if after != nil {
		cost += units(x.project(t, next).Size(), writeUnitBytes)
	}
	return cost
}

// read adds a read of so many bytes from a table, or from an index when x is not nil. The
// factor is 1 for a consistent read, ½ for another and 2 in a transaction.
func (u *usage) read(t *table, x *index, size int, factor float64) {
	if !u.wanted() {
		return
	}
	at := u.of(t)
	cost := factor * units(size, readUnitBytes)
	if x == nil {
		at.table += cost
	} else {
		at.indexes[x.Name] += cost
	}
}

func readFactor(consistent bool) float64 {
	if consistent {
		return 1
	}
	return 0.5
}

// units are whole units, at least one.
func units(size, unit int) float64 { return float64(max(1, (size+unit-1)/unit)) }

// one is the account of a request about one table, nil when it was not asked for.
func (u *usage) one() *consumedCapacity {
	for _, account := range u.all() {
		return account
	}
	return nil
}

// all are the accounts of all tables, in order of their names.
func (u *usage) all() []*consumedCapacity {
	if !u.wanted() {
		return nil
	}
	var accounts []*consumedCapacity
	for _, name := range slices.Sorted(maps.Keys(u.tables)) {
		used := u.tables[name]
		account := &consumedCapacity{TableName: name, CapacityUnits: used.table}
		for _, cost := range used.indexes {
			account.CapacityUnits += cost
		}
		if u.wish == "INDEXES" {
			account.Table = &capacity{used.table}
			for index, cost := range used.indexes {
				if account.GlobalSecondaryIndexes == nil {
					account.GlobalSecondaryIndexes = map[string]capacity{}
				}
				account.GlobalSecondaryIndexes[index] = capacity{cost}
			}
		}
		accounts = append(accounts, account)
	}
	return accounts
}
