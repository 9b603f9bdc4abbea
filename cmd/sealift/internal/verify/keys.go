package verify

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"sealift/shared/pipeline"
	"sealift/shared/row"
)

// checkKeys compares the keys that the receipt names with each other: those of a file with those of its segments, and all
// with the ranges that they lie in.
func (r Receipt) checkKeys(report *Report, t tiling) {
	wrong := r.wrongKeys()
	if wrong == "" && !ordered(t.segments, r.receipt.Watermark.Ceiling, len(r.snap.Order)) {
		wrong = "some lie outside of their segment's range or behind the ceiling"
	}
	report.check("keys of the receipt", wrong == "", "%s", either(wrong == "", "those of the files are their segments', and all lie in their ranges", wrong))
}

// wrongKeys says which first or last key can't be; nothing when all can.
func (r Receipt) wrongKeys() string {
	known := []row.Key{r.receipt.Watermark.Ceiling}
	for _, f := range r.receipt.Files {
		var keys pipeline.KeyRange
		for _, s := range f.Segments {
			known = append(known, s.Range.From, s.Range.To, s.Keys.First, s.Keys.Last)
			if empty := s.Rows == 0; empty != (s.Keys.First == nil) || empty != (s.Keys.Last == nil) ||
				!empty && (s.Rows == 1) != slices.Equal(s.Keys.First, s.Keys.Last) {
				return fmt.Sprintf("segment %s can't have the keys %s to %s with so many rows: %d", s.Unit, s.Keys.First, s.Keys.Last, s.Rows)
			}
			if keys.First == nil {
				keys.First = s.Keys.First
			}
			if s.Keys.Last != nil {
				keys.Last = s.Keys.Last
			}
		}
		if !slices.Equal(keys.First, f.Keys.First) || !slices.Equal(keys.Last, f.Keys.Last) {
			return fmt.Sprintf("%s has the keys %s to %s; by its segments they are %s to %s", f.Name, f.Keys.First, f.Keys.Last, keys.First, keys.Last)
		}
	}
	for _, key := range known {
		if key != nil && len(key) != len(r.snap.Order) {
			return fmt.Sprintf("the key %s has another number of values than rows are ordered by: %d", key, len(r.snap.Order))
		}
	}
	if r.receipt.Watermark.Ceiling == nil && r.receipt.Rows > 0 {
		return "there is no ceiling although there are rows"
	}
	return ""
}

// collation compares two values of one column of a key, which it must be able to read.
type collation func(a, b string) int

// collations are the orders that a source may have sorted a column of the key in: a receipt doesn't say of what kind it is.
// Numbers and times may also be kept as text, in whose order digits are sorted everywhere. How other text is sorted is the
// database's own affair, and there is none.
func collations(values []string) []collation {
	switch {
	case all(values, isNumber):
		return []collation{byNumber, strings.Compare}
	case all(values, isTime):
		return []collation{byTime, strings.Compare}
	}
	return nil
}

func all(values []string, is func(string) bool) bool {
	return !slices.ContainsFunc(values, func(value string) bool { return !is(value) })
}

func isNumber(value string) bool {
	_, known := new(big.Rat).SetString(value)
	return known && strings.Trim(value, "-.0123456789") == ""
}

func byNumber(a, b string) int {
	x, _ := new(big.Rat).SetString(a)
	y, _ := new(big.Rat).SetString(b)
	return x.Cmp(y)
}

func isTime(value string) bool {
	_, known := timeOf(value)
	return known
}

func byTime(a, b string) int {
	x, _ := timeOf(a)
	y, _ := timeOf(b)
	return x.Compare(y)
}

// timeOf reads an instant, a wall clock or a day.
func timeOf(value string) (at time.Time, known bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		if at, err := time.Parse(layout, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// step is two keys of which the first isn't behind the second, or with strict lies before it.
type step struct {
	from, to row.Key
	strict   bool
}

// ordered reports whether all keys lie in their ranges by some order that the ranges themselves are in. Ranges that are in
// none are of a source whose order isn't known here, and nothing is said of its keys.
func ordered(segments []pipeline.ReceiptSegment, ceiling row.Key, width int) bool {
	var borders, steps []step
	var last row.Key
	for _, s := range segments {
		borders = append(borders, step{s.Range.From, s.Range.To, true})
		if s.Rows > 0 {
			steps = append(steps, step{s.Range.From, s.Keys.First, false}, step{s.Keys.First, s.Keys.Last, s.Rows > 1}, step{s.Keys.Last, s.Range.To, true})
			last = s.Keys.Last
		}
	}
	steps = append(steps, step{last, ceiling, false})
	judged := false
	for _, order := range orders(slices.Concat(borders, steps), width) {
		if hold(borders, order) {
			judged = true
			if hold(steps, order) {
				return true
			}
		}
	}
	return !judged
}

// columnsMax bounds for how many columns of a key every order is tried; of what comes behind them nothing is said.
const columnsMax = 6

// orders are the ways in which the keys may be sorted: a collation for each column, up to the first that has none.
func orders(steps []step, width int) [][]collation {
	ways := [][]collation{{}}
	for column := range min(width, columnsMax) {
		var values []string
		for _, s := range steps {
			for _, key := range []row.Key{s.from, s.to} {
				if column < len(key) {
					values = append(values, key[column])
				}
			}
		}
		var longer [][]collation
		for _, order := range ways {
			for _, next := range collations(values) {
				longer = append(longer, append(slices.Clone(order), next))
			}
		}
		if longer == nil {
			break
		}
		ways = longer
	}
	return ways
}

func hold(steps []step, order []collation) bool {
	for _, s := range steps {
		if s.from == nil || s.to == nil {
			continue
		}
		if have, known := compare(s.from, s.to, order); known && (have > 0 || s.strict && have == 0) {
			return false
		}
	}
	return true
}

// compare compares two keys; known is false when they differ first in a column that has no collation.
func compare(a, b row.Key, order []collation) (result int, known bool) {
	for i := range min(len(a), len(b)) {
		if i >= len(order) {
			return 0, slices.Equal(a[i:], b[i:])
		}
		if result := order[i](a[i], b[i]); result != 0 {
			return result, true
		}
	}
	return 0, true
}
