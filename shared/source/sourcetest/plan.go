package sourcetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/row"
	"sealift/shared/source"
)

func planCases() []testCase {
	return []testCase{
		{"an empty set is one open shard without a ceiling", emptyPlan},
		{"ids 1, 2 and 9e18 make at most three shards", sparse},
		{"rows of one time are split by the next key column", tiedPlan},
		{"uneven groups of a composite key tile", composite},
		{"a dense period becomes several shards and thin ones merge", skewed},
		{"shards never exceed the most allowed", fewShards},
		{"keys between shards never take more than they may", fewKeys},
		{"the same data gives the same plan", repeated},
		{"random tables are read exactly once", random},
		{"200,000 rows with a tie of 80,000 split evenly without being counted", large},
	}
}

func planOptions(rows int64, most int) source.PlanOptions {
	return source.PlanOptions{ShardRows: rows, ShardsMax: most}
}

func limitRows(rows int) source.Limit { return source.Limit{Rows: rows, Bytes: 4 << 20} }

// once checks that column of the rows holds exactly the values, each once.
func once(t *testing.T, rows [][]string, column int, values []string) {
	t.Helper()
	var got []string
	for _, r := range rows {
		got = append(got, r[column])
	}
	want := slices.Clone(values)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the rows aren't each read once (-want +got):\n%.2000s", diff)
	}
}

func emptyPlan(t *testing.T, f Fixture) {
	table := orders()
	f.Create(t, table)
	f.Insert(t, table, []Row{{"other", at(1), "1"}})
	plan, rows := readPlan(t, open(t, f), table.query(), planOptions(10, 10))
	want := source.Plan{Shards: []source.Shard{{}}}
	if diff := cmp.Diff(want, plan); diff != "" || len(rows) != 0 {
		t.Fatalf("the plan of nothing differs (-want +got), %d rows:\n%s", len(rows), diff)
	}
}

// single is a table with one key column.
func single(f Fixture, t *testing.T, ids []string) Table {
	t.Helper()
	table := Table{
		Name: "items", Columns: []Column{{Name: "tenant", Kind: row.String}, {Name: "id", Kind: row.Int64}}, Key: []string{"id"},
	}
	f.Create(t, table)
	var rows []Row
	for _, id := range ids {
		rows = append(rows, Row{"acme", id})
	}
	f.Insert(t, table, rows)
	return table
}

func sparse(t *testing.T, f Fixture) {
	all := []string{"1", "2", "9000000000000000000"}
	table := single(f, t, all)
	plan, rows := readPlan(t, open(t, f), table.query(), planOptions(1, 10_000))
	once(t, rows, 0, all)
	if len(plan.Shards) > 3 || plan.RowsEstimated != 3 {
		t.Fatalf("the plan has %d shards for %d rows, want at most 3 for 3", len(plan.Shards), plan.RowsEstimated)
	}
	if diff := cmp.Diff(row.Key{"9000000000000000000"}, plan.Ceiling); diff != "" {
		t.Fatalf("the ceiling differs:\n%s", diff)
	}
}

func tiedPlan(t *testing.T, f Fixture) {
	table := orders()
	f.Create(t, table)
	var rows []Row
	var all []string
	for i := range 1000 {
		all = append(all, strconv.Itoa(i))
		rows = append(rows, Row{"acme", at(5), strconv.Itoa(i)})
	}
	f.Insert(t, table, rows)
	plan, read := readPlan(t, open(t, f), table.query(), planOptions(100, 100))
	once(t, read, 1, all)
	if len(plan.Shards) < 9 || len(plan.Shards) > 12 {
		t.Fatalf("1000 rows of one time make %d shards of 100, want about 10", len(plan.Shards))
	}
}

