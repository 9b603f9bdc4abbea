package sqldb

import (
	"context"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

// Plan implements source.Source. A set of up to walkRows rows is counted along the index; a larger one is cut at values
// from the server's own statistics, refined by interpolation, weighed by the planner's estimates and moved to real
// keys by index probes.
func (s *postgresSource) Plan(ctx context.Context, q row.Query, opt source.PlanOptions) (plan source.Plan, err error) {
	if opt, err = checkPlan(&q, opt); err != nil {
		return plan, err
	}
	q.Ceiling = nil
	if err := s.prepareQuery(ctx, &q); err != nil {
		return plan, err
	}
	if possible, err := s.tenantPossible(ctx, &q); err != nil || !possible {
		return emptyPlan(), err
	}
	if s.table.searched {
		if err := s.checkNulls(ctx, &q); err != nil {
			return plan, err
		}
	}
	// One snapshot for all probes.
	if err := s.command(ctx, &q, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return plan, err
	}
	plan, err = s.plan(ctx, &q, opt)
	if err != nil {
		// Ending the session ends its transaction, whatever state it is in.
		s.drop(ctx)
		return source.Plan{}, err
	}
	return plan, s.command(ctx, &q, "COMMIT")
}

func (s *postgresSource) command(ctx context.Context, q *row.Query, text string) error {
	_, err := s.ask(ctx, q, statement{text: text}, func([][]byte) error { return nil })
	return err
}

// tenantPossible reports whether the tenant column's type has a value that is spelled as the tenant. Where it has none no
// row is the tenant's, and every comparison would be refused. Of a domain the type below it is asked, as comparisons do.
func (s *postgresSource) tenantPossible(ctx context.Context, q *row.Query) (bool, error) {
	if s.table.exact(q.TenantColumn) {
		return true, nil
	}
	st := statement{text: "SELECT $1::" + s.table.columns[q.TenantColumn.Source].name, args: []arg{{text: q.Tenant}}}
	err := s.query(ctx, q, st, func([][]byte) error { return nil })
	if job.CodeOf(err) == codeQueryInvalid {
		return false, nil
	}
	return err == nil, err
}

func (s *postgresSource) plan(ctx context.Context, q *row.Query, opt source.PlanOptions) (source.Plan, error) {
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
		if cuts, err = s.estimateCuts(ctx, q, cuts[0].key, last, opt); err != nil {
			return source.Plan{}, err
		}
	}
	known := estimable(q)
	plan, err := finishPlan(ctx, s, q, last, cuts, true, opt)
	if err != nil || known {
		return plan, err
	}
	err = s.scaleToFilters(ctx, q, &plan)
	return plan, err
}

func (s *postgresSource) keyAt(ctx context.Context, q *row.Query, sc scope, last bool) (row.Key, error) {
	return keyOfServer(ctx, s, q, sc, last)
}

func (s *postgresSource) readKey(q *row.Query, values [][]byte) (row.Key, error) {
	key := make(row.Key, 0, len(q.Key))
	for i, column := range q.Key {
		wrong := faultNull
		var text []byte
		if values[i] != nil {
			text, wrong = appendPostgres(nil, values[i], column.Kind, utcZone())
		}
		if wrong != faultNone {
			return nil, invalidValue(column, placeAfter(key), wrong)
		}
		key = append(key, string(text))
	}
	return key, nil
}

// scaleToFilters corrects the expected rows by the share that the planner expects the filters to let through.
func (s *postgresSource) scaleToFilters(ctx context.Context, q *row.Query, plan *source.Plan) error {
	all, err := s.estimate(ctx, q, planScope(q))
	if err != nil {
		return err
	}
	filtered, err := s.estimate(ctx, q, scope{times: true, filters: true})
	if err != nil {
		return err
	}
	share := min(1, filtered/max(1, all))
	plan.RowsEstimated = 0
	for i := range plan.Shards {
		shard := &plan.Shards[i]
		shard.RowsEstimated = int64(float64(shard.RowsEstimated) * share)
		plan.RowsEstimated += shard.RowsEstimated
	}
	return nil
}
