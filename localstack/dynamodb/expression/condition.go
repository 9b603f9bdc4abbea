package expression

import (
	"maps"
	"slices"
	"strings"

	"sealift/localstack/dynamodb/value"
)

// Condition is a parsed condition or filter.
type Condition struct {
	root  node
	heads map[string]bool
}

// Match tells whether the item (empty when there is none) meets the condition. A nil
// Condition is met by everything.
func (c *Condition) Match(item value.Item) bool { return c == nil || c.root.match(item) }

// Names tells whether a top-level attribute is named anywhere in the condition.
func (c *Condition) Names(attribute string) bool { return c.heads[attribute] }

// Heads are the names of the top-level attributes that the condition looks at.
func (c *Condition) Heads() []string { return slices.Sorted(maps.Keys(c.heads)) }

// Condition parses a condition; clause is the request's member it came in, such as
// ConditionExpression or FilterExpression, and is named in refusals.
func (s *Scope) Condition(clause, text string) (*Condition, error) {
	p, err := newParser(s, clause, text)
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
	heads := map[string]bool{}
	root.visit(func(o operand) {
		if o.form == pathForm {
			heads[o.path.Head()] = true
		}
	})
	return &Condition{root: root, heads: heads}, nil
}

// node is a part of a condition that is true or false of an item.
type node interface {
	match(item value.Item) bool
	visit(f func(operand))
}

// term is what a piece of a condition may turn out to be: a truth, or an operand of one.
type term struct {
	truth   node
	operand operand
	grouped bool
}

func (p *parser) condition() (node, error) {
	t, err := p.or()
	if err != nil {
		return nil, err
	}
	return p.truth(t)
}

// truth makes a term stand for itself: only a call of a function that answers yes or no can.
func (p *parser) truth(t term) (node, error) {
	switch {
	case t.truth != nil:
		return t.truth, nil
	case t.operand.form == callForm:
		if t.operand.function == "size" {
			p.note("The function is not allowed to be used this way in an expression; function: size")
		}
		return predicate{t.operand.function, t.operand.args}, nil
	default:
		return nil, p.syntax()
	}
}

func (p *parser) or() (term, error) { return p.chain("OR", (*parser).and) }

func (p *parser) and() (term, error) { return p.chain("AND", (*parser).not) }

// chain reads one or more operands of AND or OR.
func (p *parser) chain(word string, operand func(*parser) (term, error)) (term, error) {
	first, err := operand(p)
	if err != nil || !p.peek().is(word) {
		return first, err
	}
	left, err := p.truth(first)
	if err != nil {
		return term{}, err
	}
	all := junction{any: word == "OR", parts: []node{left}}
	for p.accept(word) {
		p.count()
		t, err := operand(p)
		if err != nil {
			return term{}, err
		}
		part, err := p.truth(t)
		if err != nil {
			return term{}, err
		}
		all.parts = append(all.parts, part)
	}
	return term{truth: all}, nil
}

func (p *parser) not() (term, error) {
	if !p.accept("NOT") {
		return p.comparison()
	}
	p.count()
	t, err := p.not()
	if err != nil {
		return term{}, err
	}
	part, err := p.truth(t)
	return term{truth: negation{part}}, err
}

func (p *parser) comparison() (term, error) {
	left, err := p.primary()
	if err != nil {
		return term{}, err
	}
	op := p.peek()
	switch {
	case op.is("BETWEEN"), op.is("IN"), op.kind == markToken && slices.Contains(comparators(), op.text):
		if left.truth != nil {
			return term{}, p.syntax()
		}
	default:
		return left, nil
	}
	p.take()
	p.count()
	p.checkUse(left.operand)
	switch {
	case op.is("BETWEEN"):
		return p.between(left.operand)
	case op.is("IN"):
		return p.in(left.operand)
	}
	right, err := p.side()
	if err != nil {
		return term{}, err
	}
	p.checkDistinct(op.text, left.operand, right)
	if op.text != "=" && op.text != "<>" {
		p.checkOrdered(op.text, left.operand, right)
	}
	return term{truth: comparison{op.text, left.operand, right}}, nil
}

func comparators() []string { return []string{"=", "<>", "<", "<=", ">", ">="} }

func (p *parser) between(x operand) (term, error) {
	low, err := p.side()
	if err != nil {
		return term{}, err
	}
	if err := p.expect("AND"); err != nil {
		return term{}, err
	}
	high, err := p.side()
	if err != nil {
		return term{}, err
	}
	p.checkOrdered("BETWEEN", x, low, high)
	p.checkBounds(low, high)
	return term{truth: between{x, low, high}}, nil
}