func composite(t *testing.T, f Fixture) {
	table := Table{
		Name: "tagged", Key: []string{"grp", "tag"}, Columns: []Column{
			{Name: "tenant", Kind: row.String}, {Name: "grp", Kind: row.String}, {Name: "tag", Kind: row.String}, {Name: "id", Kind: row.Int64},
		},
	}
	f.Create(t, table)
	var rows []Row
	var all []string
	for g := range 12 {
		for n := range g * g {
			id := strconv.Itoa(len(all))
			all = append(all, id)
			rows = append(rows, Row{"acme", fmt.Sprintf("group %d", g%5), fmt.Sprintf("%d-%d", n%7, len(all)), id})
		}
	}
	f.Insert(t, table, rows)
	_, read := readPlan(t, open(t, f), table.query(), planOptions(20, 100))
	once(t, read, 2, all)
}

func skewed(t *testing.T, f Fixture) {
	table := orders()
	f.Create(t, table)
	var rows []Row
	var all []string
	add := func(time string) {
		id := strconv.Itoa(len(all))
		all = append(all, id)
		rows = append(rows, Row{"acme", time, id})
	}
	for day := 1; day <= 28; day++ {
		for i := range 10 {
			add(fmt.Sprintf("2026-02-%02dT%02d:00:00Z", day, i))
		}
	}
	for i := range 2000 {
		add(fmt.Sprintf("2026-02-11T12:%02d:%02dZ", i/60%60, i%60))
	}
	f.Insert(t, table, rows)
	plan, read := readPlan(t, open(t, f), table.query(), planOptions(200, 100))
	once(t, read, 1, all)
	for _, shard := range plan.Shards {
		if shard.RowsEstimated < 80 || shard.RowsEstimated > 300 {
			t.Errorf("shard %s has %d rows, want about 200", shard.Range, shard.RowsEstimated)
		}
	}
}

func fewShards(t *testing.T, f Fixture) {
	table := numbered(f, t, 500)
	src := open(t, f)
	for _, most := range []int{1, 2, 3, 7, 499, 10_000} {
		plan, rows := readPlan(t, src, table.query(), planOptions(1, most))
		if len(rows) != 500 || plan.RowsEstimated != 500 {
			t.Fatalf("with at most %d shards %d rows are read and %d expected, want 500", most, len(rows), plan.RowsEstimated)
		}
	}
}

func fewKeys(t *testing.T, f Fixture) {
	table := numbered(f, t, 500)
	src := open(t, f)
	sizes := map[int]int{}
	for _, keyBytes := range []int{1, 40, 150, 1_500, 100_000} {
		opt := planOptions(1, 10_000)
		opt.KeyBytes = keyBytes
		plan, rows := readPlan(t, src, table.query(), opt)
		if len(rows) != 500 || plan.RowsEstimated != 500 {
			t.Fatalf("with %d bytes of keys %d rows are read and %d expected, want 500", keyBytes, len(rows), plan.RowsEstimated)
		}
		sizes[keyBytes] = len(plan.Shards)
	}
	if sizes[1] != 1 || sizes[150] < 3 || sizes[1_500] < 5*sizes[150] || sizes[100_000] != 500 {
		t.Fatalf("the shards by the bytes of their keys are %v, want 1 for no key, all for many and more the more there are", sizes)
	}
}

func repeated(t *testing.T, f Fixture) {
	table := numbered(f, t, 300)
	first, _ := readPlan(t, open(t, f), table.query(), planOptions(7, 100))
	second, _ := readPlan(t, open(t, f), table.query(), planOptions(7, 100))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Fatalf("the second plan differs:\n%s", diff)
	}
}

