package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// pattern is a checked event pattern: every field must match.
type pattern struct {
	fields map[string]condition
}

// condition is what one field must fulfil: a nested pattern, or any of some matchers.
type condition struct {
	nested *pattern
	any    []matcher
}

// matcher decides on one value. Numbers are json.Number; an absent value is
// given as absent.
type matcher func(value any) bool

// absent stands for a field that an event doesn't have.
type absent struct{}

func parsePattern(text string) (*pattern, error) {
	if len(text) > patternBytesMax {
		return nil, fmt.Errorf("the pattern has %d bytes; at most %d are allowed", len(text), patternBytesMax)
	}
	value, err := decodeJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the pattern is not JSON: %w", err)
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		return nil, errors.New("the pattern must be a JSON object")
	}
	return compile(object, "")
}

func decodeJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return value, nil
}

func compile(object map[string]any, path string) (*pattern, error) {
	if len(object) == 0 {
		return nil, fmt.Errorf("%s is an empty object; name at least one field", place(path))
	}
	p := &pattern{fields: map[string]condition{}}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		switch value := object[name].(type) {
		case map[string]any:
			nested, err := compile(value, at)
			if err != nil {
				return nil, err
			}
			p.fields[name] = condition{nested: nested}
		case []any:
			if strings.HasPrefix(name, "$") {
				return nil, fmt.Errorf("%s is not provided by the embedded event bus; write one rule for each alternative", at)
			}
			if len(value) == 0 {
				return nil, fmt.Errorf("%s is an empty array; give at least one value", at)
			}
			var c condition
			for _, item := range value {
				m, err := compileMatcher(item, at)
				if err != nil {
					return nil, err
				}
				c.any = append(c.any, m)
			}
			p.fields[name] = c
		default:
			return nil, fmt.Errorf("%s must be an object or an array; put a single value into brackets", at)
		}
	}
	return p, nil
}

func place(path string) string {
	if path == "" {
		return "the pattern"
	}
	return path
}

func compileMatcher(item any, at string) (matcher, error) {
	switch item := item.(type) {
	case map[string]any:
		if len(item) != 1 {
			return nil, fmt.Errorf("%s: a matcher has exactly one key, got %d", at, len(item))
		}
		for kind, argument := range item {
			return compileKind(kind, argument, at+" "+kind)
		}
		return nil, fmt.Errorf("%s: a matcher has no key", at)
	case []any:
		return nil, fmt.Errorf("%s: an array within an array never matches; list the values side by side", at)
	default:
		return equalTo(item), nil
	}
}

func compileKind(kind string, argument any, at string) (matcher, error) {
	switch kind {
	case "prefix", "suffix", "equals-ignore-case":
		return compileText(kind, argument, at)
	case "exists":
		want, isBool := argument.(bool)
		if !isBool {
			return nil, fmt.Errorf("%s must be true or false", at)
		}
		return func(value any) bool { return (value != absent{}) == want }, nil
	case "anything-but":
		return compileAnythingBut(argument, at)
	case "numeric":
		return compileNumeric(argument, at)
	default:
		return nil, fmt.Errorf("%s is not provided by the embedded event bus; use exact values, prefix, suffix, equals-ignore-case, anything-but, exists or numeric", at)
	}
}

func compileText(kind string, argument any, at string) (matcher, error) {
	fold := kind == "equals-ignore-case"
	if object, isObject := argument.(map[string]any); isObject && len(object) == 1 && !fold {
		argument, fold = object["equals-ignore-case"], true
	}
	want, isText := argument.(string)
	if !isText || want == "" && kind != "equals-ignore-case" {
		return nil, fmt.Errorf("%s must be a string that is not empty", at)
	}
	return func(value any) bool {
		text, isText := value.(string)
		if !isText {
			return false
		}
		// Only as much of the text is compared as the wanted part is long; folding is exact for equal lengths.
		switch kind {
		case "prefix":
			if len(text) < len(want) {
				return false
			}
			text = text[:len(want)]
		case "suffix":
			if len(text) < len(want) {
				return false
			}
			text = text[len(text)-len(want):]
		}
		return text == want || fold && strings.EqualFold(text, want)
	}, nil
}

