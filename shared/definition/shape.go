package definition

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// shaper reads JSON beside the type that it must have and gathers every fault of its shape: unknown fields, fields given
// twice, values of another type. What is faulty is left out of the tree that it returns; null stands for a field that
// isn't given.
type shaper struct {
	decoder *json.Decoder
	faults  Faults
	// err ends the reading: the text is not JSON.
	err error
}

func (s *shaper) wrong(pointer, format string, args ...any) any {
	s.faults = append(s.faults, Fault{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	return nil
}

func (s *shaper) value(pointer string, want reflect.Type) any {
	token, err := s.decoder.Token()
	if err != nil {
		s.err = err
		return nil
	}
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	delim, nested := token.(json.Delim)
	switch {
	case nested && delim == '{' && want.Kind() == reflect.Struct:
		return s.object(pointer, want)
	case nested && delim == '[' && want.Kind() == reflect.Slice:
		return s.list(pointer, want.Elem())
	case nested:
		s.skip()
		return s.wrong(pointer, "is %s, must be %s", tokenName(token), typeName(want))
	}
	return s.scalar(pointer, token, want)
}

func (s *shaper) scalar(pointer string, token json.Token, want reflect.Type) any {
	switch value := token.(type) {
	case nil:
		return nil
	case string:
		if want.Kind() == reflect.String {
			return value
		}
	case bool:
		if want.Kind() == reflect.Bool {
			return value
		}
	case json.Number:
		if want.Kind() != reflect.Int && want.Kind() != reflect.Int64 {
			break
		}
		if _, err := strconv.ParseInt(value.String(), 10, 64); err != nil {
			return s.wrong(pointer, "is %s, must be a whole number of at most 64 bits, written in digits", value)
		}
		return value
	}
	return s.wrong(pointer, "is %s, must be %s", tokenName(token), typeName(want))
}

func (s *shaper) object(pointer string, want reflect.Type) any {
	tree, seen := map[string]any{}, map[string]bool{}
	fields, names := fieldsOf(want)
	unknown := map[int]string{}
	for s.err == nil && s.decoder.More() {
		token, err := s.decoder.Token()
		if err != nil {
			s.err = err
			return nil
		}
		name, _ := token.(string)
		at := pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
		field, known := fields[name]
		switch {
		case !known:
			unknown[len(s.faults)] = name
			s.wrong(at, "is not a field")
		case seen[name]:
			s.wrong(at, "is given twice")
		default:
			seen[name] = true
			tree[name] = s.value(at, field)
			continue
		}
		var ignored json.RawMessage
		s.err = s.decoder.Decode(&ignored)
	}
	s.close()
	for i, name := range unknown {
		var meant string
		if s.faults[i].Detail, meant = NotAField(name, names, func(field string) bool { return seen[field] }); meant != "" {
			s.faults[i].meant = pointer + "/" + meant
		}
	}
	return tree
}

func (s *shaper) list(pointer string, want reflect.Type) any {
	list := []any{}
	for i := 0; s.err == nil && s.decoder.More(); i++ {
		list = append(list, s.value(at(pointer, i), want))
	}
	s.close()
	return list
}

func (s *shaper) close() {
	if s.err == nil {
		_, s.err = s.decoder.Token()
	}
}

// skip reads to the end of the object or list that has just begun.
func (s *shaper) skip() {
	for depth := 1; depth > 0 && s.err == nil; {
		token, err := s.decoder.Token()
		switch delim, _ := token.(json.Delim); delim {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.err = err
	}
}

// fieldsOf lists the JSON fields of a struct.
func fieldsOf(want reflect.Type) (fields map[string]reflect.Type, names []string) {
	fields = map[string]reflect.Type{}
	for i := range want.NumField() {
		name, _, _ := strings.Cut(want.Field(i).Tag.Get("json"), ",")
		fields[name], names = want.Field(i).Type, append(names, name)
	}
	return fields, names
}

func tokenName(token json.Token) string {
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return "an object"
		}
		return "a list"
	case string:
		return "text"
	case bool:
		return "a boolean"
	}
	return "a number"
}

func typeName(want reflect.Type) string {
	switch want.Kind() {
	case reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	default:
		return "a whole number"
	}
}
