package sqldb

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sealift/shared/row"
)

// comparison is the SQL of an Op that compares with one value.
func comparison(op row.Op) (text string, ok bool) {
	switch op {
	case row.Equal:
		return "=", true
	case row.NotEqual:
		return "<>", true
	case row.Less:
		return "<", true
	case row.LessEqual:
		return "<=", true
	case row.Greater:
		return ">", true
	case row.GreaterEqual:
		return ">=", true
	case row.In, row.IsNull, row.NotNull:
		return "", false
	}
	return "", false
}

// ordered reports whether a comparison asks for what is below or above.
func ordered(op row.Op) bool {
	switch op {
	case row.Less, row.LessEqual, row.Greater, row.GreaterEqual:
		return true
	case row.Equal, row.NotEqual, row.In, row.IsNull, row.NotNull:
		return false
	}
	return false
}

// checkOrders refuses filters that ask what is below or above of columns that are strings for want of a better kind: the order of their
// text isn't that of their values, of which 9 is below 50 and 9:00 below 20:00, and whoever asks means the values. have gives a column's
// type and what to do about it, "" where its values are text.
func checkOrders(q *row.Query, have func(column row.Column) (declared, advice string)) error {
	for _, f := range q.Filters {
		if f.Column.Kind != row.String || !ordered(f.Op) {
			continue
		}
		if declared, advice := have(f.Column); advice != "" {
			return filterInvalid(f, "isn't possible: in table "+q.Table+" the column has type "+declared+", whose values sort in another order than "+
				"its text, so that other rows would be found than those that are meant; "+advice+" in a new version of the definition, or ask for single values: "+
				"eq, ne and in compare what the file shows")
		}
	}
	return nil
}

// declareAs and viewAs are the advice for a column whose values have a kind of their own, and for one whose values have none but can be
// said in SQL.
func declareAs(kinds string) string { return "declare the column " + kinds }

func viewAs(column row.Column, expression, what string) string {
	return "name a view with a column of " + what + " for it, such as " + strings.ReplaceAll(expression, "?", column.Source) + ","
}

// compare builds one filter's condition: left is the SQL of what is compared and operand binds one value for it. As in
// SQL, a NULL satisfies is_null and nothing else, not even ne.
func compare(f row.Filter, left string, operand func(value string) (string, error)) (string, error) {
	switch f.Op {
	case row.IsNull, row.NotNull:
		if len(f.Values) != 0 {
			return "", filterInvalid(f, "takes no value")
		}
		if f.Op == row.IsNull {
			return quoteColumn(f.Column) + " IS NULL", nil
		}
		return quoteColumn(f.Column) + " IS NOT NULL", nil
	case row.In:
		if len(f.Values) == 0 {
			return "", filterInvalid(f, "needs at least one value")
		}
	case row.Equal, row.NotEqual, row.Less, row.LessEqual, row.Greater, row.GreaterEqual:
		if len(f.Values) != 1 {
			return "", filterInvalid(f, "needs exactly one value")
		}
	default:
		return "", filterInvalid(f, "isn't known; use eq, ne, lt, le, gt, ge, in, is_null or not_null")
	}
	if ordered(f.Op) && (f.Column.Kind == row.Bool || f.Column.Kind == row.Bytes) {
		return "", filterInvalid(f, "isn't possible: the kind has no order; use eq, ne, in, is_null or not_null")
	}
	if f.Column.Kind == row.JSON {
		return "", filterInvalid(f, "isn't possible: equal documents can be written differently; use is_null or not_null")
	}
	operands := make([]string, 0, len(f.Values))
	for _, value := range f.Values {
		text, err := operand(value)
		if err != nil {
			return "", err
		}
		operands = append(operands, text)
	}
	if f.Op == row.In {
		return left + " IN (" + strings.Join(operands, ", ") + ")", nil
	}
	op, _ := comparison(f.Op)
	return left + " " + op + " " + operands[0], nil
}

