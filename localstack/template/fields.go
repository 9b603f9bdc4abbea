package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// faults gathers what is wrong, so that one run reports all of it.
type faults struct{ list []error }

// reader is what every part of the reading shares.
type reader struct {
	file   string
	opt    Options
	faults *faults
}

func (r *reader) fault(line int, subject, format string, args ...any) {
	r.faults.list = append(r.faults.list, &Fault{File: r.file, Line: line, Subject: subject, Problem: fmt.Sprintf(format, args...)})
}

// fields is a mapping whose keys are taken one by one. What nobody took when done is called is a fault: the strictness of this package.
type fields struct {
	r       *reader
	node    *yaml.Node
	subject string
	path    string // dotted, within the subject
	taken   map[string]bool
}

// fields wraps a mapping; anything else is a fault and reads as an empty mapping.
func (r *reader) fields(node *yaml.Node, subject string) *fields {
	f := &fields{r: r, node: node, subject: subject, taken: map[string]bool{}}
	if node == nil {
		f.node = &yaml.Node{Kind: yaml.MappingNode}
		return f
	}
	if node.Kind != yaml.MappingNode {
		r.fault(node.Line, subject, "a mapping is needed here, not %s", describe(node))
		f.node = &yaml.Node{Kind: yaml.MappingNode, Line: node.Line}
		return f
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if first, again := seen[key.Value]; again {
			r.fault(key.Line, subject, "%s appears twice, first on line %d; keep one", key.Value, first)
		}
		seen[key.Value] = key.Line
	}
	return f
}

func (f *fields) line() int { return f.node.Line }

func (f *fields) fault(node *yaml.Node, format string, args ...any) {
	line := f.node.Line
	if node != nil && node.Line > 0 {
		line = node.Line
	}
	f.r.fault(line, f.subject, format, args...)
}

func (f *fields) name(key string) string {
	if f.path == "" {
		return key
	}
	return f.path + "." + key
}

// take returns the value of key, nil when it is absent, and marks it as understood.
func (f *fields) take(key string) *yaml.Node {
	f.taken[key] = true
	return lookup(f.node, key)
}

// ignore marks keys that mean something on AWS and nothing to the embedded cloud.
func (f *fields) ignore(keys ...string) {
	for _, key := range keys {
		f.taken[key] = true
	}
}

// done reports every key that was neither taken nor ignored.
func (f *fields) done() {
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		if key := f.node.Content[i]; !f.taken[key.Value] {
			f.fault(key, "property %s is not understood; correct its spelling, remove it, or teach localstack/template what it means", f.name(key.Value))
		}
	}
}

func (f *fields) text(key string) string {
	node := f.take(key)
	if node == nil {
		return ""
	}
	if node.Kind != yaml.ScalarNode {
		f.fault(node, "%s must be a text, not %s", f.name(key), describe(node))
		return ""
	}
	return node.Value
}

func (f *fields) must(key string) string {
	value := f.text(key)
	if value == "" && lookup(f.node, key) == nil {
		f.fault(nil, "property %s is missing; add it", f.name(key))
	}
	return value
}

// oneOf is a text that must be one of the allowed values; absent reads as the first of them.
func (f *fields) oneOf(key string, allowed ...string) string {
	node := f.take(key)
	if node == nil {
		return allowed[0]
	}
	if node.Kind != yaml.ScalarNode || !slices.Contains(allowed, node.Value) {
		f.fault(node, "%s is %s; the embedded cloud understands %s", f.name(key), describe(node), strings.Join(allowed, ", "))
		return allowed[0]
	}
	return node.Value
}

// number is a whole number between low and high; absent reads as missing.
func (f *fields) number(key string, missing, low, high int) int {
	node := f.take(key)
	if node == nil {
		return missing
	}
	value, err := strconv.Atoi(node.Value)
	if node.Kind != yaml.ScalarNode || err != nil || value < low || value > high {
		f.fault(node, "%s is %s; it must be a whole number from %d to %d", f.name(key), describe(node), low, high)
		return missing
	}
	return value
}

func (f *fields) seconds(key string, missing, low, high int) time.Duration {
	return time.Duration(f.number(key, missing, low, high)) * time.Second
}

func (f *fields) boolean(key string, missing bool) bool {
	node := f.take(key)
	if node == nil {
		return missing
	}
	value, err := strconv.ParseBool(node.Value)
	if node.Kind != yaml.ScalarNode || err != nil {
		f.fault(node, "%s is %s; it must be true or false", f.name(key), describe(node))
		return missing
	}
	return value
}

// list returns the elements of a sequence; a single scalar counts as a sequence of one, as CloudFormation reads it.
func (f *fields) list(key string) []*yaml.Node {
	node := f.take(key)
	switch {
	case node == nil:
		return nil
	case node.Kind == yaml.SequenceNode:
		return node.Content
	case node.Kind == yaml.ScalarNode:
		return []*yaml.Node{node}
	}
	f.fault(node, "%s must be a list, not %s", f.name(key), describe(node))
	return nil
}

func (f *fields) texts(key string) []string {
	var out []string
	for _, node := range f.list(key) {
		if node.Kind != yaml.ScalarNode {
			f.fault(node, "%s must be a list of texts; one of them is %s", f.name(key), describe(node))
			continue
		}
		out = append(out, node.Value)
	}
	return out
}

// inner opens the mapping under key; absent reads as an empty mapping.
func (f *fields) inner(key string) *fields {
	child := f.r.fields(f.take(key), f.subject)
	if child.node.Line == 0 {
		child.node.Line = f.node.Line
	}
	child.path = f.name(key)
	return child
}

// each opens every element of the list under key as a mapping.
func (f *fields) each(key string) []*fields {
	var out []*fields
	for i, node := range f.list(key) {
		child := f.r.fields(node, f.subject)
		child.path = fmt.Sprintf("%s[%d]", f.name(key), i)
		out = append(out, child)
	}
	return out
}

// entry is one key and value of a mapping, in the order of the template.
type entry struct {
	key   *yaml.Node
	value *yaml.Node
}

func (f *fields) entries() []entry {
	var out []entry
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		f.taken[f.node.Content[i].Value] = true
		out = append(out, entry{f.node.Content[i], f.node.Content[i+1]})
	}
	return out
}

func lookup(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "a YAML alias"
	default: // a scalar
	}
	if node.Tag == "!!null" {
		return "empty"
	}
	return strconv.Quote(node.Value)
}
