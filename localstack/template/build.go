package template

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// builder turns resolved resources into the values of a Stack.
type builder struct {
	r       *reader
	s       *resolver
	globals *yaml.Node // Globals.Function, unresolved
	stack   *Stack

	order      []*resource
	policies   map[string][]Statement // of managed policies, by ARN
	routes     []pendingRoute
	authorizer string // the API's default, empty when it has none
}

// pendingRoute is a route that waits for its API, which may come later in the template.
type pendingRoute struct {
	at    *fields
	api   string
	route Route
}

// build reads the whole template. What is wrong ends up in the reader's faults.
func build(r *reader, document *yaml.Node) *Stack {
	root := r.fields(document, "template")
	root.ignore("AWSTemplateFormatVersion", "Description", "Metadata")
	root.oneOf("Transform", "AWS::Serverless-2016-10-31")
	b := &builder{
		r: r,
		s: &resolver{
			r:          r,
			parameters: readParameters(r, root),
			mappings:   root.take("Mappings"),
			conditions: map[string]*yaml.Node{},
			judging:    map[string]bool{},
			verdicts:   map[string]bool{},
			resources:  map[string]*resource{},
		},
		stack: &Stack{
			Name: r.opt.StackName, Region: r.opt.Region, AccountID: r.opt.AccountID,
			Parameters: map[string]string{}, Outputs: map[string]string{},
		},
		policies: map[string][]Statement{},
	}
	for _, e := range root.inner("Conditions").entries() {
		b.s.conditions[e.key.Value] = e.value
	}
	for name, value := range b.s.parameters {
		b.stack.Parameters[name] = flat(value)
	}
	b.readGlobals(root)
	b.collect(root)
	b.readResources()
	b.attachRoutes()
	b.readOutputs(root)
	root.done()
	return b.stack
}

func flat(node *yaml.Node) string {
	if node.Kind != yaml.SequenceNode {
		return node.Value
	}
	var values []string
	for _, child := range node.Content {
		values = append(values, child.Value)
	}
	return strings.Join(values, ",")
}

func (b *builder) readGlobals(root *fields) {
	globals := root.inner("Globals")
	globals.subject = "Globals"
	b.globals = globals.take("Function")
	globals.done()
}

// collect registers every resource first, so that references can look forward.
func (b *builder) collect(root *fields) {
	if root.take("Resources") == nil {
		root.fault(nil, "has no Resources; give the path of a CloudFormation or SAM template")
	}
	for _, e := range root.inner("Resources").entries() {
		id := e.key.Value
		f := b.r.fields(e.value, id)
		r := &resource{id: id, line: e.key.Line, typeName: f.must("Type"), condition: f.text("Condition"), node: e.value}
		f.ignore("Properties", "DependsOn", "DeletionPolicy", "UpdateReplacePolicy", "Metadata")
		f.done()
		kind, known := kindOf(r.typeName)
		r.kind = kind
		if !known && r.typeName != "" {
			f.fault(f.take("Type"), "type %s is not understood by the embedded cloud; remove the resource or teach localstack/template what it means", r.typeName)
		}
		b.s.resources[id] = r
		if known {
			b.order = append(b.order, r)
		}
	}
}

// readResources reads identities first: a function needs to know what its role allows.
func (b *builder) readResources() {
	rank := func(r *resource) int {
		return slices.Index([]string{typeManagedPolicy, typeRole}, r.typeName)
	}
	for _, pass := range []int{0, 1, -1} {
		for _, r := range b.order {
			if rank(r) == pass {
				b.readResource(r)
			}
		}
	}
}

