package sqldb

import (
	"context"

	"sealift/shared/row"
	"sealift/shared/source"
)

// Plan implements source.Source. A set of up to walkRows rows is counted along the index; a larger one is cut at keys
// sampled from the inner pages of the index, which hold one entry for each of its leaf pages. Only index pages are
// read: about one in a hundred of them, and all of the tenant's where times or decimals of the key are text (proveForms).
func (s *sqliteSource) Plan(ctx context.Context, q row.Query, opt source.PlanOptions) (plan source.Plan, err error) {
	if opt, err = checkPlan(&q, opt); err != nil {
		return plan, err
	}
	q.Ceiling = nil
	err = s.within(ctx, &q, func(ctx context.Context) error {
		if err := s.prepareQuery(ctx, &q); err != nil {
			return err
		}
		if s.view {
			if err := s.checkNulls(ctx, &q); err != nil {
				return err
			}
		}
		// One snapshot for all probes: the inner pages of an index mean nothing beside another version's.
		if _, err := s.conn.row(ctx, statement{text: "BEGIN"}); err != nil {
			return err
		}
		if err = s.proveForms(ctx, &q); err == nil {
			plan, err = s.plan(ctx, &q, opt)
		}
		// The transaction has to end when the context has.
		if _, end := s.conn.row(context.WithoutCancel(ctx), statement{text: "COMMIT"}); err == nil {
			err = end
		}
		return err
	})
	return plan, err
}

func (s *sqliteSource) plan(ctx context.Context, q *row.Query, opt source.PlanOptions) (source.Plan, error) {
	last, err := s.keyAt(ctx, q, planScope(q), true)
	if err != nil {
		return source.Plan{}, err
	}
	if last == nil {
		return emptyPlan(), nil
	}
	cuts, complete, err := s.walk(ctx, q, opt, walkRows)
	if err != nil {
		return source.Plan{}, err
	}
	known := estimable(q)
	if !complete {
		first := cuts[0].key
		sampled, err := s.sample(ctx, q, first, last, opt)
		if err != nil {
			return source.Plan{}, err
		}
		if sampled == nil {
			sampled, complete, err = s.walk(ctx, q, opt, walkRowsBlind)
			known = known && complete
		}
		if err != nil {
			return source.Plan{}, err
		}
		cuts = sampled
	}
	return finishPlan(ctx, s, q, last, cuts, known, opt)
}

// walk counts along the index, at most rowsMax rows; complete is false when there are more.
func (s *sqliteSource) walk(ctx context.Context, q *row.Query, opt source.PlanOptions, rowsMax int) ([]cut, bool, error) {
	w := newWalk(opt)
	err := s.rows(ctx, q, s.withNumber(keyFields(q)), false, rowsMax+1, planScope(q), func(st *sqliteStmt) (bool, error) {
		if !w.next() {
			return true, nil
		}
		key, err := s.readKey(q, st)
		if err != nil {
			return false, err
		}
		w.take(key)
		return true, nil
	})
	return w.finish(), w.rows <= int64(rowsMax), err
}
