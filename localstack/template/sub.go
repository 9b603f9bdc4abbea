package template

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// sub replaces ${Name}, ${Resource.Attribute} and ${!Literal} in a text.
func (s *resolver) sub(node, argument *yaml.Node) (*yaml.Node, error) {
	local := map[string]string{}
	text := argument
	if argument.Kind == yaml.SequenceNode && len(argument.Content) == 2 && argument.Content[1].Kind == yaml.MappingNode {
		text = argument.Content[0]
		variables := argument.Content[1].Content
		for i := 0; i+1 < len(variables); i += 2 {
			value, err := s.scalar(variables[i+1])
			if err != nil {
				return nil, err
			}
			local[variables[i].Value] = value
		}
	}
	if text.Kind != yaml.ScalarNode {
		return nil, at(node, "Fn::Sub takes a text, or a text and a mapping of variables")
	}
	var out strings.Builder
	rest := text.Value
	for {
		before, after, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			return scalar(node, out.String()), nil
		}
		variable, tail, closed := strings.Cut(after, "}")
		if !closed {
			return nil, at(node, "Fn::Sub: %q is not closed; write ${Name}, or ${!Name} for a literal", "${"+after)
		}
		rest = tail
		value, err := s.variable(node, variable, local)
		if err != nil {
			return nil, err
		}
		out.WriteString(value)
	}
}

func (s *resolver) variable(node *yaml.Node, variable string, local map[string]string) (string, error) {
	if literal, ok := strings.CutPrefix(variable, "!"); ok {
		return "${" + literal + "}", nil
	}
	if value, ok := local[variable]; ok {
		return value, nil
	}
	if id, attribute, ok := strings.Cut(variable, "."); ok {
		return s.attribute(node, id, attribute)
	}
	value, err := s.ref(node, variable)
	if err != nil {
		return "", err
	}
	if value == nil || value.Kind != yaml.ScalarNode {
		return "", at(node, "Fn::Sub: %s is not one text", variable)
	}
	return value.Value, nil
}