func compileAnythingBut(argument any, at string) (matcher, error) {
	var refused []matcher
	switch argument := argument.(type) {
	case map[string]any:
		if len(argument) != 1 {
			return nil, fmt.Errorf("%s: a matcher has exactly one key, got %d", at, len(argument))
		}
		for kind, inner := range argument {
			if kind != "prefix" && kind != "suffix" && kind != "equals-ignore-case" {
				return nil, fmt.Errorf("%s %s is not provided by the embedded event bus; use values, prefix, suffix or equals-ignore-case", at, kind)
			}
			list, isList := inner.([]any)
			if !isList {
				list = []any{inner}
			}
			for _, one := range list {
				m, err := compileText(kind, one, at+" "+kind)
				if err != nil {
					return nil, err
				}
				refused = append(refused, m)
			}
		}
	case []any:
		for _, item := range argument {
			if !isScalar(item) {
				return nil, fmt.Errorf("%s takes strings and numbers only", at)
			}
			refused = append(refused, equalTo(item))
		}
	default:
		if !isScalar(argument) {
			return nil, fmt.Errorf("%s takes strings and numbers only", at)
		}
		refused = []matcher{equalTo(argument)}
	}
	if len(refused) == 0 {
		return nil, fmt.Errorf("%s is empty; give at least one value", at)
	}
	return func(value any) bool {
		return value != absent{} && !slices.ContainsFunc(refused, func(m matcher) bool { return m(value) })
	}, nil
}

func isScalar(value any) bool {
	switch value.(type) {
	case string, json.Number:
		return true
	default:
		return false
	}
}

func compileNumeric(argument any, at string) (matcher, error) {
	parts, isList := argument.([]any)
	if !isList || len(parts) != 2 && len(parts) != 4 {
		return nil, fmt.Errorf("%s must be [operator, number] or [operator, number, operator, number]", at)
	}
	var tests []func(float64) bool
	var floor, ceiling *float64
	for i := 0; i < len(parts); i += 2 {
		operator, _ := parts[i].(string)
		n, _ := parts[i+1].(json.Number)
		bound, err := strconv.ParseFloat(string(n), 64)
		if err != nil || math.Abs(bound) > numericMax {
			return nil, fmt.Errorf("%s: %v is not a number from -5e9 to 5e9", at, parts[i+1])
		}
		switch operator {
		case "=":
			tests = append(tests, func(v float64) bool { return v == bound })
		case "<":
			tests, ceiling = append(tests, func(v float64) bool { return v < bound }), &bound
		case "<=":
			tests, ceiling = append(tests, func(v float64) bool { return v <= bound }), &bound
		case ">":
			tests, floor = append(tests, func(v float64) bool { return v > bound }), &bound
		case ">=":
			tests, floor = append(tests, func(v float64) bool { return v >= bound }), &bound
		default:
			return nil, fmt.Errorf("%s: the operator must be =, <, <=, > or >=, got %v", at, parts[i])
		}
	}
	if len(tests) == 2 && (floor == nil || ceiling == nil || *floor >= *ceiling) {
		return nil, fmt.Errorf("%s: a range needs a lower bound and a greater upper bound", at)
	}
	return func(value any) bool {
		n, isNumber := value.(json.Number)
		if !isNumber {
			return false
		}
		v, err := strconv.ParseFloat(string(n), 64)
		return err == nil && !slices.ContainsFunc(tests, func(test func(float64) bool) bool { return !test(v) })
	}, nil
}

// equalTo matches one exact value. Numbers are equal by value as long as a
// float holds them exactly, and by spelling beyond that.
func equalTo(want any) matcher {
	number, isNumber := want.(json.Number)
	if !isNumber {
		return func(value any) bool { return value == want }
	}
	exact, err := strconv.ParseFloat(string(number), 64)
	sameValue := err == nil && math.Abs(exact) < 1<<53
	return func(value any) bool {
		other, isNumber := value.(json.Number)
		if !isNumber {
			return false
		}
		v, err := strconv.ParseFloat(string(other), 64)
		return other == number || sameValue && err == nil && v == exact
	}
}

// matches tells whether the decoded event, or one element of an array of
// objects within it, fulfils the pattern.
func (p *pattern) matches(value any) bool {
	if list, isList := value.([]any); isList {
		return slices.ContainsFunc(list, p.matches)
	}
	object, _ := value.(map[string]any)
	for name, c := range p.fields {
		field, found := object[name]
		if !found {
			field = absent{}
		}
		if !c.holds(field) {
			return false
		}
	}
	return true
}

func (c condition) holds(value any) bool {
	if c.nested != nil {
		return c.nested.matches(value)
	}
	for _, candidate := range candidates(value) {
		for _, m := range c.any {
			if m(candidate) {
				return true
			}
		}
	}
	return false
}

// candidates is the values that one of the matchers may match: the elements of
// an array, or the value itself. An object or an empty array is no value.
func candidates(value any) []any {
	switch value := value.(type) {
	case map[string]any:
		return []any{absent{}}
	case []any:
		var out []any
		for _, element := range value {
			if _, isObject := element.(map[string]any); !isObject {
				out = append(out, candidates(element)...)
			}
		}
		if len(out) == 0 {
			return []any{absent{}}
		}
		return out
	default:
		return []any{value}
	}
}