func (b *builder) readResource(r *resource) {
	if r.condition != "" {
		yes, err := b.s.judge(r.node, r.condition)
		if err != nil {
			b.faultOf(r, err)
			return
		}
		if !yes {
			return
		}
	}
	properties := lookup(r.node, "Properties")
	if r.typeName == typeFunction {
		properties = merge(b.globals, properties)
	}
	if properties == nil {
		properties = &yaml.Node{Kind: yaml.MappingNode, Line: r.line}
	}
	resolved, err := b.s.resolve(properties)
	if err != nil {
		b.faultOf(r, err)
		return
	}
	name, err := b.s.name(r.node, r)
	if err != nil {
		b.faultOf(r, err)
		return
	}
	if r.kind.inert {
		return
	}
	f := b.r.fields(resolved, r.id)
	if r.kind.nameProperty != "" {
		f.ignore(r.kind.nameProperty)
	}
	arn := r.kind.fill(r.kind.attributes["Arn"], name, b.r.opt)
	switch r.typeName {
	case typeTable:
		b.readTable(f, name, arn)
	case typeQueue:
		b.readQueue(f, name, arn)
	case typeBucket:
		b.readBucket(f, name, arn)
	case typeFunction:
		b.readFunction(f, name, arn)
	case typeAPI:
		b.readAPI(f)
	case typeRole:
		b.readRole(f, name, arn)
	case typeManagedPolicy:
		b.readManagedPolicy(f, r.kind.fill(r.kind.ref, name, b.r.opt))
	case typeScheduleGroup:
		f.ignore("Tags")
		b.stack.ScheduleGroups = append(b.stack.ScheduleGroups, name)
	case typeRule:
		b.readRule(f, name)
	case typeKey:
		b.readKey(f, r.kind.fill(r.kind.ref, name, b.r.opt), arn)
	case typeKeyAlias:
		b.stack.KeyAliases = append(b.stack.KeyAliases, KeyAlias{LogicalID: f.subject, Name: name, KeyID: f.must("TargetKeyId")})
	case typeSecret:
		b.readSecret(f, name, r.kind.fill(r.kind.ref, name, b.r.opt))
	}
	f.done()
}

func (b *builder) faultOf(r *resource, err error) {
	line := r.line
	if p, ok := errors.AsType[*problem](err); ok {
		line = p.line
	}
	b.r.fault(line, r.id, "%s", err.Error())
}

func (b *builder) readOutputs(root *fields) {
	for _, e := range root.inner("Outputs").entries() {
		f := b.r.fields(e.value, "output "+e.key.Value)
		f.ignore("Description", "Export")
		value := f.take("Value")
		condition := f.text("Condition")
		f.done()
		if value == nil {
			f.fault(e.key, "has no Value; add it")
			continue
		}
		text, err := b.output(f.node, condition, value)
		if err != nil {
			line := e.key.Line
			if p, ok := errors.AsType[*problem](err); ok {
				line = p.line
			}
			b.r.fault(line, f.subject, "%s", err.Error())
			continue
		}
		if text != nil {
			b.stack.Outputs[e.key.Value] = *text
		}
	}
}

func (b *builder) output(node *yaml.Node, condition string, value *yaml.Node) (*string, error) {
	if condition != "" {
		if yes, err := b.s.judge(node, condition); err != nil || !yes {
			return nil, err
		}
	}
	text, err := b.s.scalar(value)
	return &text, err
}

// merge lays a resource's own properties over the globals as SAM does: mappings merge, lists join, everything else is replaced.
func merge(global, own *yaml.Node) *yaml.Node {
	if global == nil {
		return own
	}
	if own == nil {
		return global
	}
	function, _ := intrinsic(own)
	globalFunction, _ := intrinsic(global)
	if own.Kind != global.Kind || own.Kind == yaml.ScalarNode || function != "" || globalFunction != "" {
		return own
	}
	out := &yaml.Node{Kind: own.Kind, Line: own.Line}
	if own.Kind == yaml.SequenceNode {
		out.Content = slices.Concat(global.Content, own.Content)
		return out
	}
	for i := 0; i+1 < len(global.Content); i += 2 {
		key := global.Content[i]
		out.Content = append(out.Content, key, merge(global.Content[i+1], lookup(own, key.Value)))
	}
	for i := 0; i+1 < len(own.Content); i += 2 {
		if key := own.Content[i]; lookup(global, key.Value) == nil {
			out.Content = append(out.Content, key, own.Content[i+1])
		}
	}
	return out
}

// plain converts a resolved node to the values that encoding/json writes.
func plain(node *yaml.Node) any {
	switch node.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			out[node.Content[i].Value] = plain(node.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, child := range node.Content {
			out = append(out, plain(child))
		}
		return out
	default: // a scalar: aliases are refused before
	}
	switch node.Tag {
	case "!!null":
		return nil
	case "!!bool":
		if value, err := strconv.ParseBool(node.Value); err == nil {
			return value
		}
	case "!!int":
		if value, err := strconv.ParseInt(node.Value, 10, 64); err == nil {
			return value
		}
	case "!!float":
		if value, err := strconv.ParseFloat(node.Value, 64); err == nil {
			return value
		}
	}
	return node.Value
}
