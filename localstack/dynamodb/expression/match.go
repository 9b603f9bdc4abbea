package expression

import (
	"slices"
	"strings"
	"unicode/utf16"

	"sealift/localstack/dynamodb/value"
)

// junction is AND, or OR when any is set.
type junction struct {
	any   bool
	parts []node
}

func (j junction) match(item value.Item) bool {
	holds := func(part node) bool { return part.match(item) == j.any }
	return slices.ContainsFunc(j.parts, holds) == j.any
}

func (j junction) visit(f func(operand)) {
	for _, part := range j.parts {
		part.visit(f)
	}
}

type negation struct{ part node }

func (n negation) match(item value.Item) bool { return !n.part.match(item) }
func (n negation) visit(f func(operand))      { n.part.visit(f) }

type comparison struct {
	op          string
	left, right operand
}

// match of a missing attribute is false, except that it differs from everything.
func (c comparison) match(item value.Item) bool {
	left, right := c.left.of(item), c.right.of(item)
	present := left.Kind() != value.Absent && right.Kind() != value.Absent
	switch c.op {
	case "=":
		return present && left.Equal(right)
	case "<>":
		return !present || !left.Equal(right)
	}
	order, ok := left.Compare(right)
	if !ok {
		return false
	}
	switch c.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func (c comparison) visit(f func(operand)) { walk(f, c.left, c.right) }

type between struct{ x, low, high operand }

func (b between) match(item value.Item) bool {
	x := b.x.of(item)
	low, okLow := x.Compare(b.low.of(item))
	high, okHigh := x.Compare(b.high.of(item))
	return okLow && okHigh && low >= 0 && high <= 0
}

func (b between) visit(f func(operand)) { walk(f, b.x, b.low, b.high) }

type membership struct {
	x    operand
	list []operand
}

func (m membership) match(item value.Item) bool {
	x := m.x.of(item)
	return x.Kind() != value.Absent && slices.ContainsFunc(m.list, func(o operand) bool { return x.Equal(o.of(item)) })
}

func (m membership) visit(f func(operand)) { walk(f, append([]operand{m.x}, m.list...)...) }

// predicate is a call of a function that answers yes or no.
type predicate struct {
	function string
	args     []operand
}

func (c predicate) match(item value.Item) bool {
	first := c.args[0].of(item)
	switch c.function {
	case "attribute_exists":
		return first.Kind() != value.Absent
	case "attribute_not_exists":
		return first.Kind() == value.Absent
	}
	second := c.args[1].of(item)
	switch c.function {
	case "attribute_type":
		return first.Kind().String() == second.Text()
	case "begins_with":
		return first.Kind() == second.Kind() && textual(first) && strings.HasPrefix(first.Text(), second.Text())
	case "contains":
		return contains(first, second)
	default:
		return false
	}
}

func (c predicate) visit(f func(operand)) { walk(f, c.args...) }

func textual(v value.Value) bool { return v.Kind() == value.String || v.Kind() == value.Binary }

// contains looks for a substring, a member of a set or an element of a list.
func contains(whole, part value.Value) bool {
	if textual(whole) {
		return whole.Kind() == part.Kind() && strings.Contains(whole.Text(), part.Text())
	}
	return part.Kind() != value.Absent && (whole.Kind().IsSet() || whole.Kind() == value.List) && whole.Has(part)
}

func walk(f func(operand), operands ...operand) {
	for _, o := range operands {
		f(o)
		walk(f, o.args...)
	}
}

// of is the value of a condition's operand for an item. The only function that yields a
// value in a condition is size.
func (o operand) of(item value.Item) value.Value {
	switch o.form {
	case pathForm:
		return o.path.Of(item)
	case constantForm:
		return o.constant
	case callForm:
		return size(o.args[0].of(item))
	default:
		return value.Value{}
	}
}

// size counts a text in UTF-16 code units, as the service does: a character beyond the
// basic plane counts as two.
func size(v value.Value) value.Value {
	switch v.Kind() {
	case value.String:
		n := 0
		for _, r := range v.Text() {
			n += utf16.RuneLen(r)
		}
		return value.OfInt(int64(n))
	case value.Binary:
		return value.OfInt(int64(len(v.Text())))
	case value.StringSet, value.NumberSet, value.BinarySet, value.List:
		return value.OfInt(int64(len(v.Elems())))
	case value.Map:
		return value.OfInt(int64(len(v.Attrs())))
	default:
		return value.Value{}
	}
}
