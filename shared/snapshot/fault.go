package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sealift/shared/job"
)

// Fault is one thing that is wrong with a request: a stable code, the part of the request that is at fault (a JSON pointer,
// or the name of a header), and for people what is wrong and what is allowed.
type Fault struct {
	Code   string
	Field  string
	Detail string
}

// Faults are all that is known to be wrong with a request.
type Faults []Fault

// faultsMax bounds how many faults of one request are told.
const faultsMax = 50

// Error lists the faults behind the first, which the refusal itself tells.
func (f Faults) Error() string {
	told := f.Told()
	lines := make([]string, 0, len(told))
	for _, fault := range told[min(1, len(told)):] {
		lines = append(lines, fault.Detail)
	}
	return "beside that " + strings.Join(lines, "; ")
}

func (f *Faults) add(code, field, format string, args ...any) {
	*f = append(*f, Fault{Code: code, Field: field, Detail: fmt.Sprintf(format, args...)})
}

// Cover reports whether a part of the request, or one that holds it, is among those at fault.
func (f Faults) Cover(field string) bool {
	return slices.ContainsFunc(f, func(fault Fault) bool {
		return fault.Field == field || strings.HasPrefix(field, fault.Field+"/")
	})
}

// Within reports whether any of the parts, or something in it, is at fault.
func (f Faults) Within(fields ...string) bool {
	return slices.ContainsFunc(f, func(fault Fault) bool {
		return slices.ContainsFunc(fields, func(field string) bool {
			return fault.Field == field || strings.HasPrefix(fault.Field, field+"/")
		})
	})
}

// Whole reports whether a fault is of the request as a whole, so that no part of it can be judged.
func (f Faults) Whole() bool {
	return slices.ContainsFunc(f, func(fault Fault) bool { return fault.Field == "" })
}

// Refusal is one error for all of the faults, nil when there are none: that of the first in the order of a request, with
// the others, when there are any, as Faults in its cause.
func (f Faults) Refusal() error {
	if len(f) == 0 {
		return nil
	}
	type placed struct {
		Fault

		place [2]int
	}
	order := make([]placed, len(f))
	for i, fault := range f {
		order[i] = placed{fault, placeOf(fault.Field)}
	}
	slices.SortStableFunc(order, func(a, b placed) int { return slices.Compare(a.place[:], b.place[:]) })
	all := make(Faults, len(order))
	for i, fault := range order {
		all[i] = fault.Fault
	}
	refusal := &job.Error{Kind: job.Invalid, Code: all[0].Code, Field: all[0].Field, Detail: all[0].Detail}
	if len(all) > 1 {
		refusal.Err = all
	}
	return refusal
}

// Told are the faults that are shown: the first ones and, where there are more than anybody reads, how many are left.
func (f Faults) Told() Faults {
	more := len(f) - faultsMax
	if more <= 0 {
		return f
	}
	return append(slices.Clone(f[:faultsMax]), Fault{Code: f[faultsMax].Code, Detail: strconv.Itoa(more) + " more faults are not told; mend these first"})
}

// FaultsOf are the faults that a refusal tells; none when the error is of another kind.
func FaultsOf(err error) Faults {
	var all Faults
	if errors.As(err, &all) {
		return all
	}
	var e *job.Error
	if errors.As(err, &e) && e.Kind == job.Invalid {
		return Faults{{Code: e.Code, Field: e.Field, Detail: e.Detail}}
	}
	return nil
}

// placeOf is where a field stands in a request: its header, then the fields of the body as Request has them, then those
// that no request has; and in a list the number of the entry.
func placeOf(field string) [2]int {
	names := [...]string{"definition", "purpose", "columns", "filters", "span", "as_of", "zone", "format", "layout", "file_name"}
	pointer, isPointer := strings.CutPrefix(field, "/")
	if !isPointer {
		return [2]int{-1}
	}
	first, rest, _ := strings.Cut(pointer, "/")
	place := slices.Index(names[:], first)
	if place < 0 {
		return [2]int{len(names)}
	}
	entry, _, _ := strings.Cut(rest, "/")
	number, err := strconv.Atoi(entry)
	if err != nil {
		number = -1
	}
	return [2]int{place, number}
}

// unlessCovered leaves out what was judged of a part that has no value because of its shape.
func (f Faults) unlessCovered(shape Faults) Faults {
	gone := make(map[string]bool, len(shape))
	for _, fault := range shape {
		gone[fault.Field] = true
	}
	return slices.DeleteFunc(slices.Clone(f), func(fault Fault) bool {
		for field := fault.Field; field != ""; field = field[:max(strings.LastIndexByte(field, '/'), 0)] {
			if gone[field] {
				return true
			}
		}
		return false
	})
}
