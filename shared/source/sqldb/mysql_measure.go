package sqldb

import (
	"context"
	"strconv"

	"sealift/shared/row"
	"sealift/shared/source"
)

// measureRowsMax is how many rows are counted where the server tells no estimates; what lies behind them is one shard.
const measureRowsMax = 1 << 26

// divide cuts a set that is too large to be walked. known is false where nobody knows how many rows the last cut has.
func (s *mysqlSource) divide(ctx context.Context, q *row.Query, all *piece, opt source.PlanOptions) (cuts []cut, known bool, err error) {
	if all.rows, err = s.estimate(ctx, q, all.scope()); err != nil {
		return nil, false, err
	}
	if all.rows == rowsUnknown {
		return s.measure(ctx, q, all, opt)
	}
	h := &halver{source: s, query: q, opt: opt}
	cuts, err = h.cuts(ctx, all)
	return cuts, true, err
}

// measure cuts a set of which the server tells no estimates. It counts a shard's rows in each statement, and more in the later ones
// where there would be more shards than are allowed.
func (s *mysqlSource) measure(ctx context.Context, q *row.Query, rest *piece, opt source.PlanOptions) (cuts []cut, known bool, err error) {
	for walked := int64(0); walked < measureRowsMax; {
		step := max(opt.ShardRows, walked/int64(opt.ShardsMax))
		next, err := s.behind(ctx, q, rest, step)
		if err != nil {
			return nil, false, err
		}
		if next == nil {
			rows, err := s.count(ctx, q, rest)
			return append(cuts, cut{key: rest.first, rows: rows}), true, err
		}
		cuts = append(cuts, cut{key: rest.first, rows: step})
		rest = &piece{first: next, last: rest.last}
		walked += step
	}
	return append(cuts, cut{key: rest.first, rows: opt.ShardRows}), false, nil
}

// behind is the key so many rows behind the piece's first, nil where the piece has no more than these.
func (s *mysqlSource) behind(ctx context.Context, q *row.Query, p *piece, rows int64) (key row.Key, err error) {
	st, err := selectKeyset(s, q, keyFields(q), false, 1, p.scope())
	if err != nil {
		return nil, err
	}
	st.text += " OFFSET " + strconv.FormatInt(rows, 10)
	err = s.query(ctx, q, st, func(values [][]byte) error {
		key, err = s.readKey(q, values)
		return err
	})
	return key, err
}

// count is how many rows a piece has.
func (s *mysqlSource) count(ctx context.Context, q *row.Query, p *piece) (rows int64, err error) {
	st, err := selectKeyset(s, q, "count(*)", false, 0, p.scope())
	if err != nil {
		return 0, err
	}
	err = s.query(ctx, q, st, func(values [][]byte) error {
		rows, err = strconv.ParseInt(string(values[0]), 10, 64)
		return err
	})
	return rows, err
}
