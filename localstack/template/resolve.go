package template

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resource is one entry of the template's Resources.
type resource struct {
	id        string
	line      int
	typeName  string
	kind      kind
	node      *yaml.Node // the whole entry
	condition string
	naming    bool // its name is being resolved, which a reference back to it would never end
}

// resolver replaces intrinsic functions by what they stand for. It returns new nodes that keep the line they came from, and nil for AWS::NoValue.
type resolver struct {
	r          *reader
	parameters map[string]*yaml.Node
	mappings   *yaml.Node
	conditions map[string]*yaml.Node
	judging    map[string]bool
	verdicts   map[string]bool
	resources  map[string]*resource
}

// problem is a fault whose subject the caller knows.
type problem struct {
	line int
	text string
}

func (p *problem) Error() string { return p.text }

func at(node *yaml.Node, format string, args ...any) error {
	return &problem{node.Line, fmt.Sprintf(format, args...)}
}

// intrinsic recognises both spellings of a function: a tag (!Ref) and a mapping with one key (Ref:, Fn::Sub:).
func intrinsic(node *yaml.Node) (name string, argument *yaml.Node) {
	if strings.HasPrefix(node.Tag, "!") && !strings.HasPrefix(node.Tag, "!!") {
		plain := *node
		plain.Tag = ""
		return strings.TrimPrefix(node.Tag, "!"), &plain
	}
	if node.Kind == yaml.MappingNode && len(node.Content) == 2 {
		switch key := node.Content[0].Value; {
		case key == "Ref":
			return key, node.Content[1]
		case strings.HasPrefix(key, "Fn::"):
			return strings.TrimPrefix(key, "Fn::"), node.Content[1]
		}
	}
	return "", nil
}

// resolve returns the node with every function in it replaced.
func (s *resolver) resolve(node *yaml.Node) (*yaml.Node, error) {
	if name, argument := intrinsic(node); name != "" {
		return s.call(node, name, argument)
	}
	switch node.Kind {
	case yaml.ScalarNode:
		return node, nil
	case yaml.SequenceNode:
		out := &yaml.Node{Kind: yaml.SequenceNode, Line: node.Line}
		for _, child := range node.Content {
			value, err := s.resolve(child)
			if err != nil {
				return nil, err
			}
			if value != nil {
				out.Content = append(out.Content, value)
			}
		}
		return out, nil
	case yaml.MappingNode:
		out := &yaml.Node{Kind: yaml.MappingNode, Line: node.Line}
		for i := 0; i+1 < len(node.Content); i += 2 {
			value, err := s.resolve(node.Content[i+1])
			if err != nil {
				return nil, err
			}
			if value != nil {
				out.Content = append(out.Content, node.Content[i], value)
			}
		}
		return out, nil
	default:
		return nil, at(node, "%s is not accepted by CloudFormation; write the value out", describe(node))
	}
}

func (s *resolver) call(node *yaml.Node, name string, argument *yaml.Node) (*yaml.Node, error) {
	switch name {
	case "Ref":
		return s.ref(node, argument.Value)
	case "GetAtt":
		return s.getAtt(node, argument)
	case "Sub":
		return s.sub(node, argument)
	case "Join":
		return s.join(node, argument)
	case "Select":
		return s.selectOne(node, argument)
	case "Split":
		return s.split(node, argument)
	case "FindInMap":
		return s.findInMap(node, argument)
	case "If":
		if argument.Kind != yaml.SequenceNode || len(argument.Content) != 3 {
			return nil, at(node, "Fn::If takes a condition name and two values")
		}
		yes, err := s.judge(argument.Content[0], argument.Content[0].Value)
		if err != nil {
			return nil, err
		}
		if yes {
			return s.resolve(argument.Content[1])
		}
		return s.resolve(argument.Content[2])
	}
	return nil, at(node, "the function %s is not understood here; use Ref, GetAtt, Sub, Join, Select, Split, FindInMap or If, or teach localstack/template what it means", name)
}

func scalar(node *yaml.Node, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Line: node.Line}
}

func sequence(node *yaml.Node, values []string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode, Line: node.Line}
	for _, value := range values {
		out.Content = append(out.Content, scalar(node, value))
	}
	return out
}

func (s *resolver) ref(node *yaml.Node, name string) (*yaml.Node, error) {
	if value, ok := s.pseudo(name); ok {
		return scalar(node, value), nil
	}
	if name == "AWS::NoValue" {
		return nil, nil
	}
	if parameter, ok := s.parameters[name]; ok {
		return parameter, nil
	}
	r, err := s.present(node, name)
	if err != nil {
		return nil, err
	}
	physical, err := s.name(node, r)
	if err != nil {
		return nil, err
	}
	return scalar(node, r.kind.fill(r.kind.ref, physical, s.r.opt)), nil
}

func (s *resolver) pseudo(name string) (string, bool) {
	opt := s.r.opt
	switch name {
	case "AWS::Region":
		return opt.Region, true
	case "AWS::AccountId":
		return opt.AccountID, true
	case "AWS::StackName":
		return opt.StackName, true
	case "AWS::StackId":
		return fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/00000000-0000-0000-0000-000000000000", opt.Region, opt.AccountID, opt.StackName), true
	case "AWS::Partition":
		return "aws", true
	case "AWS::URLSuffix":
		return "amazonaws.com", true
	}
	return "", false
}

