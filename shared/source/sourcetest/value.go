package sourcetest

import (
	"strconv"
	"testing"

	"sealift/shared/row"
)

func valueCases() []testCase {
	return []testCase{
		{"NULL and empty text are different", nullAndEmpty},
		{"values of every kind are exact", exactValues},
		{"timestamps carry the zone's offset over both clock changes", zones},
		{"a column whose first rows are NULL keeps its place", nullsFirst},
		{"a column that is always NULL keeps its place behind the others", alwaysNull},
		{"text keys of every kind of character are compared as the source does", textKeys},
		{"one column may be exported twice under different names", exportedTwice},
	}
}

// readColumn stores values of one kind and reads them back in order.
func readColumn(t *testing.T, f Fixture, kind row.Kind, zone string, values ...any) []string {
	t.Helper()
	table := orders(Column{Name: "v", Kind: kind, Null: true})
	f.Create(t, table)
	var rows []Row
	for i, value := range values {
		rows = append(rows, Row{"acme", at(i), strconv.Itoa(i), value})
	}
	f.Insert(t, table, rows)
	q := table.query()
	q.Zone = zone
	src := open(t, f)
	var got []string
	for _, r := range readRange(t, src, q, row.Range{}, plenty()) {
		got = append(got, r[2])
	}
	return got
}

func wantColumn(t *testing.T, got []string, want ...string) {
	t.Helper()
	wantRows(t, [][]string{got}, [][]string{want})
}

func nullAndEmpty(t *testing.T, f Fixture) {
	wantColumn(t, readColumn(t, f, row.String, "UTC", nil, "", "NULL", " "), "NULL", "", "NULL", " ")
}

// exactValues are read back as they are, one column a kind.
func exactValues(t *testing.T, f Fixture) {
	table := orders()
	values := map[row.Kind][]any{
		row.String: {"00123", "1E5", "TRUE", "=1+2", "a\rb", "a\nb\r\n", `a"b`, "a,b", "a'b", " led and trailed ", "名字", "𠮷", "👨‍👩‍👧",
			"e\u0301", "\u0001\u000b\u001f", "\uffff", `back\slash`, "%_", "tab\tbed", "\ufeffbom", "0912", "+1", "-2+3",
			"@SUM(1)", "\t=1", "＝1", "NULL", "null", "NaN", "1.50", "2026-01-01"},
		row.Int64: {"9007199254740993", "352776136104522888", "-9223372036854775808", "9223372036854775807", "0", "-42"},
		row.Decimal: {"0.00000035", "12345678901234567890.123456789", "0.30", "-1.5", "-0.01", "100", "0", "1000000000000000000000",
			"12.500", "12.34", "0.125", "-0.00000000000000000001"},
		row.Float64: {"0.1", "-1.5", "1e+300", "5e-324", "123456789012345", "1e+15", "0.0001", "1e-05", "0.30000000000000004"},
		row.Bool:    {"true", "false"},
		row.Date:    {"2026-03-29", "0001-01-01", "9999-12-31", "2024-02-29", "1582-10-15"},
		row.Timestamp: {"2026-03-29T00:59:59.123456Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.9Z",
			"2026-01-01T00:00:00.000001Z"},
		row.DateTime: {"2026-03-29T02:30:00", "0001-01-01T00:00:00.000001", "9999-12-31T23:59:59.999999"},
		row.JSON:     {`{"a": [1, "二", null]}`, `"text"`, `null`},
		row.Bytes:    {"\x00\x01\xff", "", "\\x41", "plain"},
	}
	returned := map[row.Kind][]string{}
	for _, kind := range row.Kinds() {
		table.Columns = append(table.Columns, Column{Name: "v_" + string(kind), Kind: kind, Null: true})
		values[kind], returned[kind] = held(f, kind, values[kind])
	}
	f.Create(t, table)
	var rows []Row
	var want [][]string
	for i := range len(values[row.String]) {
		r := Row{"acme", at(i), strconv.Itoa(i)}
		text := []string{at(i), strconv.Itoa(i)}
		for _, kind := range row.Kinds() {
			if i < len(values[kind]) {
				r, text = append(r, values[kind][i]), append(text, returned[kind][i])
			} else {
				r, text = append(r, nil), append(text, "NULL")
			}
		}
		rows, want = append(rows, r), append(want, text)
	}
	f.Insert(t, table, rows)
	wantRows(t, readRange(t, open(t, f), table.query(), row.Range{}, plenty()), want)
}

// held are the values that the source's types hold, and the text in which each comes back; NULL comes back as "NULL".
func held(f Fixture, kind row.Kind, values []any) (stored []any, returned []string) {
	for _, value := range values {
		text, ok := "NULL", true
		if canonical, isText := value.(string); isText {
			text, ok = f.gives(kind, canonical)
		}
		if ok {
			stored, returned = append(stored, value), append(returned, text)
		}
	}
	return stored, returned
}

