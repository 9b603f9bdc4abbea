package value

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// levelsMax is how many levels a value may have: 32 nested lists or maps and what the
// innermost holds.
const levelsMax = 33

// errTooDeep is the refusal of a value with more levels.
func errTooDeep() error {
	return invalid("Nesting Levels have exceeded supported limits: attribute values can be nested at most 32 levels deep")
}

// ShapeError says that JSON has the wrong shape for an attribute value (a number where a
// string must be, say), which the service answers with a SerializationException.
type ShapeError struct{ Message string }

func (e *ShapeError) Error() string { return e.Message }

func shape(format string, args ...any) error {
	return &ShapeError{Message: fmt.Sprintf(format, args...)}
}

// UnmarshalJSON reads a value such as {"S":"text"} and checks all of DynamoDB's rules.
func (v *Value) UnmarshalJSON(data []byte) error {
	s := scanner{src: data}
	parsed, err := s.value(1)
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// MarshalJSON renders the value as the wire has it; names of maps come in ascending order.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

// MarshalJSON renders the item as the wire has it; names come in ascending order.
func (it Item) MarshalJSON() ([]byte, error) { return it.appendJSON(nil), nil }

func (it Item) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(it)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(dst, name)
		dst = append(dst, ':')
		dst = it[name].appendJSON(dst)
	}
	return append(dst, '}')
}

func (v Value) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"`...)
	dst = append(dst, v.kind.String()...)
	dst = append(dst, `":`...)
	switch v.kind {
	case Bool:
		dst = fmt.Append(dst, v.truth)
	case Null:
		dst = append(dst, "true"...)
	case StringSet, NumberSet, BinarySet, List:
		dst = append(dst, '[')
		for i, elem := range v.elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			if v.kind == List {
				dst = elem.appendJSON(dst)
			} else {
				dst = elem.appendScalar(dst)
			}
		}
		dst = append(dst, ']')
	case Map:
		dst = v.attrs.appendJSON(dst)
	default:
		dst = v.appendScalar(dst)
	}
	return append(dst, '}')
}

func (v Value) appendScalar(dst []byte) []byte {
	switch v.kind {
	case Number:
		dst = append(dst, '"')
		dst = append(dst, v.number.String()...)
		return append(dst, '"')
	case Binary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.text))
		return append(dst, '"')
	case String:
		return appendQuoted(dst, v.text)
	default:
		return append(dst, "null"...)
	}
}

func appendQuoted(dst []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] >= 0x7F {
			plain = false
			break
		}
	}
	if plain {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	quoted, _ := json.Marshal(s) // A string always has a JSON form.
	return append(dst, quoted...)
}

// scanner reads JSON that encoding/json has already found to be well formed, so that it
// only has to tell the shapes apart.
type scanner struct {
	src []byte
	at  int
}

func (s *scanner) peek() byte {
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return s.src[s.at]
		}
	}
	return 0
}

// expect consumes the opening byte of the wanted shape.
func (s *scanner) expect(open byte, what string) error {
	got := s.peek()
	if got == open {
		s.at++
		return nil
	}
	switch got {
	case '{':
		return shape("Start of structure or map found where not expected: need %s", what)
	case '[':
		return shape("Start of list found where not expected: need %s", what)
	case '"':
		return shape("STRING_VALUE can not be converted to %s", what)
	case 't', 'f':
		return shape("%s_VALUE can not be converted to %s", map[byte]string{'t': "TRUE", 'f': "FALSE"}[got], what)
	case 0:
		return shape("Unexpected end of the value: need %s", what)
	default:
		return shape("NUMBER_VALUE can not be converted to %s", what)
	}
}

// more steps over the separator inside a list or map; false means that it has ended.
func (s *scanner) more(end byte) bool {
	if s.peek() == ',' {
		s.at++
	}
	if s.peek() == end || s.peek() == 0 {
		s.at++
		return false
	}
	return true
}

func (s *scanner) text() (string, error) {
	if err := s.expect('"', "String"); err != nil {
		return "", err
	}
	start := s.at
	escaped := false
	for s.at < len(s.src) && s.src[s.at] != '"' {
		if s.src[s.at] == '\\' {
			escaped = true
			s.at++
		}
		s.at++
	}
	if s.at >= len(s.src) {
		return "", shape("Unexpected end of a string")
	}
	raw := s.src[start:s.at]
	s.at++
	if !escaped && utf8.Valid(raw) {
		return string(raw), nil
	}
	var decoded string
	if err := json.Unmarshal(s.src[start-1:s.at], &decoded); err != nil {
		return "", shape("a string is not well-formed JSON: %v", err)
	}
	return decoded, nil
}

func (s *scanner) key() (string, error) {
	name, err := s.text()
	if err == nil && s.peek() == ':' {
		s.at++
	}
	return name, err
}