func (p *parser) in(x operand) (term, error) {
	if err := p.expect("("); err != nil {
		return term{}, err
	}
	var list []operand
	for {
		o, err := p.side()
		if err != nil {
			return term{}, err
		}
		list = append(list, o)
		if !p.accept(",") {
			break
		}
	}
	if len(list) > inMax {
		p.note("Too many operands for operator or function; operator or function: IN, number of operands: %d", len(list)+1)
	}
	return term{truth: membership{x, list}}, p.expect(")")
}

// side reads an operand of a comparison, perhaps in parentheses.
func (p *parser) side() (operand, error) {
	t, err := p.primary()
	if err != nil {
		return operand{}, err
	}
	if t.truth != nil {
		return operand{}, p.syntax()
	}
	p.checkUse(t.operand)
	return t.operand, nil
}

// primary reads an operand or anything in parentheses.
func (p *parser) primary() (term, error) {
	if !p.accept("(") {
		o, err := p.operand()
		if err == nil && o.form == callForm {
			p.checkCall(o)
		}
		return term{operand: o}, err
	}
	t, err := p.or()
	if err != nil {
		return term{}, err
	}
	if t.grouped {
		p.note("The expression has redundant parentheses;")
	}
	t.grouped = true
	return t, p.expect(")")
}

// checkUse refuses a function that answers yes or no as an operand.
func (p *parser) checkUse(o operand) {
	if o.form == callForm && o.function != "size" {
		p.note("The function is not allowed to be used this way in an expression; function: %s", o.function)
	}
}

func (p *parser) checkDistinct(operator string, x, y operand) {
	if x.form == pathForm && y.form == pathForm && slices.Equal(x.path, y.path) {
		p.note("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", operator, x.path)
	}
}

// checkOrdered refuses operands that have no order.
func (p *parser) checkOrdered(operator string, operands ...operand) {
	for _, o := range operands {
		switch kind := o.staticKind(); kind {
		case value.Absent, value.String, value.Number, value.Binary:
		default:
			p.note("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, kind)
		}
	}
}

func (p *parser) checkBounds(low, high operand) {
	if low.form != constantForm || high.form != constantForm || low.constant.Kind() == value.Absent || high.constant.Kind() == value.Absent {
		return
	}
	order, same := low.constant.Compare(high.constant)
	shown := "lower bound operand: AttributeValue: " + bound(low.constant) + ", upper bound operand: AttributeValue: " + bound(high.constant)
	switch {
	case !same:
		p.note("The BETWEEN operator requires same data type for lower and upper bounds; %s", shown)
	case order > 0:
		p.note("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; %s", shown)
	}
}

func bound(v value.Value) string {
	text, _ := v.MarshalJSON() // A value always has a JSON form.
	return strings.ReplaceAll(string(text), `"`, "")
}

// checkCall checks the name, number and kinds of a function's arguments.
func (p *parser) checkCall(o operand) {
	for _, arg := range o.args {
		p.checkUse(arg)
		if arg.form == callForm {
			p.checkCall(arg)
		}
	}
	want := map[string]int{
		"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2,
		"begins_with": 2, "contains": 2, "size": 1,
	}[o.function]
	switch {
	case want == 0 && (o.function == "if_not_exists" || o.function == "list_append"):
		p.note("The function is not allowed in a condition expression; function: %s", o.function)
		return
	case want == 0:
		p.note("Invalid function name; function: %s", o.function)
		return
	case want != len(o.args):
		p.note("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", o.function, len(o.args))
		return
	case want == 2:
		p.checkDistinct(o.function, o.args[0], o.args[1])
	}
	switch o.function {
	case "attribute_exists", "attribute_not_exists":
		if o.args[0].form != pathForm {
			p.note("Operator or function requires a document path; operator or function: %s", o.function)
		}
	case "attribute_type":
		p.checkTypeName(o.args[1])
	case "begins_with":
		p.checkKinds(o, value.String, value.Binary)
	case "size":
		p.checkKinds(o, value.String, value.Binary, value.StringSet, value.NumberSet, value.BinarySet, value.List, value.Map)
	}
}

func (p *parser) checkKinds(o operand, allowed ...value.Kind) {
	for _, arg := range o.args {
		if kind := arg.staticKind(); kind != value.Absent && !slices.Contains(allowed, kind) {
			p.note("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", o.function, kind)
		}
	}
}

func (p *parser) checkTypeName(o operand) {
	switch {
	case o.form != constantForm:
		p.note("Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
	case o.constant.Kind() != value.String:
		p.note("Incorrect operand type for operator or function; operator or function: attribute_type, operand type: %s", o.constant.Kind())
	default:
		if _, ok := value.ParseKind(o.constant.Text()); !ok {
			p.note("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", o.constant.Text())
		}
	}
}
