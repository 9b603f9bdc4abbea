package job

// Value is what a ledger row holds under one field: string, int64, bool or []string. Nothing else is stored, so that a
// row is the same in every ledger.
type Value any

// Fields is one ledger row as read: field name to Value. Fields that a reader doesn't know are kept out of its way.
type Fields map[string]Value

// RowKey addresses one ledger row.
type RowKey struct {
	PK string
	SK string
}

// Test is a guard's comparison.
type Test string

// The comparisons of a guard.
const (
	IsAbsent       Test = "absent"          // the field (or, for FieldPK, the row) does not exist
	IsEqual        Test = "equal"           // the field equals the value
	IsOneOf        Test = "one_of"          // the field equals one of the values
	IsAbsentOrLess Test = "absent_or_less"  // the field does not exist or is less than the number
	IsAbsentOrIs   Test = "absent_or_equal" // the field does not exist or equals the value
)

// Guard is one condition on the row as it stands before the write; all guards of a write must hold.
type Guard struct {
	Field  string
	Test   Test
	Values []Value
}

// Field is one named value of a write, in a fixed order so that the same move always renders the same write.
type Field struct {
	Name  string
	Value Value
}

// Write is one guarded write of one row. Insert writes the whole row; an update touches the named fields only. A Check
// writes nothing and only guards.
type Write struct {
	Key    RowKey
	Insert bool
	Check  bool
	Guards []Guard
	Set    []Field
	// Add increments whole numbers, treating an absent field as 0.
	Add []Field
	// Append extends a []string field that Insert always creates.
	Append []Field
	Remove []string
	// Applied tells a repeated write from a refused one: when the guards fail but the row satisfies all of these,
	// this very write has happened before and its repetition is a success. Empty means it can't be told.
	Applied []Guard
}

// Change is one move of the state machine: one or more guarded writes that happen together or not at all. Only this
// package builds one, so a write without a guard can't be written down elsewhere.
type Change struct {
	name   string
	writes []Write
}

// Name says which move it is, for logs and traces.
func (c Change) Name() string { return c.name }

// Writes returns the writes in order. Callers must not modify them.
func (c Change) Writes() []Write { return c.writes }

// Refused is the error of a change whose guard failed (kind Fenced): somebody else owns the row or it moved on. Old
// holds, by index of the write, the rows as they stood; an absent row is an empty Fields.
type Refused struct {
	Change string
	Old    map[int]Fields
}

// Error names the change.
func (r *Refused) Error() string { return string(Fenced) + ": " + codeRefused + ": " + r.Change }

// Holds reports whether the guard holds on a row as read; an absent row is empty.
func (g Guard) Holds(row Fields) bool {
	value, present := row[g.Field]
	switch g.Test {
	case IsAbsent:
		return !present
	case IsEqual, IsOneOf:
		return present && oneOf(value, g.Values)
	case IsAbsentOrLess:
		if !present {
			return true
		}
		number, ok := value.(int64)
		bound, isNumber := g.Values[0].(int64)
		return ok && isNumber && number < bound
	case IsAbsentOrIs:
		return !present || oneOf(value, g.Values)
	}
	return false
}

// WasApplied reports whether row shows that this write has happened already.
func (w Write) WasApplied(row Fields) bool {
	for _, guard := range w.Applied {
		if !guard.Holds(row) {
			return false
		}
	}
	return len(w.Applied) > 0
}

// Judge turns a refusal into its outcome. old holds, by index of the write, the rows of the writes whose guards failed, an
// absent row as an empty Fields. It returns nil when each of them shows that its write has happened before: the change
// is being repeated. Otherwise it returns a *Refused that carries the rows.
func (c Change) Judge(old map[int]Fields) error {
	for index, row := range old {
		if index < 0 || index >= len(c.writes) || !c.writes[index].WasApplied(row) {
			return &Refused{Change: c.name, Old: old}
		}
	}
	if len(old) == 0 {
		return &Refused{Change: c.name, Old: old}
	}
	return nil
}

func oneOf(value Value, values []Value) bool {
	for _, candidate := range values {
		switch have := value.(type) {
		case string:
			if want, ok := candidate.(string); ok && have == want {
				return true
			}
		case int64:
			if want, ok := candidate.(int64); ok && have == want {
				return true
			}
		case bool:
			if want, ok := candidate.(bool); ok && have == want {
				return true
			}
		}
	}
	return false
}

func equal(field string, value Value) Guard {
	return Guard{Field: field, Test: IsEqual, Values: []Value{value}}
}

func absent() Guard { return Guard{Field: FieldPK, Test: IsAbsent} }
