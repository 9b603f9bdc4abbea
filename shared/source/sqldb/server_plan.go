package sqldb

import (
	"context"
	"strconv"

	"sealift/shared/row"
	"sealift/shared/source"
)

// server is a dialect of a database whose statements go over a network, and which tells how many rows it expects.
type server interface {
	dialect
	// query runs a statement of few or small rows and calls each with every row's values; NULL is nil.
	query(ctx context.Context, q *row.Query, st statement, each func(values [][]byte) error) error
	// estimate is how many rows the server expects in the scope, rowsUnknown where it doesn't tell this user.
	estimate(ctx context.Context, q *row.Query, sc scope) (float64, error)
	// readKey makes a key of the values of its columns.
	readKey(q *row.Query, values [][]byte) (row.Key, error)
}

// rowsUnknown is the estimate of a server that tells none.
const rowsUnknown = -1

// walkServer counts along the index, at most walkRows rows; complete is false when there are more, and then the first cut
// is the only one to rely on.
func walkServer(ctx context.Context, s server, q *row.Query, opt source.PlanOptions) (cuts []cut, complete bool, err error) {
	large, err := larger(ctx, s, q)
	if err != nil {
		return nil, false, err
	}
	if large {
		first, err := keyOfServer(ctx, s, q, planScope(q), false)
		return []cut{{key: first}}, false, err
	}
	st, err := selectKeyset(s, q, keyFields(q), false, walkRows+1, planScope(q))
	if err != nil {
		return nil, false, err
	}
	w := newWalk(opt)
	err = s.query(ctx, q, st, func(values [][]byte) error {
		if !w.next() {
			return nil
		}
		key, err := s.readKey(q, values)
		w.take(key)
		return err
	})
	return w.finish(), w.rows <= walkRows, err
}

// larger reports whether a walk would end before the set does. Where the server expects so it counts by itself, which takes
// less than half the time of carrying keys that nobody wants.
func larger(ctx context.Context, s server, q *row.Query) (bool, error) {
	expected, err := s.estimate(ctx, q, planScope(q))
	if err != nil || expected <= 2*walkRows {
		return false, err
	}
	st, err := selectKeyset(s, q, "1", false, walkRows+1, planScope(q))
	if err != nil {
		return false, err
	}
	st.text = "SELECT count(*) FROM (" + st.text + ") AS w"
	rows := 0
	err = s.query(ctx, q, st, func(values [][]byte) error {
		rows, err = strconv.Atoi(string(values[0]))
		return err
	})
	return rows > walkRows, err
}

// keyOfServer returns the first or last key of the scope, nil when it is empty.
func keyOfServer(ctx context.Context, s server, q *row.Query, sc scope, last bool) (key row.Key, err error) {
	st, err := selectKeyset(s, q, keyFields(q), last, 1, sc)
	if err != nil {
		return nil, err
	}
	err = s.query(ctx, q, st, func(values [][]byte) error {
		key, err = s.readKey(q, values)
		return err
	})
	return key, err
}
