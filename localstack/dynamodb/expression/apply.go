package expression

import (
	"maps"
	"slices"

	"sealift/localstack/dynamodb/value"
)

func badOperand() error {
	return refuse("An operand in the update expression has an incorrect data type")
}

func badPath() error {
	return refuse("The document path provided in the update expression is invalid for update")
}

func noAttribute() error {
	return refuse("The provided expression refers to an attribute that does not exist in the item")
}

// Apply returns the item after the update; the given item is not changed. Every operand is
// taken from the item as it was before, whatever the order of the clauses; indexes of lists
// too mean the list as it was before.
func (u *Update) Apply(item value.Item) (value.Item, error) {
	root := &edit{}
	for _, a := range u.actions {
		next, err := a.result(item)
		if err != nil {
			return nil, err
		}
		root.insert(a, next)
	}
	changed, err := root.apply(value.OfMap(item))
	if err != nil {
		return nil, err
	}
	for _, name := range u.Heads() {
		if changed.Attrs()[name].TooDeep() {
			return nil, refuse("Nesting Levels have exceeded supported limits: attribute values can be nested at most 32 levels deep")
		}
	}
	return changed.Attrs(), nil
}

// result is the value that the path shall have after the action, Absent when none.
func (a action) result(item value.Item) (value.Value, error) {
	switch a.verb {
	case setVerb:
		return a.assigned(item)
	case removeVerb:
		return value.Value{}, nil
	case addVerb:
		return added(a.path.Of(item), a.source.constant)
	case deleteVerb:
		return deleted(a.path.Of(item), a.source.constant)
	default:
		return value.Value{}, badOperand()
	}
}

func (a action) assigned(item value.Item) (value.Value, error) {
	first, err := a.source.evaluate(item)
	if err != nil || a.arithmetic == "" {
		return first, err
	}
	second, err := a.second.evaluate(item)
	if err != nil {
		return value.Value{}, err
	}
	if first.Kind() != value.Number || second.Kind() != value.Number {
		return value.Value{}, badOperand()
	}
	total := first.Decimal().Add
	if a.arithmetic == "-" {
		total = first.Decimal().Sub
	}
	sum, err := total(second.Decimal())
	return value.OfNumber(sum), err
}

// evaluate is the value of an operand of SET, which must exist.
func (o operand) evaluate(item value.Item) (value.Value, error) {
	var v value.Value
	switch o.form {
	case pathForm:
		v = o.path.Of(item)
	case constantForm:
		v = o.constant
	case callForm:
		if o.function == "if_not_exists" {
			if v = o.args[0].path.Of(item); v.Kind() == value.Absent {
				return o.args[1].evaluate(item)
			}
			return v, nil
		}
		return o.appended(item)
	}
	if v.Kind() == value.Absent {
		return value.Value{}, noAttribute()
	}
	return v, nil
}

func (o operand) appended(item value.Item) (value.Value, error) {
	var joined []value.Value
	for _, arg := range o.args {
		part, err := arg.evaluate(item)
		if err != nil {
			return value.Value{}, err
		}
		if part.Kind() != value.List {
			return value.Value{}, badOperand()
		}
		joined = append(joined, part.Elems()...)
	}
	return value.OfList(joined), nil
}

func added(old, by value.Value) (value.Value, error) {
	switch {
	case old.Kind() == value.Absent:
		return by, nil
	case old.Kind() != by.Kind():
		return value.Value{}, badOperand()
	case old.Kind() == value.Number:
		sum, err := old.Decimal().Add(by.Decimal())
		return value.OfNumber(sum), err
	default:
		return old.Union(by), nil
	}
}

func deleted(old, members value.Value) (value.Value, error) {
	switch {
	case old.Kind() == value.Absent:
		return old, nil
	case old.Kind() != members.Kind():
		return value.Value{}, badOperand()
	default:
		return old.Without(members), nil
	}
}

// edit is a tree of changes; a leaf holds the new value of its place. Paths of one update
// never overlap, so that a leaf has no children.
type edit struct {
	leaf    bool
	verb    verb
	next    value.Value
	names   map[string]*edit
	indexes map[int]*edit
}

func (e *edit) insert(a action, next value.Value) {
	at := e
	for _, step := range a.path {
		child := at.names[step.Name]
		if step.Name == "" {
			child = at.indexes[step.Index]
		}
		if child == nil {
			child = &edit{}
			at.attach(step, child)
		}
		at = child
	}
	at.leaf, at.verb, at.next = true, a.verb, next
}

func (e *edit) attach(step Step, child *edit) {
	if step.Name != "" {
		if e.names == nil {
			e.names = map[string]*edit{}
		}
		e.names[step.Name] = child
		return
	}
	if e.indexes == nil {
		e.indexes = map[int]*edit{}
	}
	e.indexes[step.Index] = child
}

func (e *edit) apply(old value.Value) (value.Value, error) {
	switch {
	case e.leaf:
		return e.next, nil
	case e.names != nil && old.Kind() == value.Map:
		return e.applyMap(old.Attrs())
	case e.indexes != nil && old.Kind() == value.List:
		return e.applyList(old.Elems())
	default:
		return value.Value{}, badPath()
	}
}

func (e *edit) applyMap(old value.Item) (value.Value, error) {
	attrs := maps.Clone(old)
	if attrs == nil {
		attrs = value.Item{}
	}
	for name, child := range e.names {
		next, err := child.apply(old[name])
		if err != nil {
			return value.Value{}, err
		}
		if next.Kind() == value.Absent {
			delete(attrs, name)
		} else {
			attrs[name] = next
		}
	}
	return value.OfMap(attrs), nil
}

// applyList changes elements in place, puts those beyond the end after the last one in the
// order of their indexes, and closes the gaps of removed ones.
func (e *edit) applyList(old []value.Value) (value.Value, error) {
	elems := slices.Clone(old)
	for _, index := range slices.Sorted(maps.Keys(e.indexes)) {
		var before value.Value
		if index < len(old) {
			before = old[index]
		}
		next, err := e.indexes[index].apply(before)
		if err != nil {
			return value.Value{}, err
		}
		if index < len(old) {
			elems[index] = next
		} else {
			elems = append(elems, next)
		}
	}
	kept := slices.DeleteFunc(elems, func(v value.Value) bool { return v.Kind() == value.Absent })
	return value.OfList(kept), nil
}
