package sqldb

import (
	"context"
	"math/big"
	"strconv"
	"strings"

	"sealift/shared/job"
	"sealift/shared/row"
)

// values returns what the statistics know of a key column strictly between two values, in the column's order, and
// which of them are frequent. It is nothing where the user may not see the statistics, and a plan does without.
func (e *estimator) values(ctx context.Context, column int, from, to string) (values []string, frequent map[string]bool, err error) {
	name := e.query.Key[column]
	cast := "x.v::" + e.source.table.columns[name.Source].declared
	st := statement{
		text: `SELECT v, bool_or(frequent) FROM (
	SELECT ` + cast + ` AS v, x.frequent FROM pg_class AS c
	JOIN pg_namespace AS n ON n.oid = c.relnamespace
	JOIN pg_stats AS s ON s.schemaname = n.nspname AND s.tablename = c.relname
	CROSS JOIN LATERAL (
		SELECT unnest(s.histogram_bounds::text::text[]) AS v, false AS frequent
		UNION ALL SELECT unnest(s.most_common_vals::text::text[]), true
	) AS x
	WHERE c.oid = to_regclass($1) AND s.attname = $2
) AS y WHERE v > $3 AND v < $4 GROUP BY v ORDER BY v`,
		args: []arg{{text: quoteTable(e.query.Table)}, {text: name.Source}, {text: from}, {text: to}},
	}
	if e.hidden {
		return nil, nil, nil
	}
	if !e.shown {
		// A refusal would end the transaction, and with it the snapshot.
		if err := e.source.command(ctx, e.query, "SAVEPOINT statistics"); err != nil {
			return nil, nil, err
		}
	}
	frequent = map[string]bool{}
	var all []string
	err = e.source.query(ctx, e.query, st, func(row [][]byte) error {
		text, wrong := appendPostgres(nil, row[0], name.Kind, utcZone())
		if wrong != faultNone {
			return nil
		}
		all = append(all, string(text))
		if row[1][0] == 't' {
			frequent[string(text)] = true
		}
		return nil
	})
	if job.CodeOf(err) == codeDenied && !e.shown {
		e.hidden = true
		return nil, nil, e.source.command(ctx, e.query, "ROLLBACK TO SAVEPOINT statistics")
	}
	e.shown = true
	step := len(all)/e.valuesMax + 1
	for i, value := range all {
		if i%step == 0 || frequent[value] && e.valuesMax == valuesMax {
			values = append(values, value)
		}
	}
	return values, frequent, err
}

// weights estimates the rows from each value up to the next, and of the last value alone.
func (e *estimator) weights(ctx context.Context, prefix row.Key, values []string) ([]float64, error) {
	weights := make([]float64, len(values))
	for i, value := range values {
		sc := between(prefix, value, value, true)
		if i+1 < len(values) {
			sc = between(prefix, value, values[i+1], false)
		}
		rows, err := e.source.estimate(ctx, e.query, sc)
		if err != nil {
			return nil, err
		}
		weights[i] = rows
	}
	return weights, nil
}

// interpolate returns up to pieces-1 values evenly between two, nil for a kind that has no arithmetic. They need not
// exist in the table.
func interpolate(kind row.Kind, from, to string, pieces int) []string {
	a, okA := ordinal(kind, from)
	b, okB := ordinal(kind, to)
	if !okA || !okB {
		return nil
	}
	width := new(big.Int).Sub(b, a)
	if width.IsInt64() && width.Int64() < int64(pieces) {
		pieces = int(width.Int64())
	}
	var values []string
	for i := 1; i < pieces; i++ {
		step := new(big.Int).Mul(width, big.NewInt(int64(i)))
		step.Quo(step, big.NewInt(int64(pieces)))
		values = append(values, fromOrdinal(kind, step.Add(step, a)))
	}
	return values
}

// decimalDigits is how many decimals interpolation distinguishes.
const decimalDigits = 6

// ordinal counts in the smallest unit that interpolation distinguishes: ones, days, microseconds, millionths.
func ordinal(kind row.Kind, canonical string) (*big.Int, bool) {
	switch kind {
	case row.Int64:
		return new(big.Int).SetString(canonical, 10)
	case row.Decimal:
		whole, fraction, _ := strings.Cut(canonical, ".")
		fraction = (fraction + strings.Repeat("0", decimalDigits))[:decimalDigits]
		return new(big.Int).SetString(whole+fraction, 10)
	case row.Date:
		c, _, ok := parseDate([]byte(canonical))
		return big.NewInt(daysSinceEpoch(c.year, c.month, c.day)), ok
	case row.Timestamp, row.DateTime:
		at, ok := parseInstant(canonical)
		fraction, _ := digits([]byte(string(at.fraction) + "000000")[:6])
		return big.NewInt(at.unix*1_000_000 + int64(fraction)), ok
	case row.String, row.Float64, row.Bool, row.JSON, row.Bytes:
	}
	return nil, false
}

func fromOrdinal(kind row.Kind, n *big.Int) string {
	switch kind {
	case row.Decimal:
		return new(big.Rat).SetFrac(n, big.NewInt(1_000_000)).FloatString(decimalDigits)
	case row.Date:
		return string(civilOf(n.Int64()*86400).append(nil, 'T')[:10])
	case row.Timestamp, row.DateTime:
		seconds := floorDiv(n.Int64(), 1_000_000)
		c := civilOf(seconds)
		micro := strconv.FormatInt(n.Int64()-seconds*1_000_000+1_000_000, 10)
		c.fraction = []byte(micro[1:])
		text := string(c.append(nil, 'T'))
		if kind == row.Timestamp {
			text += "Z"
		}
		return text
	case row.Int64, row.String, row.Float64, row.Bool, row.JSON, row.Bytes:
	}
	return n.String()
}

// descending orders by the first n result columns, last first.
func descending(n int) string {
	terms := make([]string, n)
	for i := range terms {
		terms[i] = strconv.Itoa(i+1) + " DESC"
	}
	return strings.Join(terms, ", ")
}
