package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"sealift/shared/definition"
)

// reader walks a YAML tree beside the type that it must have, notes where each JSON pointer stands, and gathers every
// fault of shape: unknown fields, fields given twice, values of another type, and what YAML has beyond JSON.
type reader struct {
	manifest *Manifest
	faults   Faults
	// meant are the pointers of fields that unknown ones were probably meant for.
	meant []string
}

// nestingMax bounds the depth of a definition.
const nestingMax = 16

func (r *reader) wrong(node ast.Node, pointer, format string, args ...any) any {
	f := Fault{File: r.manifest.File, Position: place(node), Pointer: pointer, Detail: fmt.Sprintf(format, args...)}
	r.faults = append(r.faults, f)
	return nil
}

// judged reports whether a fault is at the pointer, around it, or where what is there was meant to be.
func (r *reader) judged(pointer string) bool {
	return slices.ContainsFunc(r.faults, func(f Fault) bool { return within(pointer, f.Pointer) }) ||
		slices.ContainsFunc(r.meant, func(meant string) bool { return within(pointer, meant) })
}

func within(pointer, around string) bool {
	return pointer == around || strings.HasPrefix(pointer, around+"/")
}

// value returns a node as what encoding/json renders, given the type it must have.
func (r *reader) value(node ast.Node, pointer string, want reflect.Type, depth int) any {
	if _, noted := r.manifest.places[pointer]; !noted {
		r.manifest.places[pointer] = place(node)
	}
	if depth > nestingMax {
		return r.wrong(node, pointer, "is nested deeper than %d levels", nestingMax)
	}
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	switch n := node.(type) {
	case *ast.MappingNode:
		return r.object(n, n.Values, pointer, want, depth)
	case *ast.MappingValueNode:
		return r.object(n, []*ast.MappingValueNode{n}, pointer, want, depth)
	case *ast.SequenceNode:
		return r.list(n, pointer, want, depth)
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return r.wrong(node, pointer, "uses a YAML anchor, alias, tag or merge; write the value out, so that the contract can be read in one place")
	}
	return r.scalar(node, pointer, want)
}

func (r *reader) object(node ast.Node, values []*ast.MappingValueNode, pointer string, want reflect.Type, depth int) any {
	if want.Kind() != reflect.Struct {
		return r.wrong(node, pointer, "is a mapping, must be %s", typeName(want))
	}
	object, lines := make(map[string]any, len(values)), make(map[string]int, len(values))
	for _, entry := range values {
		name, ok := keyText(entry.Key)
		if !ok {
			r.wrong(entry.Key, pointer, "has the key %s, which is not a plain name", entry.Key.String())
			continue
		}
		at := pointer + "/" + escape(name)
		if line, given := lines[name]; given {
			r.wrong(entry.Key, at, "is given twice, in line %d and here; give it once", line)
			continue
		}
		lines[name] = place(entry.Key).Line
		field, known := fieldOf(want, name)
		if !known {
			detail, meant := definition.NotAField(name, fieldNames(want), func(field string) bool { return has(values, field) })
			r.wrong(entry.Key, at, "%s", detail)
			if meant != "" {
				r.meant = append(r.meant, pointer+"/"+meant)
			}
			continue
		}
		r.manifest.places[at] = valuePlace(entry)
		object[name] = r.value(entry.Value, at, field, depth+1)
	}
	return object
}

// has reports whether a mapping has a field of that name.
func has(values []*ast.MappingValueNode, name string) bool {
	return slices.ContainsFunc(values, func(entry *ast.MappingValueNode) bool {
		text, ok := keyText(entry.Key)
		return ok && text == name
	})
}

// valuePlace is where a field's value stands, or its key when the value is a mapping or list on lines of its own.
func valuePlace(entry *ast.MappingValueNode) Position {
	block := false
	switch value := entry.Value.(type) {
	case *ast.MappingNode:
		block = !value.IsFlowStyle
	case *ast.SequenceNode:
		block = !value.IsFlowStyle
	case *ast.MappingValueNode:
		block = true
	}
	if block {
		return place(entry.Key)
	}
	return place(entry.Value)
}

func (r *reader) list(n *ast.SequenceNode, pointer string, want reflect.Type, depth int) any {
	if want.Kind() != reflect.Slice {
		return r.wrong(n, pointer, "is a list, must be %s", typeName(want))
	}
	list := make([]any, 0, len(n.Values))
	for i, entry := range n.Values {
		at := pointer + "/" + strconv.Itoa(i)
		list = append(list, r.value(entry, at, want.Elem(), depth+1))
	}
	return list
}

func (r *reader) scalar(node ast.Node, pointer string, want reflect.Type) any {
	var value any
	var have string
	var kinds []reflect.Kind
	switch n := node.(type) {
	case *ast.StringNode:
		value, have, kinds = n.Value, "text", []reflect.Kind{reflect.String}
	case *ast.LiteralNode:
		value, have, kinds = n.Value.Value, "text", []reflect.Kind{reflect.String}
	case *ast.IntegerNode:
		value, have, kinds = json.Number(fmt.Sprint(n.Value)), "a number", []reflect.Kind{reflect.Int, reflect.Int64}
	case *ast.FloatNode:
		have = "a number with a fraction"
	case *ast.InfinityNode, *ast.NanNode:
		have = "not a number"
	case *ast.BoolNode:
		value, have, kinds = n.Value, "a boolean", []reflect.Kind{reflect.Bool}
	case *ast.NullNode:
		if want.Kind() == reflect.String {
			return r.wrong(node, pointer, "has no value; leave the field out, or give text (the word null needs quotes, for YAML takes it for no value)")
		}
		return r.wrong(node, pointer, "has no value; leave the field out, or give %s", typeName(want))
	default:
		return r.wrong(node, pointer, "is of a YAML kind that a definition does not use (%s)", node.Type())
	}
	for _, kind := range kinds {
		if want.Kind() != kind {
			continue
		}
		if number, ok := value.(json.Number); ok {
			if _, err := strconv.ParseInt(number.String(), 10, 64); err != nil {
				return r.wrong(node, pointer, "is %s, which is more than 64 bits hold", number)
			}
		}
		return value
	}
	hint := ""
	if want.Kind() == reflect.String {
		hint = "; put it in quotes"
	}
	return r.wrong(node, pointer, "is %s, must be %s%s", have, typeName(want), hint)
}

func keyText(key ast.MapKeyNode) (string, bool) {
	text, ok := key.(*ast.StringNode)
	if !ok {
		return "", false
	}
	return text.Value, true
}

// fieldOf finds a field by the name that JSON has for it.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for field := range fields(t) {
		if jsonName(field) == name {
			return field.Type, true
		}
	}
	return nil, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for field := range fields(t) {
		names = append(names, jsonName(field))
	}
	return names
}

func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "a mapping"
	default:
		return "a whole number"
	}
}

// escape renders a name as an element of a JSON pointer (RFC 6901).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func place(node ast.Node) Position {
	// A mapping's own token is the colon of its first entry; its key is where it begins.
	switch n := node.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return place(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return place(n.Key)
	}
	token := node.GetToken()
	if token == nil || token.Position == nil {
		return Position{}
	}
	return Position{Line: token.Position.Line, Column: token.Position.Column}
}
