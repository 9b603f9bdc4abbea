package expression

import (
	"slices"
	"strings"

	"sealift/localstack/dynamodb/value"
)

const updateClause = "UpdateExpression"

type verb uint8

const (
	setVerb verb = iota
	removeVerb
	addVerb
	deleteVerb
)

// action is one change of one path. SET's new value is source, or the sum or difference of
// source and second when arithmetic is + or -; ADD and DELETE have their constant in source.
type action struct {
	verb       verb
	path       Path
	source     operand
	arithmetic string
	second     operand
}

// Update is a parsed update.
type Update struct {
	actions []action
	touched *Projection
}

// Update parses an update.
func (s *Scope) Update(text string) (*Update, error) {
	p, err := newParser(s, updateClause, text)
	if err != nil {
		return nil, err
	}
	u := &Update{}
	seen := map[string]bool{}
	for p.peek().kind != endToken {
		section := strings.ToUpper(p.peek().text)
		if err := p.section(u); err != nil {
			return nil, err
		}
		if seen[section] {
			p.note("The %q section can only be used once in an update expression;", section)
		}
		seen[section] = true
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	paths := make([]Path, len(u.actions))
	for i, a := range u.actions {
		paths[i] = a.path
	}
	if err := checkPaths(paths); err != nil {
		return nil, refuse("Invalid %s: %s", updateClause, err)
	}
	u.touched = newProjection(paths)
	return u, nil
}

// Heads are the names of the top-level attributes that the update changes.
func (u *Update) Heads() []string { return u.touched.Heads() }

// Touched returns the part of an item that the update names, as UPDATED_OLD and UPDATED_NEW
// return it.
func (u *Update) Touched(item value.Item) value.Item { return u.touched.Of(item) }

// OnlyTakesAway tells whether the update has no SET and no ADD. Of an item that does not
// exist such an update makes none, whatever its paths.
func (u *Update) OnlyTakesAway() bool {
	return !slices.ContainsFunc(u.actions, func(a action) bool { return a.verb == setVerb || a.verb == addVerb })
}

func (p *parser) section(u *Update) error {
	var read func() (action, error)
	switch t := p.peek(); {
	case t.is("SET"):
		read = p.set
	case t.is("REMOVE"):
		read = p.remove
	case t.is("ADD"):
		read = func() (action, error) { return p.change(addVerb, "ADD") }
	case t.is("DELETE"):
		read = func() (action, error) { return p.change(deleteVerb, "DELETE") }
	default:
		return p.syntax()
	}
	p.take()
	for {
		a, err := read()
		if err != nil {
			return err
		}
		p.count()
		u.actions = append(u.actions, a)
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) remove() (action, error) {
	path, err := p.path()
	return action{verb: removeVerb, path: path}, err
}

// change reads what ADD and DELETE have in common: a path and a constant.
func (p *parser) change(verb verb, name string) (action, error) {
	path, err := p.path()
	if err != nil {
		return action{}, err
	}
	source, err := p.constant()
	if err != nil {
		return action{}, err
	}
	kind := source.constant.Kind()
	if !kind.IsSet() && kind != value.Absent && (verb != addVerb || kind != value.Number) {
		p.note("Incorrect operand type for operator or function; operator: %s, operand type: %s", name, longName(kind))
	}
	return action{verb: verb, path: path, source: source}, nil
}

func longName(kind value.Kind) string {
	switch kind {
	case value.String:
		return "STRING"
	case value.Number:
		return "NUMBER"
	case value.Binary:
		return "BINARY"
	case value.Bool:
		return "BOOLEAN"
	case value.List:
		return "LIST"
	case value.Map:
		return "MAP"
	default:
		return kind.String()
	}
}

func (p *parser) set() (action, error) {
	path, err := p.path()
	if err != nil {
		return action{}, err
	}
	if err := p.expect("="); err != nil {
		return action{}, err
	}
	a := action{verb: setVerb, path: path}
	if a.source, err = p.setOperand(); err != nil {
		return action{}, err
	}
	if t := p.peek(); t.is("+") || t.is("-") {
		a.arithmetic = p.take().text
		p.count()
		if a.second, err = p.setOperand(); err != nil {
			return action{}, err
		}
		for _, o := range []operand{a.source, a.second} {
			p.checkUpdateKind(a.arithmetic, o, value.Number)
		}
	}
	return a, nil
}

// setOperand reads an operand of SET, perhaps in one pair of parentheses.
func (p *parser) setOperand() (operand, error) {
	grouped := p.accept("(")
	o, err := p.operand()
	if err != nil {
		return operand{}, err
	}
	p.checkUpdateCall(o)
	if grouped {
		return o, p.expect(")")
	}
	return o, nil
}

func (p *parser) checkUpdateKind(operator string, o operand, want value.Kind) {
	kind := o.staticKind()
	if o.form == callForm && o.function == "list_append" {
		kind = value.List
	}
	if kind != value.Absent && kind != want {
		p.note("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, kind)
	}
}

func (p *parser) checkUpdateCall(o operand) {
	if o.form != callForm {
		return
	}
	for _, arg := range o.args {
		if arg.form == callForm && arg.function == "list_append" {
			p.note("The function is not allowed to be used this way in an expression; function: list_append")
		}
		p.checkUpdateCall(arg)
	}
	switch o.function {
	case "if_not_exists", "list_append":
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size":
		p.note("The function is not allowed in an update expression; function: %s", o.function)
		return
	default:
		p.note("Invalid function name; function: %s", o.function)
		return
	}
	if len(o.args) != 2 {
		p.note("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", o.function, len(o.args))
		return
	}
	if o.function == "if_not_exists" && o.args[0].form != pathForm {
		p.note("Operator or function requires a document path; operator or function: if_not_exists")
	}
	if o.function == "list_append" {
		for _, arg := range o.args {
			p.checkUpdateKind("list_append", arg, value.List)
		}
	}
}