// present finds a resource that exists under the conditions in force.
func (s *resolver) present(node *yaml.Node, id string) (*resource, error) {
	r, ok := s.resources[id]
	if !ok {
		return nil, at(node, "refers to %s, which is neither a parameter nor a resource of this template; declare it or correct the name", id)
	}
	if r.condition != "" {
		yes, err := s.judge(node, r.condition)
		if err != nil {
			return nil, err
		}
		if !yes {
			return nil, at(node, "refers to %s, which does not exist because its condition %s is false; wrap the reference in Fn::If", id, r.condition)
		}
	}
	return r, nil
}

// name is the physical name of a resource: the one it asks for, or stack and logical id.
func (s *resolver) name(node *yaml.Node, r *resource) (string, error) {
	if property := r.kind.nameProperty; property != "" {
		if value := lookup(lookup(r.node, "Properties"), property); value != nil {
			if r.naming {
				return "", at(node, "the name of %s depends on itself; write one of the names in the circle out", r.id)
			}
			r.naming = true
			defer func() { r.naming = false }()
			resolved, err := s.scalar(value)
			if err != nil {
				return "", err
			}
			return resolved, nil
		}
	}
	made := s.r.opt.StackName + "-" + r.id
	if r.kind.lowerCase {
		made = strings.ToLower(made)
	}
	return made, nil
}

// scalar resolves a node that must become one text.
func (s *resolver) scalar(node *yaml.Node) (string, error) {
	value, err := s.resolve(node)
	if err != nil {
		return "", err
	}
	if value == nil || value.Kind != yaml.ScalarNode {
		return "", at(node, "must resolve to one text")
	}
	return value.Value, nil
}

func (s *resolver) getAtt(node, argument *yaml.Node) (*yaml.Node, error) {
	var id, attribute string
	switch {
	case argument.Kind == yaml.ScalarNode:
		id, attribute, _ = strings.Cut(argument.Value, ".")
	case argument.Kind == yaml.SequenceNode && len(argument.Content) == 2:
		id, attribute = argument.Content[0].Value, argument.Content[1].Value
	}
	if id == "" || attribute == "" {
		return nil, at(node, "Fn::GetAtt takes a logical id and an attribute, as in !GetAtt Ledger.Arn")
	}
	value, err := s.attribute(node, id, attribute)
	if err != nil {
		return nil, err
	}
	return scalar(node, value), nil
}

func (s *resolver) attribute(node *yaml.Node, id, attribute string) (string, error) {
	r, err := s.present(node, id)
	if err != nil {
		return "", err
	}
	format, ok := r.kind.attributes[attribute]
	if !ok {
		known := slices.Sorted(maps.Keys(r.kind.attributes))
		return "", at(node, "%s (%s) has no attribute %s here; known: %s", id, r.typeName, attribute, strings.Join(known, ", "))
	}
	physical, err := s.name(node, r)
	if err != nil {
		return "", err
	}
	return r.kind.fill(format, physical, s.r.opt), nil
}

func (s *resolver) join(node, argument *yaml.Node) (*yaml.Node, error) {
	if argument.Kind != yaml.SequenceNode || len(argument.Content) != 2 {
		return nil, at(node, "Fn::Join takes a delimiter and a list")
	}
	values, err := s.texts(argument.Content[1])
	if err != nil {
		return nil, err
	}
	return scalar(node, strings.Join(values, argument.Content[0].Value)), nil
}

func (s *resolver) texts(node *yaml.Node) ([]string, error) {
	list, err := s.resolve(node)
	if err != nil {
		return nil, err
	}
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil, at(node, "must resolve to a list of texts")
	}
	var out []string
	for _, value := range list.Content {
		if value.Kind != yaml.ScalarNode {
			return nil, at(value, "a list of texts holds %s", describe(value))
		}
		out = append(out, value.Value)
	}
	return out, nil
}

func (s *resolver) selectOne(node, argument *yaml.Node) (*yaml.Node, error) {
	if argument.Kind != yaml.SequenceNode || len(argument.Content) != 2 {
		return nil, at(node, "Fn::Select takes an index and a list")
	}
	index, err := s.scalar(argument.Content[0])
	if err != nil {
		return nil, err
	}
	list, err := s.resolve(argument.Content[1])
	if err != nil {
		return nil, err
	}
	i, err := strconv.Atoi(index)
	if err != nil || list == nil || list.Kind != yaml.SequenceNode || i < 0 || i >= len(list.Content) {
		return nil, at(node, "Fn::Select: index %s is not in the list", index)
	}
	return list.Content[i], nil
}

func (s *resolver) split(node, argument *yaml.Node) (*yaml.Node, error) {
	if argument.Kind != yaml.SequenceNode || len(argument.Content) != 2 || argument.Content[0].Value == "" {
		return nil, at(node, "Fn::Split takes a delimiter and a text")
	}
	text, err := s.scalar(argument.Content[1])
	if err != nil {
		return nil, err
	}
	return sequence(node, strings.Split(text, argument.Content[0].Value)), nil
}

func (s *resolver) findInMap(node, argument *yaml.Node) (*yaml.Node, error) {
	keys, err := s.texts(argument)
	if err != nil {
		return nil, err
	}
	if len(keys) != 3 {
		return nil, at(node, "Fn::FindInMap takes a mapping name and two keys")
	}
	found := lookup(lookup(lookup(s.mappings, keys[0]), keys[1]), keys[2])
	if found == nil {
		return nil, at(node, "Fn::FindInMap: Mappings has no entry %s; add it or correct the keys", strings.Join(keys, "."))
	}
	return found, nil
}
