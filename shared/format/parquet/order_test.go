package parquet_test

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sealift/shared/format/parquet"
	"sealift/shared/format/part"
	"sealift/shared/row"
)

// groupRows is how many rows each row group of unordered has.
const groupRows = 40

// unordered are rows of a number and a float, a row group for each list of floats that comes round until it is full:
// what has no place in the order beside what has one.
func unordered() (config parquet.Config, rows [][]string) {
	config = one(row.Column{Kind: row.Float64})
	config.Columns = []row.Column{{Name: "id", Kind: row.Int64}, {Name: "f", Kind: row.Float64}}
	for _, values := range [][]string{
		{"1", "2.5", "18.54", "20"},
		{"NaN", "1", "2.5", "18.54"},
		{"1", "2.5", "18.54", "NaN"},
		{"30", "NaN", null, "40"},
		{"0", "-0", "NaN"},
		{"NaN", "-0"},
		{"0", "NaN"},
		{"0", "-0"},
		{"-0"},
		{"0"},
		{"-0", "3"},
		{"-3", "0"},
		{"18.54", "NaN"},
		{"18.54"},
		{"NaN"},
		{null, "NaN"},
		{null},
		{"Infinity", "NaN", "-Infinity"},
		{"Infinity", "-Infinity"},
		{"-Infinity", "NaN"},
		{"-5", "-4"},
	} {
		for i := range groupRows {
			rows = append(rows, []string{strconv.Itoa(len(rows)), values[i%len(values)]})
		}
	}
	return config, rows
}

// wheres prints how many conditions were asked, and those for which a file gives other rows than its values do, with
// how many rows came and should have come.
const wheres = `
import sys, json
numbers = ["18.54", "0", "-0", "-4.5", "3", "NaN", "Infinity", "-Infinity"]
operators = ["<", "<=", "=", "<>", ">=", ">"]
def report(found):
    print(json.dumps({"asked": len(found), "empty": sum(not b for _, a, b in found),
        "wrong": [[what, len(a), len(b)] for what, a, b in found if a != b]}))
`

const wheresByDuckDB = wheres + `
import duckdb
db = duckdb.connect()
db.execute(f"CREATE TABLE m AS SELECT * FROM read_parquet('{sys.argv[1]}')")
def ids(table, rest): return db.execute(f"SELECT id FROM {table} {rest}").fetchall()
rests = [f"WHERE {no} (f {o} '{n}'::DOUBLE) ORDER BY id" for n in numbers for o in operators for no in ["", "NOT"]]
rests += [f"WHERE f {o} {n} ORDER BY id" for n in ["18.54", "0", "-0.0", "'nan'"] for o in operators]
rests += [f"WHERE {c} ORDER BY id" for c in ["isnan(f)", "NOT isnan(f)", "isinf(f)", "f IS NULL", "f IS NOT NULL", "f IN (0, 'nan')",
    "f NOT IN (0, 18.54)", "f IS DISTINCT FROM 0", "f BETWEEN -1 AND 'nan'", "f > 18.54 OR f < -4", "f = (SELECT max(f) FROM m)"]]
rests += ["ORDER BY f DESC NULLS LAST, id LIMIT 50", "ORDER BY f NULLS LAST, id LIMIT 50"]
found = [(r, ids(f"read_parquet('{sys.argv[1]}')", r), ids("m", r)) for r in rests]
ends = "SELECT min(f)::VARCHAR, max(f)::VARCHAR, count(f), count(*) FROM "
found.append((ends, db.execute(ends + f"read_parquet('{sys.argv[1]}')").fetchall(), db.execute(ends + "m").fetchall()))
report(found)
`

// wheresByArrow leaves out what Arrow 26 answers wrongly of its own files too, because it misreads bounds of ordinary
// numbers: that a value is not less than NaN. Its lists tell the two zeros apart.
const wheresByArrow = wheres + `
import operator as op, pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq
f, whole, file = ds.field("f"), pq.ParquetFile(sys.argv[1]).read(), ds.dataset(sys.argv[1], format="parquet")
rows = list(zip(whole.column("id").to_pylist(), whole.column("f").to_pylist()))
compare = dict(zip(operators, [op.lt, op.le, op.eq, op.ne, op.ge, op.gt]))
found = []
def ask(what, filter, test):
    got = sorted(file.to_table(filter=filter).column("id").to_pylist())
    found.append((what, got, [i for i, v in rows if test(v)]))
for n in numbers:
    for o in operators:
        def test(v, n=float(n), o=compare[o]): return v is not None and o(v, n)
        ask(f"{o} {n}", compare[o](f, float(n)), test)
        if n != "NaN" or o not in ["<", "<="]:
            ask(f"not {o} {n}", ~compare[o](f, float(n)), lambda v: v is not None and not test(v))
ask("nan", f.is_nan(), lambda v: v is not None and v != v)
ask("null", f.is_null(), lambda v: v is None)
ask("null or nan", f.is_null(nan_is_null=True), lambda v: v is None or v != v)
ask("valid", f.is_valid(), lambda v: v is not None)
ask("in", f.isin([2.5, 18.54]), lambda v: v in [2.5, 18.54])
for zero in [0.0, -0.0]:
    ask(f"in {zero}", f.isin([zero, 18.54]), lambda v, zero=zero: v == 18.54 or (v == 0 and str(v) == str(zero)))
ask("outside", (f > 18.54) | (f < -4), lambda v: v is not None and (v > 18.54 or v < -4))
report(found)
`