// zones covers the clock changes of New York in 2026, a half-hour zone, and offsets with seconds, whose instant stays
// exact while the offset is cut to minutes.
func zones(t *testing.T, f Fixture) {
	table := orders(Column{Name: "v", Kind: row.Timestamp})
	f.Create(t, table)
	instants := []string{
		"2026-03-08T06:59:59.999999Z", "2026-03-08T07:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z",
		"1900-12-31T15:54:16Z", "1880-01-01T00:00:00.25Z",
	}
	var rows []Row
	var stored []int
	for i, instant := range instants {
		if _, ok := f.gives(row.Timestamp, instant); ok {
			stored = append(stored, i)
			rows = append(rows, Row{"acme", at(i), strconv.Itoa(i), instant})
		}
	}
	f.Insert(t, table, rows)
	src := open(t, f)
	for zone, all := range map[string][]string{
		"UTC": instants,
		"Asia/Shanghai": {
			"2026-03-08T14:59:59.999999+08:00", "2026-03-08T15:00:00+08:00", "2026-11-01T13:30:00+08:00", "2026-11-01T14:30:00+08:00",
			"1900-12-31T23:59:16+08:05", "1880-01-01T08:05:00.25+08:05",
		},
		"America/New_York": {
			"2026-03-08T01:59:59.999999-05:00", "2026-03-08T03:00:00-04:00", "2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00",
			"1900-12-31T10:54:16-05:00", "1879-12-31T19:04:00.25-04:56",
		},
		"Asia/Kolkata": {
			"2026-03-08T12:29:59.999999+05:30", "2026-03-08T12:30:00+05:30", "2026-11-01T11:00:00+05:30", "2026-11-01T12:00:00+05:30",
			"1900-12-31T21:15:16+05:21", "1880-01-01T05:21:00.25+05:21",
		},
	} {
		var want []string
		for _, i := range stored {
			want = append(want, all[i])
		}
		q := table.query()
		q.Zone = zone
		var got []string
		for _, r := range readRange(t, src, q, row.Range{}, plenty()) {
			got = append(got, r[2])
		}
		t.Run(zone, func(t *testing.T) { wantColumn(t, got, want...) })
	}
}

func nullsFirst(t *testing.T, f Fixture) {
	values := make([]any, 12)
	values[11] = "1.50"
	stored, want := held(f, row.Decimal, values)
	wantColumn(t, readColumn(t, f, row.Decimal, "UTC", stored...), want...)
}

func alwaysNull(t *testing.T, f Fixture) {
	table := orders(Column{Name: "note", Kind: row.String, Null: true}, Column{Name: "gone", Kind: row.Date, Null: true})
	f.Create(t, table)
	var rows []Row
	var want [][]string
	for i := range 12 {
		r, text := Row{"acme", at(i), strconv.Itoa(i), nil, nil}, []string{at(i), strconv.Itoa(i), "NULL", "NULL"}
		if i >= 10 {
			r[3], text[2] = "", ""
		}
		rows, want = append(rows, r), append(want, text)
	}
	f.Insert(t, table, rows)
	wantRows(t, readRange(t, open(t, f), table.query(), row.Range{}, limitRows(5)), want)
}

func textKeys(t *testing.T, f Fixture) {
	table := Table{
		Name:    "tags",
		Columns: []Column{{Name: "tenant", Kind: row.String}, {Name: "tag", Kind: row.String}},
		Key:     []string{"tag"},
	}
	f.Create(t, table)
	tags := []string{"", " ", "a", "A", "a'", `a"b`, "a/b", "a\\b", "a\nb", "Z", "é", "e\u0301", "ß", "ss", "名", "𠮷", "%", "_", "0", "00", "10", "9"}
	var rows []Row
	for _, tag := range tags {
		rows = append(rows, Row{"acme", tag})
	}
	f.Insert(t, table, rows)
	src := open(t, f)
	_, read := readPlan(t, src, table.query(), planOptions(3, 30))
	once(t, read, 0, tags)
	whole := readRange(t, src, table.query(), row.Range{}, limitRows(1))
	wantRows(t, read, whole)
}

func exportedTwice(t *testing.T, f Fixture) {
	table := numbered(f, t, 2)
	q := table.query()
	second := q.Columns[1]
	second.Name = "order number"
	second.Kind = row.Decimal
	q.Columns = append(q.Columns, second)
	wantRows(t, readRange(t, open(t, f), q, row.Range{}, plenty()), [][]string{{at(1), "1", "1"}, {at(2), "2", "2"}})
}
