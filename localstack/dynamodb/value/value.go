// Package value owns DynamoDB's attribute values: their kinds, limits, sizes, equality and
// order, and their three encodings — the JSON of the wire (json.go), the compact bytes of a
// stored item (codec.go) and the order-preserving bytes of a key (order.go).
//
// A Value is immutable: every change builds a new one, so that an item can be shared between
// an old and a new state. Start reading at Value. Imports nothing of this project.
package value

import (
	"cmp"
	"errors"
	"slices"
)

// Kind is the type of an attribute value.
type Kind uint8

// The ten kinds of attribute values. The zero Kind belongs to the zero Value, which stands
// for an absent attribute.
const (
	Absent Kind = iota
	String
	Number
	Binary
	Bool
	Null
	StringSet
	NumberSet
	BinarySet
	List
	Map
)

// String is the name of the kind on the wire, such as "NS".
func (k Kind) String() string {
	switch k {
	case Absent:
		return ""
	case String:
		return "S"
	case Number:
		return "N"
	case Binary:
		return "B"
	case Bool:
		return "BOOL"
	case Null:
		return "NULL"
	case StringSet:
		return "SS"
	case NumberSet:
		return "NS"
	case BinarySet:
		return "BS"
	case List:
		return "L"
	case Map:
		return "M"
	default:
		return "?"
	}
}

// ParseKind is the inverse of Kind.String.
func ParseKind(name string) (Kind, bool) {
	for k := String; k <= Map; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return Absent, false
}

// IsSet tells whether the kind is one of the three sets.
func (k Kind) IsSet() bool { return k == StringSet || k == NumberSet || k == BinarySet }

// member is the kind of a set's members.
func (k Kind) member() Kind {
	switch k {
	case StringSet:
		return String
	case NumberSet:
		return Number
	case BinarySet:
		return Binary
	default:
		return Absent
	}
}

// InvalidError says that a value breaks one of DynamoDB's rules; its text is the message
// that the service gives with a ValidationException.
type InvalidError struct{ Message string }

func (e *InvalidError) Error() string { return e.Message }

func invalid(message string) error { return &InvalidError{Message: message} }

var errCorrupt = errors.New("stored bytes are not an encoded attribute value: the database file is damaged")

// Value is one attribute value. The zero Value stands for an absent attribute.
type Value struct {
	kind   Kind
	truth  bool
	number Decimal
	text   string
	elems  []Value
	attrs  Item
}

// Item is a set of named attributes: a whole item, a key, or the content of a map.
type Item map[string]Value

// OfString returns a string value.
func OfString(s string) Value { return Value{kind: String, text: s} }

// OfNumber returns a number value.
func OfNumber(d Decimal) Value { return Value{kind: Number, number: d} }

// OfInt returns a number value.
func OfInt(n int64) Value {
	d, _ := newDecimalInt(n)
	return OfNumber(d)
}

// OfList returns a list that owns elems.
func OfList(elems []Value) Value { return Value{kind: List, elems: elems} }

// OfMap returns a map that owns attrs.
func OfMap(attrs Item) Value { return Value{kind: Map, attrs: attrs} }

// Kind is the value's type.
func (v Value) Kind() Kind { return v.kind }

// Text is the content of a string, or the raw bytes of a binary.
func (v Value) Text() string { return v.text }

// Decimal is the content of a number.
func (v Value) Decimal() Decimal { return v.number }

// Elems are the elements of a list, or the members of a set in ascending order. They must
// not be changed.
func (v Value) Elems() []Value { return v.elems }

// Attrs is the content of a map. It must not be changed.
func (v Value) Attrs() Item { return v.attrs }

// Equal tells whether two values are the same: numbers by magnitude, sets without order,
// lists and maps deeply.
func (v Value) Equal(o Value) bool {
	if v.kind != o.kind {
		return false
	}
	switch v.kind {
	case Absent, Null:
		return true
	case String, Binary:
		return v.text == o.text
	case Number:
		return v.number == o.number
	case Bool:
		return v.truth == o.truth
	case StringSet, NumberSet, BinarySet, List:
		return slices.EqualFunc(v.elems, o.elems, Value.Equal)
	case Map:
		if len(v.attrs) != len(o.attrs) {
			return false
		}
		for name, attr := range v.attrs {
			if other, ok := o.attrs[name]; !ok || !attr.Equal(other) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// Compare orders two strings, two numbers or two binaries; ok is false for any other pair.
func (v Value) Compare(o Value) (order int, ok bool) {
	if v.kind != o.kind {
		return 0, false
	}
	switch v.kind {
	case String, Binary:
		return cmp.Compare(v.text, o.text), true
	case Number:
		return v.number.Compare(o.number), true
	default:
		return 0, false
	}
}

// Has tells whether a set holds a member or a list holds an equal element.
func (v Value) Has(member Value) bool {
	return slices.ContainsFunc(v.elems, member.Equal)
}

// Union returns the set of all members of two sets of one kind.
func (v Value) Union(o Value) Value {
	merged := make([]Value, 0, len(v.elems)+len(o.elems))
	merged = append(append(merged, v.elems...), o.elems...)
	slices.SortFunc(merged, compareMembers)
	return Value{kind: v.kind, elems: slices.CompactFunc(merged, Value.Equal)}
}

// Without returns the set of the members that are not in another set of the same kind; it
// returns the zero Value when none is left, as an empty set cannot be stored.
func (v Value) Without(o Value) Value {
	var kept []Value
	for _, member := range v.elems {
		if !o.Has(member) {
			kept = append(kept, member)
		}
	}
	if len(kept) == 0 {
		return Value{}
	}
	return Value{kind: v.kind, elems: kept}
}

func compareMembers(a, b Value) int {
	order, _ := a.Compare(b)
	return order
}

// TooDeep tells whether lists and maps are nested deeper in the value than DynamoDB stores.
func (v Value) TooDeep() bool { return v.deeper(levelsMax) }

func (v Value) deeper(levels int) bool {
	if levels == 0 {
		return true
	}
	for _, elem := range v.elems {
		if elem.deeper(levels - 1) {
			return true
		}
	}
	for _, attr := range v.attrs {
		if attr.deeper(levels - 1) {
			return true
		}
	}
	return false
}

// Size is the number of bytes that DynamoDB counts for the value.
func (v Value) Size() int {
	switch v.kind {
	case Absent:
		return 0
	case String, Binary:
		return len(v.text)
	case Number:
		return v.number.size()
	case Bool, Null:
		return 1
	case StringSet, NumberSet, BinarySet:
		total := 0
		for _, member := range v.elems {
			total += member.Size()
		}
		return total
	case List:
		total := 3
		for _, elem := range v.elems {
			total += 1 + elem.Size()
		}
		return total
	case Map:
		return 3 + len(v.attrs) + v.attrs.Size()
	default:
		return 0
	}
}

// Size is the number of bytes that DynamoDB counts for all names and values.
func (it Item) Size() int {
	total := 0
	for name, attr := range it {
		total += len(name) + attr.Size()
	}
	return total
}

// Equal tells whether two items have the same attributes with equal values.
func (it Item) Equal(o Item) bool { return OfMap(it).Equal(OfMap(o)) }
