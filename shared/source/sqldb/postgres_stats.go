package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"sealift/shared/job"
	"sealift/shared/row"
	"sealift/shared/source"
)

const (
	// valuesMax bounds the values taken from the statistics of one column.
	valuesMax = 512
	// pointsMax bounds the probes of one plan.
	pointsMax = 4096
	// piecesPerShard is how finely a plan is cut before cuts are merged to shards.
	piecesPerShard = 4
	// stepsMax bounds the walks through one interval of text, which can't be interpolated.
	stepsMax = 256
)

// estimate is how many rows the server's planner expects in the scope.
func (s *postgresSource) estimate(ctx context.Context, q *row.Query, sc scope) (rows float64, err error) {
	st, err := selectKeyset(s, q, "1", false, 0, sc)
	if err != nil {
		return 0, err
	}
	st.text = "EXPLAIN (FORMAT JSON) " + st.text
	err = s.query(ctx, q, st, func(values [][]byte) error {
		var explained []struct {
			Plan struct {
				Rows float64 `json:"Plan Rows"`
			}
		}
		if err := json.Unmarshal(values[0], &explained); err != nil || len(explained) != 1 {
			return job.Errorf(job.Permanent, codeUnavailable, "the server's EXPLAIN of a statement on %s isn't JSON as PostgreSQL "+
				"writes it; use a PostgreSQL server", q.Table)
		}
		rows = explained[0].Plan.Rows
		return nil
	})
	return rows, err
}

// estimateCuts cuts the set between first and last by statistics.
func (s *postgresSource) estimateCuts(ctx context.Context, q *row.Query, first, last row.Key, opt source.PlanOptions) ([]cut, error) {
	total, err := s.total(ctx, q, first, last)
	if err != nil {
		return nil, err
	}
	e := &estimator{source: s, query: q, valuesMax: valuesMax}
	e.piece = max(float64(opt.ShardRows), total/float64(opt.ShardsMax)) / piecesPerShard
	for {
		e.pointsLeft, e.bytesLeft = pointsMax, cutBytesMax(opt)
		cuts, err := e.cuts(ctx, nil, first, last, total)
		if !errors.Is(err, errCrowded) {
			return cuts, err
		}
		// A piece of the whole is one cut, so this ends.
		e.piece *= 2
		e.valuesMax = max(1, e.valuesMax/2)
	}
}

// errCrowded ends a try whose cuts' keys take more memory than they may.
var errCrowded = errors.New("the cuts' keys take too much memory")

// total is the rows expected between first and last. The planner multiplies the tenant's share of the table with the
// period's, which is wrong for a tenant that exists only since last month; so its estimates only divide the tenant's
// rows over the tenant's own span.
func (s *postgresSource) total(ctx context.Context, q *row.Query, first, last row.Key) (float64, error) {
	all, err := s.estimate(ctx, q, scope{})
	if err != nil {
		return 0, err
	}
	if timeLeads(q) && (q.Since != "" || q.Until != "") {
		start, err := s.keyAt(ctx, q, scope{}, false)
		if err != nil {
			return 0, err
		}
		end, err := s.keyAt(ctx, q, scope{}, true)
		if err != nil {
			return 0, err
		}
		span, err := s.estimate(ctx, q, between(nil, start[0], end[0], true))
		if err != nil {
			return 0, err
		}
		part, err := s.estimate(ctx, q, between(nil, first[0], last[0], true))
		if err != nil {
			return 0, err
		}
		all *= min(1, part/max(1, span))
	}
	// The walk has seen more than this.
	return max(all, walkRows+1), nil
}

// between is the scope of the rows with the prefix whose next key column lies from from to to.
func between(prefix row.Key, from, to string, inclusive bool) scope {
	return scope{
		equal: prefix,
		lower: &keyBound{key: append(slices.Clone(prefix), from)},
		upper: &keyBound{key: append(slices.Clone(prefix), to), strict: !inclusive},
	}
}

// estimator cuts one set.
type estimator struct {
	source *postgresSource
	query  *row.Query
	// piece is how many rows a cut should hold.
	piece float64
	// valuesMax is how many of the values in a column's statistics are looked at.
	valuesMax int
	// pointsLeft is how many more probes may be made, bytesLeft how much more memory the keys that they find may take.
	pointsLeft, bytesLeft int
	// shown and hidden say that the user may see the server's statistics, or may not, once they were asked for.
	shown, hidden bool
}

// point is a place to cut at: the first key whose column is at the value, or above it when beyond is set.
type point struct {
	value  string
	beyond bool
	// interval is the point's interval of the statistics.
	interval int
	key      row.Key
	// inner are the cuts of a value so frequent that the next key column divides it.
	inner []cut
}

// cuts divides the rows with the prefix, the keys from first to last, along the key column behind the prefix: at the
// values that the statistics know, and evenly between those.
func (e *estimator) cuts(ctx context.Context, prefix, first, last row.Key, rows float64) ([]cut, error) {
	column := len(prefix)
	whole := []cut{{key: first, rows: int64(rows)}}
	if rows <= e.piece || column == len(e.query.Key) {
		return whole, nil
	}
	values, frequent, err := e.values(ctx, column, first[column], last[column])
	if err != nil {
		return nil, err
	}
	values = append([]string{first[column]}, values...)
	if last[column] != first[column] {
		values = append(values, last[column])
	}
	weights, err := e.weights(ctx, prefix, values)
	if err != nil {
		return nil, err
	}
	scaleTo(weights, rows)
	var points []point
	for i, value := range values {
		next := ""
		if i+1 < len(values) {
			next = values[i+1]
		}
		heavy := frequent[value] || next == ""
		more, err := e.interval(ctx, prefix, value, next, heavy, &weights[i])
		if err != nil {
			return nil, err
		}
		for k := range more {
			more[k].interval = i
		}
		points = append(points, more...)
	}
	return e.merge(points, weights, rows), nil
}