func (s *scanner) value(depth int) (Value, error) {
	if depth > levelsMax {
		return Value{}, errTooDeep()
	}
	if err := s.expect('{', "AttributeValue"); err != nil {
		return Value{}, err
	}
	var v Value
	for s.more('}') {
		name, err := s.key()
		if err != nil {
			return Value{}, err
		}
		kind, ok := ParseKind(name)
		if !ok {
			return Value{}, invalid("Supplied AttributeValue has the unknown datatype " + name + ", must contain exactly one of the supported datatypes: S, N, B, BOOL, NULL, SS, NS, BS, L, M")
		}
		if v.kind != Absent {
			return Value{}, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
		}
		if v, err = s.content(kind, depth); err != nil {
			return Value{}, err
		}
	}
	if v.kind == Absent {
		return Value{}, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	}
	return v, nil
}

func (s *scanner) content(kind Kind, depth int) (Value, error) {
	switch kind {
	case String, Number, Binary:
		return s.scalar(kind)
	case Bool, Null:
		truth, err := s.truth()
		if err == nil && kind == Null && !truth {
			err = invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
		return Value{kind: kind, truth: truth && kind == Bool}, err
	case StringSet, NumberSet, BinarySet:
		return s.set(kind)
	case List:
		if err := s.expect('[', "List"); err != nil {
			return Value{}, err
		}
		elems := []Value{}
		for s.more(']') {
			elem, err := s.value(depth + 1)
			if err != nil {
				return Value{}, err
			}
			elems = append(elems, elem)
		}
		return OfList(elems), nil
	case Map:
		attrs, err := s.attrs(depth + 1)
		return OfMap(attrs), err
	default:
		return Value{}, nil
	}
}

func (s *scanner) attrs(depth int) (Item, error) {
	if err := s.expect('{', "Map"); err != nil {
		return nil, err
	}
	attrs := Item{}
	for s.more('}') {
		name, err := s.key()
		if err != nil {
			return nil, err
		}
		if attrs[name], err = s.value(depth); err != nil {
			return nil, err
		}
	}
	return attrs, nil
}

func (s *scanner) truth() (bool, error) {
	rest := string(s.src[s.at:min(len(s.src), s.at+5)])
	switch {
	case s.peek() == 't':
		s.at += len("true")
		return true, nil
	case s.peek() == 'f':
		s.at += len("false")
		return false, nil
	default:
		return false, shape("%q can not be converted to Boolean", rest)
	}
}

func (s *scanner) scalar(kind Kind) (Value, error) {
	text, err := s.text()
	if err != nil {
		return Value{}, err
	}
	switch kind {
	case Number:
		number, err := ParseDecimal(text)
		return OfNumber(number), err
	case Binary:
		raw, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil {
			return Value{}, shape("a binary value can not be converted to a Blob: %v", err)
		}
		return Value{kind: Binary, text: string(raw)}, nil
	default:
		return OfString(text), nil
	}
}

func (s *scanner) set(kind Kind) (Value, error) {
	if err := s.expect('[', "Set"); err != nil {
		return Value{}, err
	}
	var members []Value
	var spelled []string
	for s.more(']') {
		member, err := s.scalar(kind.member())
		if err != nil {
			return Value{}, err
		}
		if kind != NumberSet && member.text == "" {
			return Value{}, invalid(emptyMember(kind))
		}
		members = append(members, member)
		spelled = append(spelled, string(trimQuotes(member.appendScalar(nil))))
	}
	if len(members) == 0 {
		return Value{}, invalid(emptySet(kind))
	}
	slices.SortFunc(members, compareMembers)
	for i := 1; i < len(members); i++ {
		if members[i].Equal(members[i-1]) {
			return Value{}, invalid(duplicates(kind, spelled))
		}
	}
	return Value{kind: kind, elems: members}, nil
}

func trimQuotes(quoted []byte) []byte { return quoted[1 : len(quoted)-1] }

func emptySet(kind Kind) string {
	const head = "One or more parameter values were invalid: "
	switch kind {
	case StringSet:
		return head + "An string set  may not be empty"
	case NumberSet:
		return head + "An number set  may not be empty"
	default:
		return head + "Binary sets should not be empty"
	}
}

func emptyMember(kind Kind) string {
	if kind == BinarySet {
		return "One or more parameter values were invalid: Binary sets may not contain null or empty values"
	}
	return "One or more parameter values were invalid: An string set may not have a empty string as a member"
}

func duplicates(kind Kind, spelled []string) string {
	switch kind {
	case NumberSet:
		return "Input collection contains duplicates"
	case BinarySet:
		return "One or more parameter values were invalid: Input collection [" + strings.Join(spelled, ", ") + "]of type BS contains duplicates."
	default:
		return "One or more parameter values were invalid: Input collection [" + strings.Join(spelled, ", ") + "] contains duplicates."
	}
}
