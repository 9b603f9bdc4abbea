package sqldb

import (
	"context"
	"math"
	"strconv"

	"sealift/shared/row"
	"sealift/shared/source"
)

// Plan implements source.Source. A set of up to walkRows rows is counted along the index; a larger one is halved at
// values between its ends, the fullest piece first, as the server's estimates from dives into the index say. Only index
// pages are read.
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
	last, err := s.keyAt(ctx, q, planScope(q), true)
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
	if !complete {
		h := &halver{source: s, query: q, opt: opt}
		if cuts, err = h.cuts(ctx, cuts[0].key, last); err != nil {
			return source.Plan{}, err
		}
	}
	return finishPlan(ctx, s, q, last, cuts, estimable(q), opt)
}

func (s *mysqlSource) keyAt(ctx context.Context, q *row.Query, sc scope, last bool) (row.Key, error) {
	return keyOfServer(ctx, s, q, sc, last)
}

func (s *mysqlSource) readKey(q *row.Query, values [][]byte) (row.Key, error) {
	key := make(row.Key, 0, len(q.Key))
	for i, column := range q.Key {
		wrong := faultNull
		var text []byte
		if values[i] != nil {
			text, wrong = appendMySQL(nil, values[i], column.Kind, s.table.typeOf(column), utcZone())
		}
		if wrong != faultNone {
			return nil, invalidValue(column, placeAfter(key), wrong)
		}
		key = append(key, string(text))
	}
	return key, nil
}

// estimate is how many rows the server expects in the scope. It looks at the pages at both ends of the range and at a
// few behind the first, so that short ranges are told nearly exactly and long ones within a small factor.
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
	return rows, err
}