func TestConditionsFindTheirRowsAmongNaNAndZerosOfBothSigns(t *testing.T) {
	t.Parallel()
	config, rows := unordered()
	file, _ := export(t, config, part.Cut{GroupRows: groupRows}, rows[:430], rows[430:])
	for reader, program := range map[string]string{"DuckDB": wheresByDuckDB, "Arrow": wheresByArrow} {
		t.Run(reader, func(t *testing.T) {
			t.Parallel()
			var got struct {
				Asked, Empty int
				Wrong        [][]any
			}
			tool(t, file, program, &got)
			if got.Asked < 100 || got.Empty > got.Asked/4 {
				t.Errorf("%d conditions were asked and %d are true of no row", got.Asked, got.Empty)
			}
			for _, wrong := range got.Wrong {
				t.Errorf("%v: the file gives %v rows, its values %v", wrong...)
			}
		})
	}
}

const boundsOfFloats = `
import sys, json, pyarrow.parquet as pq
m = pq.ParquetFile(sys.argv[1]).metadata
def bound(s): return [str(s.min), str(s.max)] if s.has_min_max else []
chunks = [m.row_group(i).column(0).statistics for i in range(m.num_row_groups)]
print(json.dumps([bound(s) + [str(s.null_count)] for s in chunks]))
`

func TestOnlyAChunkWithoutNaNHasBounds(t *testing.T) {
	t.Parallel()
	config := one(row.Column{Kind: row.Float64})
	cases := []struct {
		name   string
		values []string
		want   []string
	}{
		{"numbers have the least and the greatest", []string{"2", "-1", null, "3.5"}, []string{"-1.0", "3.5", "1"}},
		{"a NaN before numbers takes the bounds away", []string{"NaN", "1", null}, []string{"1"}},
		{"a NaN behind numbers takes the bounds away", []string{"1", "2", "NaN"}, []string{"0"}},
		{"NaN alone has no bounds", []string{"NaN", null, null}, []string{"2"}},
		{"NULL alone has no bounds", []string{null, null}, []string{"2"}},
		{"a NaN beside zeros takes the bounds away", []string{"0", "NaN", "-0"}, []string{"0"}},
		{"nothing but zeros has no bounds", []string{"0", "-0"}, []string{"0"}},
		{"nothing but a negative zero has no bounds", []string{"-0"}, []string{"0"}},
		{"a zero as the least is the negative one", []string{"3", "0"}, []string{"-0.0", "3.0", "0"}},
		{"a zero as the greatest is the positive one", []string{"-0", "-3"}, []string{"-3.0", "0.0", "0"}},
		{"infinities are bounds", []string{"Infinity", "0", "-Infinity"}, []string{"-inf", "inf", "0"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file, _ := export(t, config, part.Cut{}, lines(c.values...))
			var got [][]string
			tool(t, file, boundsOfFloats, &got)
			if diff := cmp.Diff([][]string{c.want}, got); diff != "" {
				t.Errorf("want (-), found (+):\n%s", diff)
			}
		})
	}
}

func TestANaNTakesTheBoundsOfItsOwnChunkOnly(t *testing.T) {
	t.Parallel()
	config := one(row.Column{Kind: row.Float64})
	file, _ := export(t, config, part.Cut{GroupRows: 2}, lines("1", "2", "NaN", "3", "4", "5"), lines("NaN"), lines("6"))
	var got [][]string
	tool(t, file, boundsOfFloats, &got)
	want := [][]string{{"1.0", "2.0", "0"}, {"0"}, {"4.0", "5.0", "0"}, {"0"}, {"6.0", "6.0", "0"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), found (+):\n%s", diff)
	}
}

// underOtherFooter is a part with the pages of one and the footer of another, which must be equally long.
func underOtherFooter(t *testing.T, pages, footer part.Part) part.Part {
	t.Helper()
	const end = 8
	at := func(p part.Part) int {
		return len(p.Data) - end - int(binary.LittleEndian.Uint32(p.Data[len(p.Data)-end:]))
	}
	if at(pages) != at(footer) {
		t.Fatalf("the pages have %d and %d bytes", at(pages), at(footer))
	}
	pages.Data = slices.Concat(pages.Data[:at(pages)], footer.Data[at(footer):])
	return pages
}

func TestAReaderDemandsBoundsExactlyWhereNoNaNIs(t *testing.T) {
	t.Parallel()
	config := one(row.Column{Kind: row.Float64})
	config.Codec = parquet.Uncompressed
	cases := []struct {
		name          string
		pages, footer []string
		passes        bool
	}{
		{"bounds over a NaN", []string{"1", "NaN", "3"}, []string{"1", "2", "3"}, false},
		{"bounds over a NaN that is first", []string{"NaN", "1", "3"}, []string{"2", "1", "3"}, false},
		{"bounds over NaN alone", []string{"NaN", "NaN"}, []string{"1", "2"}, false},
		{"no bounds where no NaN is", []string{"1", "2", "3"}, []string{"1", "NaN", "3"}, false},
		{"no bounds over another NaN", []string{"1", "2", "NaN"}, []string{"1", "NaN", "3"}, true},
		{"bounds of a zero of the other sign", []string{"-0", "3"}, []string{"0", "3"}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			options := part.Options{First: true, Shard: 1}
			forged := underOtherFooter(t, write(t, config, options, lines(c.pages...))[0], write(t, config, options, lines(c.footer...))[0])
			file, _ := join(t, config, []part.Part{forged})
			_, _, err := read(file, config)
			if c.passes && err != nil || !c.passes && (err == nil || !strings.Contains(err.Error(), "statistics")) {
				t.Errorf("the reader says %v", err)
			}
		})
	}
}