// possible takes out of a filter what no value of its column can be equal to; some is false where nothing is left that
// could. Filters of an order keep their value.
func possible(f row.Filter, has func(value string) bool) (left row.Filter, some bool) {
	switch {
	case len(f.Values) == 0:
	case f.Op == row.NotEqual && !has(f.Values[0]):
		f.Op, f.Values = row.NotNull, nil
	case f.Op == row.Equal || f.Op == row.In:
		f.Values = slices.DeleteFunc(slices.Clone(f.Values), func(value string) bool { return !has(value) })
		return f, len(f.Values) > 0
	}
	return f, true
}

// asReal makes a filter of numbers one that a column of 32 bits understands. Its shortest text, which the file shows, is
// mostly neither the number that it holds nor that of the same text in 64 bits; so the column is compared with the real
// nearest to the value, and where the file shows that as another number, nothing equals the value and an order says on
// which side of it the real lies.
func asReal(f row.Filter) (real row.Filter, some bool) {
	f, some = possible(f, func(value string) bool {
		_, side := nearestReal(value)
		return side == 0
	})
	if !some || len(f.Values) != 1 {
		return f, some
	}
	_, side := nearestReal(f.Values[0])
	switch less := f.Op == row.Less || f.Op == row.LessEqual; {
	case side == 0 || f.Op == row.Equal || f.Op == row.NotEqual || f.Op == row.In:
	case less && side < 0:
		f.Op = row.LessEqual
	case less:
		f.Op = row.Less
	case side < 0:
		f.Op = row.Greater
	default:
		f.Op = row.GreaterEqual
	}
	return f, true
}

// nearestReal is the number of 32 bits nearest to a value, infinite where that is beyond all of them; side is where its own
// text lies: below the value (-1), above it (1), or at it (0).
func nearestReal(value string) (near float64, side int) {
	exact, _ := strconv.ParseFloat(value, 64)
	near, _ = strconv.ParseFloat(value, 32)
	shown, _ := strconv.ParseFloat(strconv.FormatFloat(near, 'g', -1, 32), 64)
	return near, cmp.Compare(shown, exact)
}

// checkValue refuses a filter value that isn't canonical text of its column's kind.
func checkValue(f row.Filter, value string) error {
	ok := true
	switch f.Column.Kind {
	case row.Int64:
		_, err := strconv.ParseInt(value, 10, 64)
		ok = err == nil
	case row.Decimal:
		ok = plainDecimal([]byte(value))
	case row.Float64:
		v, err := strconv.ParseFloat(value, 64)
		ok = err == nil && !math.IsNaN(v)
	case row.Bool:
		ok = value == "true" || value == "false"
	case row.Date:
		_, rest, parsed := parseDate([]byte(value))
		ok = parsed && len(rest) == 0
	case row.Timestamp:
		_, _, rest, parsed := parseCivil([]byte(value))
		_, zoned := parseOffset(rest)
		ok = parsed && zoned && len(rest) > 0
	case row.DateTime:
		_, _, rest, parsed := parseCivil([]byte(value))
		ok = parsed && len(rest) == 0
	case row.String:
		ok = utf8.ValidString(value) && !strings.ContainsRune(value, 0)
	case row.JSON, row.Bytes:
	}
	if !ok {
		return filterInvalid(f, "has a value that isn't canonical text of the column's kind")
	}
	return nil
}

// canonicalDecimal splits plain notation into sign and digits without needless zeros: -0012.50 gives (true, "12", "5").
// Zero is never negative.
func canonicalDecimal(text string) (negative bool, whole, fraction string, ok bool) {
	digitsText, negative := strings.CutPrefix(text, "-")
	whole, fraction, dotted := strings.Cut(digitsText, ".")
	if whole == "" || dotted && fraction == "" {
		return false, "", "", false
	}
	for _, c := range whole + fraction {
		if c < '0' || c > '9' {
			return false, "", "", false
		}
	}
	whole = strings.TrimLeft(whole, "0")
	fraction = strings.TrimRight(fraction, "0")
	if whole == "" && fraction == "" {
		negative = false
	}
	return negative, whole, fraction, true
}
