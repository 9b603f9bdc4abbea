package expression

import (
	"sealift/localstack/dynamodb/value"
)

const keyClause = "KeyConditionExpression"

// KeyTerm is one comparison of a key condition: the key attribute, the operator (=, <, <=,
// >, >=, BETWEEN or begins_with) and its one or two values.
type KeyTerm struct {
	Name   string
	Op     string
	Values []value.Value
}

// KeyCondition parses a key condition into its comparisons, at most one for each attribute.
// Whether they fit the schema is the caller's to check.
func (s *Scope) KeyCondition(text string) ([]KeyTerm, error) {
	p, err := newParser(s, keyClause, text)
	if err != nil {
		return nil, err
	}
	root, err := p.condition()
	if err != nil {
		return nil, err
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	terms, err := keyTerms(nil, root)
	if err != nil {
		return nil, err
	}
	for i, t := range terms {
		for _, earlier := range terms[:i] {
			if earlier.Name == t.Name {
				return nil, keyRefusal("KeyConditionExpressions must only contain one condition per key")
			}
		}
	}
	return terms, nil
}

func keyRefusal(format string, args ...any) error {
	return refuse("Invalid "+keyClause+": "+format, args...)
}

func keyTerms(terms []KeyTerm, n node) ([]KeyTerm, error) {
	switch n := n.(type) {
	case junction:
		if n.any {
			return nil, keyRefusal("Invalid operator used in KeyConditionExpression: OR")
		}
		for _, part := range n.parts {
			var err error
			if terms, err = keyTerms(terms, part); err != nil {
				return nil, err
			}
		}
		return terms, nil
	case comparison:
		if n.op == "<>" {
			return nil, keyRefusal("Invalid operator used in KeyConditionExpression: <>")
		}
		if n.left.form != pathForm && n.right.form == pathForm {
			n.left, n.right, n.op = n.right, n.left, mirrored(n.op)
		}
		return keyTerm(terms, n.op, n.left, n.right)
	case between:
		return keyTerm(terms, "BETWEEN", n.x, n.low, n.high)
	case predicate:
		if n.function != "begins_with" {
			return nil, keyRefusal("Invalid operator used in KeyConditionExpression: %s", n.function)
		}
		return keyTerm(terms, n.function, n.args[0], n.args[1])
	case negation:
		return nil, keyRefusal("Invalid operator used in KeyConditionExpression: NOT")
	case membership:
		return nil, keyRefusal("Invalid operator used in KeyConditionExpression: IN")
	default:
		return nil, keyRefusal("Query key condition not supported")
	}
}

func mirrored(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	default:
		return op
	}
}

func keyTerm(terms []KeyTerm, op string, key operand, operands ...operand) ([]KeyTerm, error) {
	t := KeyTerm{Op: op}
	for i, o := range append([]operand{key}, operands...) {
		switch {
		case o.form == callForm:
			return nil, keyRefusal("KeyConditionExpressions cannot contain nested operations")
		case o.form == pathForm && len(o.path) > 1:
			return nil, keyRefusal("KeyConditionExpressions cannot have conditions on nested attributes")
		case o.form == pathForm && i > 0 && t.Name != "":
			return nil, keyRefusal("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
		case o.form == pathForm && i > 0, i == 0 && o.form != pathForm && (op == "BETWEEN" || op == "begins_with"):
			return nil, keyRefusal("Invalid condition in KeyConditionExpression: %s operator must have the key attribute as its first operand", op)
		case o.form == pathForm:
			t.Name = o.path.Head()
		case i == 0:
			return nil, keyRefusal("Invalid condition in KeyConditionExpression: No key attribute specified")
		default:
			t.Values = append(t.Values, o.constant)
		}
	}
	return append(terms, t), nil
}
