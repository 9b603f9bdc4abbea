// Package expression owns DynamoDB's expression languages: conditions and filters
// (condition.go), key conditions (keycondition.go), updates (update.go, apply.go) and
// projections (projection.go), over one lexer (lexer.go) and one parser of paths and
// operands (parser.go).
//
// Start reading at Scope: it holds the names and values that came with a request, parses the
// request's expressions against them, and tells at the end which were never used. Everything
// that can be refused without looking at an item is refused while parsing; what is left
// depends on the item only. Imports the value package only.
package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sealift/localstack/dynamodb/value"
)

// The bounds that the service puts on expressions.
const (
	textMax      = 4096
	operatorsMax = 300
	inMax        = 100
)

// Error is a refusal of an expression; its text is the message of a ValidationException.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func refuse(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// Scope holds the expression attribute names and values of one request.
type Scope struct {
	names      map[string]string
	values     map[string]value.Value
	usedNames  map[string]bool
	usedValues map[string]bool
}

// NewScope checks the spelling of the names (#a) and values (:a). A nil map means that the
// request has none; an empty one is refused, as the service does.
func NewScope(names map[string]string, values map[string]value.Value) (*Scope, error) {
	if names != nil && len(names) == 0 {
		return nil, refuse("ExpressionAttributeNames must not be empty")
	}
	if values != nil && len(values) == 0 {
		return nil, refuse("ExpressionAttributeValues must not be empty")
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		if !placeholder(key, '#') {
			return nil, refuse("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", key)
		}
		if names[key] == "" {
			return nil, refuse("ExpressionAttributeNames contains invalid value: One or more parameter values were invalid: the attribute name for key %s is empty", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !placeholder(key, ':') {
			return nil, refuse("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", key)
		}
	}
	return &Scope{
		names: names, values: values,
		usedNames: make(map[string]bool, len(names)), usedValues: make(map[string]bool, len(values)),
	}, nil
}

func placeholder(key string, mark byte) bool {
	if len(key) < 2 || key[0] != mark {
		return false
	}
	for i := 1; i < len(key); i++ {
		if !wordByte(key[i]) {
			return false
		}
	}
	return true
}

// Unused refuses a request that carries names or values that no expression has used.
func (s *Scope) Unused() error {
	if len(s.usedNames) < len(s.names) {
		return refuse("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", missing(s.names, s.usedNames))
	}
	if len(s.usedValues) < len(s.values) {
		return refuse("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", missing(s.values, s.usedValues))
	}
	return nil
}

func missing[V any](all map[string]V, used map[string]bool) string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !used[key] {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, ", ")
}

// Step is one step of a document path: a name, or an index of a list when Name is empty.
type Step struct {
	Name  string
	Index int
}

// Path leads from an item to one of its attributes or to something inside of it. It is
// never empty and always begins with a name.
type Path []Step

// Head is the name of the top-level attribute.
func (p Path) Head() string { return p[0].Name }

// String renders the path as the service's messages do, such as [a, [0], b].
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, step := range p {
		parts[i] = step.Name
		if step.Name == "" {
			parts[i] = fmt.Sprintf("[%d]", step.Index)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Of returns what the path leads to, or the zero Value when there is nothing.
func (p Path) Of(item value.Item) value.Value {
	current := value.OfMap(item)
	for _, step := range p {
		switch {
		case step.Name != "" && current.Kind() == value.Map:
			current = current.Attrs()[step.Name]
		case step.Name == "" && current.Kind() == value.List && step.Index < len(current.Elems()):
			current = current.Elems()[step.Index]
		default:
			return value.Value{}
		}
	}
	return current
}

// checkPaths refuses two paths of which one contains the other, or which need the same
// place to be a list and a map.
func checkPaths(paths []Path) error {
	for j, two := range paths {
		for _, one := range paths[:j] {
			if err := checkPair(one, two); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPair(one, two Path) error {
	for i := range min(len(one), len(two)) {
		if (one[i].Name == "") != (two[i].Name == "") {
			return refuse("Two document paths conflict with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", one, two)
		}
		if one[i] != two[i] {
			return nil
		}
	}
	return refuse("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", one, two)
}
