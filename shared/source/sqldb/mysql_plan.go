package sqldb

import (
	"context"
	"math"
	"strconv"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// Plan implements source.Source. A set of up to walkRows rows is counted along the index; a larger one is halved at
// values between its ends, the fullest piece first, as the server's estimates from dives into the index say. Only index
// pages are read. Where the server tells no estimates the rows are counted.
func (s *mysqlSource) Plan(ctx context.Context, q row.Query, opt source.PlanOptions) (plan source.Plan, err error) {
	if opt, err = checkPlan(&q, opt); err != nil {
		return plan, err
	}
	q.Ceiling = nil
	if err := s.prepareQuery(ctx, &q); err != nil {
		return plan, err
	}
	if s.table.view {
		if err := s.checkNulls(ctx, &q); err != nil {
			return plan, err
		}
	}
	// One snapshot for all probes.
	if err := s.command(ctx, &q, "START TRANSACTION WITH CONSISTENT SNAPSHOT"); err != nil {
		return plan, err
	}
	plan, err = s.plan(ctx, &q, opt)
	if err != nil {
		// Ending the session ends its transaction, whatever state it is in.
		s.drop()
		return source.Plan{}, err
	}
	return plan, s.command(ctx, &q, "COMMIT")
}

func (s *mysqlSource) plan(ctx context.Context, q *row.Query, opt source.PlanOptions) (source.Plan, error) {
	last, err := s.ceiling(ctx, q)
	if err != nil {
		return source.Plan{}, err
	}
	if last == nil {
		return emptyPlan(), nil
	}
	cuts, complete, err := walkServer(ctx, s, q, opt)
	if err != nil {
		return source.Plan{}, err
	}
	known := true
	if !complete {
		if cuts, known, err = s.divide(ctx, q, &piece{first: cuts[0].key, last: last}, opt); err != nil {
			return source.Plan{}, err
		}
	}
	return finishPlan(ctx, s, q, last, cuts, known && estimable(q), opt)
}

// ceilingTries is how often the highest key is sought in a view whose rows the snapshot doesn't hold still.
const ceilingTries = 3

// ceiling is the highest key, above which no row may lie: it would be left out. An index gives it; where the server sorts for it
// the rows above it are looked for.
func (s *mysqlSource) ceiling(ctx context.Context, q *row.Query) (last row.Key, err error) {
	for range ceilingTries {
		if last, err = s.keyAt(ctx, q, planScope(q), true); err != nil || last == nil || s.table.index != "" {
			return last, err
		}
		above := planScope(q)
		above.lower = &keyBound{key: last, strict: true}
		higher, err := s.keyAt(ctx, q, above, false)
		if err != nil || higher == nil {
			return last, err
		}
	}
	sequence := newSequence(q)
	return nil, sequence.disordered(last, "is said to be the highest, and there are rows above it")
}

func (s *mysqlSource) keyAt(ctx context.Context, q *row.Query, sc scope, last bool) (row.Key, error) {
	return keyOfServer(ctx, s, q, sc, last)
}

func (s *mysqlSource) readKey(q *row.Query, values [][]byte) (row.Key, error) {
	key := make(row.Key, 0, len(q.Key))
	for i, column := range q.Key {
		text, wrong := s.keyText(column, values[i])
		if wrong != faultNone {
			return nil, invalidValue(column, s.place(q, values), wrong)
		}
		key = append(key, text)
	}
	return key, nil
}

// keyText is a key column's canonical text.
func (s *mysqlSource) keyText(column row.Column, value []byte) (string, fault) {
	t := s.table.typeOf(column)
	switch {
	case value == nil:
		return "", faultNull
	case t.longKey(value):
		return "", faultLongKey
	}
	text, wrong := appendMySQL(nil, value, column.Kind, t, utcZone())
	return string(text), wrong
}

// place names a row by its key's values: one that can't be a key's as the server writes it, NULL as unread.
func (s *mysqlSource) place(q *row.Query, values [][]byte) string {
	key := make(row.Key, 0, len(q.Key))
	for i, column := range q.Key {
		text, wrong := s.keyText(column, values[i])
		switch {
		case values[i] == nil:
			text = unread
		case wrong != faultNone:
			text = string(values[i])
		}
		key = append(key, text)
	}
	return placeAt(key)
}

// estimate is how many rows the server expects in the scope. It looks at the pages at both ends of the range and at a
// few behind the first, so that short ranges are told nearly exactly and long ones within a small factor. Of a view it tells none to
// a user who may not see the view's text and what is below it; whatever else is denied, another statement needs too.
func (s *mysqlSource) estimate(ctx context.Context, q *row.Query, sc scope) (float64, error) {
	st, err := selectKeyset(s, q, "1", false, 0, sc)
	if err != nil {
		return 0, err
	}
	st.text = "EXPLAIN FORMAT=TRADITIONAL " + st.text
	rows := 1.0
	err = s.names(ctx, q, st, func(values map[string]string) {
		// A view may join tables; a line without rows is a range that can't hold any.
		expected, err := strconv.ParseFloat(values["rows"], 64)
		if err != nil {
			expected = 0
		}
		rows = math.Min(rows*expected, 1e15)
	})
	if job.CodeOf(err) == codeDenied {
		return rowsUnknown, nil
	}
	return rows, err
}
