package sourcetest

import (
	"context"
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
)

func changeCases() []testCase {
	change := func(alter func(f Fixture) func(tb testing.TB, table Table, column string)) func(t *testing.T, f Fixture) {
		return func(t *testing.T, f Fixture) {
			table := orders(Column{Name: "quantity", Kind: row.Int64, Null: true})
			f.Create(t, table)
			f.Insert(t, table, []Row{{"acme", at(1), "1", "5"}, {"acme", at(2), "2", "6"}, {"acme", at(3), "3", nil}})
			src := open(t, f)
			q := table.query()
			limit := plenty()
			limit.Rows = 1
			var b row.Batch
			if err := src.Read(context.Background(), q, row.Range{}, nil, limit, &b); err != nil {
				t.Fatal(err)
			}
			after := b.Key(0, 2)
			act := alter(f)
			if act == nil {
				return
			}
			act(t, table, "quantity")
			wantError(t, src.Read(context.Background(), q, row.Range{}, after, limit, &b), job.Permanent, "source_schema_changed")
			if b.Rows() != 0 {
				t.Fatalf("a failed read left %d rows", b.Rows())
			}
			wantError(t, src.Check(context.Background(), q), job.Permanent, "source_schema_changed")
			again := open(t, f)
			wantError(t, again.Read(context.Background(), q, row.Range{}, after, limit, &b), job.Permanent, "source_schema_changed")
		}
	}
	return []testCase{
		{"a dropped column fails the next batch", change(func(f Fixture) func(testing.TB, Table, string) { return f.Drop })},
		{"a renamed column fails the next batch", change(func(f Fixture) func(testing.TB, Table, string) { return f.Rename })},
		{"a column of another type fails the next batch", change(func(f Fixture) func(testing.TB, Table, string) { return f.Retype })},
	}
}
