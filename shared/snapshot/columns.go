package snapshot

import (
	"fmt"
	"strconv"
	"strings"

	"sealift/shared/definition"
	"sealift/shared/job"
	"sealift/shared/policy"
)

// unknownMax bounds how many unknown columns a refusal names.
const unknownMax = 10

// knownColumns refuses the names of columns that there aren't, those that columns and filters give together.
func (f *freezer) knownColumns(*Snapshot) {
	if !f.known {
		return
	}
	known := map[string]bool{}
	for _, name := range f.visible() {
		known[name] = true
	}
	var first string
	var told []string
	unknown := 0
	judge := func(where, name string) {
		if known[name] {
			return
		}
		if unknown == 0 {
			first = where
		}
		if unknown++; unknown <= unknownMax {
			told = append(told, where+" is "+strconv.Quote(job.Clip(name)))
		}
	}
	for i, name := range f.request.Columns {
		judge(fmt.Sprintf("/columns/%d", i), name)
	}
	for i, filter := range f.request.Filters {
		judge(fmt.Sprintf("/filters/%d/column", i), filter.Column)
	}
	if unknown == 0 {
		return
	}
	if unknown > unknownMax {
		told = append(told, fmt.Sprintf("%d more are names", unknown-unknownMax))
	}
	f.refuse("column_unknown", first, "%s, which definition %s doesn't have; allowed are %s", listed(told), f.definition.Name, quoted(f.visible()))
}

// listed joins what is told with commas, and the last with and.
func listed(told []string) string {
	last := len(told) - 1
	if last == 0 {
		return told[0]
	}
	return strings.Join(told[:last], ", ") + " and " + told[last]
}

func (f *freezer) columns(s *Snapshot) {
	names := f.request.Columns
	if names == nil {
		names = f.visible()
	}
	switch {
	case len(names) > 0:
	case f.known:
		f.refuse("columns_empty", "/columns", "/columns is empty; name at least one column, or leave it out for all: %s", quoted(f.visible()))
	case f.request.Columns != nil:
		f.refuse("columns_empty", "/columns", "/columns is empty; name at least one column, or leave it out for all")
	}
	seen := map[string]bool{}
	for i, name := range names {
		if seen[name] {
			where := fmt.Sprintf("/columns/%d", i)
			f.refuse("column_twice", where, "%s is %q, which is named before", where, job.Clip(name))
			continue
		}
		seen[name] = true
		if column, ok := f.column(name); ok {
			s.Columns = append(s.Columns, Column{Name: name, Kind: column.Kind, Mask: policy.MaskFor(f.who, column)})
		}
	}
}

func (f *freezer) column(name string) (definition.Column, bool) {
	column, ok := f.definition.Column(name)
	if !ok || !policy.Visible(f.who, column) {
		return definition.Column{}, false
	}
	return column, true
}

func (f *freezer) visible() []string {
	var names []string
	for _, column := range f.definition.Columns {
		if policy.Visible(f.who, column) {
			names = append(names, column.Name)
		}
	}
	return names
}