// interval finds the points of the rows from value up to next ("" when value is the last). A frequent value is divided
// along the next key column, and takes its rows out of the interval's weight.
func (e *estimator) interval(ctx context.Context, prefix row.Key, value, next string, frequent bool, weight *float64) ([]point, error) {
	var points []point
	kind := e.query.Key[len(prefix)].Kind
	key, err := e.probe(ctx, prefix, value, false)
	if err != nil || key == nil {
		return nil, err
	}
	points = append(points, point{value: value, key: key})
	if frequent && *weight > e.piece {
		inner, held, err := e.divide(ctx, append(slices.Clone(prefix), value), next == "", *weight)
		if err != nil {
			return nil, err
		}
		if inner != nil {
			points[0].inner = inner
			*weight = max(0, *weight-held)
			if key, err = e.probe(ctx, prefix, value, true); err != nil || key == nil || next == "" {
				return points, err
			}
			points = append(points, point{value: value, beyond: true, key: key})
		}
	}
	if next == "" || *weight <= e.piece {
		return points, nil
	}
	pieces := min(int(*weight/e.piece)+1, e.pointsLeft)
	if kind == row.String {
		return e.steps(ctx, prefix, points, next, pieces)
	}
	for _, inside := range interpolate(kind, value, next, pieces) {
		key, err := e.probe(ctx, prefix, inside, false)
		if err != nil {
			return nil, err
		}
		if key != nil {
			points = append(points, point{value: inside, key: key})
		}
	}
	return points, nil
}

// divide cuts the rows that share the prefix along the key column behind it; nil when they are few or the key ends.
func (e *estimator) divide(ctx context.Context, prefix row.Key, alone bool, most float64) ([]cut, float64, error) {
	if len(prefix) == len(e.query.Key) {
		return nil, 0, nil
	}
	rows := most
	if !alone {
		estimated, err := e.source.estimate(ctx, e.query, scope{equal: prefix})
		if err != nil {
			return nil, 0, err
		}
		rows = min(most, estimated)
	}
	first, err := e.source.keyAt(ctx, e.query, scope{equal: prefix}, false)
	if err != nil || first == nil || rows <= e.piece {
		return nil, 0, err
	}
	last, err := e.source.keyAt(ctx, e.query, scope{equal: prefix}, true)
	if err != nil {
		return nil, 0, err
	}
	inner, err := e.cuts(ctx, prefix, first, last, rows)
	return inner, rows, err
}

// steps walks an interval of text in bounded statements, because there is no middle between two texts.
func (e *estimator) steps(ctx context.Context, prefix row.Key, points []point, next string, pieces int) ([]point, error) {
	at := points[len(points)-1].key
	for range min(pieces, stepsMax) {
		sc := scope{
			equal: prefix, lower: &keyBound{key: at},
			upper: &keyBound{key: append(slices.Clone(prefix), next), strict: true},
		}
		st, err := selectKeyset(e.source, e.query, keyFields(e.query), false, int(e.piece)+1, sc)
		if err != nil {
			return nil, err
		}
		st.text = "SELECT * FROM (" + st.text + ") AS w ORDER BY " + descending(len(e.query.Key)) + " LIMIT 1"
		var key row.Key
		err = e.source.query(ctx, e.query, st, func(values [][]byte) error {
			key, err = e.source.readKey(e.query, values)
			return err
		})
		if err != nil {
			return nil, err
		}
		if key == nil || slices.Equal(key, at) {
			break
		}
		if points = append(points, point{value: key[len(prefix)], key: key}); !e.holds(key) {
			return nil, errCrowded
		}
		at = key
	}
	return points, nil
}

// probe finds the first key of the prefix at the value, or above it.
func (e *estimator) probe(ctx context.Context, prefix row.Key, value string, beyond bool) (row.Key, error) {
	if e.pointsLeft <= 0 {
		return nil, nil
	}
	e.pointsLeft--
	bound := &keyBound{key: append(slices.Clone(prefix), value), strict: beyond}
	key, err := e.source.keyAt(ctx, e.query, scope{equal: prefix, lower: bound}, false)
	if err == nil && !e.holds(key) {
		err = errCrowded
	}
	return key, err
}

// holds takes one more key into memory and reports whether there was room.
func (e *estimator) holds(key row.Key) bool {
	e.bytesLeft -= heldBytes(key)
	return e.bytesLeft >= 0
}

// merge gives every interval's weight evenly to the different keys found in it. Points that found the same key lie in
// a gap, and the key belongs to the last of them.
func (e *estimator) merge(points []point, weights []float64, rows float64) []cut {
	var kept []point
	for i, p := range points {
		if i+1 == len(points) || !slices.Equal(p.key, points[i+1].key) || p.inner != nil {
			kept = append(kept, p)
		}
	}
	sharing := make([]int, len(weights))
	for _, p := range kept {
		if p.inner == nil {
			sharing[p.interval]++
		}
	}
	var cuts []cut
	total := 0.0
	for _, p := range kept {
		if p.inner != nil {
			cuts = append(cuts, p.inner...)
			continue
		}
		cuts = append(cuts, cut{key: p.key, rows: int64(weights[p.interval] / float64(sharing[p.interval]))})
	}
	for _, c := range cuts {
		total += float64(c.rows)
	}
	for i := range cuts {
		cuts[i].rows = max(1, int64(float64(cuts[i].rows)*rows/max(1, total)))
	}
	return cuts
}

func scaleTo(weights []float64, rows float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for i := range weights {
		weights[i] *= rows / max(1, sum)
	}
}
