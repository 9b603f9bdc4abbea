package expression

import (
	"strconv"
	"strings"

	"sealift/localstack/dynamodb/value"
)

// parser reads one expression. Errors of syntax end the parse at once; the first error of
// meaning is only noted, because the service reports a later error of syntax before it.
type parser struct {
	scope     *Scope
	clause    string
	tokens    []token
	at        int
	operators int
	noted     error
}

// newParser prepares the parse of the request's member clause, such as ConditionExpression.
func newParser(scope *Scope, clause, text string) (*parser, error) {
	if strings.TrimSpace(text) == "" {
		return nil, refuse("Invalid %s: The expression can not be empty;", clause)
	}
	if len(text) > textMax {
		return nil, refuse("Invalid %s: Expression size has exceeded the maximum allowed size; expression size: %d", clause, len(text))
	}
	return &parser{scope: scope, clause: clause, tokens: lex(text)}, nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != endToken {
		p.at++
	}
	return t
}

// accept consumes the token when it is the given mark or keyword.
func (p *parser) accept(text string) bool {
	if p.peek().is(text) {
		p.take()
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if p.accept(text) {
		return nil
	}
	return p.syntax()
}

// syntax is the error that the current token is not what the grammar allows here.
func (p *parser) syntax() error {
	near := p.tokens[max(0, p.at-1):min(len(p.tokens), p.at+2)]
	texts := make([]string, 0, len(near))
	for _, t := range near {
		if t.kind != endToken {
			texts = append(texts, t.text)
		}
	}
	return refuse("Invalid %s: Syntax error; token: %q, near: %q", p.clause, p.peek().shown(), strings.Join(texts, " "))
}

// note keeps the first error of meaning.
func (p *parser) note(format string, args ...any) {
	if p.noted == nil {
		p.noted = refuse("Invalid "+p.clause+": "+format, args...)
	}
}

// count bounds the number of operators and functions.
func (p *parser) count() {
	p.operators++
	if p.operators > operatorsMax {
		p.note("The expression contains too many operators; operator count: %d", p.operators)
	}
}

// finish checks that the whole text was read and returns the noted error, if any.
func (p *parser) finish() error {
	if p.peek().kind != endToken {
		return p.syntax()
	}
	return p.noted
}

// form tells the operands apart.
type form uint8

const (
	pathForm form = iota
	constantForm
	callForm
)

// operand is a path, a constant, or a call of a function.
type operand struct {
	form     form
	path     Path
	constant value.Value
	function string
	args     []operand
}

// staticKind is the kind that the operand has whatever the item is, or Absent.
func (o operand) staticKind() value.Kind {
	switch o.form {
	case constantForm:
		return o.constant.Kind()
	case callForm:
		if o.function == "size" {
			return value.Number
		}
		return value.Absent
	default:
		return value.Absent
	}
}

// operand reads a path, a value or a call.
func (p *parser) operand() (operand, error) {
	switch p.peek().kind {
	case valueToken:
		return p.constant()
	case wordToken:
		if p.tokens[p.at+1].is("(") {
			return p.call()
		}
		fallthrough
	case nameToken:
		path, err := p.path()
		return operand{form: pathForm, path: path}, err
	default:
		return operand{}, p.syntax()
	}
}

func (p *parser) constant() (operand, error) {
	if p.peek().kind != valueToken {
		return operand{}, p.syntax()
	}
	key := p.take().text
	constant, ok := p.scope.values[key]
	if !ok {
		p.note("An expression attribute value used in expression is not defined; attribute value: %s", key)
	}
	p.scope.usedValues[key] = ok
	return operand{form: constantForm, constant: constant}, nil
}

func (p *parser) call() (operand, error) {
	o := operand{form: callForm, function: p.take().text}
	p.take()
	p.count()
	for {
		arg, err := p.operand()
		if err != nil {
			return operand{}, err
		}
		o.args = append(o.args, arg)
		if p.accept(",") {
			continue
		}
		return o, p.expect(")")
	}
}

func (p *parser) path() (Path, error) {
	head, err := p.name()
	if err != nil {
		return nil, err
	}
	path := Path{{Name: head}}
	for {
		switch {
		case p.accept("."):
			name, err := p.name()
			if err != nil {
				return nil, err
			}
			path = append(path, Step{Name: name})
		case p.accept("["):
			index, err := p.index()
			if err != nil {
				return nil, err
			}
			path = append(path, Step{Index: index})
		default:
			return path, nil
		}
	}
}

func (p *parser) name() (string, error) {
	t := p.peek()
	switch t.kind {
	case wordToken:
		if p.keyword(t) {
			return "", p.syntax()
		}
		if reserved(t.text) {
			p.note("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		return p.take().text, nil
	case nameToken:
		p.take()
		name, ok := p.scope.names[t.text]
		if !ok {
			p.note("An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
			return t.text, nil
		}
		p.scope.usedNames[t.text] = true
		return name, nil
	default:
		return "", p.syntax()
	}
}

// keyword tells whether a word is part of the grammar of the expression being read, where
// it can never be a name.
func (p *parser) keyword(t token) bool {
	words := []string{"AND", "OR", "NOT", "BETWEEN", "IN"}
	switch p.clause {
	case updateClause:
		words = []string{"SET", "REMOVE", "ADD", "DELETE"}
	case projectionClause:
		words = nil
	}
	for _, word := range words {
		if t.is(word) {
			return true
		}
	}
	return false
}

func (p *parser) index() (int, error) {
	if p.peek().kind != digitsToken {
		return 0, p.syntax()
	}
	index, err := strconv.Atoi(p.peek().text)
	if err != nil {
		return 0, p.syntax()
	}
	if index > 100_000_000 {
		p.note("List index is not within the allowable range; index: [%d]", index)
	}
	p.take()
	return index, p.expect("]")
}
