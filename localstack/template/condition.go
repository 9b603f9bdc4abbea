package template

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// judge says whether a named condition holds. Each is decided once; a circle is a fault.
func (s *resolver) judge(node *yaml.Node, name string) (bool, error) {
	if verdict, ok := s.verdicts[name]; ok {
		return verdict, nil
	}
	condition, ok := s.conditions[name]
	if !ok {
		return false, at(node, "condition %s is not declared; add it under Conditions or correct the name", name)
	}
	if s.judging[name] {
		return false, at(node, "condition %s depends on itself", name)
	}
	s.judging[name] = true
	defer delete(s.judging, name)
	verdict, err := s.holds(condition)
	if err != nil {
		return false, err
	}
	s.verdicts[name] = verdict
	return verdict, nil
}

// holds evaluates one condition expression.
func (s *resolver) holds(node *yaml.Node) (bool, error) {
	name, argument := intrinsic(node)
	if name == "" && node.Kind == yaml.MappingNode && len(node.Content) == 2 && node.Content[0].Value == "Condition" {
		name, argument = "Condition", node.Content[1]
	}
	switch name {
	case "Condition":
		return s.judge(node, argument.Value)
	case "Equals":
		if argument.Kind != yaml.SequenceNode || len(argument.Content) != 2 {
			return false, at(node, "Fn::Equals takes two values")
		}
		left, err := s.scalar(argument.Content[0])
		if err != nil {
			return false, err
		}
		right, err := s.scalar(argument.Content[1])
		return left == right, err
	case "Not", "And", "Or":
		return s.combine(node, name, argument)
	}
	return false, at(node, "a condition is made of Equals, Not, And, Or and Condition; %s is not understood", strings.TrimSpace(name+" "+describe(node)))
}

func (s *resolver) combine(node *yaml.Node, name string, argument *yaml.Node) (bool, error) {
	low, high := 2, 10
	if name == "Not" {
		low, high = 1, 1
	}
	if argument.Kind != yaml.SequenceNode || len(argument.Content) < low || len(argument.Content) > high {
		return false, at(node, "Fn::%s takes a list of %d to %d conditions", name, low, high)
	}
	all, any := true, false
	for _, operand := range argument.Content {
		holds, err := s.holds(operand)
		if err != nil {
			return false, err
		}
		all = all && holds
		any = any || holds
	}
	switch name {
	case "Not":
		return !any, nil
	case "And":
		return all, nil
	}
	return any, nil
}
