package dynamodb

import (
	"maps"
	"slices"

	"sealift/localstack/dynamodb/expression"
	"sealift/localstack/dynamodb/value"
)

// expressions are the members that a request's expressions are made of.
type expressions struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues bindings
}

// scope prepares the names and values. With no expression at all, names and values are
// refused; clauses names the expressions that the request could have had.
func (x expressions) scope(clauses string, given ...*string) (*expression.Scope, error) {
	if !slices.ContainsFunc(given, func(text *string) bool { return text != nil }) {
		if x.ExpressionAttributeNames != nil {
			return nil, invalid("ExpressionAttributeNames can only be specified when using expressions")
		}
		if x.ExpressionAttributeValues != nil {
			return nil, invalid("ExpressionAttributeValues can only be specified when using expressions: %s", clauses)
		}
	}
	return expression.NewScope(x.ExpressionAttributeNames, x.ExpressionAttributeValues)
}

type verb uint8

const (
	putVerb verb = iota
	updateVerb
	deleteVerb
	checkVerb
)

// change is one conditional change of one item, parsed and checked as far as that is
// possible without the item.
type change struct {
	verb      verb
	table     *table
	key       []byte
	item      value.Item // The new item of a put; otherwise the key.
	update    *expression.Update
	condition *expression.Condition
	showItem  bool // Whether a refusal by the condition returns the item.
}

// changeInput is what all requests for a change have in common.
type changeInput struct {
	TableName           string
	ConditionExpression *string
	expressions
	ReturnValuesOnConditionCheckFailure string
}

// newChange parses the expressions and checks the item or key. The caller holds schema.
func (e *Engine) newChange(verb verb, in changeInput, item value.Item, updateText *string) (*change, error) {
	c := &change{verb: verb, item: item}
	var err error
	if c.showItem, err = oneOf(in.ReturnValuesOnConditionCheckFailure, "returnValuesOnConditionCheckFailure", "NONE", "ALL_OLD"); err != nil {
		return nil, err
	}
	if err := c.parse(in, updateText); err != nil {
		return nil, err
	}
	if c.table, err = e.table(in.TableName); err != nil {
		return nil, err
	}
	if verb == putVerb {
		err = c.table.checkItem(item)
	} else {
		err = c.table.checkKey(item)
	}
	if err != nil {
		return nil, err
	}
	if c.update != nil {
		for _, name := range c.update.Heads() {
			if c.table.Key.has(name) {
				return nil, invalidParameter("Cannot update attribute %s. This attribute is part of the key", name)
			}
		}
	}
	c.key = c.table.itemKey(item)
	return c, nil
}

func (c *change) parse(in changeInput, updateText *string) error {
	clauses := "ConditionExpression is null"
	if c.verb == updateVerb {
		clauses = "UpdateExpression and ConditionExpression are null"
	}
	scope, err := in.scope(clauses, in.ConditionExpression, updateText)
	if err != nil {
		return err
	}
	if updateText != nil {
		if c.update, err = scope.Update(*updateText); err != nil {
			return err
		}
	}
	if in.ConditionExpression != nil {
		if c.condition, err = scope.Condition("ConditionExpression", *in.ConditionExpression); err != nil {
			return err
		}
	}
	return scope.Unused()
}

// oneOf checks a member with two allowed words and tells whether it is the second. An
// absent member is the first.
func oneOf(given, member, first, second string) (bool, error) {
	switch given {
	case "", first:
		return false, nil
	case second:
		return true, nil
	default:
		return false, constraint(given, member, "Member must satisfy enum value set: ["+second+", "+first+"]")
	}
}

// decided is a change and its effect: the item before and after.
type decided struct {
	*change
	old, next value.Item
}

// decide reads the item and computes the effect without writing anything.
func (c *change) decide(s *trees) (decided, error) {
	old, err := s.item(c.table, c.key)
	if err != nil {
		return decided{}, err
	}
	if !c.condition.Match(old) {
		if c.showItem {
			return decided{}, conditionFailed(old)
		}
		return decided{}, conditionFailed(nil)
	}
	d := decided{change: c, old: old}
	switch c.verb {
	case putVerb:
		d.next = c.item
	case updateVerb:
		d.next, err = c.updated(old)
	case deleteVerb:
	case checkVerb:
		d.next = old
	}
	return d, err
}

// updated is the item after the update, which begins with the key when there is none yet;
// nil when there is none and the update adds nothing.
func (c *change) updated(old value.Item) (value.Item, error) {
	if old == nil && c.update != nil && c.update.OnlyTakesAway() {
		return nil, nil
	}
	base := old
	if base == nil {
		base = maps.Clone(c.item)
	}
	if c.update == nil {
		return base, nil
	}
	next, err := c.update.Apply(base)
	if err != nil {
		return nil, err
	}
	if err := c.table.checkIndexKeys(next); err != nil {
		if c.mistyped(next) {
			return nil, invalid("The update expression attempted to update the secondary index key to unsupported type")
		}
		return nil, err
	}
	if next.Size() > itemBytesMax {
		return nil, invalid("Item size to update has exceeded the maximum allowed size")
	}
	return next, nil
}

// mistyped tells whether an index key has the wrong kind.
func (c *change) mistyped(item value.Item) bool {
	return slices.ContainsFunc(c.table.Indexes, func(x *index) bool {
		return slices.ContainsFunc(x.Key.attributes(), func(a attribute) bool {
			kind := item[a.Name].Kind()
			return kind != value.Absent && kind != a.Kind
		})
	})
}

// write carries a decided change out.
func (d decided) write(s *trees) error {
	if d.verb == checkVerb {
		return nil
	}
	return s.replace(d.table, d.key, d.old, d.next)
}

// apply decides and writes a single change.
func (e *Engine) apply(c *change) (decided, error) {
	var d decided
	err := e.update(func(s *trees) error {
		var err error
		if d, err = c.decide(s); err != nil {
			return err
		}
		return d.write(s)
	})
	return d, err
}
