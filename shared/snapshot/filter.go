package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/limits"
	"sealift/shared/policy"
	"sealift/shared/row"
)

func (f *freezer) filters(s *Snapshot) {
	if len(f.request.Filters) > limits.FiltersMax {
		f.refuse("filters_too_many", "/filters", "/filters has %d entries; at most %d are allowed", len(f.request.Filters), limits.FiltersMax)
		return
	}
	s.Filters = []Wanted{}
	for i, filter := range f.request.Filters {
		s.Filters = append(s.Filters, f.filter(fmt.Sprintf("/filters/%d", i), filter))
	}
	s.Filters = sorted(s.Filters)
}

// filter judges one filter. Of a column that there isn't, which is judged with all the others, only the shape.
func (f *freezer) filter(where string, filter Filter) Wanted {
	column, known := f.column(filter.Column)
	if known && !f.allowed(where, filter, column) {
		return Wanted{}
	}
	if !f.shaped(where, filter) || !known {
		return Wanted{}
	}
	wanted := Wanted{Column: column.Name, Op: filter.Op}
	raws, field := filter.Values, "/values"
	switch filter.Op {
	case row.IsNull, row.NotNull:
		return wanted
	case row.In:
	case row.Equal, row.NotEqual, row.Less, row.LessEqual, row.Greater, row.GreaterEqual:
		raws, field = append(raws, filter.Value), "/value"
	}
	for i, raw := range raws {
		place := where + field
		if filter.Op == row.In {
			place = fmt.Sprintf("%s/%d", place, i)
		}
		value, err := canonicalValue(column.Kind, raw)
		if err != nil {
			f.refuse("filter_value", place, "%s %s", place, err)
			continue
		}
		wanted.Values = append(wanted.Values, value)
	}
	return wanted.sorted()
}

// allowed refuses a filter that the definition or the principal's rights don't allow.
func (f *freezer) allowed(where string, filter Filter, column definition.Column) bool {
	if policy.MaskFor(f.who, column) != "" {
		// A filter on a masked column would tell its values by bisection.
		f.refuse("filter_not_allowed", where+"/column", "%s/column is %q, whose values are masked for you; it can't be filtered", where, column.Name)
		return false
	}
	if !slices.Contains(column.Ops, filter.Op) {
		f.refuse("filter_not_allowed", where+"/op", "%s/op is %q; column %s %s", where, job.Clip(string(filter.Op)), column.Name, opsText(column.Ops))
		return false
	}
	return true
}

// shaped refuses a filter whose op takes another number of values, whatever its column.
func (f *freezer) shaped(where string, filter Filter) bool {
	before := len(f.faults)
	switch filter.Op {
	case row.IsNull, row.NotNull:
		if filter.Value != nil || filter.Values != nil {
			f.refuse("filter_value", where, "%s has a value; the op %s takes none", where, filter.Op)
		}
	case row.In:
		if filter.Value != nil || len(filter.Values) == 0 || len(filter.Values) > limits.FilterValuesMax {
			f.refuse("filter_value", where+"/values", "%s: the op in takes values, a list of 1 to %d", where, limits.FilterValuesMax)
		}
	case row.Equal, row.NotEqual, row.Less, row.LessEqual, row.Greater, row.GreaterEqual:
		if filter.Values != nil {
			f.refuse("filter_value", where+"/values", "%s: the op %s takes one value, not values", where, filter.Op)
		}
	}
	return len(f.faults) == before
}

func opsText(ops []row.Op) string {
	if len(ops) == 0 {
		return "can't be filtered"
	}
	texts := make([]string, len(ops))
	for i, op := range ops {
		texts[i] = string(op)
	}
	return "can be filtered with " + strings.Join(texts, ", ")
}
