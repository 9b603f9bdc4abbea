package sourcetest

import (
	"context"
	"strings"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

const (
	createView = "CREATE VIEW seen AS SELECT * FROM orders"
	analyze    = "ANALYZE"
)

// identityCases each change the table orders, or the view seen over it, and say whether it is another one then.
func identityCases() []testCase {
	changed := func(relation string, other bool, change func(t *testing.T, f Fixture, table Table)) func(t *testing.T, f Fixture) {
		return func(t *testing.T, f Fixture) {
			table := orders(Column{Name: "note", Kind: row.String, Null: true})
			f.Create(t, table)
			f.Insert(t, table, []Row{{"acme", at(1), "1", "a"}, {"acme", at(2), "2", nil}})
			if relation == "seen" {
				f.Exec(t, createView)
			}
			// The first time may create the place where statistics are kept.
			f.Exec(t, analyze)
			q := table.query()
			q.Table = relation
			src := open(t, f)
			before := identity(t, src, q)
			change(t, f, table)
			for name, after := range map[string]string{"same": identity(t, src, q), "new": identity(t, open(t, f), q)} {
				if source.Same(before, after) == other {
					t.Errorf("over the %s connection the identity is %s after %s, want another one: %t", name, after, before, other)
				}
			}
		}
	}
	run := func(statements ...string) func(t *testing.T, f Fixture, table Table) {
		return func(t *testing.T, f Fixture, _ Table) { f.Exec(t, statements...) }
	}
	insert := func(t *testing.T, f Fixture, table Table) {
		f.Insert(t, table, []Row{{"acme", at(3), "3", "c"}, {"other", at(4), "4", "d"}})
	}
	rename := []string{"ALTER TABLE orders RENAME COLUMN note TO old_note", "ALTER TABLE orders ADD COLUMN note TEXT"}
	return []testCase{
		{"nothing happened", changed("orders", false, run())},
		{"rows came", changed("orders", false, insert)},
		{"rows changed and went", changed("orders", false, run("UPDATE orders SET note = 'z'", "DELETE FROM orders WHERE id = 1"))},
		{"every row went", changed("orders", false, run("DELETE FROM orders"))},
		{"statistics were refreshed", changed("orders", false, run("UPDATE orders SET note = 'z'", analyze))},
		{"rows came below a view", changed("seen", false, insert)},
		{"the table was dropped and created again", changed("orders", true, func(t *testing.T, f Fixture, table Table) {
			f.Exec(t, "DROP TABLE orders")
			f.Create(t, table)
			insert(t, f, table)
		})},
		{"the table was renamed and a copy took its name", changed("orders", true, func(t *testing.T, f Fixture, _ Table) {
			f.Exec(t, "ALTER TABLE orders RENAME TO orders_old", "CREATE TABLE orders AS SELECT * FROM orders_old",
				"ALTER TABLE orders RENAME TO orders_copy", "CREATE VIEW orders AS SELECT * FROM orders_copy")
		})},
		{"another column took the name", changed("orders", true, run(rename...))},
		{"the view was replaced", changed("seen", true, run("DROP VIEW seen", createView+" WHERE id > 0"))},
		{"the view was created again", func(t *testing.T, f Fixture) {
			changed("seen", !f.AlikeViews, run("DROP VIEW seen", createView))(t, f)
		}},
		{"other conditions change nothing", otherConditions},
		{"a closed source has none", closedIdentity},
	}
}

func identity(t *testing.T, src source.Source, q row.Query) string {
	t.Helper()
	text, err := src.Identity(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if fixed, _, _ := strings.Cut(text, " "); len(fixed) != 64 {
		t.Fatalf("the identity %q doesn't begin with SHA-256 in hex", text)
	}
	return text
}

// otherConditions are those of a query that name no other column.
func otherConditions(t *testing.T, f Fixture) {
	q := numbered(f, t, 3).query()
	src := open(t, f)
	before := identity(t, src, q)
	q.Tenant, q.Since, q.Ceiling = "other", at(1), row.Key{at(2), "2"}
	q.Filters = []row.Filter{{Column: q.Columns[1], Op: row.Greater, Values: []string{"1"}}}
	if after := identity(t, src, q); !source.Same(before, after) {
		t.Errorf("the identity is %s for other rows, was %s", after, before)
	}
}

func closedIdentity(t *testing.T, f Fixture) {
	q := numbered(f, t, 1).query()
	src := f.Open(t)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := src.Identity(context.Background(), q)
	wantError(t, err, job.Permanent, "source_unavailable")
}