// random reads tables of random ties, gaps and tenants, by random plans and batches.
func random(t *testing.T, f Fixture) {
	for seed := range uint64(12) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		table := orders()
		table.Name = fmt.Sprintf("random_%d", seed)
		f.Create(t, table)
		var rows []Row
		var all []string
		spread := 1 + rnd.IntN(500)
		for id := range rnd.IntN(1500) {
			tenant := []string{"acme", "acme", "zeta", "Acme"}[rnd.IntN(4)]
			rows = append(rows, Row{tenant, at(rnd.IntN(spread)), strconv.Itoa(id * (1 + rnd.IntN(3)) * 10_000)})
		}
		seen := map[string]bool{}
		unique := rows[:0]
		for _, r := range rows {
			key := fmt.Sprint(r[0], r[1], r[2])
			if seen[key] || seen[fmt.Sprint(r[2])] {
				continue
			}
			seen[key], seen[fmt.Sprint(r[2])] = true, true
			unique = append(unique, r)
			if r[0] == "acme" {
				all = append(all, fmt.Sprint(r[2]))
			}
		}
		f.Insert(t, table, unique)
		src := open(t, f)
		opt := planOptions(1+rnd.Int64N(300), 1+rnd.IntN(60))
		plan, read := readPlan(t, src, table.query(), opt)
		once(t, read, 1, all)
		q := table.query()
		q.Ceiling = plan.Ceiling
		var again [][]string
		for _, shard := range plan.Shards {
			again = append(again, readRange(t, src, q, shard.Range, source.Limit{Rows: 1 + rnd.IntN(40), Bytes: 1 + rnd.IntN(2000)})...)
		}
		wantRows(t, again, read)
	}
}

func large(t *testing.T, f Fixture) {
	table := orders()
	f.Create(t, table)
	const count, tied = 200_000, 80_000
	var rows []Row
	for i := range count {
		time := at(i % 86_400)
		if i < tied {
			time = at(40_000)
		}
		rows = append(rows, Row{"acme", time, strconv.Itoa(i)})
	}
	for i := range 50_000 {
		rows = append(rows, Row{[]string{"aaa", "zzz"}[i%2], at(i), strconv.Itoa(count + i)})
	}
	f.Insert(t, table, rows)
	src := open(t, f)
	q := table.query()
	plan, err := src.Plan(context.Background(), q, planOptions(10_000, 100))
	if err != nil {
		t.Fatal(err)
	}
	checkTiles(t, plan, planOptions(10_000, 100))
	largeWithFewKeys(t, src, q)
	q.Ceiling = plan.Ceiling
	q.Columns = q.Columns[1:2]
	seen := make([]bool, count)
	for _, shard := range plan.Shards {
		read := readRange(t, src, q, shard.Range, plenty())
		if len(read) > 25_000 || len(read) < 1_000 {
			t.Errorf("shard %s has %d rows, want about 10,000 (%d expected)", shard.Range, len(read), shard.RowsEstimated)
		}
		for _, r := range read {
			id, _ := strconv.Atoi(r[0])
			if seen[id] {
				t.Fatalf("id %d is read twice", id)
			}
			seen[id] = true
		}
	}
	if i := slices.Index(seen, false); i >= 0 {
		t.Fatalf("id %d isn't read", i)
	}
	if plan.RowsEstimated < count/2 || plan.RowsEstimated > count*2 || len(plan.Shards) < 12 {
		t.Errorf("the plan expects %d rows in %d shards, want about %d in 20", plan.RowsEstimated, len(plan.Shards), count)
	}
}

// largeWithFewKeys plans the large table with keys that leave room for a few shards only, far fewer than there are places to cut.
func largeWithFewKeys(t *testing.T, src source.Source, q row.Query) {
	t.Helper()
	opt := planOptions(1_000, 10_000)
	opt.KeyBytes = 400
	plan, err := src.Plan(context.Background(), q, opt)
	if err != nil {
		t.Fatal(err)
	}
	checkTiles(t, plan, opt)
	q.Ceiling = plan.Ceiling
	q.Columns = q.Columns[1:2]
	total := 0
	for _, shard := range plan.Shards {
		rows := len(readRange(t, src, q, shard.Range, plenty()))
		if rows > 120_000 {
			t.Errorf("of %d shards %s has %d rows, want about as many as the others", len(plan.Shards), shard.Range, rows)
		}
		total += rows
	}
	if len(plan.Shards) < 4 || total != 200_000 {
		t.Errorf("%d rows are planned in %d shards, want 200,000 in 4 or more", total, len(plan.Shards))
	}
}
