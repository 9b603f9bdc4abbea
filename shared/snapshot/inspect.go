package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"sealift/shared/job"
)

// inspect holds a request's text to the shape of Request before it is decoded, so that every fault names the exact place.
// It refuses what readers would understand differently: a field twice, a field in another spelling (encoding/json ignores
// case), anything after the first value; and values of another type, null included. The tree is the request without what is
// faulty; of a list nothing is left when something in it is, because its entries go by their number.
func inspect(text []byte) (tree any, shape Faults, err error) {
	i := &inspector{decoder: json.NewDecoder(bytes.NewReader(text))}
	i.decoder.UseNumber()
	tree = i.value("", reflect.TypeFor[Request]())
	switch {
	case errors.As(i.err, new(*json.SyntaxError)):
		return nil, nil, malformed("the request is not JSON: %s (at byte %d)", i.err, i.decoder.InputOffset())
	case i.err != nil:
		return nil, nil, malformed("the request ends in the middle of its JSON; send the whole object")
	}
	if _, err := i.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, malformed("there is more after the request's JSON object (at byte %d); send one object", i.decoder.InputOffset())
	}
	if tree == nil {
		return nil, nil, i.faults.Refusal()
	}
	return tree, i.faults, nil
}

// inspector reads JSON beside the type that it must have and gathers every fault of its shape.
type inspector struct {
	decoder *json.Decoder
	faults  Faults
	// err ends the reading: the text is not JSON.
	err error
}

func (i *inspector) token() json.Token {
	if i.err != nil {
		return nil
	}
	token, err := i.decoder.Token()
	i.err = err
	return token
}

// value reads the next value, which stands at the JSON pointer where and must fit the type; nil is one that doesn't.
func (i *inspector) value(where string, want reflect.Type) any {
	if want == reflect.TypeFor[json.RawMessage]() {
		// A filter's value: its type depends on the column, which Freeze knows.
		return i.raw()
	}
	token := i.token()
	if i.err != nil {
		return nil
	}
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	found, wanted := tokenType(token), jsonType(want.Kind())
	if found != wanted {
		i.skip(token)
		i.faults.add(codeMalformed, where, "%s is a JSON %s; it must be a JSON %s", place(where), found, wanted)
		return nil
	}
	switch found {
	case "object":
		return i.object(where, want)
	case "list":
		return i.list(where, want.Elem())
	}
	return token
}

func (i *inspector) raw() json.RawMessage {
	var raw json.RawMessage
	if i.err == nil {
		i.err = i.decoder.Decode(&raw)
	}
	return raw
}

// skip reads to the end of the value that the token begins.
func (i *inspector) skip(token json.Token) {
	for depth := 0; i.err == nil; token = i.token() {
		switch delim, _ := token.(json.Delim); delim {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			return
		}
	}
}

func (i *inspector) object(where string, want reflect.Type) any {
	fields := fieldsOf(want)
	tree, seen := map[string]any{}, map[string]bool{}
	var names []string
	for _, field := range fields {
		names = append(names, field.name)
	}
	has := place(where) + " has the fields " + quoted(names)
	for i.err == nil && i.decoder.More() {
		name, _ := i.token().(string)
		if i.err != nil {
			return nil
		}
		at, pointer := slices.Index(names, name), where+"/"+pointerEscape(job.Clip(name))
		if at >= 0 && !seen[name] {
			seen[name] = true
			if value := i.value(pointer, fields[at].want); value != nil {
				tree[name] = value
			}
			continue
		}
		i.raw()
		if at < 0 {
			i.faults.add(codeMalformed, pointer, "%s does not exist; %s", pointer, has)
		} else {
			i.faults.add(codeMalformed, pointer, "%s is given twice; give it once", pointer)
			delete(tree, name)
		}
	}
	i.token()
	return tree
}

func (i *inspector) list(where string, want reflect.Type) any {
	list, before := []any{}, len(i.faults)
	for n := 0; i.err == nil && i.decoder.More(); n++ {
		list = append(list, i.value(fmt.Sprintf("%s/%d", where, n), want))
	}
	i.token()
	if len(i.faults) > before {
		return nil
	}
	return list
}

type namedField struct {
	name string
	want reflect.Type
}

// fieldsOf lists the JSON fields of a request's struct.
func fieldsOf(want reflect.Type) []namedField {
	fields := make([]namedField, want.NumField())
	for i := range fields {
		name, _, _ := strings.Cut(want.Field(i).Tag.Get("json"), ",")
		fields[i] = namedField{name: name, want: want.Field(i).Type}
	}
	return fields
}

// tokenType names the JSON type that a token begins.
func tokenType(token json.Token) string {
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return "object"
		}
		return "list"
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

// jsonType names the JSON type that a Go kind is read from.
func jsonType(kind reflect.Kind) string {
	switch kind {
	case reflect.Struct:
		return "object"
	case reflect.Slice:
		return "list"
	case reflect.Bool:
		return "boolean"
	default:
		return "string"
	}
}

// place names a JSON pointer in words.
func place(where string) string {
	if where == "" {
		return "the request"
	}
	return where
}

// pointerEscape renders a name as a segment of a JSON pointer (RFC 6901).
func pointerEscape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
