package sqldb

import (
	"testing"

	"sealift/shared/job"
	"sealift/shared/row"
)

func TestOrdersOfKindsAreThoseOfTheirValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		order  keyOrder
		values []string
	}{
		"numbers":  {orderNumber, []string{"-9223372036854775808", "-100", "-99", "-9.5", "-9.25", "-1", "-0.5", "0", "0.05", "0.5", "0.51", "1.00", "1.01", "9", "10", "18446744073709551615"}},
		"whole":    {orderWhole, []string{"-9223372036854775808", "-100", "-99", "-10", "-9", "-1", "0", "1", "9", "10", "9223372036854775807"}},
		"days":     {orderBytes, []string{"0001-01-01", "1999-12-31", "2026-01-01", "2026-10-01", "9999-12-31"}},
		"instants": {orderTime, []string{"2025-12-31T23:59:59.999999Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00.12Z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:01Z"}},
		"clocks":   {orderTime, []string{"2025-12-31T23:59:59.9", "2026-01-01T00:00:00", "2026-01-01T00:00:00.000001", "2026-01-01T00:00:00.5", "2026-01-01T00:00:01"}},
		"bytes":    {orderBytes, []string{"", "A", "A\t", "A ", "B", "a", "aa", "名", "😀"}},
		"padded":   {orderPadded, []string{"A\t", "A", "A\x7f", "B", "a", "aa", "名"}},
	} {
		for i, a := range c.values {
			for j, b := range c.values {
				if got := c.order.compare([]byte(a), []byte(b)); i != j && (got < 0) != (i < j) || i != j && got == 0 {
					t.Errorf("%s: %q is compared with %q as %d, want the order of the list", name, a, b, got)
				}
			}
		}
	}
	for _, c := range []struct {
		order keyOrder
		a, b  string
	}{
		{orderUnknown, "b", "a"}, {orderNumber, "1.50", "1.5"}, {orderNumber, "-0.0", "0"}, {orderNumber, "007", "7"}, {orderPadded, "a", "a  "},
		{orderTime, "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00Z"},
	} {
		if got := c.order.compare([]byte(c.a), []byte(c.b)); got != 0 {
			t.Errorf("%s is compared with %s as %d, want nothing told", c.a, c.b, got)
		}
	}
}

// told is the code of a permanent error, "" of none.
func told(err error) string {
	switch {
	case err == nil:
		return ""
	case job.KindOf(err) != job.Permanent:
		return "an error that isn't permanent"
	}
	return job.CodeOf(err)
}

// sequenceQuery has a time and a number as its key.
func sequenceQuery() *row.Query {
	return &row.Query{
		Table: "w_v", Columns: []row.Column{{Source: "v", Kind: row.String}},
		Key: []row.Column{{Source: "at", Kind: row.DateTime}, {Source: "name", Kind: row.String}, {Source: "id", Kind: row.Int64}},
	}
}

func sequenceBatch(keys ...row.Key) *row.Batch {
	b := &row.Batch{}
	b.Reset(4)
	for _, key := range keys {
		b.AppendString("value")
		for _, value := range key {
			b.AppendString(value)
		}
	}
	return b
}

func TestRowsOutOfOrderEndTheRead(t *testing.T) {
	t.Parallel()
	const early, late = "2026-01-01T00:00:00", "2026-01-01T00:00:00.5"
	for name, c := range map[string]struct {
		before, current row.Key
		want            string
	}{
		"an earlier time":         {row.Key{late, "a", "1"}, row.Key{early, "b", "2"}, "source_key_collation"},
		"a smaller number":        {row.Key{early, "a", "10"}, row.Key{early, "a", "9"}, "source_key_collation"},
		"the same key":            {row.Key{early, "a", "9"}, row.Key{early, "a", "9"}, "source_key_not_unique"},
		"a larger number":         {row.Key{early, "a", "9"}, row.Key{early, "a", "10"}, ""},
		"a later time":            {row.Key{early, "b", "9"}, row.Key{late, "a", "1"}, ""},
		"a text of unknown order": {row.Key{early, "b", "9"}, row.Key{early, "a", "1"}, ""},
	} {
		s := newSequence(sequenceQuery())
		err := s.next(sequenceBatch(c.before, c.current), 1)
		if told(err) != c.want {
			t.Errorf("%s is told %v, want %q", name, err, c.want)
		}
	}
	s := newSequence(sequenceQuery())
	s.orders[1] = orderBytes
	if err := s.next(sequenceBatch(row.Key{early, "b", "9"}, row.Key{early, "a", "1"}), 1); told(err) != "source_key_collation" {
		t.Errorf("a smaller text of bytes is told %v, want source_key_collation", err)
	}
}

func TestRowsOutsideTheirRangeEndTheRead(t *testing.T) {
	t.Parallel()
	const at = "2026-01-01T00:00:00"
	key := func(id string) row.Key { return row.Key{at, "a", id} }
	for name, c := range map[string]struct {
		r              row.Range
		after, ceiling row.Key
		want           string
	}{
		"no bounds":                 {row.Range{}, nil, nil, ""},
		"the bounds themselves":     {row.Range{From: key("10"), To: key("21")}, key("9"), key("20"), ""},
		"before the range":          {row.Range{From: key("11")}, nil, nil, "source_key_collation"},
		"before the cursor":         {row.Range{}, key("11"), nil, "source_key_collation"},
		"the cursor again":          {row.Range{}, key("10"), nil, "source_key_not_unique"},
		"behind the range":          {row.Range{To: key("19")}, nil, nil, "source_key_collation"},
		"the range's end":           {row.Range{To: key("20")}, nil, nil, "source_key_collation"},
		"above the plan":            {row.Range{}, nil, key("19"), "source_key_collation"},
		"a text of unknown order":   {row.Range{From: row.Key{at, "b", "1"}, To: row.Key{at, "A", "1"}}, nil, nil, ""},
		"a time behind the range's": {row.Range{To: row.Key{"2025-12-31T23:59:59", "b", "1"}}, nil, nil, "source_key_collation"},
	} {
		q := sequenceQuery()
		q.Ceiling = c.ceiling
		s := newSequence(q)
		if err := s.inside(sequenceBatch(key("10"), key("20")), c.r, c.after); told(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestJudgingRowsAllocatesNothing(t *testing.T) {
	q := sequenceQuery()
	b := sequenceBatch(row.Key{"2026-01-01T00:00:00", "a", "10"}, row.Key{"2026-01-01T00:00:00", "a", "20"})
	s := newSequence(q)
	if n := testing.AllocsPerRun(100, func() {
		if err := s.next(b, 1); err != nil {
			panic(err)
		}
	}); n != 0 {
		t.Errorf("a row costs %v allocations, want none", n)
	}
}
